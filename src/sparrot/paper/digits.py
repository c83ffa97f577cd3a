"""MNIST's 1, 2, 7 and 9: clusters, diffusion components, and the slant of the ones.

The paper's text has 4 times 250 images and N = 750; we take 250 of each. As by the authors, digits
are laid out by MDS of the diffusion components of v_2 ... v_8; the ones by MDS of their rows of the
same map, not of a map of the ones alone. The first coordinate is compared with the slant of each
image, measured from its moments. Samples differ: every number is found for each of
several, and the first is drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from sparrot._types import FloatArray, IntArray
from sparrot.affinity import perplexity
from sparrot.datasets import Digits, load_mnist
from sparrot.errors import load_extra
from sparrot.layout import mds_layout
from sparrot.paper._clusters import (
    picture,
    relative_deviation,
    scores,
    spectrum,
    with_perplexity_moments,
)
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless, with_samples
from sparrot.paper._figures import (
    draw_overview,
    draw_points,
    draw_scores,
    panel,
    paper_style,
    within_limits,
)
from sparrot.paper._methods import MAIN_METHODS, PROJECTIONS, eps_grid, matched, principal
from sparrot.paper._records import (
    Rows,
    bands,
    by_method,
    curves_of,
    good_decades,
    parameters_of,
    rounded,
)
from sparrot.paper._work import Work
from sparrot.plot._style import SEQUENTIAL
from sparrot.spectral import DiffusionMap

_SIDE = 14  # pixels of the images that are drawn
_HARD = (7, 9)  # the digits that are hard to tell apart
_GOOD = 0.9  # of the best NMI of QOT and EOT
_EXPLAINED = 0.4  # share of an indicator that is explained: "distinguish"
_NOISE = 0.2  # the same: "noise"
_LIVES_ON = ("lives_on_2", "lives_on_3", "lives_on_4")  # participation numbers of v_2 ... v_4
_SEPARATED = 0.8  # share of own kind among neighbors: "clear separation"
_CONTRAST = 0.15  # of the same, between QOT and EOT: "superimposed"
_NOISIER = 1.5  # times as much of the slant left over: "much noisier"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Which digits, how many of each, ranges, seeds, and diffusion components."""

    digits: tuple[int, ...] = (1, 2, 7, 9)
    n: int = 250
    eps: tuple[float, ...] = eps_grid(17)
    k: tuple[int, ...] = (5, 10, 15, 25, 50, 75, 100, 125)
    n_seeds: int = 5
    n_components: int = 8
    n_values: int = 15
    n_drawn: int = 16

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method == "k-NN" else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Curves and QOT's default first, then EOT of the same mean perplexity."""
    data = _data(parameters, 0)  # before any work: raises if it is missing
    seeds = range(parameters.n_seeds)
    units: dict[str, Callable[[], Any]] = {
        f"curve-{m}-{s}": partial(_curve, parameters, m, s) for s in seeds for m in MAIN_METHODS
    }
    units |= {f"all-QOT-{s}": partial(_all_digits, parameters, "QOT", s) for s in seeds}
    found = work.each(units)
    found |= work.each(
        {
            f"all-EOT-{s}": partial(_all_digits, parameters, "EOT", s, target)
            for s in seeds
            for target in [found[f"all-QOT-{s}"]["marks"]["perplexity"]]
        }
    )
    rows = [row for m in MAIN_METHODS for s in seeds for row in found[f"curve-{m}-{s}"]]
    return {
        "scores": rows,
        "score_bands": bands(rows, ("method", "parameter"), "nmi", "angle"),
        "all": [
            {"method": m, "seed": s} | found[f"all-{m}-{s}"]["marks"]
            for m in PROJECTIONS
            for s in seeds
        ],
        "shown": with_perplexity_moments({m: found[f"all-{m}-0"]["drawn"] for m in PROJECTIONS})
        | {"labels": data.labels.tolist()},
        "principal": rounded(principal(data.X, 2), 4),
        "slants": {m: found[f"all-{m}-0"]["ones"] for m in PROJECTIONS},
        "images": _small_images(parameters),
    }


