"""Costs below a level: what kernels of compact support need, and all they need."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sparrot.cost import MatrixCost, PointCost
from sparrot.engine import Threads
from sparrot.support import screen

_SMALL = 1500  # points whose dense costs are cheaper than a search


def costs_below(cost: PointCost | MatrixCost, level: float, hollow: bool = False) -> csr_array:
    """The costs below a level as a sparse symmetric matrix, with or without the diagonal."""
    own = np.flatnonzero((cost.diagonal() < level) & (not hollow))
    if cost.n <= _SMALL:
        C = cost.dense()
        i, j = np.nonzero(np.triu(level > C, 1))
        found = C[i, j]
    else:
        with Threads() as threads:
            pairs = screen(cost, np.full(cost.n, level / 2), threads)
        i, j, found = pairs.i, pairs.j, pairs.cost
    rows, columns = np.concatenate([i, j, own]), np.concatenate([j, i, own])
    data = np.concatenate([found, found, cost.diagonal()[own]])
    return csr_array((data, (rows, columns)), shape=(cost.n, cost.n))
