r"""QOT on a manifold, to first order: a potential that is the same everywhere.

On a manifold of dimension d and volume V, sampled evenly by N points, mass balance
:math:`\sum_j [2u - C_{ij}]_+ = \varepsilon` becomes an integral over a ball, and

.. math:: 2u = K_{\varepsilon, N} = C_d \Bigl( \frac{\varepsilon}{2^{d/2} N} \Bigr)^{2/(d+2)},
          \qquad C_d = \Bigl( \frac{V}{|S^{d-1}|} \frac{d (d+2)}{2} \Bigr)^{2/(d+2)},

the paper's C_d, its K in our units (costs halved, rows of mass one).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gamma

from sparrot.affinity.arguments import as_public_metric
from sparrot.affinity.compact import costs_below
from sparrot.affinity.result import Affinity
from sparrot.cost import make_cost
from sparrot.validation import as_count, as_points, as_positive


def first_order(
    X: Any, eps: float = 1.0, *, dimension: int, volume: float, metric: str = "sqeuclidean"
) -> Affinity:
    r"""The kernel that QOT tends to on a manifold: a potential that is the same everywhere.

    The kernel is :math:`[K_{\varepsilon, N} - C_{ij}]_+ / \varepsilon` off the diagonal, with
    the level :math:`K_{\varepsilon, N}` of `sparrot.geometry.potential_level`.

    Parameters
    ----------
    X, eps, metric : as for `qot`.
    dimension, volume : intrinsic dimension d and volume V of the manifold, in the units of X.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> t = 2 * np.pi * np.arange(400) / 400
    >>> X = np.c_[np.cos(t), np.sin(t)]
    >>> K = sparrot.first_order(X, 0.1, dimension=1, volume=2 * np.pi).matrix
    >>> W = sparrot.qot(X, 0.1).matrix
    >>> bool(abs(K - W).max() < 0.1 * W.max())
    True
    """
    relative = as_positive(eps, "eps", "it is relative to the mean cost, 1.0 is a good start")
    cost = make_cost(as_points(X, as_public_metric(metric)), metric)
    eps = relative * cost.unit
    K_eps_N = potential_level(eps, cost.n, dimension, volume)
    C = costs_below(cost, K_eps_N / cost.unit, hollow=True)
    K = csr_array(((K_eps_N - cost.unit * C.data) / eps, C.indices, C.indptr), shape=C.shape)
    potential = np.full(cost.n, K_eps_N / 2)
    return Affinity("first-order", K, cost.mean(), metric, potential, eps)


def potential_level(eps: float, n: int, dimension: int, volume: float) -> float:
    r"""The level :math:`K_{\varepsilon, N}`, twice the first-order potential.

    Parameters
    ----------
    eps : regularisation in the units of C (`Affinity.eps`, not relative to the mean cost).
    n : number of points N.
    dimension, volume : intrinsic dimension d and volume V of the manifold.

    Examples
    --------
    >>> round(potential_level(1.0, 1000, 1, 2 * 3.141592653589793), 6)
    0.022309
    """
    d = as_count(dimension, "dimension", 10**3)
    eps = as_positive(eps, "eps", "it is in the units of the cost, the `eps` of an affinity")
    n = as_count(n, "n", 2**62)
    level = dimension_constant(d, volume) * (eps / (2 ** (d / 2) * n)) ** (2 / (d + 2))
    return float(level)


def dimension_constant(dimension: int, volume: float) -> float:
    r"""The constant C_d of a manifold of dimension d and volume V.

    Examples
    --------
    >>> round(dimension_constant(1, 2 * 3.141592653589793), 4)
    2.8108
    """
    d = as_count(dimension, "dimension", 10**3)
    V = as_positive(volume, "volume", "it is the volume of the manifold in the units of X")
    return float((V / sphere_area(d) * d * (d + 2) / 2) ** (2 / (d + 2)))


def sphere_area(d: int) -> float:
    r"""The area :math:`|S^{d-1}|` of the unit sphere in d dimensions.

    Examples
    --------
    >>> [round(sphere_area(d), 4) for d in (1, 2, 3)]
    [2.0, 6.2832, 12.5664]
    """
    return float(2 * np.pi ** (d / 2) / gamma(d / 2))
