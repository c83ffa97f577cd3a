"""An order of the points in which near ones stand next to each other.

Consecutive points then fill a small box, and what is far from a box needs no tile: all these pairs
are ruled out by one bound. The order comes from halving the points again and again along
the direction in which they spread most. Where no few directions hold much of the spread, boxes
overlap whatever the order, and none is made.
"""

from __future__ import annotations

import numpy as np

from sparrot.types import FloatArray, IntArray, PointArray

LEAF = 256  # consecutive points that share a box
_DIRECTIONS = 12  # leading principal directions that the order looks at
_WORTH_ORDERING = 0.3  # share of the spread that they must hold
_BLOCK = 8192


def spatial_order(
    X: PointArray, centre: FloatArray, V: FloatArray, shares: FloatArray
) -> IntArray | None:
    """A permutation that puts near points next to each other; None if there is none to gain.

    V are leading directions of the points, with their shares of the spread.
    """
    if not is_worth_ordering(shares):
        return None
    V = V[:, :_DIRECTIONS]
    Y = np.concatenate([(X[k : k + _BLOCK] - centre) @ V for k in range(0, len(X), _BLOCK)])
    order = np.arange(len(X))
    pieces = [(0, len(X))]
    while pieces:
        start, stop = pieces.pop()
        n_leaves = -(-(stop - start) // LEAF)
        if n_leaves > 1:
            half = LEAF * (n_leaves // 2)
            part = order[start:stop]
            order[start:stop] = part[np.argpartition(_widest(Y[part]), half)]
            pieces += [(start, start + half), (start + half, stop)]
    return order


def is_worth_ordering(shares: FloatArray) -> bool:
    """Whether few directions hold enough of the spread; else boxes overlap whatever the order."""
    return bool(shares[:_DIRECTIONS].sum() >= _WORTH_ORDERING)


def _widest(Y: FloatArray) -> FloatArray:
    """Coordinates along the direction of largest variance."""
    Y = Y - Y.mean(axis=0)
    coordinates: FloatArray = Y @ np.linalg.eigh(Y.T @ Y)[1][:, -1]
    return coordinates
