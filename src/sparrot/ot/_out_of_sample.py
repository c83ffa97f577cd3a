r"""Rows of the affinity for points that were not part of the problem.

A new point x gets :math:`p_j = g([v + u_j - c(x, x_j)]_+) / m`, with the one number v such
that :math:`\sum_j p_j = 1`. For a point of the problem, itself left out, v is its own potential and
p its own row of the plan.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, vstack

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot.engine import Run, row_blocks
from sparrot.errors import InvalidInputError
from sparrot.ot._ctransform import transform_scores
from sparrot.ot._floor import transform_rows
from sparrot.ot._problem import EntropicRegularizer, PowerRegularizer, compressed

Costs = Callable[[slice], FloatArray]
Entries = tuple[IntArray, IntArray, FloatArray]  # rows, ascending, columns and values


def new_rows(
    costs: Costs, twin: IntArray, u: FloatArray, regularizer: PowerRegularizer, run: Run
) -> csr_array:
    """Row-stochastic rows of new points against the points with potentials u.

    `costs(rows)` gives the costs of some new points with all of these; `twin[k]` is the one to
    leave out for new point k, or -1.
    """

    def entries(S: FloatArray, rows: slice) -> Entries:
        S += transform_scores(S, regularizer)[:, None]
        i, j = np.nonzero(S > 0)
        return i, j, regularizer.entry(S[i, j]) / regularizer.mass

    return _by_blocks(entries, costs, twin, u, run)


def new_floor_rows(
    costs: Costs,
    twin: IntArray,
    u: FloatArray,
    e: FloatArray,
    eps: float,
    k: FloatArray,
    run: Run,
) -> csr_array:
    """The same with a floor k on the effective neighbors of each new row.

    The nearest points by `u_j - c_j` are tried first, and more where these do not suffice.
    """

    def entries(S: FloatArray, rows: slice) -> Entries:
        m = min(S.shape[1], int(8 * k[rows].max()) + 32)
        while True:
            near = np.sort(np.argpartition(-S, m - 1, axis=1)[:, :m], axis=1)
            T = np.take_along_axis(S, near, axis=1)
            v, f = transform_rows(T, e[near], eps, k[rows], np.zeros(len(T)))
            if m == S.shape[1] or (v[:, None] + S > 0).sum() == (v[:, None] + T > 0).sum():
                break
            m = min(2 * m, S.shape[1])
        W = np.maximum(T + v[:, None], 0) / (eps + (f[:, None] + e[near]) / 2)
        i, j = np.nonzero(W)
        return i, near[i, j], W[i, j]

    return _by_blocks(entries, costs, twin, u, run)


def new_entropic_rows(
    costs: Costs, twin: IntArray, u: FloatArray, regularizer: EntropicRegularizer, run: Run
) -> csr_array | FloatArray:
    """Rows `softmax_j((u_j - c_j) / eps)`, without the entries that the regularizer drops."""
    n, eps, drop = len(u), regularizer.eps, regularizer.drop

    def block(rows: slice) -> csr_array | FloatArray:
        W = np.exp(_scores(costs, twin, u, rows) / eps)
        W /= W.sum(axis=1, keepdims=True)
        return W if drop is None else csr_array(np.where(drop / n <= W, W, 0))

    parts = list(run.threads.map(block, row_blocks(len(twin), n)))
    return np.concatenate(parts) if drop is None else csr_array(vstack(parts))


def _by_blocks(
    entries: Callable[[FloatArray, slice], Entries],
    costs: Costs,
    twin: IntArray,
    u: FloatArray,
    run: Run,
) -> csr_array:
    """The matrix of the entries that are found from the scores of some rows at a time."""

    def block(rows: slice) -> Entries:
        i, j, w = entries(_scores(costs, twin, u, rows), rows)
        return np.bincount(i, minlength=rows.stop - rows.start), j, w

    parts = list(run.threads.map(block, row_blocks(len(twin), len(u))))
    counts, indices, data = (np.concatenate(part) for part in zip(*parts, strict=True))
    return compressed(counts, indices, data, len(u))


def _scores(costs: Costs, twin: IntArray, u: FloatArray, rows: slice) -> FloatArray:
    """The scores `u_j - c_ij` less the largest of their row, which must be finite numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        S = u - costs(rows)
    bad = np.flatnonzero(~np.isfinite(S).all(axis=1))
    if len(bad):
        raise InvalidInputError(
            f"has a row ({rows.start + bad[0]}) whose costs are infinite or not numbers",
            parameter="X",
            remedy="drop rows that are so far from the training points",
        )
    own = np.flatnonzero(twin[rows] >= 0)
    S[own, twin[rows][own]] = -np.inf
    S -= S.max(axis=1, keepdims=True)
    return S


def twins(X: PointArray, Y: PointArray) -> IntArray:
    """For each row of X the first row of Y that equals it, or -1."""
    first: dict[int, int] = {}
    for k in range(len(Y) - 1, -1, -1):
        first[_fingerprint(Y[k])] = k
    found = np.array([first.get(_fingerprint(x), -1) for x in X], dtype=np.int64)
    candidates = np.flatnonzero(found >= 0)
    differ = ~(X[candidates] == Y[found[candidates]]).all(axis=1)
    found[candidates[differ]] = -1
    return found


def _fingerprint(row: PointArray) -> int:
    return hash((row.astype(np.float64) + 0.0).tobytes())  # + 0.0: minus zero equals zero
