r"""Squared Euclidean costs, computed from tiles of the points.

.. math:: C_{ij} = \tfrac12 |x_i - x_j|^2 / \bar C, \qquad
          \bar C = N^{-2} \sum_{ij} \tfrac12 |x_i - x_j|^2 = N^{-1} \sum_i |x_i - \bar x|^2.

With centred and scaled points `z = (x - mean) / sqrt(Cbar)` and `h_i = |z_i|^2 / 2` the cost is
`C_ij = h_i + h_j - z_i . z_j`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from sparrot.cost.base import FLOAT32_ROUNDING
from sparrot.types import Float32Array, FloatArray, IntArray, PointArray

_CANCELLED = 1e-4  # costs below this share of h_i + h_j lose too many digits in a product
_BLOCK = 1024


class PointCost:
    """Half the squared distance between points, in units of its mean.

    Parameters
    ----------
    X : (n, p) points, float32 or float64, C-contiguous; kept, never changed.
    """

    def __init__(self, X: PointArray) -> None:
        self.n = len(X)
        self._X = X
        self._to_all: Callable[[PointArray], FloatArray] | None = None
        self._centre: FloatArray = X.mean(axis=0, dtype=np.float64)
        squares = np.concatenate(
            [_squares(X[k : k + _BLOCK] - self._centre) for k in range(0, self.n, _BLOCK)]
        )
        self.unit = float(squares.mean())
        scale = self.unit if self.unit > 0 else 1.0
        self.shift: FloatArray = squares / (2 * scale)
        self._z: Float32Array = np.empty(X.shape, np.float32)
        for k in range(0, self.n, _BLOCK):
            self._z[k : k + _BLOCK] = (X[k : k + _BLOCK] - self._centre) / np.sqrt(scale)

    def products(
        self, rows: IntArray | slice, other: PointCost, columns: slice, out: Float32Array
    ) -> None:
        """Write the inner products `z_i . z_j` in float32."""
        np.matmul(self._z[rows], other._z[columns].T, out=out)

    def margin(self, a: FloatArray) -> FloatArray:
        """Bound the rounding of `z_i . z_j + a_i + a_j` by a term for each point.

        A float32 inner product of length p, whatever its order of summation, errs by at most
        `(p + 4) 2^-24 |z_i| |z_j| <= (p + 4) 2^-24 (h_i + h_j)`, the rounding of z included.
        """
        p = self._z.shape[1]
        return FLOAT32_ROUNDING * ((p + 8) * self.shift + 4 * np.abs(a)) + 1e-30

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Costs of pairs, from differences in float64."""
        from sparrot.kernels import pair_costs

        cost = np.empty(len(i))
        pair_costs(self._X, i, j, 0.5 / self.unit, cost)
        return cost

    def diagonal(self) -> FloatArray:
        """Zeros."""
        return np.zeros(self.n)

    def shares(self) -> FloatArray:
        """Squared distances from the centre, as shares of their sum."""
        return self.shift / self.shift.sum()

    def mean(self) -> float:
        """The mean cost, in the units of the data."""
        return self.unit

    def take(self, index: IntArray) -> PointCost:
        """The cost between some of the points, in the same unit and about the same centre."""
        part = object.__new__(PointCost)
        part.n, part.unit, part._centre = len(index), self.unit, self._centre
        part._to_all = None
        part._X, part.shift, part._z = self._X[index], self.shift[index], self._z[index]
        return part

    def rows(self, index: slice) -> FloatArray:
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
    centre = Y.mean(axis=0, dtype=np.float64)
    y = Y - centre
    g = _squares(y) / 2

    def block(X: PointArray) -> FloatArray:
        x = X - centre
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
