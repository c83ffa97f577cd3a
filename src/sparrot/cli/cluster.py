"""`sparrot cluster`: clusters by eigenvectors of an affinity."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import sparrot
from sparrot.cli._options import add_affinity, add_command, add_output, add_source
from sparrot.cli._session import Session


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "cluster",
        "clusters by eigenvectors of the affinity",
        "Spectral clustering, of points or of an affinity.",
        "points.npy --clusters 3 -o labels.csv",
        "cells.h5ad --array obsm/X_pca --perplexity 30 -o cells.h5ad",
    )
    add_source(parser)
    parser.add_argument(
        "--clusters",
        dest="n_clusters",
        type=int,
        metavar="K",
        help="how many (default: as the eigengap suggests)",
    )
    add_affinity(parser)
    add_output(parser, "affinity ordered by cluster, and spectrum")


def run(options: Namespace, session: Session) -> None:
    """Cluster, write the labels, draw, and print how large the clusters are."""
    import numpy as np

    from sparrot.affinity import leave_pieces_to_caller
    from sparrot.cli._input import read_affinity
    from sparrot.cli._output import TABLES, check_targets, write_results
    from sparrot.cli._summary import print_summary
    from sparrot.io import Table

    check_targets(options, TABLES)
    with leave_pieces_to_caller():
        source = read_affinity(options, session)
    session.stage("clusters")
    model = sparrot.SpectralClustering(options.n_clusters, affinity="precomputed")
    model.fit(source.affinity)
    table = Table({"cluster": model.labels_}, "obs/sparrot_cluster")
    write_results(options, table, lambda: _draw(source.affinity, model))
    sizes = np.bincount(model.labels_).tolist()
    facts = {
        "clusters": model.n_clusters_,
        "sizes": sizes,
        "eigenvalues": model.eigenvalues_.tolist(),
    }
    chosen = "" if options.n_clusters is not None else _why(model.eigenvalues_)
    lines = {"clusters": _sizes_line(sizes, chosen)}
    pieces = np.bincount(model.component_labels_).tolist()
    if len(pieces) > 1:
        spread = len({*zip(model.labels_, model.component_labels_, strict=True)}) > len(sizes)
        apart = "" if spread else "; every cluster is within one of them"
        lines["components"] = f"{_sizes_line(pieces)}{apart}"
    print_summary(session, source, options, facts, lines)


def _why(values: Any) -> str:
    """Why there are so many clusters, and how clearly.

    Examples
    --------
    >>> import numpy as np
    >>> _why(np.array([1.0, 0.98, 0.95, 0.5, 0.45]))
    ' (chosen by the largest of 3 eigengaps, 0.45; the next is 0.05; --clusters K for another)'
    """
    gaps = sorted(values[1:-1] - values[2:], reverse=True)
    following = f"; the next is {gaps[1]:.2g}" if len(gaps) > 1 else ""
    return (
        f" (chosen by the largest of {len(gaps)} eigengaps, {gaps[0]:.2g}{following}; "
        "--clusters K for another)"
    )


def _sizes_line(sizes: list[int], why: str = "") -> str:
    """How many groups there are, and of how many points.

    Examples
    --------
    >>> _sizes_line([100, 50]), _sizes_line([2] * 13, " (a guess)")
    ('2, of 100, 50 points', '13 (a guess), of 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, ... points')
    """
    listed = ", ".join(map(str, sizes[:12])) + (", ..." if len(sizes) > 12 else "")
    return f"{len(sizes)}{why}, of {listed} points"


def _draw(affinity: sparrot.Affinity, model: sparrot.SpectralClustering) -> Any:
    """The matrix ordered by cluster, and the spectrum with the gap."""
    from sparrot.plot._style import new_axes

    axes = new_axes(n=2)
    sparrot.plot.affinity(affinity, model.labels_, ax=axes[0])
    gap = model.n_clusters_ if model.n_clusters_ < len(model.eigenvalues_) else None
    sparrot.plot.spectrum(model.eigenvalues_, gap=gap, ax=axes[1])
    return axes
