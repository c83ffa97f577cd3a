"""Leading eigenpairs of a symmetric matrix S with spectrum in [-1, 1]: several solvers, one check.

Up to a few hundred rows LAPACK is as fast as anything and never fails. Above that the solver of
choice is the Lanczos method with blocks of two columns: one pass over S serves both, and takes
hardly longer than for one. No Krylov space sees more copies of an eigenvalue than a block has
columns. Where two are found there may be others, and further spaces, orthogonal to all that was
found, look for them.

Whatever a solver claims, the residuals `|S v - lambda v|` decide whether the next one has to try.
Ritz values bound eigenvalues from below, so pairs whose values are smaller than those of an
earlier solver are not the leading ones, however small their residuals.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Run

_DENSE = 500  # rows up to which LAPACK comes first
_STILL_DENSE = 5000  # rows up to which it is the last resort: 200 MB
_WIDTH = 2  # columns of a block of the Lanczos method
_EPS = float(np.finfo(np.float64).eps)
_LEVEL = _EPS**0.5  # of scalar products that should vanish
_LOST = 1e-3  # share of a square that may be left of it before it is made of numbers again
_ROUNDING = 1e-24  # a square that is nothing else
_CACHED = 16384  # rows of a block that stay near, whatever their order
_ROWS, _PIECES = 4096, 8  # in a block, and pieces of blocks at most, for any number of threads
_RESTARTS = 500  # of a Krylov space, at most
Found = tuple[FloatArray, FloatArray]
Rows = Callable[[FloatArray, FloatArray, FloatArray, FloatArray, int, int], None]


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
        pairs = _checked(A, _SOLVERS[name](A, k, tol, _Start(n, seed, best), run), name)
        if best is None or _better(pairs, best, tol):
            best = pairs
        if best.residuals.max() <= tol:
            break
    assert best is not None
    return best


class _Deflated(LinearOperator):  # type: ignore[misc]
    """The operator `S - 3 V V'`: eigenvectors V with eigenvalue 1 get -2, and come last."""

    def __init__(self, S: Any, V: FloatArray) -> None:
        super().__init__(np.dtype(np.float64), S.shape)
        self.matrix, self.known = S, V

    def _matmat(self, X: FloatArray) -> FloatArray:
        return self.matrix @ X - self.known @ (3 * (self.known.T @ X))


def _ladder(n: int, k: int, solver: str) -> tuple[str, ...]:
    """The solvers to try, one after the other."""
    if 5 * _block(k) > n:
        return ("dense",)
    if solver != "auto":
        return (solver,)
    if n <= _DENSE:
        return ("dense",)
    return "lanczos", "arpack", "lobpcg", *(("dense",) if n <= _STILL_DENSE else ())


def _block(k: int) -> int:
    """How many vectors are iterated for k pairs."""
    return 2 * k + 4


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a solver begins: random columns, the first of them the best vectors so far."""

    n: int
    seed: int
    best: EigenPairs | None

    def __call__(self, columns: int, attempt: int = 0) -> FloatArray:
        X = _random(self.n, columns, [self.seed, attempt])
        if self.best is not None:
            found = self.best.vectors[:, :columns]
            X[:, : found.shape[1]] = found
        return X


def _random(n: int, columns: int, seed: int | list[int]) -> FloatArray:
    """Random columns of norm one, more or less."""
    return np.random.default_rng(seed).standard_normal((n, columns)) / np.sqrt(n)


def _checked(A: Any, vectors: FloatArray, solver: str) -> EigenPairs:
    """Values and residuals of orthonormal vectors; the entry of largest size of each is positive.

    The error of a Rayleigh quotient `v' A v` is the square of that of v.
    """
    AV = A @ vectors
    values = np.einsum("ij,ij->j", vectors, AV)
    residuals = np.linalg.norm(AV - vectors * values, axis=0)
    residuals[np.isnan(residuals)] = np.inf  # what is not a number is no eigenpair
    order = np.argsort(-values, kind="stable")
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    vectors = (vectors * np.where(peaks < 0, -1.0, 1.0))[:, order]
    return EigenPairs(values[order], vectors, residuals[order], solver)


def _better(pairs: EigenPairs, best: EigenPairs, tol: float) -> bool:
    """Whether the residuals are smaller and none of the leading pairs is missing."""
    incomplete = (best.values - pairs.values).max() > tol
    return bool(not incomplete and pairs.residuals.max() < best.residuals.max())


