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

Rows with hardly more neighbors than their floor, as with k = 2, hold each other up: one kink stops
the step of all. There Newton goes on from the central path (`sparrot.ot._barrier`); and where few
rows are off, :math:`\Psi` is minimized over these and rows near them alone, all others held, by
steps whose length is their own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import BoolArray, FloatArray, IntArray
from sparrot.engine import Run, Threads
from sparrot.ot._barrier import CentralPath
from sparrot.ot._dual import DenseDual, RestrictedDual, SupportRows, like
from sparrot.ot._newton import (
    LEAST_DELTA,
    Dual,
    DualState,
    NewtonResult,
    conjugate_gradients,
    half_way,
    newton,
)
from sparrot.ot._problem import (
    Certificate,
    QuadraticRegularizer,
    Solution,
    SparseProblem,
    compressed,
    marginal_error,
)
from sparrot.ot._screening import Support, SupportInBlocks, longest_row

_TRANSFORM_ROWS = 256  # rows of a block
_LONG_SWEEPS = 100  # where Newton is stuck
_SWEEP_PRECISION = 0.02  # of the logarithm of a floor, while rows only come near
_NEAR = 0.25  # error from which Newton takes over,
_MAX_SWEEPS = 5  # or after so many sweeps
_MAX_SOLVES = 3  # of the system for one step
_MANY_STEPS = 20  # of Newton, after which the central path is faster
_NEAR_PATH = 1e-5  # error up to which that is followed
_FIRST_LOOK = 1e-2  # error at which potentials that stick out are first looked for
# Rows with low floors hold each other up. Where rows are many, kinks stop any step of all: such a
# step is solved for roughly, and few rows that are off get steps of their own, a patch.
_LOW, _MANY_ROWS = 3.0, 2000
_ROUGH = 1e-2  # error at which a step deserves the precision that these steps get
_FEW_ROWS = 0.2  # the largest share of rows in a patch: those that are off and rows near them,
_HOPS = 3  # near being so many pairs with mass away, and one more each time
_MOST_PATCHES, _PATCH_STEPS = 20, 500  # one after the other, and steps of each
_VERY_FEW = 0.01  # share of rows that are off by more than all others, which a patch should mend
_MUCH = 10.0  # factor by which a patch, the central path or sweeps should reduce the error
_FEW_STEPS = 5  # of Newton after a patch, until the next one
_DENSE_PATH = 1_000_000  # pairs of a dense matrix, at most, that it is followed over
_HUGE = 1e9  # times the largest cost: a multiplier that makes all weights of a row equal
_MAX_TURNS = 300  # of which every fourth halves a bracket: 1,400 in a logarithm is 1e-14 by then
_LARGEST_LOG = 700.0  # of eps + f / 2, in doubles
_SINGULAR = 1e-10  # share of a 2 x 2 determinant below which it is rounding


@dataclass(frozen=True, slots=True)
class FloorState(DualState):
    """The dual at one x = (u, e), an array of shape (2, n), as is the gradient.

    Attributes
    ----------
    diagonal, b, q : sums over each row of 1/d, W/d and W^2/d: the diagonal of the Hessian in u is
        the first, in e it is q/4, and -b/2 couples the two of a row.
    errors : for each row the largest of its marginal error, the violation of its floor
        `k_i |W_i|^2 - 1` and the complementarity error `min(e_i / (eps + e_i), 1 - k_i |W_i|^2)`.
    """

    b: FloatArray
    q: FloatArray
    errors: FloatArray


