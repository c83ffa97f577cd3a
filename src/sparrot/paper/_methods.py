"""The affinities that the paper compares, by name, and what their eigenspaces show.

Each affinity has one parameter: a number of neighbors for k-NN and MAGIC, for all others eps or a
bandwidth relative to the mean cost. QOT and EOT are hollow; the variants called fat (the paper's
"fattened") may have mass on the diagonal. MAGIC, as published, reduces points to 100 principal
components first. Its operator is not symmetric, and is judged by its right eigenvectors. These are
the eigenfunctions of the kernel that it normalizes, and the same for every power of it.

On the noisy spiral the paper's judge is the mean principal angle between the ten leading
eigenvectors and the ten of the clean curve. Our reference is a ring of unit weights, in which each
clean point is joined to the next on either side; the authors' has Gaussian weights on three
neighbors, the point itself among them. The eigenvalues of a ring come in pairs after the first, so
that ten vectors cut the fifth pair in two. Which half they keep is up to the eigensolver, and is
worth up to (pi/2)/10 of angle: it can differ from one machine to the next. So there are two judges:
`whole`, of eleven vectors to the eleven of the ring, which are whole pairs, gives the verdict;
`angle`, of the paper's ten to ten, is said beside it.

Of clusters that are known there are two scores: normalized mutual information (NMI) of spectral
clustering (k leading eigenfunctions of the random walk, then k-means), and the mean principal angle
between the 2k leading eigenvectors and the indicators of the k clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from sparrot._types import FloatArray, IntArray
from sparrot.affinity import (
    Affinity,
    eot,
    epanechnikov,
    gaussian,
    gaussian_l2,
    knn,
    magic,
    perplexity,
    qot,
    qot_path,
)
from sparrot.datasets import Spiral
from sparrot.metrics import mean_principal_angle, nmi, template_angle
from sparrot.paper._experiment import Claim, unless
from sparrot.paper._records import Curves, Rows, rounded
from sparrot.spectral import Spectrum, coarse_grained, eigenpairs

BISTOCHASTIC = ("QOT", "EOT", "QOT, fat", "EOT, fat", "Gaussian L2")
BY_NEIGHBORS = ("k-NN", "MAGIC")
OTHERS = ("Gaussian", "Epanechnikov", *BY_NEIGHBORS)
METHODS = (*BISTOCHASTIC, *OTHERS)
PROJECTIONS = ("QOT", "EOT")
MAIN_METHODS = (*PROJECTIONS, "k-NN")
TOL = 1e-6  # of a row sum: far less than the spread over seeds
MAGIC_COMPONENTS = 100  # principal components, its default
PIXELS = 150  # a side of the image of an affinity
_LAPACK = 2000  # rows of a dense matrix up to which LAPACK is surely quick


def eps_grid(n: int) -> tuple[float, ...]:
    """The paper's range of eps, from 100 down to 0.01.

    Examples
    --------
    >>> eps_grid(5)
    (100.0, 10.0, 1.0, 0.1, 0.01)
    """
    return tuple(float(f"{e:.6g}") for e in np.logspace(2, -2, n))


def slug(method: str) -> str:
    """A method's name for a file.

    Examples
    --------
    >>> slug("QOT, fat")
    'qot-fat'
    """
    return method.lower().replace(", ", "-").replace(" ", "-")


def affinities(method: str, X: FloatArray, parameters: Iterable[float]) -> Iterator[Any]:
    """The matrix of a method for each parameter; QOT and EOT start from the solution before."""
    if method.startswith("QOT"):
        hollow = method == "QOT"
        return (a.matrix for a in qot_path(X, parameters, hollow=hollow, tol=TOL, n_jobs=1))
    if method.startswith("EOT"):
        return _entropic_path(X, parameters, method == "EOT")
    build: dict[str, Callable[[float], Any]] = {
        "Gaussian L2": lambda h: gaussian_l2(X, h).matrix,
        "Gaussian": lambda h: gaussian(X, h).matrix,
        "Epanechnikov": lambda eps: epanechnikov(X, eps=eps).matrix,
        "k-NN": lambda k: knn(X, int(k)).matrix,
        "MAGIC": lambda k: magic_kernel(X, int(k)),
    }
    return map(build[method], parameters)


def affinity(method: str, X: FloatArray, parameter: float) -> Any:
    """The matrix of a method for one parameter."""
    return next(iter(affinities(method, X, [parameter])))


def _entropic_path(X: FloatArray, parameters: Iterable[float], hollow: bool) -> Iterator[Any]:
    potential = None
    for eps in parameters:
        found = eot(X, eps, hollow=hollow, potential=potential, tol=TOL, n_jobs=1)
        potential = found.potential
        yield found.matrix


def magic_kernel(X: FloatArray, k: int) -> csr_array:
    """The symmetric kernel whose rows MAGIC scales to one, of the leading principal components.

    Its diagonal is one, so that the diagonal of the operator has the factors of the rows.

    Examples
    --------
    >>> K = magic_kernel(np.random.default_rng(0).standard_normal((50, 4)), 5)
    >>> bool(abs(K - K.T).max() < 1e-12), bool(np.allclose(K.diagonal(), 1))
    (True, True)
    """
    M = magic(principal(X, MAGIC_COMPONENTS), k, t=1, n_jobs=1).matrix
    return csr_array(diags_array(1 / M.diagonal()) @ M)


def matched(method: str, X: FloatArray, target: float | None) -> Affinity:
    """QOT with its default; EOT of mean perplexity `target`; or k-NN of as many neighbors."""
    if method == "QOT":
        return qot(X, n_jobs=1)
    assert target is not None
    if method == "EOT":
        return eot(X, perplexity=target, tol=TOL, n_jobs=1)
    return knn(X, round(target), n_jobs=1)


def principal(X: FloatArray, d: int) -> FloatArray:
    """The d leading principal components."""
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return (left * values)[:, :d]


JUDGES = {"angle": 10, "whole": 11}  # how many vectors


def leading(W: Any, *, method: str = "") -> FloatArray:
    """The leading eigenvectors, the trivial one first; of MAGIC's operator, the right ones."""
    pairs = eigenpairs(W, max(JUDGES.values()), components="each")
    return pairs.functions if method == "MAGIC" else pairs.vectors


