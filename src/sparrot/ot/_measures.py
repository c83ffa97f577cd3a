r"""Regularized optimal transport between two measures, for any cost (the paper's appendix A).

.. math:: \min \{ \langle C, P \rangle + \varepsilon\, \Omega(P) :
          P \ge 0,\ P 1 = a,\ P^\top 1 = b \}

with :math:`\Omega = |P|_F^2 / 2` (quadratic: :math:`P_{ij} = [u_i + v_j - C_{ij}]_+ /
\varepsilon`) or :math:`\Omega = \sum P (\log P - 1)` (entropic:
:math:`P_{ij} = e^{(u_i + v_j - C_{ij})/\varepsilon}`); or the same of the density
:math:`P_{ij} / (a_i b_j)` under the product of the measures. Newton works on both potentials at
once; a forbidden pair has infinite cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot._validation import (
    as_array,
    as_choice,
    as_flag,
    as_max_iter,
    as_positive,
    as_tolerance,
    as_weights,
)
from sparrot.engine import Threads
from sparrot.errors import InvalidInputError, NotConvergedError, counted
from sparrot.ot._ctransform import transform_scores
from sparrot.ot._newton import EASY, NO_DIGITS, ON_THE_WAY, Dual, DualState, NewtonResult, newton
from sparrot.ot._problem import Certificate, QuadraticRegularizer

_WARM_UP = 50  # steps of Sinkhorn before Newton in any case
_NEAR = 0.3  # change of a potential, in units of eps, from which Newton takes over


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """A regularized transport plan.

    Attributes
    ----------
    matrix : the plan P: sparse if quadratic, dense if entropic.
    u, v : potentials, in the units of C; minus infinity where a weight is zero.
    eps : the regularization, in the units of C.
    certificate : `marginal_error` is the largest error of a marginal, relative to the largest
        weight.
    """

    matrix: Any
    u: FloatArray
    v: FloatArray
    eps: float
    certificate: Certificate


def transport(
    a: Any,
    b: Any,
    C: Any,
    eps: float,
    *,
    regularizer: str = "quadratic",
    reference: str = "counting",
    hollow: bool = False,
    tol: float = 1e-8,
    max_iter: int | None = None,
) -> Coupling:
    r"""Regularized optimal transport of the measure a onto the measure b.

    .. math:: \min \langle C, P \rangle + \tfrac{\varepsilon}{2} |P|_F^2
              \quad\text{or}\quad
              \min \langle C, P \rangle + \varepsilon \sum_{ij} P_{ij} (\log P_{ij} - 1)

    over :math:`P \ge 0`, :math:`P 1 = a`, :math:`P^\top 1 = b`: the problems of POT's
    `smooth_ot_dual` and `sinkhorn` and of RegOT, with their `reg` for our eps.

    With `reference="product"` the quadratic term is that of the paper, the squared norm of the
    density of P in :math:`L^2(a \otimes b)`,

    .. math:: \min \langle C, P \rangle + \tfrac{\varepsilon}{2} \sum_{ij} \frac{P_{ij}^2}{a_i b_j},
              \qquad P_{ij} = a_i b_j [u_i + v_j - C_{ij}]_+ / \varepsilon .

    It does not depend on how a measure is written: a point of weight 2 is the same as two equal
    points of weight 1, among which its rows and columns of P are divided, whereas the first is not
    (two entries of one half have half the square of one). It is the problem of `qot` with weights;
    for uniform weights of sum one it is the first with :math:`n m\, \varepsilon` for eps. The
    entropic plan is the same under both references; its potentials differ by
    :math:`\varepsilon \log a_i` and :math:`\varepsilon \log b_j`.

    Parameters
    ----------
    a, b : nonnegative weights of n and m points with equal sums.
    C : (n, m) costs.
    eps : regularization in the units of C (not relative: the measures set their own scale).
    regularizer : `"quadratic"` or `"entropic"`.
    reference : what the regularizer is taken with respect to: `"counting"` for the entries of P as
        they are, `"product"` for their density with respect to :math:`a_i b_j`.
    hollow : forbid the diagonal (n = m).
    tol : largest error of a marginal, relative to the largest weight.
    max_iter : limit on Newton steps.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> a, b = np.full(3, 1 / 3), np.full(4, 1 / 4)
    >>> C = np.abs(np.arange(3)[:, None] - np.arange(4)) / 1.0
    >>> P = sparrot.transport(a, b, C, eps=0.1).matrix
    >>> bool(np.allclose(P.sum(axis=1), a)), bool(np.allclose(P.sum(axis=0), b))
    (True, True)

    The second point of a, cut in two:

    >>> whole = sparrot.transport([1, 2], [2, 1], [[0, 1], [1, 0]], 8.0, reference="product")
    >>> cut = sparrot.transport(
    ...     [1, 1, 1], [2, 1], [[0, 1], [1, 0], [1, 0]], 8.0, reference="product"
    ... )
    >>> whole.matrix.toarray().round(4)
    array([[0.7778, 0.2222],
           [1.2222, 0.7778]])
    >>> cut.matrix.toarray().round(4)
    array([[0.7778, 0.2222],
           [0.6111, 0.3889],
           [0.6111, 0.3889]])
    """
    C = as_array(C, "C").astype(np.float64)
    a = as_weights(a, C.shape[0], "a", each="row of C")
    b = as_weights(b, C.shape[1], "b", each="column of C")
    eps = as_positive(eps, "eps", "it is in the units of C")
    entropic = as_choice(regularizer, "regularizer", ("quadratic", "entropic")) == "entropic"
    product = as_choice(reference, "reference", ("counting", "product")) == "product"
    if abs(a.sum() - b.sum()) > 1e-6 * a.sum():
        raise InvalidInputError(
            f"a and b must have the same sum, got {a.sum():.9g} and {b.sum():.9g}",
            value=(a.sum(), b.sum()),
            remedy="scale one of them",
        )
    b *= a.sum() / b.sum()
    score = eps / a.sum() if product else eps * max(a.max(), b.max())
    require_digits(eps if entropic else score, C)
    if as_flag(hollow, "hollow"):
        _forbid_diagonal(C, a, b)
    i, j = np.flatnonzero(a), np.flatnonzero(b)
    steps = as_max_iter(max_iter) or 1000
    tol = as_tolerance(tol)
    with Threads(1):  # of BLAS too: another number of threads sums in another order
        u, v, plan, result = _solve(
            C[np.ix_(i, j)], a[i], b[j], eps, entropic, product, 0.999 * tol, steps
        )
    matrix = _spread(plan, i, j, C.shape)
    error = _marginal_error(matrix, a, b)
    coupling = Coupling(
        matrix=matrix,
        u=_filled(u, i, len(a)),
        v=_filled(v, j, len(b)),
        eps=eps,
        certificate=Certificate(error, 0.0, C.size, exact=True),
    )
    if not error <= tol:
        raise NotConvergedError(
            f"the marginal error is {error:.2e} after {counted(len(result.history), 'step')}",
            coupling,
            remedy=["raise {max_iter} or {tol}", "take a larger {eps}"],
        )
    return coupling


def require_digits(eps: float, C: FloatArray) -> None:
    """Raise for an eps that drowns in the rounding of the costs.

    Examples
    --------
    >>> require_digits(1e-9, np.eye(3))
    """
    smallest = float(np.min(np.abs(C), where=C != 0, initial=np.inf))
    if smallest < np.inf and eps < NO_DIGITS * smallest:
        raise InvalidInputError(
            f"is so small, {eps:.3g}, that it drowns in the rounding of every cost",
            parameter="eps",
            value=eps,
            remedy="take a larger one",
        )


def _marginal_error(P: Any, a: FloatArray, b: FloatArray) -> float:
    """The largest error of a row or column sum, relative to the largest weight."""
    errors = np.concatenate([P.sum(axis=1) - a, P.sum(axis=0) - b])
    return float(np.abs(errors).max() / max(a.max(), b.max()))


def _forbid_diagonal(C: FloatArray, a: FloatArray, b: FloatArray) -> None:
    if C.shape[0] != C.shape[1]:
        raise InvalidInputError(
            f"needs a square C, got shape {C.shape}",
            parameter="hollow",
            value=True,
            remedy="leave out {hollow}",
        )
    heavy = np.flatnonzero(a + b > a.sum() * (1 + 1e-12))
    if len(heavy):
        raise InvalidInputError(
            f"leaves no solution: point {heavy[0]} holds {a[heavy[0]]:.3g} of a, and the others "
            "can take less",
            parameter="hollow",
            value=True,
            remedy=["lower its weight", "use {hollow=False}"],
        )
    np.fill_diagonal(C, np.inf)


def _spread(plan: Any, i: Any, j: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(plan, csr_array):
        entries = plan.tocoo()
        return csr_array((entries.data, (i[entries.row], j[entries.col])), shape=shape)
    full = np.zeros(shape)
    full[np.ix_(i, j)] = plan
    return full


def _filled(u: FloatArray, i: Any, n: int) -> FloatArray:
    full = np.full(n, -np.inf)
    full[i] = u
    return full


class QuadraticPairDual(Dual[DualState]):
    """The dual in x = (u, v), scaled by eps, with reference measures p and q: a and b, or one.

    The plan is `p_i q_j s_ij / eps`, and
    `F = (p_i sum_j q_j s_ij - eps a_i, q_j sum_i p_i s_ij - eps b_j)`.
    """

    def __init__(
        self, C: FloatArray, a: FloatArray, b: FloatArray, eps: float, product: bool
    ) -> None:
        target = eps * np.concatenate([a, b])
        self.mass = eps if product else float(target.max())
        self.weight = self._weights = target / eps if product else np.ones(len(target))
        self._C = C
        self._target = target
        self._n = len(a)

    def plan(self, x: FloatArray) -> csr_array:
        """The coupling, times eps."""
        scores = np.maximum((x[: self._n, None] + x[self._n :]) - self._C, 0)
        return self._as_measure(csr_array(scores))

    def state(self, x: FloatArray) -> DualState:
        """Value, gradient and Hessian."""
        P = self.plan(x)
        pattern = csr_array((np.ones(P.nnz), P.indices, P.indptr), shape=P.shape)
        H = self._as_measure(pattern)
        squares = np.square(P.data) / H.data
        value = float(squares.sum()) / 2 - float(self._target @ x)
        gradient = np.concatenate([P.sum(axis=1), P.sum(axis=0)]) - self._target
        degree = np.concatenate([H.sum(axis=1), H.sum(axis=0)])
        return DualState(value, gradient, degree, _hessian(degree, H))

    def c_transform(self, x: FloatArray, rows: IntArray) -> FloatArray:
        """The c-transforms of sources against targets, and of targets against sources."""
        n, C, mass, g = self._n, self._C, self._target / self._weights, QuadraticRegularizer()
        u, v, p, q = x[:n], x[n:], self._weights[:n], self._weights[n:]
        left, right = rows[rows < n], rows[rows >= n] - n
        return np.concatenate(
            [
                transform_scores(v - C[left], g, mass[left], q),
                transform_scores(u - C[:, right].T, g, mass[n + right], p),
            ]
        )

    def _as_measure(self, density: csr_array) -> csr_array:
        """The matrix times `p_i q_j`."""
        p, q = self._weights[: self._n], self._weights[self._n :]
        data = np.repeat(p, np.diff(density.indptr)) * density.data * q[density.indices]
        return csr_array((data, density.indices, density.indptr), shape=density.shape)


class EntropicPairDual(Dual[DualState]):
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
        return DualState(value, sums - target, sums, _hessian(sums, P))

    def c_transform(self, x: FloatArray, rows: IntArray) -> FloatArray:
        """One step of Sinkhorn for some rows and columns."""
        return self.sinkhorn_step(x)[rows]

    def sinkhorn_step(self, x: FloatArray) -> FloatArray:
        """Both halves of a step of Sinkhorn's iteration in the log domain."""
        n = len(self._a)
        f = np.log(self._a) - _log_sum_exp(x[n:] + self._K)
        g = np.log(self._b) - _log_sum_exp(f + self._K.T)
        return np.concatenate([f, g])