def _data(parameters: Parameters, seed: int) -> Digits:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, about each try to download
        return load_mnist(parameters.digits, parameters.n, random_state=seed)


def _only_ones(parameters: Parameters, seed: int) -> Digits:
    data = _data(parameters, seed)
    return Digits(data.X[data.labels == 1], data.labels[data.labels == 1])


def _curve(parameters: Parameters, method: str, seed: int) -> Rows:
    data = _data(parameters, seed)
    rows = scores(method, data.X, parameters.of(method), data.labels)
    return [{"seed": seed} | row for row in rows]


def _all_digits(
    parameters: Parameters, method: str, seed: int, target: float | None = None
) -> dict[str, Any]:
    """Marks of the eigenvectors of one sample; of the first, what is drawn too."""
    data = _data(parameters, seed)
    found = matched(method, data.X, target)
    functions = spectrum(found.matrix, parameters.n_components).functions[:, 1:]
    sizes = perplexity(found)
    model = DiffusionMap(parameters.n_components - 1, affinity="precomputed")
    components = model.fit_transform(found.matrix)  # of v_2 and on, as `functions`
    layout = rounded(mds_layout(components), 4)
    is_one = data.labels == 1
    ones, slant = rounded(mds_layout(components[is_one]), 4), data.slant[is_one]
    marks = eigenvector_marks(functions, data.labels) | {
        "own_kind": own_kind(np.asarray(layout), data.labels, _HARD),
        **dict(zip(_LIVES_ON, participation(functions[:, :3]).tolist(), strict=True)),
        "slant": abs(float(np.corrcoef(np.asarray(ones)[:, 0], slant)[0, 1])),
        "slant_both": float(np.sqrt(explained(np.asarray(ones), slant))),
        "eps": found.relative_eps,
        "perplexity": float(sizes.mean()),
        "spread": relative_deviation(sizes),
    }
    if seed > 0:
        return {"marks": marks}
    drawn = picture(found.matrix, data.labels, parameters.n_values)
    drawn["vectors"] = rounded(functions, 4)
    return {
        "marks": marks,
        "drawn": drawn | {"eps": found.relative_eps, "layout": layout},
        "ones": {"layout": ones, "slant": rounded(slant, 4)},
    }


def participation(V: FloatArray) -> FloatArray:
    """On how many points each column lives: 1 over the sum of fourth powers, if of norm one.

    Examples
    --------
    >>> participation(np.array([[1.0, 2.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])).tolist()
    [4.0, 1.0]
    """
    squares = np.square(V)
    return np.asarray(squares.sum(axis=0) ** 2 / np.square(squares).sum(axis=0))


def _small_images(parameters: Parameters) -> Any:
    """Some of the ones, of half the size, over the range of slants."""
    data = _only_ones(parameters, 0)
    order = np.argsort(data.slant)
    rows = order[np.linspace(0, len(order) - 1, min(parameters.n_drawn, len(order))).astype(int)]
    small = data.images[rows].reshape(-1, _SIDE, 2, _SIDE, 2).mean(axis=(2, 4))
    return {"rows": rows.tolist(), "pixels": rounded(small, 2)}


def eigenvector_marks(vectors: FloatArray, labels: IntArray) -> dict[str, float]:
    """What single eigenvectors show of digits: which they separate, and within which they vary.

    Parameters
    ----------
    vectors : (n, 7) the eigenvectors v_2 ... v_8.
    labels : (n,) digits, among them 1, 2, 7 and 9.

    Returns
    -------
    ones_23, twos_23, ones_234, twos_234, ones_5 : share of the indicator of the 1s or the 2s that
        the eigenvectors of these numbers explain.
    within_ones_4 : share of the variance of v_4 that is among the 1s; a quarter by chance.
    apart_8, apart_best : area under the ROC curve of 7s against 9s, by v_8 and by the best.
    """
    areas = separation(vectors, labels)
    return {
        "ones_23": explained(vectors[:, :2], labels == 1),
        "twos_23": explained(vectors[:, :2], labels == 2),
        "ones_234": explained(vectors[:, :3], labels == 1),
        "twos_234": explained(vectors[:, :3], labels == 2),
        "ones_5": explained(vectors[:, 3:4], labels == 1),
        "within_ones_4": variance_within(vectors[:, 2], labels == 1),
        "apart_8": areas[6],
        "apart_best": max(areas),
    }


