"""From the name of a metric to costs.

`"sqeuclidean"` is `|x - y|^2 / 2`; `"cosine"` is `1 - cos(x, y)`, which is the same for normalised
points; `"precomputed"` takes the input for the cost itself and `"kernel"` for minus the cost; any
other name is the distance of scikit-learn with that name.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize

from sparrot.cost.matrix import MatrixCost
from sparrot.cost.points import PointCost, half_squared_distances
from sparrot.engine import require_memory
from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray, PointArray


def make_cost(X: PointArray, metric: str) -> PointCost | MatrixCost:
    """The cost over validated input, in units of its mean (for a kernel, in units of one)."""
    if metric == "kernel":
        return MatrixCost(-np.asarray(X, dtype=np.float64), unit=1.0)
    if metric == "precomputed":
        cost: PointCost | MatrixCost = MatrixCost(np.asarray(X, dtype=np.float64))
    elif metric in ("sqeuclidean", "cosine"):
        cost = PointCost(_unit_rows(X) if metric == "cosine" else X)
    else:
        D = _distances(X, X, metric)
        cost = MatrixCost((D + D.T) / 2)
    if not 0 < cost.unit < np.inf:
        raise InvalidInputError(
            f"the mean cost must be positive and finite, got {cost.unit:.3g}, and eps is relative "
            "to it; it is zero when all points are equal, and infinite when squares overflow: "
            "give points that differ, or rescale them"
        )
    return cost


def cost_block(X: PointArray, Y: PointArray, metric: str) -> FloatArray:
    """Costs between the rows of X and the rows of Y, in the units of the data.

    With `"precomputed"` and `"kernel"`, X is itself such a block.
    """
    if metric in ("precomputed", "kernel"):
        return np.asarray(X, dtype=np.float64) * (-1.0 if metric == "kernel" else 1.0)
    if metric in ("sqeuclidean", "cosine"):
        if metric == "cosine":
            X, Y = _unit_rows(X), _unit_rows(Y)
        return half_squared_distances(X, Y, Y.mean(axis=0, dtype=np.float64))
    return _distances(X, Y, metric)


def _unit_rows(X: PointArray) -> PointArray:
    zero = np.flatnonzero(~X.any(axis=1))
    if len(zero):
        raise InvalidInputError(
            f"metric='cosine' needs rows that are not zero, but row {zero[0]} is "
            f"({len(zero)} in all); drop them or use metric='sqeuclidean'"
        )
    scaled: PointArray = normalize(X)
    return scaled


def _distances(X: PointArray, Y: PointArray, metric: str) -> FloatArray:
    require_memory(
        24.0 * len(X) * len(Y),
        what=f"metric={metric!r} with {len(X)} x {len(Y)} points",
        remedy="metric='sqeuclidean' and metric='cosine' need no such matrix",
    )
    try:
        return np.asarray(pairwise_distances(X, Y, metric=metric), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"metric={metric!r} does not work here ({error}); use 'sqeuclidean', 'cosine', "
            "'precomputed', or a metric name of sklearn.metrics.pairwise_distances"
        ) from error
