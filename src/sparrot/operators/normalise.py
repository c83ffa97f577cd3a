r"""Normalisations of an affinity W by its degrees :math:`D = \mathrm{diag}(W 1)`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

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
