"""The one-variable equation: how high a point must rise to find its mass among given points.

Against points j with potentials u_j, the level of a point i is the v that solves

    sum_j g([v + u_j - C_ij]_+) = mass

(for the quadratic regulariser, g(s) = s, a projection onto the simplex). The level of a point
against all others *is* its potential at the optimum; against a random part of them, with its share
of the mass, it is an estimate of it; and for a new point it gives the row of the affinity.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparrot.cost import LEAF, Cost
from sparrot.engine import Threads
from sparrot.support.link import QUADRATIC, Link
from sparrot.support.screening import as_slice
from sparrot.support.tiles import Scratch, leaf_maxima, runs
from sparrot.types import BoolArray, Float32Array, FloatArray, IntArray

_NEAR = 2  # leaves that give a first bound
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
    v = np.empty(len(rows))
    counts = np.empty(len(rows), np.int64)
    b = (u - other.shift).astype(np.float32)
    highest = leaf_maxima(u)
    scratch = Scratch()

    def block(start: int, stop: int) -> None:
        group = rows[start:stop]
        levels = _Levels(len(group), other.n, link, mass)
        beyond = np.zeros(len(highest), bool)  # leaves that were taken already
        for alive in _nearest_first(cost, group, other, highest, levels):
            for columns in runs(alive & ~beyond, other.n):
                Q = scratch.tile(len(group), columns.stop - columns.start)
                cost.products(as_slice(group), other, columns, Q)
                own = np.flatnonzero(
                    (twin[start:stop] >= columns.start) & (twin[start:stop] < columns.stop)
                )
                Q[own, twin[start:stop][own] - columns.start] = -np.inf
                levels.add(Q, b[columns])
            beyond |= alive
        v[start:stop], counts[start:stop] = levels.settled()

    threads.run(block, len(rows), LEAF)
    return v + cost.shift[rows], counts


def _nearest_first(
    cost: Cost, group: IntArray, other: Cost, highest: FloatArray, levels: _Levels
) -> Iterator[BoolArray]:
    """Leaves of `other` to look at: near ones and then, knowing their level, all within reach.

    Near are those with the smallest gap and those at the same place in the order of the points.
    """
    leaves = np.unique(group // LEAF)
    gap = np.min([cost.gaps(int(leaf), other) for leaf in leaves], axis=0)
    place = leaves * len(highest) // -(-cost.n // LEAF)
    near = np.zeros(len(highest), bool)
    near[np.argsort(gap - highest, kind="stable")[:_NEAR]] = True
    for aside in (-1, 0, 1):
        near[np.clip(place + aside, 0, len(highest) - 1)] = True
    yield near
    yield (levels.bounds() + cost.shift[group]).max() + highest > gap


class _Levels:
    """Levels of some rows, from columns that come one tile after the other."""

    def __init__(self, n_rows: int, n_columns: int, link: Link, mass: float) -> None:
        self._arguments = mass, link.factor, link.power
        self._scores = np.empty((n_rows, n_columns))  # as good as no memory until it is written
        self._counts = np.zeros(n_rows, np.int64)
        self._settled = np.zeros(n_rows, np.int64)
        self._level = np.full(n_rows, np.inf)

    def add(self, Q: Float32Array | FloatArray, b: Float32Array | FloatArray) -> None:
        """Take in the columns `Q + b`."""
        from sparrot.kernels import gather_scores

        gather_scores(
            Q, b, *self._arguments, self._scores, self._counts, self._settled, self._level
        )

    def bounds(self) -> FloatArray:
        """Upper bounds on the levels, from the columns so far."""
        from sparrot.kernels import settle_levels

        settle_levels(self._scores, self._counts, *self._arguments, self._level)
        self._settled[:] = self._counts
        return self._level

    def settled(self) -> tuple[FloatArray, IntArray]:
        """The levels, and how many columns each rests on."""
        return self.bounds(), self._counts


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
    levels = _Levels(S.shape[0], S.shape[1], link, mass)
    levels.add(S, np.zeros(S.shape[1]))
    return levels.settled()[0]


def _newton_step(S: FloatArray, v: FloatArray, mass: FloatArray, link: Link) -> FloatArray:
    positive = S + v[:, None] > 0
    if link.linear:  # depends on the support alone, so that it stops when the support does
        return (mass - np.where(positive, S, 0.0).sum(axis=1)) / positive.sum(axis=1)
    P = np.where(positive, S + v[:, None], 0.0)
    slope = np.where(positive, link.slope(P), 0.0).sum(axis=1)
    return v - (link.entry(P).sum(axis=1) - mass) / slope
