r"""A floor on the effective number of neighbors of every row.

.. math:: \min \{ \langle C, A \rangle + \tfrac\varepsilon2 |A|_F^2 : A \ge 0,\ A = A^\top,\
          A \mathbf 1 = \mathbf 1,\ |A_i|^2 \le 1 / k_i \text{ for every row } i \}

is again a Frobenius projection onto a convex set: unique, Lipschitz in C, and unchanged by
:math:`C_{ij} + s_i + s_j`. The participation ratio :math:`1 / |A_i|^2` is the effective number of
neighbors of a row (its perplexity of order two), so that every row has at least :math:`k_i` of
them. With multipliers :math:`e_i \ge 0` of the new constraints and
:math:`d_{ij} = \varepsilon + (e_i + e_j) / 2` the plan is :math:`W_{ij} = s_{ij} / d_{ij}`, and

.. math:: \Psi(u, e) = \tfrac14 \sum_{ij} s_{ij}^2 / d_{ij} - \sum_i u_i + \sum_i e_i / (4 k_i)

is jointly convex (a square over a line), with gradients :math:`(W \mathbf 1)_i - 1` and
:math:`(1/k_i - |W_i|^2) / 4`. A pair adds :math:`(\delta s - W_{ij} \delta d)^2 / d_{ij}` to the
quadratic form of the Hessian. Pairs outside the support still need nothing but
:math:`u_i + u_j \le C_{ij}`, so that ceilings and screening stay as they are.

Newton works on u and on the free :math:`e_i`: those that a step of their own would make negative
go to zero (a primal-dual active set). It needs a start that is not too far off. The c-transform of
a row, now in the two variables of the row, gives one: taking all rows half way to theirs never
increases :math:`\Psi`, for the same reason as in `sparrot.ot._newton`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import BoolArray, FloatArray, IntArray
from sparrot.engine import Run
from sparrot.ot._dual import DenseDual, RestrictedDual
from sparrot.ot._newton import ARMIJO, LEAST_DELTA, SHORTEST, NewtonResult, adapted
from sparrot.ot._problem import (
    Certificate,
    QuadraticRegularizer,
    Solution,
    SparseProblem,
    compressed,
    marginal_error,
)
from sparrot.ot._screening import Support

_TRANSFORM_ROWS = 256  # rows of a block
_SWEEP_PRECISION = 0.02  # of the logarithm of a floor, while rows only come near
_NEAR = 0.25  # error from which Newton takes over,
_MAX_SWEEPS = 5  # or after so many sweeps
_MOST_DELTA = 1e-1  # added to the diagonal, as a share of it
_MAX_CG = 1000
_MAX_SOLVES = 3  # of the system for one step
_PATIENCE = 100  # steps within which the error must fall,
_LONG_SWEEPS = 100  # or so many sweeps come first once more
_HUGE = 1e9  # a multiplier that leaves no difference between the weights of a row
_SINGULAR = 1e-10  # share of a 2 x 2 determinant below which it is rounding


@dataclass(frozen=True, slots=True)
class FloorState:
    """The dual at one point x = (u, e).

    Attributes
    ----------
    value : Psi.
    marginal : row sums less one, the gradient in u.
    floor : the gradient in e.
    errors : for each row the largest of its marginal error, the violation of its floor
        `k_i |W_i|^2 - 1` and the complementarity error `min(e_i / (eps + e_i), 1 - k_i |W_i|^2)`.
    a, b, q : sums over each row of 1/d, W/d and W^2/d: the diagonal of the Hessian in u is a, in e
        it is q/4, and -b/2 couples the two of a row.
    product : the map `(x_u, x_e) -> H x` with all variables.
    """

    value: float
    marginal: FloatArray
    floor: FloatArray
    errors: FloatArray
    a: FloatArray
    b: FloatArray
    q: FloatArray
    product: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]

    @property
    def error(self) -> float:
        """The largest error of a row."""
        return float(self.errors.max())


class FloorDual(Protocol):
    """What the solver asks of the dual."""

    def state(self, u: FloatArray, e: FloatArray) -> FloorState:
        """Value, gradient and Hessian."""

    def c_transform(
        self, u: FloatArray, e: FloatArray, rows: IntArray, precision: float
    ) -> tuple[FloatArray, FloatArray]:
        """The u_i and e_i of some rows that solve their two equations, all others held.

        The precision is that of the logarithm of a floor.
        """


def solve_floor(
    dual: FloorDual,
    u: FloatArray,
    e: FloatArray,
    tol: float,
    max_iter: int,
    report: Callable[[int, float], None] = lambda step, error: None,
) -> tuple[NewtonResult, FloatArray]:
    """Minimize the dual from (u, e), near the solution; the result in u, and e."""
    state = dual.state(u, e)
    best, least, progressed, restarted = (u, e), np.inf, 0, np.inf
    history: list[float] = []
    delta = _damping(state)
    while True:
        if state.error < 0.9 * least:
            progressed = len(history)
        if state.error < least:
            best, least = (u, e), state.error
        report(len(history), state.error)
        if state.error <= tol or len(history) >= max_iter:
            break
        if len(history) > progressed + _PATIENCE:
            if least == restarted:  # it would go the same way again
                break
            restarted, progressed = least, len(history)
            u, e = sweep(dual, *best, near=least / 10, most=_LONG_SWEEPS)
            state = dual.state(u, e)
            delta = _damping(state)
            continue
        history.append(state.error)
        lonely = np.flatnonzero(state.a == 0)
        if len(lonely):  # rows without a positive score have no Hessian
            v, f = dual.c_transform(u, e, lonely, _SWEEP_PRECISION)
            u, e = u.copy(), e.copy()
            u[lonely], e[lonely] = (u[lonely] + v) / 2, (e[lonely] + f) / 2
            state = dual.state(u, e)
            continue
        step = _direction(state, e, delta)
        with np.errstate(over="ignore", invalid="ignore"):  # a step so long is too long
            found = _line_search(dual, u, e, state, step)
        if found is None:  # rounding: no step of any length improves
            break
        u, e, state, length = found
        delta = adapted(delta, length, _MOST_DELTA)
    return NewtonResult(best[0], least, tuple(history)), best[1]


def at_other_eps(e: FloatArray, old: float, new: float) -> FloatArray:
    """Multipliers to start from: where one is free, `eps + e_i` stays as it was."""
    return np.where(e > 0, np.maximum(e + old - new, 0.0), 0.0)


def sweep(
    dual: FloorDual, u: FloatArray, e: FloatArray, near: float = _NEAR, most: int = _MAX_SWEEPS
) -> tuple[FloatArray, FloatArray]:
    """Rows that are far off half way to their c-transforms, again and again."""
    for _ in range(most):
        rows = np.flatnonzero(dual.state(u, e).errors > near).astype(np.int32)
        if len(rows) == 0:
            break
        v, f = dual.c_transform(u, e, rows, min(_SWEEP_PRECISION, near / 10))
        u, e = u.copy(), e.copy()
        u[rows], e[rows] = (u[rows] + v) / 2, (e[rows] + f) / 2
    return u, e


def _damping(state: FloorState) -> float:
    """The delta to begin with: the worse the start, the larger."""
    return float(np.clip(state.error / 10, LEAST_DELTA, _MOST_DELTA))


def _direction(state: FloorState, e: FloatArray, delta: float) -> tuple[FloatArray, FloatArray]:
    """The Newton step of u and the free e; those that it would make negative end at zero.

    First these are the e that a step of their own would take there. Where the step of all takes
    others there, it is solved for once more without them, or u would not fit to them.
    """
    fixed: BoolArray = e * state.q / 4 <= state.floor
    for _ in range(_MAX_SOLVES):
        x_u, x_e = _conjugate_gradients(state, e, fixed, delta)
        negative = x_e < -e
        if not negative.any():
            break
        fixed = fixed | negative
    return x_u, np.maximum(x_e, -e)


def _conjugate_gradients(
    state: FloorState, e: FloatArray, fixed: BoolArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Solve the Newton system of u and the free e, preconditioned row by row."""
    ended = np.where(fixed, -e, 0.0)
    pushed_u, pushed_e = state.product(np.zeros_like(e), ended)
    r_u = -state.marginal - pushed_u
    r_e = np.where(fixed, 0.0, -state.floor - pushed_e)
    extra_u, extra_e = delta * state.a, delta * state.q / 4
    a, q = state.a + extra_u, np.where(fixed, 1.0, state.q / 4 + extra_e)
    b = np.where(fixed, 0.0, -state.b / 2)
    det = np.maximum(a * q - b * b, _SINGULAR * a * q)

    def precondition(r_u: FloatArray, r_e: FloatArray) -> tuple[FloatArray, FloatArray]:
        return (q * r_u - b * r_e) / det, (a * r_e - b * r_u) / det

    x_u, x_e = np.zeros_like(r_u), np.zeros_like(r_e)
    z_u, z_e = precondition(r_u, r_e)
    p_u, p_e = z_u.copy(), z_e.copy()
    rz = float(r_u @ z_u + r_e @ z_e)
    target = min(0.1, 0.3 * state.error**0.5) ** 2 * rz
    for _ in range(_MAX_CG):
        h_u, h_e = state.product(p_u, p_e)
        h_u, h_e = h_u + extra_u * p_u, np.where(fixed, 0.0, h_e + extra_e * p_e)
        alpha = rz / float(p_u @ h_u + p_e @ h_e)
        x_u += alpha * p_u
        x_e += alpha * p_e
        r_u = r_u - alpha * h_u
        r_e = r_e - alpha * h_e
        z_u, z_e = precondition(r_u, r_e)
        rz, previous = float(r_u @ z_u + r_e @ z_e), rz
        if not rz > target:
            break
        p_u, p_e = z_u + (rz / previous) * p_u, z_e + (rz / previous) * p_e
    return x_u, np.where(fixed, ended, x_e)


