r"""What noise does to the affinity: nothing, if it is of rank one; little, in high dimension.

Three statements that the paper proves and does not draw, on the clean spiral:

* invariance: :math:`W(C) = W(C + \eta \oplus \eta)`;
* contraction: :math:`|W(C) - W(C + E)|_F \le |E|_F / \varepsilon`;
* heteroskedastic noise: :math:`\tilde x_i = x_i + \eta_i` in p dimensions with
  :math:`\Sigma_i = \rho_i^2 I / p` changes W by :math:`O_p(p^{-1/2})`.

eps is the same number in the units of C for the clean and the noisy data. Beside the bistochastic
affinities stands the Gaussian kernel K with degrees D, by both normalizations that the paper calls
conventional: symmetric, :math:`D^{-1/2} K D^{-1/2}`, and Markov, :math:`D^{-1} K`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot._types import FloatArray
from sparrot.affinity import eot, gaussian, qot
from sparrot.datasets import make_spiral
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._figures import STYLES, draw_band, panel, paper_style
from sparrot.paper._records import Rows, bands
from sparrot.paper._work import Work
from sparrot.spectral import random_walk, symmetric_normalization

_TOL = 1e-10
_HIGH = 1000  # dimensions from which the decay is fitted
_CLOSE = 0.05  # to the slope -1/2
_FLOOR = 1e-13  # what is smaller is rounding
_NORMALIZED = {
    "Gaussian, symmetric": symmetric_normalization,
    "Gaussian, Markov": random_walk,
}
_STYLES = STYLES | {
    "Gaussian, symmetric": STYLES["Gaussian"],
    "Gaussian, Markov": STYLES["Gaussian"] | {"linestyle": "--", "mfc": "white"},
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points, relative eps of each affinity, dimensions, sizes of perturbations, and seeds."""

    n: int = 500
    eps: float = 1.0
    eot_eps: float = 0.1
    dimensions: tuple[int, ...] = (30, 100, 300, 1000, 3000, 10_000, 30_000)
    perturbations: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    noise: tuple[float, float] = (0.05, 0.95)
    n_seeds: int = 10


def run(parameters: Parameters, work: Work) -> Numbers:
    """Changes of the affinities under the three kinds of noise."""
    seeds = range(parameters.n_seeds)
    units: dict[str, Callable[[], Any]] = {}
    units |= {f"rank-one-{s}": partial(_rank_one, parameters, s) for s in seeds}
    units |= {f"contraction-{s}": partial(_contraction, parameters, s) for s in seeds}
    units |= {
        f"noise-{p}-{s}": partial(_noise, parameters, p, s)
        for p in parameters.dimensions
        for s in seeds
    }
    found = work.each(units)

    def rows(kind: str) -> Rows:
        return [row for name, rows in found.items() if name.startswith(kind) for row in rows]

    numbers: Numbers = {kind: rows(kind) for kind in ("rank-one", "contraction", "noise")}
    return numbers | {"noise_bands": bands(numbers["noise"], ("affinity", "p"), "change")}


def _rank_one(parameters: Parameters, seed: int) -> Rows:
    """The relative change of each affinity under costs plus `eta_i + eta_j`."""
    C, mean = _costs(parameters.n)
    rng = np.random.default_rng(seed)
    eta = mean * rng.exponential(size=parameters.n)  # as large as the costs themselves
    moved = C + eta[:, None] + eta
    np.fill_diagonal(moved, 0.0)
    rows = []
    for name, affinity in _affinities(parameters, mean).items():
        before, after = affinity(C), affinity(moved)
        rows.append({"affinity": name, "seed": seed, "change": _change(before, after)})
    return rows


def _contraction(parameters: Parameters, seed: int) -> Rows:
    """`eps |W(C) - W(C + E)|_F / |E|_F` for symmetric Gaussian E of several sizes."""
    C, mean = _costs(parameters.n)
    rng = np.random.default_rng(seed)
    affinity = _affinities(parameters, mean)["QOT"]
    before = affinity(C)
    rows = []
    for size in parameters.perturbations:
        E = rng.standard_normal(C.shape)
        E = size * mean * (E + E.T) / 2
        np.fill_diagonal(E, 0.0)
        change = float(np.linalg.norm(affinity(C + E) - before))
        bound = float(np.linalg.norm(E)) / (parameters.eps * mean)
        rows.append({"size": size, "seed": seed, "change": change, "bound": bound})
    return rows


