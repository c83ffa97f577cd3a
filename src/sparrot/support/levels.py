"""The one-variable equation: how high a point must rise to find its mass among given points.

Against points j with potentials u_j, the level of a point i is the v that solves

    sum_j g([v + u_j - C_ij]_+) = mass

(for the quadratic regulariser, g(s) = s, a projection onto the simplex). The level of a point
against all others *is* its potential at the optimum; against a random part of them, with its share
of the mass, it is an estimate of it; and for a new point it gives the row of the affinity.
"""

from __future__ import annotations

import numpy as np

from sparrot.cost import Cost
from sparrot.engine import Threads
from sparrot.support.link import QUADRATIC, Link
from sparrot.types import FloatArray, IntArray

_TILE_ENTRIES = 4_000_000  # of one block of scores
_WORTH_COMPILING = 1_000_000  # entries of a block


def levels_against(
    cost: Cost,
    rows: IntArray,
    other: Cost,
    u: FloatArray,
    link: Link,
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
        row_levels(Q, b, mass, link.factor, link.power, v[start:stop], counts[start:stop])

    threads.run(block, len(rows), max(16, _TILE_ENTRIES // other.n))
    return v + cost.shift[rows], counts


def simplex_levels(S: FloatArray, mass: float | FloatArray, link: Link = QUADRATIC) -> FloatArray:
    """Solve `sum_j g([v_i + S_ij]_+) = mass_i` for each row of a dense block of scores.

    Newton from the right on a convex increasing function: monotone, and finite for the quadratic
    link. Entries may be minus infinity, but not all entries of a row.

    Examples
    --------
    >>> simplex_levels(np.array([[0.0, -0.5, -9.0]]), 1.0)
    array([0.75])
    """
    mass = np.broadcast_to(np.asarray(mass, dtype=np.float64), len(S))
    v: FloatArray = link.score(mass) - S.max(axis=1)
    falling = np.arange(len(S))
    for _ in range(200):
        if len(falling) == 0:
            break
        lower = _newton_step(S[falling], v[falling], mass[falling], link)
        moved = lower < v[falling]
        falling = falling[moved]
        v[falling] = lower[moved]
    return v


def block_levels(S: FloatArray, mass: float, link: Link) -> FloatArray:
    """As `simplex_levels`; large blocks are worth a compiled loop."""
    if S.size < _WORTH_COMPILING:
        return simplex_levels(S, mass, link)
    from sparrot.kernels import row_levels

    v, counts = np.empty(len(S)), np.empty(len(S), np.int64)
    row_levels(S, np.zeros(S.shape[1]), mass, link.factor, link.power, v, counts)
    return v


def _newton_step(S: FloatArray, v: FloatArray, mass: FloatArray, link: Link) -> FloatArray:
    positive = S + v[:, None] > 0
    if link.linear:  # depends on the support alone, so that it stops when the support does
        return (mass - np.where(positive, S, 0.0).sum(axis=1)) / positive.sum(axis=1)
    P = np.where(positive, S + v[:, None], 0.0)
    slope = np.where(positive, link.slope(P), 0.0).sum(axis=1)
    return v - (link.entry(P).sum(axis=1) - mass) / slope
