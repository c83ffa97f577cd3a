"""Where the active set looks for pairs: among all, or in a pool of likely ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from sparrot._types import FloatArray, IntArray
from sparrot.cost import Cost
from sparrot.engine import Threads
from sparrot.ot._ctransform import Part, levels_against
from sparrot.ot._link import Link
from sparrot.ot._pairs import Pairs
from sparrot.ot._pool import Pool
from sparrot.ot._screening import screen

Report = Callable[[int, int, int], None]
_FEW = 1000  # rows that are always few enough to be looked up among all points


class Search(Protocol):
    """Finds the pairs of S(r), and the levels of rows that stick out."""

    cost: Cost

    def pairs(self, r: FloatArray, rows: IntArray | None, report: Report) -> Pairs:
        """The pairs `i < j` of S(r) that touch one of the rows (all if None)."""

    def levels(
        self, rows: IntArray, u: FloatArray, link: Link, mass: float, near: FloatArray
    ) -> FloatArray:
        """Levels of some rows against all points; `near` are guesses."""


class EveryPair:
    """All pairs are looked at: what is not found is not there."""

    def __init__(self, cost: Cost, hollow: bool, threads: Threads) -> None:
        self.cost = cost
        self._hollow = hollow
        self._threads = threads

    def pairs(self, r: FloatArray, rows: IntArray | None, report: Report) -> Pairs:
        """By tiles."""
        return screen(self.cost, r, self._threads, rows, report)

    def levels(
        self, rows: IntArray, u: FloatArray, link: Link, mass: float, near: FloatArray
    ) -> FloatArray:
        """By tiles."""
        part = Part.whole(self.cost, u)
        return levels_against(self.cost, rows, part, link, mass, near, self._hollow, self._threads)[
            0
        ]


class PooledPairs:
    """Only the pairs of a pool, but for a few rows that are looked up among all.

    Rows that stick out of their ceilings found too little in the pool; as long as they are few,
    all their pairs are sought, and the pool has them from then on.
    """

    def __init__(self, pool: Pool, hollow: bool, threads: Threads) -> None:
        self.cost: Cost = pool.cost
        self._pool = pool
        self._threads = threads
        self._every = EveryPair(pool.cost, hollow, threads)
        self._few = max(_FEW, pool.cost.n // 50)

    def pairs(self, r: FloatArray, rows: IntArray | None, report: Report) -> Pairs:
        """One comparison for each pair of the pool."""
        if rows is None:
            found = self._pool.below(r)
        elif len(rows) <= self._few:
            found = self._every.pairs(r, rows, report)
            self._pool.add(found)
        else:
            found = self._pool.below(r)
            among = np.zeros(self.cost.n, bool)
            among[rows] = True
            found = found.where(among[found.i] | among[found.j])
        report(1, 1, len(found))
        return found

    def levels(
        self, rows: IntArray, u: FloatArray, link: Link, mass: float, near: FloatArray
    ) -> FloatArray:
        """Over the pool where the rows are many; a row without any pair then stays where it is."""
        if len(rows) <= self._few:
            return self._every.levels(rows, u, link, mass, near)
        v = self._pool.support.levels(rows, u, link, mass, self._threads)
        return np.where(np.isfinite(v), v, u[rows])
