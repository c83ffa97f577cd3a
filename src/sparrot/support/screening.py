"""All pairs of points against ceilings: which may carry mass?

For ceilings r the support is `S(r) = {(i, j) : r_i + r_j > C_ij}`. As long as the potentials stay
below the ceilings, no other pair can carry mass. One pass over tiles finds S(r): balls around the
points rule out whole tiles, products in float32 with a margin for their rounding pick the
candidates, exact costs in float64 decide.
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
    leaf_maxima,
    reachable,
    runs,
)
from sparrot.types import FloatArray, IntArray


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
    bound = ceilings(cost, r)
    highest = leaf_maxima(r)
    everything = rows is None
    left: IntArray = np.arange(cost.n, dtype=np.int32) if rows is None else rows
    among = np.zeros(cost.n, bool)
    among[left] = True
    scratch = Scratch()

    def one(group: IntArray) -> Pairs:
        alive = reachable(cost, group, r[group], cost, highest)
        first = int(group[0]) // LEAF * LEAF if everything else 0
        limit = bound[group]
        found = [
            hits(cost, group, limit, cost, columns, bound[columns], scratch)
            for columns in runs(alive, cost.n, first)
        ]
        i = group[np.concatenate([i for i, _ in found] or [group[:0]])]
        j = np.concatenate([j for _, j in found] or [group[:0]])
        keep = (i < j) | ((i > j) & ~among[j])  # a pair of two rows is met twice: take it once
        i, j = i[keep], j[keep]
        pairs = Pairs(np.minimum(i, j), np.maximum(i, j), cost.pairs(i, j))
        return pairs.where(pairs.below(r))

    pieces = groups(left)
    found: list[Pairs] = []
    n_found = 0
    for done, pairs in enumerate(threads.map(one, pieces), start=1):
        found.append(pairs)
        n_found += len(pairs)
        report(done, len(pieces), n_found)
    return Pairs.join(found)


def seconds_of_a_pass(cost: Cost, threads: Threads) -> float:
    """About how long one pass over all pairs takes, if no tile is ruled out."""
    group = np.arange(min(LEAF, cost.n), dtype=np.int32)
    columns = slice(0, min(WIDTH, cost.n))
    nothing = np.full(cost.n, -np.inf, np.float32)
    scratch = Scratch()
    took = []
    for _ in range(3):
        start = time.perf_counter()
        hits(cost, group, nothing[group], cost, columns, nothing[columns], scratch)
        took.append(time.perf_counter() - start)
    return min(took) * cost.n**2 / (2 * len(group) * columns.stop * threads.n_jobs)
