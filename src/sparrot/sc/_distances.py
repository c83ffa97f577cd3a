"""Distances to nearest neighbors, with the same number in every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from sparrot._types import PointArray
from sparrot.affinity._neighbors import nearest_in, nearest_others
from sparrot.engine import Threads
from sparrot.ot._approximate import neighbor_graph

NEIGHBORS = 15  # scanpy's default, the cell itself counted


def named_distance(metric: str) -> str:
    """The distance that belongs to a cost: Euclidean to half the squared distance.

    Examples
    --------
    >>> named_distance("sqeuclidean"), named_distance("cosine")
    ('euclidean', 'cosine')
    """
    return "euclidean" if metric == "sqeuclidean" else metric


def nearest_distances(
    X: PointArray, k: int, metric: str, n_jobs: int | None = None, among: Any = None
) -> Any:
    """A `csr_matrix` with the distances to the k nearest others of each point, k in every row.

    Zero distances, of duplicates, are stored. If a graph of neighbors is given, the nearest are
    sought among these, where there are k.

    Examples
    --------
    >>> D = nearest_distances(np.array([[0.0], [0.0], [3.0]]), 1, "sqeuclidean")
    >>> D.data, D.indices
    (array([0., 0., 3.]), array([1, 0, 0], dtype=int32))
    """
    distance = named_distance(metric)
    if among is None:
        indices, distances = nearest_others(X, k, distance, n_jobs)
    else:
        indices, distances = nearest_in(among, X, k, distance, n_jobs)
    order = np.argsort(indices, axis=1)
    indices = np.take_along_axis(indices, order, axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    n = len(X)
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    return csr_matrix((distances.ravel(), indices.ravel(), indptr), shape=(n, n))


class KeptGraph:
    """A neighbors transformer that keeps the graph it gave, so that nobody searches twice.

    Attributes
    ----------
    graph : (n, n) `csr_array` of the neighbors found; None if nobody asked for them.
    """

    def __init__(self, neighbors: Any, n_jobs: int | None = None) -> None:
        self.graph: Any = None
        self._neighbors = neighbors
        self._n_jobs = n_jobs

    def within(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of `sparrot.qot`, this in place of the neighbors where they are used."""
        given = hasattr(self._neighbors, "fit_transform")
        if options.get("search", "exact") == "exact" or not given:
            return options
        return options | {"neighbors": self}

    def fit_transform(self, X: Any) -> Any:
        """The graph of the neighbors of X."""
        with Threads(self._n_jobs) as threads:
            self.graph = neighbor_graph(X, self._neighbors, threads.n_jobs)
        return self.graph


def strongest(W: Any, most: int) -> Any:
    """The strongest neighbors in a graph, for want of points: at most `most`, as many in each row.

    A `csr_matrix` with `1 - W_ij / max(W)` for a distance: it orders them, and has no unit.

    Examples
    --------
    >>> D = strongest(np.array([[0, 2, 1], [2, 0, 4], [1, 4, 0.0]]), 1)
    >>> D.indices, D.data
    (array([1, 2, 1], dtype=int32), array([0.5, 0. , 0. ]))
    """
    W = csr_matrix(W, copy=True)
    W.setdiag(0)
    W.eliminate_zeros()
    n, degrees = W.shape[0], np.diff(W.indptr)
    k = int(min(most, degrees.min()))
    rows = np.repeat(np.arange(n), degrees)
    order = np.lexsort((-W.data, rows))
    kept = order[(W.indptr[:-1, None] + np.arange(k)).ravel()]
    data = 1 - W.data[kept] / W.data.max(initial=0.0)
    indptr = np.arange(n + 1) * k
    D = csr_matrix((data, W.indices[kept], indptr), shape=(n, n))
    D.sort_indices()
    return D
