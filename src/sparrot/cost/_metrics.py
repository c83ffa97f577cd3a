"""From the name of a metric to costs.

`"sqeuclidean"` is `|x - y|^2 / 2`; `"cosine"` is `1 - cos(x, y)`, which is the same for normalized
points; `"precomputed"` takes the input for the cost itself and `"kernel"` for minus the cost; any
other name is the distance of scikit-learn with that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import distance_metrics
from sklearn.neighbors import VALID_METRICS
from sklearn.preprocessing import normalize

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot.cost._base import Cost
from sparrot.cost._blocks import BlockedPoints
from sparrot.cost._matrix import MatrixCost
from sparrot.cost._points import PointCost, half_squared_distances, shifted_costs
from sparrot.engine import Rows, require_memory
from sparrot.errors import InvalidInputError

_ROUNDING = 2.0**-50
_SMALLEST = float(np.finfo(np.float64).tiny)  # whose reciprocal is finite


def make_cost(X: PointArray | Rows, metric: str) -> Cost:
    """The cost over validated input, in units of its mean (for a kernel, in units of one).

    Points may be on the workers of a cluster, if no n x n matrix is needed.
    """
    if isinstance(X, Rows):
        require_tiles(metric)
    if metric == "kernel":
        assert not isinstance(X, Rows)
        _require_digits(X)
        return MatrixCost(-np.asarray(X, dtype=np.float64), unit=1.0)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        if metric == "precomputed":
            cost: Cost = MatrixCost(np.asarray(X, dtype=np.float64))
        else:
            cost = _from_points(X, metric)
    if not max(_rounding_of_costs(X, metric), _SMALLEST) < cost.unit < np.inf:
        raise _no_scale(X, metric, cost.unit)
    return cost


def require_tiles(metric: str) -> None:
    """Raise for points on a cluster and a metric that needs an n x n matrix."""
    if metric not in _METRICS:
        raise InvalidInputError(
            f"{metric!r} needs an n x n matrix of costs, and points on a cluster have none",
            parameter="metric",
            value=metric,
            remedy=["use {metric='sqeuclidean'} or {metric='cosine'}", "leave out {engine}"],
        )


def require_metric(metric: str) -> None:
    """Raise for a metric that is not known.

    Examples
    --------
    >>> require_metric("cosine"), require_metric("canberra")
    (None, None)
    >>> require_metric("manhatan")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sparrot.errors.InvalidInputError: metric 'manhatan' is not known; take one of ...
    """
    if metric not in _METRICS and metric != "precomputed" and not _is_named(metric):
        distances_between(np.eye(2), np.eye(2), metric)  # scikit-learn has the last word


def _require_digits(K: PointArray) -> None:
    """Raise for a kernel so large that the row sums of its projection have no digits left."""
    largest = float(np.abs(K).max(where=np.isfinite(K), initial=0.0))
    if largest * _ROUNDING >= 1:
        raise InvalidInputError(
            f"has entries up to {largest:.3g}, beside which row sums of one drown in rounding",
            parameter="K",
            value=largest,
            remedy="divide it by its largest entry",
        )


def _no_scale(X: PointArray | Rows, metric: str, unit: float) -> InvalidInputError:
    """The error of costs whose mean vanishes, is infinite or not a number."""
    remedy: str | list[str] = "rescale the points"
    if metric == "precomputed" and unit < np.inf:
        what = f"eps is relative to the mean cost, which must be positive, got {unit:.3g}"
        remedy = "for a matrix of any sign use {sparrot.project(-C / eps)}"
    elif metric == "precomputed":
        what, remedy = "the sum of all costs is infinite", "divide them by the largest"
    elif _are_equal(X):
        what = "all points are equal, and an affinity is between points that differ"
        remedy = "give points that differ"
    elif unit < np.inf:
        what = f"the mean cost is {unit:.3g}: points are equal but for rounding, or squares "
        what, remedy = what + "underflow", ["give points that differ", "rescale them"]
    else:
        what = f"the mean cost must be finite, got {unit:.3g}, for squares overflow"
        if metric == "correlation":
            what, remedy = what + ", or a row is constant", ["drop such rows", "rescale the points"]
    return InvalidInputError(what, value=unit, remedy=remedy)


def _rounding_of_costs(X: PointArray | Rows, metric: str) -> float:
    """A mean cost that is no more than rounding."""
    if metric == "precomputed":
        return 0.0
    return (_METRICS[metric].rounding if metric in _METRICS else _unless_equal)(X)


def _from_points(X: PointArray | Rows, metric: str) -> Cost:
    if metric in _METRICS:
        return _METRICS[metric].cost(X)
    assert not isinstance(X, Rows)
    D = distances_between(X, X, metric)
    return MatrixCost((D + D.T) / 2)


def costs_to(
    Y: PointArray, metric: str, *, shifted: bool = False
) -> Callable[[PointArray], FloatArray]:
    """A function from points X to their costs with Y, in the units of the data.

    What depends on Y alone is computed once. With `"precomputed"` and `"kernel"` the rows of X are
    themselves the costs (or minus the costs). With `shifted`, all costs of a row may
    lack the same number: rows of an affinity do not depend on it, and beside that of a far point
    the rest would have no digits left.
    """
    if metric in ("precomputed", "kernel"):
        sign = -1.0 if metric == "kernel" else 1.0
        return lambda X: sign * np.asarray(X, dtype=np.float64)
    if metric in _METRICS:
        known = _METRICS[metric]
        return ((shifted and known.shifted) or known.costs_to)(Y)
    return lambda X: distances_between(X, Y, metric)


def with_new(
    X: PointArray, Y: PointArray, metric: str
) -> tuple[IntArray, PointCost, PointCost] | None:
    """Costs of new points X and of points Y, for tiles of the ones against the others.

    First come the places in X of the points that the first cost is of: others are too far off for
    products in float32. None where the metric has no such cost, or all points Y are equal.
    """
    if metric not in _METRICS:
        return None
    try:
        there = make_cost(Y, metric)
    except InvalidInputError:
        return None
    assert isinstance(there, PointCost)
    rows, here = there.of_new(_unit_rows(X) if metric == "cosine" else X)
    return rows, here, there


def _unless_equal(X: PointArray | Rows) -> float:
    """No rounding, unless all points are equal: then any mean cost is rounding."""
    return np.inf if _are_equal(X) else 0.0


def _are_equal(X: PointArray | Rows) -> bool:
    """Whether all points are equal."""
    low, high = _extent(X)
    return bool((low == high).all())


def _extent(X: PointArray | Rows) -> tuple[FloatArray, FloatArray]:
    """The least and the largest entry of every column."""
    return X.extent() if isinstance(X, Rows) else (X.min(axis=0), X.max(axis=0))


class _Metric(NamedTuple):
    """A metric that needs no n x n matrix: its cost, and costs of new points with given ones.

    `shifted` gives the latter up to a number for each new point, where that is more accurate.
    `rounding` is a mean cost that points may have by rounding alone, though all of them are equal.
    """

    cost: Callable[[PointArray | Rows], Cost]
    costs_to: Callable[[PointArray], Callable[[PointArray], FloatArray]]
    shifted: Callable[[PointArray], Callable[[PointArray], FloatArray]] | None = None
    rounding: Callable[[PointArray | Rows], float] = _unless_equal


def _cosines_to(Y: PointArray) -> Callable[[PointArray], FloatArray]:
    to_unit = half_squared_distances(_unit_rows(Y))
    return lambda X: to_unit(_unit_rows(X))


def _rounding_of_squares(X: PointArray | Rows) -> float:
    low, high = _extent(X)
    size = _ROUNDING * max(float(high.max()), -float(low.min()))
    return X.shape[1] * size * size


def _squared(X: PointArray | Rows) -> Cost:
    return BlockedPoints(X) if isinstance(X, Rows) else PointCost(X)


def _cosine(X: PointArray | Rows) -> Cost:
    if isinstance(X, Rows):
        return BlockedPoints(X.mapped(_unit_rows))
    return PointCost(_unit_rows(X))


_METRICS = {
    "sqeuclidean": _Metric(_squared, half_squared_distances, shifted_costs, _rounding_of_squares),
    "cosine": _Metric(
        _cosine,
        _cosines_to,
        rounding=lambda X: X.shape[1] * _ROUNDING**2,
    ),
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
    largest = np.abs(X).max(axis=1, keepdims=True).astype(np.float64)
    scaled: FloatArray = normalize(X / largest)  # so that no square overflows or underflows
    return scaled


def distances_between(
    X: PointArray, Y: PointArray, metric: Any, params: Mapping[str, Any] | None = None
) -> FloatArray:
    """The matrix of distances by scikit-learn's metric of that name (or by a function)."""
    require_memory(
        24.0 * len(X) * len(Y),
        what=f"metric={metric!r} with {len(X)} x {len(Y)} points",
        remedy="use {metric='sqeuclidean'} or {metric='cosine'}, which need no such matrix",
    )
    try:
        return np.asarray(pairwise_distances(X, Y, metric=metric, **params or {}), dtype=np.float64)
    except (ValueError, TypeError) as error:
        unknown = not callable(metric) and not _is_named(metric)
        if params and not unknown:
            raise InvalidInputError(
                f"{dict(params)!r} does not suit the metric {metric!r} ({error})",
                parameter="metric_kwds",
                value=params,
                remedy=["leave it out", "take a {metric} that has such arguments"],
            ) from error
        raise InvalidInputError(
            f"{metric!r} {'is not known' if unknown else f'does not work here ({error})'}",
            parameter="metric",
            value=metric,
            remedy=f"take one of {', '.join(map(repr, _names()))}, or another name that "
            "sklearn.metrics.pairwise_distances takes",
        ) from error


def _names() -> list[str]:
    """Metrics of scikit-learn that work here, and some of scipy's."""
    return sorted(
        {*distance_metrics(), "chebyshev", "correlation", "sqeuclidean"} - {"nan_euclidean"}
    )


def _is_named(metric: str) -> bool:
    """Whether scikit-learn has a metric of that name, of its own or of scipy's."""
    return metric in {*_names(), *VALID_METRICS["brute"]}
