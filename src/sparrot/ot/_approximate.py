"""The active set in a pool of likely pairs, for sets too large to look at every pair.

The pool starts from a graph of nearest neighbors. Where a point is in the plan of another, points
that share a partner are likely partners too; so the pool grows by neighbors of neighbors until
little is new. What it missed is estimated from random rows that are checked against all points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.stats import beta

from sparrot._types import BoolArray, FloatArray, IntArray, PointArray
from sparrot.cost import Cost
from sparrot.engine import Run
from sparrot.errors import InvalidInputError, NotEnoughMemoryError, load_extra
from sparrot.ot._active_set import (
    FEWER_NEIGHBORS,
    LARGEST_PART,
    LOG,
    Budget,
    Ceilings,
    Guess,
    SpatialMethod,
    first_potentials,
    log_estimate,
)
from sparrot.ot._ctransform import Reference, c_transform, c_transform_over
from sparrot.ot._dual import RestrictedDual, SparseDual
from sparrot.ot._floor import SparseFloorDual, at_other_eps, floor_transform_over
from sparrot.ot._newton import MAX_STEPS, ROUNDED
from sparrot.ot._problem import (
    Certificate,
    Options,
    PowerRegularizer,
    Solution,
    SparseProblem,
    number_of_pairs,
)
from sparrot.ot._screening import PAIR_BYTES, Pairs, Support, screen

_BLOCK = 4096  # rows of a block
_N_NEIGHBORS = 30  # of each point in the graph that a pool starts from
_PAIRS_OF_A_POINT = 500_000  # in the time that the search takes with its graph
_ROUNDS = 8  # in which the pool grows, at most
_ENOUGH = 0.05  # new pairs a point below which the pool is taken as complete
_SWEEPS = 6  # from potentials to c-transforms over the pool
_SWEEP_PRECISION = 0.02  # of the logarithm of a floor on the way
_RISE = 2.0  # mean scores of a row by which it rises in a sweep, at most, if it has a floor
_LOOK_UP = 1000  # rows that are always few enough to be looked up among all points
_SAMPLE = 1000  # rows checked against all points
_SEED = 20_240_817  # of the samples, and of nothing else
_ROUNDING = 1e-14  # of a score, relative to what it is the difference of
_CONFIDENCE = 0.95


class ApproximateActiveSet(SpatialMethod):
    """The method: as `ActiveSet`, on a pool of likely pairs."""

    name = "approximate-active-set"

    def __init__(self, problem: SparseProblem, options: Options, run: Run) -> None:
        super().__init__(problem, options, run)
        log_estimate(self._problem, "approximate", 2 * _PAIRS_OF_A_POINT / problem.n, run)
        assert problem.cost.is_squared_euclidean
        assert problem.cost.points is not None
        graph = neighbor_graph(problem.cost.points, options.neighbors, run)
        if self._order is not None:
            graph = graph[self._order][:, self._order]
        self._pool = NeighborPool(self._problem.cost, graph, run)
        self._rng = np.random.default_rng(_SEED)
        self._grown = 0.0  # the score of one partner with all the mass that the pool has grown for
        self._e, self._eps = np.zeros(problem.n), 0.0  # the last multipliers, and their eps

    def take_multipliers(self, e: FloatArray, eps: float) -> bool:
        """As those of the last solution."""
        self._e, self._eps = e if self._order is None else e[self._order], eps
        return True

    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Let the pool grow until little is new, solve on it, and check a sample of rows."""
        problem, u = self._problem.at(eps, with_floor), self._in_order(start)
        budget = Budget(self._options.max_iter or MAX_STEPS)
        if u is None:
            u = first_potentials(problem, self._run, LARGEST_PART).u
        e = None if problem.floor is None else at_other_eps(self._e, self._eps, eps)
        reach = problem.regularizer.score(problem.regularizer.mass)
        # Where less is asked for hardly any other pair matters, but to rows that a floor holds.
        if reach > self._grown or e is not None:
            u, e = self._grow(problem, u, e)
            self._grown = max(reach, self._grown)
        ceilings = Ceilings(self._problem, self._run, pool=self._pool)
        if e is not None:
            ceilings.begin_with(e, eps)
        solution = ceilings.solve(problem, self._near(problem, u, e), ROUNDED * tol, budget)
        if solution.e is not None:
            self._e, self._eps = solution.e, eps
        if solution.certificate.exact:  # on the pool; else nothing is known: no silent pass
            certificate = sample_rows(solution, self._rng, self._run)
        else:
            certificate = replace(solution.certificate, missed_rows=1.0, missed_mass=np.inf)
        return self._as_given(replace(solution, certificate=certificate), budget, tol)

    def _grow(
        self, problem: SparseProblem, u: FloatArray, e: FloatArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Let potentials and multipliers settle on the pool and add neighbors of neighbors."""
        for _ in range(_ROUNDS):
            u, e = self._settled(problem, u, e)
            plan = self._dual(problem, e).plan(u)
            new = self._pool.grow(plan, u + self._near(problem, u, e).slack)
            LOG.info("neighbors of neighbors: %d new pairs of %d", new, len(self._pool.pairs))
            if new <= _ENOUGH * problem.n:
                break
        return u, e

    def _dual(self, problem: SparseProblem, e: FloatArray | None) -> RestrictedDual:
        """The problem on the pool, without ceilings."""
        support, no_ceiling, no_ghost = (
            self._pool.support, np.full(problem.n, np.inf), np.zeros(problem.n)
        )  # fmt: skip
        if e is None:
            return SparseDual(support, no_ceiling, no_ghost, problem.regularizer, self._run)
        return SparseFloorDual(support, no_ceiling, no_ghost, problem, e, self._run)

    def _settled(
        self, problem: SparseProblem, u: FloatArray, e: FloatArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Half way to the c-transforms over the pool, again and again: rough, but near.

        Where the pool is too small for a solution, no row rises for ever; where it is too small for
        the floor of a row, the row rises slowly, and finds more.
        """
        every = np.arange(len(u), dtype=np.int32)
        for sweep in range(_SWEEPS):
            support, n_pairs = self._pool.support, len(self._pool.pairs)
            self._run.report("growing", len(u), sweep, _SWEEPS, n_pairs=n_pairs)
            if e is None or problem.floor is None:
                v = c_transform_over(support, every, u, problem.regularizer, self._run.threads)
                u = (u + np.where(np.isfinite(v), v, u)) / 2
                continue
            v, f = floor_transform_over(
                support, every, u, e, problem.floor, problem.regularizer.mass, self._run.threads,
                _SWEEP_PRECISION,
            )  # fmt: skip
            highest = u + _RISE * (problem.regularizer.mass + e) / problem.floor
            e = np.where(v <= highest, (e + f) / 2, e)
            u = (u + np.minimum(v, highest)) / 2
        return u, e

    def _near(self, problem: SparseProblem, u: FloatArray, e: FloatArray | None) -> Guess:
        """Potentials with half the score of one of as many neighbors as the pool has for a row."""
        g = problem.regularizer
        n_neighbors = max(2 * len(self._pool.pairs) / problem.n, 1.0)
        more = np.ones(problem.n) if e is None else 1 + e / g.mass
        return Guess(u, float(g.score(g.mass / n_neighbors)) / 2 * more, n_neighbors)


class NeighborPool:
    """Pairs that may carry mass, of which more can be found.

    Rows that stick out of their ceilings found too little in the pool; as long as they are few, all
    their pairs are sought, and the pool has them from then on.

    Parameters
    ----------
    cost : squared Euclidean costs of the points.
    graph : (n, n) sparse matrix whose entries say which points are near each other.
    run : resources.
    """

    def __init__(self, cost: Cost, graph: csr_array, run: Run) -> None:
        self.cost = cost
        self._run = run
        self._few = max(_LOOK_UP, cost.n // 50)
        i, j = _upper(_without_lonely(graph))
        self.pairs = Pairs(i, j, cost.pairs(i, j))
        self.support = Support.of(self.pairs, cost.n, run.threads)

    def screen(
        self, r: FloatArray, rows: IntArray | None, report: Callable[[int, int, int], None]
    ) -> Pairs:
        """By one comparison for each pair of the pool; few rows are looked up among all points."""
        if rows is not None and len(rows) <= self._few:
            found = screen(self.cost, r, self._run, rows, report)
            self._extend(found.where(~self._knows(found)))
        else:
            found = self.pairs.where(self.pairs.below(r))
            if rows is not None:
                among = np.zeros(self.cost.n, bool)
                among[rows] = True
                found = found.where(among[found.i] | among[found.j])
        report(1, 1, len(found))
        return found

    def c_transform(
        self, rows: IntArray, reference: Reference, near: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Over the pool where the rows are many; a row without any pair then stays where it is."""
        if len(rows) <= self._few:
            return c_transform(self.cost, rows, reference, near, self._run)
        u, e, problem = reference.u, reference.e, reference.problem
        if e is None or problem.floor is None:
            v = c_transform_over(self.support, rows, u, problem.regularizer, self._run.threads)
        else:
            v, _ = floor_transform_over(
                self.support, rows, u, e, problem.floor, problem.regularizer.mass,
                self._run.threads,
            )  # fmt: skip
        return np.where(np.isfinite(v), v, u[rows]), self.support.counts[rows]

    def grow(self, plan: csr_array, r: FloatArray) -> int:
        """Add the pairs of S(r) whose points share a partner in the plan; how many are new."""
        from sparrot._kernels import second_neighbors

        s, X = self.support, self.cost.points
        indptr, indices = plan.indptr.astype(np.int64), plan.indices.astype(np.int32, copy=False)
        scale = 0.5 / self.cost.unit

        def block(start: int) -> Pairs:
            stop = min(start + _BLOCK, self.cost.n)
            room = 16 * (stop - start)
            while True:
                i, j = np.empty(room, np.int32), np.empty(room, np.int32)
                c = np.empty(room)
                count = second_neighbors(
                    indptr, indices, s.indptr, s.indices, X, r, scale, start, stop,
                    np.zeros(self.cost.n, np.int32), i, j, c,
                )  # fmt: skip
                if count <= room:
                    return Pairs(i[:count].copy(), j[:count].copy(), c[:count].copy())
                room = count

        pieces: list[Pairs] = []
        n_pairs = len(self.pairs)
        limit = self._run.memory() / PAIR_BYTES
        for piece in self._run.threads.map(block, range(0, self.cost.n, _BLOCK)):
            pieces.append(piece)
            n_pairs += len(piece)
            if n_pairs > limit:
                raise NotEnoughMemoryError(
                    f"{n_pairs:,} pairs of {self.cost.n} points are more than fit in memory",
                    remedy=FEWER_NEIGHBORS,
                )
        found = Pairs.join(pieces)
        self._extend(found)
        return len(found)

    def _extend(self, new: Pairs) -> None:
        if len(new):
            self.pairs = Pairs.join([self.pairs, new])
            self.support = Support.of(self.pairs, self.cost.n, self._run.threads)

    def _knows(self, pairs: Pairs) -> BoolArray:
        s, n = self.support, self.cost.n
        known = csr_array((np.ones(len(s.indices), bool), s.indices, s.indptr), shape=(n, n))
        return pairs.entries_of(known) != 0


def neighbor_graph(X: PointArray, neighbors: Any, run: Run) -> csr_array:
    """The graph of a neighbors transformer; of pynndescent if none is given."""
    if neighbors is None:
        pynndescent = load_extra("pynndescent", "approximate")
        neighbors = pynndescent.PyNNDescentTransformer(
            n_neighbors=_N_NEIGHBORS, random_state=0, n_jobs=run.threads.n_jobs
        )
    graph = csr_array(neighbors.fit_transform(X))
    if graph.shape != (len(X), len(X)):
        raise InvalidInputError(
            f"gave a matrix of shape {graph.shape} for {len(X)} points",
            parameter="neighbors",
            value=neighbors,
            remedy="pass a transformer such as sklearn.neighbors.KNeighborsTransformer",
        )
    return graph


def sample_rows(solution: Solution, rng: np.random.Generator, run: Run) -> Certificate:
    """The certificate of a plan, with random rows of it checked against all points.

    The share of rows of which a pair is missing gets an upper confidence bound (Clopper and
    Pearson). The pairs that are missing from a row have the mass by which its sum over all points
    is too large.
    """
    problem, u = solution.problem, solution.u
    n = problem.n
    n_rows = min(_SAMPLE, n)
    rows = np.sort(rng.permutation(n)[:n_rows]).astype(np.int32)
    found = screen(problem.cost, u, run, rows)
    scores = u[found.i] + u[found.j] - found.cost
    clear = scores > _ROUNDING * (np.abs(u[found.i]) + np.abs(u[found.j]) + found.cost)
    out = clear & (found.entries_of(solution.plan) == 0)
    missed = found.where(out)
    touched = np.isin(rows, np.concatenate([missed.i, missed.j])).sum()
    share = 1.0 if touched == n_rows else beta.ppf(_CONFIDENCE, touched + 1, n_rows - touched)
    return replace(
        solution.certificate,
        violation=float(scores[out].max(initial=0.0)),
        pairs_checked=problem.n_pairs - number_of_pairs(n - n_rows, problem.hollow),
        exact=False,
        missed_rows=float(share),
        missed_mass=float(_masses(solution, missed, scores[out])[rows].max(initial=0.0)),
    )


def _masses(solution: Solution, pairs: Pairs, scores: FloatArray) -> FloatArray:
    """The mass that pairs with these scores would have in each row."""
    g, n = solution.problem.regularizer, solution.problem.n
    assert isinstance(g, PowerRegularizer)
    entries = g.entry(scores) / g.mass
    if solution.e is not None:
        entries = scores / (g.mass + (solution.e[pairs.i] + solution.e[pairs.j]) / 2)
    twice = pairs.i != pairs.j
    rows = np.concatenate([pairs.i, pairs.j[twice]])
    masses: FloatArray = np.zeros(n)
    np.add.at(masses, rows, np.concatenate([entries, entries[twice]]))
    return masses


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


def _upper(graph: Any) -> tuple[IntArray, IntArray]:
    """The pairs i < j of a graph, each once."""
    graph = coo_array(graph)
    i, j = np.minimum(graph.row, graph.col), np.maximum(graph.row, graph.col)
    keep = i < j
    ones = np.ones(int(keep.sum()), np.int8)
    upper = csr_array((ones, (i[keep], j[keep])), shape=graph.shape)
    upper.sum_duplicates()  # which SciPy 1.13 leaves to us
    i = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(upper.indptr))
    return i, upper.indices.astype(np.int32)
