"""Functions on the points: smoothed by the random walk, or filled in where they are not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import cg

from sparrot._types import BoolArray, FloatArray, IntArray
from sparrot._validation import as_affinity, as_count, as_functions, as_tolerance
from sparrot.affinity import ways_to_connect
from sparrot.errors import InvalidInputError, NotConvergedError
from sparrot.spectral._operators import as_laziness, degrees, scaled

_BAND_WORK = 2e10  # most operations of a banded factorization
_BAND_ENTRIES = 1e8  # most numbers that it may hold
_RESIDUAL = 1e-10  # of conjugate gradients, relative
_MAX_ITER = 20_000

Solver = Callable[[FloatArray], FloatArray]


def smooth(W: Any, F: Any, t: int = 1, *, lazy: float = 0.0) -> FloatArray:
    """Functions averaged over the neighbors t times: `P^t F`, as MAGIC imputes counts.

    P is `random_walk(W, lazy=lazy)`; no power of it is formed, so the cost is t products. W need
    not be symmetric. If W is hollow, the first average leaves out a point's own value; `lazy` keeps
    a share of it.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a nonnegative matrix, sparse or dense.
    F : (n,) or (n, m) functions: genes are columns.
    t : number of steps.
    lazy : share of its own value that a point keeps in each step.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> smooth(ring, [4.0, 0.0, 0.0, 0.0, 0.0, 0.0], 2)
    array([2., 0., 1., 0., 1., 0.])
    """
    W = as_affinity(W, symmetric=False)
    F = as_functions(F, W.shape[0])
    lazy = as_laziness(lazy)
    P = scaled(W, 1 / degrees(W), np.ones(len(F)))
    for _ in range(as_count(t, "t", 10**6)):
        F = lazy * F + (1 - lazy) * (P @ F)
    return F


def harmonic_extension(W: Any, known: Any, values: Any, *, tol: float = 1e-8) -> FloatArray:
    r"""The harmonic functions with given values at some points.

    With L the combinatorial Laplacian, f minimizes :math:`\sum_{ij} W_{ij} (f_i - f_j)^2` with its
    known values fixed: :math:`L_{uu} f_u = W_{uk} f_k`, so that each unknown value is the mean of
    its neighbors' and none leaves the range of the known ones. Solved by conjugate gradients.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    known : (m,) indices of the points where the functions are known, or a mask of n flags.
    values : (m,) or (m, c) their values there.
    tol : residual of the system relative to its right-hand side.

    Returns
    -------
    (n,) or (n, c) functions; the known values are kept as they are.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.eye(5, k=1) + np.eye(5, k=-1)
    >>> harmonic_extension(path, [0, 4], [0.0, 1.0]).round(6)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    W = csr_array(as_affinity(W))
    tol = as_tolerance(tol, "residual")
    index = _as_index(known, W.shape[0])
    F_k = as_functions(values, len(index), "values")
    unknown = np.ones(W.shape[0], dtype=bool)
    unknown[index] = False
    _require_reach(W, unknown)
    F = np.empty((W.shape[0], *F_k.shape[1:]))
    F[index] = F_k
    if unknown.any():
        F[unknown] = _harmonic(W, unknown, index, F_k, tol)
    return F


def _as_index(known: Any, n: int) -> IntArray:
    index = np.asarray(known)
    if index.dtype == bool and index.shape == (n,):
        index = np.flatnonzero(index)
    whole = index.ndim == 1 and len(index) > 0 and np.issubdtype(index.dtype, np.integer)
    if not whole or index.min() < 0 or index.max() >= n or len(set(index.tolist())) < len(index):
        raise InvalidInputError(
            f"must be different indices from 0 to {n - 1}, or a mask of {n} flags, got {known!r}",
            parameter="known",
            value=known,
        )
    return index


def _require_reach(W: csr_array, unknown: BoolArray) -> None:
    """Every component must have a point where the function is known."""
    labels = connected_components(W, directed=False)[1]
    lost = ~np.isin(labels, labels[~unknown])
    if lost.any():
        raise InvalidInputError(
            f"point {np.flatnonzero(lost)[0]} is not connected to any point where the function is "
            f"known ({lost.sum()} of {len(lost)} points are not)",
            remedy=ways_to_connect(),
        )


def _harmonic(
    W: csr_array, unknown: BoolArray, index: IntArray, F_k: FloatArray, tol: float
) -> FloatArray:
    """Solve for the unknown part in the variables `D^(1/2) f`, where the diagonal is 1 - S_ii."""
    root = np.sqrt(degrees(W)[unknown])
    S = scaled(csr_array(W[unknown][:, unknown]), 1 / root, 1 / root)
    right = (W[unknown][:, index] @ F_k.reshape(len(index), -1)) / root[:, None]
    found = np.empty_like(right)
    system = csr_array(-S)
    system.setdiag(1 - S.diagonal())
    for c in range(right.shape[1]):
        found[:, c], failed = cg(system, right[:, c], rtol=tol, maxiter=20 * len(root) + 1000)
        if failed:
            raise NotConvergedError(
                "the harmonic function did not converge",
                found / root[:, None],
                remedy="take a larger {tol}",
            )
    return (found / root[:, None]).reshape(len(root), *F_k.shape[1:])


def grounded_solver(L: csr_array, grounded: BoolArray) -> Solver:
    """A function that solves `L x = b` where x is free, with `x = 0` where it is grounded.

    L is a symmetric Laplacian, and each of its components must have a grounded point. A graph that
    is long and thin has a narrow band after reordering, and is factorized; a random walk on any
    other mixes fast, and conjugate gradients need few steps.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.spectral import laplacian
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
                f"a Laplacian system was not solved in {_MAX_ITER} steps: parts of the graph are "
                "connected by next to nothing",
                x,
                remedy=["take more neighbors", "keep the largest component alone"],
            )
        return x

    return lambda b: solve(b) if b.ndim == 1 else np.stack([solve(c) for c in b.T], axis=1)
