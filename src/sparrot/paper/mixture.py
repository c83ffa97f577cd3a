"""The paper's mixture of three Gaussians: clusters by QOT, EOT and k-NN.

Scores over the parameter of each method for several dimensions; QOT at its default and EOT of the
same mean perplexity; and the best parameter of each method after a reduction by PCA.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot.datasets import Mixture, make_mixture
from sparrot.paper._clusters import (
    picture,
    relative_deviation,
    score,
    scores,
    with_perplexity_moments,
)
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._figures import STYLES, draw_band, draw_overview, draw_scores, panel, paper_style
from sparrot.paper._methods import MAIN_METHODS, PROJECTIONS, eps_grid, matched, principal
from sparrot.paper._records import Rows, bands, curves_of, listed, rounded
from sparrot.paper._work import Work

_N_CLUSTERS = 3
_LEADING = 10  # Laplacian eigenvalues among which gaps are compared
_JUMP = 0.15  # of NMI from one number of components to another, and back


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points of each cluster, dimensions, ranges, seeds, and principal components."""

    n: int = 500
    dimensions: tuple[int, ...] = (10, 50, 250)
    shown: int = 50
    eps: tuple[float, ...] = eps_grid(25)
    k: tuple[int, ...] = (5, 10, 15, 25, 50, 75, 100, 125)
    n_seeds: int = 3
    pca: tuple[int, ...] = (2, 5, 10, 25, 50, 100, 250)
    n_values: int = 15

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method == "k-NN" else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Curves and QOT's default first; then EOT matched to it, and PCA at the best parameters."""
    seeds, dimensions = range(parameters.n_seeds), parameters.dimensions
    units: dict[str, Callable[[], Any]] = {
        f"curve-{d}-{m}-{s}": partial(_curve, parameters, d, m, s)
        for s in seeds
        for d in dimensions
        for m in MAIN_METHODS
    }
    units |= {f"QOT-{d}": partial(_picture, parameters, d, "QOT") for d in dimensions}
    found = work.each(units)
    rows = [row for name, part in found.items() if name.startswith("curve") for row in part]
    best = _best_parameters(parameters, [row for row in rows if row["d"] == max(dimensions)])
    target = {d: float(np.mean(found[f"QOT-{d}"]["perplexity"])) for d in dimensions}
    units = {f"EOT-{d}": partial(_picture, parameters, d, "EOT", target[d]) for d in dimensions}
    units |= {f"pca-{s}": partial(_pca, parameters, s, best) for s in seeds}
    found |= work.each(units)
    data = _data(parameters, parameters.shown, 0)
    shown = with_perplexity_moments({m: found[f"{m}-{parameters.shown}"] for m in PROJECTIONS})
    pca = [row for s in seeds for row in found[f"pca-{s}"]]
    return {
        "scores": rows,
        "score_bands": bands(rows, ("d", "method", "parameter"), "nmi", "angle"),
        "pca": pca,
        "pca_bands": bands(pca, ("method", "parameter", "pca"), "nmi", "angle"),
        "best": [{"method": m, "parameter": value} for m, value in best.items()],
        "spectra": [
            {"d": d, "method": m, "index": index + 1, "value": value}
            for d in dimensions
            for m in PROJECTIONS
            for index, value in enumerate(found[f"{m}-{d}"]["values"])
        ],
        "shown": shown | {"d": parameters.shown, "labels": data.labels.tolist()},
        "principal": rounded(principal(data.X, 2), 4),
    }


def _data(parameters: Parameters, d: int, seed: int) -> Mixture:
    return make_mixture(parameters.n, d, random_state=seed)


def _curve(parameters: Parameters, d: int, method: str, seed: int) -> Rows:
    data = _data(parameters, d, seed)
    rows = scores(method, data.X, parameters.of(method), data.labels)
    return [{"d": d, "seed": seed} | row for row in rows]


def _best_parameters(parameters: Parameters, rows: Rows) -> dict[str, float]:
    """The parameter of the largest mean NMI of each method."""
    curves = curves_of(rows, "nmi")
    return {m: float(parameters.of(m)[int(c.mean(axis=0).argmax())]) for m, c in curves.items()}