class FloorDual(Dual[FloorState]):
    """The dual in x = (u, e), with e >= 0."""

    mass = 1.0
    most_delta = 1e-1
    many_steps: float = _MANY_STEPS
    _k: FloatArray  # the floors
    _held: BoolArray  # rows that stay where they are
    _central: CentralPath | None = None  # once it was followed

    @abstractmethod
    def c_transform(
        self, x: FloatArray, rows: IntArray, precision: float = _SWEEP_PRECISION
    ) -> FloatArray:
        """The u_i and e_i of some rows that solve their two equations, all others held.

        The precision is that of the logarithm of a floor.
        """

    def error(self, state: FloorState) -> float:
        """The largest error of a row."""
        return float(state.errors.max())

    def rounding(self, x: FloatArray, state: FloorState) -> float:
        """That of the potentials."""
        return super().rounding(x[0], state)

    def first_delta(self, state: FloorState) -> float:
        """The worse the start, the larger."""
        return float(np.clip(self.error(state) / 10, LEAST_DELTA, self.most_delta))

    def direction(self, x: FloatArray, state: FloorState, delta: float) -> FloatArray:
        """The Newton step of u and the free e; those that it would make negative end at zero.

        First these are the e that a step of their own would take there. Where the step of all
        takes others there, it is solved for once more without them, or u would not fit to them.
        What delta has changed anyhow need not be solved for more precisely than that.
        Where this leads uphill, take a damped step of every variable by itself.
        """
        e = x[1]
        fixed: BoolArray = e * state.q / 4 <= state.gradient[1]
        error = max(delta, self.error(state), _ROUGH if self._kinked() else 0.0)
        for _ in range(_MAX_SOLVES):
            step = _newton_step(state, e, fixed, delta, error)
            negative = step[1] < -e
            if not negative.any():
                break
            fixed = fixed | negative
        step[1] = np.maximum(step[1], -e)
        if np.vdot(state.gradient, step) >= 0:
            diagonal = np.stack([state.diagonal, np.where(state.q > 0, state.q / 4, np.inf)])
            step = -state.gradient / (2 * diagonal)
            step[1] = np.maximum(step[1], -e)
        return step

    def _kinked(self) -> bool:
        """Whether there are many rows, and floors so low that these may hold each other up."""
        return len(self._k) >= _MANY_ROWS and self._k.min() < _LOW

    def longest(self, x: FloatArray, step: FloatArray) -> float:
        """Until some e is zero."""
        falls = step[1] < 0
        return float((x[1][falls] / -step[1][falls]).min(initial=np.inf))

    def restarted(self, x: FloatArray, tol: float, report: Callable[[float], None]) -> FloatArray:
        """After few rows that stop all others; or further along the central path; or by sweeps."""

        def error_of(x: FloatArray) -> float:
            here = self.error(self.state(x))
            report(here)
            return here

        state = self.state(x)
        error = self.error(state)
        less = max(tol, error / _MUCH)
        of_most = max(tol, float(np.quantile(state.errors[~self._held], 1 - _VERY_FEW)))
        if of_most <= less:
            y = self.patched(x, of_most, _PATCH_STEPS, lambda step, error: report(error))
            if y is not x and error_of(y) <= error / 2:
                self.many_steps = _FEW_STEPS
                return y
        self.many_steps = type(self).many_steps
        self._central = self._central or self._path(x)
        if self._central is not None:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # is no better
                y, found = self._central.follow(x, error_of, max(_NEAR_PATH, tol))
            if found <= less:
                return y
        return self.sweep(x, error / _MUCH, _LONG_SWEEPS)

    def patched(
        self, x: FloatArray, tol: float, max_iter: int, report: Callable[[int, float], None]
    ) -> FloatArray:
        """Where few rows are off by more than a tolerance, with these solved for by themselves."""
        return x

    @abstractmethod
    def _path(self, x: FloatArray) -> CentralPath | None:
        """The central path over all pairs that may carry mass, unless they are elsewhere."""

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows is no better
    def sweep(self, x: FloatArray, near: float = _NEAR, most: int = _MAX_SWEEPS) -> FloatArray:
        """Rows that are far off half way to their c-transforms, again and again."""
        for _ in range(most):
            rows = np.flatnonzero(self.state(x).errors > near).astype(np.int32)
            if len(rows) == 0:
                break
            x = half_way(x, rows, self.c_transform(x, rows, min(_SWEEP_PRECISION, near / 10)))
        return x


def at_other_eps(e: FloatArray, old: float, new: float) -> FloatArray:
    """Multipliers to start from: where one is free, `eps + e_i` stays as it was."""
    return np.where(e > 0, np.maximum(e + old - new, 0.0), 0.0)


