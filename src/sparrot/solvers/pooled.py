"""The active set in a pool of likely pairs, for sets too large to look at every pair."""

from __future__ import annotations

import logging

import numpy as np

from sparrot.engine import ProgressCallback, Threads
from sparrot.solvers.active_set import ActiveSet, Budget, Guess, Restricted
from sparrot.solvers.search import PooledPairs
from sparrot.solvers.start import guess_from_parts
from sparrot.support import Link, Pool, Sample
from sparrot.types import FloatArray

_LOG = logging.getLogger("sparrot")
_COARSE = 1e-2  # marginal error while the pool still grows
_ROUNDS = 8
_STEPS = 40  # of Newton's method in one round; a pool that is too small has no solution
_ENOUGH = 1e-2  # new pairs a point below which the pool is taken as complete
_SWEEPS = 6  # damped levels over the pool
_SAMPLE = 1000  # rows checked against all points
_SEED = 20_240_817  # of the samples, and of nothing else
_LARGEST_PART = 40_000  # points that give the first potentials


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
        self._hollow = hollow
        self._threads = threads
        self._progress = progress
        self._max_memory = max_memory
        self._grown = 0.0  # the score of one partner with all the mass that it has grown for
        self._rng = np.random.default_rng(_SEED)

    def solve(
        self, link: Link, mass: float, start: FloatArray | None, tol: float, budget: Budget
    ) -> tuple[Restricted, Sample]:
        """Let the pool grow until little is new, solve to the tolerance, then sample.

        What a sample shows to be missing is put right, and another one is the certificate. No rows
        are drawn twice on purpose: those that were put right would speak well of all.
        """
        guess = self._first_guess(link, mass) if start is None else self._near(start, link, mass)
        reach = float(link.score(np.array(mass)))
        if reach > self._grown:  # where less is asked for, hardly any other pair matters
            guess = self._grow(link, mass, guess)
            self._grown = reach
        found = self._on_pool(link, mass, guess, tol, budget)
        sample = self._pool.sample(found.u, found.plan, _SAMPLE, self._rng)
        if len(sample.missed) == 0:
            return found, sample
        self._pool.add(sample.missed)
        found = self._on_pool(link, mass, self._near(found.u, link, mass), tol, budget)
        return found, self._pool.sample(found.u, found.plan, _SAMPLE, self._rng)

    def _first_guess(self, link: Link, mass: float) -> Guess:
        """From parts, and then damped levels over the pool: small parts are too high by far."""
        u = guess_from_parts(
            self._pool.cost,
            link,
            mass,
            self._hollow,
            self._threads,
            self._progress,
            self._max_memory,
            _LARGEST_PART,
        ).u
        every = np.arange(len(u), dtype=np.int32)
        for _ in range(_SWEEPS):
            v = self._pool.levels(u, every, link, mass)
            u = (u + np.where(np.isfinite(v), v, u)) / 2
        return self._near(u, link, mass)

    def _grow(self, link: Link, mass: float, guess: Guess) -> Guess:
        """Solve coarsely and add neighbours of neighbours, until little is new."""
        for _ in range(_ROUNDS):
            found = self._on_pool(link, mass, guess, _COARSE, Budget(_STEPS))
            guess = self._near(found.u, link, mass)
            new = self._pool.grow(found.plan, guess.u + guess.slack)
            _LOG.info("neighbours of neighbours: %d new pairs of %d", new, len(self._pool.pairs))
            if new <= _ENOUGH * self._pool.cost.n:
                break
        return guess

    def _near(self, u: FloatArray, link: Link, mass: float) -> Guess:
        """Potentials with half the score of one of as many neighbours as the pool has for a row."""
        neighbours = max(2 * len(self._pool.pairs) / self._pool.cost.n, 1.0)
        slack = float(link.score(np.array(mass / neighbours))) / 2
        return Guess(u, np.full(len(u), slack), neighbours)

    def _on_pool(
        self, link: Link, mass: float, guess: Guess, tol: float, budget: Budget
    ) -> Restricted:
        search = PooledPairs(self._pool, self._hollow, self._threads)
        active = ActiveSet(search, self._hollow, self._threads, self._progress, self._max_memory)
        return active.solve(link, mass, guess, tol, budget)