def _line_search(
    dual: FloorDual,
    u: FloatArray,
    e: FloatArray,
    state: FloorState,
    step: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray, FloorState, float] | None:
    """A point along the step at which Psi is low enough; all of them have e >= 0.

    Where the step is no descent, take a damped step of every variable by itself, which is. It is
    halved until Armijo's rule holds. A whole step that leaves most of the slope, as in a direction
    in which Psi is all but flat, is doubled as long as it does.
    """
    slope = _slope(state, step)
    if slope >= 0:
        alone = np.divide(state.floor, state.q / 4, out=np.zeros_like(e), where=state.q > 0)
        step = -state.marginal / (2 * state.a), np.maximum(-alone / 2, -e)
        slope = _slope(state, step)
    rounding = 1e-14 * (abs(state.value) + float(np.abs(u).sum()))
    t = 1.0
    while t >= SHORTEST:
        v, f = u + t * step[0], e + t * step[1]
        there = dual.state(v, f)
        flat = abs(there.value - state.value) <= rounding
        if there.value <= state.value + ARMIJO * t * slope or (flat and there.error < state.error):
            break
        t /= 2
    else:
        return None
    while t >= 1 and _slope(there, step) < slope / 2 and (e + 2 * t * step[1] >= 0).all():
        further = dual.state(u + 2 * t * step[0], e + 2 * t * step[1])
        if _slope(further, step) > 0:
            there = dual.state(v, f)  # products are those of the last point
            break
        t *= 2
        v, f, there = u + t * step[0], e + t * step[1], further
    return v, f, there, t


