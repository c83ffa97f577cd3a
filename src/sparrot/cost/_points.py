r"""Squared Euclidean costs, computed from tiles of the points.

.. math:: C_{ij} = \tfrac12 |x_i - x_j|^2 / \bar C, \qquad
          \bar C = N^{-2} \sum_{ij} \tfrac12 |x_i - x_j|^2 = N^{-1} \sum_i |x_i - \bar x|^2.

With centered and scaled points `z = (x - mean) / sqrt(Cbar)` and `h_i = |z_i|^2 / 2` the cost is
`C_ij = h_i + h_j - z_i . z_j`.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from sparrot._types import Float32Array, FloatArray, IntArray, PointArray
from sparrot.cost._base import FLOAT32_ROUNDING, SMALL, Cost
from sparrot.cost._boxes import Boxes, is_worth_ordering, spatial_order
from sparrot.cost._coordinates import Coordinates, is_mapped

_CANCELLED = 1e-4  # costs below this share of h_i + h_j lose too many digits in a product
_BLOCK = 1024
_WORTH_COMPILING = 4_000_000  # coordinates of pairs of few points


class PointCost(Cost):
    """Half the squared distance between points, in units of its mean.

    Parameters
    ----------
    X : (n, p) points, float32 or float64, C-contiguous; kept, never changed. Of points that are
        mapped from a file only what a tile needs is read.
    """

    def __init__(self, X: PointArray) -> None:
        self._center: FloatArray = X.mean(axis=0, dtype=np.float64)
        squares = np.concatenate(
            [_squares(X[k : k + _BLOCK] - self._center) for k in range(0, len(X), _BLOCK)]
        )
        self.unit = float(squares.mean())
        self._hold(X, squares / (2 * self._scale), None)

    def _hold(self, X: PointArray, shift: FloatArray, like: Coordinates | None) -> None:
        self.n = len(X)
        self.shift = shift
        self.points = self._X = X
        self._z = Coordinates(X, self._center, self._scale, like)
        self._few: Float32Array | None = None
        self._boxes: Boxes | None = None
        self._prepared = False
        self._to_all: Callable[[PointArray], FloatArray] | None = None

    @property
    def _scale(self) -> float:
        return self.unit if self.unit > 0 else 1.0

    def products(
        self,
        rows: IntArray | slice,
        other: Self,
        columns: IntArray | slice,
        out: Float32Array,
    ) -> None:
        """Write the inner products `z_i . z_j` in float32."""
        np.matmul(self._z.all(rows), other._z.all(columns).T, out=out)

    def prepare(self) -> None:
        """Make the filter of few coordinates, and boxes around leaves unless these overlap."""
        if self._prepared:
            return
        self._few = self._z.few()
        if self._few is not None and is_worth_ordering(self._z.leading()[1]):
            self._boxes = Boxes(self._few, np.sqrt(2 * self.shift))
        self._prepared = True

    def bounds(
        self,
        rows: IntArray | slice,
        other: Self,
        columns: IntArray | slice,
        out: Float32Array,
    ) -> None:
        """Write the inner products of few coordinates, which are no smaller."""
        assert self._prepared
        if self._few is None or other._few is None:  # all of them are in a file
            self.products(rows, other, columns, out)
        else:
            np.matmul(self._few[rows], other._few[columns].T, out=out)

    def order(self) -> IntArray | None:
        """A permutation that puts near points next to each other, if there is one to gain by."""
        if is_mapped(self._X):
            return None
        return spatial_order(self._X, self._center, *self._z.leading())

    def within(
        self, rows: IntArray, r: FloatArray, other: Self, u: FloatArray, first: int = 0
    ) -> IntArray:
        """Those that boxes do not rule out."""
        assert self._prepared
        if self._few is None or self._boxes is None or other._boxes is None:
            return np.arange(first, other.n, dtype=np.int32)
        return other._boxes.within(self._few[rows], self._boxes.error[rows], r, u, first)

    def margin(self, a: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """Bound the rounding of `z_i . z_j + a_i + a_j` by a term for each point.

        With `e = 2^-24` a float32 inner product of length p, whatever its order of summation, errs
        by at most `g |z_i| |z_j| <= g (h_i + h_j)`, `g = (p + 4) e / (1 - (p + 4) e)`, the rounding
        of z included; one of fewer coordinates errs by less.
        """
        e = (self._X.shape[1] + 8) * FLOAT32_ROUNDING
        g = e / (1 - e) if e < 1 else np.inf
        return g * self.shift[rows] + 4 * FLOAT32_ROUNDING * np.abs(a) + 1e-30

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Costs of pairs, from differences in float64; few of few points need no compiled loop."""
        if self.n <= SMALL and len(i) * self._X.shape[1] < _WORTH_COMPILING:
            return _squares(self._X[i].astype(np.float64) - self._X[j]) * (0.5 / self.unit)
        from sparrot._kernels import pair_costs

        cost = np.empty(len(i))
        pair_costs(self._X, i, j, 0.5 / self.unit, cost)
        return cost

    def diagonal(self) -> FloatArray:
        """Zeros."""
        return np.zeros(self.n)

    def fingerprint(self) -> str:
        """A digest of the points."""
        digest = blake2b(f"points {self._X.shape} {self._X.dtype}".encode(), digest_size=16)
        for k in range(0, self.n, _BLOCK):
            digest.update(np.ascontiguousarray(self._X[k : k + _BLOCK]).data)
        return digest.hexdigest()

    def shares(self) -> FloatArray:
        """Squared distances from the center, as shares of their sum."""
        return self.shift / self.shift.sum()

    def take(self, index: IntArray) -> Self:
        """The cost between some of the points, in the same unit and about the same center."""
        part = object.__new__(type(self))
        part.unit, part._center = self.unit, self._center
        part._hold(self._X[index], self.shift[index], self._z)
        return part

    def rows(self, index: IntArray | slice) -> FloatArray:
        """Costs of some points with all points."""
        if self._to_all is None:
            self._to_all = half_squared_distances(self._X)
        return self._to_all(self._X[index]) / self.unit

    def dense(self) -> FloatArray:
        """The whole matrix, by blocks of rows."""
        C = np.empty((self.n, self.n))
        for k in range(0, self.n, _BLOCK):
            C[k : k + _BLOCK] = self.rows(slice(k, k + _BLOCK))
        np.maximum(C, C.T, out=C)
        return C


def half_squared_distances(Y: PointArray) -> Callable[[PointArray], FloatArray]:
    """A function from points X to the block `|x_i - y_j|^2 / 2` in float64.

    One matrix product, except where its digits cancel: those entries come from differences.
    """
    center = Y.mean(axis=0, dtype=np.float64)
    y = Y - center
    g = _squares(y) / 2

    def block(X: PointArray) -> FloatArray:
        x = X - center
        h = _squares(x)[:, None] / 2
        C = x @ y.T
        np.subtract(g, C, out=C)
        C += h
        i, j = np.nonzero(C < _CANCELLED * (h + g))
        if len(i) > 4 * len(X):
            return np.asarray(cdist(X, Y, "sqeuclidean") / 2)
        C[i, j] = _squares(x[i] - y[j]) / 2
        return C

    return block


def _squares(X: FloatArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->i", X, X)
    return squares
