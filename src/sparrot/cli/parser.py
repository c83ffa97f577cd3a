"""What can be asked on the command line. Each command is a module of this name with a `run`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from sparrot import __version__
from sparrot.cli.complaints import EXIT_CODES
from sparrot.cli.options import (
    KINDS,
    POINTS,
    add_affinity,
    add_cost,
    add_input,
    add_output,
    add_scale,
    add_stored,
    add_talk,
)
from sparrot.experiments.names import EXPERIMENTS

_TABLES = ".npy, .npz, .csv, .tsv, .parquet or .h5ad (which keeps what it has)"
_OR_AFFINITY = "; or what `sparrot affinity` wrote"
SHELLS = ("bash", "zsh", "fish")


class Parser(ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2, and say where the remedy is."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    """What was asked; what a command does not know is its own complaint."""
    options, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        options.complain(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def make_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(
        prog="sparrot",
        description="Sparse bistochastic affinities by regularised optimal transport.",
        epilog=f"exit codes: {EXIT_CODES}\n"
        "examples:\n  sparrot demo\n  sparrot affinity cells.h5ad --array obsm/X_pca "
        "--perplexity 30 -o affinity.npz\n"
        "  sparrot cluster affinity.npz --clusters 5 -o labels.csv",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sparrot {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        _affinity,
        _embed,
        _cluster,
        _path,
        _tsne,
        _report,
        _info,
        _reproduce,
        _demo,
        _completion,
    ):
        add(commands)
    return parser


def _command(commands: Any, name: str, help_: str, description: str, *examples: str) -> Any:
    lines = "\n".join(f"  sparrot {name} {example}".rstrip() for example in examples)
    parser = commands.add_parser(
        name,
        help=help_,
        description=description,
        epilog=f"example{'s' * (len(examples) > 1)}:\n{lines}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(complain=parser.error)
    return parser


def _affinity(commands: Any) -> None:
    parser = _command(
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
        ".npz (sparrot.load reads it), .h5ad (which keeps what it has) or .mtx",
        "heat map and perplexities",
    )


def _embed(commands: Any) -> None:
    parser = _command(
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


def _cluster(commands: Any) -> None:
    parser = _command(
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


def _path(commands: Any) -> None:
    parser = _command(
        commands,
        "path",
        "what eps does: neighbours, components and spectrum along a path of eps",
        "QOT affinities at some eps and at others around it.",
        "points.npy",
        "points.npy --perplexity 30 --span 10 --steps 5 -o path.csv --plot path.png",
    )
    add_input(parser)
    add_scale(parser)
    add_cost(parser)
    parser.add_argument(
        "--span", type=float, default=4.0, metavar="F", help="largest eps over the middle one (4)"
    )
    parser.add_argument(
        "--steps", type=int, default=3, metavar="N", help="eps on either side of it (default: 3)"
    )
    add_output(parser, ".npz, .csv, .tsv or .parquet", "neighbours, eigenvalues and components")


def _tsne(commands: Any) -> None:
    parser = _command(
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
    add_affinity(parser, default="default: --perplexity 30")
    add_output(parser, _TABLES, "the layout")


def _info(commands: Any) -> None:
    parser = _command(
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


def _report(commands: Any) -> None:
    parser = _command(
        commands,
        "report",
        "an interactive page about the affinity of a file of points",
        "One HTML page that needs no network: the embedding, coloured by any column;\n"
        "a slider along eps; spectrum, neighbours, certificate and warnings.\n"
        "Of a .h5ad file it takes obsm/X_pca where it is there, else X.",
        "cells.h5ad --perplexity 30 -o report.html",
    )
    add_input(parser)
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


def _reproduce(commands: Any) -> None:
    parser = _command(
        commands,
        "reproduce",
        "an experiment of the paper: figure, numbers, and its claims with a verdict each",
        "Runs an experiment of the paper, or all, and holds the paper's claims against\n"
        "the numbers. An interrupted run goes on where it stopped.",
        "convergence --quick",
        "all --quick --output out",
    )
    parser.add_argument(
        "name", metavar="NAME", choices=["all", *EXPERIMENTS], help=f"all, {', '.join(EXPERIMENTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a small version, for a first look")
    _add_folder(parser, "figures and numbers go")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")


def _demo(commands: Any) -> None:
    parser = _command(
        commands,
        "demo",
        "recover a noisy spiral, against k-NN and Gaussian graphs",
        "The paper's spiral in 250 dimensions: a table, and a figure.",
        "--output out",
    )
    _add_folder(parser, "the figure goes")


def _completion(commands: Any) -> None:
    parser = _command(
        commands,
        "completion",
        "a script that completes commands and options in your shell",
        "Prints the script; put the matching line below into your shell's start-up file.",
        'bash                     # bash: eval "$(sparrot completion bash)"',
        'zsh                      # zsh: eval "$(sparrot completion zsh)"',
        "fish                     # fish: sparrot completion fish | source",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def _add_folder(parser: Any, what: str) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help=f"where {what} (default: out)",
    )
