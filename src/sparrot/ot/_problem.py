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
from scipy.sparse.csgraph import breadth_first_order

from sparrot._types import FloatArray, IntArray
from sparrot.cost import Cost
from sparrot.engine import Run
from sparrot.errors import counted


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
    share : factor on the mass: a random fraction of the points with the same fraction of the mass
        has about the same potentials as all.
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
    copies: whether weights count equal points, which have one row in the place of many (see
        `EqualPoints` of the active set). The others of them are then neighbors of each.
    """

    cost: Cost
    regularizer: R
    hollow: bool = True
    floor: FloatArray | None = None
    weights: FloatArray | None = None
    copies: bool = False

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
    def loops(self) -> IntArray:
        """The points that may have affinity to themselves, or to their copies."""
        if self.hollow and self.copies and self.weights is not None:
            return np.flatnonzero(self.weights > 1).astype(np.int32)
        return np.arange(0 if self.hollow else self.n, dtype=np.int32)

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

        Weights are capped at n/4 times their median: half of the points weigh at least the median,
        so none then has more than half of the total, and a hollow plan exists. Of two points both
        get the smaller weight. A point with copies may be there several times, each time as one.
        """
        weights = None if self.weights is None or self.copies else self.weights[index]
        if weights is not None:
            n = len(index)
            most = n / 4 * np.median(weights) if n > 2 else weights.min()
            weights = np.minimum(weights, most)
        cost = self.cost.take(index)
        return replace(self, cost=cost, floor=None, weights=weights, copies=False)

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


_ERRORS = (
    "marginal_error",
    "violation",
    "missed_rows",
    "missed_mass",
    "floor_violation",
    "complementarity",
)


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
        where it is not known, as for a result that did not converge. Zero for EOT, whose entries
        that `drop` leaves out are small, and have negative scores.
    pairs_checked : how many pairs `i < j` (and, without the hollow constraint, points with
        themselves) are vouched for.
    exact : whether that is all of them, by a search that misses none.
    missed_rows : for an approximate search, an upper bound at 95 % confidence on the share of rows
        of which a pair with a positive score was left out, from random rows checked against all
        points; `violation` is then the largest such score in these rows. For a sample of
        `Affinity.check`, the same bound on the share of rows with a larger `violation`.
    missed_mass : for an approximate search, the largest mass that the pairs left out would have in
        one of these rows, of the mass one of a row: by how much its sum over all points is too
        large. In all, entries of the row are off by up to about twice as much. Infinite where it
        is not known, and zero in what `Affinity.check` finds, whose `violation` says it all.
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
    missed_mass: float = 0.0
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

    def __str__(self) -> str:
        """The errors and the pairs that they are of; those of a floor where they are not zero."""
        return certificate_in_words(self, max(self.floor_violation, self.complementarity) > 0)


def certificate_in_words(certificate: Certificate, has_floor: bool) -> str:
    """A certificate in one line, with the errors of a floor or without.

    Examples
    --------
    >>> certificate_in_words(Certificate(1e-9, 0.0, 6, exact=True), False)
    'marginal error 1.0e-09, violation 0.0e+00 over all 6 pairs'
    """
    checked = counted(certificate.pairs_checked, "pair")
    if certificate.exact:
        checked = f"all {checked}" if certificate.pairs_checked > 1 else checked
    else:
        checked += f", pairs missed in at most {certificate.missed_rows:.2%} of the rows"
        if 0 < certificate.missed_mass < np.inf:
            checked += f" (of mass {certificate.missed_mass:.1e} in the worst that was checked)"
    claimed = "; a claim of the file, not computed here" if certificate.claimed else ""
    return f"{errors_in_words(certificate, has_floor)} over {checked}{claimed}"


def errors_in_words(certificate: Certificate, has_floor: bool) -> str:
    """The errors alone.

    Examples
    --------
    >>> errors_in_words(Certificate(1e-9, 0.0, 6, True, complementarity=3e-9), True)
    'marginal error 1.0e-09, floor violation 0.0e+00, complementarity 3.0e-09, violation 0.0e+00'
    """
    parts = [f"marginal error {certificate.marginal_error:.1e}"]
    if has_floor:
        parts.append(f"floor violation {certificate.floor_violation:.1e}")
        parts.append(f"complementarity {certificate.complementarity:.1e}")
    return ", ".join([*parts, f"violation {certificate.violation:.1e}"])


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

    def rough(self, eps: float, start: FloatArray | None, tol: float) -> Solution:
        """The same on the way to another eps: a plan that is not needed may be missing."""
        return self.solve(eps, start, tol)

    def perplexities(self, solution: Solution) -> FloatArray:
        """Those of the rows of a solution, perhaps a rough one."""
        return perplexities(solution.plan)

    def tangent(self, solution: Solution) -> tuple[FloatArray, float] | None:
        """How u and the logarithm of the mean perplexity change with log eps, if it is known."""
        return None

    def extended(self, index: IntArray, u: FloatArray, eps: float) -> FloatArray | None:
        """Potentials of all points to start from, by those of some at an eps; None for none."""
        return None


def perplexities(W: Any) -> FloatArray:
    """The exponential of the entropy of each row of a nonnegative matrix, scaled to sum one."""
    sums = np.asarray(W.sum(axis=1)).ravel()
    if issparse(W):
        terms = W.copy()
        terms.data = x_log_x(W.data)
        total = np.asarray(terms.sum(axis=1)).ravel()
    else:
        total = x_log_x(W).sum(axis=1)
    return np.exp(np.log(sums) - total / sums)


def x_log_x(x: FloatArray) -> FloatArray:
    """`x log x`, and zero at zero."""
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


def is_connected(W: Any) -> bool:
    """Whether the graph of a symmetric matrix is connected: its first point reaches all others.

    That takes a fifth of the time of labels for all points.

    Examples
    --------
    >>> is_connected(csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))), is_connected(csr_array((2, 2)))
    (True, False)
    """
    return len(breadth_first_order(csr_array(W), 0, return_predecessors=False)) == W.shape[0]


def compressed(counts: IntArray, indices: IntArray, data: FloatArray, n_columns: int) -> csr_array:
    """A CSR matrix from the number of entries in each row; int32 indices wherever they suffice."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    dtype = np.int32 if indptr[-1] < 2**31 else np.int64
    indices = indices.astype(dtype, copy=False)
    return csr_array((data, indices, indptr.astype(dtype)), shape=(len(counts), n_columns))