def _picture(parameters: Parameters, d: int, method: str, target: float | None = None) -> Any:
    data = _data(parameters, d, 0)
    found = matched(method, data.X, target)
    information, angle = score(found.matrix, data.labels)
    drawn = picture(found.matrix, data.labels, parameters.n_values)
    drawn["vectors"] = [row[1:6] for row in drawn["vectors"]]
    return drawn | {"eps": found.relative_eps, "nmi": information, "angle": angle}


def _pca(parameters: Parameters, seed: int, best: dict[str, float]) -> Rows:
    data = _data(parameters, max(parameters.dimensions), seed)
    return [
        {"pca": d, "seed": seed} | row
        for d in parameters.pca
        for X in [principal(data.X, d)]
        for method, parameter in best.items()
        for row in scores(method, X, [parameter], data.labels)
    ]


def claims(numbers: Numbers) -> list[Claim]:
    """Perplexities and eigenvectors, spectra, curves, and principal components."""
    return [
        *_claims_on_shown(numbers["shown"]),
        _claim_on_spectra(numbers["spectra"]),
        *_claims_on_curves(numbers["scores"]),
        *_claims_on_pca(numbers["pca"]),
    ]


def _claims_on_shown(shown: dict[str, Any]) -> list[Claim]:
    spreads = {m: relative_deviation(shown[m]["perplexity"]) for m in PROJECTIONS}
    more = spreads["EOT"] >= 1.5 * spreads["QOT"]
    found = {m: shown[m]["nmi"] for m in PROJECTIONS}
    clean = found["QOT"] >= 0.7 and found["EOT"] <= 0.1
    return [
        Claim(
            "the EOT affinities show much more extreme variability than the QOT affinities",
            "much more",
            f"perplexity, deviation / mean: QOT {spreads['QOT']:.2f}, EOT {spreads['EOT']:.2f}",
            "deviation / mean of the perplexities of EOT at least 1.5 times that of QOT",
            more,
            unless(more, f"{spreads['EOT'] / spreads['QOT']:.2f} times as large"),
        ),
        Claim(
            "the first two non-trivial eigenvectors for the QOT affinities distinguish cleanly "
            "between clusters. On the other hand, for the EOT affinities effectively consist of "
            "only noise",
            "clean; noise",
            f"NMI of clusters by them: QOT {found['QOT']:.2f}, EOT {found['EOT']:.2f} "
            f"(d = {shown['d']})",
            "NMI at least 0.7 for QOT and at most 0.1 for EOT, at equal mean perplexity",
            clean,
            unless(clean, f"NMI {found['QOT']:.2f} by QOT and {found['EOT']:.2f} by EOT"),
        ),
    ]


def _claim_on_spectra(rows: Rows) -> Claim:
    dimensions = sorted({row["d"] for row in rows})
    shares = {(d, m): _gap_share(rows, d, m) for d in dimensions for m in PROJECTIONS}
    hold = all(shares[d, "QOT"] >= 0.25 > shares[d, "EOT"] for d in dimensions)
    found = "; ".join(
        f"{m} {listed([shares[d, m] for d in dimensions], '.2f')}" for m in PROJECTIONS
    )
    widest = listed([_widest_gap(rows, d, "QOT") for d in dimensions])
    return Claim(
        "only the QOT projection exhibits clear gaps between the leading Laplacian eigenvalues",
        "only QOT",
        f"gap after the third, over lambda_{_LEADING}: {found} at d = {listed(dimensions)}",
        f"lambda_4 - lambda_3 at least a quarter of lambda_{_LEADING} for QOT at every d, and less "
        "for EOT",
        hold,
        unless(
            hold,
            f"the widest gap of QOT is after the eigenvalue of number {widest} at these d; three "
            "clusters ask for the third",
        ),
    )


def _widest_gap(rows: Rows, d: int, method: str) -> int:
    """After how many Laplacian eigenvalues the widest gap of the first ten is."""
    values = [row["value"] for row in rows if row["d"] == d and row["method"] == method]
    return int(np.argmax(np.diff(values[:_LEADING]))) + 1


def _gap_share(rows: Rows, d: int, method: str) -> float:
    """The gap after the third Laplacian eigenvalue, over the tenth."""
    values = [row["value"] for row in rows if row["d"] == d and row["method"] == method]
    last = values[min(_LEADING, len(values)) - 1]
    return float((values[_N_CLUSTERS] - values[_N_CLUSTERS - 1]) / last) if last > 0 else 0.0


