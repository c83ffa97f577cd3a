"""Squared Euclidean costs of points that are in blocks on the workers of a cluster.

The same numbers as `PointCost`, to the last bit: what is summed over all points is summed over the
same blocks, and each block is a `PointCost` between its points. The client has a few numbers for
each point, and none of the points.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from sparrot._types import BoolArray, Float32Array, FloatArray, IntArray, PointArray
from sparrot.cost._base import SMALL, Cost
from sparrot.cost._boxes import is_worth_ordering, spatial_order
from sparrot.cost._points import (
    Coordinates,
    Directions,
    PointCost,
    center_of,
    digest,
    digest_of,
    first_of_equal,
    is_tied,
    leading_coordinates,
    product_margin,
    row_digests,
    squares_about,
    sums,
    weighted_squares,
    weighted_sums,
)
from sparrot.engine import ALIGNED, Block, Rows
from sparrot.errors import InvalidInputError, counted

_FEW_PAIRS = 16_384  # whose points the client asks for


class BlockedPoints(Cost):
    """Half the squared distance between points on the workers, in units of its mean.

    Parameters
    ----------
    X : the points.
    """

    is_squared_euclidean = True

    def __init__(self, X: Rows) -> None:
        total = X.each("sums", sums)
        _require_finite(X, total)
        self._center = center_of(total, len(X))
        squares = np.concatenate(X.each("squares", partial(squares_about, self._center)))
        self.unit = float(squares.mean())
        self._hold(X, squares / (2 * self._scale), None)

    def _hold(self, X: Rows, shift: FloatArray, known: Directions | None) -> None:
        self.n, self.shift = len(X), shift
        self._X = X
        self._z = Coordinates(X, self._center, self._scale, known)  # type: ignore[arg-type]
        self._blocks: list[Block] | None = None
        self._gathered: PointCost | None = None

    @property
    def _scale(self) -> float:
        return self.unit if self.unit > 0 else 1.0

    @property
    def blocks(self) -> list[Block]:
        """The blocks, sent to the workers when they are first needed."""
        if self._blocks is None:
            known = self._z.known()
            cluster, cuts = self._X.cluster, self._X.cuts()
            futures = [
                self._X.submit(
                    "points",
                    _make_block,
                    cut,
                    self.shift[cut],
                    self._center,
                    self.unit,
                    known,
                    self.n > SMALL,
                )
                for cut in cuts
            ]
            leaves = [None] * len(cuts)
            if is_worth_ordering(known.leading[1]):
                tasks = [(future,) for future in futures]
                leaves = list(cluster.each("leaves", PointCost.leaves, tasks))
            self._blocks = [
                Block(cut.start, cut.stop, future, some)
                for cut, future, some in zip(cuts, futures, leaves, strict=True)
            ]
        return self._blocks

    def order(self) -> IntArray | None:
        """A permutation that puts near points next to each other; None where it would not help."""
        V, shares = self._z.leading()
        if not is_worth_ordering(shares):
            return None
        coordinates = partial(leading_coordinates, self._center, V)
        return spatial_order(np.concatenate(self._X.each("order", coordinates)))

    def take(self, index: IntArray) -> Any:
        """The cost between some of the points; of few of them a `PointCost` of the client."""
        if len(index) <= self._X.few:
            return self.gathered(index, of_many=False)
        part = object.__new__(type(self))
        part.unit, part._center = self.unit, self._center
        part._hold(self._X.take(index), self.shift[index], self._z.known())
        return part

    def gathered(self, index: IntArray, of_many: bool = True) -> PointCost:
        """The cost of a few of the points on the client, rounded as it is between all, if asked."""
        points, shift, known = self._X[index], self.shift[index], self._z.known()
        return PointCost.part_of(points, shift, self._center, self.unit, known, of_many)

    def margin(self, a: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """As that of a `PointCost`."""
        return product_margin(self._X.shape[1], self.shift[rows], a)

    def pairs(self, i: IntArray, j: IntArray, other: Self | None = None) -> FloatArray:
        """Costs of pairs of few points i with others: by blocks of these, unless few are asked for.

        The points i come to the client, and go with every task.
        """
        assert other is None
        if len(i) <= _FEW_PAIRS:
            some, place = np.unique(np.concatenate([i, j]), return_inverse=True)
            return self.gathered(some).pairs(place[: len(i)], place[len(i) :])
        some, place = np.unique(i, return_inverse=True)
        left = self.gathered(some)
        starts = [block.start for block in self.blocks]
        block = np.searchsorted(starts, j, side="right") - 1
        groups = [np.flatnonzero(block == k) for k in range(len(starts))]
        tasks = [
            (left, place[group], j[group] - start, block.future)
            for group, start, block in zip(groups, starts, self.blocks, strict=True)
        ]
        out = np.empty(len(i))
        for group, costs in zip(
            groups, self._X.cluster.each("pairs", PointCost.pairs, tasks), strict=True
        ):
            out[group] = costs
        return out

    def mean_under(self, weights: FloatArray) -> float:
        """The weighted mean of squared distances from the weighted center."""
        w = weights / weights.sum()
        center = self._center + sum(self._X.each("sums", partial(weighted_sums, self._center), w))
        squares = self._X.each("squares", partial(weighted_squares, center), w)
        return float(sum(squares)) / self._scale

    def diagonal(self) -> FloatArray:
        """Zeros."""
        return np.zeros(self.n)

    def fingerprint(self) -> str:
        """A digest of the points: the same as of points that are elsewhere."""
        return digest_of(self._X.shape, self._X.dtype, self._X.each("digest", digest))

    def shares(self) -> FloatArray:
        """Squared distances from the center, as shares of their sum."""
        return self.shift / self.shift.sum()

    def n_products(self) -> float:
        """Multiplications in a pass over all pairs."""
        return float(self.n) ** 2 * self._X.shape[1]

    def first_equal(self) -> IntArray | None:
        """For each point the first that equals it; None if all differ."""
        tied = is_tied(self.shift)
        if not tied.any():
            return None
        digests = np.concatenate(self._X.each("digests", _digests_of_tied, tied))
        return first_of_equal(self.shift, tied, digests)

    def duplicates(self) -> str:
        """How many points equal an earlier one, in words; "" if none do."""
        first = self.first_equal()
        n_equal = 0 if first is None else self.n - len(np.unique(first))
        are = "is a duplicate of another" if n_equal == 1 else "are duplicates of others"
        return f"{n_equal} of {self.n} points {are}" if n_equal else ""

    def products(
        self, rows: IntArray | slice, other: Any, columns: IntArray | slice, out: Float32Array
    ) -> None:
        """By all points, brought to the client; passes over pairs do not need it."""
        self._brought().products(rows, other._brought(), columns, out)

    def rows(self, index: IntArray | slice) -> FloatArray:
        """By all points, brought to the client, as where n x n costs fit there."""
        return self._brought().rows(index)

    def dense(self) -> FloatArray:
        """By all points, brought to the client, where n x n costs are to fit."""
        return self._brought().dense()

    def _brought(self) -> PointCost:
        if self._gathered is None:
            points, known = self._X[np.arange(self.n)], self._z.known()
            self._gathered = PointCost.part_of(points, self.shift, self._center, self.unit, known)
        return self._gathered


def _make_block(
    X: PointArray,
    shift: FloatArray,
    center: FloatArray,
    unit: float,
    known: Directions,
    of_many: bool,
) -> PointCost:
    """A block, ready for tiles."""
    block = PointCost.part_of(X, shift, center, unit, known, of_many)
    block.prepare()
    return block


def _require_finite(X: Rows, total: list[FloatArray]) -> None:
    """Raise if an entry is not a number; sums that overflow are for others to refuse."""
    if np.isfinite(total).all():
        return
    bad = [(k, *where) for k, where in enumerate(X.each("finite", _first_bad)) if where[0]]
    if bad:
        k, _, i, j, value = bad[0]
        count = counted(sum(n for _, n, *_ in bad), "non-finite entry", "non-finite entries")
        raise InvalidInputError(
            f"contains {'NaN' if np.isnan(value) else 'inf'} at row {k * ALIGNED + i}, column {j} "
            f"({count} in all)",
            parameter="X",
            value=value,
            remedy="drop or impute them",
        )


def _first_bad(X: PointArray) -> tuple[int, int, int, float]:
    """How many entries are not finite, and where and what the first is."""
    bad = np.argwhere(~np.isfinite(X))
    if not len(bad):
        return 0, 0, 0, 0.0
    i, j = bad[0]
    return len(bad), int(i), int(j), float(X[i, j])


def _digests_of_tied(X: PointArray, tied: BoolArray) -> IntArray:
    return row_digests(X[tied])
