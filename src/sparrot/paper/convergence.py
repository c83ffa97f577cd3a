"""Alternating projections against Newton, on the projection of a random matrix.

A matrix of standard Gaussians is made symmetric and projected onto the bistochastic matrices. The
paper's Algorithms 1 (Newton) and 2 (active set) and plain alternation run as they are printed, with
the paper's measure of the error, the Euclidean norm of W1 - 1; they give the verdicts. Beside them
run our solvers, whose error is the largest entry of W1 - 1. Plain alternation ends in a feasible
matrix, not in the projection; ours has Dykstra's correction, and ends there.

Algorithm 1 starts at u = 1 and asks for costs that are not negative. The projection of K has costs
-K; adding a constant changes where it starts, not the solution. The text does not fix it: the
smallest such constant (least cost 0) is our choice; the authors' code has the costs 1 - K, some of
which are negative. Both algorithms run with both, each pair with its own verdict. To what error,
the text does not say: here it is 1e-8. What is printed leaves other choices: Armijo's parameters
(0.1 and 0.5, as in the code), and how the linear systems are solved (directly). A step that is cut
below 1e-10 by Armijo's rule is taken whole: differences of the dual are then rounding. The first
support of Algorithm 2 is the largest tenth of the entries of each row, and the diagonal. The paper
takes nearest neighbors, and adds random permutations to make the support feasible; ours is, since
the identity lies in it. There are five problems of each size. The first is drawn, and given to our
solvers too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot._types import FloatArray
from sparrot.affinity import project
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._figures import STYLES, panel, paper_style
from sparrot.paper._records import Rows
from sparrot.paper._work import Work

_OURS = {"newton": "our Newton", "alternating": "our alternation,\nwith Dykstra's correction"}
_DELTA, _THETA, _KAPPA = 1e-5, 0.1, 0.5  # the first is the paper's
_FIRST_SUPPORT = 0.1  # of the entries of a row
_MOST_STEPS = {"Algorithm 1": 200, "plain alternation": 200_000}
_EARLY = 1e-5  # an error at which some would stop


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sizes of the matrix, error to reach, and problems of each size."""

    sizes: tuple[int, ...] = (250, 1000)
    tol: float = 1e-8
    n_seeds: int = 5


def run(parameters: Parameters, work: Work) -> Numbers:
    """The error after each step; verdicts need all problems, ours beside them only the first."""
    runs = {"printed": _printed_errors, "ours": _our_errors}
    seeds = range(parameters.n_seeds)
    keys = [(n, s, "printed") for n in parameters.sizes for s in seeds]
    keys += [(n, 0, "ours") for n in parameters.sizes]
    units = {f"{kind}-{n}-{s}": partial(runs[kind], n, s, parameters) for n, s, kind in keys}
    curves = [
        {"n": n, "seed": s, "solver": solver, "errors": errors}
        for (n, s, _), part in zip(keys, work.each(units).values(), strict=True)
        for solver, errors in part.items()
    ]
    return {
        "tol": parameters.tol,
        "curves": [curve for curve in curves if curve["seed"] == 0],
        "steps": [
            {"n": c["n"], "seed": c["seed"], "solver": c["solver"]}
            | {"steps": len(c["errors"]) - 1, "early": _first_below(c["errors"], _EARLY)}
            for c in curves
        ],
    }


def _first_below(errors: Sequence[float], limit: float) -> int | None:
    """After how many steps the error is at most a limit, if ever."""
    return next((k for k, error in enumerate(errors) if error <= limit), None)


def _matrix(n: int, seed: int) -> FloatArray:
    K = np.random.default_rng(seed).standard_normal((n, n))
    return np.asarray((K + K.T) / 2)


def _printed_errors(n: int, seed: int, parameters: Parameters) -> dict[str, list[float]]:
    K = _matrix(n, seed)
    return {solver: solve(K, parameters.tol)[1] for solver, solve in _PRINTED.items()}


def _our_errors(n: int, seed: int, parameters: Parameters) -> dict[str, list[float]]:
    K, errors = _matrix(n, seed), {}
    for solver in _OURS:
        found = project(K, hollow=False, solver=solver, tol=parameters.tol, n_jobs=1)
        assert found.certificate is not None
        errors[solver] = [*found.history, found.certificate.marginal_error]
    return errors


def algorithm_1(
    K: FloatArray, tol: float, highest: float | None = None
) -> tuple[FloatArray, list[float]]:
    """The paper's Algorithm 1 as printed: the projection of K, and the error after each step.

    Costs are `highest` - K; by default the least is zero.

    Examples
    --------
    >>> W, errors = algorithm_1(np.array([[1.0, 0.0], [0.0, 1.0]]), 1e-10)
    >>> W.round(6).tolist(), errors[-1] <= 1e-10
    ([[1.0, 0.0], [0.0, 1.0]], True)
    """
    C = _costs(K, highest)
    u, errors = _newton(C, np.ones(len(K)), tol)
    return _plan(u, C), errors


