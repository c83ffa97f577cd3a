"""`sparrot affinity`: from points to an affinity."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import sparrot
from sparrot.affinity import KINDS
from sparrot.cli._options import (
    add_affinity,
    add_command,
    add_input,
    add_output,
    add_stored,
    targets,
)
from sparrot.cli._session import Session


def add_parser(commands: Any) -> None:
    """What can be asked."""
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
    add_affinity(parser, symmetric=False)
    add_output(
        parser,
        "heat map, ordered by label or cluster, and perplexities",
        f"{targets('affinity')}; its matrix: {targets('matrix')}; entries i, j, weight: "
        f"{targets('entries')}",
    )


def run(options: Namespace, session: Session) -> None:
    """Make the affinity, write it, draw it, and print what it is like."""
    from sparrot.cli._input import read_affinity
    from sparrot.cli._output import AFFINITIES, check_targets, write_results
    from sparrot.cli._summary import print_summary

    check_targets(options, AFFINITIES)
    source = read_affinity(options, session, symmetric=False)
    session.stage("writing")
    write_results(options, source.affinity, lambda: _draw(source.affinity, source.labels))
    print_summary(session, source, options)


def _draw(affinity: sparrot.Affinity, labels: Any) -> Any:
    """Perplexities and, where it is symmetric, the matrix by label, or by cluster.

    Labels that are numbers put the points in order, without blocks.
    """
    import numpy as np

    from sparrot.plot._categories import are_numbers, as_numbers
    from sparrot.plot._style import new_axes

    values = sparrot.perplexity(affinity.matrix)
    if affinity.kind in KINDS and not KINDS[affinity.kind].symmetric:
        return sparrot.plot.perplexity(values)
    axes = new_axes(n=2)
    if labels is None:
        model = sparrot.SpectralClustering(affinity="precomputed", components="each")
        labels = [f"cluster {k}" for k in model.fit(affinity).labels_]
    W = affinity.matrix
    if are_numbers(labels):
        order = np.argsort(as_numbers(labels), kind="stable")
        W, labels = W[order][:, order], None
    sparrot.plot.affinity(W, labels, ax=axes[0])
    sparrot.plot.perplexity(values, ax=axes[1])
    return axes
