r"""The general problem: two measures and any cost (the paper's appendix A).

.. math:: \min \{ \langle C, P \rangle + \varepsilon\, \Omega(P) :
          P \ge 0,\ P 1 = a,\ P^\top 1 = b \}

with :math:`\Omega = |P|_F^2 / 2` (quadratic: :math:`P_{ij} = [u_i + v_j - C_{ij}]_+ /
\varepsilon`) or :math:`\Omega = \sum P (\log P - 1)` (entropic:
:math:`P_{ij} = e^{(u_i + v_j - C_{ij})/\varepsilon}`). Newton works on both potentials at once; a
forbidden pair has infinite cost.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot.ot._ctransform import transform_scores
from sparrot.ot._dual import DualState
from sparrot.ot._newton import EASY, ON_THE_WAY, NewtonResult, newton
from sparrot.ot._problem import QuadraticRegularizer

_WARM_UP = 50  # steps of Sinkhorn before Newton in any case
_NEAR = 0.3  # change of a potential, in units of eps, from which Newton takes over


class QuadraticPairDual:
    """The dual in x = (u, v), scaled by eps: F = (sum_j s_ij - eps a_i, sum_i s_ij - eps b_j)."""

    def __init__(self, C: FloatArray, a: FloatArray, b: FloatArray, eps: float) -> None:
        self.mass = eps * float(max(a.max(), b.max()))
        self._C = C
        self._target = eps * np.concatenate([a, b])
        self._n = len(a)

    def scores(self, x: FloatArray) -> csr_array:
        """The positive part of `u_i + v_j - C_ij`."""
        P = (x[: self._n, None] + x[self._n :]) - self._C
        return csr_array(np.maximum(P, 0))

    def state(self, x: FloatArray) -> DualState:
        """Value, gradient and Hessian."""
        s = self.scores(x)
        pattern = csr_array((np.ones(s.nnz), s.indices, s.indptr), shape=s.shape)
        value = float(np.square(s.data).sum()) / 2 - float(self._target @ x)
        gradient = np.concatenate([s.sum(axis=1), s.sum(axis=0)]) - self._target
        degree = np.concatenate([pattern.sum(axis=1), pattern.sum(axis=0)])
        return DualState(value, gradient, degree, _crossed(pattern, self._n))

    def c_transform(self, x: FloatArray, rows: IntArray) -> FloatArray:
        """The c-transforms of sources against targets, and of targets against sources."""
        left, right = rows[rows < self._n], rows[rows >= self._n] - self._n
        u, v = x[: self._n], x[self._n :]
        return np.concatenate(
            [
                transform_scores(v - self._C[left], QuadraticRegularizer(), self._target[left]),
                transform_scores(
                    u - self._C[:, right].T, QuadraticRegularizer(), self._target[self._n + right]
                ),
            ]
        )


class EntropicPairDual:
    """The dual in x = (u, v) / eps."""

    def __init__(self, C: FloatArray, a: FloatArray, b: FloatArray, eps: float) -> None:
        self.mass = float(max(a.max(), b.max()))
        self._K = -C / eps
        self._a, self._b = a, b

    def plan(self, x: FloatArray) -> FloatArray:
        """The coupling."""
        n = len(self._a)
        with np.errstate(over="ignore"):
            return np.exp(x[:n, None] + x[n:] + self._K)

    def state(self, x: FloatArray) -> DualState:
        """Value, gradient and Hessian."""
        P = self.plan(x)
        target = np.concatenate([self._a, self._b])
        sums = np.concatenate([P.sum(axis=1), P.sum(axis=0)])
        value = float(P.sum()) - float(target @ x)
        return DualState(value, sums - target, sums, _crossed(P, len(self._a)))

    def c_transform(self, x: FloatArray, rows: IntArray) -> FloatArray:
        """One step of Sinkhorn for some rows and columns."""
        return self.sinkhorn_step(x)[rows]

    def sinkhorn_step(self, x: FloatArray) -> FloatArray:
        """Both halves of a step of Sinkhorn's iteration in the log domain."""
        n = len(self._a)
        f = np.log(self._a) - _log_sum_exp(x[n:] + self._K)
        g = np.log(self._b) - _log_sum_exp(f + self._K.T)
        return np.concatenate([f, g])


def couple(
    C: FloatArray, a: FloatArray, b: FloatArray, eps: float, entropic: bool, tol: float, steps: int
) -> tuple[FloatArray, FloatArray, csr_array | FloatArray, NewtonResult]:
    """Solve for positive weights; returns u, v, the plan and Newton's last word.

    Inside, the measures have mass one (a quadratic eps grows with the mass, an entropic one moves
    u) and the smallest cost of each row and column is zero.
    """
    total = float(a.sum())
    rows = C.min(axis=1)
    columns = (C - rows[:, None]).min(axis=0)
    D = C - rows[:, None] - columns
    scaled_eps = eps if entropic else eps * total
    x, dual, result = _way_down(D, a / total, b / total, scaled_eps, entropic, tol, steps)
    n = len(a)
    u, v = x[:n] + rows, x[n:] + columns
    if isinstance(dual, EntropicPairDual):
        return u + eps * np.log(total), v, total * dual.plan(result.u), result
    return u, v, dual.scores(x) / eps, result


def _way_down(
    D: FloatArray, a: FloatArray, b: FloatArray, eps: float, entropic: bool, tol: float, steps: int
) -> tuple[FloatArray, EntropicPairDual | QuadraticPairDual, NewtonResult]:
    """Solve for eps by way of larger ones; returns (u, v), the last dual and its result."""
    scale = float(D[np.isfinite(D)].max()) or 1.0
    if not entropic:  # a quadratic eps acts on the size of an entry
        scale *= len(a) * len(b) / (len(a) + len(b))
    way = [eps]
    while way[0] < EASY * scale:
        way.insert(0, 4 * way[0])
    x = np.zeros(len(a) + len(b))
    for e in way:
        aim = tol if e == eps else ON_THE_WAY
        if entropic:
            dual: EntropicPairDual | QuadraticPairDual = EntropicPairDual(D, a, b, e)
            result = newton(dual, _warmed_up(D, a, b, e, x / e), aim, steps)
            x = e * result.u
        else:
            dual = QuadraticPairDual(D, a, b, e)
            result = newton(dual, x, aim, steps)
            x = result.u
    return x, dual, result


def _warmed_up(
    D: FloatArray, a: FloatArray, b: FloatArray, eps: float, y: FloatArray
) -> FloatArray:
    dual = EntropicPairDual(D, a, b, eps)
    for _ in range(_WARM_UP):
        y, before = dual.sinkhorn_step(y), y
        if np.abs(y - before).max() < _NEAR:
            break
    return y


def _log_sum_exp(A: FloatArray) -> FloatArray:
    """Of each row; A is overwritten."""
    top = A.max(axis=1)
    A -= top[:, None]
    np.exp(A, out=A)
    return top + np.log(A.sum(axis=1))


def _crossed(P: csr_array | FloatArray, n: int):  # type: ignore[no-untyped-def]
    """The map `(x, y) -> (P y, P' x)`."""
    transposed = P.T.tocsr() if isinstance(P, csr_array) else P.T
    return lambda x: np.concatenate([P @ x[n:], transposed @ x[:n]])
