"""Eigenvectors of an affinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from sparrot.errors import InvalidInputError
from sparrot.operators import symmetric_normalisation
from sparrot.types import FloatArray

_DENSE = 2000  # below that a dense solver is as fast, and never fails


def leading_eigenvectors(W: Any, k: int) -> tuple[FloatArray, FloatArray]:
    """The k algebraically largest eigenvalues of `D^(-1/2) W D^(-1/2)`, descending, and vectors.

    These are the smallest of the normalised Laplacian, the trivial one first. Signs are fixed (the
    entry of largest size is positive) and the start is seeded, so that the result is the same
    every time.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> values, vectors = leading_eigenvectors(ring, 3)
    >>> values.round(6), vectors.shape
    (array([1. , 0.5, 0.5]), (6, 3))
    """
    S = symmetric_normalisation(W)
    n = S.shape[0]
    if not 1 <= k < n:
        raise InvalidInputError(f"the number of eigenvectors must be in 1..{n - 1}, got {k}")
    if n <= _DENSE:
        values, vectors = eigh(S.toarray(), subset_by_index=[n - k, n - 1])
    else:
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(S, k, which="LA", v0=start)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(k)]
    return values, vectors * np.where(peaks < 0, -1.0, 1.0)
