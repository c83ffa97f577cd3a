"""Candidate pairs from an approximate neighbour graph, grown by neighbours of neighbours.

Where a pass over all pairs takes too long, the support is sought in a pool: the pairs of a graph
of nearest neighbours, and then every pair of points with a common partner whose score is positive.
What the pool misses is not known, but it can be estimated, from rows checked against all points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, csr_matrix
from scipy.stats import beta

from sparrot.cost import PointCost
from sparrot.engine import Threads, memory_budget
from sparrot.errors import InvalidInputError, NotEnoughMemoryError
from sparrot.extras import load_extra
from sparrot.support.link import Link
from sparrot.support.pairs import PAIR_BYTES, Pairs, Support
from sparrot.support.screening import screen
from sparrot.types import BoolArray, FloatArray, IntArray, PointArray

_ROWS = 4096  # rows of a block
_ROUNDING = 1e-14  # of a score, relative to what it is the difference of
_CONFIDENCE = 0.95
_NEIGHBOURS = 30  # of each point in the graph that a pool starts from


@dataclass(frozen=True, slots=True)
class Sample:
    """What a random sample of rows, checked against all points, says about a support.

    Attributes
    ----------
    rows : how many were checked.
    missed : their pairs with a positive score that are not in the plan.
    violation : the largest score of a pair that was left out.
    share : upper confidence bound (95 %, Clopper and Pearson) on the share of rows with one.
    """

    rows: int
    missed: Pairs
    violation: float
    share: float


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
        self._support = Support.of(self.pairs, cost.n)

    def below(self, r: FloatArray) -> Pairs:
        """The pairs of the pool in S(r)."""
        return self.pairs.where(self.pairs.below(r))

    def levels(self, u: FloatArray, rows: IntArray, link: Link, mass: float) -> FloatArray:
        """Levels of some rows over the pool."""
        return self._support.levels(rows, u, link, mass, self.threads)

    def grow(self, plan: csr_array, r: FloatArray) -> int:
        """Add the pairs of S(r) whose points share a partner in the plan; how many are new."""
        from sparrot.kernels import second_neighbours

        s, X = self._support, self.cost.points
        indptr, indices = plan.indptr.astype(np.int64), plan.indices.astype(np.int32, copy=False)
        scale = 0.5 / self.cost.unit

        def block(start: int) -> Pairs:
            stop = min(start + _ROWS, self.cost.n)
            room = 16 * (stop - start)
            while True:
                i, j = np.empty(room, np.int32), np.empty(room, np.int32)
                c = np.empty(room)
                count = second_neighbours(
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
            self._support = Support.of(self.pairs, self.cost.n)

    def _knows(self, pairs: Pairs) -> BoolArray:
        s, n = self._support, self.cost.n
        known = csr_array((np.ones(len(s.indices), bool), s.indices, s.indptr), shape=(n, n))
        return _entries(known, pairs) != 0

    def sample(
        self, u: FloatArray, plan: csr_array, n_rows: int, rng: np.random.Generator
    ) -> Sample:
        """Check random rows of a plan against all points."""
        n = self.cost.n
        n_rows = min(n_rows, n)
        rows = np.sort(rng.permutation(n)[:n_rows]).astype(np.int32)
        found = screen(self.cost, u, self.threads, rows)
        scores = u[found.i] + u[found.j] - found.cost
        clear = scores > _ROUNDING * (np.abs(u[found.i]) + np.abs(u[found.j]) + found.cost)
        out = clear & (_entries(plan, found) == 0)
        missed, scores = found.where(out), scores[out]
        touched = np.isin(rows, np.concatenate([missed.i, missed.j])).sum()
        share = 1.0 if touched == n_rows else beta.ppf(_CONFIDENCE, touched + 1, n_rows - touched)
        return Sample(n_rows, missed, float(scores.max(initial=0.0)), float(share))


def neighbour_graph(X: PointArray, neighbours: Any, n_jobs: int) -> csr_array:
    """The graph of a neighbours transformer; of pynndescent if none is given."""
    if neighbours is None:
        pynndescent = load_extra("pynndescent", "approximate")
        neighbours = pynndescent.PyNNDescentTransformer(
            n_neighbors=_NEIGHBOURS, random_state=0, n_jobs=n_jobs
        )
    graph = csr_array(neighbours.fit_transform(X))
    if graph.shape != (len(X), len(X)):
        raise InvalidInputError(
            f"neighbours gave a matrix of shape {graph.shape} for {len(X)} points; it must be a "
            "transformer such as sklearn.neighbors.KNeighborsTransformer"
        )
    return graph


def _entries(matrix: csr_array, pairs: Pairs) -> FloatArray:
    """The entries of a sparse matrix at some pairs, zero where it has none."""
    return np.asarray(csr_matrix(matrix)[pairs.i, pairs.j], dtype=np.float64).ravel()


def _without_lonely(graph: Any) -> csr_array:
    """The graph, with the next point as a neighbour for points that have none."""
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
