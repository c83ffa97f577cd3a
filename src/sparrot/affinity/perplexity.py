"""How many neighbours a row effectively has."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray
from sparrot.validation import as_array


def perplexity(W: Any) -> FloatArray:
    r"""Effective number of neighbours of each row: the exponential of its entropy.

    .. math:: \exp\Bigl(-\sum_j p_{ij} \log p_{ij}\Bigr), \qquad p_{ij} = W_{ij} / \sum_k W_{ik}

    A row with k equal entries has perplexity k.

    Parameters
    ----------
    W : nonnegative matrix, dense or sparse, or an `Affinity`; rows need not sum to one.

    Examples
    --------
    >>> perplexity(np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 2.0], [1.0, 1.0, 1.0]]))
    array([2., 1., 3.])
    """
    W = getattr(W, "matrix", W)
    W = W.tocsr() if issparse(W) else np.asarray(as_array(W, "W"), dtype=np.float64)
    if ((W.data if issparse(W) else W) < 0).any():
        raise InvalidInputError("perplexity needs a matrix without negative entries")
    sums = np.asarray(W.sum(axis=1)).ravel()
    if not (sums > 0).all():
        row = int(np.flatnonzero(~(sums > 0))[0])
        raise InvalidInputError(f"row {row} has no positive entry, so it has no perplexity")
    if issparse(W):
        terms = W.copy()
        terms.data = _x_log_x(W.data)
        total = np.asarray(terms.sum(axis=1)).ravel()
    else:
        total = _x_log_x(W).sum(axis=1)
    return np.exp(np.log(sums) - total / sums)


def _x_log_x(x: FloatArray) -> FloatArray:
    return x * np.log(np.where(x > 0, x, 1.0))
