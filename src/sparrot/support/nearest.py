"""The nearest neighbours of every point, exactly, by tiles.

With scores `s_ij = G_ij - h_j` (minus the cost, but for a term of the row) a product in float32 is
a filter: the k-th largest of the lower bounds of a row is below its k-th largest score, so only the
columns whose upper bound reaches it can be among the nearest. Exact costs put those in order.
"""

from __future__ import annotations

import numpy as np

from sparrot.cost import Cost
from sparrot.engine import Threads
from sparrot.support.tiles import as_slice, list_hits
from sparrot.types import Float32Array, FloatArray, IntArray

_TILE_ENTRIES = 4_000_000  # of one block of scores
_PRODUCT_ROUNDING = 1e-12  # of costs that come from products in float64
_SMALL = 1500  # points for which float64 rows are as fast, and nothing needs to be compiled


def nearest(
    cost: Cost, k: int, threads: Threads, rows: IntArray | None = None
) -> tuple[IntArray, FloatArray]:
    """The k nearest other points of each point (or of some rows), and their costs in float64.

    In ascending order, the smaller index first among equals: it is the same for any number of
    threads, and the same as a full sort would give.
    """
    block = _exact_block if cost.n <= _SMALL else _filtered_block
    size = max(16, _TILE_ENTRIES // cost.n)
    every: IntArray = np.arange(cost.n, dtype=np.int32) if rows is None else rows
    pieces = [every[start : start + size] for start in range(0, len(every), size)]
    parts = list(threads.map(lambda piece: block(cost, piece, k), pieces))
    indices, costs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return indices, costs


def _exact_block(cost: Cost, rows: IntArray, k: int) -> tuple[IntArray, FloatArray]:
    C = cost.rows(as_slice(rows))
    place = np.arange(len(rows))
    C[place, rows] = np.inf
    kth = np.partition(C, k - 1, axis=1)[:, k - 1]
    slack = _PRODUCT_ROUNDING * (cost.shift[rows, None] + cost.shift + np.abs(C))
    slack[place, rows] = 0
    i, j = np.nonzero(kth[:, None] + 2 * slack >= C)
    return _first(i, j.astype(np.int32), cost.pairs(rows[i], j), len(rows), k)


def _first(
    i: IntArray, j: IntArray, C: FloatArray, n_rows: int, k: int
) -> tuple[IntArray, FloatArray]:
    """The k cheapest of each row, the smaller index first among equals."""
    order = np.lexsort((j, C, i))
    starts = np.searchsorted(i, np.arange(n_rows))
    chosen = order[starts[:, None] + np.arange(k)]
    return j[chosen], C[chosen]


def _filtered_block(cost: Cost, rows: IntArray, k: int) -> tuple[IntArray, FloatArray]:
    from sparrot.kernels import row_kth

    n_rows = len(rows)
    G: Float32Array = np.empty((n_rows, cost.n), np.float32)
    cost.products(as_slice(rows), cost, slice(None), G)
    G[np.arange(n_rows), rows] = -np.inf
    margin = cost.margin(cost.shift)
    kth = np.empty(n_rows, np.float32)
    row_kth(G, _rounded(-cost.shift - margin, down=True), k, kth)
    bound = _rounded(-cost.shift + margin, down=False)
    threshold = _rounded(kth - 2 * margin[rows], down=True)
    i, j = list_hits(G, bound, threshold)
    return _first(i, j, cost.pairs(rows[i], j), n_rows, k)


def _rounded(x: FloatArray, down: bool) -> Float32Array:
    """To float32, never in the other direction."""
    return np.nextafter(x.astype(np.float32), np.float32(-np.inf if down else np.inf))
