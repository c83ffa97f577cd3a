r"""Cells read at two depths: does an affinity show the trajectory or the batches?

The paper has a trajectory of its own set. Ours is of bone marrow, from stem cells to monocytes:
2,000 of its 3,259 cells in each of five samples. Counts of the genes that were chosen with all
cells are drawn anew, :math:`\tilde X_i \sim \mathrm{Multinomial}(p_i, n_i)`, with :math:`n_i` = 100
reads for half of the cells and 250 for the rest; then counts are scaled, logarithms standardized
and clipped as before, and no gene is left out a second time. QOT and EOT have a mean perplexity of
50, k-NN has 50 neighbors, and the Gaussian kernel has the bandwidth of EOT and no diagonal.

Batches are judged in the plane of two components, where they lie as bands; by the potentials; and
by the share of its links that a cell has to its own batch, for cells of few and of many reads
apart, since either kind can be the hubs of the other. For k-NN these are the links of each cell to
its 50 nearest; shares in the symmetric graph, of which all its other numbers are, stand beside. The
trajectory is judged by its pseudotime: by the best of the leading eigenvectors, and by the
neighbors in a t-SNE layout, of 250 steps with exaggeration and 500 without. As in the authors'
code, layouts start at the two components; the usual t-SNE (perplexity 30, 50 components) starts
there too, but from a tiny copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from sparrot._types import FloatArray
from sparrot.affinity import Affinity, eot, gaussian, knn, perplexity, qot
from sparrot.datasets import Cells
from sparrot.datasets._cells import data_folder, load_marrow_cd34
from sparrot.errors import load_extra
from sparrot.layout import tsne_affinities
from sparrot.metrics import batch_mixing
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless, with_samples
from sparrot.paper._expression import downsampled, points_of_counts, variable_genes
from sparrot.paper._figures import (
    GRAY,
    IMAGE_LABEL,
    PINK,
    draw_image,
    draw_images,
    draw_points,
    panel,
    paper_style,
)
from sparrot.paper._methods import MAIN_METHODS, PIXELS, PROJECTIONS, TOL, principal, spectrum
from sparrot.paper._records import Rows, by_method, rounded
from sparrot.paper._work import Work
from sparrot.plot._style import colors
from sparrot.spectral import coarse_grained

Shares = dict[str, tuple[float, float]]  # of links to the own batch: of few, and of many reads

_METHODS = (*MAIN_METHODS, "Gaussian")
_LAYOUTS = ("default", *MAIN_METHODS)
_PATH = ("HSC", "HMPC", "myeloid precursor", "MPO+", "monocyte")
_DEFAULT_PERPLEXITY, _DEFAULT_PCS = 30.0, 50  # of the usual t-SNE
_EXAGGERATION = 12  # for the first steps, half as many as the others
_NEAR = 30  # neighbors by which a layout, or a plane, is judged
_N_LEADING = 5  # eigenvectors that may show the trajectory, v_2 ... v_6
_TOLD = 0.9  # area under the ROC curve by which batches are told, of two components or potentials
_CLEARLY = 0.1  # of mixing, of links, or of pseudotime
_MIXED = 0.8  # of the mixing by chance: batches overlap
_NOTE = "bone marrow instead of the paper's trajectory"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Cells, reads of each batch, neighbors, steps of t-SNE, and samples."""

    n: int = 2000
    reads: tuple[int, int] = (100, 250)
    perplexity: float = 50.0
    n_iter: int = 500
    n_seeds: int = 5