def algorithm_2(
    K: FloatArray, tol: float, highest: float | None = None
) -> tuple[FloatArray, list[float]]:
    """The paper's Algorithm 2 as printed; errors are after each step of Newton, on its support.

    Costs are as in Algorithm 1.

    Examples
    --------
    >>> K = np.random.default_rng(0).standard_normal((30, 30))
    >>> W, _ = algorithm_2(K + K.T, 1e-9)
    >>> bool(np.abs(W - algorithm_1(K + K.T, 1e-9)[0]).max() < 1e-8)
    True
    """
    C = _costs(K, highest)
    width = max(2, round(_FIRST_SUPPORT * len(C)))
    support = C <= np.sort(C, axis=1)[:, [width - 1]]
    support |= support.T | np.eye(len(C), dtype=bool)
    u = np.ones(len(C))
    errors: list[float] = []
    while not errors or float(np.linalg.norm(_plan(u, C).sum(axis=1) - 1)) > tol:
        u, inner = _newton(np.where(support, C, np.inf), u, tol)
        errors += inner if not errors else inner[1:]
        larger = support | (_plan(u, C) > 0)
        if np.array_equal(larger, support):
            break
        support = larger
    return _plan(u, C), errors


def plain_alternation(K: FloatArray, tol: float) -> tuple[FloatArray, list[float]]:
    """Projections in turn onto matrices of row sum one and onto positive ones (Zass, Shashua).

    Examples
    --------
    >>> W, errors = plain_alternation(np.array([[1.0, -3.0], [-3.0, 2.0]]), 1e-10)
    >>> bool((W >= 0).all()), errors[-1] <= 1e-10
    (True, True)
    """
    n, W, errors = len(K), K, [float(np.linalg.norm(K.sum(axis=1) - 1))]
    while errors[-1] > tol and len(errors) <= _MOST_STEPS["plain alternation"]:
        rows = W.sum(axis=1)
        shift = (1 - rows) / n + (rows.sum() / n - 1) / (2 * n)
        W = np.maximum(W + shift[:, None] + shift[None, :], 0)
        errors.append(float(np.linalg.norm(W.sum(axis=1) - 1)))
    return W, errors


def _costs(K: FloatArray, highest: float | None) -> FloatArray:
    return np.asarray((K.max() if highest is None else highest) - K)


def _newton(C: FloatArray, u: FloatArray, tol: float) -> tuple[FloatArray, list[float]]:
    """Semismooth Newton with Armijo's rule, eps = 1; entries of infinite cost are forbidden."""
    plan = _plan(u, C)
    errors = [float(np.linalg.norm(plan.sum(axis=1) - 1))]
    while errors[-1] > tol and len(errors) <= _MOST_STEPS["Algorithm 1"]:
        sigma = (u[:, None] + u - C >= 0).astype(np.float64)
        system = sigma + np.diag(sigma.sum(axis=1) + _DELTA)
        step = np.linalg.solve(system, 1 - plan.sum(axis=1))
        slope = float((plan * (step[:, None] + step)).sum() - 2 * step.sum())
        t, now = 1.0, _dual(u, C)
        while _dual(u + t * step, C) >= now + t * _THETA * slope and t > 1e-10:
            t *= _KAPPA
        u = u + (t if t > 1e-10 else 1.0) * step  # differences below rounding: a full step
        plan = _plan(u, C)
        errors.append(float(np.linalg.norm(plan.sum(axis=1) - 1)))
    return u, errors


def _plan(u: FloatArray, C: FloatArray) -> FloatArray:
    return np.maximum(u[:, None] + u - C, 0)


def _dual(u: FloatArray, C: FloatArray) -> float:
    return float(np.square(_plan(u, C)).sum() / 4 - u.sum())


_PRINTED: dict[str, Callable[[FloatArray, float], tuple[FloatArray, list[float]]]] = {
    "Algorithm 1": algorithm_1,
    "Algorithm 1, costs 1 - K": partial(algorithm_1, highest=1.0),
    "Algorithm 2": algorithm_2,
    "Algorithm 2, costs 1 - K": partial(algorithm_2, highest=1.0),
    "plain alternation": plain_alternation,
}


