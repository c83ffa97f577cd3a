r"""The discrete operator at a point of the torus, as points fill it and eps follows.

:math:`f = (3x^2 + 5y^2 + 7z^2)/2` at (0, 1, 1/2) on the torus with radii 1 and 1/2, where the
Laplace-Beltrami operator is :math:`3 + 5 - 7 = 1`: two tangent second derivatives, and the slope
7/2 along the normal times the curvature 2 of the tube. We draw
:math:`(d + 4) / K_{\varepsilon, N} \cdot \sum_j W_{0j} (f_j - f_0)`, which tends to it; the paper's
quantity is the same up to a constant. The paper's eps, :math:`c N^\alpha` (it does not give c, we
take 1), belongs to rows of mass 1/N; ours is that over N. Where alpha = 2 most pairs of points
carry mass, so that the plan is all but dense: there N ends at 5,000, and large plans get fewer
samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot.affinity import qot
from sparrot.datasets import make_torus
from sparrot.experiments.frame import Claim, Experiment, Numbers
from sparrot.experiments.work import Work
from sparrot.geometry import laplace_beltrami, potential_level

_D = 2
_DIAGONAL = np.array([3.0, 5.0, 7.0])  # the Hessian of f
_TOP = (np.pi / 2, np.pi / 2)  # angles of (0, 1, 1/2)
_TOL = 1e-6  # of a row sum: far less than the spread over samples


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sizes, exponents alpha, the constant c in eps = c N^alpha, samples, and their limits."""

    sizes: tuple[int, ...] = (100, 250, 500, 1000, 2500, 5000, 10_000)
    alphas: tuple[float, ...] = (2.0, 1.75, 1.5, 1.25)
    constant: float = 1.0
    n_samples: int = 25
    n_samples_large: int = 5  # where N >= 5,000 and alpha >= 1.75
    largest_dense: int = 5000  # for alpha = 2

    def samples(self, alpha: float, n: int) -> range:
        """Which samples to draw: fewer where plans are large."""
        if alpha >= 2 and n > self.largest_dense:
            return range(0)
        few = n >= 5000 and alpha >= 1.75
        return range(min(self.n_samples, self.n_samples_large) if few else self.n_samples)


def run(parameters: Parameters, work: Work) -> Numbers:
    """The operator for each alpha, N and sample, and its limit."""
    keys = [
        (alpha, n, sample)
        for alpha in parameters.alphas
        for n in parameters.sizes
        for sample in parameters.samples(alpha, n)
    ]
    units = {f"{a}-{n}-{s}": partial(_operator, parameters.constant, a, n, s) for a, n, s in keys}
    rows = list(work.each(units).values())
    return {"limit": _limit(), "operator": rows, "means": _means(rows)}


def _operator(constant: float, alpha: float, n: int, sample: int) -> dict[str, Any]:
    torus = make_torus(n + 1, first=_TOP, random_state=sample)
    X = torus.X
    eps = constant * n**alpha / n
    mean_cost = float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    a = qot(X, eps / mean_cost, tol=_TOL, n_jobs=1)
    f = np.square(X) @ _DIAGONAL / 2
    row = a.matrix[[0]]
    level = potential_level(eps, n + 1, _D, torus.area)
    value = (_D + 4) / level * float((row @ f)[0] - row.sum() * f[0])
    return {
        "alpha": alpha,
        "n": n,
        "sample": sample,
        "value": value,
        "level": level,
        "neighbours": a.neighbours,
    }


def _limit() -> float:
    torus = make_torus(1, first=_TOP)
    x = torus.X[0]
    tangent = np.eye(3)[:, :2]
    return laplace_beltrami(_DIAGONAL * x, np.diag(_DIAGONAL), tangent, torus.curvature[0])


def claims(numbers: Numbers) -> list[Claim]:
    """What the paper reads off its figure."""
    rows, limit = numbers["operator"], numbers["limit"]
    alphas = sorted({row["alpha"] for row in rows}, reverse=True)
    found = {a: _at_largest(rows, a) for a in alphas}
    inside = [a for a in alphas if a < 2]
    clear = [a for a in inside if found[a].error <= 0.25 * limit]
    near = [abs(found[a].mean - limit) <= max(0.25 * limit, 2 * found[a].error) for a in clear]
    said = ", ".join(f"{found[a].mean:.2f} +- {found[a].error:.2f} ({a})" for a in inside)
    fixed, wide, narrow = found[max(alphas)], found[min(inside)], found[max(inside)]
    return [
        Claim(
            "when alpha = 2, the quantity stabilises around a fixed value close to zero",
            "near 0",
            f"{fixed.mean:.2f} +- {fixed.error:.2f} at N = {fixed.n:,}",
            f"mean nearer to zero than to the limit {limit:.2g}, with a standard error below 0.1",
            bool(abs(fixed.mean) < limit / 2 and fixed.error < 0.1),
        ),
        Claim(
            "when 1 < alpha < 2 we observe a pattern of values appears to converge around a "
            "different, positive, value ... these values are similar",
            "similar, positive",
            f"{said}, limit {limit:.2g}",
            "mean at the largest N within 25 % of the limit or two standard errors, for every "
            "alpha whose standard error is below 25 % of it",
            all(near) if clear else None,
            _reason(found, limit, inside, clear, near),
        ),
        Claim(
            "setting eps too small implies smaller neighbourhoods and thus larger variances",
            "larger at 1.25",
            f"standard deviation {wide.spread:.2f} at the smallest alpha, {narrow.spread:.2f} at "
            "the largest below 2",
            "at least twice as large",
            bool(wide.spread >= 2 * narrow.spread),
        ),
    ]


def _reason(
    found: dict[float, _Summary],
    limit: float,
    inside: list[float],
    clear: list[float],
    near: list[bool],
) -> str:
    said = [
        f"the standard error at alpha = {a} is too large to tell" for a in inside if a not in clear
    ]
    for a in (a for a, close in zip(clear, near, strict=True) if not close):
        off = abs(found[a].mean - limit) / found[a].error
        said.append(
            f"alpha = {a} is {off:.1f} standard errors off: chance, or terms of order K, which is "
            f"still {found[a].level:.2f}"
        )
    return "; ".join(said)


def _means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard error of the samples, for each alpha and N."""
    keys = dict.fromkeys((row["alpha"], row["n"]) for row in rows)
    found = {key: _summary(rows, *key) for key in keys}
    return [
        {"alpha": alpha, "n": n, "mean": s.mean, "error": s.error}
        for (alpha, n), s in found.items()
    ]


@dataclass(frozen=True, slots=True)
class _Summary:
    """Mean, standard deviation and standard error of the samples at one N, and K."""

    n: int
    level: float
    mean: float
    spread: float
    error: float


def _at_largest(rows: list[dict[str, Any]], alpha: float) -> _Summary:
    return _summary(rows, alpha, max(row["n"] for row in rows if row["alpha"] == alpha))


def _summary(rows: list[dict[str, Any]], alpha: float, n: int) -> _Summary:
    chosen = [row for row in rows if (row["alpha"], row["n"]) == (alpha, n)]
    values = np.array([row["value"] for row in chosen])
    spread = float(values.std(ddof=1))
    error = spread / float(np.sqrt(len(values)))
    return _Summary(n, chosen[0]["level"], float(values.mean()), spread, error)


EXPERIMENT = Experiment(
    "torus",
    "The discrete Laplace operator on the torus",
    Parameters(),
    Parameters(sizes=(100, 250, 500, 1000), n_samples=10),
    run,
    claims,
)