def run(parameters: Parameters, work: Work) -> Numbers:
    """QOT, EOT and k-NN; then the Gaussian kernel of EOT's bandwidth; then layouts."""
    load_extra("openTSNE", "tsne")  # before any work: raises if it is missing
    data = _simulated(parameters, 0)
    seeds = range(parameters.n_seeds)
    found = work.each(
        {
            f"{m}-{s}": partial(_affinity_numbers, parameters, s, m, None)
            for s in seeds
            for m in MAIN_METHODS
        }
    )
    units = {
        f"Gaussian-{s}": partial(_affinity_numbers, parameters, s, "Gaussian", eps)
        for s in seeds
        for eps in [found[f"EOT-{s}"]["marks"]["eps"]]
    }
    units |= {f"plane-{s}": partial(_plane_numbers, parameters, s) for s in seeds}
    units |= {
        f"layout-{m}-{s}": partial(_layout, parameters, s, m, found.get(f"{m}-{s}"))
        for s in seeds
        for m in _LAYOUTS
    }
    found |= work.each(units)
    return {
        "affinities": [
            {"method": m, "seed": s} | found[f"{m}-{s}"]["marks"] for m in _METHODS for s in seeds
        ],
        "layouts": [
            {"method": m, "seed": s} | found[f"layout-{m}-{s}"]["marks"]
            for m in _LAYOUTS
            for s in seeds
        ],
        "planes": [{"seed": s} | found[f"plane-{s}"] for s in seeds],
        "potentials": {m: found[f"{m}-0"]["potential"] for m in PROJECTIONS},
        "images": {m: found[f"{m}-0"]["image"] for m in _METHODS},
        "embeddings": {m: found[f"layout-{m}-0"]["points"] for m in _LAYOUTS},
        "principal": rounded(principal(data.X, 2), 3),
        "types": [str(t) for t in data.types],
        "order": list(_PATH),
        "batches": [int(b) for b in data.batches],
    }


@dataclass(frozen=True, slots=True)
class _Simulated:
    """Points, types, reads and pseudotimes, ordered along the path and by reads."""

    X: FloatArray
    types: Any
    batches: Any
    time: FloatArray


@lru_cache(1)
def _trajectory(folder: Path | None) -> Cells:
    """Counts of the cells of the path, of genes that are chosen with all cells, kept for units."""
    cells = variable_genes(load_marrow_cd34())
    on_path = np.isin(cells.types, _PATH) & (cells.X.sum(axis=1) > 0)
    return cells.take(np.flatnonzero(on_path))


def _simulated(parameters: Parameters, seed: int) -> _Simulated:
    """Cells of the path, read again at two depths; genes are chosen before, with all cells."""
    rng = np.random.default_rng(seed)
    cells = _trajectory(data_folder()).sample(parameters.n, rng)
    reads = np.asarray(parameters.reads)[rng.permutation(cells.X.shape[0]) % 2]
    X = points_of_counts(downsampled(cells.X, reads, rng))
    place = [_PATH.index(t) for t in cells.types.tolist()]
    order = np.lexsort((reads, place))
    return _Simulated(
        X[order], cells.types[order], reads[order], cells.columns["pseudotime"][order]
    )


def _plane_numbers(parameters: Parameters, seed: int) -> dict[str, float]:
    """How well the plane of two components tells batches, and its pseudotime."""
    data = _simulated(parameters, seed)
    Y = principal(data.X, 2)
    return {"batch": told_in_plane(Y, data.batches), "time": told_by_neighbors(Y, data.time)}