def _newton_step(
    state: FloorState, e: FloatArray, fixed: BoolArray, delta: float, error: float
) -> FloatArray:
    """Solve the Newton system of u and the free e, preconditioned row by row; others end at 0."""
    ended = np.stack([np.zeros_like(e), np.where(fixed, -e, 0.0)])
    extra = delta * np.stack([state.diagonal, state.q / 4])
    a, q = state.diagonal + extra[0], np.where(fixed, 1.0, state.q / 4 + extra[1])
    b = np.where(fixed, 0.0, -state.b / 2)
    det = np.maximum(a * q - b * b, _SINGULAR * a * q)
    inverse = np.stack([q, np.where(fixed, 0.0, a)]) / det
    coupling = b / det

    def precondition(r: FloatArray) -> FloatArray:
        return inverse * r - coupling * r[::-1]

    r = -state.gradient - state.hessian(ended)
    return ended + conjugate_gradients(state.hessian, extra, precondition, r, error)


class DenseFloorDual(FloorDual):
    """The dual over a dense matrix of costs, in which infinity marks forbidden pairs."""

    def __init__(self, C: FloatArray, problem: SparseProblem, run: Run) -> None:
        assert problem.floor is not None
        self._C = C
        self._eps = problem.regularizer.mass
        self._k = problem.floor
        self._run = run
        self._held = np.zeros(len(C), dtype=bool)
        self._scores = DenseDual(C, QuadraticRegularizer(self._eps), run)

    def state(self, x: FloatArray) -> FloorState:
        """By the sparse matrix of positive scores."""
        W, h = self._entries(x)
        w = W.data
        A, B = like(W, h), like(W, w * h)
        Q = like(W, w * B.data)
        a, b, q = A.sum(axis=1), B.sum(axis=1), Q.sum(axis=1)

        def hessian(p: FloatArray) -> FloatArray:
            x, y = p
            crossed = -(b * x + B @ x) / 2
            return np.stack([a * x + A @ x - (b * y + B @ y) / 2, crossed + (q * y + Q @ y) / 4])

        (u, e), k = x, self._k
        value = float(w @ (w / h)) / 4 - float(u.sum()) + float((e / k).sum()) / 4
        sums = np.stack([W.sum(axis=1), like(W, w * w).sum(axis=1)])
        return _state(value, sums, k, e, self._eps, np.stack([a, b, q]), hessian)

    def _entries(self, x: FloatArray) -> tuple[csr_array, FloatArray]:
        """The matrix W, and 1 / d of its entries."""
        u, e = x
        s = self._scores.scores(u)
        h = np.repeat(e, np.diff(s.indptr))
        h += e[s.indices]
        h = 1 / (self._eps + h / 2)
        return csr_array((s.data * h, s.indices, s.indptr), shape=s.shape), h

    def c_transform(
        self, x: FloatArray, rows: IntArray, precision: float = _SWEEP_PRECISION
    ) -> FloatArray:
        """Of some rows against all points, by blocks of rows."""
        (u, e), found = x, np.empty((2, len(rows)))

        def block(start: int, stop: int) -> None:
            some = rows[start:stop]
            S, k, near = u - self._C[some], self._k[some], e[some]
            found[:, start:stop] = transform_rows(S, e, self._eps, k, near, precision)

        self._run.threads.blocks(block, len(rows), _TRANSFORM_ROWS)
        return found

    def _path(self, x: FloatArray) -> CentralPath | None:
        """Unless they are too many; with ghosts that are out of reach."""
        n, finite = x.shape[1], np.isfinite(self._C)
        if np.count_nonzero(finite) > _DENSE_PATH:
            return None
        highest = 10 * max(float(np.abs(x[0]).max()), float(np.abs(self._C[finite]).max()))
        indptr = np.append(0, np.cumsum(np.count_nonzero(finite, axis=1)))
        indices = np.nonzero(finite)[1].astype(np.int32)
        support = Support(indptr, indices, self._C[finite])
        ghosts = np.full(n, highest), np.ones(n)
        return CentralPath(support, self._eps, self._k, *ghosts, self._run.threads)

    def plan(self, x: FloatArray) -> csr_array:
        """The matrix `s_ij / d_ij`."""
        return self._entries(x)[0]


