r"""Leading eigenpairs of a symmetric matrix S with spectrum in [-1, 1]: several solvers, one check.

Up to 900 rows LAPACK takes no time and never fails. Above that the solver of choice is the
Lanczos method with blocks of four columns, one pass over S for all of them, and with a filter: it
works on :math:`T_m(s(S))`, where the Chebyshev polynomial of degree m of
:math:`s(\lambda) = 2 (\lambda + 1) / (c + 1) - 1` leaves everything in :math:`[-1, c]` in [-1, 1]
and lifts the rest like :math:`\cosh(m\, \mathrm{arcosh}\, s(\lambda))`. So the basis, on which the
method spends most of its time if rows are sparse, need not have a block for every product with S.
What is known of the spectrum so far tells where to put c.

No more copies of an eigenvalue are seen than a block has columns. Where as many are found, there
may be others, and a larger block looks for them.

Whatever a solver claims, the residuals :math:`|S v - \lambda v|` decide whether the next one has to
try. Ritz values bound eigenvalues from below, so pairs whose values are smaller than those of an
earlier solver are not the leading ones, however small their residuals.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh, qr
from scipy.linalg.lapack import dsyevd
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Run, Threads

_DENSE, _DENSE_IF_SPARSE = 1000, 900  # rows up to which LAPACK comes first
_STILL_DENSE = 5000  # rows up to which it is the last resort: 200 MB
_EPS = float(np.finfo(np.float64).eps)
_WIDTH = 4  # columns of a block of the Lanczos method; other blocks have multiples of it
_FIRST, _BLOCKS = 6, 12  # blocks before there is a filter, and besides what a restart keeps
_ENTRIES = 400  # of a row: with a filter it is multiplied so often that these are the most work
_GROWTH = 1e2, 1e6, 1e10  # by which a filter lifts the first value, what it may be, and one
_LOWEST = -0.5  # c of a filter that is worth it
_IN_CACHE = 4000  # rows that need no order
_THIN, _FLAT = 0.03, 1e-4  # a block's smallest size by its largest: hardly new, or not at all
_ROUNDING = 1e-12  # a length that is nothing else
_ROWS = 4096  # in a block
_LINE = 8  # numbers of a line of the cache
_PIECES, _LEAST = 8, 10_000  # of the rows, at most, for any number of threads; and rows of a piece
_PARTS, _WORK = 16, 4_000_000  # of the rows, which threads take in turn; multiplications for each
_SPREAD = 0.7  # the distance of typical eigenvalues of a graph, as a share of that of the center
_LOOK = 0.95  # times the tolerance: an estimate of a residual that is worth a close look
_RESTARTS = 500  # of a Krylov space, at most
_CROOKED = 1e-11  # a product of two columns of a basis, from which on the next are mended;
_BROKEN = 1e-9  # and from which on it is no basis
_SHIFT = 4.0  # of known eigenvalues
_COPIES = 1e-6  # between eigenvalues that may be copies, at most
_PRODUCT = np.array([[1.0, 0.0, 0.0]])  # the step that is one product with S
Found = tuple[FloatArray, FloatArray]
Start = Callable[[int], FloatArray]  # random columns, so many


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
    n_left = n if known is None else n - known.shape[1]
    best = None
    for name in _ladder(n_left, k, solver, issparse(S)):
        start = partial(_start, n, seed, best)
        operator = _Rows(A, run) if name == "lanczos" else A
        pairs = _checked(operator, *_SOLVERS[name](operator, k, tol, start, run), name)
        if best is None or name == "dense" or _better(pairs, best, tol):
            best = pairs
        if best.residuals.max() <= tol:
            break
    assert best is not None
    return best


class _Deflated(LinearOperator):  # type: ignore[misc]
    """The operator `S - 4 V V'`: eigenvectors V with eigenvalue 1 get -3, and come last.

    A bipartite graph has the eigenvalue -1, from which they must differ.
    """

    def __init__(self, S: Any, V: FloatArray) -> None:
        super().__init__(np.dtype(np.float64), S.shape)
        self.matrix, self.known = S, V

    def _matmat(self, X: FloatArray) -> FloatArray:
        return self.matrix @ X - self.known @ (_SHIFT * (self.known.T @ X))


def _ladder(n: int, k: int, solver: str, sparse: bool = True) -> tuple[str, ...]:
    """The solvers to try, one after the other; a dense matrix is too much work for a filter."""
    if 5 * _block(k) > n:
        return ("dense",)
    if solver != "auto":
        return (solver,)
    if n <= ((_DENSE_IF_SPARSE if sparse else _DENSE) if k > 1 else _DENSE // 2):
        return ("dense",)
    if n <= _DENSE:
        return "lanczos", "dense"
    return "lanczos", "arpack", "lobpcg", *(("dense",) if n <= _STILL_DENSE else ())


def _block(k: int) -> int:
    """How many vectors are iterated for k pairs."""
    return -(-(2 * k + 4) // _WIDTH) * _WIDTH


def _start(n: int, seed: int, best: EigenPairs | None, columns: int) -> FloatArray:
    """A random block, with the best vectors so far as its first columns."""
    X = _random(n, columns, seed)
    if best is not None:
        X[:, : best.vectors.shape[1]] = best.vectors[:, :columns]
    return X


def _random(n: int, columns: int, seed: int) -> FloatArray:
    """Random columns of norm one, more or less."""
    return np.random.default_rng(seed).standard_normal((n, columns)) / np.sqrt(n)


def _checked(A: Any, values: FloatArray, vectors: FloatArray, solver: str) -> EigenPairs:
    """Descending order, fixed signs (the entry of largest size is positive), and residuals."""
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors.take(order, axis=1)
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    vectors = vectors * np.where(peaks < 0, -1.0, 1.0)
    residuals = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    residuals[np.isnan(residuals)] = np.inf  # what is not a number is no eigenpair
    return EigenPairs(values, vectors, residuals, solver)


def _better(pairs: EigenPairs, best: EigenPairs, tol: float) -> bool:
    """Whether the residuals are smaller and none of the leading pairs is missing."""
    incomplete = (best.values - pairs.values).max() > tol
    return bool(not incomplete and pairs.residuals.max() < best.residuals.max())


def _dense(A: Any, k: int, tol: float, start: Start, run: Run) -> Found:
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


def _arpack(A: Any, k: int, tol: float, start: Start, run: Run) -> Found:
    """ARPACK's restarted Lanczos method, from the sum of the columns of a block."""
    X = start(_block(k))
    ncv = min(A.shape[0], max(4 * k, 40))
    v0 = X.sum(axis=1)
    try:
        values, found = eigsh(A, k, which="LA", v0=v0, tol=tol / 10, ncv=ncv, maxiter=_RESTARTS)
        if len(values) == k:  # or fewer, without a word
            return values, found
    except ArpackNoConvergence as error:
        found = error.eigenvectors
    except ArpackError:
        found = X[:, :0]
    V = np.linalg.qr(np.hstack([found, X[:, : k - found.shape[1]]]))[0]
    values, Q = eigh(V.T @ (A @ V))
    return values, V @ Q


