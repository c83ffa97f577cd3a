"""The active set in a pool of likely pairs, for sets too large to look at every pair."""

from __future__ import annotations

import logging

import numpy as np

from sparrot.engine import ProgressCallback, Threads
from sparrot.solvers.active_set import ActiveSet, Budget, Guess, Restricted
from sparrot.solvers.search import PooledPairs
from sparrot.support import Link, Pool, Sample
from sparrot.types import FloatArray

_LOG = logging.getLogger("sparrot")
_COARSE = 1e-2  # marginal error while the pool still grows
_ROUNDS = 8
_STEPS = 40  # of Newton's method in one round; a pool that is too small has no solution
_ENOUGH = 1e-3  # new pairs a point below which the pool is taken as complete
_SAMPLE = 1000  # rows checked against all points


class PooledSet:
    """Solves on a pool, lets it grow, and says by a sample what it may still miss.

    Parameters
    ----------
    pool : likely pairs.
    hollow, threads, progress, max_memory : as for `ActiveSet`.
    """

    def __init__(
        self,
        pool: Pool,
        hollow: bool,
        threads: Threads,
        progress: ProgressCallback,
        max_memory: float | None,
    ) -> None:
        self._pool = pool
        self._arguments = hollow, threads, progress, max_memory

    def solve(
        self, link: Link, mass: float, start: FloatArray | None, tol: float, budget: Budget
    ) -> tuple[Restricted, Sample]:
        """Solve coarsely and grow until little is new, then to the tolerance, then sample.

        What a first sample shows to be missing is put right; a second one is the certificate.
        """
        u = self._pool.guess(link, mass) if start is None else start
        for _ in range(_ROUNDS):
            found = self._on_pool(link, mass, u, _COARSE, Budget(_STEPS))
            u = found.u
            slack = self._slack(link, mass)
            new = self._pool.grow(found.plan, u + slack)
            _LOG.info("neighbours of neighbours: %d new pairs of %d", new, len(self._pool.pairs))
            if new <= _ENOUGH * self._pool.cost.n:
                break
        found = self._on_pool(link, mass, u, tol, budget)
        missed = self._pool.sample(found.u, found.plan, _SAMPLE, seed=0).missed
        if len(missed):
            self._pool.add(missed)
            found = self._on_pool(link, mass, found.u, tol, budget)
        return found, self._pool.sample(found.u, found.plan, _SAMPLE, seed=1)

    def _on_pool(
        self, link: Link, mass: float, u: FloatArray, tol: float, budget: Budget
    ) -> Restricted:
        hollow, threads, *_ = self._arguments
        search = PooledPairs(self._pool, hollow, threads)
        active = ActiveSet(search, *self._arguments)
        slack = np.full(len(u), self._slack(link, mass))
        return active.solve(link, mass, Guess(u, slack, 0.0), tol, budget)

    def _slack(self, link: Link, mass: float) -> float:
        """Half the score of one of as many neighbours as the pool has for a row."""
        neighbours = max(2 * len(self._pool.pairs) / self._pool.cost.n, 1.0)
        return float(link.score(np.array(mass / neighbours))) / 2