def claims(numbers: Numbers) -> list[Claim]:
    """What the paper says about the two solvers, by what it prints; ours are beside it."""
    rows = numbers["steps"]
    sizes = sorted({row["n"] for row in rows})
    newton, alternating = (
        [_steps(rows, n, solver) for n in sizes] for solver in ("Algorithm 1", "plain alternation")
    )
    ratio = min(
        a / b for n in range(len(sizes)) for a, b in zip(alternating[n], newton[n], strict=True)
    )
    growth = float(np.mean(alternating[-1]) / np.mean(alternating[0]))
    tol = f"{numbers['tol']:.0e}"
    orders, slower = ratio >= 100, growth >= 2
    return [
        _claim_on_newton(numbers, "", "least cost 0 (our choice)"),
        _claim_on_newton(numbers, ", costs 1 - K", "costs 1 - K (code)"),
        Claim(
            "the alternating scheme takes several orders of magnitude more iterations",
            "several orders (figure, not read)",
            f"plain alternation {_in_words(rows, 'plain alternation')}, {ratio:.0f} times as many "
            f"as Algorithm 1 or more; ours, with Dykstra's correction, "
            f"{_in_words(rows, 'alternating')} in the first problem",
            f"plain alternation takes at least 100 times as many to {tol}, in each problem",
            orders,
            unless(orders, f"in one problem the factor is {ratio:.0f}"),
        ),
        Claim(
            "its convergence rate appears to become much slower for larger problem sizes",
            "slower (figure, not read)",
            f"{growth:.1f} times as many rounds at N = {sizes[-1]} as at {sizes[0]}, by means",
            "at least twice as many at the largest N as at the smallest, by means",
            slower,
            unless(slower, f"{growth:.2f} times as many"),
        ),
    ]


def _claim_on_newton(numbers: Numbers, costs: str, setup: str) -> Claim:
    rows, solver = numbers["steps"], f"Algorithm 1{costs}"
    fast = max(row["steps"] for row in rows if row["solver"] == solver) < 10
    sizes, problems = ({row[key] for row in rows} for key in ("n", "seed"))
    return Claim(
        "the semi-smooth Newton method converges in fewer than 10 iterations",
        "< 10",
        f"{setup}: Algorithm 1 {_in_words(rows, solver)} (N = {_joined(sorted(sizes))}, "
        f"{len(problems)} problems each); Algorithm 2 in all "
        f"{_in_words(rows, f'Algorithm 2{costs}')}; our Newton {_in_words(rows, 'newton')} in the "
        "first",
        f"fewer than 10 steps of Algorithm 1 to an error of {numbers['tol']:.0e} in the Euclidean "
        "norm, in each problem",
        fast,
        unless(fast, f"steps to an error of {_EARLY:.0e}: {_in_words(rows, solver, 'early')}"),
    )


def _steps(rows: Rows, n: int, solver: str, key: str = "steps") -> list[Any]:
    return [row[key] for row in rows if (row["n"], row["solver"]) == (n, solver)]


def _in_words(rows: Rows, solver: str, key: str = "steps") -> str:
    """The range over problems, for each size."""
    found = [_steps(rows, n, solver, key) for n in sorted({row["n"] for row in rows})]
    return _joined([_range_in_words(values) for values in found])


def _range_in_words(found: Sequence[int | None]) -> str:
    known = [k for k in found if k is not None]
    ends = dict.fromkeys([min(known), max(known)] if known else [])
    missed = ["not reached"] * (len(known) < len(found))
    return ", ".join([*([" to ".join(map(str, ends))] if ends else []), *missed])


def _joined(values: Sequence[int | str]) -> str:
    return " and ".join(map(str, values))


def draw(numbers: Numbers) -> dict[str, Any]:
    """Error against steps: one panel per size, both axes logarithmic."""
    sizes = sorted({curve["n"] for curve in numbers["curves"]})
    styles = {
        "Algorithm 1": STYLES["QOT"],
        "Algorithm 1, costs 1 - K": STYLES["QOT"] | {"linestyle": "--", "mfc": "white"},
        "Algorithm 2": STYLES["k-NN"],
        "Algorithm 2, costs 1 - K": STYLES["k-NN"] | {"linestyle": "--", "mfc": "white"},
        "plain alternation": STYLES["EOT"] | {"marker": ""},
        "newton": STYLES["QOT"] | {"linestyle": ":", "marker": ""},
        "alternating": STYLES["EOT"] | {"linestyle": ":", "marker": ""},
    }
    with paper_style() as plt:
        width = 4.2 * len(sizes) + 3
        figure, panels = plt.subplots(
            1, len(sizes), figsize=(width, 3.6), sharey=True, layout="constrained"
        )
        for letter, n, axes in zip("abcdef", sizes, panels, strict=False):
            for curve in (c for c in numbers["curves"] if c["n"] == n):
                solver = curve["solver"]
                steps = range(1, len(curve["errors"]))
                axes.loglog(
                    steps, curve["errors"][1:], label=_OURS.get(solver, solver), **styles[solver]
                )
            axes.axhline(numbers["tol"], color="black", linewidth=0.8, linestyle=":")
            axes.set_xlabel("iterations")
            panel(axes, letter, f"N = {n:,}")
        panels[0].set_ylabel(r"$\|W\mathbf{1} - \mathbf{1}\|_2$" "\n(ours: largest entry)")
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return {"": figure}


EXPERIMENT = Experiment(
    "convergence",
    "Alternating projections against semismooth Newton",
    Parameters(),
    Parameters(sizes=(100, 250), n_seeds=2),
    run,
    claims,
    draw,
)
