r"""Cells read at two depths: does an affinity show types or batches?

Blood cells purified by FACS, so that types are known (the paper has a trajectory of its own set):
counts of the variable genes are drawn anew, :math:`\tilde X_i \sim \mathrm{Multinomial}(p_i,
n_i)`, with :math:`n_i` = 100 reads for half of the cells and 250 for the rest. Every affinity has
the same mean perplexity (k-NN as many neighbors), but for the Gaussian kernel, which has the
bandwidth of EOT.
A gene that few cells have is, once standardized, many deviations large in them, and such entries
can outweigh all others in a squared distance. So potentials and affinities are found once more with
every entry clipped, which the paper does not do; and batches are separated within types too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sparrot._extras import load_extra
from sparrot._types import FloatArray
from sparrot.affinity import Affinity, eot, gaussian, knn, perplexity, qot
from sparrot.datasets import load_pbmc_facs
from sparrot.layout import tsne_affinities
from sparrot.metrics import batch_mixing
from sparrot.paper._clusters import PIXELS, score
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._expression import downsampled, expression, variable_genes
from sparrot.paper._figures import (
    IMAGE_LABEL,
    draw_image,
    draw_images,
    draw_points,
    panel,
    paper_style,
)
from sparrot.paper._methods import MAIN_METHODS, PROJECTIONS, TOL, principal
from sparrot.paper._records import by_method, rounded
from sparrot.paper._work import Work
from sparrot.plot._style import colors
from sparrot.spectral import coarse_grained

_METHODS = (*MAIN_METHODS, "Gaussian")
_LAYOUTS = ("default", *MAIN_METHODS)
_DEFAULT_PERPLEXITY, _DEFAULT_PCS = 30.0, 50  # of the usual t-SNE
_HEAVY = 10.0  # deviations
_NEAR = 30  # neighbors by which a layout is judged
_APPARENT = 0.8  # area under the ROC curve
_CLEARLY = 0.1  # of mixing
_NOTE = "blood cells of five types in the place of the paper's trajectory"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Cells, genes, reads of each batch, neighbors, steps of t-SNE, and where to clip."""

    n: int = 2000
    n_genes: int = 2000
    reads: tuple[int, int] = (100, 250)
    perplexity: float = 50.0
    n_iter: int = 500
    clip: float = 3.0  # deviations, of the variant
    seed: int = 0


def run(parameters: Parameters, work: Work) -> Numbers:
    """QOT, EOT and k-NN; then the Gaussian kernel of EOT's bandwidth; then layouts."""
    load_extra("openTSNE", "tsne")  # before any work: raises if it is missing
    clips = {"": np.inf, "clipped-": parameters.clip}
    found = work.each(
        {
            f"{prefix}{m}": partial(_affinity_numbers, parameters, m, None, clip)
            for prefix, clip in clips.items()
            for m in MAIN_METHODS
        }
    )
    found |= work.each(
        {
            f"{prefix}Gaussian": partial(_affinity_numbers, parameters, "Gaussian", eps, clip)
            for prefix, clip in clips.items()
            for eps in [found[f"{prefix}EOT"]["eps"]]
        }
    )
    layouts = work.each(
        {f"layout-{m}": partial(_layout, parameters, m, found.get(m)) for m in _LAYOUTS}
    )
    data, clipped = _simulated(parameters), _simulated(parameters, parameters.clip)
    return {
        "affinities": [_record(found, "", m) for m in _METHODS],
        "clipped": [_record(found, "clipped-", m) for m in _METHODS],
        "layouts": [
            {"method": m} | {k: layouts[f"layout-{m}"][k] for k in ("mixing", "purity")}
            for m in _LAYOUTS
        ],
        "batch_told": [
            _batch_separation(data, found, ""),
            _batch_separation(clipped, found, "clipped-"),
        ],
        "tails": _tails(data.X),
        "clip": parameters.clip,
        "potentials": {m: found[m]["potential"] for m in PROJECTIONS},
        "images": {m: found[m]["image"] for m in _METHODS},
        "embeddings": {m: layouts[f"layout-{m}"]["points"] for m in _LAYOUTS},
        "principal": rounded(principal(data.X, 2), 3),
        "types": [str(t) for t in data.types],
        "batches": [int(b) for b in data.batches],
    }


