r"""The float32 coordinates that tiles are made of: all of them, and few that make a filter.

Points are taken about their center and scaled, :math:`z = (x - \bar x) / \sqrt{\bar C}`. Let V be
orthonormal directions and :math:`y = (V^T z, |z - V V^T z|)` the coordinates along these and the
length of what they leave out. By Cauchy and Schwarz

.. math:: z_i \cdot z_j \le y_i \cdot y_j, \qquad |y_i| = |z_i|,

so that a cost computed from y is never above the cost itself. Where few directions hold most of the
spread, tiles of y rule out nearly as many pairs as tiles of z, for less.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray, PointArray

_SAMPLE = 1024  # points that find the directions, and as many that judge them
_ROWS = 128  # of these are held against all of them
_NEAREST = 1  # rank of the neighbor whose cost a filter is tried at
_SIZES = (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)
_WORTH = 0.75  # share of the time that a filter may take
# Time in units of one coordinate of one pair in a tile: what a tile costs without any, and what an
# exact cost takes, with any number of coordinates and for each of them.
_TILE, _EXACT, _EXACT_COORDINATE = 35.0, 400.0, 35.0


def leading_directions(X: PointArray, center: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal directions (p, k) of a sample of points, and the share each has of the spread."""
    S = _sample(X, 0) - center
    tall = S.shape[0] >= S.shape[1]
    values, U = np.linalg.eigh(S.T @ S if tall else S @ S.T)
    keep = values > 1e-10 * max(values[-1], 0.0)
    values, U = values[keep][::-1], U[:, keep][:, ::-1]
    k = _SIZES[-1]
    V = U[:, :k] if tall else np.linalg.qr(S.T @ U[:, :k])[0]
    return np.ascontiguousarray(V), values[:k] / max(values.sum(), np.finfo(float).tiny)


def filter_directions(X: PointArray, center: FloatArray, V: FloatArray) -> FloatArray | None:
    """As many of the directions as make the cheapest filter; None if all coordinates are as good.

    Other points judge: for each of a few the cost of a near neighbor is the threshold, and pairs
    that pass it by the filter must be looked at exactly.
    """
    p = X.shape[1]
    if p <= _SIZES[0] or len(X) < _SAMPLE:
        return None
    z = _sample(X, 1) - center
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


_BLOCK = 1024


class Coordinates:
    """The coordinates that tiles are made of, computed when first needed and kept.

    Of points that are mapped from a file all coordinates are read again for each tile, and only the
    few of the filter are kept.

    Parameters
    ----------
    X : (n, p) points, kept.
    center, scale : what is subtracted, and the square of what is divided by.
    like : coordinates of a larger set, whose directions are taken.
    """

    def __init__(
        self, X: PointArray, center: FloatArray, scale: float, like: Coordinates | None = None
    ) -> None:
        self._X = X
        self._center = center
        self._scale = scale
        self._mapped = is_mapped(X)
        self._z: Float32Array | None = None
        self._lock = Lock()
        self._leading = None if like is None else like.leading()
        self._filter = None if like is None else like._filter_directions()
        self._judged = like is not None

    def leading(self) -> tuple[FloatArray, FloatArray]:
        """Leading directions of the points, and the share of the spread that each holds."""
        if self._leading is None:
            self._leading = leading_directions(self._X, self._center)
        return self._leading

    def all(self, rows: IntArray | slice) -> Float32Array:
        """All coordinates of some points."""
        if self._mapped:
            return self._scaled(self._X[rows]).astype(np.float32)
        with self._lock:
            if self._z is None:
                self._z = np.empty(self._X.shape, np.float32)
                for k in range(0, len(self._X), _BLOCK):
                    self._z[k : k + _BLOCK] = self._scaled(self._X[k : k + _BLOCK])
        return self._z[rows]

    def few(self) -> Float32Array | None:
        """Coordinates of all points whose products are never below those of all coordinates.

        All coordinates where fewer are no good filter; None if these are not in memory.
        """
        V = self._filter_directions()
        if V is None:
            return None if self._mapped else self.all(slice(None))
        y = np.empty((len(self._X), V.shape[1] + 1), np.float32)
        for k in range(0, len(self._X), _BLOCK):
            z = self._scaled(self._X[k : k + _BLOCK])
            y[k : k + _BLOCK] = with_rest(z @ V, np.square(z).sum(axis=1))
        return y

    def _filter_directions(self) -> FloatArray | None:
        if not self._judged:
            self._filter = filter_directions(self._X, self._center, self.leading()[0])
            self._judged = True
        return self._filter

    def _scaled(self, X: PointArray) -> FloatArray:
        z: FloatArray = (X - self._center) / np.sqrt(self._scale)
        return z


def is_mapped(X: PointArray) -> bool:
    """Whether the points are in a file rather than in memory."""
    base: object = X
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return True
        base = base.base
    return False
