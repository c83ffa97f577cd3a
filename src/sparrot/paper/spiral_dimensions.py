"""The spiral's angles as the number of dimensions grows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot.datasets import make_spiral
from sparrot.paper import _angles as judge
from sparrot.paper._bands import bands
from sparrot.paper._frame import Claim, Experiment, Numbers
from sparrot.paper._work import Work
from sparrot.paper.spiral_claims import Measured, by_both


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points, dimensions, noise, ranges and seeds."""

    n: int = 1000
    dimensions: tuple[int, ...] = (50, 100, 250, 1000)
    noise: tuple[float, float] = (0.05, 0.95)
    eps: tuple[float, ...] = judge.eps_grid(25)
    k: tuple[int, ...] = tuple(range(5, 126, 10))
    n_seeds: int = 2

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method in judge.BY_NEIGHBOURS else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Angles of every method, for each number of dimensions."""
    keys = [
        (d, m, s)
        for d in parameters.dimensions
        for s in range(parameters.n_seeds)
        for m in judge.METHODS
    ]
    units = {f"{d}-{judge.slug(m)}-{s}": partial(_angles, parameters, d, m, s) for d, m, s in keys}
    found = dict(zip(keys, work.each(units).values(), strict=True))
    ranges = {m: parameters.of(m) for m in judge.METHODS}
    rows = [
        {"d": d} | row
        for d in parameters.dimensions
        for row in judge.table({(m, s): v for (e, m, s), v in found.items() if e == d}, ranges)
    ]
    return {
        "eps": list(parameters.eps),
        "k": list(parameters.k),
        "angles": rows,
        "angle_bands": bands(rows, ("d", "method", "parameter"), *judge.JUDGES),
    }


def _angles(parameters: Parameters, d: int, method: str, seed: int) -> list[dict[str, float]]:
    spiral = make_spiral(parameters.n, d, noise=parameters.noise, random_state=seed)
    return judge.angles(method, spiral.X, parameters.of(method), judge.reference(spiral))


def claims(numbers: Numbers) -> list[Claim]:
    """The caption of the supplementary figure."""
    return [
        by_both(
            "performance of bistochastic, hollow methods (both L2 and entropic) improves as d "
            "increases",
            "improves",
            "best angle falls from each d to the next, for QOT and for EOT",
            partial(_improves, numbers["angles"]),
        )
    ]


def _improves(rows: list[dict[str, Any]], key: str) -> Measured:
    dimensions = sorted({row["d"] for row in rows})
    curves = [judge.curves_of([row for row in rows if row["d"] == d], key) for d in dimensions]
    best = {m: [judge.best(c, m) for c in curves] for m in ("QOT", "EOT")}
    rises = {m: float(np.diff(values).max()) for m, values in best.items()}
    said = "; ".join(f"{m} " + ", ".join(f"{v:.2f}" for v in best[m]) for m in best)
    worst = max(rises, key=lambda m: rises[m])
    return Measured(
        f"best angle {said} at d = {', '.join(map(str, dimensions))}",
        max(rises.values()) < 0,
        f"that of {worst} changes by {rises[worst]:+.3f} at one step",
    )


EXPERIMENT = Experiment(
    "spiral-dimensions",
    "The spiral as the dimension grows",
    Parameters(),
    Parameters(n=300, dimensions=(50, 250), eps=judge.eps_grid(9), k=(5, 15, 30), n_seeds=1),
    run,
    claims,
)
