"""The regularized problems behind the affinities, for any relative eps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, vstack

from sparrot._types import FloatArray, IntArray
from sparrot.affinity._diagnostics import duplicates, heavy_points
from sparrot.affinity._result import Affinity
from sparrot.cost import MatrixCost, PointCost
from sparrot.engine import Progress, Threads, memory_budget, require_memory
from sparrot.ot import (
    QUADRATIC,
    Certificate,
    Options,
    Solution,
    Solver,
    marginal_error,
    number_of_pairs,
    sinkhorn,
    tsallis_link,
)

_PLAN_BYTES = 40  # for each entry of a dense entropic plan, all copies counted
_BLOCK = 512
_LEAST_SHARE = 1e-12  # below that the costs of typical points drown in the rounding of the others
_PILOT = 40_000  # points of a part whose eps guides an approximate search


class _Problem:
    """What the problems share: their data, a scale to begin with, and the way back to its units.

    Parameters
    ----------
    cost, metric : the costs, in units of their mean, and their name.
    hollow : whether the diagonal is forbidden.
    options, threads : how to solve, and where.
    """

    def __init__(
        self,
        cost: PointCost | MatrixCost,
        metric: str,
        hollow: bool,
        options: Options,
        threads: Threads,
    ) -> None:
        self.n = cost.n
        self._cost = cost
        self._metric = metric
        self._hollow = hollow
        self._options = options
        self._threads = threads
        self.most_neighbors = cost.n - 1 if hollow else cost.n
        self.largest_part = cost.n

    def typical_eps(self) -> float:
        """The median share of the mean cost, relative to the mean share: 1 but for outliers."""
        return float(np.clip(self.n * np.median(self._cost.shares()), _LEAST_SHARE, 1.0))

    def remarks(self) -> str:
        """Outliers by their rows, and how many points are duplicates."""
        said = heavy_points(self._cost), duplicates(self._cost)
        return ", and ".join(filter(None, said))

    def _in_units(
        self, solution: Solution, eps: float, kind: str, q: float, shift: float, solver: str
    ) -> Affinity:
        """From units of the mean cost to the units of the data."""
        unit = self._cost.unit
        potential = unit * (solution.u - shift)
        potential.flags.writeable = False
        return Affinity(
            kind=kind,
            matrix=solution.plan,
            mean_cost=self._cost.mean(),
            metric=self._metric,
            potential=potential,
            eps=unit * eps,
            q=q,
            certificate=Certificate(
                marginal_error=marginal_error(solution.plan),
                violation=unit * solution.violation,
                pairs_checked=solution.pairs_checked,
                exact=solution.missed_rows == 0
                and solution.pairs_checked == number_of_pairs(self.n, self._hollow),
                missed_rows=solution.missed_rows,
            ),
            history=solution.history,
            hollow=self._hollow,
            solver=solver,
        )


class TransportProblem(_Problem):
    r"""Quadratic (q is None) or Tsallis (0 <= q < 1) regularization, on sparse supports.

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
        super().__init__(cost, metric, hollow, options, threads)
        self._q = q
        self._solver = Solver(cost, hollow, options, threads)
        if options.search != "exact":
            self.largest_part = min(cost.n, _PILOT)

    def part(self, index: IntArray) -> TransportProblem:
        """The same problem on some of the points."""
        return TransportProblem(
            self._cost.take(index),
            self._metric,
            self._hollow,
            replace(self._options, search="exact", neighbors=None, checkpoint=None),
            self._threads,
            self._q,
        )

    def solve(self, eps: float, start: FloatArray | None, tol: float | None) -> Solution:
        """Solve for one relative eps."""
        link = QUADRATIC if self._q is None else tsallis_link(eps, self._q)
        return self._solver.solve(link, eps if self._q is None else 1.0, start, tol)

    def affinity(self, solution: Solution, eps: float) -> Affinity:
        """In the units of the data."""
        if self._q is None:
            kind = "projection" if self._metric == "kernel" else "qot"
            return self._in_units(solution, eps, kind, 0.0, 0.0, self._solver.name)
        shift = eps / (2 * (1 - self._q))
        return self._in_units(solution, eps, "tsallis", self._q, shift, self._solver.name)


class EntropicProblem(_Problem):
    """Entropic regularization; the plan is dense, or sparse without its smallest entries."""

    def __init__(
        self,
        cost: PointCost | MatrixCost,
        metric: str,
        hollow: bool,
        options: Options,
        threads: Threads,
        drop: float | None = None,
    ) -> None:
        super().__init__(cost, metric, hollow, options, threads)
        self._drop = drop
        n_bytes = _PLAN_BYTES * cost.n**2
        self._keep = n_bytes <= memory_budget(options.max_memory)
        if drop is None:
            require_memory(
                n_bytes,
                what=f"the dense plan of {cost.n} points",
                remedy="drop=1e-3 gives a sparse one, computed in tiles",
                max_memory=options.max_memory,
            )
        self._C = cost.dense() if self._keep else None

    def part(self, index: IntArray) -> EntropicProblem:
        """The same problem on some of the points."""
        return EntropicProblem(
            self._cost.take(index),
            self._metric,
            self._hollow,
            self._options,
            self._threads,
            self._drop,
        )

    def solve(self, eps: float, start: FloatArray | None, tol: float | None) -> Solution:
        """Solve for one relative eps."""
        tol = self._options.tol if tol is None else tol
        max_iter = self._options.max_iter or 500

        def report(step: int, error: float) -> None:
            self._options.progress(Progress("sinkhorn", self.n, step, 0, error))

        u, history, dual = sinkhorn(
            self._rows,
            self.n,
            eps,
            start,
            self._keep,
            memory_budget(self._options.max_memory),
            0.999 * tol,
            max_iter,
            self._threads,
            report,
        )
        error, blocks = 0.0, []
        for k in range(0, self.n, _BLOCK):
            block = dual.block(u / eps, slice(k, min(k + _BLOCK, self.n)))
            error = max(error, float(np.abs(block.sum(axis=1) - 1).max()))
            blocks.append(block if self._drop is None else self._thinned(block))
        plan = np.concatenate(blocks) if self._drop is None else csr_array(vstack(blocks))
        plan = (plan + plan.T) / 2  # symmetric to the last bit
        left_out = 0.0 if self._drop is None else eps * self._drop / self.n
        n_pairs = number_of_pairs(self.n, self._hollow)
        return Solution(u, plan, left_out, n_pairs, history, converged=error <= tol)

    def affinity(self, solution: Solution, eps: float) -> Affinity:
        """In the units of the data; the violation bounds eps times what was dropped."""
        return self._in_units(solution, eps, "eot", 1.0, 0.0, "sinkhorn")

    def _rows(self, rows: slice) -> FloatArray:
        C = self._cost.rows(rows) if self._C is None else self._C[rows].copy()
        own = np.arange(rows.start or 0, min(rows.stop or self.n, self.n))
        C[own - own[0], own] = np.inf if self._hollow else self._cost.diagonal()[own]
        return C

    def _thinned(self, block: FloatArray) -> csr_array:
        """Rows of the plan without entries below drop / n: none loses more than `drop`."""
        assert self._drop is not None
        return csr_array(np.where(block >= self._drop / self.n, block, 0))
