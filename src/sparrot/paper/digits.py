"""MNIST's 1, 2, 7 and 9: clusters, diffusion components, and the slant of the ones.

The paper's text has 4 times 250 images and N = 750; we take 250 of each. As in the authors' code,
digits are laid out by MDS of the diffusion components of v_2 ... v_8; the ones by MDS of their rows
of the same map, not of a map of the ones alone. The coordinates are compared with the slant of each
image, measured from its moments.

Samples differ: every number is found for each of several, and the first is drawn. A mean that is
held against a threshold has its standard error after the sign ±, and is called "within its spread"
if it is less than two of these from the threshold. Where numbers are published, the threshold is by
one rule: a margin has to be at least half of the published one.
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
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless, with_samples
from sparrot.paper._figures import (
    draw_overview,
    draw_points,
    draw_scores,
    panel,
    paper_style,
    within_limits,
)
from sparrot.paper._methods import (
    MAIN_METHODS,
    PROJECTIONS,
    eps_grid,
    matched,
    picture,
    principal,
    relative_deviation,
    scores,
    spectrum,
    with_perplexity_moments,
)
from sparrot.paper._records import (
    Curves,
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
_PUBLISHED = {  # read off the figures
    "nmi": {"QOT": 0.715, "EOT": 0.700, "k-NN": 0.599},
    "angle": {"QOT": 0.352, "EOT": 0.495, "k-NN": 0.434},
    "decades": {"QOT": 1.7, "EOT": 0.2},  # of eps, where NMI is good
    "own_kind": {"QOT": 0.94, "EOT": 0.665},  # share among neighbors, in the layout
}
_HALF = "half of the published margin"
_EXPLAINED = 0.4  # share of an indicator that is explained: "distinguish"
_NOISE = 0.2  # the same: "noise"
_LIVES_ON = ("lives_on_2", "lives_on_3", "lives_on_4")  # shares of images, of v_2 ... v_4
_FEW = 0.01  # share of the images
_APART = 0.9  # area under the ROC curve: "clearly separates"
_FOLLOWS = 0.9  # correlation with the slant: "apparent"
_NOISIER = 1.5  # times as much of the slant left over: "much noisier"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Which digits, how many of each, ranges, seeds, and diffusion components."""

    digits: tuple[int, ...] = (1, 2, 7, 9)
    n: int = 250
    eps: tuple[float, ...] = eps_grid(17)
    k: tuple[int, ...] = (5, 10, 15, 25, 50, 75, 100, 125)
    n_seeds: int = 25
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
    lives_on = participation(functions[:, :3]) / len(data.labels)
    marks = eigenvector_marks(functions, data.labels) | {
        "own_kind": own_kind(np.asarray(layout), data.labels, _HARD),
        **dict(zip(_LIVES_ON, lives_on.tolist(), strict=True)),
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
    qot, eot = (_Marks(numbers["all"], m) for m in PROJECTIONS)
    return [
        _claim_on_perplexities(qot, eot),
        *_claims_on_qot_vectors(qot),
        *_claims_on_eot_vectors(qot, eot),
        *_claims_on_curves(numbers["scores"]),
        *_claims_on_layouts(qot, eot),
        *_claims_on_slant(qot, eot),
    ]


class _Marks:
    """The numbers of one method over samples."""

    def __init__(self, rows: Rows, method: str) -> None:
        self._rows = [row for row in rows if row["method"] == method]

    def __getitem__(self, key: str) -> FloatArray:
        return np.array([row[key] for row in self._rows])

    def mean(self, key: str) -> float:
        return float(self[key].mean())

    def in_words(self, key: str, threshold: float | None = None) -> str:
        """Mean and range, and how sure the mean is if it is held against a threshold."""
        ends = f"{self[key].min():.2f} to {self[key].max():.2f}"
        if threshold is None:
            return f"{self.mean(key):.2f} ({ends})"
        return with_error(self[key], threshold, ends)


def with_error(values: FloatArray, threshold: float, aside: str = "") -> str:
    """The mean over samples with its standard error, and whether a threshold is within two of it.

    Examples
    --------
    >>> with_error(np.array([0.7, 0.9]), 0.75), with_error(np.array([0.7, 0.9]), 0.5, "by QOT")
    ('0.800 ± 0.100 (within its spread)', '0.800 ± 0.100 (by QOT)')
    """
    mean, error = float(values.mean()), 0.0
    if len(values) > 1:
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
    near = "within its spread" if abs(mean - threshold) < 2 * error else ""
    notes = "; ".join(filter(None, [aside, near]))
    found = f"{mean:.3f} ± {error:.3f}" if error else f"{mean:.3f}"
    return f"{found} ({notes})" if notes else found


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
            "by QOT (figure, not read)",
            f"share of their indicators that v_2, v_3 explain: 1s "
            f"{qot.in_words('ones_23', _EXPLAINED)}, 2s {qot.in_words('twos_23', _EXPLAINED)}",
            f"mean at least {_EXPLAINED} for both digits",
            less >= _EXPLAINED,
            unless(less >= _EXPLAINED, f"the less known digit has {less:.2f}"),
        ),
        Claim(
            "v_4 identifies variability among the 1s",
            "by QOT (figure, not read)",
            "share of the variance of v_4 that is among the 1s: "
            f"{qot.in_words('within_ones_4', 0.5)}",
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
            "noise (figure, not read)",
            f"share of the same indicators that v_2 ... v_4 explain: 1s "
            f"{eot.in_words('ones_234', _NOISE)}, 2s {eot.in_words('twos_234', _NOISE)}; share of "
            "the images that v_2, v_3 and v_4 live on, by medians: "
            f"EOT {_lives_on(eot)}, QOT {_lives_on(qot)}; in {_on_few(eot)} samples v_2 of EOT "
            f"lives on fewer than {_FEW:.0%} of the images (of QOT, in {_on_few(qot)})",
            f"mean at most {_NOISE} for both digits",
            noise,
            unless(
                noise,
                f"in the mean they explain {eot.mean(most):.2f} of the indicator of the {digit}",
            ),
        ),
        Claim(
            "with v_5 distinguishing the 1s",
            "by EOT (figure, not read)",
            "share of the indicator of the 1s that v_5 explains: "
            f"{eot.in_words('ones_5', _EXPLAINED)}",
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
    return ", ".join(f"{np.median(marks[key]):.0%}" for key in _LIVES_ON)


def _on_few(marks: _Marks) -> str:
    """In how many samples v_2 lives on few images."""
    shares = marks[_LIVES_ON[0]]
    return f"{np.count_nonzero(shares < _FEW)} of {len(shares)}"


def _claims_on_curves(rows: Rows) -> list[Claim]:
    information, angle = curves_of(rows, "nmi"), curves_of(rows, "angle")
    best = {m: values[:, values.mean(axis=0).argmax()] for m, values in information.items()}
    least = {m: values[:, values.mean(axis=0).argmin()] for m, values in angle.items()}
    return [
        _claim_on_information(best),
        _claim_on_range(rows, _GOOD * max(float(best[m].mean()) for m in PROJECTIONS)),
        _claim_on_angles(least),
    ]


def _claim_on_information(best: Curves) -> Claim:
    published = _PUBLISHED["nmi"]
    margin = (published["EOT"] - published["k-NN"]) / 2
    less, more = sorted(PROJECTIONS, key=lambda m: float(best[m].mean()))
    apart, lead = best[more] - best[less], best[less] - best["k-NN"]
    similar = bool(apart.mean() <= margin <= lead.mean())
    return Claim(
        "both QOT and EOT perform similarly and outperform k-NN by a significant margin in "
        "terms of NMI",
        by_method(published, ".3f"),
        f"best NMI {_means_in_words(best)}: QOT and EOT {with_error(apart, margin)} apart, k-NN "
        f"{with_error(lead, margin)} below both",
        f"best NMI of QOT and EOT within {margin:.3g}, which is {_HALF} over k-NN, and both at "
        "least as much above k-NN",
        similar,
        unless(similar, f"{apart.mean():.2f} apart, and {lead.mean():.2f} above k-NN"),
    )


def _claim_on_range(rows: Rows, threshold: float) -> Claim:
    published = _PUBLISHED["decades"]
    margin = (published["QOT"] - published["EOT"]) / 2
    losses = {m: -values for m, values in curves_of(rows, "nmi").items()}
    eps = parameters_of(rows, "QOT")
    wide, narrow = (good_decades(losses, m, eps, -threshold) for m in PROJECTIONS)
    wider = wide - narrow >= margin
    return Claim(
        "EOT yields good performance only for a narrow range of eps, while QOT is stable "
        "across a much wider range of parameter values",
        f"NMI above 0.64 over {published['QOT']} (QOT) and {published['EOT']} (EOT) decades",
        f"NMI above {threshold:.3f} over {wide:.2f} (QOT) and {narrow:.2f} (EOT) decades",
        f"NMI above {_GOOD} of the best over at least {margin:.3g} decades more, which is {_HALF}",
        wider,
        unless(wider, f"{wide:.1f} decades against {narrow:.1f}"),
    )


def _claim_on_angles(least: Curves) -> Claim:
    published = _PUBLISHED["angle"]
    margin = (published["k-NN"] - published["QOT"]) / 2
    rival = min(("EOT", "k-NN"), key=lambda m: float(least[m].mean()))
    lead = least[rival] - least["QOT"]
    outperforms = bool(lead.mean() >= margin)
    return Claim(
        "In terms of eigenspace angle ..., QOT outperforms both k-NN and EOT by a significant "
        "margin",
        by_method(published, ".3f"),
        f"best angle {_means_in_words(least)}: QOT {with_error(lead, margin)} below both",
        f"best angle of QOT at least {margin:.3g} below both others, which is {_HALF}",
        outperforms,
        unless(outperforms, f"that of {rival} is {lead.mean():.3f} above QOT's"),
    )


def _means_in_words(values: Curves) -> str:
    return by_method({m: float(values[m].mean()) for m in MAIN_METHODS})


def _claims_on_layouts(qot: _Marks, eot: _Marks) -> list[Claim]:
    published = _PUBLISHED["own_kind"]
    margin = (published["QOT"] - published["EOT"]) / 2
    middle = published["EOT"] + margin
    contrast = qot["own_kind"] - eot["own_kind"]
    clear, mixed = qot.mean("own_kind") >= middle, bool(contrast.mean() >= margin)
    return [
        Claim(
            "with the QOT affinities a clear separation between 7s and 9s is achieved",
            f"{published['QOT']} (read off the figure)",
            "share of own kind among the 15 nearest of 7s and 9s in the layout: "
            f"{qot.in_words('own_kind', middle)}",
            f"mean at least {middle:.4g}: {_HALF} above the published share of EOT",
            clear,
            unless(
                clear,
                f"the mean is {qot.mean('own_kind'):.3f}; the best of v_2 ... v_8 in each sample "
                f"has an area under the ROC curve of {qot.in_words('apart_best')}, EOT's "
                f"{eot.in_words('apart_best')}",
            ),
        ),
        Claim(
            "for the EOT affinities they are superimposed",
            f"{published['EOT']} (read off the figure)",
            f"the same share: {eot.in_words('own_kind')}; QOT's is {with_error(contrast, margin)} "
            "above",
            f"mean at least {margin:.4g} below that of QOT, which is {_HALF}",
            mixed,
            unless(mixed, f"it is {contrast.mean():.3f} below"),
        ),
        _claim_on_v8(qot),
    ]


def _claim_on_v8(qot: _Marks) -> Claim:
    apart = qot.mean("apart_8") >= _APART
    return Claim(
        "for QOT, v_8 clearly separates 7s and 9s",
        "v_8 (figure, not read)",
        f"area under the ROC curve of v_8: {qot.in_words('apart_8', _APART)}",
        f"mean at least {_APART}, which is our threshold: no number is published",
        apart,
        unless(
            apart,
            f"v_8 has {qot.mean('apart_8'):.2f}, the best of v_2 ... v_8 in each sample "
            f"{qot.mean('apart_best'):.2f}",
        ),
    )


def _claims_on_slant(qot: _Marks, eot: _Marks) -> list[Claim]:
    apparent = min(qot.mean("slant"), qot.mean("slant_both")) >= _FOLLOWS
    left = {
        (m, key): 1 - np.square(marks[key])
        for m, marks in (("QOT", qot), ("EOT", eot))
        for key in ("slant", "slant_both")
    }
    return [
        Claim(
            "the QOT affinities produce a clear 1-dimensional embedded structure along which the "
            "progressive change in angle is apparent",
            "apparent (figure, not read)",
            "correlation with the slant, by the first coordinate: "
            f"{qot.in_words('slant', _FOLLOWS)}; by both {qot.in_words('slant_both', _FOLLOWS)}",
            f"mean at least {_FOLLOWS}, by the first coordinate and by both",
            apparent,
            unless(
                apparent,
                f"the first coordinate leaves {left['QOT', 'slant'].mean():.0%} of the variance of "
                f"the slant, both coordinates {left['QOT', 'slant_both'].mean():.0%}",
            ),
        ),
        _claim_on_noise(eot, left, int((eot["slant"] > qot["slant"]).sum())),
    ]


def _claim_on_noise(eot: _Marks, left: dict[tuple[str, str], FloatArray], better: int) -> Claim:
    """Of EOT, by what its coordinates leave over of the slant; `better` counts samples."""
    ratios = {
        key: float(left["EOT", key].mean() / left["QOT", key].mean())
        for key in ("slant", "slant_both")
    }
    noisier = min(ratios.values()) >= _NOISIER
    return Claim(
        "In contrast, the EOT affinities produce a much noisier embedding",
        "much noisier (figure, not read)",
        f"correlation with the slant, by the first coordinate: {eot.in_words('slant')}; by both "
        f"{eot.in_words('slant_both')}; left over of its variance {_left_over(left, 'slant')} by "
        f"the first, {_left_over(left, 'slant_both')} by both; by the first coordinate alone EOT "
        f"is better than QOT in {better} of {len(eot['slant'])} samples",
        f"share of the variance of the slant that is left over at least {_NOISIER} times that of "
        "QOT, by the first coordinate and by both, by means",
        noisier,
        unless(
            noisier,
            f"{ratios['slant']:.2f} times by the first coordinate, {ratios['slant_both']:.2f} "
            "times by both",
        ),
    )


def _left_over(left: dict[tuple[str, str], FloatArray], key: str) -> str:
    qot = float(left["QOT", key].mean())
    return with_error(left["EOT", key], _NOISIER * qot, f"QOT {qot:.3f}")


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
    figure, (above, below) = plt.subplots(2, 2, figsize=(9, 8.2), layout="constrained")
    shown = numbers["shown"]
    for axes, letter, method in zip(above, "ab", PROJECTIONS, strict=True):
        inside = within_limits(axes, shown[method]["layout"])
        draw_points(axes, inside, shown["labels"], legend=method == "QOT")
        axes.set(xlabel="MDS 1", ylabel="MDS 2")
        panel(axes, letter, f"{method}: all digits")
    correlations = {row["method"]: row["slant"] for row in numbers["all"] if row["seed"] == 0}
    for axes, letter, method in zip(below, "cd", PROJECTIONS, strict=True):
        drawn = _draw_slants(axes, numbers["slants"][method], numbers["images"])
        panel(axes, letter, f"{method}: the ones, |r| = {correlations[method]:.2f}")
    figure.colorbar(drawn, ax=below, label="slant (rad)")
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
