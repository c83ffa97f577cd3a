r"""Rows of the affinity for points that were not part of the problem.

A new point x gets :math:`p_j = [v + u_j - c(x, x_j)]_+ / \varepsilon`, with the one number v such
that :math:`\sum_j p_j = 1`. For a point of the problem, itself left out, v is its own potential and
p its own row of the plan.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from sparrot.engine import Threads
from sparrot.support import simplex_levels
from sparrot.types import FloatArray, IntArray, PointArray

_BLOCK_ENTRIES = 4_000_000


def new_rows(
    costs: Callable[[slice], FloatArray],
    twin: IntArray,
    u: FloatArray,
    eps: float,
    threads: Threads,
) -> csr_array:
    """Row-stochastic rows of new points against the points with potentials u.

    `costs(rows)` gives the costs of some new points with all of these; `twin[k]` is the one to
    leave out for new point k, or -1.
    """

    def block(start: int) -> csr_array:
        rows = slice(start, min(start + size, len(twin)))
        S = u - costs(rows)
        own = np.flatnonzero(twin[rows] >= 0)
        S[own, twin[rows][own]] = -np.inf
        P = S + simplex_levels(S, eps)[:, None]
        i, j = np.nonzero(P > 0)
        return _csr(i, j.astype(np.int32), P[i, j] / eps, P.shape)

    size = max(1, _BLOCK_ENTRIES // len(u))
    parts = list(threads.map(block, range(0, len(twin), size)))
    indptr = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)]).cumsum()
    dtype = np.int32 if indptr[-1] < 2**31 else np.int64
    indices = np.concatenate([part.indices for part in parts]).astype(dtype, copy=False)
    data = np.concatenate([part.data for part in parts])
    return csr_array((data, indices, indptr.astype(dtype)), shape=(len(twin), len(u)))


def _csr(i: IntArray, j: IntArray, data: FloatArray, shape: tuple[int, ...]) -> csr_array:
    indptr = np.zeros(shape[0] + 1, np.int32)
    np.cumsum(np.bincount(i, minlength=shape[0]), out=indptr[1:])
    return csr_array((data, j, indptr), shape=shape)


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
