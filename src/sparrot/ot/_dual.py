r"""The dual problem, over all pairs or over a support.

With scores :math:`s_{ij} = [u_i + u_j - C_{ij}]_+`, a link g, its integral G and the mass m,

.. math:: \Phi(u) = \tfrac12 \sum_{ij} G(s_{ij}) - m \sum_i u_i

is convex; its gradient :math:`F_i = \sum_j g(s_{ij}) - m` vanishes exactly when all rows of the
plan :math:`g(s_{ij}) / m` sum to one, and :math:`D + A` is its (generalized) Hessian, with
:math:`A_{ij} = g'(s_{ij})` over the positive scores and D its row sums. For the quadratic
regularizer (g(s) = s, m = eps) A is an adjacency matrix and D + A a signless Laplacian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Threads
from sparrot.ot._ctransform import simplex_levels
from sparrot.ot._link import Link
from sparrot.ot._pairs import Support, compressed

_DENSE_BLOCK = 256  # rows of a dense matrix at a time
_SPARSE_BLOCK = 300_000  # entries of a sparse matrix at a time, about


@dataclass(frozen=True, slots=True)
class DualState:
    """The dual at one potential.

    Attributes
    ----------
    value : Phi(u).
    gradient : F(u).
    diagonal : D.
    adjacency : the map `x -> A x`; valid until the dual is evaluated elsewhere.
    """

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    adjacency: Callable[[FloatArray], FloatArray]


class Dual(Protocol):
    """What Newton's method asks of a dual problem."""

    mass: float

    def state(self, u: FloatArray) -> DualState:
        """Value, gradient and Hessian at u."""

    def levels(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """For some rows, the v that solves `sum_j g([v + u_j - C_ij]_+) = mass`."""


class DenseDual:
    """The dual over a dense matrix of costs, in which infinity marks forbidden pairs."""

    def __init__(self, C: FloatArray, link: Link, mass: float, threads: Threads) -> None:
        self.mass = mass
        self._C = C
        self._link = link
        self._threads = threads
        self._last: tuple[FloatArray, csr_array] | None = None

    def state(self, u: FloatArray) -> DualState:
        """Evaluate by blocks of rows; only positive scores are kept."""
        s = self.scores(u)
        entries = _like(s, self._link.entry(s.data))
        slopes = _like(s, self._link.slope(s.data))
        value = float(self._link.integral(s.data).sum()) / 2 - self.mass * float(u.sum())
        gradient = entries.sum(axis=1) - self.mass
        return DualState(value, gradient, slopes.sum(axis=1), slopes.__matmul__)

    def scores(self, u: FloatArray) -> csr_array:
        """The positive part of `u_i + u_j - C_ij` as a sparse matrix; the last one is kept."""
        if self._last is None or self._last[0] is not u:
            self._last = u, self._scores(u)
        return self._last[1]

    def _scores(self, u: FloatArray) -> csr_array:
        starts = range(0, len(u), _DENSE_BLOCK)
        parts = list(self._threads.map(lambda start: self._positive(u, start), starts))
        counts, indices, data = (np.concatenate(part) for part in zip(*parts, strict=True))
        return compressed(counts, indices, data, len(u))

    def plan(self, u: FloatArray) -> csr_array:
        """The matrix `g(s_ij) / m`."""
        s = self.scores(u)
        return _like(s, self._link.entry(s.data) / self.mass)

    def _positive(self, u: FloatArray, start: int) -> tuple[IntArray, IntArray, FloatArray]:
        rows = slice(start, start + _DENSE_BLOCK)
        P = u[rows, None] + u
        P -= self._C[rows]
        positive = P > 0
        flat = np.flatnonzero(positive)  # much faster than the pairs of indices
        counts = np.count_nonzero(positive, axis=1)
        return counts, (flat % len(u)).astype(np.int32), P.ravel()[flat]

    def levels(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """Levels of some rows against all points."""
        return simplex_levels(u - self._C[rows], self.mass, self._link)


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
        link: Link,
        mass: float,
        threads: Threads,
    ) -> None:
        self.mass = mass
        self._support = support
        self._ceiling = ceiling
        self._stiffness = stiffness
        self._link = link
        self._threads = threads
        n, n_entries = len(ceiling), len(support.indices)
        self._block = 1 + _SPARSE_BLOCK * n // (n_entries + n)  # rows, whatever the threads
        self._active = np.empty(n_entries, np.int32)
        self._weight = np.empty(0 if link.linear else n_entries)
        self._degree = np.empty(n, np.int64)
        self._sums = np.empty((3, n))  # of entries, of their integrals, of their slopes

    def state(self, u: FloatArray) -> DualState:
        """Evaluate by blocks of rows."""
        self._threads.run(
            self._linear(u) if self._link.linear else self._power(u), len(u), self._block
        )
        entries, integrals, slopes = self._sums
        excess = np.maximum(u - self._ceiling, 0)
        ghost = self._stiffness * excess
        value = (float(integrals.sum()) + float(ghost @ excess)) / 2 - self.mass * float(u.sum())
        diagonal = slopes + self._stiffness * (excess > 0)
        return DualState(value, entries + ghost - self.mass, diagonal, self._adjacency)

    def _linear(self, u: FloatArray) -> Callable[[int, int], None]:
        from sparrot._kernels import residual_rows

        s, (mass, integral, slope) = self._support, self._sums

        def rows(start: int, stop: int) -> None:
            residual_rows(
                s.indptr, s.indices, s.cost, u, start, stop,
                mass, integral, self._degree, self._active,
            )  # fmt: skip
            integral[start:stop] /= 2
            slope[start:stop] = self._degree[start:stop]

        return rows

    def _power(self, u: FloatArray) -> Callable[[int, int], None]:
        from sparrot._kernels import power_rows

        s, (mass, integral, slope) = self._support, self._sums

        def rows(start: int, stop: int) -> None:
            power_rows(
                s.indptr, s.indices, s.cost, u, self._link.factor, self._link.power, start, stop,
                mass, integral, slope, self._degree, self._active, self._weight,
            )  # fmt: skip

        return rows

    def _adjacency(self, x: FloatArray) -> FloatArray:
        from sparrot._kernels import adjacency_rows, weighted_rows

        s, out = self._support, np.empty_like(x)

        def rows(start: int, stop: int) -> None:
            if self._link.linear:
                adjacency_rows(s.indptr, self._active, self._degree, x, start, stop, out)
            else:
                weighted_rows(
                    s.indptr, self._active, self._weight, self._degree, x, start, stop, out
                )

        self._threads.run(rows, len(x), self._block)
        return out

    def levels(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """Levels over the support, but no higher than a ghost alone would lift the row."""
        from sparrot._kernels import support_levels

        s, link = self._support, self._link
        v = np.empty(len(rows))
        support_levels(s.indptr, s.indices, s.cost, u, self.mass, link.factor, link.power, rows, v)
        return np.minimum(v, self._ceiling[rows] + self.mass / self._stiffness[rows])

    def plan(self, u: FloatArray) -> csr_array:
        """The matrix `g(s_ij) / m` over the support, zeros dropped."""
        from sparrot._kernels import score_rows

        s, n = self._support, len(u)
        self.state(u)  # counts the positive scores of each row
        starts = np.zeros(n + 1, np.int64)
        np.cumsum(self._degree, out=starts[1:])
        indices, score = np.empty(starts[-1], np.int32), np.empty(starts[-1])

        def rows(start: int, stop: int) -> None:
            score_rows(s.indptr, s.indices, s.cost, u, starts, start, stop, indices, score)

        self._threads.run(rows, n, self._block)
        return compressed(self._degree, indices, self._link.entry(score) / self.mass, n)


def _like(pattern: csr_array, data: FloatArray) -> csr_array:
    """A matrix with the pattern of another."""
    return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
