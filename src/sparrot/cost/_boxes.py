r"""Near points in a row, boxes around them, and the pairs that boxes rule out.

Points are put in an order in which near ones stand next to each other, by halving them again and
again along the direction in which they spread most. Consecutive points, a leaf, then fill a small
box. The distance of a point from a box is at most that from any point in the box; so where
ceilings r of some points and u of another satisfy

.. math:: \max_i r_i + u_j \le \tfrac12 \operatorname{dist}(z_j, \mathrm{box})^2,

no pair of these can carry mass, and no product of theirs is needed. Boxes of leaves rule out many
points at once, then each point is held against the boxes of the rows. Where no few directions hold
much of the spread, boxes overlap whatever the order, and none is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.cost._base import FLOAT32_ROUNDING

LEAF = 256  # consecutive points that share a box
DIRECTIONS = 12  # leading principal directions that the order looks at
_SAMPLE = 1024  # points that find the direction in which a piece is halved
_LEAVES = 16  # that are held against others at a time
_WORTH_ORDERING = 0.3  # share of the spread that they must hold
_UNDERFLOW = 1e-18  # far more than the root of what float32 cannot tell from zero


def spatial_order(Y: FloatArray) -> IntArray:
    """A permutation that puts near points next to each other, by their leading coordinates."""
    order, Y = np.arange(len(Y)), Y.copy()
    pieces = [(0, len(Y))]
    while pieces:
        start, stop = pieces.pop()
        n_leaves = -(-(stop - start) // LEAF)
        if n_leaves > 1:
            half, piece = LEAF * (n_leaves // 2), slice(start, stop)
            places = np.argpartition(Y[piece] @ _widest(Y[piece]), half)
            order[piece], Y[piece] = order[piece][places], Y[piece][places]
            pieces += [(start, start + half), (start + half, stop)]
    return order


def is_worth_ordering(shares: FloatArray) -> bool:
    """Whether few directions hold enough of the spread; else boxes overlap whatever the order."""
    return bool(shares[:DIRECTIONS].sum() >= _WORTH_ORDERING)


def _widest(Y: FloatArray) -> FloatArray:
    """The direction of largest variance, by some of the points."""
    some = Y[:: -(-len(Y) // _SAMPLE)]
    some = some - some.mean(axis=0)
    direction: FloatArray = np.linalg.eigh(some.T @ some)[1][:, -1]
    return direction


class Leaves:
    """Boxes around every `LEAF` consecutive points, without the points.

    Parameters
    ----------
    y : (n, k) coordinates in float32, no farther apart than the points.
    error : how far rounding may put each point from its place.
    """

    def __init__(self, y: Float32Array, error: FloatArray) -> None:
        starts = np.arange(0, len(y), LEAF)
        self.low = np.minimum.reduceat(y, starts, axis=0)
        self.high = np.maximum.reduceat(y, starts, axis=0)
        self.error: FloatArray = np.maximum.reduceat(error, starts)

    def ceilings(self, rows: IntArray, r: FloatArray) -> FloatArray:
        """The highest ceiling of some rows in each leaf."""
        highest = np.full(len(self.low), -np.inf)
        np.maximum.at(highest, rows // LEAF, r)
        return highest

    def may_meet(self, r: FloatArray, other: Leaves, u: FloatArray) -> bool:
        """Whether ceilings r of leaves here and u of leaves there leave a pair of points in reach.

        A leaf of which no point counts has a ceiling of minus infinity. One box around all leaves
        is looked at first; then a few leaves at a time, for where some meet they soon do.
        """
        here = self.low, self.high, self.error, r
        there = other.low, other.high, other.error, u
        if not _in_reach(_around(*here), _around(*there)):
            return False
        groups = (slice(k, k + _LEAVES) for k in range(0, len(r), _LEAVES))
        return any(_in_reach(tuple(array[group] for array in here), there) for group in groups)


def _around(low: Any, high: Any, error: Any, r: Any) -> tuple[Any, ...]:
    """One box around several."""
    return low.min(axis=0)[None], high.max(axis=0)[None], error.max()[None], r.max()[None]


def _in_reach(here: tuple[Any, ...], there: tuple[Any, ...]) -> bool:
    """Whether points in some boxes may be in reach of points in others."""
    (low, high, error, r), (other_low, other_high, other_error, u) = here, there
    gap = np.maximum(low[:, None] - other_high, other_low - high[:, None])
    gap = np.square(np.maximum(gap, 0, dtype=np.float64)).sum(axis=2)
    reach = np.sqrt(2 * np.maximum(r[:, None] + u, 0)) + error[:, None] + other_error
    counts = (r != -np.inf)[:, None] & (u != -np.inf)
    return bool((counts & ~(gap > _widened(low) * reach * reach)).any())


def _widened(y: Float32Array) -> float:
    """A factor on squared distances: a sum of k squares in float32 errs by less than k + 8."""
    return 1 + 2 * (y.shape[1] + 8) * FLOAT32_ROUNDING


class Boxes:
    """Boxes around every `LEAF` consecutive points.

    Parameters
    ----------
    y : (n, k) coordinates in float32, no farther apart than the points; kept.
    length : how far each point is from the center.

    Attributes
    ----------
    error : how far rounding may put each point from its place: by one rounding to float32 and,
        where the last coordinate is the length of what others leave, by the root of some roundings
        to float64, which is of the same order. And by what is lost where squares underflow.
    """

    def __init__(self, y: Float32Array, length: FloatArray) -> None:
        self.error: FloatArray = 8 * FLOAT32_ROUNDING * length + _UNDERFLOW
        self._y = y
        self.leaves = Leaves(y, self.error)

    def within(
        self, y: Float32Array, error: FloatArray, r: FloatArray, u: FloatArray, first: int
    ) -> IntArray:
        """The points here, from `first` on, that points y with ceilings r may reach.

        `error` are the errors of the points y, u the ceilings of the points here.
        """
        from sparrot._kernels import within_boxes

        rows, leaves = np.arange(0, len(y), LEAF), np.arange(0, len(u), LEAF)
        there = self.leaves
        out = np.empty(len(u), np.int32)
        count = within_boxes(
            np.minimum.reduceat(y, rows, axis=0), np.maximum.reduceat(y, rows, axis=0),
            np.maximum.reduceat(r, rows), np.maximum.reduceat(error, rows),
            there.low, there.high, np.maximum.reduceat(u, leaves), there.error,
            self._y, u, self.error,
            _widened(y), LEAF, first, np.empty(len(rows), np.bool_), out,
        )  # fmt: skip
        return out[:count].copy()