@dataclass(frozen=True, slots=True)
class _Simulated:
    """Points, types and batches, ordered by type and in it by batch."""

    X: FloatArray
    types: Any
    batches: Any


def _simulated(parameters: Parameters, clip: float = np.inf) -> _Simulated:
    """The cells, read again at two depths, and preprocessed as the others; clipped if asked for."""
    rng = np.random.default_rng(parameters.seed)
    cells = variable_genes(load_pbmc_facs().sample(parameters.n, rng), parameters.n_genes)
    cells = cells.take(np.flatnonzero(cells.X.sum(axis=1) > 0))
    n = cells.X.shape[0]
    batch = rng.permutation(n) % 2
    reads = np.asarray(parameters.reads)[batch]
    cells = replace(cells, X=downsampled(cells.X, reads, rng), columns={"reads": reads})
    X, cells = expression(cells, parameters.n_genes, min_genes=1)
    order = np.lexsort((cells.columns["reads"], cells.types))
    return _Simulated(X[order].clip(-clip, clip), cells.types[order], cells.columns["reads"][order])


def _record(found: dict[str, Any], prefix: str, method: str) -> dict[str, Any]:
    return {"method": method} | {
        k: found[prefix + method][k] for k in ("nmi", "mixing", "perplexity")
    }


def _batch_separation(data: _Simulated, found: dict[str, Any], prefix: str) -> dict[str, Any]:
    """How well components and potentials separate batches, of all cells and within types."""
    by: dict[str, Any] = {f"PC {k + 1}": v for k, v in enumerate(principal(data.X, 2).T)}
    by |= {m: np.asarray(found[prefix + m]["potential"]) for m in PROJECTIONS}
    areas: dict[str, Any] = {"clipped": bool(prefix)}
    for name, values in by.items():
        areas |= {name: _separation(data, values), f"{name} within": _within_types(data, values)}
    return areas


def _separation(data: _Simulated, values: FloatArray) -> float:
    """How well values separate the two batches: the area under the ROC curve, 0.5 by chance."""
    auc = float(roc_auc_score(data.batches == data.batches.max(), values))
    return max(auc, 1 - auc)


def _within_types(data: _Simulated, values: FloatArray) -> float:
    """The same of cells of one type; the mean over types, weighted by their sizes."""
    high = data.batches == data.batches.max()
    names, sizes = np.unique(data.types, return_counts=True)
    areas = [roc_auc_score(high[data.types == t], values[data.types == t]) for t in names]
    auc = float(np.average(areas, weights=sizes))
    return max(auc, 1 - auc)


def _tails(X: FloatArray) -> dict[str, float]:
    """The largest entry, and the share of all squares that entries above the threshold have."""
    squares = np.square(X)
    heavy = float(squares[squares > _HEAVY**2].sum() / squares.sum())
    return {"threshold": _HEAVY, "share": heavy, "largest": float(np.abs(X).max())}


def _affinity_numbers(
    parameters: Parameters, method: str, eps: float | None, clip: float = np.inf
) -> Any:
    data = _simulated(parameters, clip)
    found = _build(parameters, data.X, method, eps)
    W = found.matrix
    if method == "Gaussian":
        W = W - np.diag(W.diagonal())
    place, mean_degree = np.arange(len(data.X)), float(W.sum() / W.shape[0])
    numbers = {
        "eps": None if found.eps is None else found.relative_eps,
        "nmi": score(W, np.unique(data.types, return_inverse=True)[1])[0],
        "mixing": batch_mixing(W, data.batches),
        "perplexity": float(perplexity(W).mean()),
        "image": rounded(len(place) * coarse_grained(W, place, PIXELS) / mean_degree, 9),
    }
    if found.potential is None:
        return numbers
    return numbers | {"potential": rounded(found.potential / found.mean_cost, 6)}


def _build(parameters: Parameters, X: FloatArray, method: str, eps: float | None) -> Affinity:
    target = None if eps else parameters.perplexity
    if method == "QOT":
        return qot(X, eps, perplexity=target, n_jobs=1)
    if method == "EOT":
        return eot(X, eps, perplexity=target, tol=TOL, n_jobs=1)
    if method == "k-NN":
        return knn(X, round(parameters.perplexity), n_jobs=1)
    assert eps is not None
    return gaussian(X, eps)


