r"""Leading eigenpairs of a symmetric matrix S with spectrum in [-1, 1]: several solvers, one check.

Up to a thousand rows LAPACK is as fast as anything and never fails. Above that the solver of choice
is the Lanczos method with blocks of four columns: one pass over S serves all of them, and no more
than four copies of an eigenvalue are seen. Where that many are found, there may be others, and a
larger block has to look for them: that of subspace iteration with a Chebyshev filter. With
:math:`c` the smallest Ritz value of a block X, :math:`T_m(2 (S + 1) / (c + 1) - 1) X` damps
everything in :math:`[-1, c]` and amplifies the rest like
:math:`\exp(m \sqrt{4 (\lambda - c) / (c + 1)})`. The single largest eigenvalue is found by a single
Krylov sequence, whatever its copies, so that it is left to ARPACK, which is faster.

Whatever a solver claims, the residuals :math:`|S v - \lambda v|` decide whether the next one has to
try. Ritz values bound eigenvalues from below, so pairs whose values are smaller than those of an
earlier solver are not the leading ones, however small their residuals.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, inv
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Run

_DENSE = 1000  # rows up to which LAPACK comes first; half of that for a single pair
_STILL_DENSE = 5000  # rows up to which it is the last resort: 200 MB
_ROUNDS, _DEGREE = 60, 2000  # of the Chebyshev filter, at most
_GROWTH = 1e7  # of the filter over the block: its columns stay independent
_WIDTH = 4  # columns of a block of the Lanczos method; other blocks have multiples of it
_LOST = 1e-2  # share of a column's square that may be left of it before it is subtracted from again
_ROUNDING = 1e-24  # a square that is nothing else
_ROWS, _PIECES = 4096, 8  # in a block, and pieces of blocks at most, for any number of threads
_RESTARTS = 500  # of a Krylov space, at most
Found = tuple[FloatArray, FloatArray]
Rows = Callable[[FloatArray, FloatArray, tuple[float, float, float], int, int], None]
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
    if 5 * _block(k) > n:
        return ("dense",)
    if solver != "auto":
        return (solver,)
    if n <= (_DENSE if k > 1 else _DENSE // 2):
        return ("dense",)
    iterative = ("lanczos", "chebyshev", "arpack") if k > 1 else ("arpack", "lanczos", "chebyshev")
    return *iterative, "lobpcg", *(("dense",) if n <= _STILL_DENSE else ())


def _block(k: int) -> int:
    """How many vectors are iterated for k pairs."""
    return -(-(2 * k + 4) // _WIDTH) * _WIDTH


def _start(n: int, k: int, seed: int, best: EigenPairs | None) -> FloatArray:
    """A random block, with the best vectors so far as its first columns."""
    X = _random(n, _block(k), seed)
    if best is not None:
        X[:, :k] = best.vectors
    return X


def _random(n: int, columns: int, seed: int) -> FloatArray:
    """Random columns of norm one, more or less."""
    return np.random.default_rng(seed).standard_normal((n, columns)) / np.sqrt(n)


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
    v0 = X.sum(axis=1)
    try:
        return eigsh(A, k, which="LA", v0=v0, tol=tol / 10, ncv=ncv, maxiter=_RESTARTS)
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


def _lanczos(A: Any, k: int, tol: float, X: FloatArray, run: Run) -> Found:
    """Block Lanczos method with thick restarts, from the first columns of X."""
    kept = max(2 * k, 12) + _WIDTH
    space = _KrylovSpace(A, X[:, :_WIDTH], kept + max(6 * _WIDTH, k), run)
    values, Q, residuals = space.grown().ritz()
    for _ in range(_RESTARTS):
        if residuals[:k].max() <= tol / 2:
            break
        space.restart(values[:kept], Q[:, :kept])
        values, Q, residuals = space.grown().ritz()
    if _may_lack_copies(values[:k], tol):
        return _chebyshev(A, k, tol, X, run)
    return values[:k], np.linalg.qr(space.combined(Q[:, :k]))[0]


def _may_lack_copies(values: FloatArray, tol: float) -> bool:
    """Whether a value occurs as often as a block has columns: more copies would not be found.

    Copies of the smallest do not matter.
    """
    above = values[values > values[-1] + 10 * tol]
    first, last = above[: max(len(above) - _WIDTH + 1, 0)], above[_WIDTH - 1 :]
    return bool((first - last <= 10 * tol).any())


class _KrylovSpace:
    """An orthonormal basis V of the span of X, A X, A^2 X, ..., and `T = V' A V`.

    `A V = V T + X R E'`, where X is the block that comes next and E' takes the last rows of a
    matrix. A restart keeps the leading Ritz vectors, for which this holds again with another T.
    Known eigenvectors are columns that everything is orthogonal to. Sums over rows are made piece
    by piece, in the same order for any number of threads.
    """

    def __init__(self, A: Any, X: FloatArray, most: int, run: Run) -> None:
        self._order, self._rows, known = _ordered(A)
        (n, b), c = X.shape, known.shape[1]
        most = min(most, n - c - b)  # there is always room for the next block
        self._threads, self._pieces, self._known, self._size = run.threads, _pieces(n), c, c
        self._V, self._T = np.empty((n, c + most)), np.zeros((c + most, c + most))
        self._V[:, :c] = known
        self._X, self._W, self._R = X[self._order], np.zeros((n, b)), np.zeros((b, b))
        self._orthonormalize(self._X)

    def grown(self) -> Self:
        """This space, with as many blocks as there is room for."""
        while self._size + self._X.shape[1] <= self._V.shape[1]:
            self._append()
        return self

    def _append(self) -> None:
        """Make X a part of the basis; what is new in A X comes next."""
        j, X, W = self._size, self._X, self._W
        m = self._size = j + X.shape[1]
        V = self._V[:, :m]

        def product(rows: slice) -> FloatArray:
            V[rows, j:] = X[rows]
            self._rows(X, W, (1.0, 0.0, 0.0), rows.start, rows.stop)
            return V[rows].T @ W[rows]

        def rest(rows: slice) -> FloatArray:
            W[rows] -= V[rows] @ H
            return W[rows].T @ W[rows]

        H = found = self._sum(product)
        G = self._sum(rest)
        if (np.diag(G) < _LOST * np.square(H).sum(axis=0)).any():  # and digits with it
            H = self._sum(lambda rows: V[rows].T @ W[rows])
            G, found = self._sum(rest), found + H
        self._T[:m, j:m], self._T[j:m, :m] = found, found.T
        squares = np.linalg.eigvalsh(G)
        if squares[0] > max(_LOST**4 * squares[-1], _ROUNDING):
            self._R = cholesky(G)
            self._scale(inv(self._R))
        else:  # A X has fewer dimensions that are new: random ones take their place
            size = np.maximum(np.linalg.norm(W, axis=0), _ROUNDING)
            self._orthonormalize(W / size + 1e-8 * _random(*W.shape, m))
            self._R = self._X.T @ W

    def _sum(self, function: Callable[[slice], FloatArray]) -> FloatArray:
        def of_piece(blocks: list[slice]) -> FloatArray:
            return sum(map(function, blocks))  # type: ignore[return-value]

        return sum(self._threads.map(of_piece, self._pieces))  # type: ignore[return-value]

    def _scale(self, inverse: FloatArray) -> None:
        """Let `W R^(-1)` be X."""

        def scaled(blocks: list[slice]) -> None:
            rows = slice(blocks[0].start, blocks[-1].stop)
            np.matmul(self._W[rows], inverse, out=self._X[rows])

        list(self._threads.map(scaled, self._pieces))

    def _orthonormalize(self, X: FloatArray) -> None:
        """Let X be a basis of the span of this one, without what V has of it."""
        V = self._V[:, : self._size]
        for _ in range(2):
            X = np.linalg.qr(X - V @ (V.T @ X))[0]
        self._X = X

    def ritz(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values, descending, coefficients of their vectors, and residuals."""
        new = slice(self._known, self._size)
        values, Q = np.linalg.eigh(self._T[new, new])
        values, Q = values[::-1], np.ascontiguousarray(Q[:, ::-1])
        return values, Q, np.linalg.norm(self._R @ Q[-len(self._R) :], axis=0)

    def restart(self, values: FloatArray, Q: FloatArray) -> None:
        """Keep only these Ritz vectors as a basis."""
        old, new = slice(self._known, self._size), slice(self._known, self._known + len(values))

        def turned(blocks: list[slice]) -> None:
            for rows in blocks:
                self._V[rows, new] = self._V[rows, old] @ Q

        list(self._threads.map(turned, self._pieces))
        self._T[new, new], self._size = np.diag(values), new.stop

    def combined(self, Q: FloatArray) -> FloatArray:
        """The vectors with these coefficients, in the order of the rows of A."""
        vectors = np.empty((len(self._V), Q.shape[1]))
        vectors[self._order] = self._V[:, self._known : self._size] @ Q
        return vectors


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
    order, rows, V = _ordered(A)
    pieces = _pieces(len(order))

    def step(X: FloatArray, Y: FloatArray, abc: tuple[float, float, float]) -> FloatArray:
        list(
            run.threads.map(
                lambda blocks: rows(X, Y, abc, blocks[0].start, blocks[-1].stop), pieces
            )
        )
        Y -= V @ (2 * abc[0] * (V.T @ X))
        return Y

    return order, step


