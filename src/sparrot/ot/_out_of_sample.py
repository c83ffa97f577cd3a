r"""Rows of the affinity for points that were not part of the problem.

A new point x gets :math:`p_j = g([v + u_j - c(x, x_j)]_+) / m`, with the one number v such
that :math:`\sum_j p_j = 1`. For a point of the problem, itself left out, v is its own potential and
p its own row of the plan.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot.engine import Threads
from sparrot.ot._ctransform import transform_scores
from sparrot.ot._problem import Power, compressed

_BLOCK_ENTRIES = 4_000_000


def new_rows(
    costs: Callable[[slice], FloatArray],
    twin: IntArray,
    u: FloatArray,
    regularizer: Power,
    threads: Threads,
) -> csr_array:
    """Row-stochastic rows of new points against the points with potentials u.

    `costs(rows)` gives the costs of some new points with all of these; `twin[k]` is the one to
    leave out for new point k, or -1.
    """

    def block(start: int) -> tuple[IntArray, IntArray, FloatArray]:
        rows = slice(start, min(start + size, len(twin)))
        S = u - costs(rows)
        own = np.flatnonzero(twin[rows] >= 0)
        S[own, twin[rows][own]] = -np.inf
        S -= S.max(axis=1, keepdims=True)  # however far the point is, no digit is lost
        S += transform_scores(S, regularizer)[:, None]
        i, j = np.nonzero(S > 0)
        return np.bincount(i, minlength=len(S)), j, regularizer.entry(S[i, j]) / regularizer.mass

    size = max(1, _BLOCK_ENTRIES // len(u))
    parts = list(threads.map(block, range(0, len(twin), size)))
    counts, indices, data = (np.concatenate(part) for part in zip(*parts, strict=True))
    return compressed(counts, indices, data, len(u))


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