def explained(V: FloatArray, values: Any) -> float:
    """The share of the variance of values that a linear function of V explains.

    Examples
    --------
    >>> explained(np.array([[0.0], [0.0], [2.0], [2.0]]), [False, False, True, True])
    1.0
    """
    y = np.asarray(values, dtype=np.float64)
    A = np.column_stack([np.ones(len(y)), V])
    left = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return round(1 - float(left @ left) / float(np.square(y - y.mean()).sum()), 6)


def variance_within(v: FloatArray, chosen: Any) -> float:
    """The share of the sum of squares of v about its mean that the chosen rows have about theirs.

    Examples
    --------
    >>> variance_within(np.array([0.0, 0.0, 1.0, -1.0]), np.array([False, False, True, True]))
    1.0
    """
    part = v[chosen]
    return float(np.square(part - part.mean()).sum() / np.square(v - v.mean()).sum())


def separation(vectors: FloatArray, labels: IntArray) -> list[float]:
    """How well each column separates 7s from 9s: area under the ROC curve, 0.5 by chance.

    Examples
    --------
    >>> separation(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([7, 9]))
    [1.0, 0.5]
    """
    hard = np.isin(labels, _HARD)
    truth = labels[hard] == _HARD[0]
    found = [float(roc_auc_score(truth, v)) for v in vectors[hard].T]
    return [max(auc, 1 - auc) for auc in found]


def own_kind(Y: FloatArray, labels: IntArray, kinds: tuple[int, ...], k: int = 15) -> float:
    """The share of own kind among the k nearest neighbors, in the mean over points of some kinds.

    Neighbors are the nearest points among those of these kinds.

    Examples
    --------
    >>> Y = np.arange(40.0)[:, None]
    >>> own_kind(Y, np.repeat([7, 9], 20), (7, 9), k=5) > 0.9
    True
    >>> own_kind(Y, np.tile([7, 9], 20), (7, 9), k=5) < 0.5
    True
    """
    chosen = np.isin(labels, kinds)
    Y, labels = Y[chosen], labels[chosen]
    k = min(k, len(Y) - 1)
    near = NearestNeighbors(n_neighbors=k).fit(Y).kneighbors(return_distance=False)
    return float((labels[near] == labels[:, None]).mean())


def claims(numbers: Numbers) -> list[Claim]:
    """Perplexities and eigenvectors, curves, layouts; by means, and how many samples fail alone."""
    return with_samples(_claims_by_means, numbers)


def _claims_by_means(numbers: Numbers) -> list[Claim]:
    all_digits = {m: _Marks(numbers["all"], m) for m in PROJECTIONS}
    return [
        _claim_on_perplexities(all_digits["QOT"], all_digits["EOT"]),
        *_claims_on_qot_vectors(all_digits["QOT"]),
        *_claims_on_eot_vectors(all_digits["QOT"], all_digits["EOT"]),
        *_claims_on_curves(numbers["scores"]),
        *_claims_on_layouts(all_digits["QOT"], all_digits["EOT"]),
        *_claims_on_slant(all_digits["QOT"], all_digits["EOT"]),
    ]


class _Marks:
    """The numbers of one method over samples."""

    def __init__(self, rows: Rows, method: str) -> None:
        self._rows = [row for row in rows if row["method"] == method]

    def mean(self, key: str) -> float:
        return float(np.mean([row[key] for row in self._rows]))

    def in_words(self, key: str, form: str = ".2f") -> str:
        """Mean and range."""
        values = [row[key] for row in self._rows]
        return f"{np.mean(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def _claim_on_perplexities(qot: _Marks, eot: _Marks) -> Claim:
    holds = eot.mean("spread") > qot.mean("spread")
    return Claim(
        "there is more variability in the perplexities for the EOT affinities",
        "more; mean perplexity 13",
        f"deviation / mean: QOT {qot.in_words('spread')}, EOT {eot.in_words('spread')}; mean "
        f"{qot.mean('perplexity'):.1f}",
        "mean of deviation / mean of the perplexities larger for EOT",
        holds,
        unless(holds, f"QOT {qot.mean('spread'):.2f}, EOT {eot.mean('spread'):.2f}"),
    )


