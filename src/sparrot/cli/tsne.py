"""`sparrot tsne`: a layout by t-SNE of an affinity."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

import sparrot
from sparrot._extras import load_extra

from sparrot.cli.output import coordinates, write_results
from sparrot.cli.session import Session
from sparrot.cli.source import read_affinity
from sparrot.cli.summary import tell
from sparrot.cli.targets import TABLES, check_targets
from sparrot.errors import InvalidInputError
from sparrot.layout._tsne import tsne_layout


def run(options: Namespace, session: Session) -> None:
    """Lay out, write and draw."""
    check_targets(options, TABLES)
    load_extra("openTSNE", "tsne")
    if options.plot is not None and options.components < 2:
        raise InvalidInputError(
            "a scatter needs two coordinates; take --components 2, or no --plot"
        )
    source = read_affinity(options, session, {"perplexity": PERPLEXITY})
    session.stage("t-SNE")
    layout = tsne_layout(
        source.affinity.matrix,
        n_components=options.components,
        random_state=0,
        n_jobs=options.n_jobs or 1,
    )
    Y = np.array(layout)
    write_results(options, coordinates(Y, "tsne"), lambda: sparrot.plot.embedding(Y))
    divergence = float(layout.kl_divergence)
    facts = {"components_kept": Y.shape[1], "kl_divergence": divergence}
    tell(session, source, options, facts, {"t-SNE": f"KL divergence {divergence:.4g}"})
