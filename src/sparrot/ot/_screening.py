"""Which tiles can matter, and where their products are written.

A tile is a group of rows against some columns. Columns that a bound rules out are left out, so that
points of low intrinsic dimension need few tiles.

All pairs of points against ceilings: which may carry mass?

For ceilings r the support is `S(r) = {(i, j) : r_i + r_j > C_ij}`. As long as the potentials stay
below the ceilings, no other pair can carry mass. One pass over tiles finds S(r): boxes around the
rows rule out columns, products in float32 with a margin for their rounding pick the candidates,
exact costs in float64 decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import local

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.cost import LEAF, Cost
from sparrot.engine import Threads
from sparrot.ot._pairs import Pairs

ROWS = 2 * LEAF  # rows of a tile, at most,
WIDTH = 1024  # and its columns: 2 MB of float32
_NEARLY_ALL = 0.85  # share of columns from which on all are taken
_ROOM = 1 << 14  # hits that a tile has room for at first


def ceilings(cost: Cost, r: FloatArray, rows: IntArray | slice = slice(None)) -> Float32Array:
    """Bounds in float32: `r_i + r_j > C_ij` only if the bounds of i and j add up to `> -G_ij`.

    `r` is one number for each of the rows, which are all by default.
    """
    a = r - cost.shift[rows]
    a = a + cost.margin(a, rows)
    with np.errstate(over="ignore"):  # too large is infinite
        return np.nextafter(a.astype(np.float32), np.float32(np.inf))


def tiles(
    cost: Cost, rows: IntArray, r: FloatArray, other: Cost, u: FloatArray, first: int = 0
) -> Iterator[IntArray | slice]:
    """The columns of `other` that may have `r_i + u_j > C_ij` with one of the rows, `WIDTH` a tile.

    From the column `first` on.
    """
    columns = cost.within(rows, r, other, u, first)
    if len(columns) > _NEARLY_ALL * (other.n - first):  # what is in a row needs no copy
        columns = np.arange(first, other.n, dtype=np.int32)
    for k in range(0, len(columns), WIDTH):
        yield as_slice(columns[k : k + WIDTH])


class Scratch:
    """An array for each thread, used again for tile after tile: fresh memory costs page faults."""

    def __init__(self) -> None:
        self._own = local()

    def tile(self, rows: int, columns: int) -> Float32Array:
        """An array of that shape, with anything in it."""
        size = rows * columns
        held: Float32Array | None = getattr(self._own, "held", None)
        if held is None or len(held) < size:
            held = self._own.held = np.empty(max(size, ROWS * WIDTH), np.float32)
        return held[:size].reshape(rows, columns)


def groups(rows: IntArray) -> list[IntArray]:
    """The rows in groups for tiles."""
    return [rows[k : k + ROWS] for k in range(0, len(rows), ROWS)]


def hits(
    cost: Cost,
    group: IntArray,
    bound: Float32Array,
    other: Cost,
    columns: IntArray | slice,
    other_bound: Float32Array,
    scratch: Scratch,
) -> tuple[IntArray, IntArray]:
    """The pairs of one tile that pass the filter: places in the group, and columns of `other`.

    The bounds are one number for each row of the group and each point of `other`.
    """
    b = other_bound[columns]
    G = scratch.tile(len(group), len(b))
    cost.bounds(as_slice(group), other, columns, G)
    i, j = list_hits(G, b, -bound)
    return i, j + np.int32(columns.start) if isinstance(columns, slice) else columns[j]


def list_hits(G: Float32Array, b: Float32Array, t: Float32Array) -> tuple[IntArray, IntArray]:
    """The entries with `G_ij + b_j > t_i`, row by row."""
    from sparrot._kernels import find_hits

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
