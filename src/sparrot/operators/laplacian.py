r"""Laplacians of an affinity W with degrees :math:`D = \mathrm{diag}(W 1)`.

All are positive semidefinite, with constants in their kernel (for the symmetric one,
:math:`D^{1/2} 1`): the sign is that of :math:`-\Delta`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from sparrot.operators.normalise import degrees, scaled
from sparrot.types import FloatArray
from sparrot.validation import as_affinity, as_choice, as_functions

_KINDS = ("random_walk", "symmetric", "combinatorial")


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
    kind = as_choice(kind, "kind", _KINDS)
    W = as_affinity(W)
    n = W.shape[0]
    if kind == "combinatorial":
        return csr_array(diags_array(W.sum(axis=1)) - csr_array(W))
    power = 1.0 if kind == "random_walk" else 0.5
    degree = degrees(W)
    P = scaled(W, degree**-power, degree ** (power - 1))
    return csr_array(diags_array(np.ones(n)) - csr_array(P))


def laplace(W: Any, F: Any, *, kind: str = "random_walk") -> FloatArray:
    """The Laplace operator applied to functions on the points: `L F`, without forming L.

    `(L f)_i = sum_j P_ij (f_i - f_j)` for the random walk: how much f at a point exceeds its mean
    over the neighbours. On a manifold this tends to a multiple of the negative Laplacian of f.

    Parameters
    ----------
    W : (n, n) affinity.
    F : (n,) or (n, m) functions, one a column.
    kind : as for `laplacian`.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> laplace(ring, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    array([-0.5,  1. , -0.5,  0. ,  0. ,  0. ])
    """
    kind = as_choice(kind, "kind", _KINDS)
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