def _claims_on_curves(rows: Rows) -> list[Claim]:
    dimensions = sorted({row["d"] for row in rows})
    best = {
        (d, m): _best([row for row in rows if row["d"] == d], m)
        for d in dimensions
        for m in MAIN_METHODS
    }
    kept = [best[d, "QOT"][0] for d in dimensions]
    leads = [best[d, "QOT"][0] - best[d, "EOT"][0] for d in dimensions]
    turns = [best[d, "EOT"][1] - best[d, "QOT"][1] for d in dimensions]
    nearest = [best[d, "k-NN"][0] for d in dimensions]
    lost = nearest[0] - nearest[-1]
    worsens = lost >= nearest[0] / 2
    stable = bool(np.diff(kept).min() >= -0.05)
    widening = all(lead[-1] > lead[0] and min(lead) > 0 for lead in (leads, turns))
    return [
        Claim(
            "the performance of k-NN rapidly worsens as the dimensionality d increases",
            "rapidly",
            f"best NMI {listed(nearest, '.2f')} at d = {listed(dimensions)}",
            "best NMI falls by at least half from the first d to the last",
            worsens,
            unless(worsens, f"it falls by {lost:.2f}"),
        ),
        Claim(
            "the performance of QOT remains stable and outperforms EOT by a widening margin as d "
            "increases",
            "stable, widening",
            f"best NMI of QOT {listed(kept, '.2f')}; lead over EOT in NMI {listed(leads, '.2f')}, "
            f"in angle {listed(turns, '.2f')}",
            "QOT's best NMI never falls by more than 0.05, and its lead in NMI and in angle is "
            "positive and larger at the last d than at the first",
            stable and widening,
            unless(
                stable and widening,
                f"the lead changes from {leads[0]:.2f} to {leads[-1]:.2f} in NMI and from "
                f"{turns[0]:.2f} to {turns[-1]:.2f} in angle, and QOT's NMI by "
                f"{np.diff(kept).min():+.2f} at its worst step",
            ),
        ),
    ]


def _claims_on_pca(rows: Rows) -> list[Claim]:
    components = sorted({row["pca"] for row in rows})
    means = {
        m: [
            float(np.mean([r["nmi"] for r in rows if r["pca"] == d and r["method"] == m]))
            for d in components
        ]
        for m in MAIN_METHODS
    }
    qot = means["QOT"]
    level = next(k for k in range(len(qot)) if max(qot[k:]) - min(qot[k:]) <= 0.1)
    unchanged = level == 0
    rise, fall = jumps(means["EOT"])
    unstable = min(rise, fall) >= _JUMP
    deteriorates = means["k-NN"][-1] <= means["k-NN"][0] / 2
    at = f"at d_PCA = {listed(components)}"
    return [
        Claim(
            "the performance of QOT remains virtually unchanged across the full range of d_PCA",
            "unchanged",
            f"NMI {listed(qot, '.2f')} {at}",
            "NMI varies by at most 0.1",
            unchanged,
            unless(
                unchanged,
                f"it varies by {max(qot) - min(qot):.2f}; from d_PCA = {components[level]} on by "
                f"{max(qot[level:]) - min(qot[level:]):.2f}; at d_PCA = {components[0]} no method "
                f"is above {max(values[0] for values in means.values()):.2f}",
            ),
        ),
        Claim(
            "EOT appears to be unstable",
            "unstable",
            f"NMI {listed(means['EOT'], '.2f')} {at}",
            f"EOT's NMI both falls and rises by at least {_JUMP} as d_PCA grows",
            unstable,
            unless(unstable, f"EOT's NMI rises by {rise:.2f} and falls by {fall:.2f} at most"),
        ),
        Claim(
            "k-NN rapidly deteriorates even for moderately large values of d_PCA",
            "deteriorates",
            f"NMI {listed(means['k-NN'], '.2f')} {at}",
            "NMI falls by at least half from the first d_PCA to the last",
            deteriorates,
            unless(deteriorates, f"from {means['k-NN'][0]:.2f} to {means['k-NN'][-1]:.2f} only"),
        ),
    ]


