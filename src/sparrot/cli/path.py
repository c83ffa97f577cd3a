"""`sparrot path`: what eps does to the affinity of points."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

import sparrot
from sparrot.cli.output import Table, write_results
from sparrot.cli.session import Session
from sparrot.cli.source import read_points, summarize
from sparrot.cli.summary import along_eps_facts, along_eps_lines, files_facts, files_lines
from sparrot.cli.targets import RECORDS, check_targets
from sparrot.summary import Step, Summary

_QUANTILES = ("least", "10%", "median", "90%", "most")


def run(options: Namespace, session: Session) -> None:
    """Solve along eps, write a row for each, and print them."""
    check_targets(options, RECORDS)
    points = read_points(options, session)
    session.stage("path")
    summary = summarize(points, options, session, each_side=options.steps, span=options.span)
    records = [step_record(step) for step in summary.steps]
    table = Table({name: np.array([r[name] for r in records]) for name in records[0]})
    write_results(options, table, lambda: sparrot.plot.eps_path(summary))
    for warning in summary.steps[summary.chosen].warnings:
        session.warn(warning)
    _tell(session, options, summary, records)


def step_record(step: Step) -> dict[str, float]:
    """One eps in numbers."""
    record = {
        "eps": step.eps,
        "neighbors": float(step.n_neighbors.mean()),
        "perplexity": float(step.perplexity.mean()),
        "components": step.components,
    }
    named = zip(_QUANTILES, step.quantiles.tolist(), strict=True)
    record |= {f"neighbors {name}": value for name, value in named}
    record |= {f"eigenvalue {k}": value for k, value in enumerate(step.eigenvalues.tolist(), 1)}
    certificate = step.certificate
    return record | {
        "marginal_error": certificate.marginal_error,
        "violation": certificate.violation,
    }


def _tell(
    session: Session, options: Namespace, summary: Summary, records: list[dict[str, Any]]
) -> None:
    facts = along_eps_facts(summary) | {"chosen": summary.chosen, "steps": records}
    lines = along_eps_lines(summary)
    lines["eps"] = "neighbors  perplexity  components  2nd eigenvalue"
    for k, r in enumerate(records):
        mark = "  <- chosen" if k == summary.chosen else ""
        lines[f"{r['eps']:.4g}"] = (
            f"{r['neighbors']:>10.1f}  {r['perplexity']:>10.1f}  {r['components']:>10}"
            f"  {r['eigenvalue 2']:>14.6f}{mark}"
        )
    session.finish(files_facts(options) | facts, lines | files_lines(options))