def _layout(parameters: Parameters, method: str, found: dict[str, Any] | None) -> Any:
    """t-SNE, and how its neighborhoods mix batches and types."""
    opentsne = load_extra("openTSNE", "tsne")
    data = _simulated(parameters)
    start = opentsne.initialization.pca(data.X, random_state=parameters.seed)
    if method == "default":
        X = principal(data.X, _DEFAULT_PCS)
        affinities = opentsne.affinity.PerplexityBasedNN(
            X, perplexity=min(_DEFAULT_PERPLEXITY, len(X) / 4), random_state=parameters.seed
        )
    else:
        assert found is not None
        affinities = tsne_affinities(_build(parameters, data.X, method, found["eps"]).matrix)
    model = opentsne.TSNE(
        initialization=start, n_iter=parameters.n_iter, random_state=parameters.seed
    )
    Y = np.asarray(model.fit(affinities=affinities))
    near = knn(Y, min(_NEAR, len(Y) - 1), n_jobs=1).matrix
    row, col = near.tocoo().coords
    return {
        "points": rounded(Y, 3),
        "mixing": batch_mixing(near, data.batches),
        "purity": float(np.mean(data.types[row] == data.types[col])),  # of neighbors
    }


def claims(numbers: Numbers) -> list[Claim]:
    """Components, potentials, affinities, layouts."""
    plain, clipped = numbers["batch_told"]
    apparent = _by_components(plain) >= _APPARENT
    of, clipped_of, laid = (
        {row["method"]: row for row in numbers[key]} for key in ("affinities", "clipped", "layouts")
    )
    return [
        _claim_on_components(numbers, plain, clipped),
        _claim_on_potentials(numbers, plain, clipped),
        _claim_on_types(numbers, of, clipped_of),
        _claim_on_reads(numbers, of, clipped_of, apparent),
        _claim_on_overlap(laid, apparent),
        _claim_on_default(laid, apparent),
        _claim_on_artifacts(laid),
    ]


def _claim_on_components(numbers: Numbers, plain: dict[str, Any], clipped: dict[str, Any]) -> Claim:
    found, inner = _by_components(plain), _by_components(plain, " within")
    holds = found >= _APPARENT
    return Claim(
        "the simulated data in PCA coordinates, from which presence of a batch effect is apparent",
        "apparent",
        f"batch told by the better of two components, area under the ROC curve: {found:.2f}, "
        f"within types {inner:.2f}; {_clipped_at(numbers)} {_by_components(clipped):.2f} and "
        f"{_by_components(clipped, ' within'):.2f}",
        f"at least {_APPARENT}",
        holds,
        unless(
            holds,
            f"within types it is {inner:.2f}, so that types "
            f"{'hide it' if inner >= _APPARENT else 'are not what hides it'}; "
            f"{_tails_in_words(numbers)}. {_NOTE}",
        ),
    )


def _claim_on_potentials(numbers: Numbers, plain: dict[str, Any], clipped: dict[str, Any]) -> Claim:
    least, after = (min(areas["QOT"], areas["EOT"]) for areas in (plain, clipped))
    holds = least >= 0.9
    return Claim(
        "the batches correspond to different noise levels and we find that this is empirically "
        "reflected in the values of the dual potential for both bistochastic projections",
        "reflected",
        f"batch told by potential, area under the ROC curve: {_by_potentials(plain)}; "
        f"{_clipped_at(numbers)} {_by_potentials(clipped)}",
        "at least 0.9 for both",
        holds,
        unless(
            holds,
            f"{_tails_in_words(numbers)}; {_clipped_at(numbers)} the potentials go from "
            f"{least:.2f} to {after:.2f}. {_NOTE}",
        ),
    )


def _claim_on_types(numbers: Numbers, of: dict[str, Any], clipped: dict[str, Any]) -> Claim:
    lost = [m for m in PROJECTIONS if of[m]["nmi"] < 0.5]
    return Claim(
        "both QOT and EOT are able to uncover structure corresponding to celltypes",
        "uncovered",
        f"NMI of spectral clusters with type: {_column(of, 'nmi')}; {_clipped_at(numbers)} "
        f"{_column(clipped, 'nmi')}",
        "NMI of QOT and of EOT at least 0.5",
        not lost,
        unless(
            not lost,
            f"{by_method({m: of[m]['nmi'] for m in lost})}; {_clipped_at(numbers)} "
            f"{by_method({m: clipped[m]['nmi'] for m in lost})}: {_tails_in_words(numbers)}",
        ),
    )


