r"""The regularized c-transform: the potential at which a point finds its mass among given points.

Against points j with potentials u_j, the c-transform of a point i is the v that solves

.. math:: \sum_j g([v + u_j - C_{ij}]_+) = m

(for the quadratic regularizer, g(s) = s, a projection onto the simplex). Against all other points
it *is* the potential of the point at the optimum; against a random part of them, with its share of
the mass, it is an estimate of it; and for a new point it gives the row of the affinity. Of points
with weights the j-th term counts :math:`w_j` times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.cost import Cost, as_slice
from sparrot.engine import Run, Side, Threads
from sparrot.ot._problem import PowerRegularizer, SparseProblem
from sparrot.ot._screening import (
    TILE_ROWS,
    Support,
    about,
    hits,
    joined,
    longest_row,
    rounded_up,
)

_FASTER = 8.0  # factor on the step by which a row with too few candidates rises
_ROUNDING = 1e-9  # far more than a c-transform errs by
_WORTH_COMPILING = 500_000  # entries of a block
_BLOCK = 1 << 19  # entries of a block that stays in the cache
_SUPPORT_ROWS = 4096  # rows of a block of a support
FEW = 2  # with so few neighbors a c-transform is uncertain
_NEAREST = 4  # its uncertainty is then the spread of this many best scores


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference set: some of the points, with potentials.

    Attributes
    ----------
    problem : the problem between these points, with their share of the mass.
    index : their places among all points, ascending.
    u : their potentials.
    e : the multipliers of a floor on their rows, if there is one.
    """

    problem: SparseProblem
    index: IntArray
    u: FloatArray
    e: FloatArray | None = None

    @staticmethod
    def whole(problem: SparseProblem, u: FloatArray, e: FloatArray | None = None) -> Reference:
        """All points."""
        return Reference(problem, np.arange(problem.n, dtype=np.int32), u, e)


