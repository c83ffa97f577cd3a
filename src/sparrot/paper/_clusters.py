"""How well the eigenspaces of each affinity show clusters that are known.

Two judges: normalized mutual information of spectral clustering (k leading eigenfunctions of the
random walk, k-means), and the mean principal angle between the 2k leading eigenvectors and the
indicators of the k clusters. EOT is set beside QOT at the same mean perplexity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from sparrot._types import FloatArray, IntArray
from sparrot.affinity import Affinity, eot, knn, perplexity, qot
from sparrot.metrics import nmi, template_angle
from sparrot.paper import _angles as angles
from sparrot.spectral import Spectrum, coarse_grained, eigenpairs

METHODS = ("QOT", "EOT", "k-NN")
_LAPACK = 2000  # dense matrices up to which LAPACK is surely quick
_PIXELS = 150
Rows = list[dict[str, Any]]
Curves = dict[str, FloatArray]  # method -> (seeds, parameters)


def spectrum(W: Any, count: int) -> Spectrum:
    """Leading eigenpairs on one thread, the trivial one first."""
    lapack = not issparse(W) and W.shape[0] <= _LAPACK
    solver = "dense" if lapack else "auto"
    return eigenpairs(W, count, components="each", solver=solver, n_jobs=1)


def score(W: Any, labels: IntArray) -> tuple[float, float]:
    """NMI of spectral clustering, and the template angle.

    Examples
    --------
    >>> score(np.kron(np.eye(2), np.ones((5, 5))), np.repeat([0, 1], 5))
    (1.0, 0.0)
    """
    k = len(np.unique(labels))
    pairs = spectrum(W, 2 * k)
    means = KMeans(k, n_init=10, random_state=0)
    with threadpool_limits(1):  # so few points are clustered before threads have met
        found = means.fit_predict(pairs.functions[:, :k])
    return nmi(labels, found), round(template_angle(pairs.vectors, labels), 12)


def scores(method: str, X: FloatArray, parameters: Iterable[float], labels: IntArray) -> Rows:
    """A record for each parameter of a method."""
    parameters = list(parameters)
    rows = []
    for parameter, W in zip(parameters, angles.affinities(method, X, parameters), strict=True):
        information, angle = score(W, labels)
        rows.append({"method": method, "parameter": parameter, "nmi": information, "angle": angle})
    return rows


def matched(method: str, X: FloatArray, target: float | None) -> Affinity:
    """QOT with its default; EOT of mean perplexity `target`; or as many nearest neighbors."""
    if method == "QOT":
        return qot(X, n_jobs=1)
    assert target is not None
    if method == "EOT":
        return eot(X, perplexity=target, tol=angles.TOL, n_jobs=1)
    return knn(X, round(target), n_jobs=1)


def picture(W: Any, labels: Sequence[Any] | IntArray, count: int) -> dict[str, Any]:
    """What is drawn of an affinity: perplexities, image, leading eigenvectors and eigenvalues."""
    place = np.argsort(np.argsort(labels, kind="stable"))
    pairs = spectrum(W, count)
    return {
        "perplexity": rounded(perplexity(W), 3),
        "image": rounded(len(place) * coarse_grained(W, place, _PIXELS), 3),
        "vectors": rounded(pairs.functions, 4),
        "values": rounded(1 - pairs.values, 8),
    }


def shown(found: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Pictures by method, with mean and standard deviation of their perplexities.

    Examples
    --------
    >>> shown({"QOT": {"perplexity": [1.0, 3.0]}})["QOT"]["mean_perplexity"]
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


def spread(values: Sequence[float] | FloatArray) -> float:
    """Standard deviation over mean.

    Examples
    --------
    >>> spread([1.0, 3.0])
    0.5
    """
    return float(np.std(values) / np.mean(values))


def curves_of(rows: Rows, key: str) -> Curves:
    """One judge's records as arrays, one row a seed."""
    n_seeds = len({row["seed"] for row in rows})
    return {
        method: np.array([r[key] for r in rows if r["method"] == method]).reshape(n_seeds, -1)
        for method in dict.fromkeys(row["method"] for row in rows)
    }


def best_parameters(rows: Rows, ranges: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The parameter of the largest mean NMI of each method."""
    curves = curves_of(rows, "nmi")
    return {m: float(ranges[m][int(c.mean(axis=0).argmax())]) for m, c in curves.items()}


def principal(X: FloatArray, d: int) -> FloatArray:
    """The d leading principal components."""
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return (left * values)[:, :d]


def rounded(values: Any, digits: int) -> Any:
    """As lists, with as many digits as a picture needs."""
    return np.round(np.asarray(values, dtype=np.float64), digits).tolist()
