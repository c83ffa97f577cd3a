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
from dataclasses import dataclass

import numpy as np

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.cost import Cost
from sparrot.engine import Run
from sparrot.ot._problem import PowerRegularizer, SparseProblem
from sparrot.ot._screening import TILE_ROWS, Support, Tiles, joined, longest_row, rounded_up

_FASTER = 8.0  # factor on the step by which a row without any candidate rises
_ROUNDING = 1e-9  # far more than a c-transform errs by
_WORTH_COMPILING = 1_000_000  # entries of a block
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
    report: Callable[[int, int], None] | None = None,
) -> tuple[FloatArray, IntArray]:
    """The c-transform of the points `rows`, and how many points each of them rests on.

    `near` are guesses. Candidates are the pairs with `near_i + u_j > C_ij`; if the transform over
    these is no higher than the guess, no other pair matters to it. If it is higher, it is at least
    a bound, and the row is looked at once more. In a hollow problem a point is no candidate for
    itself. `report(row groups done, row groups in all)` is called as it goes on.
    """
    v = np.empty(len(rows))
    counts = np.zeros(len(rows), np.int64)
    problem, u = reference.problem, reference.u
    regularizer = problem.regularizer
    tiles = Tiles(cost, problem.cost, u)

    def block(start: int, stop: int) -> None:
        todo, bound, step = (
            np.arange(start, stop),
            near[start:stop],
            regularizer.score(regularizer.mass),
        )
        while len(todo):
            i, j = joined(list(tiles.hits(rows[todo], bound, rounded_up(cost, bound, rows[todo]))))
            if problem.hollow:
                other = reference.index[j] != rows[todo][i]
                i, j = i[other], j[other]
            order = np.argsort(i, kind="stable")
            i, j = i[order], j[order]
            C = cost.pairs(rows[todo][i], reference.index[j])
            found, counts[todo] = _over_candidates(i, j, C, rows[todo], reference)
            v[todo] = found
            low = ~(found <= bound)
            higher = np.where(
                np.isfinite(found), found + _ROUNDING * (np.abs(found) + step), bound + step
            )
            todo, bound, step = todo[low], higher[low], _FASTER * step

    run.threads.blocks(block, len(rows), TILE_ROWS, report)
    return v, counts


def _over_candidates(
    i: IntArray, j: IntArray, C: FloatArray, rows: IntArray, reference: Reference
) -> tuple[FloatArray, IntArray]:
    """The transforms of rows over pairs that are sorted by row; infinite where there is none."""
    from sparrot._kernels import c_transform_support, floor_transform_rows

    problem, u, e = reference.problem, reference.u, reference.e
    g = problem.regularizer
    n = len(rows)
    v = np.empty(n)
    indptr = np.searchsorted(i, np.arange(n + 1))
    each = np.arange(n, dtype=np.int32)
    if problem.weights is not None:
        _weighted_support(indptr, j, C, u, problem.weights, g.mass, each, v)
    elif problem.floor is None or e is None:
        s = np.empty(longest_row(indptr, each))
        c_transform_support(indptr, j, C, u, g.mass, g.factor, g.power, each, s, v)
    else:
        k, f = problem.floor[rows], np.empty(n)
        s, c = np.empty((2, longest_row(indptr, each)))
        floor_transform_rows(indptr, j, C, u, e, g.mass, k, e[rows], 1e-12, each, s, c, v, f)
    return v, np.bincount(i[v[i] + u[j] - C > 0], minlength=n)


def c_transform_over(
    support: Support,
    rows: IntArray,
    u: FloatArray,
    regularizer: PowerRegularizer,
    run: Run,
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

    run.threads.blocks(block, len(rows), _SUPPORT_ROWS)
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
    n, m = cost.n, reference.problem.n
    regularizer = reference.problem.regularizer
    v = np.empty(n)
    counts = np.empty(n, np.int64)
    spread = np.zeros(n)
    b = reference.u - reference.problem.cost.shift
    place = np.minimum(np.searchsorted(reference.index, np.arange(n)), m - 1)
    own = reference.index[place] == np.arange(n)
    most = min(_NEAREST, m - 1)

    def block(start: int, stop: int) -> None:
        G: Float32Array = np.empty((stop - start, m), np.float32)
        cost.products(slice(start, stop), reference.problem.cost, slice(None), G)
        S = G + b
        twin = np.flatnonzero(own[start:stop])
        S[twin, place[start:stop][twin]] = -np.inf
        v[start:stop] = transform_scores(S, regularizer, weights=reference.problem.weights)
        counts[start:stop] = (S + v[start:stop, None] > 0).sum(axis=1)
        few = np.flatnonzero(counts[start:stop] <= FEW)
        nearest = np.partition(S[few], -most, axis=1)[:, -most:]
        spread[start + few] = nearest.max(axis=1) - nearest.min(axis=1)

    run.threads.blocks(block, n, _WORTH_COMPILING // m + 1)
    return v + cost.shift, counts, spread


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
        lower = _newton_step(S[falling], v[falling], m[falling], regularizer, weights)
        moved = lower < v[falling]
        falling = falling[moved]
        v[falling] = lower[moved]
    return v - top


def _compiled(
    S: FloatArray, regularizer: PowerRegularizer, weights: FloatArray | None
) -> FloatArray:
    """The same by the kernel for sparse rows, with scores in the place of costs."""
    from sparrot._kernels import c_transform_support

    n, m = S.shape
    v, cost = np.empty(n), np.negative(S.ravel(), dtype=np.float64)
    indptr, rows = np.arange(n + 1) * m, np.arange(n, dtype=np.int32)
    columns = np.tile(np.arange(m, dtype=np.int32), n)
    u, mass, g = np.zeros(m), regularizer.mass, regularizer
    if weights is None:
        s = np.empty(m)
        c_transform_support(indptr, columns, cost, u, mass, g.factor, g.power, rows, s, v)
    else:
        _weighted_support(indptr, columns, cost, u, weights, mass, rows, v)
    return v


def _newton_step(
    S: FloatArray,
    v: FloatArray,
    mass: FloatArray,
    regularizer: PowerRegularizer,
    weights: FloatArray | None,
) -> FloatArray:
    def sums(A: FloatArray | float) -> FloatArray:
        kept = np.where(positive, A, 0.0)
        return kept.sum(axis=1) if weights is None else kept @ weights

    positive = S + v[:, None] > 0
    if regularizer.linear:  # depends on the support alone, so that it stops when the support does
        return (mass - sums(S)) / sums(1.0)
    P = np.where(positive, S + v[:, None], 0.0)
    return v - (sums(regularizer.entry(P)) - mass) / sums(regularizer.slope(P))
