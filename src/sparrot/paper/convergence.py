"""Alternating projections against Newton, on the projection of a random matrix.

A matrix of standard Gaussians is made symmetric and projected onto the bistochastic matrices by
either solver. The error is the marginal error `max_i |(W1)_i - 1|`; the paper draws the Euclidean
norm of the same vector, which is at most sqrt(N) times as large. Our alternating projections have
Dykstra's correction, without which they end in a feasible matrix that is not the projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot.affinity import project
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._figures import STYLES, panel, paper_style
from sparrot.paper._work import Work

_SOLVERS = {"newton": "semismooth Newton", "alternating": "alternating projections"}
_EARLY = 1e-5  # an error at which some would stop


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sizes of the matrix, whether the diagonal is forbidden, error to reach, and seed."""

    sizes: tuple[int, ...] = (250, 1000)
    hollow: bool = False
    tol: float = 1e-8
    seed: int = 0


def run(parameters: Parameters, work: Work) -> Numbers:
    """The error after each step of each solver, for each size."""
    keys = [(n, solver) for n in parameters.sizes for solver in _SOLVERS]
    found = work.each(
        {f"{solver}-{n}": partial(_errors, n, solver, parameters) for n, solver in keys}
    )
    curves = [{"n": n, "solver": s, "errors": found[f"{s}-{n}"]} for n, s in keys]
    steps = [{"n": c["n"], "solver": c["solver"], "steps": len(c["errors"]) - 1} for c in curves]
    return {"tol": parameters.tol, "curves": curves, "steps": steps}


def _errors(n: int, solver: str, parameters: Parameters) -> list[float]:
    K = np.random.default_rng(parameters.seed).standard_normal((n, n))
    found = project(
        (K + K.T) / 2, hollow=parameters.hollow, solver=solver, tol=parameters.tol, n_jobs=1
    )
    assert found.certificate is not None
    return [*found.history, found.certificate.marginal_error]


def claims(numbers: Numbers) -> list[Claim]:
    """What the paper says about the two solvers."""
    steps = {(row["n"], row["solver"]): row["steps"] for row in numbers["steps"]}
    sizes = sorted({n for n, _ in steps})
    newton, alternating = ([steps[n, solver] for n in sizes] for solver in _SOLVERS)
    ratio = min(a / b for a, b in zip(alternating, newton, strict=True))
    growth = alternating[-1] / alternating[0]
    tol = f"{numbers['tol']:.0e}"
    early = [
        next(k for k, error in enumerate(curve["errors"]) if error <= _EARLY)
        for curve in numbers["curves"]
        if curve["solver"] == "newton"
    ]
    norm = "by the largest entry of W1 - 1; the paper takes its Euclidean norm"
    fewer, orders, slower = max(newton) < 10, ratio >= 100, growth >= 2
    return [
        Claim(
            "the semi-smooth Newton method converges in fewer than 10 iterations",
            "< 10",
            f"{_joined(newton)} (N = {_joined(sizes)})",
            f"fewer than 10 steps to a marginal error of {tol}, at every N",
            fewer,
            norm
            if fewer
            else f"it takes {max(newton)} to {tol}, and the paper does not say to what error; ours "
            "solves each Newton system only as precisely as the step deserves, and is at "
            f"{_EARLY:.0e} after {_joined(early)} ({norm})",
        ),
        Claim(
            "the alternating scheme takes several orders of magnitude more iterations",
            "several orders",
            f"{_joined(alternating)}, {ratio:.0f} times as many or more",
            f"at least 100 times as many to {tol}, at every N",
            orders,
            unless(orders, f"at N = {sizes[0]} the factor is {ratio:.0f}"),
        ),
        Claim(
            "its convergence rate appears to become much slower for larger problem sizes",
            "slower",
            f"{growth:.1f} times as many rounds at N = {sizes[-1]} as at {sizes[0]}",
            "at least twice as many at the largest N as at the smallest",
            slower,
            unless(slower, f"{growth:.2f} times as many"),
        ),
    ]


def _joined(values: list[int]) -> str:
    return " and ".join(map(str, values))


def draw(numbers: Numbers) -> dict[str, Any]:
    """Error against steps: one panel per size, both axes logarithmic."""
    sizes = sorted({curve["n"] for curve in numbers["curves"]})
    styles = {"newton": STYLES["QOT"], "alternating": STYLES["EOT"] | {"marker": ""}}
    with paper_style() as plt:
        figure, panels = plt.subplots(
            1, len(sizes), figsize=(4.4 * len(sizes), 3.6), sharey=True, layout="constrained"
        )
        for letter, n, axes in zip("abcdef", sizes, panels, strict=False):
            for curve in (c for c in numbers["curves"] if c["n"] == n):
                solver = curve["solver"]
                steps = range(1, len(curve["errors"]))
                axes.loglog(steps, curve["errors"][1:], label=_SOLVERS[solver], **styles[solver])
            axes.axhline(numbers["tol"], color="black", linewidth=0.8, linestyle=":")
            axes.set_xlabel("iterations")
            panel(axes, letter, f"N = {n:,}")
        panels[0].set_ylabel(r"$\max_i\, |(W\mathbf{1})_i - 1|$" "\n(the paper: Euclidean norm)")
        panels[0].legend(loc="lower right", bbox_to_anchor=(1.0, 0.0))
    return {"": figure}


EXPERIMENT = Experiment(
    "convergence",
    "Alternating projections against semismooth Newton",
    Parameters(),
    Parameters(sizes=(100, 250)),
    run,
    claims,
    draw,
)
