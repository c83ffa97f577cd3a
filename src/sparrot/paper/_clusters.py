"""How well the eigenspaces of an affinity show clusters that are known.

Two scores: normalized mutual information (NMI) of spectral clustering (k leading eigenfunctions of
the random walk, then k-means), and the mean principal angle between the 2k leading eigenvectors and
the indicators of the k clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from sparrot._types import FloatArray, IntArray
from sparrot.affinity import perplexity
from sparrot.metrics import nmi, template_angle
from sparrot.paper._methods import affinities
from sparrot.paper._records import Rows, rounded
from sparrot.spectral import Spectrum, coarse_grained, eigenpairs

PIXELS = 150  # a side of the image of an affinity
_LAPACK = 2000  # rows of a dense matrix up to which LAPACK is surely quick


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
