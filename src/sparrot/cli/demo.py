"""`sparrot demo`: a table and a figure."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from sparrot._files import whole_file
from sparrot.cli._options import add_command, add_folder, add_verbosity
from sparrot.cli._session import Session
from sparrot.cli._summary import affinity_facts, affinity_lines


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "demo",
        "recover a noisy spiral, against k-NN and Gaussian graphs",
        "The paper's spiral in 250 dimensions: a table, and a figure.",
        "--output out",
    )
    add_folder(parser, "the figure goes")
    add_verbosity(parser)


def run(options: Namespace, session: Session) -> None:
    """Run the demo, print its table and write its figure."""
    from sparrot.cli._output import FIGURES, require_writable
    from sparrot.paper.demo import draw_demo, run_demo

    target: Path = options.output / "demo.png"
    require_writable(target, FIGURES)
    session.stage("the spiral")
    result = run_demo()
    n, d = result.spiral.X.shape
    session.say(
        f"The paper's spiral: {n} points, {d} dimensions, noise that varies along the curve.\n\n"
        f"{table(result.outcomes)}\n\n"
        "An angle of 0 is the clean curve; 1.57 is nothing in common. About QOT:\n"
    )
    with whole_file(target) as path:
        draw_demo(result).savefig(path, dpi=150)
    graphs = [
        {
            "name": outcome.name,
            "parameter": outcome.parameter,
            "angle": outcome.angle,
            "neighbors": outcome.mean_neighbors,
            "seconds": outcome.seconds,
        }
        for outcome in result.outcomes
    ]
    lines = affinity_lines(result.affinity) | {"written": str(target)}
    facts = {"written": [str(target)], "graphs": graphs} | affinity_facts(result.affinity)
    session.finish(facts, lines)


def table(outcomes: Any) -> str:
    """A line for each graph, below a heading; seconds are to build that graph alone."""
    lines = [f"{'graph':<10}{'parameter':<24}{'mean angle':>11}{'neighbors':>12}{'seconds':>9}"]
    lines += [
        f"{o.name:<10}{o.parameter:<24}{o.angle:>11.3f}{o.mean_neighbors:>12.1f}{o.seconds:>9.2f}"
        for o in outcomes
    ]
    return "\n".join(lines)
