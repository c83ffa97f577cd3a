r"""The manifold near a point, as the walk :math:`P = D^{-1} W` of an affinity selects it.

The local covariance is :math:`C(x_i) = \sum_j P_{ij} (x_j - x_i)(x_j - x_i)^\top`. For a
bistochastic W the traces sum to :math:`2 \langle C, W \rangle`, twice the transport cost, so that
QOT finds the W of least local variance, with a penalty on its Frobenius norm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, PointArray
from sparrot._validation import as_affinity, as_count, as_points
from sparrot.engine import require_memory
from sparrot.errors import InvalidInputError
from sparrot.spectral import random_walk

_LARGEST = 1e150  # coordinate whose square is finite, also in a sum


def local_covariance(X: Any, W: Any) -> FloatArray:
    """The covariance of the neighbors of each point about it, weighted by the affinity.

    Parameters
    ----------
    X : (n, p) points.
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.

    Returns
    -------
    (n, p, p) matrices, in the squared units of X.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.c_[np.arange(5.0), np.zeros(5)]
    >>> local_covariance(X, sparrot.knn(X, 1))[2]
    array([[1., 0.],
           [0., 0.]])
    """
    P = random_walk(as_affinity(W))
    points = as_points_of(X, P.shape[0])
    n, p = points.shape
    require_memory(
        8.0 * n * p**2,
        what=f"{n} covariance matrices of {p} features",
        remedy="reduce the features first, for example by sklearn.decomposition.PCA",
    )
    covariances = np.empty((n, p, p))
    for i in range(n):
        steps, weights = _steps(points, P, i)
        covariances[i] = (steps * weights[:, None]).T @ steps
    return covariances


def intrinsic_dimension(X: Any, W: Any) -> FloatArray:
    r"""The dimension of the manifold at each point, from the angles between steps to neighbors.

    Two independent directions in d dimensions have :math:`E \cos^2 = 1/d` (Thordsen and Schubert's
    angle-based dimension), for any number of neighbors, and near a flat boundary too:

    .. math:: \frac{1}{d_i} = \frac{\sum_{j \ne k} P_{ij} P_{ik} \cos^2(x_j - x_i, x_k - x_i)}
                              {\sum_{j \ne k} P_{ij} P_{ik}} .

    It is the inverse that is unbiased: average `1 / intrinsic_dimension(X, W)` for one number.

    Parameters
    ----------
    X : (n, p) points.
    W : (n, n) affinity, which selects the neighbors.

    Returns
    -------
    (n,) dimensions; NaN where a point has fewer than two neighbors apart from it.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).random((500, 2)) @ np.eye(2, 5)
    >>> d = intrinsic_dimension(X, sparrot.qot(X, perplexity=15))
    >>> round(float(1 / np.mean(1 / d)), 1)
    2.0
    """
    P = random_walk(as_affinity(W))
    points = as_points_of(X, P.shape[0])
    return np.array([_dimension(*_steps(points, P, i)) for i in range(len(points))])


def mahalanobis_lengths(X: Any, W: Any, dimension: int) -> csr_array:
    r"""Local geodesic lengths by truncated inverses of the local covariances, on the edges of W.

    .. math:: \ell_{ij}^2 = \tfrac12 (x_i - x_j)^\top \bigl( T(C(x_i)) + T(C(x_j)) \bigr)
              (x_i - x_j),

    where T inverts the `dimension` largest eigenvalues and drops the others, so that only what lies
    along the manifold counts. The unit is a step of the walk, as in `geodesic_distances`. Shortest
    paths (`scipy.sparse.csgraph.dijkstra`) carry these local lengths far.

    Parameters
    ----------
    X : (n, p) points.
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    dimension : number of eigenvalues to keep, the dimension of the manifold.

    Returns
    -------
    Symmetric `csr_array` of lengths, stored where W has an edge.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.c_[np.arange(9.0), np.zeros(9)]
    >>> mahalanobis_lengths(X, sparrot.knn(X, 2), 1)[[4]].toarray()
    array([[0., 0., 0., 1., 0., 1., 0., 0., 0.]])
    """
    P = random_walk(as_affinity(W))
    points = as_points_of(X, P.shape[0])
    d = as_count(dimension, "dimension", points.shape[1])
    rows = [_squared_lengths(*_steps(points, P, i), d) for i in range(len(points))]
    squares = csr_array((np.concatenate(rows), P.indices, P.indptr), shape=P.shape)
    lengths = (squares + squares.T) / 2
    lengths.data = np.sqrt(lengths.data)
    return csr_array(lengths)


def as_points_of(X: Any, n: int) -> PointArray:
    """The points of an affinity between n of them.

    Examples
    --------
    >>> as_points_of([[0.0], [1.0]], 2).shape
    (2, 1)
    """
    points = as_points(X)
    largest = max(float(points.max(initial=0.0)), -float(points.min(initial=0.0)))
    if largest > _LARGEST:
        raise InvalidInputError(
            f"has entries up to {largest:.3g}, whose squares overflow",
            parameter="X",
            value=largest,
            remedy="rescale the points",
        )
    if len(points) != n:
        raise InvalidInputError(
            f"must be the {n} points of the affinity, one per row, got shape {points.shape}",
            parameter="X",
        )
    return points


def _steps(X: PointArray, P: csr_array, i: int) -> tuple[FloatArray, FloatArray]:
    """The steps from point i, and their probabilities."""
    row = slice(P.indptr[i], P.indptr[i + 1])
    steps = np.subtract(X[P.indices[row]], X[i], dtype=np.float64)
    return steps, P.data[row]


def _dimension(steps: FloatArray, weights: FloatArray) -> float:
    length = np.linalg.norm(steps, axis=1)
    apart = (length > 0) & (weights > 0)
    w, direction = weights[apart], steps[apart] / length[apart, None]
    pairs = w.sum() ** 2 - (w**2).sum()
    if len(w) < 2:
        return float("nan")
    cosines = direction @ direction.T
    np.fill_diagonal(cosines, 0)
    return float(pairs / (w @ cosines**2 @ w))


def _squared_lengths(steps: FloatArray, weights: FloatArray, d: int) -> FloatArray:
    """`step' T(C) step` for each step, by the singular vectors of the weighted steps."""
    _, s, V = np.linalg.svd(np.sqrt(weights)[:, None] * steps, full_matrices=False)
    kept = s[:d] > np.finfo(np.float64).eps * len(steps) * s.max(initial=0.0)
    return np.square(steps @ V[:d][kept].T / s[:d][kept]).sum(axis=1)
