r"""The paper's mixture of Gaussians: means on the unit circle, spreads that differ.

Cluster i of k has mean :math:`r (\sin \theta_i, \cos \theta_i, 0, \dots, 0)` with
:math:`\theta_i = 2 \pi i / k`, and covariance :math:`\sigma_i^2 I` in d dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Mixture:
    """Points of a mixture of Gaussians.

    Attributes
    ----------
    X : (n, d) points.
    clean : (n, 2) the same points without noise: each at the mean of its cluster.
    labels : (n,) cluster of each point, in order.
    """

    X: FloatArray
    clean: FloatArray
    labels: IntArray


def make_mixture(
    n_per_cluster: int = 500,
    d: int = 250,
    *,
    spread: tuple[float, ...] = (0.3, 0.6, 1.0),
    radius: float = 1.0,
    random_state: int | np.random.Generator | None = 0,
) -> Mixture:
    """Sample the mixture of the paper.

    Parameters
    ----------
    n_per_cluster, d : number of points of each cluster, and of dimensions (at least 2).
    spread : standard deviation in each coordinate, one a cluster.
    radius : of the circle of means. The paper's text has 1, its code 1.5.
    random_state : seed or generator.

    Examples
    --------
    >>> m = make_mixture(50, 10)
    >>> m.X.shape, m.labels[[0, 50, 149]].tolist()
    ((150, 10), [0, 1, 2])
    """
    if n_per_cluster < 1 or d < 2 or len(spread) < 1:
        raise InvalidInputError(
            f"the mixture needs points, d >= 2 and a spread for each cluster, got "
            f"n_per_cluster={n_per_cluster}, d={d}, spread={spread}"
        )
    rng = np.random.default_rng(random_state)
    k = len(spread)
    labels = np.repeat(np.arange(k), n_per_cluster)
    theta = 2 * np.pi * labels / k
    clean = radius * np.stack([np.sin(theta), np.cos(theta)], axis=1)
    X = rng.standard_normal((len(labels), d)) * np.asarray(spread)[labels, None]
    X[:, :2] += clean
    return Mixture(X, clean, labels)
