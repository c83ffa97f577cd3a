"""How well an affinity recovers a structure that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import subspace_angles


def mean_principal_angle(A: Any, B: Any) -> float:
    """Mean of the principal angles between the column spaces of A and B, in radians.

    0 if the spaces are the same, pi/2 if they are orthogonal.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.eye(4)[:, :2]
    >>> mean_principal_angle(A, A[:, ::-1]), round(mean_principal_angle(A, np.eye(4)[:, 2:]), 4)
    (0.0, 1.5708)
    """
    return float(np.mean(subspace_angles(np.asarray(A), np.asarray(B))))
