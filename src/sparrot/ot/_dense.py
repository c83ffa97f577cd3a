r"""Methods that keep the n x n matrix of costs: Newton, and alternating projections.

Newton is the paper's Algorithm 1, the fastest for small problems. Alternating projections (after
Zass and Shashua) are a referee for the others: project -C / eps in turn onto the affine set
{A = A', A1 = 1, diag A = 0} and onto the matrices without negative entries. Plain alternation ends
in *some* common point; Dykstra's correction ends in the projection. With it the iterates keep the
form :math:`[a_i + a_j - C_{ij}/\varepsilon]_+`: each round adds to a the multiplier of the affine
projection, so that no correction need be stored. With row deficits :math:`d = 1 - W 1` that
multiplier solves :math:`(n - 2) b_i + \sum_j b_j = d_i` (hollow) or
:math:`n b_i + \sum_j b_j = d_i` (fat). Convergence is linear, and slow.
"""

from __future__ import annotations

import numpy as np

from sparrot._types import FloatArray
from sparrot.engine import Run
from sparrot.ot._dual import DenseDual
from sparrot.ot._floor import (
    DenseFloorDual,
    at_other_eps,
    floor_certificate,
    must_be_uniform,
    uniform_solution,
)
from sparrot.ot._newton import EASY, MAX_STEPS, ON_THE_WAY, ROUNDED, newton
from sparrot.ot._problem import (
    Certificate,
    Method,
    Options,
    PowerRegularizer,
    QuadraticRegularizer,
    Solution,
    SparseProblem,
    marginal_error,
)

_MAX_ROUNDS = 100_000  # of alternating projections
# For each entry of the matrix if all are positive, all copies counted, without and with a floor.
BYTES, BYTES_WITH_A_FLOOR = 60, 120
_SWEEPS = 5  # damped c-transforms before Newton where g is no line

Found = tuple[FloatArray, tuple[float, ...]]  # a potential, and the marginal errors on the way