def c_transform(
    cost: Cost,
    rows: IntArray,
    reference: Reference,
    near: FloatArray,
    run: Run,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[FloatArray, IntArray]:
    """The c-transform of the points `rows`, and how many points each of them rests on.

    `near` are guesses. Candidates are the pairs with `near_i + u_j > C_ij`; if the transform over
    these is no higher than the guess, no other pair matters to it. If it is higher, it is the next
    guess, and the row is looked at again: once without a floor, for then it is a bound. Where the
    candidates are hardly more than the floor of their row, fewer, or none, the transform over them
    is vast or infinite: the guess rises no more than by ever longer steps, or all points would be
    candidates. In a hollow problem a point is no candidate for
    itself. `report(row groups done, row groups in all)` is called as it goes on.
    """
    problem, e, g = reference.problem, reference.e, reference.problem.regularizer
    floor = None if e is None else problem.floor
    right = Side(
        problem.cost,
        np.arange(problem.n, dtype=np.int32),
        reference.index,
        reference.u,
        rounded_up(problem.cost, reference.u),
        (problem.weights if floor is None else e,),
    )
    of_rows = (None, None) if e is None or floor is None else (floor[rows], e[rows])
    candidates = partial(_candidates, hollow=problem.hollow, copies=problem.copies)
    v, counts = np.empty(len(rows)), np.zeros(len(rows), np.int64)
    left = Side(cost, rows, rows, near, rounded_up(cost, near, rows), of_rows)
    todo, step = np.arange(len(rows)), g.score(g.mass)
    while len(todo):
        finish = partial(_over_candidates, regularizer=g)
        total, parts = run.tiles(candidates, left, right, TILE_ROWS, finish)
        found = []
        for done, part in enumerate(parts, start=1):
            found.append(part)
            report(done, total)
        v[todo], counts[todo] = (np.concatenate(part) for part in zip(*found, strict=True))
        low = ~(v[todo] <= near)
        again, bound, left, todo = v[todo][low], near[low], left.part(low), todo[low]
        rounded = again + _ROUNDING * (np.abs(again) + step)
        is_bound = np.isfinite(again) & (floor is None)
        near = np.where(is_bound, rounded, np.minimum(rounded, bound + step))
        left = replace(left, ceiling=near, bound=rounded_up(cost, near, left.names))
        step *= _FASTER
    return v, counts


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs that the transforms of some rows are over, sorted by rows.

    Attributes
    ----------
    i : the place of the row.
    cost : the cost of the pair.
    u : the potential of the column.
    number : what a column may have besides: its weight, or the multiplier of its floor.
    """

    i: IntArray
    cost: FloatArray
    u: FloatArray
    number: FloatArray | None

    def at(self, places: IntArray) -> Candidates:
        """Some of them."""
        number = None if self.number is None else self.number[places]
        return Candidates(self.i[places], self.cost[places], self.u[places], number)

    @staticmethod
    def joined(parts: list[Candidates]) -> Candidates:
        """Those of several groups of columns."""
        if len(parts) == 1:
            return parts[0]
        i, cost, u = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("i", "cost", "u")
        )
        numbers = [part.number for part in parts if part.number is not None]
        number = np.concatenate(numbers) if numbers else None
        return Candidates(i, cost, u, number).at(np.argsort(i, kind="stable"))


def _candidates(left: Side, right: Side, hollow: bool, copies: bool) -> Candidates:
    """The pairs with `near_i + u_j > C_ij`; a point is one less of its own copies, if hollow."""
    i, j = joined(list(hits(left, right)))
    number = right.values[0]
    if hollow:
        others = left.names[i] != right.names[j]
        others |= number[j] > 1 if copies else False
        i, j = i[others], j[others]
    C = left.cost.pairs(left.rows[i], j, right.cost)
    u, number = right.ceiling[j], None if number is None else number[j]  # type: ignore[index]
    if hollow and copies:
        number -= left.names[i] == right.names[j]
    # Rounding in float32 must not decide on what is summed, nor tiles on the order.
    places = np.flatnonzero(left.ceiling[i] + u > C)  # type: ignore[index]
    places = places[_stable_order(i[places], len(left))]
    return Candidates(i, C, u, number).at(places)


def _stable_order(i: IntArray, n: int) -> IntArray:
    """The order that sorts numbers below n, equal ones as they are; of few bits it is faster."""
    order: IntArray = np.argsort(i.astype(np.uint16) if n <= 1 << 16 else i, kind="stable")
    return order


def _over_candidates(
    left: Side, found: list[Candidates], regularizer: PowerRegularizer
) -> tuple[FloatArray, IntArray]:
    """The transforms of rows over their candidates, and counts; infinite where there is none."""
    from sparrot._kernels import c_transform_support, floor_transform_rows

    pairs = Candidates.joined(found)
    i, C, u, number = pairs.i, pairs.cost, pairs.u, pairs.number
    g, n = regularizer, len(left)
    v, each = np.empty(n), np.arange(n, dtype=np.int32)
    indptr, own = np.searchsorted(i, np.arange(n + 1)), np.arange(len(i), dtype=np.int32)
    floor, e = left.values
    if floor is not None:
        f, (s, c) = np.empty(n), np.empty((2, longest_row(indptr, each)))
        floor_transform_rows(indptr, own, C, u, number, g.mass, floor, e, 1e-12, each, s, c, v, f)
    elif number is not None:
        _weighted_support(indptr, own, C, u, number, g.mass, each, v)
    else:
        s = np.empty(longest_row(indptr, each))
        c_transform_support(indptr, own, C, u, g.mass, g.factor, g.power, each, s, v)
    return v, np.bincount(i[v[i] + u - C > 0], minlength=n)


def c_transform_over(
    support: Support,
    rows: IntArray,
    u: FloatArray,
    regularizer: PowerRegularizer,
    threads: Threads,
    weights: FloatArray | None = None,
) -> FloatArray:
    """The transforms of some rows over their pairs in a support: bounds on those over all pairs.

    Infinite for a row without any pair.
    """
    from sparrot._kernels import c_transform_support

    v = np.empty(len(rows))
    s, g = support, regularizer

    def block(start: int, stop: int) -> None:
        some, out = rows[start:stop], v[start:stop]
        if weights is None:
            c_transform_support(
                s.indptr, s.indices, s.cost, u, g.mass, g.factor, g.power, some,
                np.empty(longest_row(s.indptr, some)), out,
            )  # fmt: skip
        else:
            _weighted_support(s.indptr, s.indices, s.cost, u, weights, g.mass, some, out)

    threads.blocks(block, len(rows), _SUPPORT_ROWS)
    return v


def _weighted_support(
    indptr: IntArray,
    indices: IntArray,
    cost: FloatArray,
    u: FloatArray,
    weights: FloatArray,
    mass: float,
    rows: IntArray,
    v: FloatArray,
) -> None:
    """Solve `sum_j w_j [v_k + u_j - cost_ij]_+ = mass` over the pairs of each row i = rows[k].

    In a row of entries `[s_j]_+ / (e_j / 2)` that sum to one, with a floor of one, which is none.
    """
    from sparrot._kernels import floor_transform_rows

    n, e = len(rows), 2 * mass / weights
    floor, near, f = np.ones(n), np.zeros(n), np.empty(n)
    s, c = np.empty((2, longest_row(indptr, rows)))
    floor_transform_rows(indptr, indices, cost, u, e, 0.0, floor, near, 1e-12, rows, s, c, v, f)


def rough_c_transform(
    cost: Cost, reference: Reference, run: Run
) -> tuple[FloatArray, IntArray, FloatArray]:
    """As `c_transform` for all points and a small reference set, in float32: good for a start.

    Also the spread of the scores of the nearest points, for rows of few neighbors (else zero).
    """
    n, problem = cost.n, reference.problem
    m = problem.n  # of points with copies there may be more than n
    every: IntArray = np.arange(max(n, m), dtype=np.int32)
    place = np.minimum(np.searchsorted(reference.index, every), m - 1)
    twin = np.where(reference.index[place] == every, place, -1)[:n]
    size = 1 << (max(_BLOCK // m, 1).bit_length() - 1)  # a power of two
    _, parts = run.tiles(
        partial(_rough_rows, size=size, regularizer=problem.regularizer),
        Side(cost, every[:n], every[:n], values=(twin,)),
        Side(problem.cost, every[:m], reference.index, values=(reference.u, problem.weights)),
        size,
    )
    v, counts, spread = (np.concatenate(part) for part in zip(*parts, strict=True))
    return v, counts, spread


def _rough_rows(
    left: Side, right: Side, size: int, regularizer: PowerRegularizer
) -> tuple[FloatArray, IntArray, FloatArray]:
    """The transforms of some rows; always of as many at once, unless these are in far clusters."""
    v, counts, spread = np.empty(len(left)), np.empty(len(left), np.int64), np.zeros(len(left))
    typical = float(np.median(np.abs(right.values[0])))
    for start in range(0, len(left), size):
        group = left.part(slice(start, start + size))
        for places, center in left.cost.clusters(group.rows, np.full(len(group), typical)):
            some, there = group.part(places), right
            if center is not None:
                some, there = about(some, center), about(right, center)
            rows = np.arange(start, start + len(group))[places]
            v[rows], counts[rows], spread[rows] = _rough_transforms(some, there, regularizer)
    return v, counts, spread


def _rough_transforms(
    left: Side, right: Side, regularizer: PowerRegularizer
) -> tuple[FloatArray, IntArray, FloatArray]:
    u, weights = right.values
    most, spread = min(_NEAREST, len(right) - 1), np.zeros(len(left))
    S: Float32Array = np.empty((len(left), len(right)), np.float32)
    left.cost.products(as_slice(left.rows), right.cost, slice(None), S)
    S += (u - right.cost.shift).astype(np.float32)
    twin = left.values[0]
    own = np.flatnonzero(twin >= 0)
    S[own, twin[own]] = -np.inf
    if weights is None:
        indptr, scores = _highest(S, regularizer)
        v = _over_scores(indptr, scores, regularizer)
        row = np.repeat(np.arange(len(left)), np.diff(indptr))
        counts = np.bincount(row[scores + v[row] > 0], minlength=len(left))
    else:
        v = _compiled(S, regularizer, weights)
        counts = (S + v[:, None] > 0).sum(axis=1)
    few = np.flatnonzero(counts <= FEW)
    nearest, each = S[few], np.arange(len(few))
    for _ in range(most - 1):  # much faster than a partition
        nearest[each, nearest.argmax(axis=1)] = -np.inf
    spread[few] = S[few].max(axis=1) - nearest.max(axis=1)
    return v + left.cost.shift[left.rows], counts, spread


def transform_scores(
    S: FloatArray,
    regularizer: PowerRegularizer,
    mass: float | FloatArray | None = None,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Solve `sum_j w_j g([v_i + S_ij]_+) = mass_i` for each row of a dense block of scores.

    The mass is the regularizer's if None, and the weights are one. Newton from the right on a
    convex increasing function: monotone, and finite where g is linear. Entries may be minus
    infinity, but not a whole row.

    Examples
    --------
    >>> from sparrot.ot._problem import QuadraticRegularizer
    >>> transform_scores(np.array([[0.0, -0.5, -9.0]]), QuadraticRegularizer(1.0))
    array([0.75])
    """
    if mass is None and S.size >= _WORTH_COMPILING and (weights is None or regularizer.linear):
        return _compiled(S, regularizer, weights)
    m = np.broadcast_to(np.asarray(regularizer.mass if mass is None else mass, float), len(S))
    top = S.max(axis=1)
    S = S - top[:, None]  # so that no mass is so small that it vanishes beside the scores
    v = regularizer.score(m)
    if weights is not None:
        v = (regularizer.score(m[:, None] / weights) - S).min(axis=1)
    falling = np.arange(len(S))
    for _ in range(200):
        if len(falling) == 0:
            break
        lower = _lowered(S[falling], v[falling], m[falling], regularizer, weights)
        moved = lower < v[falling]
        falling = falling[moved]
        v[falling] = lower[moved]
    return v - top


def _compiled(
    S: FloatArray | Float32Array, regularizer: PowerRegularizer, weights: FloatArray | None
) -> FloatArray:
    """The same by the kernels for sparse rows, with scores in the place of costs."""
    if weights is None:
        return _over_scores(*_highest(S, regularizer), regularizer)
    n, m = S.shape
    v, cost = np.empty(n), np.negative(S.ravel(), dtype=np.float64)
    indptr, rows = np.arange(n + 1) * m, np.arange(n, dtype=np.int32)
    columns = np.tile(np.arange(m, dtype=np.int32), n)
    _weighted_support(indptr, columns, cost, np.zeros(m), weights, regularizer.mass, rows, v)
    return v


def _highest(
    S: FloatArray | Float32Array, regularizer: PowerRegularizer
) -> tuple[IntArray, FloatArray]:
    """Those scores of each row that can carry mass: where the rows begin, and the scores.

    The highest one alone would carry all of it, so that no other that is lower by more carries any.
    """
    n, m = S.shape
    least = S.max(axis=1) - np.asarray(regularizer.score(regularizer.mass), S.dtype)
    flat = np.flatnonzero(S >= np.nextafter(least, np.asarray(-np.inf, S.dtype))[:, None])
    return np.searchsorted(flat, np.arange(n + 1) * m), S.ravel()[flat].astype(np.float64)


def _over_scores(indptr: IntArray, scores: FloatArray, regularizer: PowerRegularizer) -> FloatArray:
    """The transforms of rows over their scores."""
    from sparrot._kernels import c_transform_support

    g, n = regularizer, len(indptr) - 1
    v, rows, same = np.empty(n), np.arange(n, dtype=np.int32), np.zeros(len(scores), np.int32)
    s = np.empty(longest_row(indptr, rows))
    c_transform_support(indptr, same, -scores, np.zeros(1), g.mass, g.factor, g.power, rows, s, v)
    return v


def _lowered(
    S: FloatArray,
    v: FloatArray,
    mass: FloatArray,
    regularizer: PowerRegularizer,
    weights: FloatArray | None,
) -> FloatArray:
    """The v of each row after one Newton step from the right."""

    def sums(A: FloatArray | float) -> FloatArray:
        kept = np.where(positive, A, 0.0)
        return kept.sum(axis=1) if weights is None else kept @ weights

    positive = S + v[:, None] > 0
    if regularizer.linear:  # depends on the support alone, so that it stops when the support does
        return (mass - sums(S)) / sums(1.0)
    P = np.where(positive, S + v[:, None], 0.0)
    return v - (sums(regularizer.entry(P)) - mass) / sums(regularizer.slope(P))
