"""Points in float32, about their centre and scaled: all coordinates, and few that make a filter."""

from __future__ import annotations

from threading import Lock

import numpy as np

from sparrot.cost.directions import filter_directions, leading_directions, with_rest
from sparrot.types import Float32Array, FloatArray, IntArray, PointArray

_BLOCK = 1024


class Coordinates:
    """The coordinates that tiles are made of, computed when first needed and kept.

    Of points that are mapped from a file all coordinates are read again for each tile, and only the
    few of the filter are kept.

    Parameters
    ----------
    X : (n, p) points, kept.
    centre, scale : what is subtracted, and the square of what is divided by.
    like : coordinates of a larger set, whose directions are taken.
    """

    def __init__(
        self, X: PointArray, centre: FloatArray, scale: float, like: Coordinates | None = None
    ) -> None:
        self._X = X
        self._centre = centre
        self._scale = scale
        self._z: Float32Array | None = None
        self._y: Float32Array | None = None
        self._lock = Lock()
        self._leading = None if like is None else like.leading()
        self._filter = None if like is None else like._filter_directions()
        self._judged = like is not None

    def leading(self) -> tuple[FloatArray, FloatArray]:
        """Leading directions of the points, and the share of the spread that each holds."""
        if self._leading is None:
            self._leading = leading_directions(self._X, self._centre)
        return self._leading

    def all(self, rows: IntArray | slice) -> Float32Array:
        """All coordinates of some points."""
        if is_mapped(self._X):
            return self._scaled(self._X[rows]).astype(np.float32)
        with self._lock:
            if self._z is None:
                self._z = np.empty(self._X.shape, np.float32)
                for k in range(0, len(self._X), _BLOCK):
                    self._z[k : k + _BLOCK] = self._scaled(self._X[k : k + _BLOCK])
        return self._z[rows]

    def few(self, rows: IntArray | slice) -> Float32Array:
        """Coordinates of some points whose products are never below those of all coordinates."""
        with self._lock:
            V = self._filter_directions()
            if V is not None and self._y is None:
                self._y = np.empty((len(self._X), V.shape[1] + 1), np.float32)
                for k in range(0, len(self._X), _BLOCK):
                    z = self._scaled(self._X[k : k + _BLOCK])
                    self._y[k : k + _BLOCK] = with_rest(z @ V, np.square(z).sum(axis=1))
        return self.all(rows) if self._y is None else self._y[rows]

    def in_memory(self) -> bool:
        """Whether the few coordinates are, so that they can be looked at again and again."""
        with self._lock:
            return self._filter_directions() is not None or not is_mapped(self._X)

    def _filter_directions(self) -> FloatArray | None:
        if not self._judged:
            self._filter = filter_directions(self._X, self._centre, self.leading()[0])
            self._judged = True
        return self._filter

    def _scaled(self, X: PointArray) -> FloatArray:
        z: FloatArray = (X - self._centre) / np.sqrt(self._scale)
        return z


def is_mapped(X: PointArray) -> bool:
    """Whether the points are in a file rather than in memory."""
    base: object = X
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return True
        base = base.base
    return False