def _lobpcg(A: Any, k: int, tol: float, start: Start, run: Run) -> Found:
    """SciPy's block method, without a preconditioner."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # residuals are checked here
        values, vectors = lobpcg(A, start(_block(k)), largest=True, tol=tol / 2, maxiter=500)
    order = np.argsort(values)[::-1][:k]
    return values[order], vectors[:, order]


def _lanczos(S: _Rows, k: int, tol: float, start: Start, run: Run) -> Found:
    """Block Lanczos method with a filter and thick restarts."""
    values, vectors = _krylov(S, k, tol, start(_WIDTH)[S.order])
    if _may_lack_copies(values, tol):
        values, vectors = _krylov(S, k, tol, start(_block(k))[S.order])
    out = np.empty_like(vectors)
    out[S.order] = vectors
    return values, out


def _krylov(S: _Rows, k: int, tol: float, X: FloatArray) -> Found:
    """The same in the order of the rows, by blocks as wide as X."""
    width, needed, restarts = X.shape[1], _LOOK * tol, 0
    kept = max(2 * k, 12) + width
    due = max(kept, _FIRST * width)
    straight = max(min(_CROOKED, tol / 1000), 64 * _EPS)
    space = _KrylovSpace(S, X, kept + max(_BLOCKS * width, 2 * k), straight)
    while True:
        space.append()
        if not space.is_full and space.size < due:
            continue
        values, Q, residuals = space.ritz()
        if residuals[:k].max() <= needed or restarts == _RESTARTS:
            found, worst = S.refined(space.combined(Q[:, : -(-k // _WIDTH) * _WIDTH]), k)
            if worst <= tol or restarts == _RESTARTS:
                return found
            needed /= 4
        filter = space.filter
        if restarts == 0:
            counts = np.square(Q[:width]).sum(axis=0) / width * (len(X) - S.known.shape[1])
            filter = _Filter.above(values, counts, 2 * (k + width), residuals[0], S.work)
        elif not np.isfinite(residuals[k - 1]):  # fewer than k are above c
            filter = filter.lower()
        if filter != space.filter:
            mixed = Q[:, : k + width] @ _random(k + width, width, restarts)
            space.begin(space.combined(mixed), filter)
            due, restarts = kept + 2 * width, restarts + 1
            continue
        if space.is_full:
            space.restart(Q[:, :kept])
            restarts += 1
        excess = residuals[:k].max() / needed
        due = max(kept, space.size) + width * space.filter.blocks_to_go(values[k - 1], excess)


def _may_lack_copies(values: FloatArray, tol: float) -> bool:
    """Whether a value occurs as often as a block has columns: more copies would not be found.

    Copies of the smallest do not matter.
    """
    near = min(10 * tol, _COPIES)
    above = values[values > values[-1] + near]
    first, last = above[: max(len(above) - _WIDTH + 1, 0)], above[_WIDTH - 1 :]
    return bool((first - last <= near).any())


class _Rows:
    """The rows of a matrix S, in an order that is good for products, without known eigenvectors.

    Attributes
    ----------
    order : the order of the rows; vectors here are in it.
    known : (n, c) eigenvectors that are left out.
    steps : `steps(X, Y, abc)` replaces Y by `a S X + b X + c Y`, where a, b, c is the first row of
        `abc`, then X by the same of Y with the next row, and so on, and returns the last of them.
        X and Y must be finite, and only X of a single step is as it was.
    work : entries of a row, on average.
    """

    def __init__(self, A: Any, run: Run) -> None:
        n = A.shape[0]
        S, known = (A.matrix, A.known) if isinstance(A, _Deflated) else (A, np.zeros((n, 0)))
        self.steps: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
        if issparse(S):
            self.order, self.steps, self.work = *_sparse_steps(S, run.threads), S.nnz / n
        else:
            self.order, self.steps, self.work = np.arange(n), partial(_dense_steps, S), float(n)
        self.known = known[self.order]
        self._threads, self._pieces = run.threads, _pieces(n)

    def __matmul__(self, X: FloatArray) -> FloatArray:
        """The product of the deflated matrix with X, both in the order of S."""
        (n, k), out = X.shape, np.empty_like(X)
        ordered = _aligned(n, -(-k // _WIDTH) * _WIDTH)
        ordered[:, :k], ordered[:, k:] = X[self.order], 0
        Y = self.steps(ordered, np.zeros_like(ordered), _PRODUCT)[:, :k]
        out[self.order] = Y - self.known @ (_SHIFT * (self.known.T @ ordered[:, :k]))
        return out

    def each(self, function: Callable[[int, int], Any]) -> None:
        """Call `function(first, end)` of the rows of each piece."""
        for _ in self._threads.map(
            lambda blocks: function(blocks[0].start, blocks[-1].stop), self._pieces
        ):
            pass

    def sum(self, function: Callable[[slice], FloatArray]) -> FloatArray:
        """The sum of a function over blocks of rows, in the same order for any threads."""

        def of_piece(blocks: list[slice]) -> FloatArray:
            return reduce(add, map(function, blocks))

        return reduce(add, self._threads.map(of_piece, self._pieces))

    def times(
        self, X: FloatArray, factor: FloatArray, room: FloatArray | None = None
    ) -> FloatArray:
        """The product of X with a small matrix, in this room or in new memory."""
        out = _aligned(len(X), factor.shape[1]) if room is None else room
        self.each(lambda i, k: np.matmul(X[i:k], factor, out=out[i:k]))
        return out

    def refined(self, X: FloatArray, k: int) -> tuple[Found, float]:
        """The k leading Ritz pairs of S in the span of X, and their largest residual."""
        Y = self.steps(X, np.zeros_like(X), _PRODUCT)
        values, Q = _eigh(self.sum(lambda rows: X[rows].T @ Y[rows]))
        values, Q = values[: -k - 1 : -1], Q[:, : -k - 1 : -1]
        V, R = self.times(X, Q), self.times(Y, Q)
        squares = self.sum(lambda rows: np.square(R[rows] - V[rows] * values).sum(axis=0))
        return (values, V), float(np.sqrt(squares.max()))


@dataclass(frozen=True, slots=True)
class _Filter:
    """The polynomial `T_m(s)` of S, with s mapping [-1, c] to [-1, 1]; S itself at first."""

    c: float = 1.0
    degree: int = 1

    @staticmethod
    def above(
        values: FloatArray,
        counts: FloatArray,
        wanted: float,
        residual: float,
        work: float,
    ) -> _Filter:
        """The filter that lifts about as many eigenvalues as are wanted, if it is worth it.

        Values of a Krylov space, which descend, with their weights in the random block that it
        began with are those of Gauss quadrature: they tell how many eigenvalues each counts for,
        and copies of the first are all lifted, however many they are.
        Products with rows of so much `work` take most of the time then; but the degree is less
        where the first value would be lifted so far that others lost digits beside it, or all that
        are needed if it is less than the largest eigenvalue by its `residual`, or where rounding
        along known vectors, whose eigenvalue is one, would be lifted above the rest.
        """
        above = np.cumsum(counts) - counts / 2
        next_value = values[values < values[0] - _COPIES].max(initial=-1.0)
        c = float(min(np.interp(wanted, above, values), next_value))
        if c < _LOWEST:
            return _Filter()
        limits = (
            np.arccosh(growth) / np.arccosh(max(_Filter(c).scaled(value), 1 + 1e-6))
            for value, growth in zip(
                (values[0], min(values[0] + residual, 1.0), 1.0), _GROWTH, strict=True
            )
        )
        degree = int(min(_ENTRIES / work, *limits))
        return _Filter(c, degree) if degree > 1 else _Filter()

    def lower(self) -> _Filter:
        """The filter with a c that is twice as far from one, which lifts the largest as much."""
        c = max(1 - max(2 * (1 - self.c), 1e-4), _LOWEST)
        return _Filter(c, max(2, round(self.degree / 2**0.5)))

    def blocks_to_go(self, value: float, excess: float) -> int:
        r"""How many more blocks it takes at least until the residual of a value is that much less.

        Each divides it by :math:`e^{\mathrm{arcosh}\, T_m(s(\lambda))}` at most, in the long run.
        """
        rate = self.degree * np.arccosh(max(self.scaled(value), 1.0))
        return int(np.ceil(np.log(excess) / rate)) if rate > 0 and 1 < excess < np.inf else 1

    def scaled(self, values: FloatArray | float) -> Any:
        """The map s."""
        return (values - (self.c - 1) / 2) * 2 / (self.c + 1)

    def apply(self, S: _Rows, X: FloatArray, W: FloatArray) -> FloatArray:
        """The product with X, in the memory of W or of X: both are finite and are overwritten."""
        center, half = (self.c - 1) / 2, (self.c + 1) / 2
        steps = np.array([[2 / half, -2 * center / half, -1.0]] * self.degree)
        steps[0] = 1 / half, -center / half, 0.0
        return S.steps(X, W, steps)

    def undone(self, lifted: FloatArray, residuals: FloatArray) -> Found:
        r"""The values of S, and about what its residuals are; infinite where none was lifted.

        A part r of the residual of p(S) at an eigenvalue :math:`\mu` in [-1, c] tells of a part
        :math:`r / (p(\mu) - p(\lambda))` of the vector, and this of a part
        :math:`r (\lambda - \mu) / p(\lambda)` of the residual of S, if :math:`p(\lambda)` is much
        larger than one. The distance :math:`\lambda - \mu` is somewhat less than that to the
        center of the interval, for graphs have few eigenvalues near -1: the residuals of graphs are
        0.5 to 1 times what is returned.
        """
        center, half = (self.c - 1) / 2, (self.c + 1) / 2
        if self.degree == 1:
            return center + half * lifted, residuals * half
        is_lifted, lifted = lifted > 1, np.maximum(lifted, 1.0)
        values = center + half * np.cosh(np.arccosh(lifted) / self.degree)
        residuals = residuals * _SPREAD * (values - center) / lifted
        return np.where(is_lifted, values, -1.0), np.where(is_lifted, residuals, np.inf)


class _KrylovSpace:
    """An orthonormal basis V of the span of X, B X, B^2 X, ..., and `T = V' B V`, for B = p(S).

    `B V = V T + X R E'`, where X is the block that comes next and E' takes the last rows of a
    matrix. A restart keeps the leading Ritz vectors, for which this holds again with another T.
    Known eigenvectors are columns that everything is orthogonal to.

    Parameters
    ----------
    S : the matrix.
    X : the first block; p(S) is S at first.
    most : columns of the basis, at most.
    tol : of products of two of its columns.

    Attributes
    ----------
    filter : the polynomial p.
    size : columns of the basis.

    Two blocks are all the memory that is needed besides: W, which is to be made orthonormal, and X,
    where that goes. Then W is room for the product with X. Both are finite at all times.
    """

    def __init__(self, S: _Rows, X: FloatArray, most: int, tol: float = _CROOKED) -> None:
        (n, b), c = X.shape, S.known.shape[1]
        most = min(most, n - c - b)  # there is always room for the next block
        self._S, self._known = S, c
        self._V, self._T = np.empty((n, c + most), order="F"), np.zeros((most, most))
        self._V[:, :c] = S.known
        self._W, self._X = _aligned(n, b), _aligned(n, b)
        self._W[:] = self._X[:] = 0
        self._tol, self._E = tol, np.zeros((c + most, c + most))  # which has no signs
        self.begin(X, _Filter())

    def begin(self, X: FloatArray, filter: _Filter) -> None:
        """Begin anew, with another block and polynomial."""
        self.filter, self.size = filter, 0
        self._W[:] = X
        self._orthonormal()

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another block."""
        return self.size + self._X.shape[1] > len(self._T)

    def append(self) -> None:
        """Make X a part of the basis; what is new in B X comes next."""
        j, m, c = self.size, self.size + self._X.shape[1], self._known
        self._V[:, c + j : c + m] = self._X
        self._E[c + j : c + m, c + j : c + m] = _EPS
        self._E[: c + j, c + j : c + m] = self._lacking
        self._E[c + j : c + m, : c + j] = self._lacking.T
        self.size = m
        W = self.filter.apply(self._S, self._X, self._W)
        if W is self._X:
            self._X, self._W = self._W, self._X
        H = self._orthonormal()
        self._T[:m, j:m], self._T[j:m, :m] = H, H.T

    def _orthonormal(self) -> FloatArray:
        r"""Set X and R so that `W = V H + X R` and [V, X] is orthonormal; H without known vectors.

        W is overwritten. If :math:`V^T V = I + E` then :math:`V^T X = -E H R^{-1}`: what V lacks
        grows from block to block. It is known well enough from this recurrence and the rounding of
        each block to tell when V has to be subtracted twice, which leaves nothing but rounding.
        """
        W, room, m = self._W, self._X, self._known + self.size
        V, E = self._V[:, :m], self._E[:m, :m]
        H, roots, U = self._subtract(V, W, room)
        rounding = _EPS * np.sqrt(np.vdot(H, H) + roots[-1] ** 2) / roots[0]
        self._lacking = rounding + E @ np.abs(H @ (U / roots))
        if self._lacking.max(initial=0.0) > self._tol:
            more, roots, U = self._subtract(V, W, room)
            H, self._lacking = H + more, np.full_like(H, _EPS)
        if roots[0] <= max(_FLAT * roots[-1], _ROUNDING):
            X = self._straightened(_full(W, m))
            self._R = X.T @ W
            room[:] = X
            return H[self._known :]
        self._S.times(W, U / roots, room)
        self._R = roots[:, None] * U.T
        if roots[0] < _THIN * roots[-1]:  # once more, for columns that were nearly dependent
            squares, U = _eigh(self._S.sum(lambda rows: room[rows].T @ room[rows]))
            roots = np.sqrt(squares)
            self._X, self._W = self._S.times(room, U / roots, W), room
            self._R = roots[:, None] * (U.T @ self._R)
        return H[self._known :]

    def _subtract(
        self, V: FloatArray, W: FloatArray, room: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Replace W by `W - V H` with `H = V' W`: H, and r and U with `W' W = U diag(r^2) U'`.

        The numbers r ascend; none is less than rounding.
        """
        H = self._S.sum(lambda rows: V[rows].T @ W[rows])

        def rest(rows: slice) -> FloatArray:
            some = W[rows]
            some -= np.matmul(V[rows], H, out=room[rows])
            return some.T @ some

        squares, U = _eigh(self._S.sum(rest))
        return H, np.sqrt(np.maximum(squares, _ROUNDING**2)), U

    def _straightened(self, X: FloatArray) -> FloatArray:
        """A basis of the span of X, without what V has of it."""
        V = self._V[:, : self._known + self.size]
        for _ in range(2):
            X = np.linalg.qr(X - V @ (V.T @ X))[0]
        return X

    def ritz(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values of S, descending, coefficients of their vectors, and residuals."""
        lifted, Q = _eigh(self._T[: self.size, : self.size])
        lifted, Q = lifted[::-1], np.ascontiguousarray(Q[:, ::-1])
        off = np.linalg.norm(self._R @ Q[-len(self._R) :], axis=0)
        values, residuals = self.filter.undone(lifted, off)
        return values, Q, residuals

    def restart(self, Q: FloatArray) -> None:
        """Keep only the leading Ritz vectors, which have these coefficients, as a basis.

        Where they are no basis, begin anew with a block of their combinations.
        """
        V, T = self._V[:, self._known :], self._T
        old, new = self.size, Q.shape[1]

        def turned(rows: slice) -> FloatArray:
            V[rows, :new] = V[rows, :old] @ Q
            return V[rows, :new].T @ V[rows, :new]

        G = self._S.sum(turned)
        T[:new, :new] = Q.T @ T[:old, :old] @ Q
        self.size, c, E, G = new, self._known, self._E, np.abs(G - np.eye(new))
        E[:c, c : c + new] = E[:c, c : c + old] @ np.abs(Q)
        E[c : c + new, :c], E[c : c + new, c : c + new] = E[:c, c : c + new].T, G
        self._lacking = np.vstack([self._lacking[:c], np.abs(Q).T @ self._lacking[c:]])
        if G.max() > _BROKEN:
            width = self._X.shape[1]
            self.begin(self.combined(_random(new, width, new)), self.filter)

    def combined(self, Q: FloatArray) -> FloatArray:
        """The vectors with these coefficients."""
        return self._S.times(self._V[:, self._known : self._known + self.size], Q)


def _eigh(A: FloatArray) -> Found:
    """All eigenpairs of a small matrix, ascending, with nothing around LAPACK."""
    values, vectors, info = dsyevd(A)
    if info:
        raise LinAlgError(f"LAPACK's dsyevd failed on {len(A)} rows: info = {info}")
    return values, vectors


def _aligned(rows: int, columns: int) -> FloatArray:
    """An empty array that begins with a line of the cache: no four columns of a row are in two."""
    memory = np.empty(rows * columns + _LINE)
    skip = -memory.ctypes.data // memory.itemsize % _LINE
    return memory[skip : skip + rows * columns].reshape(rows, columns)


def _full(W: FloatArray, seed: int) -> FloatArray:
    """A basis of the span of the columns of W, and random columns for what it lacks."""
    size = np.maximum(np.linalg.norm(W, axis=0), _ROUNDING)
    X, R, _ = qr(W / size, mode="economic", pivoting=True)
    lacking = np.abs(np.diag(R)) < _ROUNDING
    X[:, lacking] = _random(len(W), int(lacking.sum()), seed)
    return X


def _pieces(n: int) -> list[list[slice]]:
    """The rows in pieces for any number of threads, each in blocks that BLAS is fast on."""
    ends = np.linspace(0, n, min(_PIECES, max(1, n // _LEAST)) + 1).astype(int).tolist()
    return [
        [slice(first, min(first + _ROWS, end)) for first in range(start, end, _ROWS)]
        for start, end in pairwise(ends)
    ]


def _sparse_steps(S: csr_array, threads: Threads) -> tuple[IntArray, Callable[..., FloatArray]]:
    """An order of the rows, and the `steps` of `_Rows` in it, which threads share."""
    from sparrot._kernels import three_term_rows

    n = S.shape[0]
    if n <= _IN_CACHE:
        order, indptr, indices, data = np.arange(n), S.indptr, S.indices, S.data
    else:
        order = _breadth_first(S)
        place = np.empty(n, np.int32)
        place[order] = np.arange(n, dtype=np.int32)
        A = S[order]
        indptr, indices, data = A.indptr, place[A.indices], A.data
    rows = partial(three_term_rows, indptr, indices.astype(np.int32, copy=False), data)

    ends = np.searchsorted(indptr, np.linspace(0, S.nnz, min(_PARTS, n) + 1))
    ends[0], ends[-1] = 0, n
    whole = ends[[0, -1]]

    def steps(X: FloatArray, Y: FloatArray, abc: FloatArray) -> FloatArray:
        counts = np.zeros(1 + len(abc), np.int64)
        workers = min(_PIECES, S.nnz * len(abc) * X.shape[1] // _WORK)
        parts = whole if workers < 2 else ends

        failed: list[BaseException] = []

        def work() -> None:
            part = -1
            try:
                while (part := rows(X, Y, abc, parts, counts, part)) >= 0:
                    time.sleep(0)  # for those that are waited for
            except BaseException as error:
                failed.append(error)
                counts[:] = len(abc) * len(parts)  # nothing is left, and nobody waits
                raise

        threads.share(work, workers)
        if failed:  # elsewhere
            raise failed[0]
        return Y if len(abc) % 2 else X

    return order, steps


def _dense_steps(S: FloatArray, X: FloatArray, Y: FloatArray, abc: FloatArray) -> FloatArray:
    for a, b, c in abc:
        Y[:] = a * (S @ X) + b * X + c * Y
        X, Y = Y, X
    return X


def _breadth_first(S: csr_array) -> IntArray:
    """The rows by their distance from the first in steps: neighbors are near in memory."""
    found = breadth_first_order(S, 0, return_predecessors=False)
    if len(found) == S.shape[0]:
        return found
    return np.append(found, np.delete(np.arange(S.shape[0]), found))  # of other components


_SOLVERS = {
    "dense": _dense,
    "lanczos": _lanczos,
    "arpack": _arpack,
    "lobpcg": _lobpcg,
}
SOLVERS = ("auto", *_SOLVERS)
