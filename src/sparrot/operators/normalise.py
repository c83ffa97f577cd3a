"""Normalisations of an affinity by its degrees."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from sparrot.errors import InvalidInputError


def symmetric_normalisation(W: Any) -> csr_array:
    """The matrix `D^(-1/2) W D^(-1/2)` with `D = diag(W1)`, for a dense or sparse W.

    Examples
    --------
    >>> import numpy as np
    >>> symmetric_normalisation(np.array([[0.0, 4.0], [4.0, 0.0]])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    W = csr_array(W)
    degree = W.sum(axis=1)
    isolated = np.flatnonzero(~(degree > 0))
    if len(isolated):
        raise InvalidInputError(
            f"point {isolated[0]} has no positive affinity ({len(isolated)} such points); "
            "take more neighbours, or a larger eps or bandwidth"
        )
    scale = diags_array(1 / np.sqrt(degree))
    return csr_array(scale @ W @ scale)
