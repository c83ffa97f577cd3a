r"""Symmetric entropic transport: Sinkhorn in the log domain, then Newton.

The plan is :math:`W_{ij} = \exp((u_i + u_j - C_{ij}) / \varepsilon)` with row sums one. With
:math:`f = u / \varepsilon` the damped symmetric iteration
:math:`f \leftarrow (f - \log\sum_j \exp(f_j - C_{ij}/\varepsilon)) / 2` comes close from anywhere,
and Newton on the convex dual :math:`\tfrac12 \sum_{ij} W_{ij} - \sum_i f_i`, whose Hessian is
:math:`\mathrm{diag}(W 1) + W`, finishes in a few steps where the iteration would need hundreds.
Small eps is reached by way of larger ones.

Rows are evaluated in blocks, in float64. A search direction needs less: where few entries are large
only those are kept for the products of conjugate gradients; else the plan itself, if memory allows;
else every product computes it again in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import logsumexp

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Run
from sparrot.ot._newton import EASY, ON_THE_WAY, Dual, DualState, newton
from sparrot.ot._problem import (
    Certificate,
    EntropicRegularizer,
    Method,
    Options,
    Problem,
    Solution,
    compressed,
)

_MOST_ENTRIES = 2_000_000  # of a block
_MAX_STEPS = 500
_PLAN_BYTES = 40  # for each entry of a dense plan, all copies counted
_PLAN_ROWS = 512  # of the finished plan at a time
_NEAR = 0.5  # marginal error from which Newton takes over
_WARM_UP = 30  # damped iterations before it does in any case
_FACTOR = 4.0  # from one eps to the next

_SPARSE = 0.2  # share of large entries below which a block is kept as a sparse one
_ENTRY_BYTES = 48  # of one such entry, all copies counted
_BLOCK_BYTES = 64  # of one entry of a block in work, all copies and threads counted

Rows = Callable[[slice], FloatArray]
Triplet = tuple[IntArray, IntArray, FloatArray]


class Sinkhorn(Method[EntropicRegularizer]):
    """The method for entropic problems."""

    name = "sinkhorn"
    solves = EntropicRegularizer

    def __init__(self, problem: Problem[EntropicRegularizer], options: Options, run: Run) -> None:
        super().__init__(problem, options, run)
        n_bytes = _PLAN_BYTES * problem.n**2
        self._keep = n_bytes <= run.memory()
        if problem.regularizer.drop is None:
            run.require_memory(
                n_bytes,
                what=f"the dense plan of {problem.n} points",
                remedy="take {drop=1e-3}, for a sparse plan that is computed in tiles",
            )
        self._C = problem.cost.dense() if self._keep else None

    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Solve the problem at one eps, from potentials if there are any."""
        problem = self._problem.at(eps, with_floor)
        n = problem.n
        max_steps = self._options.max_iter or _MAX_STEPS
        dual = EntropicDual(self._costs, n, eps, self._keep, self._run)
        u = np.zeros(n) if start is None else start
        if start is None:
            for larger in _way_down(eps):
                dual.eps = larger
                f = _damped(dual, u / larger)[0]
                u = larger * newton(dual, f, ON_THE_WAY, max_steps).u
                if dual.rounding(u / larger, dual.state(u / larger)) > 1:
                    break  # no digits are left, nor will be at smaller eps
        dual.eps = eps
        f, history = _damped(dual, u / eps, max_steps)

        def report(step: int, error: float) -> None:
            self._run.report(self.name, n, len(history) + step, marginal_error=error)

        result = newton(dual, f, 0.999 * tol, max_steps - len(history), report)
        plan, error = self._plan(dual, result.u)
        drop = problem.regularizer.drop
        # The violation bounds eps times what was dropped.
        certificate = Certificate(
            error, 0.0 if drop is None else eps * drop / n, problem.n_pairs, exact=True
        )
        history = [*history, *result.history]
        return Solution(
            problem, eps * result.u, plan, certificate, tuple(history), error <= tol, self.name
        )

    def _plan(self, dual: EntropicDual, f: FloatArray) -> tuple[Any, float]:
        """The plan, dense or without its smallest entries, and its marginal error as a whole.

        Without entries below drop / n no row loses more than `drop`.
        """
        n, drop = dual.n, self._problem.regularizer.drop
        error, blocks = 0.0, []
        for k in range(0, n, _PLAN_ROWS):
            W = dual.block(f, slice(k, min(k + _PLAN_ROWS, n)))
            error = max(error, float(np.abs(W.sum(axis=1) - 1).max()))
            blocks.append(W if drop is None else csr_array(np.where(drop / n <= W, W, 0)))
        plan = np.concatenate(blocks) if drop is None else csr_array(vstack(blocks))
        return (plan + plan.T) / 2, error  # symmetric to the last bit

    def _costs(self, rows: slice) -> FloatArray:
        """Costs of some rows with all points, infinite where a pair is forbidden."""
        cost = self._problem.cost
        C = cost.rows(rows) if self._C is None else self._C[rows].copy()
        own = np.arange(rows.start or 0, min(rows.stop or cost.n, cost.n))
        C[own - own[0], own] = np.inf if self._problem.hollow else cost.diagonal()[own]
        return C


