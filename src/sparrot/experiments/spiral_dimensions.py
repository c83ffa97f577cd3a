"""The spiral's angles as the number of dimensions grows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sparrot.datasets import make_spiral
from sparrot.experiments import angles as judge
from sparrot.experiments.bands import bands
from sparrot.experiments.frame import Claim, Experiment, Numbers
from sparrot.experiments.work import Work


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points, dimensions, noise, ranges and seeds."""

    n: int = 1000
    dimensions: tuple[int, ...] = (50, 100, 250, 1000)
    noise: tuple[float, float] = (0.05, 0.95)
    eps: tuple[float, ...] = judge.eps_grid(25)
    k: tuple[int, ...] = tuple(range(5, 126, 10))
    n_seeds: int = 1

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
    units = {
        f"{i:03d}-{d}-{s}": partial(_angles, parameters, d, m, s)
        for i, (d, m, s) in enumerate(keys)
    }
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
        "angle_bands": bands(rows, ("d", "method", "parameter"), "angle"),
    }


def _angles(parameters: Parameters, d: int, method: str, seed: int) -> list[float]:
    spiral = make_spiral(parameters.n, d, noise=parameters.noise, random_state=seed)
    return judge.angles(method, spiral.X, parameters.of(method), judge.reference(spiral))


def claims(numbers: Numbers) -> list[Claim]:
    """The caption of the supplementary figure."""
    dimensions = sorted({row["d"] for row in numbers["angles"]})
    best = {
        d: {m: judge.best(curves, m) for m in ("QOT", "EOT")}
        for d in dimensions
        for curves in [judge.curves_of([row for row in numbers["angles"] if row["d"] == d])]
    }
    falls = {m: np.diff([best[d][m] for d in dimensions]) for m in ("QOT", "EOT")}
    said = "; ".join(
        f"{m} " + ", ".join(f"{best[d][m]:.2f}" for d in dimensions) for m in ("QOT", "EOT")
    )
    return [
        Claim(
            "performance of bistochastic, hollow methods (both L2 and entropic) improves as d "
            "increases",
            "improves",
            f"best angle {said} at d = {', '.join(map(str, dimensions))}",
            "best angle falls from each d to the next, for QOT and for EOT",
            all(bool((fall < 0).all()) for fall in falls.values()),
        )
    ]


EXPERIMENT = Experiment(
    "spiral-dimensions",
    "The spiral as the dimension grows",
    Parameters(),
    Parameters(n=300, dimensions=(50, 250), eps=judge.eps_grid(9), k=(5, 15, 30), n_seeds=1),
    run,
    claims,
)
