r"""Regularized transport of points onto themselves: the problem, how to solve it, the solution.

.. math:: \min \{ \langle C, A \rangle + \Omega_\varepsilon(A) :
          A \ge 0,\ A = A^\top,\ A \mathbf 1 = \mathbf 1\ (\text{and } \mathrm{diag}\, A = 0) \}

With a dual potential u and scores :math:`s_{ij} = [u_i + u_j - C_{ij}]_+` the plan of a regularizer
is :math:`g(s_{ij}) / m`, and u is optimal exactly when :math:`\sum_j g(s_{ij}) = m` for every i.
The function g and the mass m are the regularizer's. Everything here is in units of the mean cost.

Points may have weights :math:`w_i`, of mean one. The problem is then that of the measure
:math:`\sum_i w_i \delta_{x_i}`: rows sum to :math:`w_i`, and the regularizer is that of densities
with respect to :math:`w_i w_j`. The plan is :math:`w_i w_j\, g(s_{ij}) / m`, and u is optimal
exactly when :math:`\sum_j w_j\, g(s_{ij}) = m` for every i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import kl_div

from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_finite, as_real
from sparrot.cost import Cost
from sparrot.engine import Run
from sparrot.errors import InvalidInputError


@dataclass(frozen=True)
class Regularizer(ABC):
    """What is added to the transport cost.

    Attributes
    ----------
    eps : its strength.
    """

    eps: float = 1.0

    @property
    @abstractmethod
    def mass(self) -> float:
        """What the entries g(s_ij) of every row sum to."""

    @property
    @abstractmethod
    def q(self) -> float:
        """Its place in the family that leads from QOT, 0, to EOT, 1."""

    @property
    def shift(self) -> float:
        """By how much the solver's potential is above that of the stated problem."""
        return 0.0

    def at(self, eps: float) -> Self:
        """The same regularizer with another strength."""
        return replace(self, eps=eps)


@dataclass(frozen=True)
class PowerRegularizer(Regularizer):
    r"""A regularizer with :math:`g(s) = (f s)^p`, factor f, power p >= 1: its plans are sparse.

    Attributes
    ----------
    share : of the mass: a share of the points has the same potentials with the same share of the
        mass, whatever g is.
    """

    share: float = field(default=1.0, kw_only=True)

    @property
    @abstractmethod
    def factor(self) -> float:
        """The factor f of g."""

    @property
    @abstractmethod
    def power(self) -> float:
        """The power p of g."""

    @property
    def linear(self) -> bool:
        """Whether g is the identity."""
        return False

    def with_mass(self, mass: float) -> Self:
        """The same regularizer with another mass."""
        return replace(self, share=self.share * mass / self.mass)

    def entry(self, s: Any) -> Any:
        """The value g(s), of a number or an array."""
        return s if self.linear else (self.factor * s) ** self.power

    def slope(self, s: FloatArray) -> FloatArray:
        """The derivative g'(s)."""
        if self.linear:
            return np.ones_like(s)
        return self.power * self.factor * (self.factor * s) ** (self.power - 1)

    def integral(self, s: FloatArray) -> FloatArray:
        """The integral of g from 0 to s."""
        return (self.factor * s) ** (self.power + 1) / (self.factor * (self.power + 1))

    def score(self, entry: Any) -> Any:
        """The score whose entry it is, of a number or an array."""
        return entry ** (1 / self.power) / self.factor


@dataclass(frozen=True)
class QuadraticRegularizer(PowerRegularizer):
    r"""QOT: :math:`\Omega = \tfrac\varepsilon2 |A|_F^2`, so that g(s) = s and the mass is eps."""

    @property
    def mass(self) -> float:
        """The share of eps."""
        return self.eps * self.share

    @property
    def q(self) -> float:
        """Zero."""
        return 0.0

    @property
    def linear(self) -> bool:
        """It is."""
        return True

    @property
    def factor(self) -> float:
        """One."""
        return 1.0

    @property
    def power(self) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True)
