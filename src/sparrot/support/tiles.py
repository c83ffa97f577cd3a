"""Which tiles can matter, and where their products are written.

A tile is a group of rows against a run of columns. Leaves of columns that a bound rules out are
left out of the runs, so that points of low intrinsic dimension need few tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import local

import numpy as np

from sparrot.cost import LEAF, Cost
from sparrot.types import BoolArray, Float32Array, FloatArray, IntArray

WIDTH = 4096  # columns of a tile, at most: with a leaf of rows, 4 MB of float32


def leaf_maxima(x: FloatArray) -> FloatArray:
    """The largest of each leaf of values."""
    return np.maximum.reduceat(x, np.arange(0, len(x), LEAF))


def reachable(
    cost: Cost, rows: IntArray, reach: FloatArray, other: Cost, u: FloatArray
) -> BoolArray:
    """For each leaf of `other`, whether a pair with one of the rows may have `reach + u > C`.

    `reach` is one number for each row, `u` the largest for each leaf of `other`.
    """
    alive = np.zeros(len(u), bool)
    leaves = rows // LEAF
    for leaf in np.unique(leaves):
        alive |= reach[leaves == leaf].max() + u > cost.gaps(int(leaf), other)
    return alive


def runs(alive: BoolArray, n: int, first: int = 0) -> Iterator[slice]:
    """The columns of leaves that are alive, as slices no wider than `WIDTH`, from `first` on."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], alive, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2] * LEAF, edges[1::2] * LEAF, strict=True):
        for column in range(max(start, first), min(stop, n), WIDTH):
            yield slice(column, min(column + WIDTH, stop, n))


class Scratch:
    """An array for each thread, used again for tile after tile: fresh memory costs page faults."""

    def __init__(self) -> None:
        self._own = local()

    def tile(self, rows: int, columns: int) -> Float32Array:
        """An array of that shape, with anything in it."""
        size = rows * columns
        held: Float32Array | None = getattr(self._own, "held", None)
        if held is None or len(held) < size:
            held = self._own.held = np.empty(max(size, LEAF * WIDTH), np.float32)
        return held[:size].reshape(rows, columns)


def groups(rows: IntArray, size: int = LEAF) -> list[IntArray]:
    """The rows in groups no larger than a leaf."""
    return [rows[k : k + size] for k in range(0, len(rows), size)]
