r"""The dual problem, over all pairs or over a support.

.. math:: \Phi(u) = \tfrac14 \sum_{ij} [u_i + u_j - C_{ij}]_+^2 - \varepsilon \sum_i u_i

is convex; its gradient :math:`F_i = \sum_j [u_i + u_j - C_{ij}]_+ - \varepsilon` vanishes exactly
when the plan :math:`[u_i + u_j - C_{ij}]_+ / \varepsilon` has row sums one, and
:math:`D + A` is its generalised Hessian, with A the adjacency matrix of the pairs of positive score
and D its row sums: a signless Laplacian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from sparrot.engine import Threads
from sparrot.support import Support, simplex_levels
from sparrot.types import FloatArray, IntArray

_DENSE_BLOCK = 256  # rows of a dense matrix at a time
_SPARSE_BLOCK = 4096  # rows of a sparse matrix at a time


@dataclass(frozen=True, slots=True)
class DualState:
    """The dual at one potential.

    Attributes
    ----------
    value : Phi(u).
    gradient : F(u).
    diagonal : D.
    adjacency : the map `x -> A x`.
    """

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    adjacency: Callable[[FloatArray], FloatArray]


class Dual(Protocol):
    """What Newton's method asks of a dual problem."""

    n: int
    eps: float

    def state(self, u: FloatArray) -> DualState:
        """Value, gradient and Hessian at u; valid until the next call."""

    def levels(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """For some rows, the v that solves `sum_j [v + u_j - C_ij]_+ = eps`."""


class DenseDual:
    """The dual over a dense matrix of costs, in which infinity marks forbidden pairs."""

    def __init__(self, C: FloatArray, eps: float, threads: Threads) -> None:
        self.n = len(C)
        self.eps = eps
        self._C = C
        self._threads = threads

    def state(self, u: FloatArray) -> DualState:
        """Evaluate by blocks of rows; only positive scores are kept."""
        scores = self.scores(u)
        mass = scores.sum(axis=1)
        value = float(np.square(scores.data).sum()) / 4 - self.eps * float(u.sum())
        degree = np.diff(scores.indptr).astype(np.float64)
        ones = np.ones(scores.nnz)
        pattern = csr_array((ones, scores.indices, scores.indptr), shape=scores.shape)
        return DualState(value, mass - self.eps, degree, pattern.__matmul__)

    def scores(self, u: FloatArray) -> csr_array:
        """The positive part of `u_i + u_j - C_ij` as a sparse matrix."""
        starts = range(0, self.n, _DENSE_BLOCK)
        parts = list(self._threads.map(lambda start: self._positive(u, start), starts))
        indptr = np.zeros(self.n + 1, np.int64)
        np.cumsum(np.concatenate([part[0] for part in parts]), out=indptr[1:])
        indices = np.concatenate([part[1] for part in parts])
        data = np.concatenate([part[2] for part in parts])
        return csr_array((data, indices, indptr.astype(np.int32)), shape=(self.n, self.n))

    def _positive(self, u: FloatArray, start: int) -> tuple[IntArray, IntArray, FloatArray]:
        rows = slice(start, start + _DENSE_BLOCK)
        P = (u[rows, None] + u) - self._C[rows]
        i, j = np.nonzero(P > 0)
        return np.bincount(i, minlength=len(P)), j.astype(np.int32), P[i, j]

    def levels(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """Levels of some rows against all points."""
        return simplex_levels(u - self._C[rows], self.eps)


class SparseDual:
    """The dual over a support, with ceilings that potentials may pass only a little.

    Where a row's ceiling leaves it too few pairs, the restricted problem has no solution: the
    potential of the row would rise without end. So each row has a ghost partner of its own, which
    takes the mass `stiffness_i [u_i - r_i]_+`. Ghosts make every restricted problem solvable, and
    where no potential passes its ceiling they take nothing and the solution is the true one.
    """

    def __init__(
        self,
        support: Support,
        ceiling: FloatArray,
        stiffness: FloatArray,
        eps: float,
        threads: Threads,
    ) -> None:
        self.n = len(ceiling)
        self.eps = eps
        self.support = support
        self._ceiling = ceiling
        self._stiffness = stiffness
        self._threads = threads
        self._active = np.empty(len(support.indices), np.int32)

    def state(self, u: FloatArray) -> DualState:
        """Evaluate by blocks of rows."""
        from sparrot.kernels import adjacency_rows, residual_rows

        s, n = self.support, self.n
        mass, square, degree = np.empty(n), np.empty(n), np.empty(n, np.int64)

        def residual(start: int, stop: int) -> None:
            residual_rows(
                s.indptr, s.indices, s.cost, u, start, stop, mass, square, degree, self._active
            )

        def adjacency(x: FloatArray) -> FloatArray:
            out = np.empty(n)

            def rows(start: int, stop: int) -> None:
                adjacency_rows(s.indptr, self._active, degree, x, start, stop, out)

            self._threads.run(rows, n, _SPARSE_BLOCK)
            return out

        self._threads.run(residual, n, _SPARSE_BLOCK)
        excess = np.maximum(u - self._ceiling, 0)
        ghost = self._stiffness * excess
        value = float(square.sum()) / 4 + float(ghost @ excess) / 2 - self.eps * float(u.sum())
        diagonal = degree + self._stiffness * (excess > 0)
        return DualState(value, mass + ghost - self.eps, diagonal, adjacency)

    def levels(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """Levels over the support, but no higher than a ghost alone would lift the row."""
        from sparrot.kernels import support_levels

        s = self.support
        v = np.empty(len(rows))
        support_levels(s.indptr, s.indices, s.cost, u, self.eps, rows, v)
        return np.minimum(v, self._ceiling[rows] + self.eps / self._stiffness[rows])