def reference(spiral: Spiral) -> FloatArray:
    """The leading eigenvectors of the ring, in whole pairs."""
    return leading(knn(spiral.clean, 2).matrix)


def judged(V: FloatArray, truth: FloatArray) -> dict[str, float]:
    """The mean principal angle of ten vectors to ten, and of whole pairs to whole pairs.

    Examples
    --------
    >>> import numpy as np
    >>> judged(np.eye(12)[:, :11], np.eye(12)[:, :11])
    {'angle': 0.0, 'whole': 0.0}
    """
    return {
        judge: mean_principal_angle(V[:, :count], truth[:, :count])
        for judge, count in JUDGES.items()
    }


def angles(
    method: str, X: FloatArray, parameters: Sequence[float], truth: FloatArray
) -> list[dict[str, float]]:
    """Both angles for each parameter of a method."""
    return [judged(leading(W, method=method), truth) for W in affinities(method, X, parameters)]


def angle_records(
    found: Mapping[tuple[str, int], list[dict[str, float]]],
    parameters: Mapping[str, Sequence[float]],
) -> Rows:
    """One record for each method, parameter and seed, from the angles by method and seed."""
    return [
        {"method": method, "parameter": parameter, "seed": seed} | both
        for (method, seed), values in found.items()
        for parameter, both in zip(parameters[method], values, strict=True)
    ]


def best_angle(curves: Curves, method: str) -> float:
    """The smallest angle of a method over its parameter, of means over seeds."""
    return float(curves[method].mean(axis=0).min())


