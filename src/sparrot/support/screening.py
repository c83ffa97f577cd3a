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
from sparrot.support.tiles import WIDTH, Scratch, groups, leaf_maxima, reachable, runs
from sparrot.types import Float32Array, FloatArray, IntArray

_ROOM = 1 << 14  # hits that a tile has room for at first


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
    a = r - cost.shift
    a = a + cost.margin(a)
    bound = np.nextafter(a.astype(np.float32), np.float32(np.inf))
    highest = leaf_maxima(r)
    everything = rows is None
    left: IntArray = np.arange(cost.n, dtype=np.int32) if rows is None else rows
    among = np.zeros(cost.n, bool)
    among[left] = True
    scratch = Scratch()

    def one(group: IntArray) -> Pairs:
        alive = reachable(cost, group, r[group], cost, highest)
        first = int(group[0]) // LEAF * LEAF if everything else 0
        found = [
            _hits(cost, bound, group, columns, scratch) for columns in runs(alive, cost.n, first)
        ]
        i = np.concatenate([i for i, _ in found] or [group[:0]])
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
        _hits(cost, nothing, group, columns, scratch)
        took.append(time.perf_counter() - start)
    return min(took) * cost.n**2 / (2 * len(group) * columns.stop * threads.n_jobs)


def _hits(
    cost: Cost, bound: Float32Array, group: IntArray, columns: slice, scratch: Scratch
) -> tuple[IntArray, IntArray]:
    """The pairs of one tile that pass the float32 filter, row by row."""
    G = scratch.tile(len(group), columns.stop - columns.start)
    cost.products(as_slice(group), cost, columns, G)
    i, j = list_hits(G, bound[columns], -bound[group])
    return group[i], j + np.int32(columns.start)


def list_hits(G: Float32Array, b: Float32Array, t: Float32Array) -> tuple[IntArray, IntArray]:
    """The entries with `G_ij + b_j > t_i`, row by row."""
    from sparrot.kernels import find_hits

    room = _ROOM
    while True:
        i, j = np.empty(room, np.int32), np.empty(room, np.int32)
        count = find_hits(G, b, t, i, j)
        if count <= room:
            return i[:count], j[:count]
        room = count


def as_slice(index: IntArray) -> IntArray | slice:
    """Consecutive indices as a slice, which needs no copy."""
    first, last = int(index[0]), int(index[-1])
    return slice(first, last + 1) if last - first + 1 == len(index) else index