class TsallisRegularizer(PowerRegularizer):
    r"""The q-family: :math:`g(s) = ((1-q) s / \varepsilon)^{1/(1-q)}` and mass one.

    The potential is shifted by :math:`\varepsilon / (2 (1 - q))`, so that a score of zero is an
    entry of zero. At q = 0 this is QOT.
    """

    q: float = 0.0

    @property
    def mass(self) -> float:
        """The share of one."""
        return self.share

    @property
    def factor(self) -> float:
        """The factor f of g."""
        return (1 - self.q) / self.eps

    @property
    def power(self) -> float:
        """The power p of g."""
        return 1 / (1 - self.q)

    @property
    def shift(self) -> float:
        """By how much the solver's potential is above that of the stated problem."""
        return self.eps / (2 * (1 - self.q))


@dataclass(frozen=True)
class EntropicRegularizer(Regularizer):
    r"""EOT: :math:`\Omega = \varepsilon \sum A (\log A - 1)`, whose plans have no zeros.

    Here g(s) is :math:`e^{s / \varepsilon}`, also of negative scores.

    Attributes
    ----------
    drop : the mass that a row of a sparse plan may lose, in its smallest entries; None for a dense
        plan.
    """

    drop: float | None = None

    @property
    def q(self) -> float:
        """One."""
        return 1.0

    @property
    def mass(self) -> float:
        """One."""
        return 1.0


def exp_q(x: Any, q: float) -> FloatArray:
    r"""The q-exponential, :math:`[1 + (1 - q) x]_+^{1/(1-q)}`, and :math:`e^x` at q = 1.

    Parameters
    ----------
    x : numbers of any shape.
    q : 0 <= q <= 1.

    Examples
    --------
    >>> exp_q([-2.0, 0.0, 1.0], 0), exp_q([-2.0, 0.0, 1.0], 0.5)
    (array([0., 1., 2.]), array([0.  , 1.  , 2.25]))
    >>> float(exp_q(1.0, 1).round(4))
    2.7183
    """
    x, q = as_finite(x, None, "x"), as_q(q)
    with np.errstate(over="ignore", divide="ignore"):
        if q == 1:
            return np.asarray(np.exp(x))
        return np.asarray(np.exp(np.log1p(np.maximum((1 - q) * x, -1.0)) / (1 - q)))


def log_q(x: Any, q: float) -> FloatArray:
    r"""The q-logarithm, :math:`(x^{1-q} - 1) / (1 - q)`, and :math:`\log x` at q = 1.

    The inverse of `exp_q`, but for the negative numbers that this sends to zero.

    Parameters
    ----------
    x : nonnegative numbers of any shape.
    q : 0 <= q <= 1.

    Examples
    --------
    >>> log_q([0.0, 1.0, 4.0], 0), log_q([0.0, 1.0, 4.0], 0.5)
    (array([-1.,  0.,  3.]), array([-2.,  0.,  2.]))
    """
    x, q = _as_nonnegative(x, "x"), as_q(q)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.log(x) if q == 1 else np.expm1((1 - q) * np.log(x)) / (1 - q))


def bregman_divergence(A: Any, B: Any, q: float) -> float:
    r"""The divergence :math:`\Phi_q(A \mid B)` between matrices, of which the q-family is made.

    It is that of Bregman for :math:`\phi_q(x) = (x \log_q x - x) / (2 - q)`, whose derivative is
    :math:`\log_q`:

    .. math:: \Phi_q(A \mid B) = \frac{1}{2 - q} \sum_{ij} \bigl[ A_{ij} \log_q A_{ij} -
              A_{ij} \log_q B_{ij} - A_{ij} B_{ij}^{1-q} + B_{ij}^{2-q} \bigr],

    half the squared Frobenius distance at q = 0, and the divergence of Kullback and Leibler at
    q = 1. Over bistochastic matrices A it is least at :math:`\exp_q(\log_q B_{ij} + u_i + u_j)`,
    which `sparrot.project` finds.

    Parameters
    ----------
    A, B : nonnegative numbers of one shape (at q = 0 of any sign).
    q : 0 <= q <= 1.

    Examples
    --------
    >>> bregman_divergence([[1.0, 0.0]], [[0.5, 0.5]], 0)
    0.25
    >>> round(bregman_divergence([[1.0, 0.0]], [[0.5, 0.5]], 1), 6)  # the logarithm of two
    0.693147
    """
    q = as_q(q)
    A, B = (
        as_finite(M, None, name) if q == 0 else _as_nonnegative(M, name)
        for M, name in ((A, "A"), (B, "B"))
    )
    _require_one_shape(A, B, "A", "B")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if q == 0:
            return float(np.square(A - B).sum() / 2)
        if q == 1:
            return float(kl_div(A, B).sum())
        each = A * log_q(A, q) - A * log_q(B, q) - A * B ** (1 - q) + B ** (2 - q)
    return _finite_sum(np.maximum(each, 0) / (2 - q))  # each is zero or more, but for rounding


