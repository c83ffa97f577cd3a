"""Costs that were given as a matrix, or computed by a metric that has no tiles."""

from __future__ import annotations

from hashlib import blake2b
from typing import Self

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.cost._base import FLOAT32_ROUNDING, Cost


class MatrixCost(Cost):
    """A symmetric matrix of costs, in units of its mean.

    Parameters
    ----------
    C : (n, n) symmetric matrix; kept, never changed. The diagonal matters only without the hollow
        constraint, and counts as zero in the mean.
    unit : what to count costs in; the mean cost by default.
    """

    def __init__(self, C: FloatArray, unit: float | None = None) -> None:
        self.n = len(C)
        self._C = C
        self._index: IntArray = np.arange(self.n)
        self._largest: FloatArray = np.maximum(C.max(axis=1), -C.min(axis=1))
        if unit is None:
            unit = self.mean() if np.isfinite(self._largest).all() else np.inf
        self.unit = unit
        self.shift = np.zeros(self.n)

    def products(
        self, rows: IntArray | slice, other: Self, columns: IntArray | slice, out: Float32Array
    ) -> None:
        """Write the negated costs in float32."""
        block = self._C[np.ix_(self._index[rows], other._index[columns])]
        np.divide(block, -self.unit, out=out, casting="same_kind")

    def margin(self, a: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """Bound the rounding of `a_i + a_j - C_ij` by a term for each point."""
        return 4 * FLOAT32_ROUNDING * (self._largest[rows] / self.unit + np.abs(a)) + 1e-30

    def pairs(self, i: IntArray, j: IntArray, other: Self | None = None) -> FloatArray:
        """Costs of pairs."""
        columns = (self if other is None else other)._index
        cost: FloatArray = self._C[self._index[i], columns[j]] / self.unit
        return cost

    def diagonal(self) -> FloatArray:
        """The diagonal as given."""
        return np.diagonal(self._C)[self._index] / self.unit

    def fingerprint(self) -> str:
        """A digest of the matrix."""
        digest = blake2b(f"matrix {self.unit!r}".encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self._index).data)
        for row in self._C:
            digest.update(np.ascontiguousarray(row).data)
        return digest.hexdigest()

    def shares(self) -> FloatArray:
        """Row sums as shares of their sum, less what every point must have.

        A far point raises all rows; what is its own is its row mean less half the mean, which for
        half squared distances is its squared distance from the center.
        """
        own = np.maximum(self._C.mean(axis=1) - self.mean() / 2, 0)
        return own / own.sum()

    def mean(self) -> float:
        """The mean cost in the units of the data; the diagonal and infinite costs count as zero.

        Costs are infinite where a kernel is zero and its logarithm is taken, as in `project`.
        """
        finite = np.isfinite(self._C)
        own = np.sum(np.diagonal(self._C), where=np.diagonal(finite))
        return float(self._C.sum(where=finite) - own) / len(self._C) ** 2

    def take(self, index: IntArray) -> Self:
        """The cost between some of the points, in the same unit; no entry is copied."""
        part = object.__new__(type(self))
        part.n, part.unit, part._C = len(index), self.unit, self._C
        part._index, part._largest = self._index[index], self._largest[index]
        part.shift = self.shift[index]
        return part

    def rows(self, index: IntArray | slice) -> FloatArray:
        """Some rows of the matrix."""
        return self.tile(index, slice(None))

    def tile(self, rows: IntArray | slice, columns: IntArray | slice) -> FloatArray:
        """Some entries of the matrix."""
        return self._C[np.ix_(self._index[rows], self._index[columns])] / self.unit

    def dense(self) -> FloatArray:
        """A copy of the matrix, scaled."""
        C: FloatArray = self._C[np.ix_(self._index, self._index)] / self.unit
        return C
