"""`sparrot tsne`: a layout by t-SNE of an affinity."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

import sparrot
from sparrot.cli.output import FIGURES, TABLES, Table, require_writable, write_figure, write_table
from sparrot.cli.session import Session
from sparrot.cli.source import read_affinity
from sparrot.cli.summary import tell
from sparrot.errors import InvalidInputError
from sparrot.extras import load_extra
from sparrot.interop.build import PERPLEXITY
from sparrot.interop.opentsne import lay_out


def run(options: Namespace, session: Session) -> None:
    """Lay out, write and draw."""
    require_writable(options.output, TABLES)
    require_writable(options.plot, FIGURES)
    load_extra("openTSNE", "tsne")
    if options.plot is not None and options.components < 2:
        raise InvalidInputError(
            "a scatter needs two coordinates; take --components 2, or no --plot"
        )
    source = read_affinity(options, session, {"perplexity": PERPLEXITY})
    session.stage("t-SNE")
    layout = lay_out(
        source.affinity.matrix,
        n_components=options.components,
        random_state=0,
        n_jobs=options.n_jobs or 1,
    )
    Y = np.array(layout)
    if options.output is not None:
        names = [f"tsne_{k + 1}" for k in range(Y.shape[1])]
        write_table(Table("obsm/X_tsne", names, Y), options.output, source.path)
    if options.plot is not None:
        write_figure(sparrot.plot.embedding(Y), options.plot)
    divergence = float(layout.kl_divergence)
    facts = {"components_kept": Y.shape[1], "kl_divergence": divergence}
    tell(session, source, options, facts, {"t-SNE": f"KL divergence {divergence:.4g}"})
