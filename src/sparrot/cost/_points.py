r"""Squared Euclidean costs, computed from tiles of the points.

.. math:: C_{ij} = \tfrac12 |x_i - x_j|^2 / \bar C, \qquad
          \bar C = N^{-2} \sum_{ij} \tfrac12 |x_i - x_j|^2 = N^{-1} \sum_i |x_i - \bar x|^2.

With centered and scaled points `z = (x - mean) / sqrt(Cbar)` and `h_i = |z_i|^2 / 2` the cost is
`C_ij = h_i + h_j - z_i . z_j`.

Tiles are made of the coordinates z in float32: of all of them, or of few that make a filter. Let V
be orthonormal directions and :math:`y = (V^T z, |z - V V^T z|)` the coordinates along these and the
length of what they leave out. By Cauchy and Schwarz

.. math:: z_i \cdot z_j \le y_i \cdot y_j, \qquad |y_i| = |z_i|,

so that a cost computed from y is never above the cost itself. Where few directions hold most of the
spread, tiles of y rule out nearly as many pairs as tiles of z, for less.

Where the processor multiplies bytes, coordinates of either kind rounded to 8 bits (`Bytes`) rule
out pairs for even less. With a step s let :math:`q_i` be the whole numbers nearest to
:math:`y_i / s`, none beyond 127, and :math:`d_i = y_i - s q_i` what that leaves. By Cauchy and
Schwarz, and since :math:`2 |a| |b| \le \lambda |a|^2 + |b|^2 / \lambda`,

.. math:: y_i \cdot y_j = s^2 q_i \cdot q_j + s q_i \cdot d_j + d_i \cdot y_j
          \le s^2 q_i \cdot q_j + m_i + m_j, \qquad
          2 m_i = \lambda \max(|y_i|, |s q_i|)^2 + |d_i|^2 / \lambda,

for any :math:`\lambda`; that of a typical :math:`|d_i| / |y_i|` makes the margins about as small as
they can be. Sums of products of whole numbers have no rounding. A point far out, whose coordinates
do not fit into 8 bits, only has a large margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from sparrot._types import BoolArray, Float32Array, FloatArray, IntArray, PointArray
from sparrot.cost._base import (
    FEW_HITS,
    FLOAT32_ROUNDING,
    SMALL,
    Cost,
    Exponents,
    as_slice,
    scratch,
)
from sparrot.cost._boxes import DIRECTIONS, Boxes, Leaves, is_worth_ordering, spatial_order
from sparrot.engine import ALIGNED

_CANCELLED = 1e-4  # costs below this share of h_i + h_j lose too many digits in a product
_FAR = 1e8  # times the largest half squared distance from the center: a far point's squared one
_OUT_OF_REACH = 1e3  # the same: products with a point as far off are no filter
_PRECISE = 1e-10  # rounding of an exponent, far below the tolerance of a row sum
_DIGITS = 0.01  # share of a ceiling that products may err by; else centers of clusters are tried,
_TIGHT = 2.0**-8  # where half squared distances from these are that share of the largest
_FEWEST_ROWS = 8  # that are cut no further
_BLOCK = 1024
_PANEL_BYTES = 1 << 19  # of the coordinates of columns that are multiplied with all rows of a tile
_LARGEST = 127  # of a coordinate that is rounded to 8 bits
_MOST_COORDINATES = 1 << 13  # of which all sums of products that are met here are less than _ROOM
_ROOM = 1 << 28
_NONE: Float32Array = np.zeros((1, 0), np.float32)  # coordinates that are not looked at
_WORTH_COMPILING = 4_000_000  # coordinates of pairs of few points
_SAMPLE = 1024  # points that find the directions, and as many that judge them
_ROWS = 128  # of these are held against all of them
_NEAREST = 1  # rank of the neighbor whose cost a filter is tried at
_SIZES = (11, 15, 23, 31, 47, 63, 95, 127, 191, 255, 383)  # with the rest, a multiple of four
_WORTH = 0.75  # share of the time that a filter may take
# Time in units of one coordinate of one pair in a tile: what a pair costs without any, and what one
# that is left costs, with any number of coordinates and for each of them.
_TILE, _LEFT, _LEFT_COORDINATE = 3.0, 500.0, 6.0


class PointCost(Cost):
    """Half the squared distance between points, in units of its mean.

    Parameters
    ----------
    X : (n, p) points, float32 or float64, C-contiguous; kept, never changed. Of points that are
        mapped from a file only what a tile needs is read.
    """

    is_squared_euclidean = True
    tile_columns = 8192

    def __init__(self, X: PointArray) -> None:
        self._center = center_of([sums(block) for block in in_blocks(X)], len(X))
        squares = np.concatenate([squares_about(self._center, block) for block in in_blocks(X)])
        self.unit = float(squares.mean())
        self._hold(X, squares / (2 * self._scale), None)

    @classmethod
    def part_of(
        cls,
        X: PointArray,
        shift: FloatArray,
        center: FloatArray,
        unit: float,
        known: Directions,
        of_many: bool = False,
    ) -> Self:
        """The cost between some points of a larger set, of which the rest is given.

        A block `of_many` points rounds costs of pairs as these do, however few it has.
        """
        part = object.__new__(cls)
        part.unit, part._center = unit, center
        part._hold(X, shift, known)
        part._of_many = of_many or part._of_many
        return part

    def of_new(self, X: PointArray) -> tuple[IntArray, Self]:
        """The places of new points that are not far off, and their cost, about the same center.

        Of their own directions nothing is known: they are for products with these points.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # which far points do
            shift = squares_about(self._center, X) / (2 * self._scale)
        near = np.flatnonzero(shift <= _OUT_OF_REACH * self.shift.max())
        nothing = Directions((np.empty((X.shape[1], 0)), np.empty(0)), None, None)
        cost = self.part_of(X[near], shift[near], self._center, self.unit, nothing, self._of_many)
        return near, cost

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without what can be computed again."""
        known = self._z.known()
        return self.part_of, (self._X, self.shift, self._center, self.unit, known, self._of_many)

    def __sizeof__(self) -> int:
        """Bytes, with the coordinates that tiles are made of."""
        few = 0 if self._few is None else self._few.nbytes * 3 // 2  # with the same in bytes
        return self._X.nbytes + 4 * self._X.size + few + 2 * self.shift.nbytes

    def _hold(
        self, X: PointArray, shift: FloatArray, known: Directions | Coordinates | None
    ) -> None:
        self.n = len(X)
        self._of_many = self.n > SMALL
        self.shift = shift
        self.points = self._X = X
        self._z = Coordinates(X, self._center, self._scale, known)
        self._few: Float32Array | None = None
        self._whole = _NONE  # decides on what the few, or their bytes, leave
        self._bytes: Bytes | None = None
        self._boxes: Boxes | None = None
        self._prepared = False
        self._to_all: Callable[[PointArray], FloatArray] | None = None

    @property
    def _scale(self) -> float:
        return self.unit if self.unit > 0 else 1.0

    def products(
        self, rows: IntArray | slice, other: Self, columns: IntArray | slice, out: Float32Array
    ) -> None:
        """Write the inner products `z_i . z_j` in float32.

        Points are finite. But BLAS may compute with memory beyond them, and then tells of it.
        """
        with np.errstate(invalid="ignore"):
            np.matmul(self._z.all(rows), other._z.all(columns).T, out=out)

    def prepare(self) -> None:
        """Make the filter of few coordinates, and boxes around leaves unless these overlap."""
        if self._prepared:
            return
        self._few = self._z.few()
        if self._few is None:  # all coordinates of a tile are read from a file
            self.tile_columns = Cost.tile_columns
        self._bytes = self._z.bytes(self._few)
        if not is_mapped(self._X):
            self._whole = self._z.all(slice(None))
        elif self._few is not None and self._bytes is not None:
            self._whole = self._few
        if self._few is not None and is_worth_ordering(self._z.leading()[1]):
            self._boxes = Boxes(self._few, np.sqrt(2 * self.shift))
        self._prepared = True

    def above(
        self, rows: IntArray, t: Float32Array, other: Self, columns: IntArray, b: Float32Array
    ) -> tuple[IntArray, IntArray]:
        """By few coordinates, or 8 bits of each, whose products are no smaller; then by all.

        Of points that are mapped from a file those of few coordinates are taken as they are.
        """
        from sparrot._kernels import GROUP, PANEL, list_above

        assert self._prepared
        if self._few is None or other._few is None:  # all coordinates are in a file
            return super().above(rows, t, other, columns, b)
        A: Any = self._few
        B: Any = other._few
        Z, Y = self._whole, other._whole
        limit: Any = t
        start: Any = np.full(-(-len(b) // PANEL) * PANEL, -np.inf, np.float32)
        start[: len(b)] = b
        if self._bytes is not None and other._bytes is not None:
            A, B = self._bytes.signed, other._bytes.unsigned
            limit = self._bytes.limits(rows, t)
            start = other._bytes.starts(as_slice(columns), b, len(start))
        elif A.shape[1] == len(self._center):
            Z = Y = _NONE
        bits = scratch("bits", GROUP, np.int64)
        size = PANEL * (1 + A.shape[1])
        size *= max(1, min(len(start) // PANEL, _PANEL_BYTES // (4 * size)))
        panels = scratch(f"panels of {A.dtype}", size, A.dtype)[:size]
        count = FEW_HITS
        while True:
            i, j = scratch("i", count, np.int32), scratch("j", count, np.int32)
            count = list_above(A, rows, limit, B, columns, start, Z, t, Y, b, panels, bits, i, j)
            if count <= len(i):
                return i[:count].copy(), j[:count].copy()

    def order(self) -> IntArray | None:
        """A permutation that puts near points next to each other; None where it would not help."""
        V, shares = self._z.leading()
        if is_mapped(self._X) or not is_worth_ordering(shares):
            return None
        blocks = [leading_coordinates(self._center, V, block) for block in in_blocks(self._X)]
        return spatial_order(np.concatenate(blocks))

    def within(
        self, rows: IntArray, r: FloatArray, other: Self, u: FloatArray, first: int = 0
    ) -> IntArray:
        """Those that boxes do not rule out."""
        assert self._prepared
        if self._few is None or self._boxes is None or other._boxes is None:
            return np.arange(first, other.n, dtype=np.int32)
        return other._boxes.within(self._few[rows], self._boxes.error[rows], r, u, first)

    def clusters(
        self, rows: IntArray, r: FloatArray
    ) -> list[tuple[IntArray | slice, FloatArray | None]]:
        """All rows about the common center, or tight clusters about their own and the rest."""
        shift = self.shift[rows]
        margin = product_margin(self._X.shape[1], shift, r - shift).max()
        if not margin > _DIGITS * np.median(np.abs(r)):
            return [(slice(None), None)]
        tight, rest = tight_clusters(self._X[rows], _TIGHT * shift.max() * self._scale)
        return [*tight, (rest, None)] if len(rest) else [*tight]

    def about(self, center: FloatArray, rows: IntArray) -> Self:
        """The cost between some of the points, whose products are about another center."""
        X = self._X[rows]
        shift = squares_about(center, X) / (2 * self._scale)
        nothing = Directions(self._z.leading(), None, None)
        part = self.part_of(X, shift, center, self.unit, nothing)
        part._few, part._prepared = part._z.all(slice(None)), True  # no filter
        return part

    def leaves(self) -> Leaves | None:
        """Boxes around near points, once they are prepared and unless they overlap."""
        return None if self._boxes is None else self._boxes.leaves

    def margin(self, a: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """As `product_margin` says."""
        return product_margin(self._X.shape[1], self.shift[rows], a)

    def pairs(self, i: IntArray, j: IntArray, other: Self | None = None) -> FloatArray:
        """Costs of pairs, from differences in float64; few of few points need no compiled loop."""
        X, Y = self._X, self._X if other is None else other._X
        many = self._of_many or (other is not None and other._of_many)
        if not many and len(i) * X.shape[1] < _WORTH_COMPILING:
            return _squares(X[i].astype(np.float64) - Y[j]) * (0.5 / self.unit)
        from sparrot._kernels import pair_costs

        cost = np.empty(len(i))
        i, j = (np.asarray(index, np.int32) for index in (i, j))  # one type is compiled once
        pair_costs(X, i, Y, j, 0.5 / self.unit, cost)
        return cost

    def mean_under(self, weights: FloatArray) -> float:
        """The weighted mean of squared distances from the weighted center: no pairs are needed."""
        w = weights / weights.sum()
        cuts = [slice(k, k + ALIGNED) for k in range(0, self.n, ALIGNED)]
        X, center = self._X, self._center
        center = center + sum(weighted_sums(center, X[cut], w[cut]) for cut in cuts)
        squares = [weighted_squares(center, X[cut], w[cut]) for cut in cuts]
        return float(sum(squares)) / self._scale

    def diagonal(self) -> FloatArray:
        """Zeros."""
        return np.zeros(self.n)

    def fingerprint(self) -> str:
        """A digest of the points."""
        return digest_of(self._X.shape, self._X.dtype, map(digest, in_blocks(self._X)))

    def shares(self) -> FloatArray:
        """Squared distances from the center, as shares of their sum."""
        return self.shift / self.shift.sum()

    def first_equal(self) -> IntArray | None:
        """For each point the first that equals it; None if all differ, or are in a file.

        Only points as far from the center as another one, to the last bit, are compared.

        Examples
        --------
        >>> PointCost(np.array([[0.0], [1.0], [0.0], [0.0]])).first_equal()
        array([0, 1, 0, 0])
        """
        tied = is_tied(self.shift)
        if is_mapped(self._X) or not tied.any():
            return None
        return first_of_equal(self.shift, tied, row_digests(self._X[tied]))

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

    def tile(self, rows: IntArray | slice, columns: IntArray | slice) -> FloatArray:
        """Costs of some points with others."""
        return half_squared_distances(self._X[columns])(self._X[rows]) / self.unit

    def exponents(self, f: FloatArray, eps: float) -> Exponents:
        """From inner products in float64, unless these lose digits that matter."""
        rounding = self._X.shape[1] * np.finfo(np.float64).eps * 2 * self.shift.max() / eps
        if rounding > _PRECISE or is_mapped(self._X):
            return super().exponents(f, eps)
        X, center, a = self._X, self._center, f - self.shift / eps

        def write(rows: IntArray | slice, columns: IntArray | slice, out: FloatArray) -> None:
            own, others = (X[rows] - center) / (self._scale * eps), X[columns] - center
            one = np.ones((len(own), 1)), np.ones((len(others), 1))
            left = np.concatenate([own, a[rows, None], one[0]], axis=1)
            right = np.concatenate([others, one[1], a[columns, None]], axis=1)
            np.matmul(left, right.T, out=out)

        return write

    def dense(self) -> FloatArray:
        """The whole matrix, by blocks of rows."""
        C = np.empty((self.n, self.n))
        for k in range(0, self.n, _BLOCK):
            C[k : k + _BLOCK] = self.rows(slice(k, k + _BLOCK))
        np.maximum(C, C.T, out=C)
        return C


def product_margin(p: int, shift: FloatArray, a: FloatArray) -> FloatArray:
    """Bound the rounding of `z_i . z_j + a_i + a_j` by a term for each point.

    With `e = 2^-24` a float32 inner product of length p to which a number is added, whatever the
    order of summation, errs by at most `g (|z_i| |z_j| + |a_j|) <= g (h_i + h_j + |a_j|)`,
    `g = (p + 5) e / (1 - (p + 5) e)`, the rounding of z included; one of fewer coordinates errs by
    less.
    """
    e = (p + 8) * FLOAT32_ROUNDING
    g = e / (1 - e) if e < 1 else np.inf
    return g * (shift + np.abs(a)) + 1e-30


def is_tied(a: FloatArray) -> BoolArray:
    """For each number whether another one equals it."""
    order = np.argsort(a, kind="stable")
    same = np.diff(a[order]) == 0
    tied: BoolArray = np.zeros(len(a), bool)
    tied[order] = np.append(same, False) | np.append(False, same)
    return tied


def row_digests(X: PointArray) -> IntArray:
    """A number for each row, the same for equal rows."""
    rows = X + 0.0  # of both zeros one is left
    found = b"".join(blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
    return np.frombuffer(found, np.uint64)


def first_of_equal(shift: FloatArray, tied: BoolArray, digests: IntArray) -> IntArray:
    """For each point the first that equals it: that has its distance from the center and digest.

    Parameters
    ----------
    shift : half squared distances from the center.
    tied : which of them are those of several points.
    digests : those of the latter points.
    """
    some = np.flatnonzero(tied)
    order = np.lexsort([digests, shift[some]])  # stable: the first of equal ones comes first
    some, digests = some[order], digests[order]
    is_new = np.append(True, (np.diff(shift[some]) != 0) | (digests[1:] != digests[:-1]))
    first = np.arange(len(shift))
    first[some] = some[is_new][np.cumsum(is_new) - 1]
    return first


def in_blocks(X: PointArray) -> Iterator[PointArray]:
    """Points by so many rows, of which what is summed over all of them is summed first."""
    return (X[k : k + ALIGNED] for k in range(0, len(X), ALIGNED))


def sums(X: PointArray) -> FloatArray:
    """The sum of some points."""
    total: FloatArray = X.sum(axis=0, dtype=np.float64)
    return total


def center_of(parts: list[FloatArray], n: int) -> FloatArray:
    """The mean of n points, from the sums of blocks of them."""
    center: FloatArray = np.sum(parts, axis=0) / n
    return center


def squares_about(center: FloatArray, X: PointArray) -> FloatArray:
    """Squared distances from a center."""
    parts = [_squares(X[k : k + _BLOCK] - center) for k in range(0, len(X), _BLOCK)]
    return np.concatenate(parts)


def weighted_sums(center: FloatArray, X: PointArray, w: FloatArray) -> FloatArray:
    """The weighted sum of points about a center."""
    total: FloatArray = w @ (X - center)
    return total


def weighted_squares(center: FloatArray, X: PointArray, w: FloatArray) -> float:
    """The weighted sum of squared distances from a center."""
    return float(w @ squares_about(center, X))


def leading_coordinates(center: FloatArray, V: FloatArray, X: PointArray) -> FloatArray:
    """Coordinates along the first directions of V, which the order looks at."""
    coordinates: FloatArray = (X - center) @ V[:, :DIRECTIONS]
    return coordinates


def digest(X: PointArray) -> bytes:
    """A digest of a block of points."""
    return blake2b(np.ascontiguousarray(X).data, digest_size=16).digest()


def digest_of(shape: tuple[int, ...], dtype: Any, parts: Iterable[bytes]) -> str:
    """A digest of points, from those of their blocks."""
    whole = blake2b(f"points {shape} {dtype}".encode(), digest_size=16)
    for part in parts:
        whole.update(part)
    return whole.hexdigest()


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


def shifted_costs(Y: PointArray) -> Callable[[PointArray], FloatArray]:
    """As `half_squared_distances`, but rows of far points lack the number `|x_i - mean y|^2 / 2`.

    Beside that number the rest would have no digits left, and it may overflow.
    """
    exact = half_squared_distances(Y)
    center = Y.mean(axis=0, dtype=np.float64)
    y = Y - center
    g = _squares(y) / 2

    def block(X: PointArray) -> FloatArray:
        x = X - center
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is for others to refuse
            far = ~(_squares(x) <= _FAR * g.max())
            C = np.empty((len(X), len(Y)))
            C[~far] = exact(X[~far])
            C[far] = g - x[far] @ y.T
        return C

    return block


def tight_clusters(
    X: PointArray, radius: float
) -> tuple[list[tuple[IntArray, FloatArray]], IntArray]:
    """Places of points within some half squared distance of their center, and those of all others.

    Points that are not within it are cut in two at their mean, along the widest coordinate, unless
    they are too few to be multiplied by themselves.

    Examples
    --------
    >>> X = np.tile([[0.0], [10.0], [1.0], [11.0]], (100, 1))
    >>> clusters, rest = tight_clusters(X, 1.0)
    >>> [(len(places), center.tolist()) for places, center in clusters], len(rest)
    ([(200, [10.5]), (200, [0.5])], 0)
    """
    found, rest = [], [np.zeros(0, np.int32)]
    pieces = [np.arange(len(X), dtype=np.int32)]
    while pieces:
        places = pieces.pop()
        center = X[places].mean(axis=0, dtype=np.float64)
        Y = X[places] - center
        if _squares(Y).max() <= 2 * radius:
            found.append((places, center))
        elif len(places) <= _FEWEST_ROWS:
            rest.append(places)
        else:
            below = Y[:, np.square(Y).sum(axis=0).argmax()] <= 0
            pieces += [places[below], places[~below]]
    return found, np.sort(np.concatenate(rest))


def _squares(X: FloatArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->i", X, X)
    return squares


@dataclass(frozen=True, slots=True)
class Directions:
    """What is known of the directions of a set of points, and holds for its parts too.

    Attributes
    ----------
    leading : principal directions, and the share of the spread that each holds.
    filter : those that make a good filter; None if all coordinates are as good.
    step : what coordinates of the filter are rounded to; None if float32 is as good.
    """

    leading: tuple[FloatArray, FloatArray]
    filter: FloatArray | None
    step: Step | None


class Coordinates:
    """The coordinates that tiles are made of, computed when first needed and kept.

    Of points that are mapped from a file all coordinates are read again for each tile, and only the
    few of the filter are kept.

    Parameters
    ----------
    X : (n, p) points, kept.
    center, scale : what is subtracted, and the square of what is divided by.
    known : directions of a larger set, if there is one, or its coordinates, of which they are asked
        when they are needed.
    """

    def __init__(
        self,
        X: PointArray,
        center: FloatArray,
        scale: float,
        known: Directions | Coordinates | None = None,
    ) -> None:
        self._X = X
        self._center = center
        self._scale = scale
        self._mapped = is_mapped(X)
        self._z: Float32Array | None = None
        self._lock = Lock()
        self._larger = known if isinstance(known, Coordinates) else None
        self._known = known if isinstance(known, Directions) else None

    def known(self) -> Directions:
        """Both kinds of directions."""
        if self._known is None and self._larger is not None:
            self._known = self._larger.known()
        elif self._known is None:
            leading = leading_directions(self._X, self._center)
            V, step = cheapest_filter(self._X, self._center, leading[0])
            self._known = Directions(leading, V, step)
        return self._known

    def leading(self) -> tuple[FloatArray, FloatArray]:
        """Leading directions of the points, and the share of the spread that each holds."""
        return self.known().leading

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
        V = self.known().filter
        if V is None:
            return None if self._mapped else self.all(slice(None))
        y = np.empty((len(self._X), V.shape[1] + 1), np.float32)
        for k in range(0, len(self._X), _BLOCK):
            z = self._scaled(self._X[k : k + _BLOCK])
            y[k : k + _BLOCK] = with_rest(z @ V, np.square(z).sum(axis=1))
        return y

    def bytes(self, few: Float32Array | None) -> Bytes | None:
        """The same rounded to 8 bits, where that is a good filter."""
        step = self.known().step
        if few is None or step is None:
            return None
        from sparrot._kernels import HAS_BYTES  # a worker's processor may have none

        return Bytes(few, step.times(1 / np.sqrt(self._scale))) if HAS_BYTES else None

    def _scaled(self, X: PointArray) -> FloatArray:
        z: FloatArray = (X - self._center) / np.sqrt(self._scale)
        return z


@dataclass(frozen=True, slots=True)
class Step:
    """What is rounded to, and the weight that margins are made with; the same for all points."""

    size: float
    weight: float

    @staticmethod
    def of(y: FloatArray) -> Step:
        """The step that fits a sample of points."""
        tiny = float(np.finfo(np.float32).tiny)
        size = max(float(np.abs(y).max()) / _LARGEST, tiny)
        length = max(float(np.sqrt(np.square(y).sum(axis=1).mean())), tiny)
        return Step(size, size * (y.shape[1] / 12) ** 0.5 / length)

    def times(self, factor: float) -> Step:
        """For points so much larger."""
        return Step(self.size * factor, self.weight)

    def rounded(self, y: Float32Array | FloatArray) -> tuple[FloatArray, FloatArray]:
        """The rounded coordinates of some points, and their margins."""
        y = y.astype(np.float64)
        q = np.clip(np.rint(y / self.size), -_LARGEST, _LARGEST)
        left = np.square(y - self.size * q).sum(axis=1)
        length = np.maximum(np.square(y).sum(axis=1), self.size**2 * np.square(q).sum(axis=1))
        return q, (self.weight * length + left / self.weight) * (0.5 + 1e-9)


class Bytes:
    """Rounded coordinates of points, four in a number of 32 bits.

    Parameters
    ----------
    y : (n, k) coordinates in float32.
    step : what they are rounded to.

    Attributes
    ----------
    signed, unsigned : the coordinates, and those with 128 added, as the vector unit takes them.
    """

    def __init__(self, y: Float32Array, step: Step) -> None:
        n, k = y.shape
        assert k <= _MOST_COORDINATES
        q: np.ndarray = np.zeros((n, -(-k // 4) * 4), np.int8)
        self._margin = np.empty(n)
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            q[rows, :k], self._margin[rows] = step.rounded(y[rows])
        self.signed: IntArray = q.view(np.int32)
        self.unsigned: IntArray = (q.view(np.uint8) ^ np.uint8(128)).view(np.int32)
        self._added = 128 * q.sum(axis=1, dtype=np.int32)  # to all products of a row
        self._unit = step.size**2

    def limits(self, rows: IntArray, t: Float32Array) -> IntArray:
        """What products of the rounded coordinates with those of a column, and its start, pass.

        They do wherever `y_i . y_j + b_j > t_i`. Limits and starts that are beyond all products are
        cut off on the safe side.
        """
        t = np.floor((t - self._margin[rows]) / self._unit) - 1
        t[np.isnan(t)] = np.inf  # nothing passes what is no number
        return np.clip(t, -3 * _ROOM - 1, _ROOM - 1).astype(np.int32) + self._added[rows]

    def starts(self, columns: IntArray | slice, b: Float32Array, size: int) -> IntArray:
        """What is added to all products of a column, and for no column up to some size."""
        out = np.full(size, -5 * _ROOM, np.int32)
        b = np.ceil((b + self._margin[columns]) / self._unit) + 1
        b[np.isnan(b)] = -np.inf
        out[: len(b)] = np.clip(b, -2 * _ROOM, 2 * _ROOM)
        return out


def is_mapped(X: PointArray) -> bool:
    """Whether the points are in a file rather than in memory."""
    base: object = X
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return True
        base = base.base
    return False


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


def cheapest_filter(
    X: PointArray, center: FloatArray, V: FloatArray
) -> tuple[FloatArray | None, Step | None]:
    """As many of the directions as make the cheapest filter, and a step to round coordinates to.

    None in the place of directions if all coordinates are as good, and of a step if float32 is, or
    if the processor has no products of bytes. Other points judge: for each of a few the cost of a
    near neighbor is the threshold, and pairs that pass it by the filter must be looked at exactly.
    """
    p = X.shape[1]
    if p <= _SIZES[0] or len(X) < _SAMPLE:
        return None, None
    from sparrot._kernels import HAS_BYTES

    z = _sample(X, 1) - center
    Y, h = z @ V, np.square(z).sum(axis=1) / 2
    rows = slice(0, _ROWS)
    C = h[rows, None] + h - z[rows] @ z.T
    threshold = np.partition(C, _NEAREST, axis=1)[:, _NEAREST, None]  # the point itself is first

    def time(size: float, cost: FloatArray) -> float:
        return _TILE + size + float(np.mean(cost <= threshold)) * (_LEFT + _LEFT_COORDINATE * p)

    best, step = None, None
    least = _WORTH * time(p, C)
    for k in (None, *(k for k in _SIZES if k <= V.shape[1])):
        y = z if k is None else with_rest(Y[:, :k], 2 * h)
        size, n_numbers = y.shape[1], -(-y.shape[1] // 4)
        if HAS_BYTES and size <= _MOST_COORDINATES and _TILE + n_numbers < least:
            rounded = Step.of(y)
            q, margin = rounded.rounded(y)
            a = h - margin
            needed = time(n_numbers, a[rows, None] + a - rounded.size**2 * (q[rows] @ q.T))
            if needed < least:
                best, step, least = k, rounded, needed
        if k is not None and _TILE + size < least:
            needed = time(size, h[rows, None] + h - y[rows] @ y.T)
            if needed < least:
                best, step, least = k, None, needed
    return None if best is None else V[:, :best], step


def with_rest(Y: FloatArray, squares: FloatArray) -> FloatArray:
    """Coordinates Y of points with these squared lengths, and the length of what they leave out."""
    rest = np.sqrt(np.maximum(squares - np.square(Y).sum(axis=1), 0.0))
    return np.column_stack([Y, rest])


def _sample(X: PointArray, offset: int) -> FloatArray:
    """Evenly spaced points, or (offset 1) those between them."""
    places = np.linspace(0, len(X) - 1, 2 * min(_SAMPLE, max(len(X) // 2, 1)))[offset::2]
    sample: FloatArray = np.asarray(X[places.astype(np.int64)], dtype=np.float64)
    return sample