def _solve(
    C: FloatArray,
    a: FloatArray,
    b: FloatArray,
    eps: float,
    entropic: bool,
    product: bool,
    tol: float,
    steps: int,
) -> tuple[FloatArray, FloatArray, csr_array | FloatArray, NewtonResult]:
    """Solve for positive weights; returns u, v, the plan and Newton's last word.

    Inside, the measures have mass one (a quadratic eps grows with the mass, or falls with it if it
    acts on densities; an entropic one moves u) and the smallest cost of each row and column is
    zero.
    """
    total = float(a.sum())
    rows = C.min(axis=1)
    columns = (C - rows[:, None]).min(axis=0)
    D = C - rows[:, None] - columns
    scaled_eps = eps if entropic else eps / total if product else eps * total
    x, dual, result = _way_down(D, a / total, b / total, scaled_eps, entropic, product, tol, steps)
    n = len(a)
    u, v = x[:n] + rows, x[n:] + columns
    plan = dual.plan(result.u)
    if isinstance(dual, QuadraticPairDual):
        return u, v, total * plan / scaled_eps, result
    u += eps * np.log(total)
    if product:
        u, v = u - eps * np.log(a), v - eps * np.log(b)
    return u, v, total * plan, result


def _way_down(
    D: FloatArray,
    a: FloatArray,
    b: FloatArray,
    eps: float,
    entropic: bool,
    product: bool,
    tol: float,
    steps: int,
) -> tuple[FloatArray, EntropicPairDual | QuadraticPairDual, NewtonResult]:
    """Solve for eps by way of larger ones; returns (u, v), the last dual and its result."""
    scale = float(D[np.isfinite(D)].max()) or 1.0
    if not (entropic or product):  # a quadratic eps acts on the size of an entry
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
            dual = QuadraticPairDual(D, a, b, e, product)
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


def _hessian(diagonal: FloatArray, P: Any) -> Callable[[FloatArray], FloatArray]:
    """The map `(x, y) -> D (x, y) + (P y, P' x)`."""
    n = P.shape[0]
    transposed = P.T.tocsr() if isinstance(P, csr_array) else P.T
    return lambda x: diagonal * x + np.concatenate([P @ x[n:], transposed @ x[:n]])