def fenchel_young_loss(Y: Any, A: Any, q: float) -> float:
    r"""The dual divergence :math:`\Phi_q^\star(Y, \nabla \phi_q(A))`, as in the paper.

    With the conjugate :math:`\phi_q^\star(y) = \exp_q(y)^{2-q} / (2 - q)` of :math:`\phi_q` (see
    `bregman_divergence`) it is

    .. math:: \sum_{ij} \phi_q^\star(Y_{ij}) + \phi_q(A_{ij}) - A_{ij} Y_{ij} \ge 0,

    the gap in the inequality of Fenchel and Young: zero if and only if
    :math:`A = \exp_q(Y)`. As a function of A, :math:`\varepsilon` times the loss of
    :math:`Y = -C / \varepsilon` is :math:`\langle C, A \rangle + \varepsilon \sum \phi_q(A_{ij})`
    plus a constant. So transport, for every q, is the bistochastic matrix of the smallest loss: QOT
    at q = 0, `tsallis` between, EOT at q = 1. Where all of Y is above :math:`-1 / (1 - q)` that is
    the projection of the kernel :math:`\exp_q(-C / \varepsilon)` under :math:`\Phi_q`. The kernel
    is zero elsewhere, and has forgotten the costs; the loss has not.

    Parameters
    ----------
    Y : numbers of any sign, such as `-C / eps`.
    A : nonnegative numbers of the same shape.
    q : 0 <= q <= 1.

    Examples
    --------
    >>> Y = np.array([[0.0, -0.5], [-3.0, 1.0]])
    >>> [round(fenchel_young_loss(Y, exp_q(Y, q), q), 6) for q in (0, 0.5, 1)]
    [0.0, 0.0, 0.0]
    >>> fenchel_young_loss(Y, np.ones((2, 2)), 0)
    3.125
    """
    q = as_q(q)
    Y, A = as_finite(Y, None, "Y"), _as_nonnegative(A, "A")
    _require_one_shape(Y, A, "Y", "A")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        conjugate = exp_q(Y, q) ** (2 - q) / (2 - q)
        entropy = (np.where(A > 0, A * log_q(np.where(A > 0, A, 1.0), q), 0.0) - A) / (2 - q)
        each = conjugate + entropy - A * Y
    return _finite_sum(np.maximum(each, 0))


def as_q(q: Any) -> float:
    """A place in the family that leads from QOT, 0, to EOT, 1."""
    if not 0 <= as_real(q) <= 1:
        raise InvalidInputError(
            f"must be in [0, 1], got {q!r}",
            parameter="q",
            value=q,
            remedy="0 is QOT and 1 is EOT",
        )
    return float(q)


def _as_nonnegative(x: Any, name: str) -> FloatArray:
    x = as_finite(x, None, name)
    if (x < 0).any():
        raise InvalidInputError(
            f"must not be negative, got {x.min():.3g}", parameter=name, value=float(x.min())
        )
    return x


def _require_one_shape(A: FloatArray, B: FloatArray, name: str, other: str) -> None:
    if A.shape != B.shape:
        raise InvalidInputError(
            f"and {other} must have one shape, got {A.shape} and {B.shape}",
            parameter=name,
            value=A.shape,
        )


def _finite_sum(each: FloatArray) -> float:
    """The sum; infinite where a term overflows, or is the difference of two that do."""
    total = float(each.sum())
    return float("inf") if np.isnan(total) else total


R = TypeVar("R", bound=Regularizer, covariant=True)