def _noise(parameters: Parameters, p: int, seed: int) -> Rows:
    """The relative change of each affinity under noise in p dimensions."""
    spiral = make_spiral(parameters.n, 3)
    C, mean = _costs(parameters.n)
    least, more = parameters.noise
    rho = least + more * (1 + np.cos(6 * spiral.t)) / 2
    rng = np.random.default_rng([seed, p])
    X = rng.standard_normal((parameters.n, p)) * (rho / np.sqrt(p))[:, None]
    X[:, :3] += spiral.clean
    noisy = _half_squared(X)
    rows = []
    for name, affinity in _affinities(parameters, mean).items():
        before, after = affinity(C), affinity(noisy)
        rows.append({"affinity": name, "p": p, "seed": seed, "change": _change(before, after)})
    return rows


def _affinities(
    parameters: Parameters, mean: float
) -> dict[str, Callable[[FloatArray], FloatArray]]:
    """Affinities of a cost matrix with eps in the units of the clean costs, by name."""

    def plan(solve: Callable[..., Any], eps: float, hollow: bool) -> Callable[..., FloatArray]:
        def build(C: FloatArray) -> FloatArray:
            relative = eps * mean / float(C.mean())
            found = solve(
                C, relative, metric="precomputed", hollow=hollow, tol=_TOL, n_jobs=1
            ).matrix
            return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

        return build

    def normalized(normalize: Callable[..., Any]) -> Callable[..., FloatArray]:
        def build(C: FloatArray) -> FloatArray:
            h = parameters.eot_eps * mean / float(C.mean())
            return np.asarray(normalize(gaussian(C, h, metric="precomputed").matrix).toarray())

        return build

    return {
        "QOT": plan(qot, parameters.eps, True),
        "QOT, fat": plan(qot, parameters.eps, False),
        "EOT": plan(eot, parameters.eot_eps, True),
        **{name: normalized(normalize) for name, normalize in _NORMALIZED.items()},
    }


def _costs(n: int) -> tuple[FloatArray, float]:
    C = _half_squared(make_spiral(n, 3).clean)
    return C, float(C.mean())


def _half_squared(X: FloatArray) -> FloatArray:
    squares = np.square(X).sum(axis=1) / 2
    C = np.maximum(squares[:, None] + squares - X @ X.T, 0)
    np.fill_diagonal(C, 0.0)
    return (C + C.T) / 2


def _change(before: FloatArray, after: FloatArray) -> float:
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def claims(numbers: Numbers) -> list[Claim]:
    """The three statements, and the contrast to kernels that are only normalized."""
    changes: dict[str, list[float]] = {}
    for row in numbers["rank-one"]:
        changes.setdefault(row["affinity"], []).append(row["change"])
    worst = {name: max(changes[name]) for name in ("QOT", "EOT")}
    least = {name: min(changes[name]) for name in _NORMALIZED}
    ratio = max(row["change"] / row["bound"] for row in numbers["contraction"])
    slope = decay(numbers["noise"], "QOT")
    left = {name: _slope_in_words(decay(numbers["noise"], name)) for name in _NORMALIZED}
    equal, kept, contracts = worst["QOT"] < 1e-7, min(least.values()) > 0.1, ratio <= 1
    decays = None if slope is None else abs(slope + 0.5) <= _CLOSE
    return [
        Claim(
            "if E is a rank-one perturbation, i.e., [E_ij = eta_i + eta_j], then [W(C) = W(C + E)]",
            "equal",
            f"relative change <= {worst['QOT']:.0e} (EOT {worst['EOT']:.0e})",
            "relative change in Frobenius norm below 1e-7, rows solved to 1e-10",
            equal,
            unless(equal, f"the largest change is {worst['QOT']:.0e}"),
        ),
        Claim(
            "conventional normalisation approaches ... do not in general have the capacity to "
            "remove this type of rank-1 noise",
            "not removed",
            f"relative change >= {_in_words(least, '.2f')}",
            "relative change of the Gaussian kernel above 0.1 by both normalizations",
            kept,
            unless(kept, f"the least change is {min(least.values()):.2f}"),
        ),
        Claim(
            "[|W(C) - W(C + E)|_F <= |E|_F / eps, as a formula]",
            "ratio <= 1",
            f"largest ratio {ratio:.2g}",
            "ratio of the two sides at most 1 for every perturbation",
            contracts,
            unless(contracts, f"the largest ratio is {ratio:.3g}"),
        ),
        Claim(
            "[the affinity of noisy data in p dimensions is O_p(p^(-1/2)) from that of the clean, "
            "as a formula]",
            "slope -1/2",
            f"slope {_slope_in_words(slope)} from p = {_HIGH:,} on, where others have "
            f"{_in_words(left)}",
            f"slope of log mean change over log p, fitted at p >= {_HIGH:,}, within {_CLOSE} of "
            "-1/2",
            decays,
            f"fewer than two p >= {_HIGH:,} were run"
            if slope is None
            else unless(decays, f"the slope is {slope:.3f}"),
        ),
    ]