def _dense(A: Any, k: int, tol: float, start: _Start, run: Run) -> FloatArray:
    """LAPACK, on the matrix in full."""
    n = A.shape[0]
    run.require_memory(24.0 * n**2, what=f"{k} of {n} eigenpairs", remedy="ask for fewer pairs")
    if isinstance(A, LinearOperator):
        A = A @ np.eye(n)
    elif issparse(A):
        A = A.toarray()
    try:
        vectors = eigh(A, subset_by_index=[n - k, n - 1])[1]
    except LinAlgError:  # some repeated eigenvalues are too much for a part of the spectrum
        vectors = eigh(A, driver="evd")[1]
    return vectors[:, -k:]


def _arpack(A: Any, k: int, tol: float, start: _Start, run: Run) -> FloatArray:
    """ARPACK's restarted Lanczos method, from a sum of columns."""
    X = start(_block(k))
    ncv = min(A.shape[0], max(4 * k, 40))
    v0 = X.sum(axis=1)
    try:
        return eigsh(A, k, which="LA", v0=v0, tol=tol / 10, ncv=ncv, maxiter=_RESTARTS)[1]
    except ArpackNoConvergence as error:
        found = error.eigenvectors.shape[1]
        V = np.linalg.qr(np.hstack([error.eigenvectors, X[:, : k - found]]))[0]
    except ArpackError:
        V = np.linalg.qr(X[:, :k])[0]
    return V @ eigh(V.T @ (A @ V))[1]


