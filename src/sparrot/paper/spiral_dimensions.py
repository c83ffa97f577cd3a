"""The spiral's angles as the number of dimensions grows.

The claim is judged for the noise of the paper's text and for that of the authors' code. All methods
run, and are drawn, with the first; with the second only the two that the claim is about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sparrot.datasets import make_spiral
from sparrot.paper._experiment import Claim, Experiment, Numbers, with_samples
from sparrot.paper._figures import ANGLE_LABELS, draw_angles, panel, paper_style
from sparrot.paper._methods import (
    BY_NEIGHBORS,
    JUDGES,
    METHODS,
    PROJECTIONS,
    Finding,
    angle_records,
    angles,
    best_angle,
    claim_by_both,
    eps_grid,
    reference,
    slug,
)
from sparrot.paper._records import Rows, bands, curves_of, listed
from sparrot.paper._work import Work


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points, dimensions, noise, ranges and seeds."""

    n: int = 1000
    dimensions: tuple[int, ...] = (50, 100, 250, 1000)
    noise: tuple[float, float] = (0.05, 0.95)
    code_noise: tuple[float, float] = (0.05, 1.25)
    eps: tuple[float, ...] = eps_grid(25)
    k: tuple[int, ...] = tuple(range(5, 126, 10))
    n_seeds: int = 5

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method in BY_NEIGHBORS else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Angles of every method, for each number of dimensions."""
    rows = _angle_rows(parameters, work, parameters.noise, METHODS)
    return {
        "eps": list(parameters.eps),
        "k": list(parameters.k),
        "angles": rows,
        "angle_bands": bands(rows, ("d", "method", "parameter"), *JUDGES),
        "noises": [parameters.noise[1], parameters.code_noise[1]],
        "code_angles": _angle_rows(parameters, work, parameters.code_noise, PROJECTIONS),
    }


def _angle_rows(
    parameters: Parameters, work: Work, noise: tuple[float, float], methods: tuple[str, ...]
) -> Rows:
    seeds = range(parameters.n_seeds)
    keys = [(d, m, s) for d in parameters.dimensions for s in seeds for m in methods]
    units = {
        f"{noise[1]}-{d}-{slug(m)}-{s}": partial(_angles, parameters, d, m, s, noise)
        for d, m, s in keys
    }
    found = dict(zip(keys, work.each(units).values(), strict=True))
    ranges = {m: parameters.of(m) for m in methods}
    return [
        {"d": d} | row
        for d in parameters.dimensions
        for row in angle_records({(m, s): v for (e, m, s), v in found.items() if e == d}, ranges)
    ]


def _angles(
    parameters: Parameters, d: int, method: str, seed: int, noise: tuple[float, float]
) -> list[dict[str, float]]:
    spiral = make_spiral(parameters.n, d, noise=noise, random_state=seed)
    return angles(method, spiral.X, parameters.of(method), reference(spiral))


def claims(numbers: Numbers) -> list[Claim]:
    """The caption of the supplementary figure, for the noise of the text and of the code."""
    text, code = numbers["noises"]
    return [
        claim_on_dimensions(numbers["angles"], f"noise 0.05 + {text:g} (text): "),
        claim_on_dimensions(numbers["code_angles"], f"noise 0.05 + {code:g} (code): "),
    ]


def claim_on_dimensions(rows: Rows, setup: str = "") -> Claim:
    """That angles fall as the dimension grows; `setup` says of which data."""
    return with_samples(partial(_claims_by_means, setup), {"angles": rows})[0]


def _claims_by_means(setup: str, numbers: Numbers) -> list[Claim]:
    claim = claim_by_both(
        "performance of bistochastic, hollow methods (both L2 and entropic) improves as d "
        "increases",
        "QOT 0.140, 0.105, 0.078, 0.044; EOT 0.459, 0.264, 0.157, 0.110 (to ten vectors)",
        "best angle falls from each d to the next, for QOT and for EOT",
        partial(_improvement, numbers["angles"]),
    )
    return [replace(claim, ours=setup + claim.ours)]


def _improvement(rows: Rows, judge: str) -> Finding:
    dimensions = sorted({row["d"] for row in rows})
    curves = [curves_of([row for row in rows if row["d"] == d], judge) for d in dimensions]
    best = {m: [best_angle(c, m) for c in curves] for m in PROJECTIONS}
    rises = {m: float(np.diff(values).max()) for m, values in best.items()}
    worst = max(rises, key=lambda m: rises[m])
    falls = "; ".join(f"{m} {listed(values, '.2f')}" for m, values in best.items())
    return Finding(
        f"best angle {falls} at d = {listed(dimensions)}",
        max(rises.values()) < 0,
        f"that of {worst} changes by {rises[worst]:+.3f} at one step",
    )


def draw(numbers: Numbers) -> dict[str, Any]:
    """Angles over the parameter: one row per dimension, the paper's judge and whole pairs."""
    dimensions = sorted({row["d"] for row in numbers["angles"]})
    with paper_style() as plt:
        figure, panels = plt.subplots(
            len(dimensions),
            2,
            figsize=(12, 3.5 * len(dimensions)),
            sharey=True,
            layout="constrained",
        )
        for row, d in zip(panels, dimensions, strict=True):
            for axes, judge in zip(row, ANGLE_LABELS, strict=True):
                draw_angles(axes, [r for r in numbers["angle_bands"] if r["d"] == d], judge)
        panels[0, 1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        judges = ["the paper's judge", "whole pairs"] * len(dimensions)
        places = zip("abcdefgh", panels.flat, np.repeat(dimensions, 2), judges, strict=False)
        for letter, axes, d, by in places:
            panel(axes, letter, f"d = {d:,}, {by}")
    return {"": figure}


EXPERIMENT = Experiment(
    "spiral-dimensions",
    "The spiral as the dimension grows",
    Parameters(),
    Parameters(n=300, dimensions=(50, 250), eps=eps_grid(9), k=(5, 15, 30), n_seeds=1),
    run,
    claims,
    draw,
)