class DenseMethod(Method[PowerRegularizer]):
    """What both share: the matrix, and a certificate that needs no proof: all pairs are seen."""

    solves = PowerRegularizer

    def __init__(self, problem: SparseProblem, options: Options, run: Run) -> None:
        run.require_memory(
            (BYTES if problem.floor is None else BYTES_WITH_A_FLOOR) * problem.n**2,
            what=f"solver={self.name!r} with {problem.n} points",
            remedy="lower the largest {min_neighbors}, which is all other points"
            if problem.has_full_row
            else "use {solver='active-set'}, which needs no n x n matrix",
        )
        super().__init__(problem, options, run)
        self._C = problem.dense_cost()

    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Solve the problem at one eps, from potentials if there are any."""
        problem = self._problem.at(eps, with_floor)
        dual = DenseDual(self._C, problem.regularizer, self._run, problem.weights)
        u, history = self._find(problem, dual, start, ROUNDED * tol)
        plan = dual.plan(u)
        error = marginal_error(plan, problem.weights)
        certificate = Certificate(error, 0.0, problem.n_pairs, exact=True)
        return Solution(problem, u, plan, certificate, history, error <= tol, self.name)

    def _find(
        self, problem: SparseProblem, dual: DenseDual, start: FloatArray | None, tol: float
    ) -> Found:
        raise NotImplementedError

    def _report(self, step: int, error: float) -> None:
        self._run.report(self.name, len(self._C), step, marginal_error=error)


class DenseNewton(DenseMethod):
    """The paper's Algorithm 1."""

    name = "newton"
    knows_floors = True
    knows_weights = True

    def __init__(self, problem: SparseProblem, options: Options, run: Run) -> None:
        super().__init__(problem, options, run)
        self._e, self._eps = np.zeros(problem.n), 0.0

    def take_multipliers(self, e: FloatArray, eps: float) -> bool:
        """As those of the last solution."""
        self._e, self._eps = e, eps
        return True

    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Solve the problem at one eps, from potentials if there are any, or without its floor."""
        problem = self._problem.at(eps, with_floor)
        if problem.floor is None:
            return super().solve(eps, start, tol, with_floor)
        if must_be_uniform(problem.floor, problem.n - problem.hollow):
            return uniform_solution(problem, self._C, self.name, tol)
        if start is None:  # that of the problem without a floor, roughly
            plain = DenseDual(self._C, problem.regularizer, self._run)
            start = self._find(problem, plain, None, ON_THE_WAY)[0]
        dual = DenseFloorDual(self._C, problem, self._run)
        max_steps = self._options.max_iter or MAX_STEPS
        eps = problem.regularizer.eps
        x = dual.sweep(np.stack([start, at_other_eps(self._e, self._eps, eps)]))
        result = newton(dual, x, ROUNDED * tol, max_steps, self._report)
        plan, (u, e) = dual.plan(result.u), result.u
        certificate = floor_certificate(
            Certificate(marginal_error(plan), 0.0, problem.n_pairs, exact=True), problem, plan, e
        )
        self._e, self._eps = e, eps
        return Solution(
            problem, u, plan, certificate, result.history,
            certificate.largest_error <= tol, self.name, e,
        )  # fmt: skip

    def _find(
        self, problem: SparseProblem, dual: DenseDual, start: FloatArray | None, tol: float
    ) -> Found:
        max_steps = self._options.max_iter or MAX_STEPS
        u = self._cold_start(problem, dual, max_steps) if start is None else start
        result = newton(dual, u, tol, max_steps, self._report)
        return result.u, result.history

    def _cold_start(self, problem: SparseProblem, dual: DenseDual, max_steps: int) -> FloatArray:
        """Potentials to start from: little mass is reached by way of larger masses."""
        u = problem.cost.shift.copy()
        regularizer = problem.regularizer
        scale = regularizer.score(regularizer.mass)  # of a lone neighbor; eps if quadratic
        easy = EASY if problem.cost.is_relative else EASY * max(1.0, _spread(self._C))
        larger = [scale * 10.0**k for k in range(1, 20) if scale * 10.0 ** (k - 1) < easy]
        if not regularizer.linear:  # powers vanish far from the solution: come near it first
            every = np.arange(len(u))
            for _ in range(_SWEEPS):
                u = (u + dual.c_transform(u, every)) / 2
        for s in reversed(larger):
            easier = problem.with_mass(float(regularizer.entry(s))).regularizer
            dual = DenseDual(self._C, easier, self._run, problem.weights)
            u = newton(dual, u, ON_THE_WAY, max_steps).u
        return u


def _spread(C: FloatArray) -> float:
    """The range of the costs, of which those of a kernel may have any."""
    allowed = np.isfinite(C)
    low = float(np.min(C, where=allowed, initial=np.inf))
    return float(np.max(C, where=allowed, initial=-np.inf)) - low


class Alternating(DenseMethod):
    """Dykstra's alternating projections, for the quadratic regularizer."""

    name = "alternating"
    solves = QuadraticRegularizer

    def _find(
        self, problem: SparseProblem, dual: DenseDual, start: FloatArray | None, tol: float
    ) -> Found:
        n, eps = problem.n, problem.regularizer.mass
        max_rounds = self._options.max_iter or _MAX_ROUNDS
        own = n - 2 if problem.hollow else n
        u = problem.cost.shift.copy() if start is None else start
        history: list[float] = []
        while True:
            P = (u[:, None] + u) - self._C
            np.maximum(P, 0, out=P)
            deficit = eps - P.sum(axis=1)
            error = float(np.abs(deficit).max()) / eps
            self._report(len(history), error)
            if error <= tol or len(history) >= max_rounds:
                return u, tuple(history)
            history.append(error)
            # For n = 2 only the sum of the two multipliers counts.
            u = u + (deficit / 2 if own == 0 else (deficit - deficit.sum() / (own + n)) / own)
