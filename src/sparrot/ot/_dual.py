r"""The dual problem, over all pairs or over a support.

With scores :math:`s_{ij} = [u_i + u_j - C_{ij}]_+`, the regularizer's g, its integral G and the
mass m,

.. math:: \Phi(u) = \tfrac12 \sum_{ij} G(s_{ij}) - m \sum_i u_i

is convex; its gradient :math:`F_i = \sum_j g(s_{ij}) - m` vanishes exactly when all rows of the
plan :math:`g(s_{ij}) / m` sum to one, and :math:`D + A` is its (generalized) Hessian, with
:math:`A_{ij} = g'(s_{ij})` over the positive scores and D its row sums. For the quadratic
regularizer (g(s) = s, m = eps) A is an adjacency matrix and D + A a signless Laplacian.

Points with weights :math:`w_i` have

.. math:: \Phi(u) = \tfrac12 \sum_{ij} w_i w_j\, G(s_{ij}) - m \sum_i w_i u_i,

:math:`F_i = w_i (\sum_j w_j\, g(s_{ij}) - m)` and :math:`A_{ij} = w_i w_j\, g'(s_{ij})`. Where
weights count copies of points that have no affinity to themselves, :math:`w_i (w_i - 1)` takes the
place of :math:`w_i^2`.

A support is in the memory of this process, or in blocks of rows on the workers of a cluster
(`RowsInBlocks`): the algebra of a dual, on vectors of one number for each point, is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Run, Threads
from sparrot.ot._ctransform import c_transform_over, transform_scores
from sparrot.ot._newton import Dual, DualState, NewtonResult, newton
from sparrot.ot._problem import Certificate, PowerRegularizer, compressed
from sparrot.ot._screening import Support, SupportBlock, SupportInBlocks

_DENSE_BLOCK, _FEW = 256, 512  # rows of a dense matrix at a time; all, if they are few
_SPARSE_BLOCK = 300_000  # entries of a sparse matrix at a time, about
CEILING_TOL = 1e-3  # marginal error while ceilings may still move
GATHERED_BYTES = 64  # of one entry of a matrix that comes from workers, all copies counted
_AT_ONCE = 4  # blocks of such a matrix that are on their way


class DenseDual(Dual[DualState]):
    """The dual over a dense matrix of costs, in which infinity marks forbidden pairs."""

    def __init__(
        self,
        C: FloatArray,
        regularizer: PowerRegularizer,
        run: Run,
        weights: FloatArray | None = None,
    ) -> None:
        self.mass = regularizer.mass
        self.weight = 1.0 if weights is None else weights
        self._weights = weights
        self._C = C
        self._regularizer = regularizer
        self._run = run
        self._last: tuple[FloatArray, csr_array] | None = None

    def state(self, u: FloatArray) -> DualState:
        """Evaluate by blocks of rows; only positive scores are kept."""
        s, regularizer, w = self.scores(u), self._regularizer, self._weights
        entries, integrals, slopes = (
            _as_measure(like(s, data), w)
            for data in (
                regularizer.entry(s.data), regularizer.integral(s.data), regularizer.slope(s.data)
            )
        )  # fmt: skip
        value = float(integrals.data.sum()) / 2 - self.mass * float((self.weight * u).sum())
        gradient, D = entries.sum(axis=1) - self.mass * self.weight, slopes.sum(axis=1)
        return DualState(value, gradient, D, lambda x: D * x + slopes @ x)

    def scores(self, u: FloatArray) -> csr_array:
        """The positive part of `u_i + u_j - C_ij` as a sparse matrix; the last one is kept."""
        if self._last is None or self._last[0] is not u:
            size = _DENSE_BLOCK if len(u) > _FEW else _FEW
            blocks = [slice(k, k + size) for k in range(0, len(u), size)]
            parts = list(self._run.threads.map(partial(self._positive, u), blocks))
            counts, indices, data = (np.concatenate(part) for part in zip(*parts, strict=True))
            self._last = u, compressed(counts, indices, data, len(u))
        return self._last[1]

    def plan(self, u: FloatArray) -> csr_array:
        """The matrix `g(s_ij) / m`, times `w_i w_j` where points have weights."""
        s = self.scores(u)
        return _as_measure(like(s, self._regularizer.entry(s.data) / self.mass), self._weights)

    def _positive(self, u: FloatArray, rows: slice) -> tuple[IntArray, IntArray, FloatArray]:
        P = u[rows, None] + u
        P -= self._C[rows]
        positive = P > 0
        flat = np.flatnonzero(positive)  # much faster than the pairs of indices
        counts = np.count_nonzero(positive, axis=1)
        return counts, (flat % len(u)).astype(np.int32), P.ravel()[flat]

    def c_transform(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """The c-transforms of some rows against all points."""
        S = u - self._C[rows]
        return transform_scores(S, self._regularizer, self.mass, self._weights)


class SupportRows:
    """What a dual computes row by row over a support, or over a block of its rows.

    Parameters
    ----------
    support : the support.
    threads : those that compute.

    Attributes
    ----------
    degree : the positive scores of each row where it was evaluated last.
    """

    def __init__(self, support: Support, threads: Threads) -> None:
        n, n_entries = len(support.indptr) - 1, len(support.indices)
        self._support: Support | None = support
        self._indptr = support.indptr
        self._threads = threads
        self._block = 1 + _SPARSE_BLOCK * n // (n_entries + n)  # rows, whatever the threads
        self._active = np.empty(n_entries, np.int32)
        self.degree: IntArray = np.empty(n, np.int64)

    def __sizeof__(self) -> int:
        """Bytes of the arrays, by which Dask knows what its workers hold."""
        return sum(array.nbytes for array in vars(self).values() if isinstance(array, np.ndarray))

    @property
    def _s(self) -> Support:
        assert self._support is not None
        return self._support

    def without_costs(self) -> Self:
        """What products need, and no more."""
        self._support = None
        return self


class SparseRows(SupportRows):
    """The rows of a dual without a floor, at potentials u and perhaps weights."""

    def __init__(
        self, support: Support, threads: Threads, *, regularizer: PowerRegularizer
    ) -> None:
        super().__init__(support, threads)
        self._regularizer = regularizer
        self._slopes = np.empty(0 if regularizer.linear else len(support.indices))

    def sums(self, u: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Those of entries, of their integrals and of their slopes."""
        from sparrot._kernels import power_rows, residual_rows, weighted_residual_rows

        s, g, sums = self._s, self._regularizer, np.empty((3, len(self.degree)))
        entry, integral, slope = sums
        if weights is not None:
            rows = partial(
                weighted_residual_rows, s.indptr, s.indices, s.cost, u, weights,
                entry, integral, slope, self.degree, self._active,
            )  # fmt: skip
        elif g.linear:
            rows = partial(
                residual_rows, s.indptr, s.indices, s.cost, u,
                entry, integral, self.degree, self._active,
            )  # fmt: skip
        else:
            rows = partial(
                power_rows, s.indptr, s.indices, s.cost, u, g.factor, g.power,
                entry, integral, slope, self.degree, self._active, self._slopes,
            )  # fmt: skip
        self._threads.blocks(rows, len(self.degree), self._block)
        if weights is None and g.linear:
            slope[:] = self.degree
        return sums

    def product(self, x: FloatArray) -> FloatArray:
        """The sums of `g'(s_ij) x_j` where it was evaluated last."""
        from sparrot._kernels import adjacency_rows, weighted_rows

        out = np.empty(len(self.degree))
        if self._regularizer.linear:
            rows = partial(adjacency_rows, self._indptr, self._active, self.degree, x, out)
        else:
            rows = partial(
                weighted_rows, self._indptr, self._active, self._slopes, self.degree, x, out
            )
        self._threads.blocks(rows, len(self.degree), self._block)
        return out

    def transform(self, rows: IntArray, u: FloatArray, weights: FloatArray | None) -> FloatArray:
        """The c-transforms of some rows; infinite for a row without any pair."""
        return c_transform_over(self._s, rows, u, self._regularizer, self._threads, weights)

    def entries(
        self, u: FloatArray, weights: FloatArray | None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The number of positive `g(s_ij) / m` of each row, their columns, and themselves.

        The last evaluation was at u, and counted them.
        """
        from sparrot._kernels import score_rows

        s, n, g = self._s, len(self.degree), self._regularizer
        starts = np.zeros(n + 1, np.int64)
        np.cumsum(self.degree, out=starts[1:])
        indices, score = np.empty(starts[-1], np.int32), np.empty(starts[-1])
        rows = partial(score_rows, s.indptr, s.indices, s.cost, u, starts, indices, score)
        self._threads.blocks(rows, n, self._block)
        return self.degree, indices, g.entry(score) / g.mass


class RowsInBlocks:
    """What a dual computes row by row over a support in blocks: one task for each block.

    A row is summed by the same code and in the same order as on the client, and sums over rows are
    made there: so all bits are the same. What the products of one evaluation need stays on the
    workers, and is computed when the first of them is asked for.

    Parameters
    ----------
    support : the support.
    make : makes what is computed of a block, given that and threads.
    run : resources.
    """

    def __init__(
        self, support: SupportInBlocks, make: Callable[[Support, Threads], Any], run: Run
    ) -> None:
        self._support = support
        self._make = make
        self._run = run
        self._at: tuple[Any, ...] = ()  # the vectors of the last evaluation,
        self._evaluated: list[Any] | None = None  # and the blocks there
        self.degree: IntArray = np.zeros(0, np.int64)

    def _tasks(self, *vectors: Any) -> list[tuple[Any, ...]]:
        """For each block what makes its rows, itself, and its part of the vectors."""
        return [
            (self._make, block, *(None if v is None else v[..., names] for v in vectors))
            for block, names in zip(self._support.blocks, self._support.names, strict=True)
        ]

    def sums(self, *vectors: Any) -> FloatArray:
        """The sums of each row at some vectors."""
        self._at, self._evaluated = vectors, None
        found = self._run.on_workers("sums", _sums_of_block, self._tasks(*vectors))
        sums, degrees = zip(*found, strict=True)
        self.degree = np.concatenate(degrees)
        return np.concatenate(sums, axis=1)

    def product(self, x: FloatArray) -> FloatArray:
        """The product of the last evaluation with x."""
        if self._evaluated is None:
            self._evaluated = self._run.keep("evaluate", _evaluated_block, self._tasks(*self._at))
        tasks = [
            (block, x[..., names])
            for block, names in zip(self._evaluated, self._support.names, strict=True)
        ]
        found = self._run.on_workers("product", _product_of_block, tasks)
        return np.concatenate(list(found), axis=-1)

    def transform(self, rows: IntArray, *vectors: Any, **more: Any) -> FloatArray:
        """The c-transforms of some rows."""
        starts = self._support.starts
        block = np.searchsorted(starts, rows, side="right") - 1
        some = np.unique(block)
        places = [np.flatnonzero(block == k) for k in some]
        tasks = self._tasks(*vectors)
        asked = [
            (more, (rows[place] - starts[k]).astype(np.int32), *tasks[k])
            for k, place in zip(some, places, strict=True)
        ]
        found = list(self._run.on_workers("transform", _transforms_of_block, asked))
        out = np.empty((*found[0].shape[:-1], len(rows))) if found else np.empty(0)
        for place, v in zip(places, found, strict=True):
            out[..., place] = v
        return out

    def entries(self, *vectors: Any) -> tuple[IntArray, IntArray, FloatArray]:
        """The number of positive entries of each row, their columns and themselves, brought here.

        Memory for them is asked for, by what the last evaluation counted.
        """
        n_entries = int(self.degree.sum())
        self._run.require_memory(
            n_entries * GATHERED_BYTES,
            what=f"a matrix of {n_entries} entries on the client",
            remedy="take fewer neighbors",
        )
        found = self._run.on_workers("entries", _entries_of_block, self._tasks(*vectors), _AT_ONCE)
        counts, columns, entries = zip(*found, strict=True)
        return np.concatenate(counts), np.concatenate(columns), np.concatenate(entries)


def _sums_of_block(make: Any, block: SupportBlock, *vectors: Any) -> tuple[FloatArray, IntArray]:
    rows = make(block, Threads(1))
    return rows.sums(*vectors), rows.degree


def _evaluated_block(make: Any, block: SupportBlock, *vectors: Any) -> Any:
    rows = make(block, Threads(1))
    rows.sums(*vectors)
    return rows.without_costs()


def _product_of_block(rows: Any, x: FloatArray) -> FloatArray:
    out: FloatArray = rows.product(x)
    return out


def _transforms_of_block(
    more: dict[str, Any], rows: IntArray, make: Any, block: SupportBlock, *vectors: Any
) -> FloatArray:
    v: FloatArray = make(block, Threads(1)).transform(rows, *vectors, **more)
    return v


def _entries_of_block(
    make: Any, block: SupportBlock, *vectors: Any
) -> tuple[IntArray, IntArray, FloatArray]:
    rows = make(block, Threads(1))
    rows.sums(*vectors)
    counts, places, entries = rows.entries(*vectors)
    return counts, block.names[places], entries


class RestrictedDual(ABC):
    """The dual over a support, with ceilings that potentials may pass only a little.

    Where a row's ceiling leaves it too few pairs, the restricted problem has no solution: the
    potential of the row would rise without end. So each row has a ghost partner of its own, which
    takes the mass `stiffness_i [u_i - r_i]_+`. Ghosts make every restricted problem solvable, and
    where no potential passes its ceiling they take nothing and the solution is the true one.

    Attributes
    ----------
    rough : errors at which it is worth a look whether potentials stick out, before the last.
    e : the multipliers of a floor on rows, if there is one.
    """

    rough: tuple[float, ...] = (CEILING_TOL,)
    e: FloatArray | None = None

    def __init__(
        self,
        support: Support | SupportInBlocks,
        ceiling: FloatArray,
        stiffness: FloatArray,
        make: Callable[[Support, Threads], SupportRows],
        run: Run,
    ) -> None:
        self._ceiling = ceiling
        self._stiffness = stiffness
        self._rows: Any = (  # both have the same methods
            make(support, run.threads)
            if isinstance(support, Support)
            else RowsInBlocks(support, make, run)
        )

    @abstractmethod
    def solve(
        self, u: FloatArray, tol: float, max_iter: int, report: Callable[[int, float], None]
    ) -> NewtonResult:
        """Minimize from u."""

    def over(self, u: FloatArray) -> IntArray:
        """The rows whose potentials stick out of their ceilings, or are not numbers."""
        return np.flatnonzero(~(u <= self._ceiling)).astype(np.int32)

    @abstractmethod
    def transform_over(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """The c-transforms of some rows over the support, whatever their ceilings."""

    @abstractmethod
    def plan(self, u: FloatArray) -> csr_array:
        """The plan over the support, zeros dropped."""

    def certify(self, certificate: Certificate, plan: csr_array) -> Certificate:
        """The certificate of a plan, with what this problem asks for in addition."""
        return certificate


class SparseDual(RestrictedDual, Dual[DualState]):
    """The dual of a problem without a floor."""

    def __init__(
        self,
        support: Support | SupportInBlocks,
        ceiling: FloatArray,
        stiffness: FloatArray,
        regularizer: PowerRegularizer,
        run: Run,
        weights: FloatArray | None = None,
        itself: FloatArray | None = None,
    ) -> None:
        make = partial(SparseRows, regularizer=regularizer)
        super().__init__(support, ceiling, stiffness, make, run)
        assert weights is None or regularizer.linear
        self.mass = regularizer.mass
        self.weight = 1.0 if weights is None else weights
        self._weights = weights
        self._itself = itself  # one where a point with copies is none of its own neighbors,
        self._is_own: FloatArray = np.empty(0)  # and where its score with these is positive
        self._at: FloatArray | None = None  # where it was evaluated last,
        self._value, self._gradient, self._diagonal = 0.0, np.empty(0), np.empty(0)  # and what

    solve = newton

    def state(self, u: FloatArray) -> DualState:
        """Evaluate by blocks of rows, unless this is where it was evaluated last."""
        if u is not self._at:
            entries, integrals, slopes = sums = self._rows.sums(u, self._weights)
            if self._itself is not None:
                loop = self._itself * np.maximum(2 * u, 0)
                self._is_own = np.where(loop > 0, 1.0, 0.0)
                sums -= loop, loop**2 / 2, self._is_own
            excess = np.maximum(u - self._ceiling, 0)
            ghost = self._stiffness * excess
            w = self.weight
            value = float((w * integrals).sum()) + float((w * ghost) @ excess)
            self._value = value / 2 - self.mass * float((w * u).sum())
            self._gradient = w * (entries + ghost - self.mass)
            self._diagonal = w * (slopes + self._stiffness * (excess > 0))
            self._at = u
        return DualState(self._value, self._gradient, self._diagonal, self._hessian)

    def _hessian(self, x: FloatArray) -> FloatArray:
        out: FloatArray = self._rows.product(self.weight * x)
        if self._itself is not None:
            out -= self._is_own * x
        out *= self.weight
        out += self._diagonal * x
        return out

    def c_transform(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """Over the support, but no higher than a ghost alone would lift the row.

        A point with copies counts itself as one of these here: it is lifted a little less.
        """
        v = self.transform_over(u, rows)
        return np.minimum(v, self._ceiling[rows] + self.mass / self._stiffness[rows])

    def transform_over(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """The c-transforms of some rows over the support; infinite for a row without any pair."""
        v: FloatArray = self._rows.transform(rows, u, self._weights)
        return v

    def plan(self, u: FloatArray) -> csr_array:
        """The matrix `g(s_ij) / m` (times `w_i w_j`) over the support, zeros dropped."""
        self.state(u)
        counts, columns, entries = self._rows.entries(u, self._weights)
        plan = _as_measure(compressed(counts, columns, entries, len(u)), self._weights)
        if self._itself is not None:
            row = np.repeat(np.arange(len(u)), counts)
            loop = np.flatnonzero(columns == row)
            plan.data[loop] *= (1 - self._itself / self.weight)[row[loop]]
        return plan


def _as_measure(density: csr_array, weights: FloatArray | None) -> csr_array:
    """From a density with respect to the product of weights to the measure itself."""
    if weights is None:
        return density
    w = weights
    product = np.repeat(w, np.diff(density.indptr)) * w[density.indices]  # symmetric to the bit
    return like(density, product * density.data)


def like(pattern: csr_array, data: FloatArray) -> csr_array:
    """A matrix with the pattern of another."""
    return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
