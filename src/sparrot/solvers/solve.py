"""Choose a solver and run it, once or along a sequence of problems on the same points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sparrot.cost import Cost
from sparrot.engine import Progress, ProgressCallback, Threads, require_memory, silent
from sparrot.solvers.active_set import ActiveSet, Budget, Guess
from sparrot.solvers.alternating import alternating
from sparrot.solvers.dual import DenseDual
from sparrot.solvers.newton import newton
from sparrot.solvers.solution import Solution, marginal_error
from sparrot.solvers.start import guess_from_parts, guess_from_potential
from sparrot.support import Link, number_of_pairs
from sparrot.types import FloatArray

# About here the dense and the sparse path take the same time (benchmarks/crossing.py).
CROSSING = 1500
SOLVERS = ("auto", "newton", "active-set", "alternating")
_MAX_ITER = {"newton": 2000, "active-set": 2000, "alternating": 100_000}
_DENSE_BYTES = 56  # for each entry of the matrix if all are positive, all copies counted
_EASY = 0.1  # relative eps above which Newton starts well from anywhere
_FEW = 6.0  # neighbours a row below which the sparse path comes down from larger masses
_LOOSE = 1e-2  # marginal error on the way there
_SWEEPS = 5  # damped levels before Newton on a link that is a power


@dataclass(frozen=True, slots=True)
class Options:
    """How to solve: what does not change the answer."""

    solver: str = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    max_memory: float | None = None
    progress: ProgressCallback = silent


class Solver:
    """The problems of one cost: project for any link and mass, each from the last potential.

    Parameters
    ----------
    cost : the costs, in units of their mean.
    hollow : whether the diagonal is forbidden.
    options : how to solve.
    threads : where to run.
    """

    def __init__(self, cost: Cost, hollow: bool, options: Options, threads: Threads) -> None:
        self.cost = cost
        self.hollow = hollow
        self.options = options
        self.threads = threads
        self.name = options.solver
        if self.name == "auto":
            self.name = "newton" if cost.n <= CROSSING else "active-set"
        self._max_iter = options.max_iter or _MAX_ITER[self.name]
        if self.name == "active-set":
            self._order = cost.order()
            self._near = cost if self._order is None else cost.take(self._order)
            self._active = ActiveSet(
                self._near, hollow, threads, options.progress, options.max_memory
            )
        else:
            self._C = self._dense()

    def solve(
        self, link: Link, mass: float, start: FloatArray | None = None, tol: float | None = None
    ) -> Solution:
        """The plan `g([u_i + u_j - C_ij]_+) / mass` whose rows sum to one."""
        tol = self.options.tol if tol is None else tol
        aim = tol * (1 - 1e-6)  # the sums of the finished plan are rounded once more
        if self.name == "active-set":
            return self._sparse(link, mass, start, tol, aim)
        if self.name == "newton":
            return self._newton(link, mass, start, tol, aim)
        return self._alternating(mass, start, tol, aim)

    def _dense(self) -> FloatArray:
        n = self.cost.n
        require_memory(
            _DENSE_BYTES * n**2,
            what=f"solver={self.name!r} with {n} points",
            remedy="solver='active-set' needs no n x n matrix",
            max_memory=self.options.max_memory,
        )
        C = self.cost.dense()
        np.fill_diagonal(C, np.inf if self.hollow else self.cost.diagonal())
        return C

    def _newton(
        self, link: Link, mass: float, start: FloatArray | None, tol: float, aim: float
    ) -> Solution:
        dual = DenseDual(self._C, link, mass, self.threads)
        u = self._cold_start(link, mass) if start is None else start
        result = newton(dual, u, aim, self._max_iter, self._reporter())
        return self._solution(result.u, dual.plan(result.u), 0.0, result.history, tol)

    def _cold_start(self, link: Link, mass: float) -> FloatArray:
        """Potentials to start from: little mass is reached by way of larger masses."""
        u = self.cost.shift.copy()
        scale = link.score(np.array(mass))  # the score of a lone neighbour; eps if quadratic
        larger = [scale * 10.0**k for k in range(1, 20) if scale * 10.0 ** (k - 1) < _EASY]
        if not link.linear:  # powers vanish far from the solution: come near by damped levels
            dual = DenseDual(self._C, link, mass, self.threads)
            every = np.arange(len(u))
            for _ in range(_SWEEPS):
                u = (u + dual.levels(u, every)) / 2
        for s in reversed(larger):
            dual = DenseDual(self._C, link, float(link.entry(s)), self.threads)
            u = newton(dual, u, _LOOSE, self._max_iter).u
        return u

    def _alternating(
        self, mass: float, start: FloatArray | None, tol: float, aim: float
    ) -> Solution:
        u = self.cost.shift.copy() if start is None else start
        u, history = alternating(
            self._C, mass, u, self.hollow, aim, self._max_iter, self._reporter()
        )
        plan = DenseDual(self._C, Link(), mass, self.threads).plan(u)
        return self._solution(u, plan, 0.0, history, tol)

    def _sparse(
        self, link: Link, mass: float, start: FloatArray | None, tol: float, aim: float
    ) -> Solution:
        guess = None
        if start is not None:
            start = start if self._order is None else start[self._order]
            guess = guess_from_potential(self._near, link, mass, self.hollow, start, self.threads)
        if guess is None:
            guess = self._sparse_cold_start(link, mass)
        self._active.require_memory(guess.neighbours)
        budget = Budget(self._max_iter)
        found = self._active.solve(link, mass, guess, aim, budget)
        violation = 0.0 if found.certified else np.inf  # unknown, so infinite: no silent pass
        u, plan = self._as_given(found.u, found.plan)
        return self._solution(u, plan, violation, tuple(budget.history), tol)

    def _as_given(self, u: FloatArray, plan: csr_array) -> tuple[FloatArray, csr_array]:
        """From the order of the active set back to the order of the points."""
        if self._order is None:
            return u, plan
        place = np.empty_like(self._order)
        place[self._order] = np.arange(len(u))
        columns = self._order.astype(plan.indices.dtype)[plan.indices]
        plan = csr_array((plan.data, columns, plan.indptr), shape=plan.shape)[place]
        plan.sort_indices()
        return u[place], plan

    def _sparse_cold_start(self, link: Link, mass: float) -> Guess:
        """A guess from parts; where neighbours are very few, by way of larger masses.

        On the way down the support only shrinks, so that this costs no further screening.
        """
        scale = link.score(np.array(mass))
        larger: list[float] = []
        while True:
            guess = guess_from_parts(
                self._near,
                link,
                larger[-1] if larger else mass,
                self.hollow,
                self.threads,
                self.options.progress,
            )
            if guess.neighbours >= _FEW or len(larger) >= 10:
                break
            larger.append(float(link.entry(scale * 10.0 ** (len(larger) + 1))))
        for m in reversed(larger):
            u = self._active.solve(link, m, guess, _LOOSE, Budget(self._max_iter)).u
            slack = np.full(len(u), float(link.score(np.array(m / (10 * _FEW)))))
            guess = Guess(u, slack, _FEW)
        return guess

    def _solution(
        self,
        u: FloatArray,
        plan: csr_array,
        violation: float,
        history: tuple[float, ...],
        tol: float,
    ) -> Solution:
        known = violation < np.inf
        return Solution(
            u=u,
            plan=plan,
            violation=violation,
            pairs_checked=number_of_pairs(len(u), self.hollow) if known else 0,
            history=history,
            converged=marginal_error(plan) <= tol and violation == 0,
        )

    def _reporter(self) -> Callable[[int, float], None]:
        def report(step: int, error: float) -> None:
            self.options.progress(Progress(self.name, self.cost.n, step, 0, error))

        return report