class FloorRows(SupportRows):
    """The rows of a dual with a floor k on each, at potentials u and multipliers e."""

    def __init__(self, support: Support, threads: Threads, *, eps: float) -> None:
        super().__init__(support, threads)
        self._eps = eps
        self._w, self._h = np.empty(len(support.indices)), np.empty(len(support.indices))

    def sums(self, u: FloatArray, e: FloatArray) -> FloatArray:
        """Those of w, w^2, s w, h, w h and w^2 h, with h = 1 / d."""
        from sparrot._kernels import floor_rows

        s, sums = self._s, np.empty((6, len(self.degree)))
        rows = partial(
            floor_rows, s.indptr, s.indices, s.cost, u, e, self._eps,
            sums, self.degree, self._active, self._w, self._h,
        )  # fmt: skip
        self._threads.blocks(rows, len(self.degree), self._block)
        return sums

    def product(self, p: FloatArray) -> FloatArray:
        """Of the Hessian where it was evaluated last."""
        from sparrot._kernels import floor_product_rows

        out = np.empty((2, len(self.degree)))
        rows = partial(
            floor_product_rows, self._indptr, self._active, self.degree, self._w, self._h, p, out
        )
        self._threads.blocks(rows, len(self.degree), self._block)
        return out

    def transform(
        self, rows: IntArray, u: FloatArray, e: FloatArray, k: FloatArray, precision: float
    ) -> FloatArray:
        """The c-transforms (v, f) of some rows; infinite where pairs are too few."""
        return np.stack(
            floor_transform_over(self._s, rows, u, e, k, self._eps, self._threads, precision)
        )

    def entries(self, u: FloatArray, e: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The number of positive `s_ij / d_ij` of each row, their columns, and themselves.

        The last evaluation was there, and found them.
        """
        starts = np.cumsum(self.degree) - self.degree
        kept = np.repeat(self._indptr[:-1] - starts, self.degree)
        kept += np.arange(len(kept))
        return self.degree, self._active[kept], self._w[kept]


class SparseFloorDual(RestrictedDual, FloorDual):
    """The dual over a support, from multipliers e on, which it keeps."""

    rough = (_FIRST_LOOK,)

    def __init__(
        self,
        support: Support | SupportInBlocks,
        ceiling: FloatArray,
        stiffness: FloatArray,
        problem: SparseProblem,
        e: FloatArray,
        run: Run,
    ) -> None:
        assert problem.floor is not None
        self._eps, self._k = problem.regularizer.mass, problem.floor
        super().__init__(support, ceiling, stiffness, partial(FloorRows, eps=self._eps), run)
        self.e: FloatArray = e
        self._problem, self._support, self._run = problem, support, run
        self._too_few = support.counts < self._k
        self._stiff = np.empty(0)  # of the ghosts of the last state
        self._held = np.zeros(len(e), dtype=bool)

    def solve(
        self, u: FloatArray, tol: float, max_iter: int, report: Callable[[int, float], None]
    ) -> NewtonResult:
        """By sweeps, and by Newton unless these show that it would be in vain."""
        self.many_steps = type(self).many_steps
        x = self.sweep(np.stack([u, self.e]))
        u, self.e = x
        if len(self.over(u)):
            return NewtonResult(u, np.nan, ())
        x = self.patched(x, tol, max_iter, report)
        result = newton(self, x, tol, max_iter, report)
        u, self.e = result.u
        return replace(result, u=u)

    def patched(
        self, x: FloatArray, tol: float, max_iter: int, report: Callable[[int, float], None]
    ) -> FloatArray:
        """Rows that are off, with rows near them, by Newton steps of their own, others held.

        What is off after that is just outside of these: it is next, with rows that are less near,
        as long as Psi falls. Within these it may be so again: a patch has smaller patches.
        """
        n, support = len(self._k), self._support
        if not self._kinked() or not isinstance(support, Support):
            return x
        pairs = csr_array((support.cost, support.indices, support.indptr), shape=(n, n))
        best, least, steps = x, np.inf, min(max_iter, _PATCH_STEPS)
        for turn in range(_MOST_PATCHES):
            state = self.state(x)
            if not state.value < least:
                break
            best, least, off = x, state.value, state.errors > tol
            free = _near(off, pairs, x[0], _HOPS + turn) & ~self._held
            if not 0 < free.sum() <= _FEW_ROWS * (~self._held).sum():
                break
            rows = np.flatnonzero(free)
            index = np.union1d(rows, pairs[rows].indices)
            dual = self._patch(pairs[index][:, index], index, ~free[index], x[1])
            x = x.copy()
            x[:, index] = newton(dual, x.take(index, axis=1), tol, steps, report).u
        return best

    def _patch(
        self, pairs: csr_array, index: IntArray, held: BoolArray, e: FloatArray
    ) -> PatchDual:
        """The dual of some points, of which some are held."""
        support = Support(pairs.indptr.astype(np.int64), pairs.indices.astype(np.int32), pairs.data)
        ghosts = self._ceiling[index], self._stiffness[index]
        problem = replace(self._problem.part(index), floor=self._k[index])
        return PatchDual(support, *ghosts, problem, e[index], self._run, held)

    def over(self, u: FloatArray) -> IntArray:
        """Also the rows with fewer pairs than their floor: only a ghost could take the rest."""
        return np.flatnonzero(~(u <= self._ceiling) | self._too_few).astype(np.int32)

    def state(self, x: FloatArray) -> FloorState:
        """Evaluate by blocks of rows."""
        u, e = x
        sums = self._rows.sums(u, e)
        excess = np.maximum(u - self._ceiling, 0)
        ghost = self._stiffness * excess
        self._stiff = self._stiffness * (excess > 0)
        sums[0] += ghost
        sums[3] += self._stiff
        value = float(sums[2].sum()) / 4 + float(ghost @ excess) / 2 - float(u.sum())
        value += float((e / self._k).sum()) / 4
        return _state(value, sums[:2], self._k, e, self._eps, sums[3:], self._hessian)

    def _hessian(self, p: FloatArray) -> FloatArray:
        out: FloatArray = self._rows.product(p)
        out[0] += self._stiff * p[0]
        return out

    def c_transform(
        self, x: FloatArray, rows: IntArray, precision: float = _SWEEP_PRECISION
    ) -> FloatArray:
        """Over the support, but no higher than a ghost alone would lift the row.

        Scores of a row that is lifted far grow as its multiplier does, which is cut as they are.
        """
        u, e = x
        v, f = self._rows.transform(rows, u, e, self._k, precision=precision)
        highest = self._ceiling[rows] + 1 / self._stiffness[rows]
        less = np.maximum(e[rows], np.clip(highest / v, 0, 1) * f)
        return np.stack([np.minimum(v, highest), np.where(v <= highest, f, less)])

    def _path(self, x: FloatArray) -> CentralPath | None:
        """Unless they are on the workers of a cluster."""
        if not isinstance(self._support, Support):
            return None
        ghosts, threads = (self._ceiling, self._stiffness), self._run.threads
        return CentralPath(self._support, self._eps, self._k, *ghosts, threads, self._held)

    def transform_over(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """The c-transforms of some rows over the support; infinite where pairs are too few."""
        v: FloatArray = self._rows.transform(rows, u, self.e, self._k, precision=1e-12)[0]
        return v

    def certify(self, certificate: Certificate, plan: csr_array) -> Certificate:
        """With the floors."""
        return floor_certificate(certificate, self._problem, plan, self.e)

    def plan(self, u: FloatArray) -> csr_array:
        """The matrix `s_ij / d_ij` over the support, zeros dropped."""
        self.state(np.stack([u, self.e]))
        counts, columns, entries = self._rows.entries(u, self.e)
        return compressed(counts, columns, entries, len(u))


class PatchDual(SparseFloorDual):
    """The dual over a support, with some points held where they are."""

    def __init__(
        self,
        support: Support,
        ceiling: FloatArray,
        stiffness: FloatArray,
        problem: SparseProblem,
        e: FloatArray,
        run: Run,
        held: BoolArray,
    ) -> None:
        super().__init__(support, ceiling, stiffness, problem, e, run)
        self._held = held

    def state(self, x: FloatArray) -> FloorState:
        """With no error of points that are held, and no reason to move them."""
        state, held = super().state(x), self._held
        state.gradient[:, held] = state.b[held] = state.errors[held] = 0.0
        state.diagonal[held] = state.q[held] = 1.0
        return state

    def _hessian(self, p: FloatArray) -> FloatArray:
        out = super()._hessian(p)
        out[:, self._held] = p[:, self._held]
        return out


def _near(rows: BoolArray, pairs: csr_array, u: FloatArray, hops: int) -> BoolArray:
    """Some rows, and those that are so many pairs with mass away."""
    rows = rows.copy()
    for _ in range(hops):
        some = np.flatnonzero(rows)
        part = pairs[some]
        own = np.repeat(some, np.diff(part.indptr))
        rows[part.indices[u[own] + u[part.indices] > part.data]] = True
    return rows


def floor_transform_over(
    support: Support,
    rows: IntArray,
    u: FloatArray,
    e: FloatArray,
    k: FloatArray,
    eps: float,
    threads: Threads,
    precision: float = 1e-12,
) -> tuple[FloatArray, FloatArray]:
    """The c-transforms (v, f) of some rows over their pairs in a support."""
    from sparrot._kernels import floor_transform_rows

    floor, near = k[rows], e[rows]
    v, f = np.empty(len(rows)), np.empty(len(rows))

    def block(start: int, stop: int) -> None:
        part = slice(start, stop)
        s, c = np.empty((2, longest_row(support.indptr, rows[part])))
        floor_transform_rows(
            support.indptr, support.indices, support.cost, u, e, eps, floor[part], near[part],
            precision, rows[part], s, c, v[part], f[part],
        )  # fmt: skip

    threads.blocks(block, len(rows), _TRANSFORM_ROWS)
    return v, f


def _state(
    value: float,
    sums: FloatArray,
    k: FloatArray,
    e: FloatArray,
    eps: float,
    diagonals: FloatArray,
    hessian: Callable[[FloatArray], FloatArray],
) -> FloorState:
    """From the sums of each row and of its squares, and the sums a, b and q."""
    marginal, squares = sums[0] - 1, sums[1]
    a, b, q = diagonals
    gradient = np.stack([marginal, (1 / k - squares) / 4])
    errors = np.maximum(np.abs(marginal), floor_errors(squares, k, e, eps))
    return FloorState(value, gradient, a, hessian, b, q, errors)


def floor_errors(squares: FloatArray, k: FloatArray, e: FloatArray, eps: float) -> FloatArray:
    """How far rows with these `|W_i|^2` violate their floors, or complementarity."""
    errors: FloatArray = np.abs(np.minimum(e / (eps + e), 1 - k * squares))
    return errors


def must_be_uniform(floor: FloatArray, most: int) -> bool:
    """Whether every row must have all points, `most`, as neighbors with equal weights."""
    return bool(floor.min() >= most * (1 - 1e-12))


def uniform_solution(problem: SparseProblem, C: FloatArray, method: str, tol: float) -> Solution:
    """The uniform matrix, as the limit of large and equal multipliers: one linear system for u."""
    n = problem.n
    finite = np.where(np.isfinite(C), C, 0.0)
    huge = _HUGE * max(1.0, float(np.abs(finite).max()))
    e = np.full(n, huge)
    d = problem.regularizer.mass + huge
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
    both = np.maximum(0, np.minimum(e / (problem.regularizer.mass + e), spare))
    return replace(
        certificate,
        floor_violation=float(np.maximum(0, -spare).max()),  # NumPy's, for NaN must stay
        complementarity=float(np.where(e < 0, np.inf, both).max()),
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
    A row with fewer points than k gets infinity.

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
    stride = np.log(2)  # while there is no bracket, in the logarithm; it doubles
    for turn in range(_MAX_TURNS):
        if len(todo) == 0:
            return v, f
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
        between = np.where(inside & (turn % 4 > 0), secant, middle)
        beyond = np.minimum(x + np.maximum(y_x, stride), _LARGEST_LOG)
        x, stride = np.where(np.isfinite(high), between, beyond), 2 * stride
        keep = np.flatnonzero(open_)
        todo, x = todo[keep], x[keep]
        low, y_low, high, y_high = low[keep], y_low[keep], high[keep], y_high[keep]
    v[todo], f[todo] = np.inf, 0.0
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
