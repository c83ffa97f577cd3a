"""Candidate pairs from an approximate neighbor graph, grown by neighbors of neighbors.

Where a pass over all pairs takes too long, the support is sought in a pool: the pairs of a graph
of nearest neighbors, and then every pair of points with a common partner whose score is positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from sparrot._extras import load_extra
from sparrot._types import BoolArray, FloatArray, PointArray
from sparrot.cost import PointCost
from sparrot.engine import Threads, memory_budget
from sparrot.errors import InvalidInputError, NotEnoughMemoryError
from sparrot.ot._pairs import PAIR_BYTES, Pairs, Support, entries_at

_ROWS = 4096  # rows of a block
_NEIGHBOURS = 30  # of each point in the graph that a pool starts from


class Pool:
    """Pairs that may carry mass, of which more can be found.

    Parameters
    ----------
    cost : squared Euclidean costs of the points.
    graph : (n, n) sparse matrix whose entries say which points are near each other.
    threads : where to run.
    max_memory : bytes that the pairs may take; what is available if None.
    """

    def __init__(
        self,
        cost: PointCost,
        graph: csr_array,
        threads: Threads,
        max_memory: float | None = None,
    ) -> None:
        self.cost = cost
        self.threads = threads
        self.max_memory = max_memory
        upper = _upper(_without_lonely(graph))
        self.pairs = Pairs(upper.row, upper.col, cost.pairs(upper.row, upper.col))
        self.support = Support.of(self.pairs, cost.n)

    def below(self, r: FloatArray) -> Pairs:
        """The pairs of the pool in S(r)."""
        return self.pairs.where(self.pairs.below(r))

    def grow(self, plan: csr_array, r: FloatArray) -> int:
        """Add the pairs of S(r) whose points share a partner in the plan; how many are new."""
        from sparrot._kernels import second_neighbors

        s, X = self.support, self.cost.points
        indptr, indices = plan.indptr.astype(np.int64), plan.indices.astype(np.int32, copy=False)
        scale = 0.5 / self.cost.unit

        def block(start: int) -> Pairs:
            stop = min(start + _ROWS, self.cost.n)
            room = 16 * (stop - start)
            while True:
                i, j = np.empty(room, np.int32), np.empty(room, np.int32)
                c = np.empty(room)
                count = second_neighbors(
                    indptr, indices, s.indptr, s.indices, X, r, scale, start, stop,
                    i, j, c,
                )  # fmt: skip
                if count <= room:
                    return Pairs(i[:count].copy(), j[:count].copy(), c[:count].copy())
                room = count

        pieces: list[Pairs] = []
        n_pairs = len(self.pairs)
        limit = memory_budget(self.max_memory) / PAIR_BYTES
        for piece in self.threads.map(block, range(0, self.cost.n, _ROWS)):
            pieces.append(piece)
            n_pairs += len(piece)
            if n_pairs > limit:
                raise NotEnoughMemoryError(
                    f"{n_pairs:,} pairs of {self.cost.n} points are more than fit in memory; take "
                    "a smaller eps, or a perplexity instead"
                )
        found = Pairs.join(pieces)
        self._extend(found)
        return len(found)

    def add(self, found: Pairs) -> None:
        """Take in pairs of which some may be known."""
        self._extend(found.where(~self._knows(found)))

    def _extend(self, new: Pairs) -> None:
        if len(new):
            self.pairs = Pairs.join([self.pairs, new])
            self.support = Support.of(self.pairs, self.cost.n)

    def _knows(self, pairs: Pairs) -> BoolArray:
        s, n = self.support, self.cost.n
        known = csr_array((np.ones(len(s.indices), bool), s.indices, s.indptr), shape=(n, n))
        return entries_at(known, pairs) != 0


def neighbor_graph(X: PointArray, neighbors: Any, n_jobs: int) -> csr_array:
    """The graph of a neighbors transformer; of pynndescent if none is given."""
    if neighbors is None:
        pynndescent = load_extra("pynndescent", "approximate")
        neighbors = pynndescent.PyNNDescentTransformer(
            n_neighbors=_NEIGHBOURS, random_state=0, n_jobs=n_jobs
        )
    graph = csr_array(neighbors.fit_transform(X))
    if graph.shape != (len(X), len(X)):
        raise InvalidInputError(
            f"neighbors gave a matrix of shape {graph.shape} for {len(X)} points; it must be a "
            "transformer such as sklearn.neighbors.KNeighborsTransformer"
        )
    return graph


def _without_lonely(graph: Any) -> csr_array:
    """The graph, with the next point as a neighbor for points that have none."""
    graph = coo_array(graph)
    n = graph.shape[0]
    apart = graph.row != graph.col
    i, j = graph.row[apart], graph.col[apart]
    degree = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
    lonely = np.flatnonzero(degree == 0)
    rows, columns = np.concatenate([i, lonely]), np.concatenate([j, (lonely + 1) % n])
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=graph.shape)


def _upper(graph: Any) -> coo_array:
    """The pairs i < j of a graph, each once."""
    graph = coo_array(graph)
    i, j = np.minimum(graph.row, graph.col), np.maximum(graph.row, graph.col)
    keep = i < j
    ones = np.ones(int(keep.sum()), np.int8)
    upper = csr_array((ones, (i[keep], j[keep])), shape=graph.shape)  # adds up what comes twice
    i = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(upper.indptr))
    return coo_array((upper.data, (i, upper.indices.astype(np.int32))), shape=graph.shape)
