"""The one-variable equation: how high a point must rise to find its mass among given points.

Against points j with potentials u_j, the level of a point i is the v that solves

    sum_j g([v + u_j - C_ij]_+) = mass

(for the quadratic regularizer, g(s) = s, a projection onto the simplex). The level of a point
against all others *is* its potential at the optimum; against a random part of them, with its share
of the mass, it is an estimate of it; and for a new point it gives the row of the affinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.cost import Cost
from sparrot.engine import Threads
from sparrot.ot._link import QUADRATIC, Link
from sparrot.ot._screening import ROWS, Scratch, ceilings, hits, tiles

_FASTER = 8.0  # factor on the step by which a row without any candidate rises
_ROUNDING = 1e-9  # far more than a level errs by
_WORTH_COMPILING = 1_000_000  # entries of a block


@dataclass(frozen=True, slots=True)
class Part:
    """Some points of a cost: their places (ascending), the cost between them, potentials."""

    index: IntArray
    cost: Cost
    u: FloatArray

    @staticmethod
    def whole(cost: Cost, u: FloatArray) -> Part:
        """All points."""
        return Part(np.arange(cost.n, dtype=np.int32), cost, u)


def levels_against(
    cost: Cost,
    rows: IntArray,
    part: Part,
    link: Link,
    mass: float,
    near: FloatArray,
    hollow: bool,
    threads: Threads,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[FloatArray, IntArray]:
    """Levels of the points `rows` of `cost` against a part, and how many points each rests on.

    `near` are guesses. Candidates are the pairs with `near_i + u_j > C_ij`; if the level over these
    is no higher than the guess, no other pair matters to it. If it is higher, it is at least a
    bound, and the row is looked at once more. With `hollow` a point is no candidate for itself.
    `report(row groups done, row groups in all)` is called as it goes on.
    """
    v = np.empty(len(rows))
    counts = np.zeros(len(rows), np.int64)
    columns = ceilings(part.cost, part.u)
    scratch = Scratch()
    first_step = float(link.score(np.array(mass)))

    def candidates(group: IntArray, bound: FloatArray) -> tuple[IntArray, IntArray]:
        limit = ceilings(cost, bound, group)
        found = [
            hits(cost, group, limit, part.cost, tile, columns, scratch)
            for tile in tiles(cost, group, bound, part.cost, part.u)
        ]
        i = np.concatenate([i for i, _ in found] or [group[:0]])
        j = np.concatenate([j for _, j in found] or [group[:0]])
        if hollow:
            other = part.index[j] != group[i]
            i, j = i[other], j[other]
        order = np.argsort(i, kind="stable")
        return i[order], j[order]

    def block(start: int, stop: int) -> None:
        todo, bound, step = np.arange(start, stop), near[start:stop], first_step
        while len(todo):
            i, j = candidates(rows[todo], bound)
            C = cost.pairs(rows[todo][i], part.index[j])
            level, counts[todo] = _levels_of_candidates(i, j, C, len(todo), part.u, link, mass)
            v[todo] = level
            low = ~(level <= bound)
            higher = np.where(
                np.isfinite(level), level + _ROUNDING * (np.abs(level) + step), bound + step
            )
            todo, bound, step = todo[low], higher[low], _FASTER * step

    threads.run(block, len(rows), ROWS, report)
    return v, counts


def _levels_of_candidates(
    i: IntArray, j: IntArray, C: FloatArray, n: int, u: FloatArray, link: Link, mass: float
) -> tuple[FloatArray, IntArray]:
    """Levels of n rows over pairs that are sorted by row; infinite for a row without any."""
    from sparrot._kernels import support_levels

    v = np.empty(n)
    indptr = np.searchsorted(i, np.arange(n + 1))
    rows = np.arange(n, dtype=np.int32)
    support_levels(indptr, j, C, u, mass, link.factor, link.power, rows, v)
    return v, np.bincount(i[v[i] + u[j] - C > 0], minlength=n)


def first_levels(
    cost: Cost, part: Part, link: Link, mass: float, threads: Threads
) -> tuple[FloatArray, IntArray]:
    """Levels of all points against a small part, from products in float32: good for a start."""
    v = np.empty(cost.n)
    counts = np.empty(cost.n, np.int64)
    b = part.u - part.cost.shift
    place = np.minimum(np.searchsorted(part.index, np.arange(cost.n)), part.cost.n - 1)
    own = part.index[place] == np.arange(cost.n)

    def block(start: int, stop: int) -> None:
        Q: Float32Array = np.empty((stop - start, part.cost.n), np.float32)
        cost.products(slice(start, stop), part.cost, slice(None), Q)
        S = Q + b
        twin = np.flatnonzero(own[start:stop])
        S[twin, place[start:stop][twin]] = -np.inf
        v[start:stop] = block_levels(S, mass, link)
        counts[start:stop] = (S + v[start:stop, None] > 0).sum(axis=1)

    threads.run(block, cost.n, _WORTH_COMPILING // part.cost.n + 1)
    return v + cost.shift, counts


def simplex_levels(S: FloatArray, mass: float | FloatArray, link: Link = QUADRATIC) -> FloatArray:
    """Solve `sum_j g([v_i + S_ij]_+) = mass_i` for each row of a dense block of scores.

    Newton from the right on a convex increasing function: monotone, and finite for the quadratic
    link. Entries may be minus infinity, but not all entries of a row.

    Examples
    --------
    >>> simplex_levels(np.array([[0.0, -0.5, -9.0]]), 1.0)
    array([0.75])
    """
    mass = np.broadcast_to(np.asarray(mass, dtype=np.float64), len(S))
    v: FloatArray = link.score(mass) - S.max(axis=1)
    falling = np.arange(len(S))
    for _ in range(200):
        if len(falling) == 0:
            break
        lower = _newton_step(S[falling], v[falling], mass[falling], link)
        moved = lower < v[falling]
        falling = falling[moved]
        v[falling] = lower[moved]
    return v


def block_levels(S: FloatArray, mass: float, link: Link) -> FloatArray:
    """As `simplex_levels`; large blocks are worth a compiled loop."""
    if S.size < _WORTH_COMPILING:
        return simplex_levels(S, mass, link)
    from sparrot._kernels import row_levels

    v = np.empty(len(S))
    row_levels(S, mass, link.factor, link.power, v)
    return v


def _newton_step(S: FloatArray, v: FloatArray, mass: FloatArray, link: Link) -> FloatArray:
    positive = S + v[:, None] > 0
    if link.linear:  # depends on the support alone, so that it stops when the support does
        return (mass - np.where(positive, S, 0.0).sum(axis=1)) / positive.sum(axis=1)
    P = np.where(positive, S + v[:, None], 0.0)
    slope = np.where(positive, link.slope(P), 0.0).sum(axis=1)
    return v - (link.entry(P).sum(axis=1) - mass) / slope
