"""Which tiles can matter, and where their products are written.

A tile is a group of rows against some columns. Columns that a bound rules out are left out, so that
points of low intrinsic dimension need few tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import local

import numpy as np

from sparrot.cost import LEAF, Cost
from sparrot.types import Float32Array, FloatArray, IntArray

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
