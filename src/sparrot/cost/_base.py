"""What every cost can do.

A cost is a symmetric matrix C over n points, never stored unless it was given as a matrix, and
counted in units of its mean `N^-2 sum_ij C_ij`: `eps = 1` then means "the mean cost", potentials
are of order one, and no result depends on the scale of the data.

Every cost splits into a product and a shift for each point, `-C_ij = G_ij - h_i - h_j`, so that a
tile of scores `r_i + r_j - C_ij` is a tile of products and two vectors `a = r - h`. Tiles are
float32 and only a filter: `margin` says by how much they may err, and `pairs` decides.

To add a cost, write a subclass in a module of its own and name its metric in the table of
`sparrot.cost._metrics`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import local
from typing import Any, Self, TypeAlias

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray, PointArray

FLOAT32_ROUNDING = 2.0**-24
FEW_HITS = 1 << 15  # that a tile has room for at first
_SCRATCH = local()
SMALL = 1500  # points up to which dense float64 is as fast as tiles, and compiles nothing
# Outliers are at most this share of the points, and make up at least that share of the mean cost.
_FEWEST = 100  # points among which a few can be told from the others
_OUTLIERS = ((0.01, 0.5), (0.05, 0.9))
_ROWS = 256  # of a matrix of costs at a time
_MEDIAN_OF = 1000  # points, at most

Exponents: TypeAlias = Callable[[IntArray | slice, IntArray | slice, FloatArray], None]


class Cost(ABC):
    """A symmetric cost over n points, in units of its mean.

    Attributes
    ----------
    n : number of points.
    unit : what costs are counted in, in the units of the data: the mean cost, or one for a kernel.
    shift : (n,) the numbers h_i.
    points : (n, p) points behind the cost, None if it was given as a matrix.
    is_squared_euclidean : whether costs are `|x_i - x_j|^2 / (2 unit)` of the points, which an
        approximate search computes by a loop of its own.
    tile_columns : columns of a tile, at most.
    """

    n: int
    unit: float
    shift: FloatArray
    points: PointArray | None = None
    is_squared_euclidean: bool = False
    tile_columns: int = 1024

    @abstractmethod
    def products(
        self, rows: IntArray | slice, other: Self, columns: IntArray | slice, out: Float32Array
    ) -> None:
        """Write the tile `G` of this cost's rows against `columns` of `other` into `out`.

        `other` is this cost or a part of the same cost made by `take`.
        """

    def prepare(self) -> None:  # noqa: B027, for most there is nothing to do
        """Make ready what `above` and `within` need, before threads ask for it."""

    def above(
        self, rows: IntArray, t: Float32Array, other: Self, columns: IntArray, b: Float32Array
    ) -> tuple[IntArray, IntArray]:
        """The entries with `G_ij + b_j > t_i` of a tile: their places among rows and columns.

        All of them, and maybe some that rounding puts there. Columns of a row are ascending.
        """
        size = len(rows) * len(columns)
        G = scratch("tile", size, np.float32)[:size].reshape(len(rows), len(columns))
        self.products(as_slice(rows), other, as_slice(columns), G)
        return list_hits(G, b, t)

    def order(self) -> IntArray | None:
        """A permutation that puts near points next to each other; None where it would not help."""
        return None

    def within(
        self, rows: IntArray, r: FloatArray, other: Self, u: FloatArray, first: int = 0
    ) -> IntArray:
        """The points of `other`, from `first` on, that may have `r_i + u_j > C_ij` with a row i.

        `r` is one number for each of the rows, `u` one for each point of `other`. All points where
        nothing is known without looking at their costs.
        """
        return np.arange(first, other.n, dtype=np.int32)

    def clusters(
        self, rows: IntArray, r: FloatArray
    ) -> list[tuple[IntArray | slice, FloatArray | None]]:
        """Places of rows, and the center about which products of these have digits.

        `r` are ceilings on their potentials, beside which errors of products must be small. None is
        the common center of all; other centers are for `about`.
        """
        return [(slice(None), None)]

    def leaves(self) -> Any:
        """Boxes around near points, if there are any: see `Leaves`."""
        return None

    @abstractmethod
    def margin(self, a: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """A bound m_i for each of some points: tiles err by at most `m_i + m_j`.

        That is the error of `G_ij + a_i + a_j` in float32, in whatever order it is summed.
        """

    @abstractmethod
    def pairs(self, i: IntArray, j: IntArray, other: Self | None = None) -> FloatArray:
        """Costs of the pairs (i_k, j_k) in float64; the same to the last bit for (j_k, i_k).

        The second is a point of `other`, which is this cost or a part of the same by `take`.
        """

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Costs of each point with itself (used only without the hollow constraint)."""

    @abstractmethod
    def take(self, index: IntArray) -> Self:
        """The cost between some of the points, in the same unit."""

    @abstractmethod
    def rows(self, index: IntArray | slice) -> FloatArray:
        """Costs of some points with all points, in float64."""

    def tile(self, rows: IntArray | slice, columns: IntArray | slice) -> FloatArray:
        """Costs of some points with others, in float64."""
        return self.rows(rows)[:, columns]

    def exponents(self, f: FloatArray, eps: float) -> Exponents:
        """A function of rows and columns that writes `f_i + f_j - C_ij / eps` in float64."""

        def write(rows: IntArray | slice, columns: IntArray | slice, out: FloatArray) -> None:
            np.multiply(self.tile(rows, columns), -1 / eps, out=out)
            out += f[columns]
            out += f[rows, None]

        return write

    @abstractmethod
    def dense(self) -> FloatArray:
        """The whole matrix, n x n, as a new array, symmetric to the last bit."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of the data: another cost has another."""

    @abstractmethod
    def shares(self) -> FloatArray:
        """How much of the mean cost is due to each point; sums to one."""

    def mean(self) -> float:
        """The mean cost, in the units of the data."""
        return self.unit

    def median(self) -> float:
        """The median cost of two points that differ, of some that are evenly chosen if many.

        It is in the same units as all costs. Outliers do not change it much, unless they are many.

        Examples
        --------
        >>> from sparrot.cost import make_cost
        >>> cost = make_cost(np.r_[np.linspace(0, 1, 199), 1e3][:, None], "sqeuclidean")
        >>> round(cost.median() * cost.unit, 3)
        0.044
        """
        some = np.unique(np.linspace(0, self.n - 1, min(self.n, _MEDIAN_OF)).astype(np.int32))
        part = self.take(some)
        C = part.dense()[np.triu_indices(part.n, 1)]
        C = C[(C > 0) & (C < np.inf)]
        return float(np.median(C)) if len(C) else 1.0

    def mean_under(self, weights: FloatArray) -> float:
        """The mean `sum_ij w_i w_j C_ij / (sum_i w_i)^2`, with zeros on the diagonal of C."""
        w, diagonal = weights / weights.sum(), self.diagonal()
        total = 0.0
        for k in range(0, self.n, _ROWS):
            rows = slice(k, min(k + _ROWS, self.n))
            total += float(w[rows] @ (self.rows(rows) @ w - diagonal[rows] * w[rows]))
        return total

    @property
    def is_relative(self) -> bool:
        """Whether costs are in units of their mean, as all are but those of a kernel."""
        return self.unit == self.mean()

    def n_products(self) -> float:
        """Multiplications in a pass over all pairs, zero if the costs are known."""
        return 0.0 if self.points is None else float(self.n) ** 2 * self.points.shape[1]

    def outliers(self) -> str:
        """Which few points make up most of the mean cost, in words; "" if none do.

        Examples
        --------
        >>> from sparrot.cost import make_cost
        >>> make_cost(np.r_[np.linspace(0, 1, 199), 1e3][:, None], "sqeuclidean").outliers()
        '1 of 200 points (row 199) makes up 99% of the mean cost'
        """
        shares = self.shares()
        order = np.argsort(shares)[::-1]
        carried = shares[order].cumsum()
        counts = [1 + int(np.searchsorted(carried, cost)) for _, cost in _OUTLIERS]
        few = [k for k, (share, _) in zip(counts, _OUTLIERS, strict=True) if k <= share * self.n]
        if not few or self.n < _FEWEST:
            return ""
        n_few = few[0]
        named = ", ".join(str(i) for i in order[:n_few][:5]) + (", ..." if n_few > 5 else "")
        row, make = ("row", "makes") if n_few == 1 else ("rows", "make")
        share = carried[n_few - 1]
        return f"{n_few} of {self.n} points ({row} {named}) {make} up {share:.0%} of the mean cost"

    def first_equal(self) -> IntArray | None:
        """For each point the first that equals it; None if all differ, or are not looked at."""
        return None

    def duplicates(self) -> str:
        """How many points equal an earlier one, in words; "" if none do, or points are not known.

        Examples
        --------
        >>> from sparrot.cost import make_cost
        >>> make_cost(np.array([[0.0], [1.0], [0.0], [0.0]]), "sqeuclidean").duplicates()
        '2 of 4 points are duplicates of others'
        """
        n_equal = 0 if self.points is None else self.n - len(np.unique(self.points, axis=0))
        are = "is a duplicate of another" if n_equal == 1 else "are duplicates of others"
        return f"{n_equal} of {self.n} points {are}" if n_equal else ""


def list_hits(G: Float32Array, b: Float32Array, t: Float32Array) -> tuple[IntArray, IntArray]:
    """The entries with `G_ij + b_j > t_i`, row by row."""
    from sparrot._kernels import find_hits

    count = FEW_HITS
    while True:
        i, j = scratch("i", count, np.int32), scratch("j", count, np.int32)
        count = find_hits(G, b, t, i, j)
        if count <= len(i):
            return i[:count].copy(), j[:count].copy()


def scratch(name: str, size: int, dtype: Any) -> Any:
    """Room for at least so many numbers, the thread's own and used again: fresh memory is slow."""
    room = getattr(_SCRATCH, name, None)
    if room is None or len(room) < size:
        room = np.empty(size, dtype)
        setattr(_SCRATCH, name, room)
    return room


def as_slice(index: IntArray) -> IntArray | slice:
    """Consecutive indices as a slice, which needs no copy."""
    first, last = int(index[0]), int(index[-1])
    return slice(first, last + 1) if last - first + 1 == len(index) else index
