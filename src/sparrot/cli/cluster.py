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
    listed = ", ".join(map(str, sizes[:12])) + (", ..." if len(sizes) > 12 else "")
    print_summary(
        session, source, options, facts, {"clusters": f"{len(sizes)}, of {listed} points"}
    )


def _draw(affinity: sparrot.Affinity, model: sparrot.SpectralClustering) -> Any:
    """The matrix ordered by cluster, and the spectrum with the gap."""
    from sparrot.plot._style import new_axes

    axes = new_axes(n=2)
    sparrot.plot.affinity(affinity, model.labels_, ax=axes[0])
    gap = model.n_clusters_ if model.n_clusters_ < len(model.eigenvalues_) else None
    sparrot.plot.spectrum(model.eigenvalues_, gap=gap, ax=axes[1])
    return axes
