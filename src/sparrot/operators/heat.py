r"""The heat kernel :math:`H_t = e^{-tL}` of a Laplacian L: where a walk is after time t.

L is symmetric (:math:`I - W` of a bistochastic W, or :math:`D - W`) or that of the random walk
(:math:`I - D^{-1} W`). It is positive semidefinite up to similarity and no entry off its
diagonal is positive; this gives :math:`0 \le \lambda \le 2 \max_i L_{ii}`, because
:math:`-x^\top W x \le |x|^\top W |x| \le x^\top D x`. The walk jumps at rate one: t counts steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.linalg import LinearOperator

from sparrot.engine import require_memory
from sparrot.errors import InvalidInputError
from sparrot.operators.series import chebyshev_sum, heat_coefficients, taylor_sum
from sparrot.types import FloatArray
from sparrot.validation import as_array, as_choice, as_positive

_ROUNDING = 1e-12  # of the largest entry, what may be positive off the diagonal


def heat_kernel(L: Any, t: float) -> FloatArray:
    r"""All entries of :math:`e^{-tL}`, with relative accuracy for entries as small as 1e-30.

    With :math:`b = \max_i L_{ii}`, :math:`e^{-tL} = e^{-tb} e^{t(bI - L)}` is the exponential of a
    nonnegative matrix: a Taylor sum for :math:`t / 2^s`, squared s times, only ever adds and
    multiplies nonnegative numbers, so that logarithms of the kernel (of Varadhan, of Sinkhorn) mean
    something far away too. O(n^3) time; `heat_operator` is for large n.

    Parameters
    ----------
    L : (n, n) Laplacian, sparse or dense, as from `laplacian`.
    t : time, in steps of the walk.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.operators import laplacian
    >>> H = heat_kernel(laplacian(np.ones((3, 3)) - np.eye(3)), 1.0)
    >>> H.round(4)
    array([[0.4821, 0.259 , 0.259 ],
           [0.259 , 0.4821, 0.259 ],
           [0.259 , 0.259 , 0.4821]])
    """
    L, t = as_laplacian(L), _as_time(t)
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
    >>> from sparrot.operators import laplacian
    >>> L = laplacian(np.ones((3, 3)) - np.eye(3))
    >>> (heat_operator(L, 1.0) @ np.array([1.0, 0.0, 0.0])).round(4)
    array([0.4821, 0.259 , 0.259 ])
    """
    L, t = as_laplacian(L), _as_time(t)
    tol = as_positive(tol, "tol", "it is the relative error of a product, 1e-10 is a good choice")
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


def as_laplacian(L: Any) -> csr_array:
    """A finite square matrix without positive entries off the diagonal, as `csr_array`."""
    if hasattr(L, "matrix"):
        raise InvalidInputError(
            "a Laplacian is needed, and this is an affinity; pass sparrot.operators.laplacian(W)"
        )
    L = csr_array(L if issparse(L) else as_array(L, "L"), dtype=np.float64)
    if L.shape[0] != L.shape[1]:
        raise InvalidInputError(f"a Laplacian must be square, got shape {L.shape}")
    if not np.isfinite(L.data).all():
        raise InvalidInputError("the Laplacian has entries that are not finite")
    entries = L.tocoo()
    off = entries.data[entries.row != entries.col]
    if off.max(initial=0.0) > _ROUNDING * abs(L.data).max(initial=0.0):
        raise InvalidInputError(
            f"a Laplacian has no positive entries off its diagonal, but the largest is "
            f"{off.max():.3g}; of an affinity W, pass sparrot.operators.laplacian(W)"
        )
    return L


def _as_time(t: Any) -> float:
    return as_positive(t, "t", "it counts steps of the walk; heat_time finds one for a perplexity")


def _exponential(
    L: csr_array, t: float, entrywise: bool, tol: float
) -> Callable[[FloatArray], FloatArray]:
    m = max(float(L.diagonal().max(initial=0.0)), np.finfo(np.float64).tiny)
    if entrywise:
        return lambda x: taylor_sum(L, m, t, np.asarray(x, dtype=np.float64))
    a = heat_coefficients(t * m, tol)
    return lambda x: chebyshev_sum(L, 2 * m, a, np.asarray(x, dtype=np.float64))