def _claims_on_qot_vectors(qot: _Marks) -> list[Claim]:
    less = min(qot.mean("ones_23"), qot.mean("twos_23"))
    within = qot.mean("within_ones_4")
    return [
        Claim(
            "v_2, v_3 distinguish the 1s and 2s",
            "by QOT",
            f"share of their indicators that v_2, v_3 explain: 1s {qot.in_words('ones_23')}, 2s "
            f"{qot.in_words('twos_23')}",
            f"mean at least {_EXPLAINED} for both digits",
            less >= _EXPLAINED,
            unless(less >= _EXPLAINED, f"the less known digit has {less:.2f}"),
        ),
        Claim(
            "v_4 identifies variability among the 1s",
            "by QOT",
            f"share of the variance of v_4 that is among the 1s: {qot.in_words('within_ones_4')}",
            "mean at least 0.5; a quarter is chance",
            within >= 0.5,
            unless(within >= 0.5, f"{1 - within:.0%} of its variance is elsewhere"),
        ),
    ]


def _claims_on_eot_vectors(qot: _Marks, eot: _Marks) -> list[Claim]:
    most = max(("ones_234", "twos_234"), key=eot.mean)
    noise = eot.mean(most) <= _NOISE
    distinguished = eot.mean("ones_5") >= _EXPLAINED
    digit = {"ones_234": "1s", "twos_234": "2s"}[most]
    return [
        Claim(
            "In contrast, we find that the leading EOT eigenvectors v_2-v_4 consist predominantly "
            "of noise",
            "noise",
            f"share of the same indicators that v_2 ... v_4 explain: 1s {eot.in_words('ones_234')},"
            f" 2s {eot.in_words('twos_234')}; images that v_2, v_3 and v_4 live on (participation "
            f"numbers 1 / sum v^4): EOT {_lives_on(eot)}, QOT {_lives_on(qot)}",
            f"mean at most {_NOISE} for both digits",
            noise,
            unless(
                noise,
                f"in the mean they explain {eot.mean(most):.2f} of the indicator of the {digit}, "
                "though some live on a few images",
            ),
        ),
        Claim(
            "with v_5 distinguishing the 1s",
            "by EOT",
            f"share of the indicator of the 1s that v_5 explains: {eot.in_words('ones_5')}",
            f"mean at least {_EXPLAINED}",
            distinguished,
            unless(
                distinguished,
                f"v_5 explains {eot.mean('ones_5'):.2f}, v_2 ... v_4 together "
                f"{eot.mean('ones_234'):.2f}",
            ),
        ),
    ]


def _lives_on(marks: _Marks) -> str:
    return ", ".join(marks.in_words(key, ".0f") for key in _LIVES_ON)


