"""Choose a solver and run it, once or along a sequence of problems on the same points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray
from sparrot.cost import Cost
from sparrot.engine import Progress, Threads, require_memory
from sparrot.ot._active_set import Budget
from sparrot.ot._alternating import alternating
from sparrot.ot._dual import DenseDual
from sparrot.ot._link import Link
from sparrot.ot._newton import newton
from sparrot.ot._options import Options
from sparrot.ot._pairs import number_of_pairs
from sparrot.ot._solution import Solution, marginal_error
from sparrot.ot._sparse import SparseSolver

# About here the dense and the sparse path take the same time (benchmarks/crossing.py).
CROSSING = 1500
_MAX_ITER = {"newton": 2000, "active-set": 2000, "alternating": 100_000}
_DENSE_BYTES = 56  # for each entry of the matrix if all are positive, all copies counted
_EASY = 0.1  # relative eps above which Newton starts well from anywhere
_LOOSE = 1e-2  # marginal error on the way there
_SWEEPS = 5  # damped levels before Newton on a link that is a power


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
            asked = options.search == "approximate" or options.checkpoint is not None
            small = cost.n <= CROSSING and not asked
            self.name = "newton" if small else "active-set"
        self._max_iter = options.max_iter or _MAX_ITER[self.name]
        self._sparse: SparseSolver | None = None
        if self.name == "active-set":
            self._sparse = SparseSolver(cost, hollow, options, threads)
        else:
            self._C = self._dense()

    def solve(
        self, link: Link, mass: float, start: FloatArray | None = None, tol: float | None = None
    ) -> Solution:
        """The plan `g([u_i + u_j - C_ij]_+) / mass` whose rows sum to one."""
        tol = self.options.tol if tol is None else tol
        aim = tol * (1 - 1e-6)  # the sums of the finished plan are rounded once more
        if self._sparse is not None:
            return self._on_support(self._sparse, link, mass, start, tol, aim)
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
        return self._solution(result.u, dual.plan(result.u), result.history, tol)

    def _cold_start(self, link: Link, mass: float) -> FloatArray:
        """Potentials to start from: little mass is reached by way of larger masses."""
        u = self.cost.shift.copy()
        scale = link.score(np.array(mass))  # the score of a lone neighbor; eps if quadratic
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
        return self._solution(u, plan, history, tol)

    def _on_support(
        self,
        sparse: SparseSolver,
        link: Link,
        mass: float,
        start: FloatArray | None,
        tol: float,
        aim: float,
    ) -> Solution:
        budget = Budget(self._max_iter)
        found = sparse.solve(link, mass, start, aim, budget)
        return Solution(
            u=found.u,
            plan=found.plan,
            violation=found.violation,
            pairs_checked=found.pairs_checked,
            history=tuple(budget.history),
            converged=marginal_error(found.plan) <= tol and found.violation < np.inf,
            missed_rows=found.missed_rows,
        )

    def _solution(
        self, u: FloatArray, plan: csr_array, history: tuple[float, ...], tol: float
    ) -> Solution:
        """Of a solver that sees all pairs."""
        return Solution(
            u=u,
            plan=plan,
            violation=0.0,
            pairs_checked=number_of_pairs(len(u), self.hollow),
            history=history,
            converged=marginal_error(plan) <= tol,
        )

    def _reporter(self) -> Callable[[int, float], None]:
        def report(step: int, error: float) -> None:
            self.options.progress(Progress(self.name, self.cost.n, step, 0, error))

        return report
