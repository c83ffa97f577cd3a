"""Linear systems with a Laplacian, some points of it held at zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import cg

from sparrot.errors import NotConvergedError
from sparrot.types import BoolArray, FloatArray

_BAND_WORK = 2e10  # operations of a banded factorisation that are worth it
_BAND_ENTRIES = 1e8  # numbers that it may hold
_RESIDUAL = 1e-10  # of conjugate gradients, relative
_MAX_ITER = 20_000

Solver = Callable[[FloatArray], FloatArray]


def grounded_solver(L: csr_array, grounded: BoolArray) -> Solver:
    """A function that solves `L x = b` where x is free, with `x = 0` where it is grounded.

    L is a symmetric Laplacian, and each of its components must have a grounded point. A graph that
    is long and thin has a narrow band after reordering, and is factorised; one that is not mixes
    fast, and conjugate gradients need few steps.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.operators import laplacian
    >>> path = laplacian(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1), "combinatorial")
    >>> solve = grounded_solver(path, np.array([True, False, False, True]))
    >>> solve(np.array([0.0, 1.0, 0.0, 0.0])).round(6)
    array([0.      , 0.666667, 0.333333, 0.      ])
    """
    free = np.flatnonzero(~grounded)
    A = csr_array(L[free][:, free])
    order = reverse_cuthill_mckee(A, symmetric_mode=True) if len(free) else free
    A = csr_array(A[order][:, order])
    entries = A.tocoo()
    width = int(abs(entries.row - entries.col).max(initial=0))
    narrow = len(free) * width**2 <= _BAND_WORK and len(free) * width <= _BAND_ENTRIES
    solve = _banded(A, width) if narrow else _iterative(A)
    places = free[order]

    def solve_all(b: FloatArray) -> FloatArray:
        x = np.zeros(b.shape)
        if len(places):
            x[places] = solve(b[places])
        return x

    return solve_all


def _banded(A: csr_array, width: int) -> Solver:
    """By Cholesky factors of the band."""
    entries = A.tocoo()
    lower = entries.row >= entries.col
    i, j = entries.row[lower], entries.col[lower]
    band = np.zeros((width + 1, A.shape[0]))
    band[i - j, j] = entries.data[lower]
    if not A.shape[0]:
        return np.copy
    factor = cholesky_banded(band, overwrite_ab=True, lower=True)
    return lambda b: cho_solve_banded((factor, True), b)


def _iterative(A: csr_array) -> Solver:
    """By conjugate gradients, one column after the other."""
    inverse = diags_array(1 / A.diagonal())

    def solve(b: FloatArray) -> FloatArray:
        x, failed = cg(A, b, rtol=_RESIDUAL, maxiter=_MAX_ITER, M=inverse)
        if failed:
            raise NotConvergedError(
                f"a Laplacian system was not solved in {_MAX_ITER} steps: parts of the graph hang "
                "together by a thread; take more neighbours, or the largest component alone",
                x,
            )
        return x

    return lambda b: solve(b) if b.ndim == 1 else np.stack([solve(c) for c in b.T], axis=1)
