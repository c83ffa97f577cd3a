r"""Leading eigenpairs of a symmetric matrix S with spectrum in [-1, 1]: a ladder of solvers.

Up to a thousand rows LAPACK is as fast as anything, and never fails. Above that the first rung
is subspace iteration with a Chebyshev filter: with :math:`c` the smallest Ritz value of a block X,
:math:`T_m(2 (S + 1) / (c + 1) - 1) X` damps everything in :math:`[-1, c]` and amplifies the rest
like :math:`\exp(m \sqrt{4 (\lambda - c) / (c + 1)})`. A block does not mind eigenvalues that come
in pairs, where a single Krylov sequence can miss one of the two and not know; and one pass over S
serves all of its vectors. ARPACK and LOBPCG come next. Whatever a solver claims, its residuals
:math:`|S v - \lambda v|` decide; and since Ritz values bound eigenvalues from below, pairs that are
smaller than those of an earlier solver are not the leading ones. The best pairs are never lost.
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
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh, lobpcg

from sparrot.engine import Threads, require_memory
from sparrot.types import FloatArray, IntArray

_DENSE = 1000  # rows up to which LAPACK comes first
_STILL_DENSE = 5000  # rows up to which it is the last resort: 200 MB
_GROWTH = 1e7  # of the filter over the block: its columns stay independent
_ROUNDS, _DEGREE, _PIECES = 60, 2000, 32
Found = tuple[FloatArray, FloatArray]
Multiply = Callable[[FloatArray, FloatArray, tuple[float, float, float]], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Eigenvalues, descending, orthonormal vectors, residuals, and who found them."""

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    solver: str


def solve_pairs(S: Any, k: int, tol: float, solver: str, seed: int, n_jobs: int | None) -> Pairs:
    """The k leading eigenpairs of S by one solver, or by the ladder if `solver` is "auto"."""
    rungs = _rungs(S.shape[0], k, solver)
    best = None
    with Threads(n_jobs) as threads:
        for name in rungs:
            start = _start(S.shape[0], k, seed, best)
            pairs = _checked(S, *_SOLVERS[name](S, k, tol, start, threads), name)
            if best is None or _better(pairs, best, tol):
                best = pairs
            if best.residuals.max() <= tol:
                break
    assert best is not None
    return best


def _chebyshev(S: Any, k: int, tol: float, X: FloatArray, threads: Threads) -> Found:
    """Subspace iteration with a Chebyshev filter, from the block X."""
    order, step = _three_terms(S, threads)
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
    """`T_m(s) X` over `T_m(s at 1)`, with s = (S - centre) / half mapping [-1, c] to [-1, 1]."""
    c = min(values[-1], 1 - 1e-12)
    centre, half = (c - 1) / 2, (c + 1) / 2
    top, last = (1 - centre) / half, max((values[k - 1] - centre) / half, 1 + 1e-12)
    enough = np.arccosh(1e3 * needed) / np.arccosh(last)
    degree = int(np.clip(min(np.arccosh(_GROWTH) / np.arccosh(top), enough), 8, _DEGREE))
    ratio = first = 1 / top  # of T_{m-1} to T_m at the top of the spectrum
    X, Y = X.copy(), (Y - centre * X) * (first / half)
    for _ in range(degree - 1):
        following = 1 / (2 / first - ratio)
        a = 2 * following / half
        X, Y = Y, step(Y, X, (a, -centre * a, -ratio * following))
        ratio = following
    return Y


def _three_terms(S: Any, threads: Threads) -> tuple[IntArray, Multiply]:
    """An order of the rows, and `(X, Y, (a, b, c)) -> a S X + b X + c Y` in it, written over Y."""
    n = S.shape[0]
    cuts = np.linspace(0, n, _PIECES + 1).astype(np.int64)
    order, rows = _sparse_rows(S) if issparse(S) else (np.arange(n), _dense_rows(S))

    def step(X: FloatArray, Y: FloatArray, abc: tuple[float, float, float]) -> FloatArray:
        for _ in threads.map(lambda p: rows(X, Y, abc, cuts[p], cuts[p + 1]), range(_PIECES)):
            pass
        return Y

    return order, step