class EntropicDual(Dual[DualState]):
    """The dual of entropic transport in f = u / eps, over rows of costs.

    Parameters
    ----------
    costs : gives the costs of some rows with all points, infinity where a pair is forbidden.
    n : number of points.
    eps : regularization, in the unit of the costs.
    keep : whether the n x n plan may be kept between evaluations.
    run : resources.
    """

    mass = 1.0

    def __init__(self, costs: Rows, n: int, eps: float, keep: bool, run: Run) -> None:
        self.n = n
        self.eps = eps
        self._costs = costs
        self._threads = run.threads
        budget = run.memory()
        self._plan = np.empty((n, n)) if keep else None
        self._size = max(1, int(min(_MOST_ENTRIES, budget / _BLOCK_BYTES)) // n)
        self._share = min(_SPARSE, budget / (_ENTRY_BYTES * n**2))

    def log_sums(self, f: FloatArray) -> FloatArray:
        """For each row `log sum_j exp(f_j - C_ij / eps)`."""
        out = np.empty(self.n)

        def block(start: int, stop: int) -> None:
            rows = slice(start, stop)
            out[rows] = logsumexp(f - self._costs(rows) / self.eps, axis=1)

        self._threads.blocks(block, self.n, self._size)
        return out

    def state(self, f: FloatArray) -> DualState:
        """Evaluate by blocks of rows; overflow makes the value infinite, and the step too long."""
        sums = np.empty(self.n)

        def block(start: int) -> Triplet | None:
            rows = slice(start, min(start + self._size, self.n))
            W = self.block(f, rows)
            sums[rows] = W.sum(axis=1)
            if self._plan is not None:
                self._plan[rows] = W
            return _large_entries(W, float(np.abs(sums[rows] - 1).max()), self._share)

        parts = list(self._threads.map(block, range(0, self.n, self._size)))
        value = float(sums.sum()) / 2 - float(f.sum())
        W = self._product(f, parts)
        return DualState(value, sums - 1, sums, lambda x: sums * x + W(x))

    def block(self, f: FloatArray, rows: slice) -> FloatArray:
        """Some rows of the plan."""
        with np.errstate(over="ignore"):
            return np.exp((f[rows, None] + f) - self._costs(rows) / self.eps)

    def _product(
        self, f: FloatArray, parts: list[Triplet | None]
    ) -> Callable[[FloatArray], FloatArray]:
        """The map `x -> W x`, good enough for a direction: sparse, stored or computed again."""
        sparse = [part for part in parts if part is not None]
        if len(sparse) == len(parts):
            counts, indices, data = (np.concatenate(part) for part in zip(*sparse, strict=True))
            return compressed(counts, indices, data, self.n).__matmul__

        def rows_of_plan(rows: slice) -> np.ndarray:
            if self._plan is not None:
                return self._plan[rows]
            exponent = (f[rows, None] + f) - self._costs(rows) / self.eps
            return np.exp(exponent.astype(np.float32))

        def product(x: FloatArray) -> FloatArray:
            out = np.empty(self.n)

            def block(start: int, stop: int) -> None:
                W = rows_of_plan(slice(start, stop))
                out[start:stop] = W @ x.astype(W.dtype, copy=False)

            self._threads.blocks(block, self.n, self._size)
            return out

        return product

    def c_transform(self, f: FloatArray, rows: IntArray) -> FloatArray:
        """The f_i that gives row i a sum of one (asked for where a row has vanished)."""
        return -self.log_sums(f)[rows]


def _way_down(eps: float) -> list[float]:
    """Larger eps, descending, from an easy one to one close to eps."""
    larger: list[float] = []
    while eps < EASY:
        eps *= _FACTOR
        larger.insert(0, eps)
    return larger


def _damped(
    dual: EntropicDual, f: FloatArray, max_steps: int = _WARM_UP
) -> tuple[FloatArray, list[float]]:
    """The damped symmetric iteration, until Newton can take over."""
    history: list[float] = []
    for _ in range(min(_WARM_UP, max_steps)):
        log_sums = dual.log_sums(f)
        error = float(np.abs(np.expm1(np.clip(f + log_sums, -50, 50))).max())
        if error <= _NEAR:
            break
        history.append(error)
        f = (f - log_sums) / 2
    return f, history


def _large_entries(W: FloatArray, error: float, share: float) -> Triplet | None:
    """The entries that matter for a direction, if they are no more than a share of all.

    What is left out of a row is a thousandth of its error, so that Newton keeps its speed.
    """
    large = W > 1e-3 * min(1.0, error) / W.shape[1]
    if np.count_nonzero(large) > share * W.size:
        return None
    i, j = np.nonzero(large)
    return np.bincount(i, minlength=len(W)), j.astype(np.int32), W[i, j]
