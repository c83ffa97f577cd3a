"""Points that spoil the scale of a data set: a few that are far from all, and duplicates."""

from __future__ import annotations

import numpy as np

from sparrot.cost import MatrixCost, PointCost

_FEW = 0.01  # of the points
_MUCH = 0.5  # of the mean cost


def heavy_points(cost: PointCost | MatrixCost) -> str:
    """Which few points make up most of the mean cost, a sum of one share for each; "" if none.

    Examples
    --------
    >>> heavy_points(PointCost(np.r_[np.linspace(0, 1, 199), 1e3][:, None]))
    '1 of 200 points (row 199) makes up 99% of the mean cost'
    """
    shares = cost.shares()
    order = np.argsort(shares)[::-1]
    carried = shares[order].cumsum()
    n_few = 1 + int(np.searchsorted(carried, _MUCH))
    if cost.n < 1 / _FEW or n_few > max(1.0, _FEW * cost.n):
        return ""
    named = ", ".join(str(i) for i in order[:n_few][:5]) + (", ..." if n_few > 5 else "")
    row, make = ("row", "makes") if n_few == 1 else ("rows", "make")
    share = carried[n_few - 1]
    return f"{n_few} of {cost.n} points ({row} {named}) {make} up {share:.0%} of the mean cost"


def duplicates(cost: PointCost | MatrixCost) -> str:
    """How many points equal an earlier one; "" if none does, or if there are only costs.

    Examples
    --------
    >>> duplicates(PointCost(np.array([[0.0], [1.0], [0.0], [0.0]])))
    '2 of 4 points are duplicates of others'
    """
    if isinstance(cost, MatrixCost):
        return ""
    n_equal = cost.n - len(np.unique(cost.points, axis=0))
    are = "is a duplicate of another" if n_equal == 1 else "are duplicates of others"
    return f"{n_equal} of {cost.n} points {are}" if n_equal else ""