def _pieces(n: int) -> list[list[slice]]:
    """The rows in blocks that BLAS is fast on, and these in pieces for any number of threads."""
    blocks = [slice(first, min(first + _ROWS, n)) for first in range(0, n, _ROWS)]
    each = -(-len(blocks) // _PIECES)
    return [blocks[first : first + each] for first in range(0, len(blocks), each)]


def _ordered(A: Any) -> tuple[IntArray, Rows, FloatArray]:
    """An order of the rows, how to multiply some of them, and known vectors to leave out, in it."""
    S, known = (A.matrix, A.known) if isinstance(A, _Deflated) else (A, np.zeros((A.shape[0], 0)))
    order, rows = _sparse_rows(S) if issparse(S) else (np.arange(A.shape[0]), _dense_rows(S))
    return order, rows, known[order]


def _sparse_rows(S: csr_array) -> tuple[IntArray, Rows]:
    from sparrot._kernels import three_term_rows

    order = reverse_cuthill_mckee(S, symmetric_mode=True)  # neighbors near in memory
    A = csr_array(S[order][:, order])

    def rows(X: FloatArray, Y: FloatArray, abc: Any, first: int, last: int) -> None:
        three_term_rows(A.indptr, A.indices, A.data, X, Y, abc, first, last)

    return order, rows


def _dense_rows(S: FloatArray) -> Rows:
    def rows(X: FloatArray, Y: FloatArray, abc: Any, first: int, last: int) -> None:
        a, b, c = abc
        Y[first:last] = a * (S[first:last] @ X) + b * X[first:last] + c * Y[first:last]

    return rows


_SOLVERS = {
    "dense": _dense,
    "lanczos": _lanczos,
    "chebyshev": _chebyshev,
    "arpack": _arpack,
    "lobpcg": _lobpcg,
}
SOLVERS = ("auto", *_SOLVERS)