@dataclass(frozen=True)
class Problem(Generic[R]):
    """A regularized transport problem over n points.

    Attributes
    ----------
    cost : the costs, in units of their mean.
    regularizer : what is added to the cost.
    hollow : whether the diagonal is forbidden.
    floor : (n,) the effective number of neighbors that each row must have at least, as a bound
        `|W_i|^2 <= 1 / k_i` (see `sparrot.ot._floor`); None for no bound.
    weights : (n,) the weights of the points, positive and of mean one (about one for a part of the
        points); None for equal ones.
    """

    cost: Cost
    regularizer: R
    hollow: bool = True
    floor: FloatArray | None = None
    weights: FloatArray | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return self.cost.n

    @property
    def total(self) -> float:
        """The weight of all points."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def n_pairs(self) -> int:
        """Pairs i < j and, without the hollow constraint, each point with itself."""
        return number_of_pairs(self.n, self.hollow)

    @property
    def has_full_row(self) -> bool:
        """Whether the floor of some row is all points, so that all pairs of it carry mass."""
        most = self.n - self.hollow
        return self.floor is not None and bool(self.floor.max() >= most * (1 - 1e-12))

    def at(self, eps: float, with_floor: bool = True) -> Self:
        """The same problem with another eps and, if asked, without its floor."""
        return replace(
            self, regularizer=self.regularizer.at(eps), floor=self.floor if with_floor else None
        )

    def with_mass(self: SparseProblem, mass: float) -> SparseProblem:
        """The same problem with another mass."""
        return replace(self, regularizer=self.regularizer.with_mass(mass))

    def part(self, index: IntArray) -> Self:
        """The same problem between some of the points, without a floor: they have fewer.

        Of weights that are so large beside those of the part that a hollow problem might have no
        solution, a part is taken: half of the points have the median or more, so that no point has
        more than half of the weight. Two points have equal weights.
        """
        weights = None if self.weights is None else self.weights[index]
        if weights is not None:
            n = len(index)
            most = n / 4 * np.median(weights) if n > 2 else weights.min()
            weights = np.minimum(weights, most)
        return replace(self, cost=self.cost.take(index), floor=None, weights=weights)

    def dense_cost(self) -> FloatArray:
        """The n x n matrix of costs, infinite where a pair is forbidden."""
        C = self.cost.dense()
        np.fill_diagonal(C, np.inf if self.hollow else self.cost.diagonal())
        return C


AnyProblem: TypeAlias = Problem[Regularizer]
SparseProblem: TypeAlias = Problem[PowerRegularizer]


@dataclass(frozen=True, slots=True)
class Options:
    """How to solve: what does not change the answer (but for an approximate search)."""

    method: str = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    search: str = "exact"
    neighbors: Any = None
    checkpoint: Path | None = None


_ERRORS = ("marginal_error", "violation", "missed_rows", "floor_violation", "complementarity")


@dataclass(frozen=True, slots=True)
class Certificate:
    """Why the plan is optimal, or by how much it is not.

    The plan `W_ij = [u_i + u_j - C_ij]_+ / eps` solves the problem if and only if every row sums to
    one and no pair that was left out has a positive score. (A duality gap would say no more: for
    any u it equals `2 u'(W1 - 1)`.) With a floor the plan is
    `[u_i + u_j - C_ij]_+ / (eps + (e_i + e_j) / 2)`, and two more numbers must vanish. An error
    that is not a number proves nothing, and is infinite here.

    Attributes
    ----------
    marginal_error : `max_i |(W1)_i - 1|`, and with weights `max_i |(W1)_i / w_i - 1|`.
    violation : `max [u_i + u_j - C_ij]_+` over the pairs left out, in the units of C; infinite
        where it is not known, as for a result that did not converge.
    pairs_checked : how many pairs `i < j` (and, without the hollow constraint, points with
        themselves) are vouched for.
    exact : whether that is all of them, by a search that misses none.
    missed_rows : for an approximate search, an upper bound at 95 % confidence on the share of rows
        of which a pair with a positive score was left out, from random rows checked against all
        points; `violation` is then the largest such score in these rows.
    floor_violation : with a floor on the effective number of neighbors, `max_i k_i |W_i|^2 - 1`, or
        zero if no row is below its floor.
    complementarity : with a floor, the largest `min(e_i / (eps + e_i), 1 - k_i |W_i|^2)`: a row
        that has more neighbors than its floor must not have a multiplier e, its `row_eps`. Infinite
        if a multiplier is negative.
    claimed : whether this is what a file says, and was not computed here: `Affinity.check` of the
        data computes it. The marginal error is known, for the matrix has it.
    """

    marginal_error: float
    violation: float
    pairs_checked: int
    exact: bool
    missed_rows: float = 0.0
    floor_violation: float = 0.0
    complementarity: float = 0.0
    claimed: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        """What is not a number is infinite."""
        for name in _ERRORS:
            if np.isnan(getattr(self, name)):
                object.__setattr__(self, name, float("inf"))

    @property
    def largest_error(self) -> float:
        """The largest of the errors that a solver brings below its tolerance."""
        return max(self.marginal_error, self.floor_violation, self.complementarity)


@dataclass(frozen=True, slots=True)
class Solution:
    """What a method returns, in units of the mean cost.

    Attributes
    ----------
    problem : the problem that was solved.
    u : the potential.
    plan : the matrix `g([u_i + u_j - C_ij]_+) / mass`, or the dense plan of an entropic problem.
    certificate : why the plan is optimal.
    history : the marginal error before each Newton step (or round of alternating projections); with
        a floor, the largest of all errors.
    converged : whether the errors met the tolerance and, unless the search was approximate,
        no pair is violated.
    method : the name of the method.
    e : (n,) multipliers of a floor, None without one.
    """

    problem: AnyProblem
    u: FloatArray
    plan: Any
    certificate: Certificate
    history: tuple[float, ...]
    converged: bool
    method: str = ""
    e: FloatArray | None = None


class Method(ABC, Generic[R]):
    """Solves one problem for any eps, each from what it knows of those before.

    Parameters
    ----------
    problem : the problem with any eps.
    options : how to solve.
    run : resources.

    Attributes
    ----------
    name : its name in the table of methods.
    solves : the regularizers of the problems that it solves.
    knows_floors, knows_full_rows : whether these may have a floor, and one of all other points.
    knows_weights : whether their points may have weights.
    """

    name: str
    solves: type
    knows_floors = False
    knows_full_rows = True
    knows_weights = False

    def __init__(self, problem: Problem[R], options: Options, run: Run) -> None:
        self._problem = problem
        self._options = options
        self._run = run

    def take_multipliers(self, e: FloatArray, eps: float) -> bool:
        """Begin with the multipliers of another solution at `eps`; whether it makes use of them."""
        return False

    @abstractmethod
    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Solve the problem at one eps, from potentials if there are any, or without its floor."""


