r"""Normalisations of an affinity W by its degrees :math:`D = \mathrm{diag}(W 1)`."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse

from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray
from sparrot.validation import as_affinity


def symmetric_normalisation(W: Any) -> csr_array:
    """The matrix `S = D^(-1/2) W D^(-1/2)`, for an `Affinity`, a dense or a sparse matrix W.

    Examples
    --------
    >>> import numpy as np
    >>> symmetric_normalisation(np.array([[0.0, 4.0], [4.0, 0.0]])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    W = as_affinity(W)
    scale = 1 / np.sqrt(degrees(W))
    return csr_array(scaled(W, scale, scale))


def degrees(W: csr_array | FloatArray) -> FloatArray:
    """The row sums of W; a point without any affinity is an error.

    Examples
    --------
    >>> import numpy as np
    >>> degrees(np.array([[0.0, 4.0], [4.0, 1.0]]))
    array([4., 5.])
    """
    degree: FloatArray = W.sum(axis=1)
    isolated = np.flatnonzero(~(degree > 0))
    if len(isolated):
        raise InvalidInputError(
            f"point {isolated[0]} has no positive affinity ({len(isolated)} such points); "
            "take more neighbours, or a larger eps or bandwidth"
        )
    return degree


def scaled(W: Any, left: FloatArray, right: FloatArray) -> Any:
    """The matrix `diag(left) W diag(right)`, sparse or dense as W is.

    Each entry is multiplied by `left_i right_j` at once, so that a symmetric matrix scaled by the
    same numbers on both sides stays symmetric to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> scaled(np.ones((2, 2)), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([[3., 4.],
           [6., 8.]])
    """
    if not issparse(W):
        return W * (left[:, None] * right)
    A = csr_array(W, copy=True)
    A.data *= np.repeat(left, np.diff(A.indptr)) * right[A.indices]
    return A


def random_walk(W: Any, *, lazy: float = 0.0) -> csr_array:
    """The random walk `P = D^-1 W`; a lazy one stays where it is with probability `lazy`.

    W need not be symmetric. Rows of P sum to one, and `lazy = 1/2` makes its eigenvalues
    nonnegative where W is symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> random_walk(np.array([[0.0, 1.0], [1.0, 0.0]]), lazy=0.25).toarray()
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    lazy = as_laziness(lazy)
    W = as_affinity(W, symmetric=False)
    n = W.shape[0]
    P = csr_array(scaled(W, 1 / degrees(W), np.ones(n)))
    return csr_array(lazy * eye_array(n) + (1 - lazy) * P) if lazy else P


def alpha_normalisation(W: Any, alpha: float = 1.0) -> csr_array:
    """Coifman and Lafon's `D^-alpha W D^-alpha`, which takes out the density of the points.

    On a manifold the walk on the result tends to the Laplace-Beltrami operator for alpha = 1, to
    the Fokker-Planck operator for 1/2, and to a Laplacian weighted by the density for 0. A
    bistochastic affinity is left as it is.

    Examples
    --------
    >>> import numpy as np
    >>> alpha_normalisation(np.array([[1.0, 1.0], [1.0, 3.0]])).toarray()
    array([[0.25  , 0.125 ],
           [0.125 , 0.1875]])
    """
    W = as_affinity(W)
    scale = degrees(W) ** -as_exponent(alpha)
    return csr_array(scaled(W, scale, scale))


def as_exponent(alpha: Any) -> float:
    """The exponent of `alpha_normalisation`, from 0 to 1.

    Examples
    --------
    >>> as_exponent(1)
    1.0
    """
    if not isinstance(alpha, Real) or not 0 <= float(alpha) <= 1:
        raise InvalidInputError(
            f"alpha must be from 0 to 1, got {alpha!r}; 0 keeps the density, 1 takes it out"
        )
    return float(alpha)


def as_laziness(lazy: Any) -> float:
    """The probability that a lazy walk stays where it is, below 1.

    Examples
    --------
    >>> as_laziness(0.5)
    0.5
    """
    if not isinstance(lazy, Real) or not 0 <= float(lazy) < 1:
        raise InvalidInputError(
            f"lazy must be a probability below 1, got {lazy!r}; 0 never stays, 0.5 every other step"
        )
    return float(lazy)
