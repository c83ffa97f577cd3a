r"""How the potential grows with eps: on the d-sphere like :math:`\varepsilon^{2/(2+d)}`.

The paper's eps belongs to rows of mass 1/N, ours to rows of mass one: ours is the paper's over N.
The exponent is fitted where the first-order theory can hold: enough neighbors for a sum to be an
integral, as the paper has it ("for eps sufficiently large"), and also a ball so small that the
sphere is nearly flat over it. There are 1,000 points, in five samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gamma

from sparrot.affinity import qot_path
from sparrot.datasets import make_sphere
from sparrot.geometry import potential_exponent, potential_level, scaling_exponent
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._figures import BLACK, BLUE, SKY, panel, paper_style
from sparrot.paper._records import Rows
from sparrot.paper._work import Work

_FEWEST = 15.0  # neighbors a row
_HIGHEST = 0.2  # level 2u, half the squared radius of the neighborhoods on the unit sphere


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points, dimensions, the paper's eps as powers of ten, and seeds."""

    n: int = 1000
    dimensions: tuple[int, ...] = (1, 2, 3)
    powers: tuple[float, float] = (-2.0, 6.0)
    n_eps: int = 33
    n_seeds: int = 5


def run(parameters: Parameters, work: Work) -> Numbers:
    """The mean potential for each dimension, eps and seed, and the exponents."""
    keys = [(d, seed) for d in parameters.dimensions for seed in range(parameters.n_seeds)]
    found = work.each(
        {f"{d}-{seed}": partial(_potentials, parameters, d, seed) for d, seed in keys}
    )
    rows = [row for rows in found.values() for row in rows]
    exponents = [{"d": d, "seed": s, "exponent": _exponent(rows, d, s)} for d, s in keys]
    return {
        "potentials": rows,
        "exponents": exponents,
        "mean_exponents": [_mean_exponent(exponents, d) for d in parameters.dimensions],
    }


def _potentials(parameters: Parameters, d: int, seed: int) -> Rows:
    n = parameters.n
    X = make_sphere(n, d, random_state=seed)
    mean_cost = float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    grid = np.logspace(*parameters.powers[::-1], parameters.n_eps)
    area = 2 * np.pi ** ((d + 1) / 2) / gamma((d + 1) / 2)
    rows = []
    for eps, a in zip(grid, qot_path(X, grid / n / mean_cost, n_jobs=1), strict=True):
        assert a.potential is not None
        u = float(a.potential.mean())
        level = potential_level(float(eps) / n, n, d, area)
        fitted = bool(a.mean_neighbors >= _FEWEST and 2 * u <= _HIGHEST)
        row = {"d": d, "seed": seed, "eps": float(eps), "u": u, "theory": level / 2}
        rows.append(row | {"neighbors": a.mean_neighbors, "fitted": fitted})
    return rows


def _exponent(rows: Rows, d: int, seed: int) -> float:
    chosen = [row for row in rows if (row["d"], row["seed"]) == (d, seed) and row["fitted"]]
    return scaling_exponent([row["eps"] for row in chosen], [row["u"] for row in chosen])


def _mean_exponent(exponents: Rows, d: int) -> dict[str, Any]:
    values = [row["exponent"] for row in exponents if row["d"] == d]
    mean, deviation = float(np.mean(values)), float(np.std(values))
    return {"d": d, "mean": mean, "deviation": deviation, "theory": potential_exponent(d)}


def claims(numbers: Numbers) -> list[Claim]:
    """The exponent of each dimension."""
    several = len({row["seed"] for row in numbers["exponents"]}) > 1
    return [_claim_exponent(row, several) for row in numbers["mean_exponents"]]


def _claim_exponent(row: dict[str, Any], several: bool) -> Claim:
    holds = abs(row["mean"] - row["theory"]) <= 0.1 * row["theory"]
    return Claim(
        f"Our empirical findings agree with the exponent 2/(2 + d) [d = {row['d']}]",
        f"{row['theory']:.3f} (theory; figure, not read)",
        f"{row['mean']:.3f}" + (f" ± {row['deviation']:.3f}" if several else ""),
        "mean of the fitted exponents within 10 % of 2/(2 + d)",
        holds,
        unless(holds, f"{row['mean'] / row['theory'] - 1:+.0%} off"),
    )


def draw(numbers: Numbers) -> dict[str, Any]:
    """Mean potential against eps, one panel per dimension."""
    found = numbers["mean_exponents"]
    with paper_style() as plt:
        figure, panels = plt.subplots(
            1, len(found), figsize=(4.3 * len(found), 3.8), layout="constrained"
        )
        for letter, of, axes in zip("abcdef", found, panels, strict=False):
            d = of["d"]
            _draw_potentials(axes, [r for r in numbers["potentials"] if r["d"] == d and r["u"] > 0])
            panel(axes, letter, f"d = {d}: exponent {of['mean']:.3f}, theory {of['theory']:.3f}")
            axes.set(xscale="log", yscale="log", xlabel=r"$\varepsilon$")
        panels[0].set_ylabel(r"mean potential $\overline{u}$")
        panels[0].legend(loc="upper left")
    return {"": figure}


def _draw_potentials(axes: Any, rows: Rows) -> None:
    """Every solve, those that are fitted, and the theory."""
    for fitted, label, style in (
        (False, "solved", {"color": SKY, "s": 10}),
        (True, "fitted", {"color": BLUE, "s": 22}),
    ):
        chosen = [row for row in rows if row["fitted"] is fitted]
        axes.scatter(
            [row["eps"] for row in chosen], [row["u"] for row in chosen], label=label, **style
        )
    theory = sorted({(row["eps"], row["theory"]) for row in rows})
    axes.plot(*zip(*theory, strict=True), color=BLACK, linestyle=":", label="first order")


EXPERIMENT = Experiment(
    "sphere",
    "Scaling of the potential on the d-sphere",
    Parameters(),
    Parameters(n=500, powers=(0.0, 5.0), n_eps=31, n_seeds=1),
    run,
    claims,
    draw,
)