def _claim_on_reads(
    numbers: Numbers, of: dict[str, Any], clipped: dict[str, Any], apparent: bool
) -> Claim:
    bistochastic = min(of[m]["mixing"] for m in PROJECTIONS)
    others = max(of[m]["mixing"] for m in ("k-NN", "Gaussian"))
    return _claim_on_effect(
        "k-NN and the Gaussian kernel exhibit structure that is largely corresponds to "
        "variation in read number in the simulated batches",
        "largely batches",
        f"mixing of batches (1 by chance): {_column(of, 'mixing')}; {_clipped_at(numbers)} "
        f"{_column(clipped, 'mixing')}",
        "batches less mixed in k-NN and Gaussian than in QOT and EOT",
        others < bistochastic,
        f"the more mixed of the two has {others:.2f}, the less mixed of QOT and EOT "
        f"{bistochastic:.2f}",
        apparent,
    )


def _claim_on_overlap(laid: dict[str, Any], apparent: bool) -> Claim:
    qot, default = laid["QOT"]["mixing"], laid["default"]["mixing"]
    return _claim_on_effect(
        "t-SNE with QOT affinities is robust to batch effects (evidenced by the overlap between "
        "the two batches)",
        "overlap",
        f"mixing in the layout: {_column(laid, 'mixing')}",
        "mixing at least 0.8 by QOT, and larger than by the default",
        qot >= 0.8 and qot > default,
        f"QOT {qot:.2f}, the default {default:.2f}",
        apparent,
    )


def _claim_on_default(laid: dict[str, Any], apparent: bool) -> Claim:
    behind = laid["QOT"]["mixing"] - laid["default"]["mixing"]
    return _claim_on_effect(
        "Variation due to the presence of batches is clearly present in the case of default t-SNE",
        "present",
        f"mixing in the layout: {_column(laid, 'mixing')}",
        f"the default mixes batches less than QOT, by {_CLEARLY}",
        behind >= _CLEARLY,
        f"the mixing of the default is {behind:.3f} below that of QOT",
        apparent,
    )


def _claim_on_effect(
    sentence: str,
    paper: str,
    ours: str,
    criterion: str,
    holds: bool,
    reason: str,
    apparent: bool,
) -> Claim:
    """A claim about what a batch effect does: not tested, either way, where there is none."""
    if not apparent:
        nothing = "components do not tell the batches apart: there is no batch effect to speak of"
        return Claim(sentence, paper, ours, criterion, None, nothing)
    return Claim(sentence, paper, ours, criterion, holds, unless(holds, f"{reason}. {_NOTE}"))


def _claim_on_artifacts(laid: dict[str, Any]) -> Claim:
    behind = {m: laid["QOT"]["purity"] - laid[m]["purity"] for m in ("EOT", "k-NN")}
    least = min(behind, key=lambda m: behind[m])
    clearly = behind[least] >= _CLEARLY
    return Claim(
        "using EOT and k-NN affinities produces embeddings with artifacts",
        "artifacts",
        f"share of neighbors in the layout that are of the same type: {_column(laid, 'purity')}",
        f"EOT and k-NN below QOT, by {_CLEARLY}",
        clearly,
        unless(clearly, f"{least} differs from QOT by {behind[least]:.2f}. {_NOTE}"),
    )


def _by_components(areas: dict[str, Any], where: str = "") -> float:
    return float(max(areas[f"PC 1{where}"], areas[f"PC 2{where}"]))


def _by_potentials(areas: dict[str, Any]) -> str:
    return ", ".join(
        f"{m} {areas[m]:.2f} (within types {areas[f'{m} within']:.2f})" for m in PROJECTIONS
    )


def _tails_in_words(numbers: Numbers) -> str:
    tails = numbers["tails"]
    return (
        f"{tails['share']:.0%} of the sum of squares comes from entries beyond "
        f"{tails['threshold']:.0f} deviations (up to {tails['largest']:.0f}), of genes that few "
        "cells have"
    )


def _clipped_at(numbers: Numbers) -> str:
    return f"clipped at {numbers['clip']:g}"


def _column(rows: dict[str, Any], key: str) -> str:
    return by_method({method: row[key] for method, row in rows.items()})


