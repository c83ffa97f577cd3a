r"""The discrete operator at a point of the torus, as points fill it and eps follows.

:math:`f = (3x^2 + 5y^2 + 7z^2)/2` at (0, 1, 1/2) on the torus with radii 1 and 1/2, where the
Laplace-Beltrami operator is :math:`3 + 5 - 7 = 1`: two tangent second derivatives, and the slope
7/2 along the normal times the curvature 2 of the tube. We draw
:math:`(d + 4) / K_{\varepsilon, N} \cdot \sum_j W_{0j} (f_j - f_0)`, which tends to it; the paper's
quantity is the same up to a factor, with the sign of its figure; the definition that it prints has
the opposite one. The paper's eps, :math:`c N^\alpha`, belongs to rows of mass 1/N; ours is that
over N. The authors' c is 1 for costs :math:`|x - y|^2`: 0.5 for ours, which are half of these.
There are 25 samples, as in the paper. Where alpha = 2 most pairs of points carry mass: a plan then
takes 4 GB at N = 10,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from sparrot.affinity import qot
from sparrot.datasets import make_torus
from sparrot.geometry import laplace_beltrami, potential_level
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._figures import BLACK, BLUE, SKY, panel, paper_style
from sparrot.paper._records import Rows
from sparrot.paper._work import Work

_D = 2
_DIAGONAL = np.array([3.0, 5.0, 7.0])  # the Hessian of f
_TOP = (np.pi / 2, np.pi / 2)  # angles of (0, 1, 1/2)
_PRECISE = 0.25  # standard error over the limit, above which a mean says nothing
_SETTLED = 0.1  # change of a mean from one N to the next
_TOL = 1e-6  # of a row sum: far less than the spread over samples


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sizes, exponents alpha, the constant c in eps = c N^alpha, and samples."""

    sizes: tuple[int, ...] = (100, 250, 500, 1000, 2500, 5000, 10_000)
    alphas: tuple[float, ...] = (2.0, 1.75, 1.5, 1.25)
    constant: float = 0.5
    n_samples: int = 25


def run(parameters: Parameters, work: Work) -> Numbers:
    """The operator for each alpha, N and sample, and its limit."""
    keys = [
        (alpha, n, sample)
        for alpha in parameters.alphas
        for n in parameters.sizes
        for sample in range(parameters.n_samples)
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
        "neighbors": a.mean_neighbors,
    }


def _limit() -> float:
    torus = make_torus(1, first=_TOP)
    x = torus.X[0]
    tangent = np.eye(3)[:, :2]
    return laplace_beltrami(_DIAGONAL * x, np.diag(_DIAGONAL), tangent, torus.curvature[0])


def _means(rows: Rows) -> Rows:
    """Mean and standard error of the samples, for each alpha and N."""
    keys = dict.fromkeys((row["alpha"], row["n"]) for row in rows)
    found = {key: _summary(rows, *key) for key in keys}
    return [
        {"alpha": alpha, "n": n, "mean": s.mean, "error": s.error, "count": s.count}
        for (alpha, n), s in found.items()
    ]


@dataclass(frozen=True, slots=True)
class _Summary:
    """Number, mean, standard deviation and standard error of the samples at one N."""

    n: int
    count: int
    mean: float
    spread: float
    error: float


def _summaries(rows: Rows, alpha: float) -> list[_Summary]:
    sizes = sorted({row["n"] for row in rows if row["alpha"] == alpha})
    return [_summary(rows, alpha, n) for n in sizes]


def _summary(rows: Rows, alpha: float, n: int) -> _Summary:
    values = np.array([r["value"] for r in rows if (r["alpha"], r["n"]) == (alpha, n)])
    spread = float(values.std(ddof=1))
    error = spread / float(np.sqrt(len(values)))
    return _Summary(n, len(values), float(values.mean()), spread, error)


def claims(numbers: Numbers) -> list[Claim]:
    """What the paper sees as N grows."""
    rows, limit = numbers["operator"], numbers["limit"]
    alphas = sorted({row["alpha"] for row in rows})
    found = {alpha: _summaries(rows, alpha) for alpha in alphas}
    inside = [alpha for alpha in alphas if 1 < alpha < 2]
    return [
        _claim_fixed(found[alphas[-1]], limit),
        _claim_similar({alpha: found[alpha] for alpha in inside}, limit),
        _claim_variance(found[inside[0]][-1], found[inside[-1]][-1]),
    ]


def _claim_fixed(found: list[_Summary], limit: float) -> Claim:
    last = found[-1]
    change = abs(last.mean - found[-2].mean) if len(found) > 1 else None
    near = abs(last.mean) < limit / 2 and last.error < 0.1
    holds = None if change is None else bool(near and change <= _SETTLED)
    step = "" if change is None else f", {change:.2f} from that at N = {found[-2].n:,}"
    return Claim(
        "when alpha = 2, the quantity ... stabilises around a fixed value close to zero as N "
        "increases",
        "near 0 (figure, not read)",
        f"{last.mean:.2f} ± {last.error:.2f} at N = {last.n:,} ({last.count} samples){step}",
        f"mean at the largest N between -{limit / 2:.2g} and {limit / 2:.2g} (the limit for "
        f"smaller alpha is {limit:.2g}), with a standard error below 0.1, and within {_SETTLED} of "
        "the mean at the N before it",
        holds,
        "only one N was run"
        if holds is None
        else unless(
            holds, f"mean {last.mean:.2f}, standard error {last.error:.2f}, change {change:.2f}"
        )
        or f"it settles {abs(last.mean) / last.error:.0f} standard errors from zero",
    )


