"""An affinity seen from afar: what a picture of it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from sparrot.types import FloatArray, IntArray


def coarse_grained(W: Any, place: IntArray, m: int) -> FloatArray:
    """Mean entry in each of m x m cells (n x n if n is smaller); no n x n array is made.

    Parameters
    ----------
    W : (n, n) matrix, sparse or dense.
    place : (n,) position of each point in the picture, a permutation.
    m : cells in a row of the picture.

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
