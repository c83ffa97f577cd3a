"""What is said at the end: about an affinity, as facts for programs and lines for people."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

import sparrot
from sparrot.cli.session import Session
from sparrot.cli.source import Source
from sparrot.embedding import Summary


def tell(
    session: Session,
    source: Source,
    options: Namespace,
    facts: dict[str, Any] | None = None,
    lines: dict[str, str] | None = None,
) -> None:
    """The affinity, what a command adds to it, and the files that were written."""
    said = affinity_lines(source.affinity) | (lines or {})
    if source.shape is not None:
        said["points"] += f" in {source.shape[1]:,} dimensions"
    files = files_facts(options)
    session.finish(
        files | affinity_facts(source.affinity) | (facts or {}), said | files_lines(options)
    )


def files_facts(options: Namespace) -> dict[str, Any]:
    """The files of a command: what was read, and what was written."""
    targets = (options.output, getattr(options, "plot", None))
    written = [str(target) for target in targets if target is not None]
    return {"input": str(options.path), "written": written}


def files_lines(options: Namespace) -> dict[str, str]:
    """The same for people."""
    written = ", ".join(files_facts(options)["written"])
    return {"written": written} if written else {}


def affinity_facts(affinity: sparrot.Affinity) -> dict[str, Any]:
    """What is known about an affinity.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> facts = affinity_facts(sparrot.knn(np.arange(4.0)[:, None], 1))
    >>> facts["n"], facts["neighbours"], facts["components"], facts["certificate"]
    (4, 1.5, 1, None)
    """
    certificate = affinity.certificate
    return {
        "n": affinity.matrix.shape[0],
        "kind": affinity.kind,
        "metric": affinity.metric,
        "eps": affinity.eps,
        "relative_eps": None if affinity.eps is None else affinity.relative_eps,
        "mean_cost": affinity.mean_cost,
        "neighbours": affinity.neighbours,
        "perplexity": affinity.perplexity,
        "components": affinity.components,
        "certificate": None if certificate is None else asdict(certificate),
        "solver": affinity.solver,
        "n_iter": affinity.n_iter,
        "n_solves": affinity.n_solves,
    }


def affinity_lines(affinity: sparrot.Affinity) -> dict[str, str]:
    """The same for people.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> affinity_lines(sparrot.knn(np.arange(4.0)[:, None], 1))["neighbours"]
    '1.5 a row (perplexity 1.5)'
    """
    lines = {"points": f"{affinity.matrix.shape[0]:,}", "affinity": affinity.kind}
    if affinity.eps is not None:
        lines["affinity"] += f", eps = {affinity.relative_eps:.4g} x mean cost"
    lines["neighbours"] = f"{affinity.neighbours:.1f} a row (perplexity {affinity.perplexity:.1f})"
    lines["components"] = f"{affinity.components}"
    if affinity.certificate is not None:
        lines["certificate"] = certificate_line(affinity.certificate)
    return lines


def along_eps_facts(summary: Summary) -> dict[str, Any]:
    """What is known about the chosen eps of a path."""
    step = summary.steps[summary.chosen]
    return {
        "n": summary.shape[0],
        "metric": summary.metric,
        "mean_cost": summary.mean_cost,
        "relative_eps": step.eps,
        "neighbours": float(step.neighbours.mean()),
        "perplexity": float(step.perplexity.mean()),
        "components": step.components,
        "certificate": asdict(step.certificate),
    }


def along_eps_lines(summary: Summary) -> dict[str, str]:
    """The same for people."""
    facts = along_eps_facts(summary)
    return {
        "points": f"{facts['n']:,} in {summary.shape[1]:,} dimensions",
        "affinity": f"qot, eps = {facts['relative_eps']:.4g} x mean cost",
        "neighbours": f"{facts['neighbours']:.1f} a row (perplexity {facts['perplexity']:.1f})",
        "components": f"{facts['components']}",
        "certificate": certificate_line(summary.steps[summary.chosen].certificate),
    }


def certificate_line(certificate: sparrot.Certificate) -> str:
    """Why this is the optimum, in one line."""
    checked = f"{certificate.pairs_checked:,} pairs"
    if certificate.exact:
        checked = f"all {checked}"
    else:
        checked += f", pairs missed in at most {certificate.missed_rows:.2%} of the rows"
    return (
        f"marginal error {certificate.marginal_error:.1e}, violation "
        f"{certificate.violation:.1e} over {checked}"
    )