def told_in_plane(Y: FloatArray, batches: Any) -> float:
    """How well points of a plane tell two batches: area under the ROC curve, cross-validated.

    Examples
    --------
    >>> y = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> batches = (3 * y[:, 1]).astype(int) % 2  # parallel bands
    >>> told_in_plane(y, batches) > 0.9, told_in_plane(y, np.arange(1000) % 2) < 0.6
    (True, True)
    """
    high = batches == batches.max()
    model = KNeighborsClassifier(min(_NEAR, len(Y) // 10))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = cross_val_predict(model, Y, high, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(high, found))


def told_by_neighbors(Y: FloatArray, time: FloatArray) -> float:
    """The share of the variance of ranks of time that the mean of the neighbors in Y explains.

    Examples
    --------
    >>> time = np.arange(300.0)
    >>> told_by_neighbors(time[:, None], time) > 0.9
    True
    >>> told_by_neighbors(np.random.default_rng(0).uniform(size=(300, 1)), time) < 0.1
    True
    """
    ranks = rankdata(time)
    model = NearestNeighbors(n_neighbors=min(_NEAR, len(Y) - 1)).fit(Y)
    near = model.kneighbors(return_distance=False)
    left = ranks - ranks[near].mean(axis=1)
    return 1 - float(np.square(left).sum() / np.square(ranks - ranks.mean()).sum())


def _affinity_numbers(parameters: Parameters, seed: int, method: str, eps: float | None) -> Any:
    data = _simulated(parameters, seed)
    found = _build(parameters, data.X, method, eps)
    W = found.matrix
    if method == "Gaussian":
        W = W - np.diag(W.diagonal())
    vectors = spectrum(W, 1 + _N_LEADING).functions[:, 1:]
    marks = {
        "eps": None if found.eps is None else found.relative_eps,
        "time": max(abs(float(spearmanr(v, data.time).statistic)) for v in vectors.T),
        "mixing": batch_mixing(W, data.batches),
        "perplexity": float(perplexity(W).mean()),
    }
    links = _directed(parameters, data.X) if method == "k-NN" else W
    marks["own_few"], marks["own_many"] = own_batch(links, data.batches)
    marks["symmetric_few"], marks["symmetric_many"] = own_batch(W, data.batches)
    place, mean_neighbors = np.arange(len(data.X)), float(W.sum() / W.shape[0])
    image = rounded(len(place) * coarse_grained(W, place, PIXELS) / mean_neighbors, 9)
    numbers = {"marks": marks} | ({"image": image} if seed == 0 else {})
    if found.potential is None:
        return numbers
    marks["batch"] = _told(found.potential, data.batches)
    return numbers | {"potential": rounded(found.potential / found.mean_cost, 6)}


def _directed(parameters: Parameters, X: FloatArray) -> Any:
    """Links of every point to its nearest, not made symmetric."""
    k = round(parameters.perplexity)
    return NearestNeighbors(n_neighbors=k).fit(X).kneighbors_graph()


def own_batch(W: Any, batches: Any) -> tuple[float, float]:
    """The share of its links that a cell has to its own batch: of few reads, and of many.

    Examples
    --------
    >>> hubs = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0.0]])
    >>> own_batch(hubs, np.array([100, 100, 250, 250]))
    (1.0, 0.0)
    """
    few = (batches == batches.min()).astype(np.float64)
    to_few = (W @ few) / np.asarray(W.sum(axis=1)).ravel()
    return float(to_few[few == 1].mean()), float(1 - to_few[few == 0].mean())


def _told(values: FloatArray, batches: Any) -> float:
    """How well values separate the two batches: the area under the ROC curve, 0.5 by chance."""
    auc = float(roc_auc_score(batches == batches.max(), values))
    return max(auc, 1 - auc)


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


def _layout(parameters: Parameters, seed: int, method: str, found: dict[str, Any] | None) -> Any:
    """t-SNE, how its neighborhoods mix batches, and whether they tell the pseudotime."""
    opentsne = load_extra("openTSNE", "tsne")
    data = _simulated(parameters, seed)
    start = principal(data.X, 2)
    if method == "default":
        start = opentsne.initialization.rescale(start)
        X = principal(data.X, _DEFAULT_PCS)
        affinities = opentsne.affinity.PerplexityBasedNN(
            X, perplexity=min(_DEFAULT_PERPLEXITY, len(X) / 4), random_state=seed
        )
    else:
        assert found is not None
        W = _build(parameters, data.X, method, found["marks"]["eps"]).matrix
        affinities = tsne_affinities(W)
    layout = opentsne.TSNEEmbedding(start, affinities, random_state=seed)
    layout.optimize(parameters.n_iter // 2, exaggeration=_EXAGGERATION, inplace=True)
    layout.optimize(parameters.n_iter, inplace=True)
    Y = np.asarray(layout)
    near = knn(Y, min(_NEAR, len(Y) - 1), n_jobs=1).matrix
    marks = {
        "mixing": batch_mixing(near, data.batches),
        "time": told_by_neighbors(Y, data.time),
    }
    return {"marks": marks} | ({"points": rounded(Y, 3)} if seed == 0 else {})


def claims(numbers: Numbers) -> list[Claim]:
    """Components, potentials, affinities, layouts; by means, and how many samples fail alone."""
    return with_samples(_claims_by_means, numbers)


def _claims_by_means(numbers: Numbers) -> list[Claim]:
    plane = float(np.mean([row["batch"] for row in numbers["planes"]]))
    of = numbers["affinities"]
    mixing, time = (_means(numbers["layouts"], key, _LAYOUTS) for key in ("mixing", "time"))
    found = [
        _claim_on_components(plane),
        _claim_on_potentials(_means(of, "batch", PROJECTIONS)),
        _claim_on_types(of),
        _claim_on_reads(_shares(of, "own"), _shares(of, "symmetric")),
        _claim_on_overlap(mixing, time),
        _claim_on_default(mixing),
        _claim_on_artifacts(time),
    ]
    return [_or_not_tested(claim, plane) for claim in found]


def _means(rows: Rows, key: str, methods: tuple[str, ...]) -> dict[str, float]:
    return {m: float(np.mean([row[key] for row in rows if row["method"] == m])) for m in methods}


def _shares(rows: Rows, links: str) -> Shares:
    few, many = (_means(rows, f"{links}_{reads}", _METHODS) for reads in ("few", "many"))
    return {m: (few[m], many[m]) for m in _METHODS}


def _or_not_tested(claim: Claim, plane: float) -> Claim:
    """What a batch effect does cannot be seen where there is none; other data are a note."""
    about_effect = claim.sentence in (_READS, _OVERLAP, _DEFAULT)
    if about_effect and plane < _TOLD:
        nothing = "components do not tell the batches apart: there is no batch effect to speak of"
        return replace(claim, holds=None, reason=nothing)
    return replace(claim, reason=f"{claim.reason}. {_NOTE}" if claim.reason else _NOTE)


_READS = (
    "k-NN and the Gaussian kernel exhibit structure that is largely corresponds [sic] to variation "
    "in read number in the simulated batches"
)
_OVERLAP = (
    "By contrast, t-SNE with QOT affinities is robust to batch effects (evidenced by the overlap "
    "between the two batches) and reveals the underlying trajectory"
)
_DEFAULT = (
    "Variation due to the presence of batches is clearly present in the case of default t-SNE"
)


def _claim_on_components(plane: float) -> Claim:
    holds = plane >= _TOLD
    return Claim(
        "the simulated data in PCA coordinates, from which presence of a batch effect is apparent",
        "apparent",
        f"batch told in the plane of two components, area under the ROC curve: {plane:.2f}",
        f"at least {_TOLD}, cross-validated, as for potentials",
        holds,
        unless(holds, f"it is {plane:.2f}"),
    )


def _claim_on_potentials(told: dict[str, float]) -> Claim:
    holds = min(told.values()) >= _TOLD
    return Claim(
        "the batches correspond to different noise levels and we find that this is empirically "
        "reflected in the values of the dual potential for both bistochastic projections",
        "reflected; about 0.9 for both, by the colors of the published picture",
        f"batch told by potential, area under the ROC curve: {by_method(told)}",
        f"at least {_TOLD} for both, as for components; for a time it was 0.8",
        holds,
        unless(holds, f"reflected (0.5 by chance), but more weakly: {by_method(told)}"),
    )


def _claim_on_types(rows: Rows) -> Claim:
    """By contrast to the two that show reads instead, by more than samples differ."""
    time = {m: [row["time"] for row in rows if row["method"] == m] for m in _METHODS}
    others = max(*time["k-NN"], *time["Gaussian"])
    lost = {m: min(time[m]) for m in PROJECTIONS if min(time[m]) <= others}
    return Claim(
        "both QOT and EOT are able to uncover structure corresponding to celltypes",
        "uncovered",
        f"Spearman correlation of pseudotime with the best of v_2 ... v_{_N_LEADING + 1}: "
        f"{by_method(_means(rows, 'time', _METHODS))}",
        "larger for QOT and for EOT, in each of their samples, than for k-NN and the Gaussian "
        "kernel in any",
        not lost,
        unless(not lost, f"at least {by_method(lost)}; the others reach {others:.2f}"),
    )


def _claim_on_reads(own: Shares, symmetric: Shares) -> Claim:
    bias = {m: max(abs(share - 0.5) for share in own[m]) for m in _METHODS}
    lead = min(bias["k-NN"], bias["Gaussian"]) - max(bias[m] for m in PROJECTIONS)
    words = ", ".join(f"{m} {few:.2f} and {many:.2f}" for m, (few, many) in own.items())
    few, many = symmetric["k-NN"]
    return Claim(
        _READS,
        "largely batches",
        f"share of its links that a cell of few, and of many, reads has to its own batch (a half "
        f"by chance; for k-NN, of the links to its nearest): {words}; in the symmetric graph of "
        f"k-NN {few:.2f} and {many:.2f}",
        "of the two shares take the one farther from one half: that distance is larger by at least "
        f"{_CLEARLY} for k-NN and the Gaussian kernel than for QOT and EOT",
        lead >= _CLEARLY,
        unless(lead >= _CLEARLY, f"larger by {lead:.2f}"),
    )


def _claim_on_overlap(mixing: dict[str, float], time: dict[str, float]) -> Claim:
    """Both halves of the sentence; it contrasts QOT with EOT and k-NN, and with the default."""
    overlap = mixing["QOT"] >= _MIXED and mixing["QOT"] > mixing["default"]
    revealed = time["QOT"] >= 0.5 and _least_behind(time)[1] >= _CLEARLY
    return Claim(
        _OVERLAP,
        "overlap; trajectory revealed",
        f"{_mixing_in_words(mixing)}; {_time_in_words(time)}",
        f"mixing at least {_MIXED} by QOT, and larger than by the default; neighbors in its layout "
        "explain at least half of the variance of pseudotime, and more than in those of EOT and "
        f"k-NN, by {_CLEARLY}",
        overlap and revealed,
        _remark_on_overlap(overlap, revealed, time),
    )


def _remark_on_overlap(overlap: bool, revealed: bool, time: dict[str, float]) -> str:
    """Which half fails; and whether the trajectory is seen without QOT too."""
    parts = [
        unless(overlap, "batches do not overlap"),
        unless(revealed, "the trajectory is not revealed"),
        f"the default explains {time['default']:.2f} of pseudotime, QOT {time['QOT']:.2f}",
    ]
    return "; ".join(part for part in parts if part)


def _claim_on_default(mixing: dict[str, float]) -> Claim:
    behind = mixing["QOT"] - mixing["default"]
    return Claim(
        _DEFAULT,
        "present",
        _mixing_in_words(mixing),
        f"the default mixes batches less than QOT, by {_CLEARLY}",
        behind >= _CLEARLY,
        unless(behind >= _CLEARLY, f"the mixing of the default is {behind:.3f} below QOT's"),
    )


def _mixing_in_words(mixing: dict[str, float]) -> str:
    return f"mixing in the layout (1 by chance): {by_method(mixing)}"


def _time_in_words(time: dict[str, float]) -> str:
    shares = by_method(time)
    return f"share of the variance of pseudotime that neighbors in the layout explain: {shares}"


def _least_behind(time: dict[str, float]) -> tuple[str, float]:
    """Which of EOT and k-NN is nearest below QOT, and by how much."""
    behind = {m: time["QOT"] - time[m] for m in ("EOT", "k-NN")}
    least = min(behind, key=lambda m: behind[m])
    return least, behind[least]


def _claim_on_artifacts(time: dict[str, float]) -> Claim:
    least, behind = _least_behind(time)
    clearly = behind >= _CLEARLY
    return Claim(
        "using EOT and k-NN affinities produces embeddings with artifacts",
        "artifacts, trajectory not clear",
        _time_in_words(time),
        f"EOT and k-NN below QOT, by {_CLEARLY}",
        clearly,
        unless(clearly, f"{least} is {behind:.2f} below QOT"),
    )


def draw(numbers: Numbers) -> dict[str, Any]:
    """Data and potentials; affinities by type and batch; layouts by type, and by batch."""
    with paper_style() as plt:
        figure = plt.figure(figsize=(11, 12.5), layout="constrained")
        top, middle, bottom = figure.subfigures(3, 1, height_ratios=(1, 1, 2))
        _draw_data(top.subplots(1, 4), numbers)
        _draw_affinities(middle, numbers)
        _draw_layouts(bottom.subplots(2, 4), numbers)
    return {"": figure}


def _draw_data(panels: Any, numbers: Numbers) -> None:
    by = {"types": _draw_types(numbers), "batches": _draw_batches(numbers)}
    for axes, letter, (title, (labels, shades)) in zip(panels, "ab", by.items(), strict=False):
        draw_points(axes, numbers["principal"], labels, shades=shades, size=4)
        low, high = axes.get_ylim()
        axes.set(xlabel="PC 1", ylabel="PC 2", ylim=(low, high + 0.6 * (high - low)))
        panel(axes, letter, title)
    for axes, letter, method in zip(panels[2:], "cd", PROJECTIONS, strict=True):
        _draw_potentials(axes, np.asarray(numbers["potentials"][method]), *by["batches"])
        panel(axes, letter, f"potential of {method}")


def _draw_types(numbers: Numbers) -> tuple[list[str], dict[str, str]]:
    """The type of each cell, and colors in the order of the path."""
    order = numbers["order"]
    return numbers["types"], dict(zip(order, colors(len(order)), strict=True))


def _draw_batches(numbers: Numbers) -> tuple[list[str], dict[str, str]]:
    """The batch of each cell, and colors that no type has."""
    names = [f"{b} reads" for b in sorted(set(numbers["batches"]))]
    return [f"{b} reads" for b in numbers["batches"]], dict(zip(names, (GRAY, PINK), strict=True))


def _draw_potentials(axes: Any, u: Any, batches: list[str], shades: dict[str, str]) -> None:
    bins = np.linspace(np.percentile(u, 0.5), np.percentile(u, 99.5), 40)
    for name, color in shades.items():
        chosen = u[np.asarray(batches) == name]
        axes.hist(np.clip(chosen, bins[0], bins[-1]), bins, color=color, alpha=0.6, label=name)
    axes.set(xlabel="u over the mean cost", ylabel="cells")
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # the legend is above
    axes.legend(fontsize=8)


def _draw_affinities(figure: Any, numbers: Numbers) -> None:
    """Three in common colors; the Gaussian kernel on a logarithmic scale, as in the paper."""
    panels = figure.subplots(1, 4)
    place = [numbers["order"].index(t) for t in numbers["types"]]
    keys = [f"{k} {b:05d}" for k, b in zip(place, numbers["batches"], strict=True)]
    sizes = np.unique(keys, return_counts=True)[1]
    rows = {row["method"]: row for row in numbers["affinities"] if row["seed"] == 0}
    draw_images(figure, panels[:3], [numbers["images"][m] for m in _METHODS[:3]], sizes)
    _draw_logarithmic(figure, panels[3], np.asarray(numbers["images"]["Gaussian"]), sizes)
    for axes, letter, method in zip(panels, "efgh", _METHODS, strict=True):
        row = rows[method]
        own = f"own batch: few {row['own_few']:.2f}, many {row['own_many']:.2f}"
        axes.set_xlabel(f"{own}\ntime along v: {row['time']:.2f}", fontsize=9)
        panel(axes, letter, method + ", log scale" * (method == "Gaussian"))


def _draw_logarithmic(figure: Any, axes: Any, pixels: Any, sizes: Any) -> None:
    low = max(float(np.percentile(pixels[pixels > 0], 1)), 1e-6)
    norm = load_extra("matplotlib.colors", "plot").LogNorm(low, float(pixels.max()))
    drawn = draw_image(axes, np.maximum(pixels, low), sizes, norm)
    figure.colorbar(drawn, ax=axes, label=IMAGE_LABEL, fraction=0.05, pad=0.02, extend="min")


def _draw_layouts(panels: Any, numbers: Numbers) -> None:
    both = (_draw_types(numbers), _draw_batches(numbers))
    rows = {row["method"]: row for row in numbers["layouts"] if row["seed"] == 0}
    for j, method in enumerate(_LAYOUTS):
        Y = numbers["embeddings"][method]
        for i, (labels, shades) in enumerate(both):
            draw_points(panels[i, j], Y, labels, shades=shades, size=3, legend=False)
            panel(panels[i, j], "ijklmnop"[4 * i + j], f"t-SNE, {method}")
        row = rows[method]
        scores = f"mixing {row['mixing']:.2f},\ntime explained {row['time']:.2f}"
        panels[1, j].set_xlabel(scores)
    panels[0, 0].set_ylabel("by type (as in a)")
    panels[1, 0].set_ylabel("by batch (as in b)")


EXPERIMENT = Experiment(
    "batch-effects",
    "Simulated batch effects",
    Parameters(),
    Parameters(n=200, perplexity=15.0, n_iter=250, n_seeds=2),
    run,
    claims,
    draw,
)
