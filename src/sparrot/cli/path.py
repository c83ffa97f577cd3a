"""`sparrot path`: how the affinity of points changes with eps."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import sparrot
from sparrot.cli._options import add_command, add_input, add_output, add_qot, targets
from sparrot.cli._session import Session
from sparrot.cli._summary import files_facts, files_lines, path_facts, path_lines

_QUANTILES = ("least", "10%", "median", "90%", "most")


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "path",
        "what eps does: neighbors, components and spectrum along a path of eps",
        "QOT affinities at some eps and at others around it.",
        "points.npy",
        "points.npy --perplexity 30 --span 10 --steps 5 -o path.csv --plot path.png",
    )
    add_input(parser, labeled=False)
    add_qot(parser)
    parser.add_argument(
        "--span",
        type=float,
        default=4.0,
        metavar="F",
        help="largest eps over the middle one (default: 4)",
    )
    parser.add_argument(
        "--steps",
        dest="each_side",
        type=int,
        default=3,
        metavar="N",
        help="eps on either side of it (default: 3)",
    )
    add_output(parser, "neighbors, eigenvalues and components", targets("record"))


def run(options: Namespace, session: Session) -> None:
    """Solve at every eps, write a row for each, draw, and print them."""
    from sparrot.cli._input import read_points, summarize
    from sparrot.cli._output import RECORDS, check_targets, write_results
    from sparrot.io import Table
    from sparrot.summary import as_sides

    check_targets(options, RECORDS)
    as_sides(options.each_side, options.span)
    points = read_points(options, session)
    session.stage("path")
    summary = summarize(points, options, session, each_side=options.each_side, span=options.span)
    records = [step_record(step) for step in summary.steps]
    table = Table({name: [record[name] for record in records] for name in records[0]})
    write_results(options, table, lambda: sparrot.plot.eps_path(summary))
    for warning in summary.steps[summary.chosen].warnings:
        session.warn(warning)
    facts = path_facts(summary) | {"chosen": summary.chosen, "steps": records}
    lines = path_lines(summary, options) | _table(records, summary.chosen)
    session.finish(files_facts(options) | facts, lines | files_lines(options))


def step_record(step: Any) -> dict[str, float]:
    """The numbers at one eps."""
    record = {
        "relative_eps": step.relative_eps,
        "neighbors": float(step.neighbor_counts.mean()),
        "perplexity": float(step.perplexity.mean()),
        "components": step.n_connected_components,
    }
    named = zip(_QUANTILES, step.quantiles.tolist(), strict=True)
    record |= {f"neighbors {name}": value for name, value in named}
    record |= {f"eigenvalue {k}": value for k, value in enumerate(step.eigenvalues.tolist(), 1)}
    certificate = step.certificate
    return record | {
        "marginal_error": certificate.marginal_error,
        "violation": certificate.violation,
        "floor_violation": certificate.floor_violation,
        "complementarity": certificate.complementarity,
    }


def _table(records: list[dict[str, float]], chosen: int) -> dict[str, str]:
    """A line for each eps, below a heading."""
    lines = {"eps": "neighbors  perplexity  components  2nd eigenvalue"}
    for k, r in enumerate(records):
        mark = "  <- chosen" if k == chosen else ""
        lines[f"{r['relative_eps']:.4g}"] = (
            f"{r['neighbors']:>9.1f}  {r['perplexity']:>10.1f}  {r['components']:>10}"
            f"  {r['eigenvalue 2']:>14.6f}{mark}"
        )
    return lines