def perplexities(W: Any) -> FloatArray:
    """The exponential of the entropy of each row of a nonnegative matrix, scaled to sum one."""
    sums = np.asarray(W.sum(axis=1)).ravel()
    if issparse(W):
        terms = W.copy()
        terms.data = _x_log_x(W.data)
        total = np.asarray(terms.sum(axis=1)).ravel()
    else:
        total = _x_log_x(W).sum(axis=1)
    return np.exp(np.log(sums) - total / sums)


def _x_log_x(x: FloatArray) -> FloatArray:
    return x * np.log(np.where(x > 0, x, 1.0))


def number_of_pairs(n: int, hollow: bool) -> int:
    """Pairs i < j of n points and, without the hollow constraint, each point with itself."""
    return n * (n - 1) // 2 if hollow else n * (n + 1) // 2


def marginal_error(plan: Any, weights: FloatArray | None = None) -> float:
    """`max_i |(W1)_i / w_i - 1|`, or infinity where that is not a number."""
    sums = np.asarray(plan.sum(axis=1)).ravel()
    if weights is not None:
        sums = sums / weights
    return float(np.abs(sums - 1).max()) if np.isfinite(sums).all() else float("inf")


def compressed(counts: IntArray, indices: IntArray, data: FloatArray, n_columns: int) -> csr_array:
    """A CSR matrix from the number of entries in each row; int32 indices wherever they suffice."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    dtype = np.int32 if indptr[-1] < 2**31 else np.int64
    indices = indices.astype(dtype, copy=False)
    return csr_array((data, indices, indptr.astype(dtype)), shape=(len(counts), n_columns))
