"""From the name of a metric to costs.

`"sqeuclidean"` is `|x - y|^2 / 2`; `"cosine"` is `1 - cos(x, y)`, which is the same for normalized
points; `"precomputed"` takes the input for the cost itself and `"kernel"` for minus the cost; any
other name is the distance of scikit-learn with that name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import distance as scipy_distances
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import distance_metrics
from sklearn.preprocessing import normalize

from sparrot._types import FloatArray, PointArray
from sparrot.cost._base import Cost
from sparrot.cost._matrix import MatrixCost
from sparrot.cost._points import PointCost, half_squared_distances
from sparrot.engine import require_memory
from sparrot.errors import InvalidInputError

_ROUNDING = 2.0**-50
_SMALLEST = float(np.finfo(np.float64).tiny)  # whose reciprocal is finite


def make_cost(X: PointArray, metric: str) -> Cost:
    """The cost over validated input, in units of its mean (for a kernel, in units of one)."""
    if metric == "kernel":
        return MatrixCost(-np.asarray(X, dtype=np.float64), unit=1.0)
    if metric == "precomputed":
        cost: Cost = MatrixCost(np.asarray(X, dtype=np.float64))
        if not _SMALLEST <= cost.unit < np.inf:
            raise InvalidInputError(
                f"eps is relative to the mean cost, which must be positive, got {cost.unit:.3g}",
                value=cost.unit,
                remedy="for a matrix of any sign use {sparrot.project(-C / eps)}",
            )
        return cost
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        cost = _from_points(X, metric)
    size = max(float(X.max()), -float(X.min()))
    if not max((_ROUNDING * size) * (_ROUNDING * size), _SMALLEST) < cost.unit < np.inf:
        raise InvalidInputError(
            f"the mean cost must be positive and finite, got {cost.unit:.3g}, and eps is relative "
            "to it; it vanishes when all points are equal or squares underflow, and is infinite "
            "when squares overflow",
            value=cost.unit,
            remedy="give points that differ, or rescale them",
        )
    return cost


def _from_points(X: PointArray, metric: str) -> Cost:
    if metric in _METRICS:
        return _METRICS[metric].cost(X)
    D = _distances(X, X, metric)
    return MatrixCost((D + D.T) / 2)


def costs_to(Y: PointArray, metric: str) -> Callable[[PointArray], FloatArray]:
    """A function from points X to their costs with Y, in the units of the data.

    What depends on Y alone is computed once. With `"precomputed"` and `"kernel"` the rows of X are
    themselves the costs (or minus the costs).
    """
    if metric in ("precomputed", "kernel"):
        sign = -1.0 if metric == "kernel" else 1.0
        return lambda X: sign * np.asarray(X, dtype=np.float64)
    if metric in _METRICS:
        return _METRICS[metric].costs_to(Y)
    return lambda X: _distances(X, Y, metric)


class _Metric(NamedTuple):
    """A metric that needs no n x n matrix: its cost, and costs of new points with given ones."""

    cost: Callable[[PointArray], Cost]
    costs_to: Callable[[PointArray], Callable[[PointArray], FloatArray]]


def _cosines_to(Y: PointArray) -> Callable[[PointArray], FloatArray]:
    to_unit = half_squared_distances(_unit_rows(Y))
    return lambda X: to_unit(_unit_rows(X))


_METRICS = {
    "sqeuclidean": _Metric(PointCost, half_squared_distances),
    "cosine": _Metric(lambda X: PointCost(_unit_rows(X)), _cosines_to),
}


def _unit_rows(X: PointArray) -> FloatArray:
    zero = np.flatnonzero(~X.any(axis=1))
    if len(zero):
        raise InvalidInputError(
            f"'cosine' needs rows that are not zero, but row {zero[0]} is ({len(zero)} in all)",
            parameter="metric",
            value="cosine",
            remedy=["drop them", "use {metric='sqeuclidean'}"],
        )
    scaled: FloatArray = normalize(X.astype(np.float64))
    return scaled


def _distances(X: PointArray, Y: PointArray, metric: str) -> FloatArray:
    require_memory(
        24.0 * len(X) * len(Y),
        what=f"metric={metric!r} with {len(X)} x {len(Y)} points",
        remedy="use {metric='sqeuclidean'} or {metric='cosine'}, which need no such matrix",
    )
    try:
        return np.asarray(pairwise_distances(X, Y, metric=metric), dtype=np.float64)
    except (ValueError, TypeError) as error:
        known = sorted({*distance_metrics(), "chebyshev", "correlation", "sqeuclidean"})
        unknown = metric not in known and metric not in dir(scipy_distances)
        raise InvalidInputError(
            f"{metric!r} {'is not known' if unknown else f'does not work here ({error})'}",
            parameter="metric",
            value=metric,
            remedy=f"take one of {', '.join(map(repr, known))}, or another name that "
            "sklearn.metrics.pairwise_distances takes",
        ) from error
