r"""Leading eigenpairs of a symmetric matrix S with spectrum in [-1, 1]: a ladder of solvers.

Up to a thousand rows LAPACK is as fast as anything, and never fails. Above that the first rung
is subspace iteration with a Chebyshev filter: with :math:`c` the smallest Ritz value of a block X,
:math:`T_m(2 (S + 1) / (c + 1) - 1) X` damps everything in :math:`[-1, c]` and amplifies the rest
like :math:`\exp(m \sqrt{4 (\lambda - c) / (c + 1)})`. A block does not mind eigenvalues that come
in pairs, where a single Krylov sequence can miss one of the two and not know; and one pass over S
serves all of its vectors. ARPACK and LOBPCG come next. Whatever a solver claims, its residuals
:math:`|S v - \lambda v|` decide; and since Ritz values bound eigenvalues from below, pairs that are
smaller than those of an earlier solver are not the leading ones. The best pairs are never lost.

The spectral engine: leading eigenpairs of the random walk on an affinity.

:math:`S = D^{-1/2} W D^{-1/2}` is symmetric with eigenvalues in [-1, 1], and similar to the walk
:math:`P = D^{-1} W`: if :math:`S v = \lambda v` then :math:`\psi = D^{-1/2} v` has
:math:`P \psi = \lambda \psi`. The leading pairs are those of *largest* :math:`\lambda`, the
smoothest functions on the graph; the largest in size may be negative ones, the roughest.

Each connected component has an eigenvalue 1 of its own, so S is solved component by component:
no solver has to tell equal eigenvalues apart, and every vector lives on one component.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh, lobpcg

from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_affinity, as_choice, as_count, as_tolerance
from sparrot.engine import Threads, require_memory
from sparrot.errors import AffinityWarning, InvalidInputError, NotConvergedError
from sparrot.spectral._operators import degrees, scaled

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
    """`T_m(s) X` over `T_m(s at 1)`, with s = (S - center) / half mapping [-1, c] to [-1, 1]."""
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
    from sparrot._kernels import three_term_rows

    order = reverse_cuthill_mckee(S, symmetric_mode=True)  # neighbors near in memory
    A = csr_array(S[order][:, order])

    def rows(X: FloatArray, Y: FloatArray, abc: Any, first: int, last: int) -> None:
        three_term_rows(A.indptr, A.indices, A.data, X, Y, abc, first, last, Y)

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


COMPONENTS = ("warn", "largest", "each", "error")


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Leading eigenpairs of an affinity.

    Attributes
    ----------
    values : (k,) eigenvalues, descending.
    vectors : (n, k) orthonormal eigenvectors of `D^(-1/2) W D^(-1/2)`; the entry of largest size
        of each is positive.
    residuals : (k,) `|S v - lambda v|`.
    owners : (k,) the component that each pair lives on; its vector is zero elsewhere.
    labels : (n,) the component of each point, the largest being 0.
    degrees : (n,) row sums of W.
    solver : the solver that found the last of the pairs, `"components"` if none was needed.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    owners: IntArray
    labels: IntArray
    degrees: FloatArray
    solver: str

    @property
    def n_components(self) -> int:
        """Number of connected components of the graph."""
        return int(self.labels.max()) + 1

    @property
    def gaps(self) -> FloatArray:
        """(k - 1,) differences between neighboring eigenvalues."""
        return self.values[:-1] - self.values[1:]

    @property
    def functions(self) -> FloatArray:
        """(n, k) eigenvectors of the walk, `D^(-1/2) v`, with mean square one over its measure.

        The first of a connected graph is the constant 1.
        """
        return self.vectors * np.sqrt(self.degrees.sum() / self.degrees)[:, None]

    def __repr__(self) -> str:
        """One line with what matters."""
        return (
            f"<{len(self.values)} eigenpairs of {len(self.labels)} points by {self.solver}: "
            f"{self.values[0]:.4g} to {self.values[-1]:.4g}, residual {self.residuals.max():.1e}, "
            f"{self.n_components} component{'s' * (self.n_components > 1)}>"
        )


def eigenpairs(
    W: Any,
    k: int,
    *,
    components: str = "warn",
    solver: str = "auto",
    tol: float = 1e-8,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Spectrum:
    """The k algebraically largest eigenvalues of `S = D^(-1/2) W D^(-1/2)` and their vectors.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    k : number of pairs, less than n; the trivial one (eigenvalue 1) is the first.
    components : what to do with a graph in pieces, where the eigenvalue 1 comes once for each:
        "warn", or take that without a word as "each"; "largest" for the pairs of the largest
        component alone, with vectors that are zero elsewhere; "error" to refuse.
    solver : "dense", "chebyshev", "arpack", "lobpcg"; "auto" is LAPACK for small n, else the other
        three one after the other until the residuals meet `tol`. Of a component that has hardly
        more points than pairs are wanted, all are found by the dense one.
    tol : largest residual `|S v - lambda v|`. Eigenvalues err by its square over their gap.
    random_state : seed of the start.
    n_jobs : threads; the result does not depend on them.

    Raises
    ------
    NotConvergedError : no solver met `tol`; `result` holds the best pairs.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> pairs = eigenpairs(ring, 3)
    >>> pairs.values.round(6), pairs.vectors.shape
    (array([1. , 0.5, 0.5]), (6, 3))
    """
    components = as_choice(components, "components", COMPONENTS)
    solver = as_choice(solver, "solver", SOLVERS)
    tol = as_tolerance(tol, "residual")
    W = as_affinity(W)
    k = as_count(k, "k, the number of eigenpairs,", W.shape[0] - 1)
    degree = degrees(W)
    S = scaled(W, degree**-0.5, degree**-0.5)
    labels = components_by_size(W)
    count = int(labels.max()) + 1
    if count > 1 and components in ("warn", "error"):
        _complain(labels, components)
    kept = 1 if components == "largest" else count
    if components == "largest":
        as_count(
            k, "k, the number of eigenpairs of the largest component,", int((labels == 0).sum())
        )

    def solve(block: Any, wanted: int) -> Pairs:
        return solve_pairs(block, wanted, tol, solver, random_state, n_jobs)

    spectrum = _merged(S, k, labels, degree, kept, solve)
    worst = spectrum.residuals.max()
    if worst > tol:
        raise NotConvergedError(
            f"the eigenpairs have residuals up to {worst:.1e}, above tol={tol:.1e}; their gaps are "
            "too small. Ask for fewer pairs or a larger tol, or take `result`, the best found",
            spectrum,
        )
    return spectrum


def components_by_size(W: Any) -> IntArray:
    """The connected component of each point, numbered by size, the largest 0.

    Examples
    --------
    >>> import numpy as np
    >>> components_by_size(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    array([1, 0, 0])
    """
    labels = connected_components(csr_array(W), directed=False)[1]
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[labels]


def _complain(labels: IntArray, components: str) -> None:
    sizes = np.bincount(labels)
    said = (
        f"the graph has {len(sizes)} components, the largest of {sizes[0]} points, and as many "
        "eigenvalues 1: the leading eigenvectors only tell the components apart. Take a larger eps "
        "or more neighbors, components='largest', or components='each'"
    )
    if components == "error":
        raise InvalidInputError(said)
    warnings.warn(said, AffinityWarning, stacklevel=3)


def _merged(
    S: Any, k: int, labels: IntArray, degree: FloatArray, kept: int, solve: Any
) -> Spectrum:
    """The k leading of the pairs of the first `kept` components, each extended by zero."""
    n = len(labels)
    if kept >= k and kept > 1:  # eigenvalue 1 again and again, with vectors that are known
        parts = [_trivial(np.flatnonzero(labels == c), degree) for c in range(k)]
    else:
        wanted = k - kept + 1
        parts = []
        for c in range(kept):
            points = np.flatnonzero(labels == c)
            block = S if len(points) == n else S[points][:, points]
            parts.append((points, solve(block, min(wanted, len(points)))))
    owners = np.concatenate([np.full(len(pairs.values), c) for c, (_, pairs) in enumerate(parts)])
    values = np.concatenate([pairs.values for _, pairs in parts])
    order = np.argsort(-values.round(12), kind="stable")[:k]
    vectors = np.zeros((n, len(order)))
    for column, pair in enumerate(order):
        points, pairs = parts[owners[pair]]
        vectors[points, column] = pairs.vectors[:, pair - np.searchsorted(owners, owners[pair])]
    residuals = np.concatenate([pairs.residuals for _, pairs in parts])[order]
    solver = parts[-1][1].solver
    return Spectrum(values[order], vectors, residuals, owners[order], labels, degree, solver)


def _trivial(points: IntArray, degree: FloatArray) -> tuple[IntArray, Pairs]:
    """Eigenvalue 1 with `v = D^(1/2) 1` on one component."""
    v = np.sqrt(degree[points] / degree[points].sum())
    return points, Pairs(np.ones(1), v[:, None], np.zeros(1), "components")