def _claim_similar(found: dict[float, list[_Summary]], limit: float) -> Claim:
    last = {alpha: summaries[-1] for alpha, summaries in found.items()}
    clear = [alpha for alpha, s in last.items() if s.error <= _PRECISE * limit]
    not_positive = [a for a in clear if last[a].mean <= 2 * last[a].error]
    apart = [(a, b) for a, b in combinations(clear, 2) if _differ(last[a], last[b], limit)]
    means = ", ".join(f"{last[a].mean:.2f} ± {last[a].error:.2f} ({a})" for a in sorted(last)[::-1])
    reasons = [
        f"the standard error at alpha = {a} is too large to tell" for a in last if a not in clear
    ]
    reasons += [f"the mean at alpha = {a} is not positive" for a in not_positive]
    reasons += [
        f"alpha = {a} and {b} differ by {abs(last[a].mean - last[b].mean):.2f}" for a, b in apart
    ]
    return Claim(
        "when 1 < alpha < 2 we observe a pattern of values appears [sic] to converge around a "
        "different, positive, value. Importantly, for various 1 < alpha < 2, these values are "
        "similar",
        "similar, positive (figure, not read)",
        f"{len(clear)} of {len(last)} alphas can be told: {means}; the limit is {limit:.2g}",
        "means at the largest N positive by two standard errors, and any two of them within 25 % "
        "of the limit or two standard errors of their difference, for every alpha whose standard "
        "error is below 25 % of the limit",
        not (not_positive or apart) if len(clear) > 1 else None,
        "; ".join(reasons),
    )


def _differ(a: _Summary, b: _Summary, limit: float) -> bool:
    """Whether two means differ by more than their errors and a quarter of the limit."""
    allowed = max(limit / 4, 2 * float(np.hypot(a.error, b.error)))
    return abs(a.mean - b.mean) > allowed


def _claim_variance(wide: _Summary, narrow: _Summary) -> Claim:
    holds = bool(wide.spread >= 2 * narrow.spread)
    return Claim(
        "setting eps too small means implies [sic] smaller neighbourhoods and thus a larger "
        "variances",
        "larger at 1.25",
        f"standard deviation {wide.spread:.2f} at the smallest alpha, {narrow.spread:.2f} at "
        f"the largest below 2, N = {wide.n:,}",
        "at least twice as large",
        holds,
        unless(holds, f"{wide.spread / narrow.spread:.2f} times as large"),
    )


def draw(numbers: Numbers) -> dict[str, Any]:
    """The operator against N, one panel per exponent."""
    rows = numbers["operator"]
    alphas = sorted({row["alpha"] for row in rows}, reverse=True)
    sizes = sorted({row["n"] for row in rows})
    with paper_style() as plt:
        figure, panels = plt.subplots(2, 2, figsize=(9, 6.4), sharex=True, layout="constrained")
        for letter, alpha, axes in zip("abcd", alphas, panels.flat, strict=False):
            _draw_operator(axes, numbers, alpha)
            panel(axes, letter, rf"$\varepsilon \propto N^{{{alpha:g}}}$")
            axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=35)
            axes.minorticks_off()
        for axes in panels[-1]:
            axes.set_xlabel("number of points N")
        for axes in panels[:, 0]:
            axes.set_ylabel(r"$6\,K^{-1} \sum_j W_{0j} (f_j - f_0)$")
        panels[0, 0].legend(loc="best")
    return {"": figure}


def _draw_operator(axes: Any, numbers: Numbers, alpha: float) -> None:
    """Samples, their means, and the limit; a few samples beyond the axes are triangles."""
    samples, means = (
        [row for row in numbers[key] if row["alpha"] == alpha] for key in ("operator", "means")
    )
    sizes, values = np.array([(row["n"], row["value"]) for row in samples]).T
    low, high = np.percentile(values, [3, 97])
    low, high = min(low - 0.1 * (high - low), -0.5), max(high + 0.1 * (high - low), 2.0)
    for marker, chosen in (
        ("o", (values >= low) & (values <= high)),
        ("^", values > high),
        ("v", values < low),
    ):
        edge = 0.015 * (high - low)
        shown = values[chosen].clip(low + edge, high - edge)
        size = 9 if marker == "o" else 18
        axes.scatter(sizes[chosen], shown, color=SKY, s=size, alpha=0.6, marker=marker)
    axes.errorbar(
        [row["n"] for row in means],
        [row["mean"] for row in means],
        [2 * row["error"] for row in means],
        color=BLUE,
        marker="o",
        capsize=3,
        label="mean, ± 2 s.e.",
    )
    axes.axhline(numbers["limit"], color=BLACK, linestyle=":", label=r"limit $\Delta f(x_0)$")
    axes.set_ylim(low, high)
    most = max(row["count"] for row in means)
    for row in (row for row in means if row["count"] < most):
        axes.annotate(
            f"{row['count']}\nsamples",
            (row["n"], 0.02),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=7,
        )


EXPERIMENT = Experiment(
    "torus",
    "The discrete Laplace operator on the torus",
    Parameters(),
    Parameters(sizes=(100, 250, 500), n_samples=6),
    run,
    claims,
    draw,
)
