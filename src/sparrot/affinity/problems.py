"""The regularised problems behind the affinities, for any relative eps."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from sparrot.affinity.result import Affinity
from sparrot.cost import MatrixCost, PointCost
from sparrot.engine import Progress, Threads, memory_budget, require_memory
from sparrot.solvers import Certificate, Options, Solution, Solver, marginal_error, sinkhorn
from sparrot.support import QUADRATIC, Link, number_of_pairs, tsallis_link
from sparrot.types import FloatArray

_PLAN_BYTES = 40  # for each entry of a dense entropic plan, all copies counted
_BLOCK = 512


class TransportProblem:
    r"""Quadratic (q = 0) or Tsallis (0 < q < 1) regularisation, on sparse supports.

    The solver's potential v has entries that vanish with the score, so it is the user's u plus
    :math:`\varepsilon / (2 (1 - q))`; QOT is stated in v itself.
    """

    def __init__(
        self,
        cost: PointCost | MatrixCost,
        metric: str,
        hollow: bool,
        options: Options,
        threads: Threads,
        q: float | None = None,
    ) -> None:
        self.n = cost.n
        self.threads = threads
        self._cost = cost
        self._metric = metric
        self._hollow = hollow
        self._q = q
        self._solver = Solver(cost, hollow, options, threads)

    def typical_eps(self) -> float:
        """The median share of the mean cost, relative to the mean share: 1 but for outliers."""
        return typical_eps(self._cost)

    def solve(self, eps: float, start: FloatArray | None, tol: float | None) -> Solution:
        """Solve for one relative eps."""
        link, mass = self._regulariser(eps)
        return self._solver.solve(link, mass, start, tol)

    def affinity(self, solution: Solution, eps: float) -> Affinity:
        """From units of the mean cost to the units of the data."""
        unit = self._cost.unit
        shift = 0.0 if self._q is None else eps / (2 * (1 - self._q))
        potential = unit * (solution.u - shift)
        potential.flags.writeable = False
        kind = "qot" if self._q is None else "tsallis"
        return Affinity(
            kind="projection" if self._metric == "kernel" else kind,
            matrix=solution.plan,
            mean_cost=self._cost.mean(),
            metric=self._metric,
            potential=potential,
            eps=unit * eps,
            q=self._q or 0.0,
            certificate=Certificate(
                marginal_error=marginal_error(solution.plan),
                violation=unit * solution.violation,
                pairs_checked=solution.pairs_checked,
                exact=solution.pairs_checked > 0,
            ),
            history=solution.history,
            hollow=self._hollow,
            solver=self._solver.name,
        )

    def _regulariser(self, eps: float) -> tuple[Link, float]:
        return (QUADRATIC, eps) if self._q is None else (tsallis_link(eps, self._q), 1.0)


class EntropicProblem:
    """Entropic regularisation; the plan is dense, or sparse without its smallest entries."""

    def __init__(
        self,
        cost: PointCost | MatrixCost,
        metric: str,
        hollow: bool,
        options: Options,
        threads: Threads,
        drop: float | None = None,
    ) -> None:
        self.n = cost.n
        self._cost = cost
        self._metric = metric
        self._hollow = hollow
        self._options = options
        self._threads = threads
        self._drop = drop
        budget = memory_budget(options.max_memory)
        self._keep = _PLAN_BYTES * cost.n**2 <= budget
        self._C = cost.dense() if self._keep else None
        if not self._keep and drop is None:
            require_memory(
                _PLAN_BYTES * cost.n**2,
                what=f"the dense plan of {cost.n} points",
                remedy="drop=1e-3 gives a sparse one, computed in tiles",
                max_memory=options.max_memory,
            )

    def typical_eps(self) -> float:
        """The median share of the mean cost, relative to the mean share: 1 but for outliers."""
        return typical_eps(self._cost)

    def solve(self, eps: float, start: FloatArray | None, tol: float | None) -> Solution:
        """Solve for one relative eps."""
        tol = self._options.tol if tol is None else tol
        max_iter = self._options.max_iter or 500

        def report(step: int, error: float) -> None:
            self._options.progress(Progress("sinkhorn", self.n, step, 0, error))

        u, history, dual = sinkhorn(
            self._rows, self.n, eps, start, self._keep, 0.999 * tol, max_iter, self._threads, report
        )
        error, blocks = 0.0, []
        for k in range(0, self.n, _BLOCK):
            block = dual.block(u / eps, slice(k, min(k + _BLOCK, self.n)))
            error = max(error, float(np.abs(block.sum(axis=1) - 1).max()))
            blocks.append(block if self._drop is None else self._thinned(block))
        plan = np.concatenate(blocks) if self._drop is None else csr_array(vstack(blocks))
        plan = (plan + plan.T) / 2  # symmetric to the last bit
        return Solution(
            u, plan, 0.0, number_of_pairs(self.n, self._hollow), history, converged=error <= tol
        )

    def _rows(self, rows: slice) -> FloatArray:
        C = self._cost.rows(rows) if self._C is None else self._C[rows].copy()
        own = np.arange(rows.start or 0, min(rows.stop or self.n, self.n))
        C[own - own[0], own] = np.inf if self._hollow else self._cost.diagonal()[own]
        return C

    def _thinned(self, block: FloatArray) -> csr_array:
        """Rows of the plan without entries below drop / n: none loses more than `drop`."""
        assert self._drop is not None
        return csr_array(np.where(block >= self._drop / self.n, block, 0))

    def affinity(self, solution: Solution, eps: float) -> Affinity:
        """From units of the mean cost to the units of the data."""
        unit = self._cost.unit
        potential = unit * solution.u
        potential.flags.writeable = False
        return Affinity(
            kind="eot",
            matrix=solution.plan,
            mean_cost=unit,
            metric=self._metric,
            potential=potential,
            eps=unit * eps,
            q=1.0,
            certificate=Certificate(
                marginal_error(solution.plan), 0.0, solution.pairs_checked, exact=True
            ),
            history=solution.history,
            hollow=self._hollow,
            solver="sinkhorn",
        )


def typical_eps(cost: PointCost | MatrixCost) -> float:
    """The median share of the mean cost, relative to the mean share."""
    return float(np.clip(cost.n * np.median(cost.shares()), 1e-6, 1.0))
