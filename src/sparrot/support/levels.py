"""The one-variable equation: how high a point must rise to find mass one among given points.

Against points j with potentials u_j, the level of a point i is the v that solves

    sum_j [v + u_j - C_ij]_+ = mass,

a projection onto the simplex. The level of a point against all others *is* its potential at the
optimum; against a random part of them, with its share of the mass, it is an estimate of it; and
for a new point it gives the row of the affinity.
"""

from __future__ import annotations

import numpy as np

from sparrot.cost import Cost
from sparrot.engine import Threads
from sparrot.types import FloatArray, IntArray

_TILE_ENTRIES = 4_000_000  # of one block of scores


def levels_against(
    cost: Cost,
    rows: IntArray,
    other: Cost,
    u: FloatArray,
    mass: float,
    twin: IntArray,
    threads: Threads,
) -> tuple[FloatArray, IntArray]:
    """Levels of the points `rows` of `cost` against all points of `other`, and their supports.

    `u` are the potentials of `other`, a part of the same cost; `twin[k]` is the place there of the
    point `rows[k]` itself, which is left out, or -1. Float32 products: good for a start.
    """
    from sparrot.kernels import row_levels

    v = np.empty(len(rows))
    counts = np.empty(len(rows), np.int64)
    b = (u - other.shift).astype(np.float32)

    def block(start: int, stop: int) -> None:
        Q = np.empty((stop - start, other.n), np.float32)
        cost.products(rows[start:stop], other, slice(None), Q)
        own = np.flatnonzero(twin[start:stop] >= 0)
        Q[own, twin[start:stop][own]] = -np.inf
        row_levels(Q, b, mass, v[start:stop], counts[start:stop])

    threads.run(block, len(rows), max(16, _TILE_ENTRIES // other.n))
    return v + cost.shift[rows], counts


def simplex_levels(S: FloatArray, mass: float) -> FloatArray:
    """Solve `sum_j [v_i + S_ij]_+ = mass` for each row of a dense block of scores.

    Newton from the right on a convex piecewise linear function: monotone, finite. Entries may be
    minus infinity, but not all entries of a row.

    Examples
    --------
    >>> simplex_levels(np.array([[0.0, -0.5, -9.0]]), 1.0)
    array([0.75])
    """
    v: FloatArray = mass - S.max(axis=1)
    falling = np.arange(len(S))
    while len(falling):
        part = S[falling]
        positive = part + v[falling, None] > 0
        total = np.where(positive, part, 0.0).sum(axis=1)
        lower = (mass - total) / positive.sum(axis=1)
        moved = lower < v[falling]
        falling = falling[moved]
        v[falling] = lower[moved]
    return v
