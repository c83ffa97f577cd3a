"""`sparrot demo`: a table and a figure."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from sparrot._files import whole_file
from sparrot.cli.session import Session
from sparrot.cli.summary import affinity_facts, affinity_lines
from sparrot.cli.targets import FIGURES, require_writable
from sparrot.paper.demo import Demo, Outcome, draw_demo, run_demo


def run(options: Namespace, session: Session) -> None:
    """Run the demo, print its table and write its figure."""
    target: Path = options.output / "demo.png"
    require_writable(target, FIGURES)
    session.stage("the spiral")
    result = run_demo()
    n, d = result.spiral.X.shape
    session.say(
        f"The paper's spiral: {n} points, {d} dimensions, noise that varies along the curve.\n\n"
        f"{_table(result)}\n\n"
        "An angle of 0 is the clean curve; 1.57 is nothing in common. About QOT:\n"
    )
    with whole_file(target) as path:
        draw_demo(result).savefig(path, dpi=150)
    facts = {"written": [str(target)], "graphs": [_facts(outcome) for outcome in result.outcomes]}
    lines = affinity_lines(result.affinity) | {"written": str(target)}
    session.finish(facts | affinity_facts(result.affinity), lines)


def _facts(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "parameter": outcome.parameter,
        "angle": outcome.angle,
        "neighbors": outcome.n_neighbors,
        "seconds": outcome.seconds,
    }


def _table(result: Demo) -> str:
    lines = [f"{'graph':<10}{'parameter':<24}{'mean angle':>11}{'neighbors':>12}{'seconds':>9}"]
    lines += [
        f"{o.name:<10}{o.parameter:<24}{o.angle:>11.3f}{o.n_neighbors:>12.1f}{o.seconds:>9.2f}"
        for o in result.outcomes
    ]
    return "\n".join(lines)
