"""Points on a sphere, evenly in law."""

from __future__ import annotations

import numpy as np

from sparrot.types import FloatArray
from sparrot.validation import as_count


def make_sphere(
    n: int = 1000, d: int = 2, *, random_state: int | np.random.Generator | None = 0
) -> FloatArray:
    """Uniform points on the unit sphere of dimension d, in d + 1 coordinates.

    Parameters
    ----------
    n, d : number of points, and dimension of the sphere.
    random_state : seed or generator.

    Examples
    --------
    >>> X = make_sphere(100, 3)
    >>> X.shape, round(float((X**2).sum(axis=1).max()), 6)
    ((100, 4), 1.0)
    """
    n, d = as_count(n, "n", 10**9), as_count(d, "d", 10**6)
    Z = np.random.default_rng(random_state).standard_normal((n, d + 1))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)
