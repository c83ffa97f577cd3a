"""A graph as scanpy keeps it: connectivities, and distances with the same number in every row.

Everything here is computed from arrays, without an AnnData.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from sparrot._types import PointArray
from sparrot.affinity import Affinity
from sparrot.affinity._kinds import KINDS
from sparrot.affinity._neighbors import distance_named, nearest_in, nearest_others
from sparrot.engine import Run
from sparrot.ot._approximate import neighbor_graph

NEIGHBORS = 15  # scanpy's default, which counts the cell itself


def build_graph(
    X: PointArray, kind: str, k: int, arguments: dict[str, Any]
) -> tuple[Affinity, csr_matrix]:
    """The affinity of some points, and the distances to the k nearest others of each.

    Parameters
    ----------
    X : (n, p) points.
    kind : `"qot"`, `"eot"` or `"tsallis"`.
    k : how many distances.
    arguments : of the function of that name, `metric` among them. If they bring approximate
        neighbors, the nearest are sought among these, and nobody searches twice.
    """
    search = KeptSearch(arguments.get("neighbors"), arguments.get("n_jobs"))
    if arguments.get("search", "exact") != "exact" and search.is_transformer:
        arguments = arguments | {"neighbors": search}
    affinity = KINDS[kind].function(X, **arguments)
    metric, n_jobs = arguments["metric"], arguments.get("n_jobs")
    return affinity, nearest_distances(X, k, metric, n_jobs, search.graph)


class KeptSearch:
    """A neighbors transformer that keeps the graph which another one found.

    Attributes
    ----------
    graph : (n, n) `csr_array` of the neighbors; None if they were never asked for.
    """

    def __init__(self, neighbors: Any, n_jobs: int | None = None) -> None:
        self.graph: Any = None
        self._neighbors = neighbors
        self._n_jobs = n_jobs

    @property
    def is_transformer(self) -> bool:
        """Whether there are neighbors to be found."""
        return hasattr(self._neighbors, "fit_transform")

    def fit_transform(self, X: Any) -> Any:
        """The graph of the neighbors of X."""
        with Run(self._n_jobs) as run:
            self.graph = neighbor_graph(X, self._neighbors, run)
        return self.graph


def nearest_distances(
    X: PointArray, k: int, metric: str, n_jobs: int | None = None, among: Any = None
) -> csr_matrix:
    """A `csr_matrix` with the distances to the k nearest others of each point, k in every row.

    Zero distances, of duplicates, are stored. `among` is a graph of neighbors: a point that has k
    or more in it finds its nearest among them.

    Examples
    --------
    >>> D = nearest_distances(np.array([[0.0], [0.0], [3.0]]), 1, "sqeuclidean")
    >>> D.data, D.indices
    (array([0., 0., 3.]), array([1, 0, 0], dtype=int32))
    """
    distance = distance_named(metric)
    if among is None:
        indices, distances = nearest_others(X, k, distance, n_jobs)
    else:
        indices, distances = nearest_in(among, X, k, distance, n_jobs)
    return _same_number(indices, distances)


def strongest_dissimilarities(W: Any, most: int) -> csr_matrix:
    """Dissimilarities of the strongest neighbors in a graph, where its points are not known.

    A `csr_matrix` with `1 - W_ij / max(W)`, which orders neighbors but has no unit; as many in
    every row, at most `most`.

    Examples
    --------
    >>> D = strongest_dissimilarities(np.array([[0, 2, 1], [2, 0, 4], [1, 4, 0.0]]), 1)
    >>> D.indices, D.data
    (array([1, 2, 1], dtype=int32), array([0.5, 0. , 0. ]))
    """
    W = csr_matrix(W, copy=True)
    W.setdiag(0)
    W.eliminate_zeros()
    n, degrees = W.shape[0], np.diff(W.indptr)
    k = int(min(most, degrees.min()))
    order = np.lexsort((-W.data, np.repeat(np.arange(n), degrees)))
    strongest = order[W.indptr[:-1, None] + np.arange(k)]
    return _same_number(W.indices[strongest], 1 - W.data[strongest] / W.data.max(initial=0.0))


def _same_number(columns: Any, values: Any) -> csr_matrix:
    """The sparse matrix that has these (n, k) values in these columns of its rows."""
    n, k = columns.shape
    order = np.argsort(columns, axis=1)
    columns, values = (np.take_along_axis(a, order, axis=1).ravel() for a in (columns, values))
    indptr = np.arange(n + 1, dtype=np.int32 if n * k < 2**31 else np.int64) * k
    return csr_matrix((values, columns, indptr), shape=(n, n))