def draw(numbers: Numbers) -> dict[str, Any]:
    """Data and potentials; affinities by type and batch; layouts by type, and by batch."""
    with paper_style() as plt:
        figure = plt.figure(figsize=(14, 13.5), layout="constrained")
        top, middle, bottom = figure.subfigures(3, 1, height_ratios=(1, 1, 2))
        _draw_data(top.subplots(1, 4), numbers)
        _draw_affinities(middle, numbers)
        _draw_layouts(bottom.subplots(2, 4), numbers)
    return {"": figure}


def _draw_data(panels: Any, numbers: Numbers) -> None:
    batches = [f"{b} reads" for b in numbers["batches"]]
    for axes, letter, labels in zip(panels, "ab", (numbers["types"], batches), strict=False):
        draw_points(axes, numbers["principal"], labels, size=4)
        axes.set(xlabel="PC 1", ylabel="PC 2")
        panel(axes, letter, {"a": "types", "b": "batches"}[letter])
    for axes, letter, method in zip(panels[2:], "cd", PROJECTIONS, strict=True):
        _draw_potentials(axes, np.asarray(numbers["potentials"][method]), numbers["batches"])
        panel(axes, letter, rf"potential of {method}")


def _draw_potentials(axes: Any, u: Any, batches: Any) -> None:
    names = sorted(set(batches))
    bins = np.linspace(np.percentile(u, 0.5), np.percentile(u, 99.5), 40)
    for name, color in zip(names, colors(len(names)), strict=True):
        chosen = u[np.asarray(batches) == name]
        axes.hist(np.clip(chosen, bins[0], bins[-1]), bins, color=color, alpha=0.6, label=name)
    axes.set(xlabel="u over the mean cost", ylabel="cells")
    axes.legend(title="reads", fontsize=8, title_fontsize=8)


def _draw_affinities(figure: Any, numbers: Numbers) -> None:
    """Three in common colors; the Gaussian kernel on a logarithmic scale, as in the paper."""
    panels = figure.subplots(1, 4)
    keys = [f"{t} {b:05d}" for t, b in zip(numbers["types"], numbers["batches"], strict=True)]
    sizes = np.unique(keys, return_counts=True)[1]
    rows = {row["method"]: row for row in numbers["affinities"]}
    draw_images(figure, panels[:3], [numbers["images"][m] for m in _METHODS[:3]], sizes)
    _draw_logarithmic(figure, panels[3], np.asarray(numbers["images"]["Gaussian"]), sizes)
    for axes, letter, method in zip(panels, "efgh", _METHODS, strict=True):
        scores = f"NMI {rows[method]['nmi']:.2f}, mixing {rows[method]['mixing']:.2f}"
        axes.set_xlabel(f"by type, then reads\n{scores}")
        panel(axes, letter, method + ", log scale" * (method == "Gaussian"))


def _draw_logarithmic(figure: Any, axes: Any, pixels: Any, sizes: Any) -> None:
    low = max(float(np.percentile(pixels[pixels > 0], 1)), 1e-6)
    norm = load_extra("matplotlib.colors", "plot").LogNorm(low, float(pixels.max()))
    drawn = draw_image(axes, np.maximum(pixels, low), sizes, norm)
    figure.colorbar(drawn, ax=axes, label=IMAGE_LABEL, fraction=0.05, pad=0.02, extend="min")


def _draw_layouts(panels: Any, numbers: Numbers) -> None:
    batches = [f"{b} reads" for b in numbers["batches"]]
    rows = {row["method"]: row for row in numbers["layouts"]}
    for j, method in enumerate(_LAYOUTS):
        for i, labels in enumerate((numbers["types"], batches)):
            draw_points(panels[i, j], numbers["embeddings"][method], labels, size=4, legend=j == 0)
            panel(panels[i, j], "ijklmnop"[4 * i + j], f"t-SNE, {method}")
        scores = f"mixing {rows[method]['mixing']:.2f}, purity {rows[method]['purity']:.2f}"
        panels[1, j].set_xlabel(scores)
    panels[0, 0].set_ylabel("by type")
    panels[1, 0].set_ylabel("by batch")


EXPERIMENT = Experiment(
    "batch-effects",
    "Simulated batch effects",
    Parameters(),
    Parameters(n=300, n_genes=500, perplexity=20.0, n_iter=250),
    run,
    claims,
    draw,
)