def _in_words(values: Mapping[str, Any], form: str = "") -> str:
    """A value for each normalized kernel."""
    return " and ".join(f"{value:{form}} ({name})" for name, value in values.items())


def decay(rows: Rows, affinity: str) -> float | None:
    """Slope of the logarithm of the mean change over the logarithm of p, where p is large."""
    dimensions = sorted({row["p"] for row in rows if row["p"] >= _HIGH})
    if len(dimensions) < 2:
        return None
    means = [
        np.mean([r["change"] for r in rows if r["p"] == p and r["affinity"] == affinity])
        for p in dimensions
    ]
    return float(np.polyfit(np.log(dimensions), np.log(means), 1)[0])


def _slope_in_words(slope: float | None) -> str:
    return "-" if slope is None else f"{slope:.2f}"


def draw(numbers: Numbers) -> dict[str, Any]:
    """Invariance, contraction, and decay with the dimension."""
    with paper_style() as plt:
        figure, panels = plt.subplots(1, 3, figsize=(14, 3.9), layout="constrained")
        _draw_rank_one(panels[0], numbers["rank-one"])
        _draw_contraction(panels[1], numbers["contraction"])
        _draw_noise(panels[2], numbers["noise_bands"])
    return {"": figure}


def _draw_rank_one(axes: Any, rows: Rows) -> None:
    names = list(dict.fromkeys(row["affinity"] for row in rows))
    for k, name in enumerate(names):
        changes = [max(row["change"], _FLOOR) for row in rows if row["affinity"] == name]
        offsets = k + np.linspace(-0.15, 0.15, len(changes))
        style = _STYLES[name]
        face = style.get("mfc", style["color"])
        axes.scatter(offsets, changes, s=26, marker=style["marker"], c=face, ec=style["color"])
    axes.set(yscale="log", ylabel=r"$|W - \tilde W|_F\ /\ |W|_F$", xlim=(-0.5, len(names) - 0.5))
    axes.set_xticks(range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=7.5)
    panel(axes, "a", r"costs plus $\eta_i + \eta_j$")


def _draw_contraction(axes: Any, rows: Rows) -> None:
    bounds, changes = ([row[key] for row in rows] for key in ("bound", "change"))
    axes.scatter(bounds, changes, color=STYLES["QOT"]["color"], s=20, label="QOT")
    ends = [min(changes) / 2, max(bounds)]
    axes.plot(ends, ends, color="black", linewidth=0.9, linestyle=":", label="the bound")
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel=r"$|E|_F\ /\ \varepsilon$", ylabel=r"$|W(C) - W(C + E)|_F$")
    axes.legend(loc="upper left")
    panel(axes, "b", "any perturbation E")


def _draw_noise(axes: Any, rows: Rows) -> None:
    for name in dict.fromkeys(row["affinity"] for row in rows):
        draw_band(axes, [row for row in rows if row["affinity"] == name], "p", _STYLES[name], name)
    first = next(row for row in rows if row["affinity"] == "QOT")
    p = np.unique([row["p"] for row in rows])
    guide = first["mean"] * np.sqrt(first["p"] / p)
    axes.plot(p, guide, color="black", linewidth=0.9, linestyle=":", label=r"$p^{-1/2}$")
    axes.set(
        xscale="log", yscale="log", xlabel="dimension p", ylabel=r"$|W - \tilde W|_F\ /\ |W|_F$"
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    panel(axes, "c", "heteroskedastic noise")


EXPERIMENT = Experiment(
    "robustness",
    "Robustness to heteroskedastic noise",
    Parameters(),
    Parameters(n=200, dimensions=(100, 300, 1000, 3000), n_seeds=3),
    run,
    claims,
    draw,
)
