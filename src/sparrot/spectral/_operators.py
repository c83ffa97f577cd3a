r"""Operators on functions on the points, made from an affinity W by its degrees D.

With :math:`D = \mathrm{diag}(W 1)`, the random walk is :math:`P = D^{-1} W`, and
:math:`S = D^{-1/2} W D^{-1/2}` is symmetric and has the same eigenvalues. Laplacians have the sign
of :math:`-\Delta`: they are positive semidefinite, and constants are in their kernel
(:math:`D^{1/2} 1` for the symmetric one).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array, eye_array, issparse

from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_affinity, as_choice, as_functions, as_real
from sparrot.errors import InvalidInputError

_LAPLACIANS = ("random_walk", "symmetric", "combinatorial")


def symmetric_normalization(W: Any) -> csr_array:
    """The matrix `S = D^(-1/2) W D^(-1/2)`, for an `Affinity`, a dense or a sparse matrix W.

    Examples
    --------
    >>> import numpy as np
    >>> symmetric_normalization(np.array([[0.0, 4.0], [4.0, 0.0]])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    W = as_affinity(W)
    scale = 1 / np.sqrt(degrees(W))
    return csr_array(scaled(W, scale, scale))


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


def alpha_normalization(W: Any, alpha: float = 1.0) -> csr_array:
    """Coifman and Lafon's `D^-alpha W D^-alpha`, which takes out the density of the points.

    On a manifold the walk on the result tends to the Laplace-Beltrami operator for alpha = 1, to
    the Fokker-Planck operator for 1/2, and to a Laplacian weighted by the density for 0. A
    bistochastic affinity is left as it is.

    Examples
    --------
    >>> import numpy as np
    >>> alpha_normalization(np.array([[1.0, 1.0], [1.0, 3.0]])).toarray()
    array([[0.25  , 0.125 ],
           [0.125 , 0.1875]])
    """
    W = as_affinity(W)
    scale = degrees(W) ** -as_exponent(alpha)
    return csr_array(scaled(W, scale, scale))


def laplacian(W: Any, kind: str = "random_walk") -> csr_array:
    """The Laplacian of an affinity.

    =================  ==============================
    `random_walk`      `L = I - D^-1 W`
    `symmetric`        `L = I - D^(-1/2) W D^(-1/2)`
    `combinatorial`    `L = D - W`
    =================  ==============================

    For a bistochastic affinity the three are the same. Eigenvalues of the first two lie in [0, 2].

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    kind : which Laplacian.

    Examples
    --------
    >>> import numpy as np
    >>> laplacian(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 2.0], [0.0, 2.0, 0.0]])).toarray()
    array([[ 1. , -1. ,  0. ],
           [-0.5,  1. , -0.5],
           [ 0. , -1. ,  1. ]])
    """
    kind = as_choice(kind, "kind", _LAPLACIANS)
    W = as_affinity(W)
    if kind == "combinatorial":
        return csr_array(diags_array(W.sum(axis=1)) - csr_array(W))
    power = 1.0 if kind == "random_walk" else 0.5
    degree = degrees(W)
    P = scaled(W, degree**-power, degree ** (power - 1))
    return csr_array(diags_array(np.ones(W.shape[0])) - csr_array(P))


def laplace(W: Any, F: Any, *, kind: str = "random_walk") -> FloatArray:
    """The Laplace operator applied to functions on the points: `L F`, without forming L.

    `(L f)_i = sum_j P_ij (f_i - f_j)` for the random walk: how much f at a point exceeds its mean
    over the neighbors. On a manifold this tends to a multiple of the negative Laplacian of f.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    F : (n,) or (n, m) functions, one per column.
    kind : as for `laplacian`.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> laplace(ring, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    array([-0.5,  1. , -0.5,  0. ,  0. ,  0. ])
    """
    kind = as_choice(kind, "kind", _LAPLACIANS)
    W = as_affinity(W)
    F = as_functions(F, W.shape[0])
    columns = F.reshape(len(F), -1)
    if kind == "combinatorial":
        result = W.sum(axis=1)[:, None] * columns - W @ columns
    else:
        power = 1.0 if kind == "random_walk" else 0.5
        degree = degrees(W)[:, None]
        result = columns - degree**-power * (W @ (degree ** (power - 1) * columns))
    return result.reshape(F.shape)


def coarse_grained(W: Any, place: IntArray, m: int) -> FloatArray:
    """Mean entry of W in each of m x m cells, as a picture of it shows; no n x n array is made.

    Parameters
    ----------
    W : (n, n) matrix, sparse or dense.
    place : (n,) position of each point in the picture, a permutation.
    m : cells in a row of the picture; n if n is smaller.

    Examples
    --------
    >>> W = np.array([[0.0, 4.0, 0.0, 0.0], [4.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4])
    >>> coarse_grained(W, np.arange(4), 2)
    array([[2., 0.],
           [0., 0.]])
    """
    W = coo_array(W)
    n = len(place)
    m = min(n, m)
    cell = place * m // n
    row, col = W.coords
    total = np.bincount(cell[row] * m + cell[col], weights=W.data, minlength=m * m)
    width = np.bincount(cell, minlength=m)
    return total.reshape(m, m) / np.outer(width, width)


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
            f"point {isolated[0]} has no positive affinity ({len(isolated)} of {len(degree)} "
            "points have none)",
            remedy=["take more neighbors", "take a larger {eps}", "take a larger {bandwidth}"],
        )
    return degree


def scaled(W: Any, left: FloatArray, right: FloatArray) -> Any:
    """The matrix `diag(left) W diag(right)`, sparse or dense as W is.

    Each entry is multiplied by the product `left_i right_j`, so that a symmetric matrix scaled by
    the same numbers on both sides stays symmetric to the last bit.

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


def as_exponent(alpha: Any) -> float:
    """The exponent of `alpha_normalization`, from 0 to 1.

    Examples
    --------
    >>> as_exponent(1)
    1.0
    """
    if not 0 <= as_real(alpha) <= 1:
        raise InvalidInputError(
            f"must be from 0 to 1, got {alpha!r}",
            parameter="alpha",
            value=alpha,
            remedy="0 keeps the density, 1 takes it out",
        )
    return float(alpha)


def as_laziness(lazy: Any) -> float:
    """The probability that a lazy walk stays where it is, below 1.

    Examples
    --------
    >>> as_laziness(0.5)
    0.5
    """
    if not 0 <= as_real(lazy) < 1:
        raise InvalidInputError(
            f"must be a probability below 1, got {lazy!r}",
            parameter="lazy",
            value=lazy,
            remedy="0 never stays, 0.5 stays every other step",
        )
    return float(lazy)
