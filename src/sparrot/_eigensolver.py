r"""Leading eigenpairs of a symmetric matrix S with spectrum in [-1, 1]: several solvers, one check.

Up to a thousand rows LAPACK is as fast as anything and never fails. Above that the solver of choice
is subspace iteration with a Chebyshev filter: with :math:`c` the smallest Ritz value of a block X,
:math:`T_m(2 (S + 1) / (c + 1) - 1) X` damps everything in :math:`[-1, c]` and amplifies the rest
like :math:`\exp(m \sqrt{4 (\lambda - c) / (c + 1)})`. A block finds all copies of a multiple
eigenvalue, where a single Krylov sequence can miss one without noticing; and one pass over S serves
all columns of the block. The single largest eigenvalue cannot be missed in this way, so that it is
left to ARPACK, which is faster.

Whatever a solver claims, the residuals :math:`|S v - \lambda v|` decide whether the next one has to
try. Ritz values bound eigenvalues from below, so pairs whose values are smaller than those of an
earlier solver are not the leading ones, however small their residuals.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Run

_DENSE = 1000  # rows up to which LAPACK comes first; half of that for a single pair
_STILL_DENSE = 5000  # rows up to which it is the last resort: 200 MB
_ROUNDS, _DEGREE = 60, 2000  # of the Chebyshev filter, at most
_GROWTH = 1e7  # of the filter over the block: its columns stay independent
_PIECES = 32  # that the rows are cut into, for any number of threads
_RESTARTS = 200  # of ARPACK where it comes second, and five times as many where it comes first
Found = tuple[FloatArray, FloatArray]
Multiply = Callable[[FloatArray, FloatArray, tuple[float, float, float]], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class EigenPairs:
    """Eigenvalues, descending, with orthonormal vectors, residuals, and the solver's name."""

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    solver: str


def leading_eigenpairs(
    S: Any,
    k: int,
    run: Run,
    *,
    tol: float = 1e-8,
    solver: str = "auto",
    seed: int = 0,
    known: FloatArray | None = None,
) -> EigenPairs:
    """The k largest eigenvalues of S and their vectors; the caller looks at the residuals.

    Parameters
    ----------
    S : (n, n) symmetric matrix, a `csr_array` or dense, with eigenvalues in [-1, 1].
    k : number of pairs.
    run : resources; the result does not depend on the threads.
    tol : largest residual `|S v - lambda v|`.
    solver : one of `SOLVERS`; "auto" tries several until the residuals meet `tol`. If k is nearly n
        all pairs are found by the dense one, whatever was asked for.
    seed : of the random start.
    known : (n, m) orthonormal eigenvectors with eigenvalue 1, to be left out.

    Examples
    --------
    >>> ring = (np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)) / 2
    >>> with Run() as run:
    ...     leading_eigenpairs(ring, 2, run).values.round(6)
    ...     leading_eigenpairs(ring, 2, run, known=np.full((6, 1), 6**-0.5)).values.round(6)
    array([1. , 0.5])
    array([0.5, 0.5])
    """
    n = S.shape[0]
    A = S if known is None else _Deflated(S, known)
    best = None
    for name in _ladder(n, k, solver):
        start = _start(n, k, seed, best)
        pairs = _checked(A, *_SOLVERS[name](A, k, tol, start, run), name)
        if best is None or _better(pairs, best, tol):
            best = pairs
        if best.residuals.max() <= tol:
            break
    assert best is not None
    return best


class _Deflated(LinearOperator):  # type: ignore[misc]
    """The operator `S - 2 V V'`: eigenvectors V with eigenvalue 1 get -1, and come last."""

    def __init__(self, S: Any, V: FloatArray) -> None:
        super().__init__(np.dtype(np.float64), S.shape)
        self.matrix, self.known = S, V

    def _matmat(self, X: FloatArray) -> FloatArray:
        return self.matrix @ X - self.known @ (2 * (self.known.T @ X))


