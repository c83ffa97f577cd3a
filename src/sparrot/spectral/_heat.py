r"""The heat kernel :math:`H_t = e^{-tL}` of a Laplacian L: where a random walk is after time t.

L is symmetric (:math:`I - W` of a bistochastic W, or :math:`D - W`) or that of the random walk
(:math:`I - D^{-1} W`). It is positive semidefinite up to similarity and no entry off its
diagonal is positive; this gives :math:`0 \le \lambda \le 2 \max_i L_{ii}`, because
:math:`-x^\top W x \le |x|^\top W |x| \le x^\top D x`. The walk jumps at rate one: t counts steps.

The exponential is applied to vectors by one of two series.

**Chebyshev**: few products, and a bound on the absolute error. For eigenvalues in [0, b], with
:math:`y = 1 - 2 \lambda / b` in [-1, 1] and :math:`z = t b / 2`,

.. math:: e^{-t \lambda} = e^{-z} e^{z y} = \sum_{k \ge 0} a_k T_k(y),
          \qquad a_0 = e^{-z} I_0(z), \quad a_k = 2 e^{-z} I_k(z),

with Bessel functions I_k. The coefficients are positive and sum to one, and :math:`|T_k| \le 1`, so
the error of a truncated series is at most the sum of the coefficients that are left out.

**Taylor**: more products, but of nonnegative numbers only, so that the error is relative to each
entry: :math:`e^{-tL} = e^{-tm} \sum_k (t (mI - L))^k / k!` with :math:`m = \max_i L_{ii}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import LinearOperator
from scipy.special import ive

from sparrot._types import FloatArray
from sparrot._validation import as_array, as_choice, as_count, as_positive, as_tolerance
from sparrot.affinity import perplexity as row_perplexity
from sparrot.engine import require_memory
from sparrot.errors import InvalidInputError

_ROUNDING = 1e-12  # of the largest entry: positive entries off the diagonal, or asymmetry
_TAYLOR_STEP = 64.0  # time of one Taylor sum, in mean jumps of the walk
_DENSE = 2000  # points up to which `heat_time` looks at all rows, by one eigendecomposition
_EXACT, _SAMPLED = 1e-12, 1e-4  # relative error of that time, from all rows and from a sample
_LONGEST = 1e12  # time of a Chebyshev sum, in mean jumps of the walk
_STALLED = 1e-9  # the log perplexity has stopped growing if it grows by less as time doubles


def heat_kernel(L: Any, t: float) -> FloatArray:
    r"""All entries of :math:`e^{-tL}`, with relative accuracy for entries as small as 1e-30.

    With :math:`b = \max_i L_{ii}`, :math:`e^{-tL} = e^{-tb} e^{t(bI - L)}` is the exponential of a
    nonnegative matrix: a Taylor sum for :math:`t / 2^s`, squared s times, only ever adds and
    multiplies nonnegative numbers, so that logarithms of the kernel (of Varadhan, of Sinkhorn) are
    accurate far away too. O(n^3) time; `heat_operator` is for large n.

    Parameters
    ----------
    L : (n, n) Laplacian, sparse or dense, as from `laplacian`.
    t : time, in steps of the walk.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.spectral import laplacian
    >>> H = heat_kernel(laplacian(np.ones((3, 3)) - np.eye(3)), 1.0)
    >>> H.round(4)
    array([[0.4821, 0.259 , 0.259 ],
           [0.259 , 0.4821, 0.259 ],
           [0.259 , 0.259 , 0.4821]])
    """
    L, t = _as_laplacian(L), _as_time(t)
    n = L.shape[0]
    require_memory(
        4 * 8.0 * n**2, what=f"the heat kernel of {n} points", remedy="use heat_operator"
    )
    b = float(L.diagonal().max(initial=0.0))
    squarings = max(0, int(np.ceil(np.log2(max(t * b, 1.0)))))
    tau = t / 2**squarings
    A = csr_array(tau * (b * eye_array(n) - L))
    A.data = np.maximum(A.data, 0)
    H = term = np.exp(-tau * b) * np.eye(n)
    for k in range(1, 30):  # rows of A sum to 1 at most: the tail is below 1 / 30!
        term = term @ A / k
        H = H + term
    for _ in range(squarings):
        H = H @ H
    return H


def heat_operator(
    L: Any, t: float, *, series: str = "chebyshev", tol: float = 1e-10
) -> LinearOperator:
    r"""The map :math:`x \mapsto e^{-tL} x`, for vectors and matrices, without the n x n kernel.

    `"chebyshev"`: the error is at most `tol |x|` in the Euclidean norm (for a random walk: weighted
    by the degrees), and the number of products with L grows like the square root of t.
    `"taylor"`: for x >= 0 the error is relative to each entry, however small; the number of
    products grows like t. Constants are kept to rounding by both. `.T` applies the transpose.

    Parameters
    ----------
    L : (n, n) Laplacian, sparse or dense, as from `laplacian`.
    t : time, in steps of the walk.
    series : `"chebyshev"` or `"taylor"`.
    tol : largest relative error of the Chebyshev sum; the Taylor sum is as accurate as rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.spectral import laplacian
    >>> L = laplacian(np.ones((3, 3)) - np.eye(3))
    >>> (heat_operator(L, 1.0) @ np.array([1.0, 0.0, 0.0])).round(4)
    array([0.4821, 0.259 , 0.259 ])
    """
    L, t = _as_laplacian(L), _as_time(t)
    tol = min(as_tolerance(tol, "relative error of a product"), 1.0)
    entrywise = as_choice(series, "series", ("chebyshev", "taylor")) == "taylor"
    forward, backward = (_exponential(A, t, entrywise, tol) for A in (L, csr_array(L.T)))
    H = LinearOperator(
        L.shape,
        matvec=forward,
        matmat=forward,
        rmatvec=backward,
        rmatmat=backward,
        dtype=np.float64,
    )
    H.entrywise = entrywise
    return H


def heat_time(
    L: Any, perplexity: float = 250.0, *, sample: int = 64, random_state: int = 0
) -> float:
    """The time at which the rows of the heat kernel have a given mean perplexity.

    Up to 2,000 points all rows count, and one eigendecomposition serves all times. Above that the
    mean is over a random `sample` of rows, so that t has a sampling error; it is computed to a
    relative accuracy of 1e-4.

    Parameters
    ----------
    L : (n, n) Laplacian, sparse or dense, as from `laplacian`.
    perplexity : the effective number of points that heat from one point has reached.
    sample, random_state : how many rows are looked at where n > 2,000, and the seed of their
        choice.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> from sparrot.spectral import heat_kernel, laplacian
    >>> L = laplacian(sparrot.qot(np.random.default_rng(0).random((100, 2)), perplexity=10))
    >>> t = heat_time(L, 40)
    >>> round(float(sparrot.perplexity(heat_kernel(L, t)).mean()), 4)
    40.0
    """
    L = _as_laplacian(L)
    n = L.shape[0]
    target = as_positive(perplexity, "perplexity", "it is an effective number of points")
    if target <= 1:
        raise InvalidInputError(
            f"must be above 1, got {perplexity!r}",
            parameter="perplexity",
            value=perplexity,
            remedy="it is an effective number of points",
        )
    if n <= _DENSE:
        rows, tol = _all_rows(L), _EXACT
    else:
        rows, tol = _some_rows(L, as_count(sample, "sample", n), random_state), _SAMPLED

    def excess(log_t: float) -> float:
        return float(np.log(row_perplexity(np.maximum(rows(np.exp(log_t)), 0)).mean() / target))

    low, high = _bracket(excess, L, target)
    return float(np.exp(brentq(excess, low, high, xtol=tol)))


def _as_laplacian(L: Any) -> csr_array:
    """A finite square matrix without positive entries off the diagonal, as `csr_array`."""
    made = "pass {sparrot.spectral.laplacian(W)} of an affinity W"
    if hasattr(L, "matrix"):
        raise InvalidInputError("is an affinity, not a Laplacian", parameter="L", remedy=made)
    sparse = issparse(L) and L.ndim == 2 and L.dtype.kind in "buif"
    L = csr_array(L if sparse else as_array(L, "L"), dtype=np.float64)
    if L.shape[0] != L.shape[1]:
        raise InvalidInputError(f"must be square, got shape {L.shape}", parameter="L")
    if not np.isfinite(L.data).all():
        raise InvalidInputError("has entries that are not finite", parameter="L")
    entries = L.tocoo()
    off = entries.data[entries.row != entries.col]
    least = L.diagonal()[entries.row[entries.row != entries.col]].min(initial=np.inf)
    if L.diagonal().min(initial=0.0) < 0 or (off.any() and not least > 0):
        raise InvalidInputError(
            "must be a Laplacian, with a positive diagonal", parameter="L", remedy=made
        )
    if off.max(initial=0.0) > _ROUNDING * abs(L.data).max(initial=0.0):
        raise InvalidInputError(
            "must be a Laplacian, without positive entries off its diagonal, but the largest is "
            f"{off.max():.3g}",
            parameter="L",
            remedy=made,
        )
    return L


def _as_time(t: Any) -> float:
    return as_positive(t, "t", "it counts steps of the walk; heat_time finds one for a perplexity")


def _exponential(
    L: csr_array, t: float, entrywise: bool, tol: float
) -> Callable[[FloatArray], FloatArray]:
    """The map `x -> exp(-t L) x` by one of the two series."""
    m = max(float(L.diagonal().max(initial=0.0)), np.finfo(np.float64).tiny)
    if not entrywise and not t * m <= _LONGEST:
        raise InvalidInputError(
            f"is too long, {t:.3g}: by then all heat is even, and the series has too many terms",
            parameter="t",
            value=t,
            remedy="heat_time finds one for a perplexity",
        )
    if entrywise:
        return lambda x: _taylor_sum(L, m, t, np.asarray(x, dtype=np.float64))
    a = chebyshev_coefficients(t * m, tol)
    return lambda x: _chebyshev_sum(L, 2 * m, a, np.asarray(x, dtype=np.float64))


def chebyshev_coefficients(z: float, tol: float) -> FloatArray:
    r"""The fewest coefficients a_0, ..., a_K whose tail is at most tol, scaled to sum to one.

    They are the distribution of :math:`|X|`, where X is a sum of Poisson jumps by one with variance
    z, and Bernstein's inequality :math:`P(|X| > K) \le 2 \exp(-K^2 / (2 (z + K/3)))` gives a K that
    is large enough to begin with.

    Examples
    --------
    >>> a = chebyshev_coefficients(50.0, 1e-10)
    >>> len(a), round(float(a.sum()), 12)
    (49, 1.0)
    """
    level = np.log(4 / tol)
    far = int(np.ceil(level / 3 + np.sqrt((level / 3) ** 2 + 2 * z * level)))
    a = 2 * ive(np.arange(far + 1), z)
    a[0] /= 2
    tail = a[::-1].cumsum()[::-1]
    kept = a[: max(1, int(np.count_nonzero(tail > tol / 2)))]
    return kept / kept.sum()


def _chebyshev_sum(L: csr_array, b: float, a: FloatArray, x: FloatArray) -> FloatArray:
    """The vector or vectors `sum_k a_k T_k(1 - 2 L / b) x`, by the recurrence of T_k."""
    before, now = x, x - (2 / b) * (L @ x)
    total = a[0] * before
    for a_k in a[1:]:
        total += a_k * now
        before, now = now, 2 * (now - (2 / b) * (L @ now)) - before
    return total


def _taylor_sum(L: csr_array, m: float, t: float, x: FloatArray) -> FloatArray:
    """The vector or vectors `exp(-t L) x` for nonnegative x, in steps that do not underflow."""
    A = csr_array(m * eye_array(L.shape[0]) - L)
    A.data = np.maximum(A.data, 0)
    steps = max(1, int(np.ceil(t * m / _TAYLOR_STEP)))
    tau = t / steps
    n_terms = int(tau * m + 12 * np.sqrt(tau * m) + 40)  # a Poisson tail of less than 1e-16
    for _ in range(steps):
        term = total = np.exp(-tau * m) * x
        for k in range(1, n_terms):
            term = (tau / k) * (A @ term)
            total = total + term
        x = total
    return x


def _all_rows(L: csr_array) -> Callable[[float], FloatArray]:
    """The heat kernel as a function of t, by the eigenvectors of `D^(1/2) L D^(-1/2)`."""
    root = np.exp(_log_measure(L) / 2)
    S = root[:, None] * L.toarray() / root
    values, V = eigh((S + S.T) / 2)
    return lambda t: (V * np.exp(-t * np.maximum(values, 0))) @ V.T * root / root[:, None]


def _some_rows(L: csr_array, sample: int, seed: int) -> Callable[[float], FloatArray]:
    """A random sample of its rows as a function of t."""
    chosen = np.random.default_rng(seed).choice(L.shape[0], sample, replace=False)
    unit = np.zeros((L.shape[0], sample))
    unit[chosen, np.arange(sample)] = 1
    return lambda t: (heat_operator(L, t, tol=1e-8).T @ unit).T


def _log_measure(L: csr_array) -> FloatArray:
    """log pi with `pi_i L_ij = pi_j L_ji`, by a tree in each component; 0 if L is symmetric."""
    log_pi = np.zeros(L.shape[0])
    if abs(L - L.T).max() <= _ROUNDING * abs(L.data).max(initial=0.0):
        return log_pi
    A = L.toarray()
    labels = connected_components(L, directed=False)[1]
    for root in np.unique(labels, return_index=True)[1]:
        order, before = breadth_first_order(L, root, directed=False)
        for i in order[1:]:
            log_pi[i] = log_pi[before[i]] + np.log(A[before[i], i] / A[i, before[i]])
    flow = np.exp(log_pi)[:, None] * A
    if abs(flow - flow.T).max() > 1e-8 * abs(flow).max():
        raise InvalidInputError(
            "is neither symmetric nor the Laplacian of a random walk on a symmetric affinity",
            parameter="L",
            remedy="make it by {sparrot.spectral.laplacian(W)}",
        )
    return log_pi


def _bracket(excess: Callable[[float], float], L: csr_array, target: float) -> tuple[float, float]:
    """Two log times about the target, a factor of two apart; the perplexity grows with time."""
    step = np.log(2.0)
    low = -np.log(max(float(L.diagonal().max(initial=0.0)), np.finfo(np.float64).tiny))
    while excess(low) > 0:
        low -= step
    before, now = -np.inf, excess(low)
    while now < 0:
        if now - before < _STALLED:
            raise InvalidInputError(
                f"is {target:g}, and the mean perplexity of the heat kernel does not pass "
                f"{target * np.exp(now):.6g}: the graph has {L.shape[0]} points in "
                f"{connected_components(L, directed=False)[0]} components",
                parameter="perplexity",
                value=target,
                remedy="ask for less",
            )
        low += step
        before, now = now, excess(low)
    return low - step, low
