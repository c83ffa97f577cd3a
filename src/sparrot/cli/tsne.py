"""`sparrot tsne`: a layout by t-SNE of an affinity."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import Any

from sparrot.cli._options import add_affinity, add_command, add_components, add_output, add_source
from sparrot.cli._session import Session
from sparrot.errors import load_extra


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "tsne",
        "t-SNE of the affinity",
        "t-SNE by openTSNE of points or of an affinity, started from its leading eigenvectors.",
        "points.npy -o layout.csv --plot layout.png",
        "cells.h5ad --array obsm/X_pca --perplexity 50 -o cells.h5ad",
    )
    add_source(parser, colored=True)
    add_components(parser, choices=(1, 2))
    add_affinity(parser, default="--perplexity 30", threads="one for t-SNE, otherwise all cores")
    add_output(parser, "the layout")


def run(options: Namespace, session: Session) -> None:
    """Lay out, write, draw, and print the divergence."""
    import numpy as np

    from sparrot.cli._input import read_affinity
    from sparrot.cli._output import TABLES, check_targets, coordinates, draw_layout, write_results
    from sparrot.cli._summary import print_summary
    from sparrot.layout._tsne import tsne_layout

    check_targets(options, TABLES)
    load_extra("openTSNE", "tsne")
    source = read_affinity(options, session, layout=True)
    session.stage("t-SNE")
    layout = tsne_layout(
        source.affinity.matrix,
        n_components=options.n_components,
        random_state=0,
        n_jobs=options.n_jobs or 1,
    )
    Y = np.array(layout)
    drawn = partial(draw_layout, Y, "t-SNE", source.labels, options.label)
    write_results(options, coordinates(Y, "tsne"), drawn)
    divergence = float(layout.kl_divergence)
    facts = {"components_kept": Y.shape[1], "kl_divergence": divergence}
    print_summary(session, source, options, facts, {"t-SNE": f"KL divergence {divergence:.4g}"})
