r"""Screening: which pairs of points may carry mass?

For ceilings r on the potentials the support is :math:`S(r) = \{(i, j) : r_i + r_j > C_{ij}\}`. As
long as the potentials stay below the ceilings, no other pair can carry mass. One pass over tiles, a
group of rows against some columns each, finds S(r): boxes around the rows rule out columns,
products in float32 with a margin for their rounding pick candidates, exact costs in float64 decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import local

import numpy as np
from scipy.sparse import coo_array, csr_array, csr_matrix

from sparrot._types import BoolArray, Float32Array, FloatArray, IntArray
from sparrot.cost import LEAF, Cost
from sparrot.engine import Run, Side

PAIR_BYTES = 145  # of one candidate pair at the peak, with a floor, all copies counted
TILE_ROWS = 2 * LEAF  # rows of a tile, at most,
_TILE_COLUMNS = 1024  # and its columns: 2 MB of float32
_FAR_COLUMNS = 8 * _TILE_COLUMNS  # that are brought about another center at once
_NEARLY_ALL = 0.85  # share of columns from which on all are taken
_ROOM = 1 << 14  # hits that a tile has room for at first
_SCRATCH = local()
_WAITING = 1 << 20  # pairs that wait for their exact costs, at most, besides those of a tile


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs `i <= j`, each at most once, with their exact costs."""

    i: IntArray
    j: IntArray
    cost: FloatArray

    def __len__(self) -> int:
        """How many."""
        return len(self.i)

    def where(self, keep: BoolArray) -> Pairs:
        """Those for which `keep` is true."""
        return Pairs(self.i[keep], self.j[keep], self.cost[keep])

    def below(self, r: FloatArray) -> BoolArray:
        """For each pair, whether `C_ij < r_i + r_j`."""
        under: BoolArray = self.cost < r[self.i] + r[self.j]
        return under

    def entries_of(self, matrix: csr_array) -> FloatArray:
        """The entries of a sparse matrix at the pairs, zero where it has none."""
        if len(self) == 0:  # SciPy would return a matrix
            return np.zeros(0)
        return np.asarray(csr_matrix(matrix)[self.i, self.j], dtype=np.float64).ravel()

    @staticmethod
    def join(parts: list[Pairs]) -> Pairs:
        """All pairs of several disjoint lists."""
        return Pairs(
            np.concatenate([part.i for part in parts]),
            np.concatenate([part.j for part in parts]),
            np.concatenate([part.cost for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Support:
    """A set of pairs as a symmetric CSR matrix of costs, rows ascending."""

    pairs: Pairs
    indptr: IntArray
    indices: IntArray
    cost: FloatArray

    @staticmethod
    def of(pairs: Pairs, n: int) -> Support:
        """Sort the pairs into both triangles: by rows in linear time, then within each row."""
        from sparrot._kernels import mirror

        upper = coo_array((pairs.cost, (pairs.i, pairs.j)), shape=(n, n)).tocsr()
        n_entries = 2 * len(pairs) - np.count_nonzero(pairs.i == pairs.j)
        indptr = np.empty(n + 1, np.int64)
        indices = np.empty(n_entries, np.int32)
        cost = np.empty(n_entries)
        up = upper.indptr.astype(np.int64)
        columns, below = upper.indices.astype(np.int32), np.zeros(n, np.int64)
        mirror(up, columns, upper.data, below, indptr, indices, cost)
        i = np.repeat(np.arange(n, dtype=np.int32), np.diff(up))
        return Support(Pairs(i, upper.indices, upper.data), indptr, indices, cost)


def longest_row(indptr: IntArray, rows: IntArray) -> int:
    """The most entries that one of some rows has.

    Examples
    --------
    >>> longest_row(np.array([0, 4, 5, 7]), np.array([1, 2]))
    2
    """
    return int((indptr[rows + 1] - indptr[rows]).max(initial=0))


def screen(
    cost: Cost,
    r: FloatArray,
    run: Run,
    rows: IntArray | None = None,
    report: Callable[[int, int, int], None] = lambda done, total, found: None,
) -> Pairs:
    """The pairs `i < j` of S(r); with `rows` (ascending), only those that touch one of the rows.

    `report(tiles done, tiles in all, pairs found)` is called as the pass goes on, and may raise.
    """
    every: IntArray = np.arange(cost.n, dtype=np.int32)
    among = None
    if rows is not None:
        among = np.zeros(cost.n, bool)
        among[rows] = True
    right = Side(cost, every, every, r, rounded_up(cost, r), (among,))
    left = right if rows is None else right.part(rows)
    total, tiles = run.tiles(_pairs_of_tile, left, right, TILE_ROWS, upper=rows is None)
    none = np.zeros(0, np.int32)
    found = [Pairs(none, none, np.zeros(0))]
    n_found = 0
    for done, pairs in enumerate(tiles, start=1):
        found.append(pairs)
        n_found += len(pairs)
        report(done, total, n_found)
    return Pairs.join(found)


def _pairs_of_tile(left: Side, right: Side) -> Pairs:
    """The pairs of S(r) between some rows and some columns, each pair of two rows once."""
    among = right.values[0]
    found: list[Pairs] = []
    waiting: list[tuple[IntArray, IntArray]] = []
    n_waiting = 0

    def exact() -> Pairs:
        i, j = joined(waiting)
        x, y = left.names[i], right.names[j]
        keep = x < y if among is None else (x < y) | ((x > y) & ~among[j])
        i, j, x, y = i[keep], j[keep], x[keep], y[keep]
        C = left.cost.pairs(left.rows[i], j, right.cost)
        below = C < left.ceiling[i] + right.ceiling[j]  # type: ignore[index]
        return Pairs(np.minimum(x, y), np.maximum(x, y), C).where(below)

    for i, j in hits(left, right, upper=among is None):
        waiting.append((i, j))
        n_waiting += len(i)
        if n_waiting > _WAITING:
            found.append(exact())
            waiting, n_waiting = [], 0
    return Pairs.join([*found, exact()])


def joined(parts: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Several lists of pairs as one."""
    none = np.zeros(0, np.int32)
    i, j = (
        np.concatenate([none, *side]) for side in (zip(*parts, strict=True) if parts else ((), ()))
    )
    return i, j


def hits(left: Side, right: Side, upper: bool = False) -> Iterator[tuple[IntArray, IntArray]]:
    """The pairs that may have `r_i + r_j > C_ij`, by float32: their places on both sides.

    Columns of a row come in ascending order. With `upper` some that are before the row are missing.
    """
    assert left.ceiling is not None
    for start in range(0, len(left), TILE_ROWS):
        group = left.part(slice(start, start + TILE_ROWS))
        places: IntArray = np.arange(start, start + len(group), dtype=np.int32)
        first = max(0, int(left.names[start] - right.names[0])) // LEAF * LEAF if upper else 0
        for cluster, center in left.cost.clusters(group.rows, group.ceiling):
            some, own = group.part(cluster), places[cluster]
            columns = left.cost.within(some.rows, some.ceiling, right.cost, right.ceiling, first)
            if center is not None:
                some = about(some, center)
                for k in range(0, len(columns), _FAR_COLUMNS):
                    there = about(right.part(columns[k : k + _FAR_COLUMNS]), center)
                    for i, j in _hits_of_tiles(some, there, there.rows):
                        yield own[i], columns[k + j]
                continue
            if len(columns) > _NEARLY_ALL * (len(right) - first):  # what is in a row needs no copy
                columns = right.rows[first:]
            for i, j in _hits_of_tiles(some, right, columns):
                yield own[i], j


def about(side: Side, center: FloatArray) -> Side:
    """The same points, of which products are those about another center."""
    cost = side.cost.about(center, side.rows)
    every = np.arange(len(side), dtype=np.int32)
    bound = None if side.ceiling is None else rounded_up(cost, side.ceiling)
    return Side(cost, every, side.names, side.ceiling, bound, side.values)


def _hits_of_tiles(
    left: Side, right: Side, columns: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    assert left.bound is not None
    assert right.bound is not None
    room = _room()
    for k in range(0, len(columns), _TILE_COLUMNS):
        tile = as_slice(columns[k : k + _TILE_COLUMNS])
        b = right.bound[tile]
        G = room[: len(left) * len(b)].reshape(len(left), len(b))
        left.cost.bounds(as_slice(left.rows), right.cost, tile, G)
        i, j = list_hits(G, b, -left.bound)
        yield i, j + np.int32(tile.start) if isinstance(tile, slice) else tile[j]


def _room() -> Float32Array:
    """Room for a tile, the thread's own and used again and again: fresh memory is slow."""
    room: Float32Array | None = getattr(_SCRATCH, "room", None)
    if room is None or len(room) < TILE_ROWS * _TILE_COLUMNS:
        room = _SCRATCH.room = np.empty(TILE_ROWS * _TILE_COLUMNS, np.float32)
    return room


def rounded_up(cost: Cost, r: FloatArray, rows: IntArray | slice = slice(None)) -> Float32Array:
    """Bounds in float32: `r_i + r_j > C_ij` only if the bounds of i and j add up to `> -G_ij`."""
    a = r - cost.shift[rows]
    a = a + cost.margin(a, rows)
    with np.errstate(over="ignore"):  # too large is infinite
        return np.nextafter(a.astype(np.float32), np.float32(np.inf))


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


def seconds_of_a_pass(cost: Cost, run: Run) -> float:
    """About how long one pass over all pairs takes, if no tile is ruled out."""
    cost.prepare()
    rows, columns = min(LEAF, cost.n), min(_TILE_COLUMNS, cost.n)
    G = np.empty((rows, columns), np.float32)
    b, nothing = np.zeros(columns, np.float32), np.full(rows, np.inf, np.float32)
    took = []
    for _ in range(3):
        start = time.perf_counter()
        cost.bounds(slice(0, rows), cost, slice(0, columns), G)
        list_hits(G, b, nothing)
        took.append(time.perf_counter() - start)
    return min(took) * cost.n**2 / (2 * rows * columns * run.threads.n_jobs)
