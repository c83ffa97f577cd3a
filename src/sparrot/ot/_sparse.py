"""The sparse path: points in spatial order, a search for pairs, an active set on what it finds."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray
from sparrot.cost import Cost, PointCost
from sparrot.engine import Threads
from sparrot.errors import InvalidInputError
from sparrot.ot._active_set import ActiveSet, Budget, Guess, Restricted
from sparrot.ot._checkpoint import Checkpoint
from sparrot.ot._link import Link
from sparrot.ot._options import Options
from sparrot.ot._pairs import number_of_pairs
from sparrot.ot._pool import Pool, neighbor_graph
from sparrot.ot._pooled import PooledSet
from sparrot.ot._sample import sampled
from sparrot.ot._screening import seconds_of_a_pass
from sparrot.ot._search import EveryPair
from sparrot.ot._start import guess_from_parts, guess_from_potential

_LOG = logging.getLogger("sparrot")
_FEW = 6.0  # neighbors a row below which the way down is from larger masses
_LOOSE = 1e-2  # marginal error on the way there
_PASSES = 2.5  # over all pairs, for one solve with everything that belongs to it, at most
_PAIRS = 500_000  # a point, in the time that an approximate search takes with its graph
_LONG = 10.0  # seconds that are worth a word
_TOO_MANY = 2e14  # products n^2 p up to which an exact search is the faster one
_SAMPLE = 1000  # rows checked against all points
_SEED = 20_240_817  # of the samples, and of nothing else


@dataclass(frozen=True, slots=True)
class Found:
    """A potential with its plan, in the order of the points as given; the rest as in `Solution`."""

    u: FloatArray
    plan: csr_array
    violation: float
    pairs_checked: int
    missed_rows: float = 0.0


class SparseSolver:
    """The problems of one cost on sparse supports; pairs that were found are kept.

    Parameters
    ----------
    cost, hollow, options, threads : as for `Solver`.
    """

    def __init__(self, cost: Cost, hollow: bool, options: Options, threads: Threads) -> None:
        self._hollow = hollow
        self._options = options
        self._threads = threads
        self._order = cost.order()
        self._cost = cost if self._order is None else cost.take(self._order)
        self._rng = np.random.default_rng(_SEED)
        self._resumed: FloatArray | None = None
        self._approximate = _is_approximate(cost, options)
        self._say_how_long()
        if self._approximate:
            self._pooled: PooledSet | None = self._make_pool(cost)
        else:
            self._pooled = None
            self._active = self._make_active_set()

    def solve(
        self, link: Link, mass: float, start: FloatArray | None, tol: float, budget: Budget
    ) -> Found:
        """Solve for one link and mass, from potentials if there are any."""
        if start is not None and self._order is not None:
            start = start[self._order]
        found = self._restricted(link, mass, start, tol, budget)
        u, plan = self._as_given(found.u, found.plan)
        if not found.certified:  # unknown, so infinite: no silent pass
            return Found(u, plan, np.inf, 0, float(self._approximate))
        n = self._cost.n
        if not self._approximate:
            return Found(u, plan, 0.0, number_of_pairs(n, self._hollow))
        sample = sampled(self._cost, found.u, found.plan, _SAMPLE, self._rng, self._threads)
        m = sample.rows
        pairs = number_of_pairs(n, self._hollow) - number_of_pairs(n - m, self._hollow)
        return Found(u, plan, sample.violation, pairs, sample.share)

    def _restricted(
        self, link: Link, mass: float, start: FloatArray | None, tol: float, budget: Budget
    ) -> Restricted:
        """The solution on the pairs that were found."""
        if self._pooled is not None:
            return self._pooled.solve(link, mass, start, tol, budget)
        start, self._resumed = self._resumed if start is None else start, None
        guess = None
        if start is not None:
            guess = guess_from_potential(self._cost, link, mass, self._hollow, start, self._threads)
        if guess is None:
            guess = self._cold_start(link, mass, budget.left)
        self._active.require_memory(guess.n_neighbors)
        return self._active.solve(link, mass, guess, tol, budget)

    def _cold_start(self, link: Link, mass: float, max_iter: int) -> Guess:
        """A guess from parts; where neighbors are very few, by way of larger masses.

        On the way down the support only shrinks, so that this costs no further screening.
        """
        scale = link.score(np.array(mass))
        larger: list[float] = []
        while True:
            guess = guess_from_parts(
                self._cost,
                link,
                larger[-1] if larger else mass,
                self._hollow,
                self._threads,
                self._options.progress,
                self._options.max_memory,
            )
            if guess.n_neighbors >= _FEW or len(larger) >= 10:
                break
            larger.append(float(link.entry(scale * 10.0 ** (len(larger) + 1))))
        for m in reversed(larger):
            u = self._active.solve(link, m, guess, _LOOSE, Budget(max_iter)).u
            slack = np.full(len(u), float(link.score(np.array(m / (10 * _FEW)))))
            guess = Guess(u, slack, _FEW)
        return guess

    def _as_given(self, u: FloatArray, plan: csr_array) -> tuple[FloatArray, csr_array]:
        """From the order of the active set back to the order of the points."""
        if self._order is None:
            return u, plan
        place = np.argsort(self._order)
        columns = self._order.astype(plan.indices.dtype)[plan.indices]
        plan = csr_array((plan.data, columns, plan.indptr), shape=plan.shape)[place]
        plan.sort_indices()
        return u[place], plan

    def _make_active_set(self) -> ActiveSet:
        options, keep, state = self._options, None, None
        if options.checkpoint is not None:
            checkpoint = Checkpoint(options.checkpoint, self._cost, self._hollow)
            keep, state = checkpoint.save, checkpoint.load()
        search = EveryPair(self._cost, self._hollow, self._threads)
        active = ActiveSet(
            search, self._hollow, self._threads, options.progress, options.max_memory, keep
        )
        if state is not None:
            _LOG.info("going on from %s, with %d pairs", options.checkpoint, len(state.pairs))
            active.resume(state)
            self._resumed = state.u
        return active

    def _make_pool(self, cost: Cost) -> PooledSet:
        assert isinstance(cost, PointCost)
        assert isinstance(self._cost, PointCost)
        options = self._options
        graph = neighbor_graph(cost.points, options.neighbors, self._threads.n_jobs)
        if self._order is not None:
            graph = graph[self._order][:, self._order]
        pool = Pool(self._cost, graph, self._threads, options.max_memory)
        return PooledSet(pool, self._hollow, self._threads, options.progress, options.max_memory)

    def _say_how_long(self) -> None:
        """An estimate in the log before what may be a long run: bounds may rule out much of it."""
        n = self._cost.n
        if not isinstance(self._cost, PointCost) or n <= 30_000:
            return
        passes = 2 * _PAIRS / n if self._approximate else _PASSES
        seconds = passes * seconds_of_a_pass(self._cost, self._threads)
        if seconds > _LONG:
            kind = "approximate" if self._approximate else "exact"
            _LOG.info(
                "%s search of %d points: about %.0f s for one solve, or less", kind, n, seconds
            )


def _is_approximate(cost: Cost, options: Options) -> bool:
    """Whether to search in a graph of neighbors: if some are given, or it is the faster way."""
    if options.search == "exact":
        return False
    if options.search == "approximate":
        if not isinstance(cost, PointCost):
            raise InvalidInputError(
                "search='approximate' works for metric='sqeuclidean' and 'cosine'; other metrics "
                "have their n x n matrix already, use search='exact'"
            )
        if options.neighbors is not None:
            return True
    products = float(cost.n) ** 2 * cost.points.shape[1] if isinstance(cost, PointCost) else 0.0
    _LOG.info(
        "search=%r is %s here: n^2 p = %.1e, and up to %.0e exact is the faster one",
        options.search,
        "approximate" if products > _TOO_MANY else "exact",
        products,
        _TOO_MANY,
    )
    return products > _TOO_MANY
