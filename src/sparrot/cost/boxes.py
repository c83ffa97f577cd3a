r"""Boxes around points that stand next to each other, and what they cannot reach.

Between a point and a box the distance is at most that to any point in the box. So where ceilings r
of some points and u of another satisfy

.. math:: \max_i r_i + u_j \le \tfrac12 \operatorname{dist}(z_j, \mathrm{box})^2,

no pair of these can carry mass, and no product of theirs is needed. Boxes of leaves rule out many
points at once, then each point is held against the boxes of the rows.
"""

from __future__ import annotations

import numpy as np

from sparrot.cost.base import FLOAT32_ROUNDING
from sparrot.cost.order import LEAF
from sparrot.types import Float32Array, FloatArray, IntArray


class Boxes:
    """Boxes around every `LEAF` consecutive points.

    Parameters
    ----------
    y : (n, k) coordinates in float32, no farther apart than the points; kept.
    length : how far each point is from the centre.
    """

    def __init__(self, y: Float32Array, length: FloatArray) -> None:
        self._y = y
        self._length = length
        self._low, self._high = _edges(y)
        self._longest = leaf_maxima(length)

    def within(
        self, y: Float32Array, length: FloatArray, r: FloatArray, u: FloatArray, first: int
    ) -> IntArray:
        """The points here, from `first` on, that points y with ceilings r may reach.

        u are the ceilings here.
        """
        from sparrot.kernels import within_boxes

        low, high = _edges(y)
        # A sum of k squares in float32 errs by less than k + 8 roundings, a coordinate by one.
        wider = 1 + 2 * (y.shape[1] + 8) * FLOAT32_ROUNDING
        out = np.empty(len(u), np.int32)
        count = within_boxes(
            low, high, leaf_maxima(r), 2 * FLOAT32_ROUNDING * leaf_maxima(length),
            self._low, self._high, leaf_maxima(u), 2 * FLOAT32_ROUNDING * self._longest,
            self._y, u, 2 * FLOAT32_ROUNDING * self._length,
            wider, LEAF, first, out,
        )  # fmt: skip
        return out[:count].copy()


def leaf_maxima(x: FloatArray) -> FloatArray:
    """The largest of each leaf of values."""
    return np.maximum.reduceat(x, np.arange(0, len(x), LEAF))


def _edges(y: Float32Array) -> tuple[Float32Array, Float32Array]:
    """The lower and the upper edges of the box around each leaf."""
    starts = np.arange(0, len(y), LEAF)
    return np.minimum.reduceat(y, starts, axis=0), np.maximum.reduceat(y, starts, axis=0)