def _sparse_rows(S: csr_array) -> tuple[IntArray, Callable[..., None]]:
    from sparrot import kernels

    order = reverse_cuthill_mckee(S, symmetric_mode=True)  # neighbours near in memory
    A = csr_array(S[order][:, order])

    def rows(X: FloatArray, Y: FloatArray, abc: Any, first: int, last: int) -> None:
        kernels.three_term_rows(A.indptr, A.indices, A.data, X, Y, abc, first, last, Y)

    return order, rows


def _dense_rows(S: FloatArray) -> Callable[..., None]:
    def rows(X: FloatArray, Y: FloatArray, abc: Any, first: int, last: int) -> None:
        a, b, c = abc
        Y[first:last] = a * (S[first:last] @ X) + b * X[first:last] + c * Y[first:last]

    return rows


def _dense(S: Any, k: int, tol: float, X: FloatArray, threads: Threads) -> Found:
    n = S.shape[0]
    require_memory(24.0 * n**2, what=f"{k} of {n} eigenpairs", remedy="ask for fewer pairs")
    A = S.toarray() if issparse(S) else S
    try:
        values, vectors = eigh(A, subset_by_index=[n - k, n - 1])
    except LinAlgError:  # some repeated eigenvalues are too much for a part of the spectrum
        values, vectors = eigh(A, driver="evd")
    return values[-k:], vectors[:, -k:]


def _arpack(S: Any, k: int, tol: float, X: FloatArray, threads: Threads) -> Found:
    n = S.shape[0]
    ncv = min(n, max(4 * k, 40))
    try:
        return eigsh(S, k, which="LA", v0=X.sum(axis=1), tol=tol / 10, ncv=ncv, maxiter=200)
    except ArpackNoConvergence as error:
        found = error.eigenvectors.shape[1]
        V = np.linalg.qr(np.hstack([error.eigenvectors, X[:, : k - found]]))[0]
        return _rayleigh_ritz(S, V)
    except ArpackError:
        return _rayleigh_ritz(S, np.linalg.qr(X[:, :k])[0])


def _lobpcg(S: Any, k: int, tol: float, X: FloatArray, threads: Threads) -> Found:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # residuals are checked here
        values, vectors = lobpcg(S, X, largest=True, tol=tol / 2, maxiter=500)
    order = np.argsort(values)[::-1][:k]
    return values[order], vectors[:, order]


def _better(pairs: Pairs, best: Pairs, tol: float) -> bool:
    """Whether the residuals are smaller and none of the leading pairs is missing."""
    complete = (best.values - pairs.values).max() <= tol
    return bool(complete and pairs.residuals.max() < best.residuals.max())


_SOLVERS = {"dense": _dense, "chebyshev": _chebyshev, "arpack": _arpack, "lobpcg": _lobpcg}
SOLVERS = ("auto", *_SOLVERS)


def _rungs(n: int, k: int, solver: str) -> tuple[str, ...]:
    if 5 * _block(n, k) > n:
        return ("dense",)
    if solver != "auto":
        return (solver,)
    if n <= _DENSE:
        return ("dense",)
    return "chebyshev", "arpack", "lobpcg", *(("dense",) if n <= _STILL_DENSE else ())


def _block(n: int, k: int) -> int:
    return min(n, 2 * k + 4)


def _start(n: int, k: int, seed: int, best: Pairs | None) -> FloatArray:
    """A random block, with what is known already in its first columns."""
    X = np.random.default_rng(seed).standard_normal((n, _block(n, k)))
    X /= np.sqrt(n)
    if best is not None:
        X[:, :k] = best.vectors
    return X


def _rayleigh_ritz(S: Any, V: FloatArray) -> Found:
    values, Q = eigh(V.T @ (S @ V))
    return values, V @ Q


def _checked(S: Any, values: FloatArray, vectors: FloatArray, solver: str) -> Pairs:
    """Descending order, fixed signs (the entry of largest size is positive), and residuals."""
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    vectors = vectors * np.where(peaks < 0, -1.0, 1.0)
    residuals = np.linalg.norm(S @ vectors - vectors * values, axis=0)
    return Pairs(values, vectors, residuals, solver)
