"""Multidimensional scaling: a few coordinates that keep the distances between many."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from sparrot._types import FloatArray
from sparrot._validation import as_count, as_points
from sparrot.cost import make_cost
from sparrot.engine import require_memory


def mds_layout(Y: Any, n_components: int = 2, *, max_iter: int = 300) -> FloatArray:
    r"""Metric multidimensional scaling of coordinates, by scikit-learn's SMACOF.

    Minimizes :math:`\sum_{i<j} (|z_i - z_j| - |y_i - y_j|)^2` over layouts z with few coordinates,
    starting from the principal components of Y, so that the result is the same every time. Needs
    memory for the n x n distances.

    Parameters
    ----------
    Y : (n, m) coordinates, such as those of `sparrot.DiffusionMap`.
    n_components : number of coordinates of the layout, at most m.
    max_iter : steps of SMACOF.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    >>> Z = mds_layout(square)
    >>> np.linalg.norm(Z[0] - Z[[1, 2, 3]], axis=1).round(3)
    array([1.   , 1.414, 1.   ])
    """
    Y = np.asarray(as_points(Y, name="Y"), dtype=np.float64)
    n_components = as_count(n_components, "n_components", min(Y.shape))
    require_memory(
        32.0 * len(Y) ** 2, what=f"the distances of {len(Y)} points", remedy="lay out fewer points"
    )
    make_cost(Y, "sqeuclidean")  # refuses what overflows, and equal points
    left, values, _ = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)
    start = left[:, :n_components] * values[:n_components]
    layout: FloatArray = smacof(
        squareform(pdist(Y)),
        n_components=n_components,
        init=start,
        n_init=1,
        max_iter=as_count(max_iter, "max_iter", 10**9),
        eps=1e-6,
        normalized_stress=False,
    )[0]
    return layout
