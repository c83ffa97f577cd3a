"""Distances to nearest points, of the points themselves and of new ones.

A distance has the name that scikit-learn and scanpy give it: the cost that belongs to `"euclidean"`
and `"sqeuclidean"` is half the squared distance, that of any other is the distance itself.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sparrot.cost import costs_to, make_cost
from sparrot.engine import Threads
from sparrot.support import nearest
from sparrot.types import FloatArray, IntArray, PointArray

_BLOCK_ENTRIES = 4_000_000


def cost_named(distance: str) -> str:
    """The cost that belongs to a distance.

    Examples
    --------
    >>> cost_named("euclidean"), cost_named("cosine")
    ('sqeuclidean', 'cosine')
    """
    return "sqeuclidean" if distance == "euclidean" else distance


def distances_of(costs: FloatArray, distance: str) -> FloatArray:
    """Costs as distances.

    Examples
    --------
    >>> for name in ("euclidean", "sqeuclidean", "cosine"):
    ...     distances_of(np.array([0.5, 2.0]), name)
    array([1., 2.])
    array([1., 4.])
    array([0.5, 2. ])
    """
    if distance == "euclidean":
        return np.sqrt(2 * np.maximum(costs, 0))
    return 2 * costs if distance == "sqeuclidean" else costs


def nearest_others(
    X: PointArray, k: int, distance: str, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """The k nearest other points of each point, ascending, and their distances.

    Examples
    --------
    >>> nearest_others(np.array([[0.0], [1.0], [3.0]]), 1, "euclidean")
    (array([[1],
           [0],
           [1]], dtype=int32), array([[1.],
           [1.],
           [2.]]))
    """
    with Threads(n_jobs) as threads:
        cost = make_cost(X, cost_named(distance))
        indices, costs = nearest(cost, k, threads)
    return indices, distances_of(cost.unit * costs, distance)


def nearest_in(
    graph: csr_array, X: PointArray, k: int, distance: str, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """The k nearest of each point among its neighbours in a graph, ascending, and their distances.

    The values in the graph do not count. A point with fewer neighbours is looked up among all.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> nearest_in(csr_array([[0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]]), X, 1,
    ...            "euclidean")[0].ravel()
    array([1, 0, 1, 2], dtype=int32)
    """
    i = np.repeat(np.arange(len(X), dtype=np.int32), np.diff(graph.indptr))
    others = graph.indices != i
    i, j = i[others], graph.indices[others].astype(np.int32)
    cost = make_cost(X, cost_named(distance))
    costs = cost.pairs(i, j)
    order = np.lexsort((j, costs, i))
    counts = np.bincount(i, minlength=len(X))
    enough, few = np.flatnonzero(counts >= k), np.flatnonzero(counts < k)
    chosen = order[(np.cumsum(counts) - counts)[enough, None] + np.arange(k)]
    indices, least = np.empty((len(X), k), np.int32), np.empty((len(X), k))
    indices[enough], least[enough] = j[chosen], costs[chosen]
    if len(few):
        with Threads(n_jobs) as threads:
            indices[few], least[few] = nearest(cost, k, threads, few.astype(np.int32))
    return indices, distances_of(cost.unit * least, distance)


def nearest_of_new(
    X: PointArray, Y: PointArray, k: int, distance: str, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """For each row of X the k nearest rows of Y, ascending, and their distances.

    Among equals the smaller index comes first.

    Examples
    --------
    >>> nearest_of_new(np.array([[2.0]]), np.array([[0.0], [3.0], [9.0]]), 2, "euclidean")
    (array([[1, 0]], dtype=int32), array([[1., 2.]]))
    """
    costs_of = costs_to(Y, cost_named(distance))
    size = max(1, _BLOCK_ENTRIES // len(Y))

    def one(start: int) -> tuple[IntArray, FloatArray]:
        return _least(costs_of(X[start : start + size]), k)

    with Threads(n_jobs) as threads:
        parts = list(threads.map(one, range(0, len(X), size)))
    indices, costs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return indices, distances_of(costs, distance)


def _least(C: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """The k least entries of each row in order: only those that reach the k-th are sorted."""
    kth = np.partition(C, k - 1, axis=1)[:, k - 1 : k]
    i, j = np.nonzero(kth >= C)
    order = np.lexsort((C[i, j], i))  # stable, and j ascends
    first = np.searchsorted(i, np.arange(len(C)))
    chosen = order[first[:, None] + np.arange(k)]
    return j[chosen].astype(np.int32), C[i[chosen], j[chosen]]
