"""`sparrot demo`: a table and a figure."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from sparrot.cli.session import Session
from sparrot.experiments.demo import Demo, run_demo
from sparrot.extras import load_extra
from sparrot.files import whole_file
from sparrot.plot.demo import draw_demo


def run(options: Namespace, session: Session) -> None:
    """Run the demo, print its table and write its figure."""
    folder: Path = options.output
    session.stage("the spiral")
    load_extra("matplotlib", "plot").use("Agg")
    folder.mkdir(parents=True, exist_ok=True)  # fail before the work, not after it
    result = run_demo()
    session.close()
    n, d = result.spiral.X.shape
    print(f"The paper's spiral: {n} points, {d} dimensions, noise that varies along the curve.\n")
    print(_table(result))
    certificate = result.affinity.certificate
    assert certificate is not None
    print(
        f"\nQOT is optimal: row sums are one to {certificate.marginal_error:.0e}, and none of the "
        f"{certificate.pairs_checked:,} pairs\nis violated "
        f"(violation {certificate.violation:.0f}). An angle of 0 is the clean curve; "
        "1.57 is nothing in common."
    )
    with whole_file(folder / "demo.png") as path:
        draw_demo(result).savefig(path, dpi=150)
    print(f"\nFigure: {folder / 'demo.png'}")


def _table(result: Demo) -> str:
    lines = [f"{'graph':<10}{'parameter':<24}{'mean angle':>11}{'neighbours':>12}{'seconds':>9}"]
    lines += [
        f"{o.name:<10}{o.parameter:<24}{o.angle:>11.3f}{o.neighbours:>12.1f}{o.seconds:>9.2f}"
        for o in result.outcomes
    ]
    return "\n".join(lines)
