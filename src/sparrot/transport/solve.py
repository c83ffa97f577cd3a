"""Choose a solver and run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sparrot.cost import Cost
from sparrot.engine import Progress, ProgressCallback, Threads, require_memory
from sparrot.support import Support
from sparrot.transport.active_set import Budget, active_set
from sparrot.transport.alternating import alternating
from sparrot.transport.dual import DenseDual
from sparrot.transport.newton import newton
from sparrot.transport.solution import Solution, marginal_error
from sparrot.types import FloatArray

# At this size the dense and the sparse path take the same time (benchmarks/crossing.py).
CROSSING = 1500
SOLVERS = ("auto", "newton", "active-set", "alternating")
_MAX_ITER = {"newton": 200, "active-set": 2000, "alternating": 100_000}
_DENSE_BYTES = 24  # for each entry of the matrix, all copies counted


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """How to solve: everything that does not change the answer."""

    solver: str
    tol: float
    max_iter: int | None
    start: FloatArray | None
    progress: ProgressCallback


def solve(
    cost: Cost, eps: float, hollow: bool, options: SolverOptions, threads: Threads
) -> Solution:
    """Project -C / eps onto the (hollow) symmetric bistochastic matrices, by the chosen solver."""
    solver = options.solver
    if solver == "auto":
        solver = "newton" if cost.n <= CROSSING else "active-set"
    max_iter = _MAX_ITER[solver] if options.max_iter is None else options.max_iter
    if solver == "active-set":
        return _solve_sparse(cost, eps, hollow, options, max_iter, threads)
    return _solve_dense(cost, eps, hollow, options, max_iter, threads, solver)


def _solve_dense(
    cost: Cost,
    eps: float,
    hollow: bool,
    options: SolverOptions,
    max_iter: int,
    threads: Threads,
    solver: str,
) -> Solution:
    require_memory(
        _DENSE_BYTES * cost.n**2,
        what=f"solver={solver!r} with {cost.n} points",
        remedy="solver='active-set' needs no n x n matrix",
    )
    C = cost.dense()
    np.fill_diagonal(C, np.inf if hollow else cost.diagonal())
    u = cost.shift.copy() if options.start is None else options.start
    report = _reporter(options.progress, solver, cost.n)
    dual = DenseDual(C, eps, threads)
    if solver == "newton":
        result = newton(dual, u, options.tol, max_iter, report)
        u, history = result.u, result.history
    else:
        u, history = alternating(C, eps, u, hollow, options.tol, max_iter, report)
    plan = dual.scores(u)
    plan.data /= eps
    return _solution(u, plan, 0.0, hollow, history, options.tol, solver)


def _solve_sparse(
    cost: Cost,
    eps: float,
    hollow: bool,
    options: SolverOptions,
    max_iter: int,
    threads: Threads,
) -> Solution:
    budget = Budget(max_iter)
    result, support, below = active_set(
        cost, eps, hollow, options.start, options.tol, budget, threads, options.progress
    )
    plan = _plan(support, result.u, eps)
    violation = 0.0 if below else np.inf  # unknown, so infinite: never a silent pass
    return _solution(result.u, plan, violation, hollow, budget.history, options.tol, "active-set")


def _solution(
    u: FloatArray,
    plan: csr_array,
    violation: float,
    hollow: bool,
    history: tuple[float, ...],
    tol: float,
    solver: str,
) -> Solution:
    n_pairs = len(u) * (len(u) - 1) // 2 if hollow else len(u) * (len(u) + 1) // 2
    return Solution(
        u=u,
        plan=plan,
        violation=violation,
        pairs_checked=n_pairs if violation < np.inf else 0,
        n_iter=len(history),
        history=history,
        converged=marginal_error(plan) <= tol and violation == 0,
        solver=solver,
    )


def _plan(support: Support, u: FloatArray, eps: float) -> csr_array:
    """The matrix `[u_i + u_j - C_ij]_+ / eps` over the support, zeros dropped."""
    n = len(u)
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(support.indptr))
    score = (u[rows] + u[support.indices]) - support.cost
    keep = score > 0
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows[keep], minlength=n), out=indptr[1:])
    dtype = np.int32 if indptr[-1] < 2**31 else np.int64
    indices = support.indices[keep].astype(dtype, copy=False)
    return csr_array((score[keep] / eps, indices, indptr.astype(dtype)), shape=(n, n))


def _reporter(progress: ProgressCallback, stage: str, n: int) -> Callable[[int, float], None]:
    def report(step: int, error: float) -> None:
        progress(Progress(stage, n, step, 0, error))

    return report
