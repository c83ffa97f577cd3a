"""The active set in a pool of likely pairs, for sets too large to look at every pair."""

from __future__ import annotations

import logging

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray
from sparrot.engine import Progress, ProgressCallback, Threads
from sparrot.ot._active_set import ActiveSet, Budget, Guess, Restricted
from sparrot.ot._dual import SparseDual
from sparrot.ot._link import Link
from sparrot.ot._pool import Pool
from sparrot.ot._search import PooledPairs
from sparrot.ot._start import guess_from_parts

_LOG = logging.getLogger("sparrot")
_ROUNDS = 8
_ENOUGH = 0.05  # new pairs a point below which the pool is taken as complete
_SWEEPS = 6  # from potentials to levels over the pool
_LARGEST_PART = 40_000  # points that give the first potentials


class PooledSet:
    """Solves on a pool, and lets it grow.

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
        self._hollow = hollow
        self._threads = threads
        self._progress = progress
        self._max_memory = max_memory
        self._grown = 0.0  # the score of one partner with all the mass that it has grown for

    def solve(
        self, link: Link, mass: float, start: FloatArray | None, tol: float, budget: Budget
    ) -> Restricted:
        """Let the pool grow until little is new, and solve on it."""
        u = self._from_parts(link, mass) if start is None else start
        reach = float(link.score(np.array(mass)))
        if reach > self._grown:  # where less is asked for, hardly any other pair matters
            u = self._grow(link, mass, u)
            self._grown = reach
        search = PooledPairs(self._pool, self._hollow, self._threads)
        active = ActiveSet(search, self._hollow, self._threads, self._progress, self._max_memory)
        return active.solve(link, mass, self._near(u, link, mass), tol, budget)

    def _from_parts(self, link: Link, mass: float) -> FloatArray:
        return guess_from_parts(
            self._pool.cost,
            link,
            mass,
            self._hollow,
            self._threads,
            self._progress,
            self._max_memory,
            _LARGEST_PART,
        ).u

    def _grow(self, link: Link, mass: float, u: FloatArray) -> FloatArray:
        """Let potentials settle on the pool and add neighbors of neighbors, in turn."""
        for _ in range(_ROUNDS):
            u = self._settled(link, mass, u)
            new = self._pool.grow(self._plan(link, mass, u), u + self._near(u, link, mass).slack)
            _LOG.info("neighbors of neighbors: %d new pairs of %d", new, len(self._pool.pairs))
            if new <= _ENOUGH * self._pool.cost.n:
                break
        return u

    def _settled(self, link: Link, mass: float, u: FloatArray) -> FloatArray:
        """Half way to the levels over the pool, again and again: rough, but far from nothing.

        Where the pool is too small for a solution, no row rises for ever.
        """
        every = np.arange(len(u), dtype=np.int32)
        for sweep in range(_SWEEPS):
            n_pairs = len(self._pool.pairs)
            self._progress(Progress("growing", len(u), sweep, _SWEEPS, n_pairs=n_pairs))
            v = self._pool.support.levels(every, u, link, mass, self._threads)
            u = (u + np.where(np.isfinite(v), v, u)) / 2
        return u

    def _plan(self, link: Link, mass: float, u: FloatArray) -> csr_array:
        n = len(u)
        no_ceiling = np.full(n, np.inf)
        dual = SparseDual(self._pool.support, no_ceiling, np.zeros(n), link, mass, self._threads)
        return dual.plan(u)

    def _near(self, u: FloatArray, link: Link, mass: float) -> Guess:
        """Potentials with half the score of one of as many neighbors as the pool has for a row."""
        neighbors = max(2 * len(self._pool.pairs) / self._pool.cost.n, 1.0)
        slack = float(link.score(np.array(mass / neighbors))) / 2
        return Guess(u, np.full(len(u), slack), neighbors)
