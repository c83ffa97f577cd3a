"""`sparrot affinity`: from points to an affinity."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import sparrot
from sparrot.cli.output import write_results
from sparrot.cli.session import Session
from sparrot.cli.source import read_affinity
from sparrot.cli.summary import tell
from sparrot.cli.targets import AFFINITIES, check_targets
from sparrot.plot._style import new_axes


def run(options: Namespace, session: Session) -> None:
    """Make the affinity, write it, draw it, and say what it is like."""
    check_targets(options, AFFINITIES)
    source = read_affinity(options, session)
    session.stage("writing")
    write_results(options, source.affinity, lambda: _draw(source.affinity))
    tell(session, source, options)


def _draw(affinity: sparrot.Affinity) -> Any:
    """Perplexities and, where it is symmetric, the matrix."""
    values = sparrot.perplexity(affinity.matrix)
    if affinity.kind == "magic":
        return sparrot.plot.perplexity(values)
    axes = new_axes(n=2)
    sparrot.plot.affinity(affinity, ax=axes[0])
    sparrot.plot.perplexity(values, ax=axes[1])
    return axes