def jumps(values: list[float]) -> tuple[float, float]:
    """The largest rise and the largest fall from an earlier value to a later one.

    Examples
    --------
    >>> jumps([0.5, 0.0, 0.75])
    (0.75, 0.5)
    """
    pairs = [(a, b) for k, a in enumerate(values) for b in values[k + 1 :]]
    rise, fall = (max((s * (b - a) for a, b in pairs), default=0.0) for s in (1, -1))
    return max(rise, 0.0), max(fall, 0.0)


def _best(rows: Rows, method: str) -> tuple[float, float]:
    """Largest mean NMI, and smallest mean angle."""
    information, angle = (curves_of(rows, key)[method] for key in ("nmi", "angle"))
    return float(information.mean(axis=0).max()), float(angle.mean(axis=0).min())


def draw(numbers: Numbers) -> dict[str, Any]:
    """The panels (a) and (b); (c) and (d); and the supplement's spectra."""
    with paper_style() as plt:
        return {
            "": _draw_affinities(plt, numbers),
            "scores": _draw_curves(plt, numbers),
            "spectra": _draw_spectra(plt, numbers["spectra"]),
        }


def _draw_affinities(plt: Any, numbers: Numbers) -> Any:
    figure = plt.figure(figsize=(13, 6.2), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.25, 1))
    title = f"three Gaussians, d = {numbers['shown']['d']}"
    draw_overview(top, bottom, numbers, title, "points, by cluster")
    return figure


def _draw_curves(plt: Any, numbers: Numbers) -> Any:
    rows = numbers["score_bands"]
    dimensions = sorted({row["d"] for row in rows})
    width = len(dimensions) + 1
    figure, panels = plt.subplots(2, width, figsize=(3.4 * width, 6), layout="constrained")
    for j, d in enumerate(dimensions):
        for i, key in enumerate(("nmi", "angle")):
            draw_scores(panels[i, j], [row for row in rows if row["d"] == d], key)
        panel(panels[0, j], "abcdef"[j], f"d = {d}")
    panels[0, 0].legend(fontsize=8)
    for i, key in enumerate(("nmi", "angle")):
        _draw_pca(panels[i, -1], [row for row in numbers["pca_bands"] if row["of"] == key])
        panels[i, -1].set(ylabel=panels[i, 0].get_ylabel(), ylim=panels[i, 0].get_ylim())
    panel(panels[0, -1], "abcdef"[width - 1], f"d = {dimensions[-1]}, after PCA")
    panels[1, -1].legend(fontsize=8, loc="upper left")
    return figure


def _draw_pca(axes: Any, rows: Rows) -> None:
    dimensions = sorted({row["pca"] for row in rows})
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        symbol = "k" if method == "k-NN" else r"$\varepsilon$"
        label = f"{method}, {symbol} = {chosen[0]['parameter']:.3g}"
        draw_band(axes, chosen, "pca", STYLES[method], label)
    axes.set(xscale="log", xlabel="principal components")
    axes.set_xticks(dimensions, [str(d) for d in dimensions])
    axes.minorticks_off()


def _draw_spectra(plt: Any, rows: Rows) -> Any:
    dimensions = sorted({row["d"] for row in rows})
    figure, panels = plt.subplots(
        1, len(dimensions), figsize=(3.6 * len(dimensions), 3.2), layout="constrained"
    )
    for letter, axes, d in zip("abcdef", np.ravel(panels), dimensions, strict=False):
        for method in PROJECTIONS:
            chosen = [row for row in rows if row["d"] == d and row["method"] == method]
            index, values = ([row[key] for row in chosen] for key in ("index", "value"))
            axes.plot(index, values, label=method, **STYLES[method] | {"linestyle": ":"})
        axes.set(xlabel="index", xticks=range(1, len(index) + 1, 2))
        panel(axes, letter, f"d = {d}")
    np.ravel(panels)[0].set_ylabel("Laplacian eigenvalue")
    np.ravel(panels)[0].legend(loc="center right")
    return figure


EXPERIMENT = Experiment(
    "mixture",
    "Mixture of three Gaussians",
    Parameters(),
    Parameters(
        n=100, eps=eps_grid(7), k=(5, 10, 20), n_seeds=1, pca=(5, 50, 250), dimensions=(10, 50, 250)
    ),
    run,
    claims,
    draw,
)