def _claims_on_curves(rows: Rows) -> list[Claim]:
    information, angle = curves_of(rows, "nmi"), curves_of(rows, "angle")
    best = {m: float(information[m].mean(axis=0).max()) for m in MAIN_METHODS}
    least = {m: float(angle[m].mean(axis=0).min()) for m in MAIN_METHODS}
    threshold = _GOOD * max(best["QOT"], best["EOT"])
    losses = {m: -values for m, values in information.items()}
    eps = parameters_of(rows, "QOT")
    wide, narrow = (good_decades(losses, m, eps, -threshold) for m in PROJECTIONS)
    apart = abs(best["QOT"] - best["EOT"])
    lead = min(best["QOT"], best["EOT"]) - best["k-NN"]
    ratio = min(least["EOT"], least["k-NN"]) / least["QOT"]
    similar, wider = apart <= 0.1 <= lead, wide > 0 and wide >= 2 * narrow
    return [
        Claim(
            "both QOT and EOT perform similarly and outperform k-NN by a significant margin in "
            "terms of NMI",
            "QOT 0.715, EOT 0.700, k-NN 0.599",
            f"best NMI {by_method(best)}",
            "best NMI of QOT and EOT within 0.1, both at least 0.1 above k-NN",
            similar,
            unless(similar, f"{apart:.2f} apart, and {lead:.2f} above k-NN"),
        ),
        Claim(
            "EOT yields good performance only for a narrow range of eps, while QOT is stable "
            "across a much wider range of parameter values",
            "NMI above 0.64 over 1.7 (QOT) and 0.2 (EOT) decades",
            f"NMI above {threshold:.3f} over {wide:.2f} (QOT) and {narrow:.2f} (EOT) decades",
            f"NMI above {_GOOD} of the best over at least twice as many decades",
            wider,
            unless(wider, f"{wide:.1f} decades against {narrow:.1f}"),
        ),
        Claim(
            "In terms of eigenspace angle ..., QOT outperforms both k-NN and EOT by a significant "
            "margin",
            "QOT 0.352, EOT 0.495, k-NN 0.434",
            f"best angle {by_method(least)}",
            "best angle of EOT and of k-NN at least 1.2 times that of QOT",
            ratio >= 1.2,
            unless(ratio >= 1.2, f"the next has {ratio:.2f} times the angle of QOT"),
        ),
    ]


def _claims_on_layouts(qot: _Marks, eot: _Marks) -> list[Claim]:
    found = {key: qot.mean(key) for key in ("own_kind", "apart_best", "apart_8")}
    contrast = found["own_kind"] - eot.mean("own_kind")
    mixed = contrast >= _CONTRAST
    return [
        Claim(
            "with the QOT affinities a clear separation between 7s and 9s is achieved",
            "0.94 (read off the figure)",
            "share of own kind among the 15 nearest of 7s and 9s in the layout: "
            f"{qot.in_words('own_kind')}",
            f"mean at least {_SEPARATED}; a half is chance",
            found["own_kind"] >= _SEPARATED,
            unless(
                found["own_kind"] >= _SEPARATED,
                f"the mean is {found['own_kind']:.2f}; the best of v_2 ... v_8 in each sample has "
                f"an area under the ROC curve of {qot.in_words('apart_best')}, EOT's "
                f"{eot.in_words('apart_best')}",
            ),
        ),
        Claim(
            "for the EOT affinities they are superimposed",
            "0.665 (read off the figure)",
            f"the same share: {eot.in_words('own_kind')}, {contrast:.2f} below QOT's",
            f"mean at least {_CONTRAST} below that of QOT",
            mixed,
            unless(
                mixed,
                f"the mean is {eot.mean('own_kind'):.2f}, and that of QOT {found['own_kind']:.2f}",
            ),
        ),
        Claim(
            "for QOT, v_8 clearly separates 7s and 9s",
            "v_8",
            f"area under the ROC curve of v_8: {qot.in_words('apart_8')}",
            "mean at least 0.9, which is our threshold: no number is published",
            found["apart_8"] >= 0.9,
            unless(
                found["apart_8"] >= 0.9,
                f"v_8 has {found['apart_8']:.2f}, the best of v_2 ... v_8 in each sample "
                f"{found['apart_best']:.2f}",
            ),
        ),
    ]


def _claims_on_slant(qot: _Marks, eot: _Marks) -> list[Claim]:
    first = qot.mean("slant")
    left = {m: 1 - marks.mean("slant_both") ** 2 for m, marks in (("QOT", qot), ("EOT", eot))}
    ratio = left["EOT"] / left["QOT"]
    return [
        Claim(
            "the QOT affinities produce a clear 1-dimensional embedded structure along which the "
            "progressive change in angle is apparent",
            "apparent",
            f"correlation of the first coordinate with the slant: {qot.in_words('slant')}; of both "
            f"{qot.in_words('slant_both')}",
            "first coordinate: mean at least 0.9",
            first >= 0.9,
            unless(
                first >= 0.9,
                f"the first coordinate leaves {1 - first**2:.0%} of the variance of the slant, "
                f"both coordinates {left['QOT']:.0%}",
            ),
        ),
        Claim(
            "In contrast, the EOT affinities produce a much noisier embedding",
            "much noisier",
            f"correlation of the first coordinate: {eot.in_words('slant')}; of both "
            f"{eot.in_words('slant_both')}",
            "share of the variance of the slant that both coordinates leave over at least "
            f"{_NOISIER} times that of QOT, by means",
            ratio >= _NOISIER,
            unless(
                ratio >= _NOISIER,
                f"{ratio:.2f} times: the first coordinate of EOT ({eot.mean('slant'):.2f}) says "
                f"less than QOT's ({first:.2f}), both together {eot.mean('slant_both'):.2f} "
                f"(QOT {qot.mean('slant_both'):.2f})",
            ),
        ),
    ]


