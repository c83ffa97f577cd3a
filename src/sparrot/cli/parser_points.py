"""What can be asked of files of points and affinities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparrot.cli.options import (
    KINDS,
    POINTS,
    add_affinity,
    add_command,
    add_cost,
    add_input,
    add_output,
    add_scale,
    add_search,
    add_stored,
    add_talk,
    add_tolerance,
)

_EDGES = (
    ".npz, .h5ad (which keeps what it has), .mtx; or entries i, j, weight: .csv, .tsv, .parquet"
)
_TABLES = ".npy, .npz, .csv, .tsv, .parquet, .mtx or .h5ad (which keeps what it has)"
_OR_AFFINITY = "; or what `sparrot affinity` wrote to .npz or .h5ad"


def affinity(commands: Any) -> None:
    """From points to an affinity."""
    parser = add_command(
        commands,
        "affinity",
        "the affinity of points, with a certificate",
        "The sparse bistochastic affinity of a file of points, or another kind for contrast.",
        "points.npy -o affinity.npz",
        "cells.h5ad --array obsm/X_pca --perplexity 30 -o cells.h5ad",
        "points.csv --eps connected --json",
        "big.npy --checkpoint big.checkpoint --jobs 8 -o affinity.npz",
    )
    add_input(parser)
    add_stored(parser)
    add_affinity(parser, KINDS)
    add_output(
        parser,
        _EDGES,
        "heat map and perplexities",
    )


def embed(commands: Any) -> None:
    """From points or an affinity to coordinates."""
    parser = add_command(
        commands,
        "embed",
        "coordinates by eigenvectors of the affinity",
        "Laplacian eigenmaps or a diffusion map, of points or of an affinity.",
        "points.npy --components 3 -o coordinates.csv",
        "affinity.npz --method diffusion --time 3 -o coordinates.npy --plot picture.png",
    )
    add_input(parser, _OR_AFFINITY)
    add_stored(parser)
    parser.add_argument(
        "--components", type=int, default=2, metavar="N", help="coordinates (default: 2)"
    )
    parser.add_argument(
        "--method",
        choices=("eigenmaps", "diffusion"),
        default="eigenmaps",
        help="which coordinates (default: eigenmaps)",
    )
    parser.add_argument(
        "--time", type=int, metavar="T", help="diffusion: steps of the walk (default: 1)"
    )
    add_affinity(parser)
    add_output(parser, _TABLES, "scatter of the first two coordinates")


def cluster(commands: Any) -> None:
    """From points or an affinity to labels."""
    parser = add_command(
        commands,
        "cluster",
        "clusters by eigenvectors of the affinity",
        "Spectral clustering, of points or of an affinity.",
        "points.npy --clusters 3 -o labels.csv",
        "cells.h5ad --array obsm/X_pca --perplexity 30 -o cells.h5ad",
    )
    add_input(parser, _OR_AFFINITY)
    add_stored(parser)
    parser.add_argument(
        "--clusters", type=int, metavar="K", help="how many (default: as the eigengap suggests)"
    )
    add_affinity(parser)
    add_output(parser, _TABLES, "affinity ordered by cluster, and spectrum")


def path(commands: Any) -> None:
    """From points to what eps does."""
    parser = add_command(
        commands,
        "path",
        "what eps does: neighbors, components and spectrum along a path of eps",
        "QOT affinities at some eps and at others around it.",
        "points.npy",
        "points.npy --perplexity 30 --span 10 --steps 5 -o path.csv --plot path.png",
    )
    add_input(parser)
    add_scale(parser)
    add_cost(parser)
    add_search(parser)
    add_tolerance(parser)
    parser.add_argument(
        "--span", type=float, default=4.0, metavar="F", help="largest eps over the middle one (4)"
    )
    parser.add_argument(
        "--steps", type=int, default=3, metavar="N", help="eps on either side of it (default: 3)"
    )
    add_output(parser, ".npz, .csv, .tsv or .parquet", "neighbors, eigenvalues and components")


def tsne(commands: Any) -> None:
    """From points or an affinity to a layout."""
    parser = add_command(
        commands,
        "tsne",
        "t-SNE of the affinity",
        "t-SNE by openTSNE of points or of an affinity, started from its leading eigenvectors.",
        "points.npy -o layout.csv --plot layout.png",
        "cells.h5ad --array obsm/X_pca --perplexity 50 -o cells.h5ad",
    )
    add_input(parser, _OR_AFFINITY)
    add_stored(parser)
    parser.add_argument(
        "--components", type=int, default=2, choices=(1, 2), help="coordinates (default: 2)"
    )
    add_affinity(parser, default="--perplexity 30", threads="one for t-SNE, all cores else")
    add_output(parser, _TABLES, "the layout")


def report(commands: Any) -> None:
    """From points to a page."""
    parser = add_command(
        commands,
        "report",
        "an interactive page about the affinity of a file of points",
        "One HTML page that needs no network: the embedding, colored by any column;\n"
        "a slider along eps; spectrum, neighbors, certificate and warnings.\n"
        "Of a .h5ad file it takes obsm/X_pca where it is there, else X; columns from obs.",
        "cells.h5ad --perplexity 30 -o report.html",
    )
    add_input(parser, array="obsm/X_pca where it is there, else X")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="PAGE",
        help="where the page goes (default: report.html)",
    )
    add_scale(parser)
    add_cost(parser)
    add_search(parser)
    add_tolerance(parser)
    add_talk(parser)


def info(commands: Any) -> None:
    """From a file to what is in it."""
    parser = add_command(
        commands,
        "info",
        "what is in a file of points or an affinity",
        "Shape, type and oddities of points; kind, scale and certificate of an affinity.",
        "points.csv",
        "affinity.npz --json",
    )
    parser.add_argument("path", type=Path, metavar="FILE", help=f"{POINTS}")
    parser.add_argument("--array", metavar="NAME", help="which array of a .npz or .h5ad file")
    add_stored(parser)
    add_talk(parser)
