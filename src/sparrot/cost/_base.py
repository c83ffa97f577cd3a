"""What every cost can do.

A cost is a symmetric matrix C over n points, never stored unless it was given as a matrix, and
counted in units of its mean `N^-2 sum_ij C_ij`: `eps = 1` then means "the mean cost", potentials
are of order one, and no result depends on the scale of the data.

Every cost splits into a product and a shift for each point, `-C_ij = G_ij - h_i - h_j`, so that a
tile of scores `r_i + r_j - C_ij` is a tile of products and two vectors `a = r - h`. Tiles are
float32 and only a filter: `margin` says by how much they may err, and `pairs` decides.
"""

from __future__ import annotations

from typing import Protocol, Self

from sparrot._types import Float32Array, FloatArray, IntArray

FLOAT32_ROUNDING = 2.0**-24


class Cost(Protocol):
    """A symmetric cost over n points, in units of its mean."""

    n: int
    unit: float
    shift: FloatArray

    def products(
        self,
        rows: IntArray | slice,
        other: Self,
        columns: IntArray | slice,
        out: Float32Array,
    ) -> None:
        """Write the tile `G` of this cost's rows against `columns` of `other` into `out`.

        `other` is this cost or a part of the same cost made by `take`.
        """

    def bounds(
        self,
        rows: IntArray | slice,
        other: Self,
        columns: IntArray | slice,
        out: Float32Array,
    ) -> None:
        """Write upper bounds on a tile of products, which may be cheaper than the products."""

    def order(self) -> IntArray | None:
        """A permutation that puts near points next to each other, if there is one to gain by."""

    def within(
        self, rows: IntArray, r: FloatArray, other: Self, u: FloatArray, first: int = 0
    ) -> IntArray:
        """The points of `other`, from `first` on, that may have `r_i + u_j > C_ij` with a row i.

        `r` is one number for each of the rows, `u` one for each point of `other`.
        """

    def margin(self, a: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """For some points m_i with `|error of G_ij + a_i + a_j in float32| <= m_i + m_j`.

        `G` are products or bounds.
        """

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Costs of the pairs (i_k, j_k) in float64; the same to the last bit for (j_k, i_k)."""

    def diagonal(self) -> FloatArray:
        """Costs of each point with itself (used only without the hollow constraint)."""

    def take(self, index: IntArray) -> Self:
        """The cost between some of the points, in the same unit."""

    def rows(self, index: IntArray | slice) -> FloatArray:
        """Costs of some points with all points, in float64."""

    def dense(self) -> FloatArray:
        """The whole matrix, n x n, as a new array, symmetric to the last bit."""

    def fingerprint(self) -> str:
        """A digest of the data: another cost has another."""

    def shares(self) -> FloatArray:
        """How much of the mean cost is due to each point; sums to one."""
