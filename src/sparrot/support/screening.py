"""All pairs of points against ceilings: which may carry mass?

For ceilings r the support is `S(r) = {(i, j) : r_i + r_j > C_ij}`. As long as the potentials stay
below the ceilings, no other pair can carry mass. One pass over tiles finds S(r): boxes around the
rows rule out columns, products in float32 with a margin for their rounding pick the candidates,
exact costs in float64 decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sparrot.cost import LEAF, Cost
from sparrot.engine import Threads
from sparrot.support.pairs import Pairs
from sparrot.support.tiles import (
    WIDTH,
    Scratch,
    ceilings,
    groups,
    hits,
    tiles,
)
from sparrot.types import FloatArray, IntArray

_WAITING = 1 << 20  # pairs that wait for their exact costs, at most, besides those of a tile


def screen(
    cost: Cost,
    r: FloatArray,
    threads: Threads,
    rows: IntArray | None = None,
    report: Callable[[int, int, int], None] = lambda done, total, found: None,
) -> Pairs:
    """The pairs `i < j` of S(r); with `rows` (ascending), only those that touch one of the rows.

    `report(row groups done, row groups in all, pairs found)` is called as the pass goes on, and may
    raise.
    """
    left: IntArray = np.arange(cost.n, dtype=np.int32) if rows is None else rows
    screening = _Screening(cost, r, left, everything=rows is None)
    pieces = groups(left)
    found: list[Pairs] = []
    n_found = 0
    for done, pairs in enumerate(threads.map(screening.of, pieces), start=1):
        found.append(pairs)
        n_found += len(pairs)
        report(done, len(pieces), n_found)
    return Pairs.join(found)


class _Screening:
    """One pass: the pairs of S(r) that a group of the rows has part in."""

    def __init__(self, cost: Cost, r: FloatArray, rows: IntArray, everything: bool) -> None:
        self._cost = cost
        self._r = r
        self._bound = ceilings(cost, r)
        self._everything = everything
        self._among = np.zeros(cost.n, bool)
        self._among[rows] = True
        self._scratch = Scratch()

    def of(self, group: IntArray) -> Pairs:
        """By tiles; exact costs are computed whenever enough pairs wait for them."""
        cost, bound = self._cost, self._bound
        first = int(group[0]) // LEAF * LEAF if self._everything else 0
        limit = bound[group]
        found: list[Pairs] = []
        waiting: list[tuple[IntArray, IntArray]] = []
        n_waiting = 0
        for columns in tiles(cost, group, self._r[group], cost, self._r, first):
            waiting.append(hits(cost, group, limit, cost, columns, bound, self._scratch))
            n_waiting += len(waiting[-1][0])
            if n_waiting > _WAITING:
                found.append(self._exact(group, waiting))
                waiting, n_waiting = [], 0
        return Pairs.join([*found, self._exact(group, waiting)])

    def _exact(self, group: IntArray, waiting: list[tuple[IntArray, IntArray]]) -> Pairs:
        i = group[np.concatenate([i for i, _ in waiting] or [group[:0]])]
        j = np.concatenate([j for _, j in waiting] or [group[:0]])
        # A pair of two rows is met twice: take it once.
        keep = (i < j) | ((i > j) & ~self._among[j])
        i, j = i[keep], j[keep]
        pairs = Pairs(np.minimum(i, j), np.maximum(i, j), self._cost.pairs(i, j))
        return pairs.where(pairs.below(self._r))


def seconds_of_a_pass(cost: Cost, threads: Threads) -> float:
    """About how long one pass over all pairs takes, if no tile is ruled out."""
    group = np.arange(min(LEAF, cost.n), dtype=np.int32)
    columns = slice(0, min(WIDTH, cost.n))
    nothing = np.full(cost.n, -np.inf, np.float32)
    scratch = Scratch()
    took = []
    for _ in range(3):
        start = time.perf_counter()
        hits(cost, group, nothing[group], cost, columns, nothing, scratch)
        took.append(time.perf_counter() - start)
    return min(took) * cost.n**2 / (2 * len(group) * columns.stop * threads.n_jobs)