def _ladder(n: int, k: int, solver: str) -> tuple[str, ...]:
    """The solvers to try, one after the other."""
    if 5 * _block(n, k) > n:
        return ("dense",)
    if solver != "auto":
        return (solver,)
    if n <= (_DENSE if k > 1 else _DENSE // 2):
        return ("dense",)
    iterative = ("chebyshev", "arpack") if k > 1 else ("arpack", "chebyshev")
    return *iterative, "lobpcg", *(("dense",) if n <= _STILL_DENSE else ())


def _block(n: int, k: int) -> int:
    """How many vectors are iterated for k pairs."""
    return min(n, 2 * k + 4)


def _start(n: int, k: int, seed: int, best: EigenPairs | None) -> FloatArray:
    """A random block, with the best vectors so far as its first columns."""
    X = np.random.default_rng(seed).standard_normal((n, _block(n, k)))
    X /= np.sqrt(n)
    if best is not None:
        X[:, :k] = best.vectors
    return X


def _checked(A: Any, values: FloatArray, vectors: FloatArray, solver: str) -> EigenPairs:
    """Descending order, fixed signs (the entry of largest size is positive), and residuals."""
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    vectors = vectors * np.where(peaks < 0, -1.0, 1.0)
    residuals = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    residuals[np.isnan(residuals)] = np.inf  # what is not a number is no eigenpair
    return EigenPairs(values, vectors, residuals, solver)


def _better(pairs: EigenPairs, best: EigenPairs, tol: float) -> bool:
    """Whether the residuals are smaller and none of the leading pairs is missing."""
    incomplete = (best.values - pairs.values).max() > tol
    return bool(not incomplete and pairs.residuals.max() < best.residuals.max())


def _dense(A: Any, k: int, tol: float, X: FloatArray, run: Run) -> Found:
    """LAPACK, on the matrix in full."""
    n = A.shape[0]
    run.require_memory(24.0 * n**2, what=f"{k} of {n} eigenpairs", remedy="ask for fewer pairs")
    if isinstance(A, LinearOperator):
        A = A @ np.eye(n)
    elif issparse(A):
        A = A.toarray()
    try:
        values, vectors = eigh(A, subset_by_index=[n - k, n - 1])
    except LinAlgError:  # some repeated eigenvalues are too much for a part of the spectrum
        values, vectors = eigh(A, driver="evd")
    return values[-k:], vectors[:, -k:]


def _arpack(A: Any, k: int, tol: float, X: FloatArray, run: Run) -> Found:
    """ARPACK's restarted Lanczos method, from the sum of the columns of X."""
    ncv = min(A.shape[0], max(4 * k, 40))
    most = _RESTARTS if k > 1 else 5 * _RESTARTS
    try:
        return eigsh(A, k, which="LA", v0=X.sum(axis=1), tol=tol / 10, ncv=ncv, maxiter=most)
    except ArpackNoConvergence as error:
        found = error.eigenvectors.shape[1]
        V = np.linalg.qr(np.hstack([error.eigenvectors, X[:, : k - found]]))[0]
    except ArpackError:
        V = np.linalg.qr(X[:, :k])[0]
    values, Q = eigh(V.T @ (A @ V))
    return values, V @ Q


def _lobpcg(A: Any, k: int, tol: float, X: FloatArray, run: Run) -> Found:
    """SciPy's block method, without a preconditioner."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # residuals are checked here
        values, vectors = lobpcg(A, X, largest=True, tol=tol / 2, maxiter=500)
    order = np.argsort(values)[::-1][:k]
    return values[order], vectors[:, order]


def _chebyshev(A: Any, k: int, tol: float, X: FloatArray, run: Run) -> Found:
    """Subspace iteration with a Chebyshev filter, from the block X."""
    order, step = _three_terms(A, run)
    X = np.linalg.qr(X[order])[0]
    for _ in range(_ROUNDS):
        Y = step(X, np.zeros_like(X), (1.0, 0.0, 0.0))
        values, Q = eigh(X.T @ Y)
        values, Q = values[::-1], np.ascontiguousarray(Q[:, ::-1])
        X, Y = X @ Q, Y @ Q
        residual = np.linalg.norm(Y[:, :k] - X[:, :k] * values[:k], axis=0).max()
        if residual <= tol / 2:
            break
        X = np.linalg.qr(_filtered(step, X, Y, values, k, residual / tol))[0]
    vectors = np.empty((len(X), k))
    vectors[order] = X[:, :k]
    return values[:k], vectors


def _filtered(
    step: Multiply, X: FloatArray, Y: FloatArray, values: FloatArray, k: int, needed: float
) -> FloatArray:
    """`T_m(s) X` over `T_m(s at 1)`, with s = (A - center) / half mapping [-1, c] to [-1, 1]."""
    c = min(values[-1], 1 - 1e-12)
    center, half = (c - 1) / 2, (c + 1) / 2
    top, last = (1 - center) / half, max((values[k - 1] - center) / half, 1 + 1e-12)
    enough = np.arccosh(1e3 * needed) / np.arccosh(last)
    degree = int(np.clip(min(np.arccosh(_GROWTH) / np.arccosh(top), enough), 8, _DEGREE))
    ratio = first = 1 / top  # of T_{m-1} to T_m at the top of the spectrum
    X, Y = X.copy(), (Y - center * X) * (first / half)
    for _ in range(degree - 1):
        following = 1 / (2 / first - ratio)
        a = 2 * following / half
        X, Y = Y, step(Y, X, (a, -center * a, -ratio * following))
        ratio = following
    return Y


def _three_terms(A: Any, run: Run) -> tuple[IntArray, Multiply]:
    """An order of the rows, and `(X, Y, (a, b, c)) -> a A X + b X + c Y` in it, written over Y."""
    S, known = (A.matrix, A.known) if isinstance(A, _Deflated) else (A, None)
    n = S.shape[0]
    cuts = np.linspace(0, n, _PIECES + 1).astype(np.int64)
    order, rows = _sparse_rows(S) if issparse(S) else (np.arange(n), _dense_rows(S))
    V = None if known is None else known[order]

    def step(X: FloatArray, Y: FloatArray, abc: tuple[float, float, float]) -> FloatArray:
        for _ in run.threads.map(lambda p: rows(X, Y, abc, cuts[p], cuts[p + 1]), range(_PIECES)):
            pass
        if V is not None:
            Y -= V @ (2 * abc[0] * (V.T @ X))
        return Y

    return order, step


def _sparse_rows(S: csr_array) -> tuple[IntArray, Callable[..., None]]:
    from sparrot._kernels import three_term_rows

    order = reverse_cuthill_mckee(S, symmetric_mode=True)  # neighbors near in memory
    A = csr_array(S[order][:, order])

    def rows(X: FloatArray, Y: FloatArray, abc: Any, first: int, last: int) -> None:
        row = np.empty(X.shape[1])
        three_term_rows(A.indptr, A.indices, A.data, X, Y, abc, first, last, row, Y)

    return order, rows


def _dense_rows(S: FloatArray) -> Callable[..., None]:
    def rows(X: FloatArray, Y: FloatArray, abc: Any, first: int, last: int) -> None:
        a, b, c = abc
        Y[first:last] = a * (S[first:last] @ X) + b * X[first:last] + c * Y[first:last]

    return rows


_SOLVERS = {"dense": _dense, "chebyshev": _chebyshev, "arpack": _arpack, "lobpcg": _lobpcg}
SOLVERS = ("auto", *_SOLVERS)
