"""`sparrot embed`: coordinates by eigenvectors of an affinity."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import sparrot
from sparrot.cli.output import coordinates, write_results
from sparrot.cli.session import Session
from sparrot.cli.source import read_affinity
from sparrot.cli.summary import tell
from sparrot.cli.targets import TABLES, check_targets
from sparrot.errors import InvalidInputError


def run(options: Namespace, session: Session) -> None:
    """Embed, write, draw, and say how."""
    check_targets(options, TABLES)
    model = _model(options)
    source = read_affinity(options, session)
    session.stage("eigenvectors")
    Y = model.fit_transform(source.affinity.matrix)
    write_results(options, coordinates(Y, options.method), lambda: sparrot.plot.embedding(Y))
    values = model.eigenvalues_.tolist()
    facts = {"method": options.method, "components_kept": Y.shape[1], "eigenvalues": values}
    said = ", ".join(f"{value:.4g}" for value in values[:6]) + (", ..." if len(values) > 6 else "")
    tell(session, source, options, facts, {"eigenvalues": said})


def _model(options: Namespace) -> Any:
    if options.plot is not None and options.components < 2:
        raise InvalidInputError(
            "a scatter needs two coordinates; take --components 2, or no --plot"
        )
    if options.method == "diffusion":
        t = 1 if options.time is None else options.time
        return sparrot.DiffusionMap(options.components, t=t, affinity="precomputed")
    if options.time is not None:
        raise InvalidInputError("--time is for --method diffusion; eigenmaps have none")
    return sparrot.Eigenmaps(options.components, affinity="precomputed")
