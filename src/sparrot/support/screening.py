"""All pairs of points against ceilings: which may carry mass?

For ceilings r the support is `S(r) = {(i, j) : r_i + r_j > C_ij}`. As long as the potentials stay
below the ceilings, no other pair can carry mass. One pass over tiles finds S(r): products in
float32 with a margin for their rounding pick the candidates, exact costs in float64 decide.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparrot.cost import Cost
from sparrot.engine import Threads
from sparrot.support.pairs import Pairs
from sparrot.types import FloatArray, IntArray

TILE = 1024  # rows and columns of a tile: 4 MB of float32


def screen(
    cost: Cost,
    r: FloatArray,
    threads: Threads,
    rows: IntArray | None = None,
    report: Callable[[int, int, int], None] = lambda done, total, found: None,
) -> Pairs:
    """The pairs `i < j` of S(r); with `rows` (ascending), only those that touch one of the rows.

    `report(tiles done, tiles in all, pairs found)` is called as the pass goes on, and may raise.
    """
    a = r - cost.shift
    a = a + cost.margin(a)
    bound = np.nextafter(a.astype(np.float32), np.float32(np.inf))
    everything = rows is None
    left: IntArray = np.arange(cost.n, dtype=np.int32) if rows is None else rows
    among = np.zeros(cost.n, bool)
    among[left] = True
    tiles = [
        (start, column)
        for start in range(0, len(left), TILE)
        for column in range(start if everything else 0, cost.n, TILE)
    ]

    def one(tile: tuple[int, int]) -> Pairs:
        index = left[tile[0] : tile[0] + TILE]
        columns = slice(tile[1], min(tile[1] + TILE, cost.n))
        lines = slice(tile[0], tile[0] + len(index)) if everything else index
        i, j = _candidates(cost, bound, index, lines, columns)
        keep = (i < j) | ((i > j) & ~among[j])  # a pair of two rows is met twice: take it once
        i, j = i[keep], j[keep]
        pairs = Pairs(np.minimum(i, j), np.maximum(i, j), cost.pairs(i, j))
        return pairs.where(pairs.below(r))

    found: list[Pairs] = []
    n_found = 0
    for done, pairs in enumerate(threads.map(one, tiles), start=1):
        found.append(pairs)
        n_found += len(pairs)
        report(done, len(tiles), n_found)
    return Pairs.join(found)


def _candidates(
    cost: Cost, bound: np.ndarray, index: IntArray, lines: IntArray | slice, columns: slice
) -> tuple[IntArray, IntArray]:
    """The entries of one tile that pass the float32 filter, row by row."""
    from sparrot.kernels import count_hits, list_hits

    G = np.empty((len(index), columns.stop - columns.start), np.float32)
    cost.products(lines, cost, columns, G)
    counts = np.empty(len(index), np.int32)
    threshold = -bound[index]
    count_hits(G, bound[columns], threshold, counts)
    starts = np.zeros(len(index) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    hits: IntArray = np.empty(starts[-1], np.int32)
    list_hits(G, bound[columns], threshold, starts, hits)
    return np.repeat(index, counts), hits + np.int32(columns.start)