def draw(numbers: Numbers) -> dict[str, Any]:
    """The panels (a) to (c), and (d), as two figures."""
    with paper_style() as plt:
        return {"": _draw_affinities(plt, numbers), "layouts": _draw_layouts(plt, numbers)}


def _draw_affinities(plt: Any, numbers: Numbers) -> Any:
    figure = plt.figure(figsize=(13, 9.4), layout="constrained")
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=(1.2, 1, 1.2))
    title = f"{len(numbers['shown']['labels'])} images"
    draw_overview(top, middle, numbers, title, "images, by digit")
    for axes, letter, key in zip(bottom.subplots(1, 2), "gh", ("nmi", "angle"), strict=True):
        draw_scores(axes, numbers["score_bands"], key)
        panel(axes, letter, {"nmi": "spectral clustering", "angle": "eigenspaces"}[key])
        axes.legend(fontsize=8)
    return figure


def _draw_layouts(plt: Any, numbers: Numbers) -> Any:
    figure, panels = plt.subplots(1, 4, figsize=(17, 4.4), layout="constrained")
    shown = numbers["shown"]
    for axes, letter, method in zip(panels[:2], "ab", PROJECTIONS, strict=True):
        inside = within_limits(axes, shown[method]["layout"])
        draw_points(axes, inside, shown["labels"], legend=method == "QOT")
        axes.set(xlabel="MDS 1", ylabel="MDS 2")
        panel(axes, letter, f"{method}: all digits")
    correlations = {row["method"]: row["slant"] for row in numbers["all"] if row["seed"] == 0}
    for axes, letter, method in zip(panels[2:], "cd", PROJECTIONS, strict=True):
        drawn = _draw_slants(axes, numbers["slants"][method], numbers["images"])
        panel(axes, letter, f"{method}: the ones, |r| = {correlations[method]:.2f}")
    figure.colorbar(drawn, ax=panels[-1], label="slant (rad)")
    return figure


def _draw_slants(axes: Any, ones: dict[str, Any], images: dict[str, Any]) -> Any:
    """The layout of the ones colored by slant; some of them are drawn above, with a line to it."""
    boxes = load_extra("matplotlib.offsetbox", "plot")
    inside = within_limits(axes, ones["layout"])
    drawn = axes.scatter(*inside.T, c=ones["slant"], s=14, cmap=SEQUENTIAL)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.35 * (high - low))
    rows = np.asarray(images["rows"])
    order = np.argsort(inside[rows, 0])
    places = np.linspace(0.04, 0.96, len(rows))
    for k, place in zip(order, places, strict=True):
        small = np.asarray(images["pixels"][k])
        ink = np.zeros((*small.shape, 4))
        ink[..., 3] = small
        box = boxes.AnnotationBbox(
            boxes.OffsetImage(ink, zoom=1.4),
            inside[rows[k]],
            xybox=(place, 0.9 if k % 2 else 0.97),
            boxcoords="axes fraction",
            frameon=False,
            pad=0,
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6},
        )
        axes.add_artist(box)
    axes.set(xticks=[], yticks=[], xlabel="MDS 1", ylabel="MDS 2")
    return drawn


EXPERIMENT = Experiment(
    "digits",
    "MNIST handwritten digits",
    Parameters(),
    Parameters(n=60, eps=eps_grid(7), k=(5, 10, 20), n_seeds=1),
    run,
    claims,
    draw,
)
