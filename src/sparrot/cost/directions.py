r"""Leading directions of the points, and how many of them make a good filter.

Let V be orthonormal directions and :math:`y = (V^T z, |z - V V^T z|)` the coordinates along these
and the length of what they leave out. By Cauchy and Schwarz

.. math:: z_i \cdot z_j \le y_i \cdot y_j, \qquad |y_i| = |z_i|,

so that a cost computed from y is never above the cost itself. Where few directions hold most of the
spread, tiles of y rule out nearly as many pairs as tiles of z, for less.
"""

from __future__ import annotations

import numpy as np

from sparrot.types import FloatArray, PointArray

_SAMPLE = 1024  # points that find the directions, and as many that judge them
_ROWS = 128  # of these are held against all of them
_NEAREST = 1  # rank of the neighbour whose cost a filter is tried at
_SIZES = (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)
_WORTH = 0.75  # share of the time that a filter may take
# Time in units of one coordinate of one pair in a tile: what a tile costs without any, and what an
# exact cost takes, with any number of coordinates and for each of them.
_TILE, _EXACT, _EXACT_COORDINATE = 35.0, 400.0, 35.0


def leading_directions(X: PointArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal directions (p, k) of a sample of points, and the share each has of the spread."""
    S = _sample(X, 0) - centre
    tall = S.shape[0] >= S.shape[1]
    values, U = np.linalg.eigh(S.T @ S if tall else S @ S.T)
    keep = values > 1e-10 * max(values[-1], 0.0)
    values, U = values[keep][::-1], U[:, keep][:, ::-1]
    k = _SIZES[-1]
    V = U[:, :k] if tall else np.linalg.qr(S.T @ U[:, :k])[0]
    return np.ascontiguousarray(V), values[:k] / max(values.sum(), np.finfo(float).tiny)


def filter_directions(X: PointArray, centre: FloatArray, V: FloatArray) -> FloatArray | None:
    """As many of the directions as make the cheapest filter; None if all coordinates are as good.

    Other points judge: for each of a few the cost of a near neighbour is the threshold, and pairs
    that pass it by the filter must be looked at exactly.
    """
    p = X.shape[1]
    if p <= _SIZES[0] or len(X) < _SAMPLE:
        return None
    z = _sample(X, 1) - centre
    Y, h = z @ V, np.square(z).sum(axis=1) / 2
    rows = slice(0, _ROWS)
    C = h[rows, None] + h - z[rows] @ z.T
    threshold = np.partition(C, _NEAREST, axis=1)[:, _NEAREST, None]  # the point itself is first

    def time(size: int, cost: FloatArray) -> float:
        return _TILE + size + float(np.mean(cost <= threshold)) * (_EXACT + _EXACT_COORDINATE * p)

    best, least = None, _WORTH * time(p, C)
    for k in (k for k in _SIZES if k <= V.shape[1]):
        y = with_rest(Y[:, :k], 2 * h)
        needed = time(k + 1, h[rows, None] + h - y[rows] @ y.T)
        if needed < least:
            best, least = k, needed
    return None if best is None else V[:, :best]


def with_rest(Y: FloatArray, squares: FloatArray) -> FloatArray:
    """Coordinates Y of points with these squared lengths, and the length of what they leave out."""
    rest = np.sqrt(np.maximum(squares - np.square(Y).sum(axis=1), 0.0))
    return np.column_stack([Y, rest])


def _sample(X: PointArray, offset: int) -> FloatArray:
    """Evenly spaced points, or (offset 1) those between them."""
    places = np.linspace(0, len(X) - 1, 2 * min(_SAMPLE, max(len(X) // 2, 1)))[offset::2]
    sample: FloatArray = np.asarray(X[places.astype(np.int64)], dtype=np.float64)
    return sample