def _lobpcg(A: Any, k: int, tol: float, start: _Start, run: Run) -> FloatArray:
    """SciPy's block method, without a preconditioner."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # residuals are checked here
        values, vectors = lobpcg(A, start(_block(k)), largest=True, tol=tol / 2, maxiter=500)
    return vectors[:, np.argsort(values)[::-1][:k]]


def _lanczos(A: Any, k: int, tol: float, start: _Start, run: Run) -> FloatArray:
    """Block Lanczos method, again without what was found where copies may be lacking."""
    order, rows, known = _ordered(A)
    most = 4 * k + 64
    space = _KrylovSpace(rows, known, start(_WIDTH)[order], most, tol, run)
    values, vectors = _krylov_pairs(space, k, tol)
    for attempt in range(1, k):
        if not _may_lack_copies(values, tol):
            break
        V = np.hstack([known, vectors])
        space = _KrylovSpace(rows, V, start(_WIDTH, attempt), most, tol, run)
        more, others = _krylov_pairs(space, k, tol, values[-1] + 10 * tol)
        if not len(more):
            break
        values, vectors = np.append(values, more), np.hstack([vectors, others])
        leading = np.argsort(-values, kind="stable")[:k]
        values, vectors = values[leading], vectors[:, leading]
    found = np.empty_like(vectors)
    found[order] = vectors
    return found


def _krylov_pairs(space: _KrylovSpace, k: int, tol: float, floor: float = -np.inf) -> Found:
    """The leading pairs above the floor, at most k of them, by a space that is grown for it."""
    kept, restarts = _block(k), 0
    space.grow(space.room // 2)
    while True:
        values, Q, residuals = space.ritz()
        above = values[:k] > floor
        enough = max(tol / 2, floor - values[0])
        residual = residuals[: max(above.sum(), 1)].max()
        if residual <= enough or restarts == _RESTARTS:
            Q = np.ascontiguousarray(Q[:, :k][:, above])
            return values[:k][above], np.linalg.qr(space.combined(Q))[0]
        if not space.room:
            space.restart(values[:kept], np.ascontiguousarray(Q[:, :kept]))
            restarts += 1
        ahead = np.log(residual / enough) / max(-np.log(residual), 1e-2)  # of the steps so far
        space.grow(max(2, int(ahead * space.steps / 3)))


def _may_lack_copies(values: FloatArray, tol: float) -> bool:
    """Whether a value occurs as often as a block has columns: more copies would not be found.

    Copies of the smallest do not matter.
    """
    above = values[values > values[-1] + 10 * tol]
    first, last = above[: max(len(above) - _WIDTH + 1, 0)], above[_WIDTH - 1 :]
    return bool((first - last <= 10 * tol).any())


class _KrylovSpace:
    r"""A basis V of the span of X, A X, A^2 X, ..., orthonormal but for rounding, and `T = V' A V`.

    `A V = V T + X R E'`, where X is the block that comes next and E' takes the last rows of a
    matrix. A restart keeps the leading Ritz vectors, for which this holds again with another T.
    Known eigenvectors are columns that everything is orthogonal to.

    A X is orthogonal to all but the last two blocks, so that only these are subtracted from it.
    But rounding errors follow the same recurrence as the vectors, and grow: let :math:`\Omega` be
    V' V, and H the coefficients of A X = V H + X R, then the next block has
    :math:`(T \Omega_X - \Omega H) R^{-1}` of V. Where this estimate exceeds `level`, the next two
    blocks are made orthogonal to all of V. T has the square of such an error (H. D. Simon, The
    Lanczos algorithm with partial reorthogonalization, Mathematics of Computation 42, 1984).

    Sums over rows are made piece by piece, in the same order for any number of threads.
    """

    def __init__(
        self, rows: Rows, known: FloatArray, X: FloatArray, most: int, tol: float, run: Run
    ) -> None:
        (n, b), c = X.shape, known.shape[1]
        most = min(most, n - c - b)  # there is always room for the next block
        self._rows, self._threads, self._pieces = rows, run.threads, _pieces(n)
        self._known, self._size, self.steps = np.ascontiguousarray(known), c, 0
        self._V = np.empty((n, c + most + b), order="F")
        self._V[:, :c] = known
        self._T, self._overlap = np.zeros((c + most + b,) * 2), np.eye(c + most + b)
        self._level, self._again, self._rounding = min(tol, _LEVEL), False, np.random.default_rng(0)
        self._W, self._R = np.zeros((n, b)), np.zeros((b, b))
        self._X = self._orthonormalized(X)

    @property
    def room(self) -> int:
        """How many blocks may still be appended."""
        return (self._V.shape[1] - self._size) // _WIDTH - 1

    def grow(self, blocks: int) -> None:
        """Append so many blocks, or as many as there is room for."""
        for _ in range(min(blocks, self.room)):
            self._append()

    def _append(self) -> None:
        """Make X a part of the basis; what is new in A X comes next."""
        K, X, W, j = self._known, self._X, self._W, self._size
        c, m = K.shape[1], j + _WIDTH
        near, new, following = slice(max(j - _WIDTH, c), m), slice(j, m), slice(m, m + _WIDTH)
        T, overlap = self._T[:m, :m], self._overlap[:m, :m]

        def product(rows: slice) -> FloatArray:
            sums = np.zeros(7)
            self._rows(X, W, self._R, sums, rows.start, rows.stop)
            return np.append(K[rows].T @ W[rows], sums)

        C = self._sum(product)
        H = C[:-3].reshape(-1, _WIDTH)  # [K X]' W
        G = C[[-3, -2, -2, -1]].reshape(_WIDTH, _WIDTH) - H.T @ H
        T[new, new] = H[c:]
        self._size, self.steps = m, self.steps + 1

        drift = T @ overlap[:, new] - overlap[:, near] @ T[near, new]
        drift[:c] = 0
        squares, P = np.linalg.eigh(G)
        lost = squares[0] < _LOST * np.square(H).sum()
        if lost or self._again or np.abs(drift).max() > self._level * np.sqrt(squares[0]):
            squares, P = np.linalg.eigh(self._purged(W))
            H, drift, self._again = 0 * H, 0 * drift, not self._again
        drift += _EPS * self._rounding.standard_normal(drift.shape)
        if squares[0] > max(_LOST**3 * squares[-1], _ROUNDING):
            inverse = P / np.sqrt(squares)
            self._R = np.ascontiguousarray((P * np.sqrt(squares)).T)
            drift = drift @ inverse
            self._next(-H @ inverse, inverse)
        else:  # A X has fewer dimensions that are new: random ones take the place of the others
            Y = W @ P[:, ::-1]
            Y /= np.maximum(np.linalg.norm(Y, axis=0), _ROUNDING)
            few = squares[::-1] <= max(_LOST**3 * squares[-1], _ROUNDING)
            Y += 1e-8 * few * _random(len(Y), _WIDTH, m)
            self._X, self._W, self._again = self._orthonormalized(Y), X, True
            self._R = self._X.T @ W
        self._T[following, new], self._T[new, following] = self._R, self._R.T
        self._overlap[:m, following], self._overlap[following, :m] = drift, drift.T

    def _sum(self, function: Callable[[slice], FloatArray]) -> FloatArray:
        def of_piece(blocks: list[slice]) -> FloatArray:
            return sum(map(function, blocks))  # type: ignore[return-value]

        return sum(self._threads.map(of_piece, self._pieces))  # type: ignore[return-value]

    def _purged(self, X: FloatArray) -> FloatArray:
        """X' X, once X is orthogonal to all of V."""
        V = self._V[:, : self._size]

        def rest(rows: slice) -> FloatArray:
            X[rows] -= V[rows] @ H
            return X[rows].T @ X[rows]

        for _ in range(2):
            H = self._sum(lambda rows: V[rows].T @ X[rows])
            G = self._sum(rest)
        return G

    def _next(self, H: FloatArray, inverse: FloatArray) -> None:
        """Let `[K X] H + W R^(-1)` be X, and X be W."""
        K, X, W, following = self._known, self._X, self._W, slice(self._size, self._size + _WIDTH)
        c = K.shape[1]

        def replaced(blocks: list[slice]) -> None:
            for rows in blocks:
                W[rows] = W[rows] @ inverse + X[rows] @ H[c:] + K[rows] @ H[:c]
                self._V[rows, following] = W[rows]

        list(self._threads.map(replaced, self._pieces))
        self._X, self._W = W, X

    def _orthonormalized(self, X: FloatArray) -> FloatArray:
        """A basis of the span of X, without what V has of it; it comes next in V."""
        V = self._V[:, : self._size]
        for _ in range(2):
            X = np.linalg.qr(X - V @ (V.T @ X))[0]
        self._V[:, self._size : self._size + _WIDTH] = X
        return np.ascontiguousarray(X)

    def ritz(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values, descending, coefficients of their vectors, and residuals."""
        new = slice(self._known.shape[1], self._size)
        values, Q = np.linalg.eigh(self._T[new, new])
        values, Q = values[::-1], np.ascontiguousarray(Q[:, ::-1])
        return values, Q, np.linalg.norm(self._R @ Q[-_WIDTH:], axis=0)

    def restart(self, values: FloatArray, Q: FloatArray) -> None:
        """Keep only these Ritz vectors as a basis."""
        c, V = self._known.shape[1], self._V
        old, new = slice(c, self._size), slice(c, c + len(values))
        following = slice(new.stop, new.stop + _WIDTH)

        def turned(blocks: list[slice]) -> None:
            for rows in blocks:
                V[rows, new] = V[rows, old] @ Q

        list(self._threads.map(turned, self._pieces))
        self._size, self._again, self._overlap = new.stop, True, np.eye(len(self._overlap))
        self._purged(self._X)
        V[:, following], C = self._X, self._R @ Q[-_WIDTH:]
        self._T[:], self._R = 0, 0 * self._R
        self._T[new, new] = np.diag(values)
        self._T[following, new], self._T[new, following] = C, C.T

    def combined(self, Q: FloatArray) -> FloatArray:
        """The vectors with these coefficients."""
        return self._V[:, self._known.shape[1] : self._size] @ Q


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
    from sparrot._kernels import lanczos_rows

    order = np.arange(S.shape[0])
    if len(order) > _CACHED:
        order = reverse_cuthill_mckee(S, symmetric_mode=True)  # neighbors near in memory
        S = csr_array(S[order][:, order])
    return order, partial(lanczos_rows, S.indptr, S.indices, S.data)


def _dense_rows(S: FloatArray) -> Rows:
    def rows(X: Any, W: Any, R: Any, sums: Any, first: int, last: int) -> None:
        these = slice(first, last)
        W[these] = S[these] @ X - W[these] @ R.T
        sums[:4] += (X[these].T @ W[these]).ravel()
        sums[4:] += (W[these].T @ W[these])[[0, 0, 1], [0, 1, 1]]

    return rows


_SOLVERS = {
    "dense": _dense,
    "lanczos": _lanczos,
    "arpack": _arpack,
    "lobpcg": _lobpcg,
}
SOLVERS = ("auto", *_SOLVERS)