def _slope(state: FloorState, step: tuple[FloatArray, FloatArray]) -> float:
    return float(state.marginal @ step[0] + state.floor @ step[1])


class DenseFloorDual:
    """The dual over a dense matrix of costs, in which infinity marks forbidden pairs."""

    def __init__(self, C: FloatArray, problem: SparseProblem, run: Run) -> None:
        assert problem.floor is not None
        self._C = C
        self._eps = problem.regularizer.mass
        self._k = problem.floor
        self._scores = DenseDual(C, QuadraticRegularizer(self._eps), run)

    def state(self, u: FloatArray, e: FloatArray) -> FloorState:
        """By the sparse matrix of positive scores."""
        s = self._scores.scores(u)
        i = np.repeat(np.arange(len(u)), np.diff(s.indptr))
        h = 1 / (self._eps + (e[i] + e[s.indices]) / 2)
        w = s.data * h

        def like(data: FloatArray) -> csr_array:
            return csr_array((data, s.indices, s.indptr), shape=s.shape)

        A, B, Q = like(h), like(w * h), like(w * w * h)
        a, b, q = A.sum(axis=1), B.sum(axis=1), Q.sum(axis=1)

        def product(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
            return (
                a * x + A @ x - (b * y + B @ y) / 2,
                -(b * x + B @ x) / 2 + (q * y + Q @ y) / 4,
            )

        value = float((s.data * w).sum()) / 4 - float(u.sum()) + float((e / self._k).sum()) / 4
        squares = like(w * w).sum(axis=1)
        return _finished(
            value, like(w).sum(axis=1) - 1, squares, self._k, e, self._eps, a, b, q, product
        )

    def c_transform(
        self, u: FloatArray, e: FloatArray, rows: IntArray, precision: float
    ) -> tuple[FloatArray, FloatArray]:
        """Of some rows against all points."""
        return transform_rows(u - self._C[rows], e, self._eps, self._k[rows], e[rows], precision)

    def plan(self, u: FloatArray, e: FloatArray) -> csr_array:
        """The matrix `s_ij / d_ij`."""
        s = self._scores.scores(u)
        i = np.repeat(np.arange(len(u)), np.diff(s.indptr))
        w = s.data / (self._eps + (e[i] + e[s.indices]) / 2)
        return csr_array((w, s.indices, s.indptr), shape=s.shape)


class SparseFloorDual(RestrictedDual):
    """The dual over a support, from multipliers e on, which it keeps."""

    def __init__(
        self,
        support: Support,
        ceiling: FloatArray,
        stiffness: FloatArray,
        problem: SparseProblem,
        e: FloatArray,
        run: Run,
    ) -> None:
        assert problem.floor is not None
        super().__init__(support, ceiling, stiffness, run)
        self.e: FloatArray = e
        self._problem = problem
        self._eps, self._k = problem.regularizer.mass, problem.floor
        self._w, self._h = np.empty(len(support.indices)), np.empty(len(support.indices))

    def solve(
        self, u: FloatArray, tol: float, max_iter: int, report: Callable[[int, float], None]
    ) -> NewtonResult:
        """By sweeps, and by Newton unless these show that it would be in vain."""
        u, self.e = sweep(self, u, self.e)
        if len(self.over(u)):
            return NewtonResult(u, 0.0, ())
        result, self.e = solve_floor(self, u, self.e, tol, max_iter, report)
        return result

    def over(self, u: FloatArray) -> IntArray:
        """Also the rows with fewer pairs than their floor: only a ghost could take the rest."""
        too_few = np.diff(self._support.indptr) < self._k
        return np.flatnonzero((u > self._ceiling) | too_few).astype(np.int32)

    def state(self, u: FloatArray, e: FloatArray) -> FloorState:
        """Evaluate by blocks of rows."""
        from sparrot._kernels import floor_rows

        s, sums = self._support, np.empty((6, len(u)))

        def rows(start: int, stop: int) -> None:
            floor_rows(
                s.indptr, s.indices, s.cost, u, e, self._eps, start, stop,
                sums, self._degree, self._active, self._w, self._h,
            )  # fmt: skip

        self._run.threads.blocks(rows, len(u), self._block)
        total, squares, values, a, b, q = sums
        excess = np.maximum(u - self._ceiling, 0)
        ghost = self._stiffness * excess
        value = float(values.sum()) / 4 + float(ghost @ excess) / 2 - float(u.sum())
        value += float((e / self._k).sum()) / 4
        stiff = self._stiffness * (excess > 0)
        return _finished(
            value, total + ghost - 1, squares, self._k, e, self._eps, a + stiff, b, q,
            lambda x, y: self._product(x, y, stiff),
        )  # fmt: skip

    def _product(
        self, x: FloatArray, y: FloatArray, stiff: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        from sparrot._kernels import floor_product_rows

        s, out_x, out_y = self._support, np.empty_like(x), np.empty_like(y)

        def rows(start: int, stop: int) -> None:
            floor_product_rows(
                s.indptr, self._active, self._degree, self._w, self._h, x, y, start, stop,
                out_x, out_y,
            )  # fmt: skip

        self._run.threads.blocks(rows, len(x), self._block)
        return out_x + stiff * x, out_y

    def c_transform(
        self, u: FloatArray, e: FloatArray, rows: IntArray, precision: float
    ) -> tuple[FloatArray, FloatArray]:
        """Over the support, but no higher than a ghost alone would lift the row."""
        v, f = transform_over(self._support, rows, u, e, self._problem, self._run, precision)
        highest = self._ceiling[rows] + 1 / self._stiffness[rows]
        return np.minimum(v, highest), np.where(v <= highest, f, e[rows])

    def transform_over(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """The c-transforms of some rows over the support; infinite where pairs are too few."""
        return transform_over(self._support, rows, u, self.e, self._problem, self._run)[0]

    def certify(self, certificate: Certificate, plan: csr_array) -> Certificate:
        """With the floors."""
        return floor_certificate(certificate, self._problem, plan, self.e)

    def plan(self, u: FloatArray) -> csr_array:
        """The matrix `s_ij / d_ij` over the support, zeros dropped."""
        self.state(u, self.e)
        starts = np.cumsum(self._degree) - self._degree
        kept = np.repeat(self._support.indptr[:-1] - starts, self._degree)
        kept += np.arange(len(kept))
        return compressed(self._degree, self._active[kept], self._w[kept], len(u))


def transform_over(
    support: Support,
    rows: IntArray,
    u: FloatArray,
    e: FloatArray,
    problem: SparseProblem,
    run: Run,
    precision: float = 1e-12,
) -> tuple[FloatArray, FloatArray]:
    """The c-transforms (v, f) of some rows over their pairs in a support."""
    from sparrot._kernels import floor_transform_rows

    assert problem.floor is not None
    k, near, eps = problem.floor[rows], e[rows], problem.regularizer.mass
    v, f = np.empty(len(rows)), np.empty(len(rows))

    def block(start: int, stop: int) -> None:
        part = slice(start, stop)
        floor_transform_rows(
            support.indptr, support.indices, support.cost, u, e, eps, k[part], near[part],
            precision, rows[part], v[part], f[part],
        )  # fmt: skip

    run.threads.blocks(block, len(rows), _TRANSFORM_ROWS)
    return v, f


def _finished(
    value: float,
    marginal: FloatArray,
    squares: FloatArray,
    k: FloatArray,
    e: FloatArray,
    eps: float,
    a: FloatArray,
    b: FloatArray,
    q: FloatArray,
    product: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
) -> FloorState:
    errors = np.maximum(np.abs(marginal), floor_errors(squares, k, e, eps))
    return FloorState(value, marginal, (1 / k - squares) / 4, errors, a, b, q, product)


def floor_errors(squares: FloatArray, k: FloatArray, e: FloatArray, eps: float) -> FloatArray:
    """How far rows with these `|W_i|^2` violate their floors, or complementarity."""
    errors: FloatArray = np.abs(np.minimum(e / (eps + e), 1 - k * squares))
    return errors


def has_full_row(floor: FloatArray, most: int) -> bool:
    """Whether some row must have all points, `most`, as neighbors."""
    return bool(floor.max() >= most * (1 - 1e-12))


def must_be_uniform(floor: FloatArray, most: int) -> bool:
    """Whether every row must have all points, `most`, as neighbors with equal weights."""
    return bool(floor.min() >= most * (1 - 1e-12))


def uniform_solution(problem: SparseProblem, C: FloatArray, method: str, tol: float) -> Solution:
    """The uniform matrix, as the limit of large and equal multipliers: one linear system for u."""
    n = problem.n
    e = np.full(n, _HUGE)
    d = problem.regularizer.mass + _HUGE
    finite = np.where(np.isfinite(C), C, 0.0)
    target = d + finite.sum(axis=1)  # of (n - 2) u_i + sum u, or n u_i + sum u with a diagonal
    own = n - 2 if problem.hollow else n
    u = target / 2 if own == 0 else (target - target.sum() / (own + n)) / own
    W = (u[:, None] + u - finite) / d
    if problem.hollow:
        np.fill_diagonal(W, 0.0)
    plan = csr_array(W)
    certificate = Certificate(marginal_error(plan), 0.0, problem.n_pairs, exact=True)
    certificate = floor_certificate(certificate, problem, plan, e)
    return Solution(problem, u, plan, certificate, (), certificate.largest_error <= tol, method, e)


def floor_certificate(
    certificate: Certificate, problem: SparseProblem, plan: csr_array, e: FloatArray
) -> Certificate:
    """The certificate with what a floor asks for in addition."""
    assert problem.floor is not None
    spare = 1 - problem.floor * plan.multiply(plan).sum(axis=1)
    return replace(
        certificate,
        floor_violation=float(np.maximum(0, -spare).max()),  # NumPy's, for NaN must stay
        complementarity=float(
            np.maximum(0, np.minimum(e / (problem.regularizer.eps + e), spare)).max()
        ),
    )


def transform_rows(
    S: FloatArray,
    e: FloatArray,
    eps: float,
    k: FloatArray,
    near: FloatArray,
    precision: float = 1e-12,
) -> tuple[FloatArray, FloatArray]:
    r"""For each row of scores the v and f >= 0 with

    .. math:: \sum_j w_j = 1, \qquad \sum_j w_j^2 \le 1/k, \qquad
              w_j = [v + S_j]_+ / (\varepsilon + (f + e_j) / 2)

    and equality in the second where f > 0; `near` are guesses of f, e is of shape (m,) or S.shape.

    Examples
    --------
    >>> v, f = transform_rows(np.array([[0.0, -1.0, -9.0]]), np.zeros(3), 0.1, np.array([1.5]),
    ...                       np.zeros(1))
    >>> w = np.maximum(v + np.array([0.0, -1.0, -9.0]), 0) / (0.1 + f / 2)
    >>> round(float(w.sum()), 6), round(float(1 / np.square(w).sum()), 6)
    (1.0, 1.5)
    """

    def excess(f: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """The v of some rows at given f, and the logarithm of k |w|^2."""
        D = eps + (f[:, None] + (e if e.ndim == 1 else e[rows])) / 2
        v = _level(S[rows], D)
        w = np.maximum(S[rows] + v[:, None], 0) / D
        return v, np.log(k[rows] * np.square(w).sum(axis=1))

    every = np.arange(len(S))
    f = np.zeros(len(S))
    v, y = excess(f, every)
    todo = np.flatnonzero(y > 1e-14)
    # In the logarithm of eps + f / 2, the excess falls: secant steps between brackets.
    low, y_low = np.full(len(todo), np.log(eps)), y[todo]
    high, y_high = np.full(len(todo), np.inf), np.full(len(todo), -np.inf)
    x = np.maximum(np.log(eps + near[todo] / 2), low + y_low / 2)
    for _ in range(100):
        if len(todo) == 0:
            break
        f[todo] = 2 * np.maximum(np.exp(x) - eps, 0.0)
        v[todo], y_x = excess(f[todo], todo)
        up = y_x > 0
        low, y_low = np.where(up, x, low), np.where(up, y_x, y_low)
        high, y_high = np.where(up, high, x), np.where(up, y_high, y_x)
        open_ = ~((np.abs(y_x) <= precision) | (high - low <= 1e-14 * (1 + np.abs(low))))
        with np.errstate(invalid="ignore", over="ignore"):
            secant = low + (high - low) * y_low / (y_low - y_high)
            middle, margin = (low + high) / 2, 0.01 * (high - low)
            inside = (secant > low + margin) & (secant < high - margin)
        x = np.where(np.isfinite(high), np.where(inside, secant, middle), x + np.maximum(y_x, 0.1))
        keep = np.flatnonzero(open_)
        todo, x = todo[keep], x[keep]
        low, y_low, high, y_high = low[keep], y_low[keep], high[keep], y_high[keep]
    return v, f


def _level(S: FloatArray, D: FloatArray) -> FloatArray:
    """Solve `sum_j [v + S_j]_+ / D_j = 1` for each row: Newton from the right, monotone."""
    v = (D - S).min(axis=1)
    H = 1 / D
    for _ in range(200):
        positive = S + v[:, None] > 0
        weight = np.where(positive, H, 0.0)
        total = weight.sum(axis=1)
        lower = (1 - np.where(positive, S * H, 0.0).sum(axis=1)) / total
        if not (lower < v).any():
            break
        v = np.minimum(v, lower)
    return v