class Finding(NamedTuple):
    """What one judge finds: in words, whether it meets the criterion, and why it does not.

    Where the run has nothing to judge by, `holds` is None, for both judges.
    """

    ours: str
    holds: bool | None
    why: str


def claim_by_both(
    sentence: str, paper: str, criterion: str, find: Callable[[str], Finding]
) -> Claim:
    """A claim with the verdict of whole pairs, and what the paper's ten vectors find."""
    ten, whole = (find(judge) for judge in JUDGES)
    if whole.holds is None:
        return Claim(sentence, paper, whole.ours, criterion, None, whole.why)
    also = "it holds" if ten.holds else f"it does not hold either ({ten.why})"
    reason = unless(whole.holds, f"{whole.why}; to the paper's ten vectors {also}")
    if whole.holds and not ten.holds:
        reason = f"not to the paper's ten vectors: {ten.why}"
    ours = f"{whole.ours}; to the paper's ten vectors: {ten.ours}"
    return Claim(sentence, paper, ours, criterion, whole.holds, reason)


def spectrum(W: Any, count: int) -> Spectrum:
    """Leading eigenpairs on one thread, the trivial one first."""
    lapack = not issparse(W) and W.shape[0] <= _LAPACK
    solver = "dense" if lapack else "auto"
    return eigenpairs(W, count, components="each", solver=solver, n_jobs=1)


def score(W: Any, labels: IntArray) -> tuple[float, float]:
    """NMI of spectral clustering, and the angle to the indicators.

    Examples
    --------
    >>> score(np.kron(np.eye(2), np.ones((5, 5))), np.repeat([0, 1], 5))
    (1.0, 0.0)
    """
    k = len(np.unique(labels))
    pairs = spectrum(W, 2 * k)
    means = KMeans(k, n_init=10, random_state=0)
    with threadpool_limits(1):  # for so few points threads cost more than they bring
        found = means.fit_predict(pairs.functions[:, :k])
    return nmi(labels, found), round(template_angle(pairs.vectors, labels), 12)


def scores(method: str, X: FloatArray, parameters: Iterable[float], labels: IntArray) -> Rows:
    """A record for each parameter of a method."""
    parameters = list(parameters)
    rows = []
    for parameter, W in zip(parameters, affinities(method, X, parameters), strict=True):
        information, angle = score(W, labels)
        rows.append({"method": method, "parameter": parameter, "nmi": information, "angle": angle})
    return rows


def picture(W: Any, labels: Sequence[Any] | IntArray, count: int) -> dict[str, Any]:
    """What is drawn of an affinity: perplexities, image, leading eigenvectors and eigenvalues."""
    pairs = spectrum(W, count)
    return {
        "perplexity": rounded(perplexity(W), 3),
        "image": image_by_label(W, labels),
        "vectors": rounded(pairs.functions, 4),
        "values": rounded(1 - pairs.values, 8),
    }


def image_by_label(W: Any, labels: Sequence[Any] | IntArray) -> Any:
    """An affinity with its rows in the order of their labels, times N, in few pixels."""
    place = np.argsort(np.argsort(labels, kind="stable"))
    return rounded(len(place) * coarse_grained(W, place, PIXELS), 3)


def with_perplexity_moments(found: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Pictures by method, with mean and standard deviation of their perplexities.

    Examples
    --------
    >>> with_perplexity_moments({"QOT": {"perplexity": [1.0, 3.0]}})["QOT"]["mean_perplexity"]
    2.0
    """
    return {
        method: drawn
        | {
            "mean_perplexity": float(np.mean(drawn["perplexity"])),
            "deviation": float(np.std(drawn["perplexity"])),
        }
        for method, drawn in found.items()
    }


def relative_deviation(values: Sequence[float] | FloatArray) -> float:
    """Standard deviation over mean.

    Examples
    --------
    >>> relative_deviation([1.0, 3.0])
    0.5
    """
    return float(np.std(values) / np.mean(values))
