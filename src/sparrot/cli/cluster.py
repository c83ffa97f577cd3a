"""`sparrot cluster`: clusters by eigenvectors of an affinity."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

import sparrot
from sparrot.cli.output import Table, write_results
from sparrot.cli.session import Session
from sparrot.cli.source import Source, read_affinity
from sparrot.cli.summary import tell
from sparrot.cli.targets import TABLES, check_targets
from sparrot.plot._style import new_axes


def run(options: Namespace, session: Session) -> None:
    """Cluster, write the labels, draw, and say how large the clusters are."""
    check_targets(options, TABLES)
    source = read_affinity(options, session)
    session.stage("clusters")
    model = sparrot.SpectralClustering(options.clusters, affinity="precomputed")
    model.fit(source.affinity.matrix)
    table = Table({"cluster": model.labels_}, "obs/sparrot_cluster")
    write_results(options, table, lambda: _draw(source, model))
    sizes = np.bincount(model.labels_).tolist()
    facts = {
        "clusters": model.n_clusters_,
        "sizes": sizes,
        "eigenvalues": model.eigenvalues_.tolist(),
    }
    tell(session, source, options, facts, {"clusters": f"{len(sizes)}, of {_listed(sizes)} points"})


def _draw(source: Source, model: sparrot.SpectralClustering) -> Any:
    axes = new_axes(n=2)
    sparrot.plot.affinity(source.affinity, model.labels_, ax=axes[0])
    gap = model.n_clusters_ if model.n_clusters_ < len(model.eigenvalues_) else None
    sparrot.plot.spectrum(model.eigenvalues_, gap=gap, ax=axes[1])
    return axes


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes[:12])) + (", ..." if len(sizes) > 12 else "")
