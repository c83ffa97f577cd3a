"""What the functions of this room take alike: points to start from, and measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot._validation import as_points
from sparrot.errors import InvalidInputError


def as_indices(indices: Any, n: int, name: str = "sources") -> IntArray:
    """Indices of points, counted from zero, as an array; one index is an array of one."""
    given = np.atleast_1d(np.asarray(indices))
    fits = given.ndim == 1 and given.size and given.dtype.kind in "iu"
    if not fits or given.min() < 0 or given.max() >= n:
        raise InvalidInputError(
            f"{name} must be an index or a list of indices from 0 to {n - 1}, got {indices!r}"
        )
    return given.astype(np.intp)


def as_points_of(X: Any, n: int) -> PointArray:
    """The points of an affinity."""
    points = as_points(X)
    if len(points) != n:
        raise InvalidInputError(
            f"X must be the {n} points of the affinity, one a row, got shape {points.shape}"
        )
    return points


def as_measure(a: Any, n: int, name: str, each: str = "point") -> FloatArray:
    """Nonnegative weights of n points (or what `each` says), scaled to sum to one."""
    try:
        weights = np.array(a, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(1, np.nan)
    if weights.shape != (n,):
        raise InvalidInputError(
            f"{name} must be {n} weights, one a {each}, got shape {np.shape(a)}"
        )
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise InvalidInputError(
            f"{name} must be nonnegative finite weights that are not all zero; "
            f"the smallest is {weights.min():g}, the sum {weights.sum():g}"
        )
    return weights / weights.sum()


def shaped_as(sources: Any, distances: FloatArray) -> FloatArray:
    """One row a source; only the row where one index was given."""
    return distances[0] if np.ndim(sources) == 0 else distances
