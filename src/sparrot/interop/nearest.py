"""Distances to nearest neighbours, with the same number in every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.neighbors import NearestNeighbors

from sparrot.cost import costs_to
from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray, IntArray, PointArray

_BLOCK = 4096
_BLOCK_ENTRIES = 4_000_000


def named_distance(metric: str) -> str:
    """The distance that belongs to a cost: Euclidean to half the squared distance.

    Examples
    --------
    >>> named_distance("sqeuclidean"), named_distance("cosine")
    ('euclidean', 'cosine')
    """
    return "euclidean" if metric == "sqeuclidean" else metric


def nearest_distances(X: PointArray, k: int, metric: str) -> Any:
    """A `csr_matrix` with the distances to the k nearest others of each point, k in every row.

    Zero distances are stored. Euclidean ones are computed from differences, so that duplicates are
    at distance zero and not at the square root of a rounding error.

    Examples
    --------
    >>> D = nearest_distances(np.array([[0.0], [0.0], [3.0]]), 1, "sqeuclidean")
    >>> D.data, D.indices
    (array([0., 0., 3.]), array([1, 0, 0], dtype=int32))
    """
    n = len(X)
    if k < 1:
        raise InvalidInputError("n_neighbors counts the point itself, so it must be at least 2")
    search = NearestNeighbors(n_neighbors=k, metric=named_distance(metric)).fit(X)
    distances, indices = search.kneighbors()
    if metric == "sqeuclidean":
        distances = _from_differences(X, indices)
    order = np.argsort(indices, axis=1)
    indices = np.take_along_axis(indices, order, axis=1).astype(np.int32)
    distances = np.take_along_axis(distances, order, axis=1).astype(np.float64)
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    return csr_matrix((distances.ravel(), indices.ravel(), indptr), shape=(n, n))


def _from_differences(X: PointArray, indices: IntArray) -> FloatArray:
    distances = np.empty(indices.shape)
    for a in range(0, len(X), _BLOCK):
        rows = slice(a, a + _BLOCK)
        x = X[rows].astype(np.float64)
        for c, column in enumerate(indices[rows].T):
            distances[rows, c] = np.linalg.norm(X[column] - x, axis=1)
    return distances


def nearest_of_new(
    X: PointArray, Y: PointArray, k: int, metric: str
) -> tuple[IntArray, FloatArray]:
    """For each row of X the k nearest rows of Y, ascending, and their distances.

    Examples
    --------
    >>> nearest_of_new(np.array([[2.0]]), np.array([[0.0], [3.0], [9.0]]), 2, "sqeuclidean")
    (array([[1, 0]]), array([[1., 2.]]))
    """
    costs = costs_to(Y, metric)
    size = max(1, _BLOCK_ENTRIES // len(Y))
    indices, distances = np.empty((len(X), k), dtype=np.intp), np.empty((len(X), k))
    for a in range(0, len(X), size):
        C = costs(X[a : a + size])
        order = np.argsort(C, axis=1, kind="stable")[:, :k]
        indices[a : a + size] = order
        distances[a : a + size] = np.take_along_axis(C, order, axis=1)
    return indices, np.sqrt(2 * distances) if metric == "sqeuclidean" else distances
