"""The second eigenvalue of a connected graph, by its known first eigenvector."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from sparrot._types import FloatArray
from sparrot.errors import NotConvergedError

_DENSE = 500  # points up to which LAPACK comes first
_STILL_DENSE = 5000  # and up to which it is the last resort: 200 MB
_KRYLOV = 40  # vectors that ARPACK keeps


def second_eigenvalue(W: csr_array) -> float:
    r"""The second largest eigenvalue of :math:`S = D^{-1/2} W D^{-1/2}` for a connected W.

    The first is 1, with :math:`v \propto D^{1/2} 1`; it is the only one that
    :math:`S - 2 v v^\top` moves, to -1, so that the second comes first and cannot be missed.

    Examples
    --------
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> round(second_eigenvalue(csr_array(ring)), 6)
    0.5
    """
    degree = W.sum(axis=1)
    scale = diags_array(1 / np.sqrt(degree))
    S = csr_array(scale @ W @ scale)
    n = S.shape[0]
    if n <= _DENSE:
        return _dense(S)
    v = np.sqrt(degree / degree.sum())
    start = np.random.default_rng(0).standard_normal(n)
    deflated = LinearOperator(
        (n, n), matvec=lambda x: S @ x.ravel() - 2 * (v @ x.ravel()) * v, dtype=np.float64
    )
    try:
        return float(_leading(deflated, start)[0])
    except ArpackNoConvergence as error:
        if n <= _STILL_DENSE:
            return _dense(S)
        raise NotConvergedError(
            "the second eigenvalue was not found: others are too near; sparrot.eigenpairs(W, 2) "
            "tries other solvers",
            error.eigenvalues,
        ) from error


def _leading(A: LinearOperator, start: FloatArray) -> FloatArray:
    values: FloatArray = eigsh(
        A, 1, which="LA", v0=start, return_eigenvectors=False, tol=1e-8, ncv=_KRYLOV
    )
    return values


def _dense(S: csr_array) -> float:
    n = S.shape[0]
    return float(eigh(S.toarray(), eigvals_only=True, subset_by_index=[n - 2, n - 2])[0])
