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

import numpy as np
from scipy.special import logsumexp

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Threads
from sparrot.ot._dual import DualState
from sparrot.ot._newton import newton
from sparrot.ot._pairs import compressed

_BLOCK_ENTRIES = 2_000_000
_NEAR = 0.5  # marginal error from which Newton takes over
_WARM_UP = 30  # damped iterations before it does in any case
_COARSE = 1e-2  # marginal error for larger eps on the way down
_EASY = 0.1  # relative eps that needs no way down
_FACTOR = 4.0  # from one eps to the next

_SPARSE = 0.2  # share of large entries below which a block is kept as a sparse one
_ENTRY_BYTES = 48  # of one such entry, all copies counted
_BLOCK_BYTES = 64  # of one entry of a block in work, all copies and threads counted

Rows = Callable[[slice], FloatArray]
Triplet = tuple[IntArray, IntArray, FloatArray]


class EntropicDual:
    """The dual of entropic transport in f = u / eps, over rows of costs.

    Parameters
    ----------
    costs : gives the costs of some rows with all points, infinity where a pair is forbidden.
    n : number of points.
    eps : regularization, in the unit of the costs.
    keep : whether the n x n plan may be kept between evaluations.
    budget : bytes that large entries may take, where it may not.
    threads : where to run.
    """

    mass = 1.0

    def __init__(
        self, costs: Rows, n: int, eps: float, keep: bool, budget: float, threads: Threads
    ) -> None:
        self.n = n
        self.eps = eps
        self._costs = costs
        self._threads = threads
        self._plan = np.empty((n, n)) if keep else None
        self._size = max(1, int(min(_BLOCK_ENTRIES, budget / _BLOCK_BYTES)) // n)
        self._share = min(_SPARSE, budget / (_ENTRY_BYTES * n**2))

    def log_sums(self, f: FloatArray) -> FloatArray:
        """For each row `log sum_j exp(f_j - C_ij / eps)`."""
        out = np.empty(self.n)

        def block(start: int, stop: int) -> None:
            rows = slice(start, stop)
            out[rows] = logsumexp(f - self._costs(rows) / self.eps, axis=1)

        self._threads.run(block, self.n, self._size)
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
        return DualState(value, sums - 1, sums, self._product(f, parts))

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

            self._threads.run(block, self.n, self._size)
            return out

        return product

    def levels(self, f: FloatArray, rows: IntArray) -> FloatArray:
        """The f_i that gives row i a sum of one (asked for where a row has vanished)."""
        return -self.log_sums(f)[rows]


def sinkhorn(
    costs: Rows,
    n: int,
    eps: float,
    start: FloatArray | None,
    keep: bool,
    budget: float,
    tol: float,
    max_iter: int,
    threads: Threads,
    report: Callable[[int, float], None],
) -> tuple[FloatArray, tuple[float, ...], EntropicDual]:
    """Solve the entropic problem; returns u, the errors on the way, and the dual at the end."""
    dual = EntropicDual(costs, n, eps, keep, budget, threads)
    u = np.zeros(n) if start is None else start
    if start is None:
        for larger in _way_down(eps):
            dual.eps = larger
            u = larger * newton(dual, _damped(dual, u / larger)[0], _COARSE, max_iter).u
    dual.eps = eps
    f, history = _damped(dual, u / eps)
    result = newton(dual, f, tol, max_iter, lambda step, error: report(len(history) + step, error))
    return eps * result.u, (*history, *result.history), dual


def _way_down(eps: float) -> list[float]:
    """Larger eps, descending, from an easy one to one close to eps."""
    larger: list[float] = []
    while eps < _EASY:
        eps *= _FACTOR
        larger.insert(0, eps)
    return larger


def _damped(dual: EntropicDual, f: FloatArray) -> tuple[FloatArray, list[float]]:
    """The damped symmetric iteration, until Newton can take over."""
    history: list[float] = []
    for _ in range(_WARM_UP):
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
