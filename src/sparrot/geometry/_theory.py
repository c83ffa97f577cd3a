r"""What QOT tends to as points fill a manifold of dimension d and volume V.

On a manifold that is sampled evenly by N points, to first order, the potential is the same
everywhere: mass balance :math:`\sum_j [2u - C_{ij}]_+ = \varepsilon` becomes an integral over a
ball, and

.. math:: 2u = K_{\varepsilon, N} = C_d \Bigl( \frac{\varepsilon}{2^{d/2} N} \Bigr)^{2/(d+2)},
          \qquad C_d = \Bigl( \frac{V}{|S^{d-1}|} \frac{d (d+2)}{2} \Bigr)^{2/(d+2)},

the paper's C_d, its K in our units (costs halved, rows of mass one). A row of W is then
:math:`[K - |x - y|^2 / 2]_+ / \varepsilon`: a parabola over a ball of radius :math:`\sqrt{2K}`,
with second moment :math:`2K / (d + 4)` in each tangent direction. Hence, for any smooth g,

.. math:: \frac{d + 4}{K_{\varepsilon, N}} \sum_j W_{0j} \bigl( g(x_j) - g(x_0) \bigr) \to
          \Delta g(x_0) = \mathrm{tr}(Q_0 \Pi) + \langle \nabla g(x_0), H_0 \rangle

with :math:`\Pi` the projection to the tangent space, :math:`Q_0` the Hessian of g in the ambient
space and :math:`H_0` the mean curvature vector (the trace of the second fundamental form,
:math:`d\,\mathfrak N`). The paper's limit is half of this, its constant that of a kernel that is
flat on the ball.

The same parabola solves the porous medium equation :math:`\partial_t u = \Delta (u^2)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gamma

from sparrot._types import FloatArray
from sparrot._validation import (
    as_affinity,
    as_array,
    as_count,
    as_finite,
    as_points,
    as_positive,
    as_public_metric,
)
from sparrot.affinity import Affinity
from sparrot.affinity._graphs import costs_below
from sparrot.cost import make_cost
from sparrot.errors import InvalidInputError


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
    eps : regularization in the units of C (`Affinity.eps`, not relative to the mean cost).
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


def potential_exponent(dimension: int) -> float:
    """The exponent `2 / (2 + d)` with which potentials grow with eps.

    Examples
    --------
    >>> potential_exponent(2)
    0.5
    """
    return 2 / (2 + as_count(dimension, "dimension", 10**3))


def scaling_exponent(x: Any, y: Any) -> float:
    """The slope of log y against log x, by least squares.

    Examples
    --------
    >>> round(scaling_exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    x, y = as_finite(x, None, "x"), as_finite(y, None, "y")
    fit = x.shape == y.shape and x.ndim == 1 and bool(((x > 0) & (y > 0)).all())
    if not fit or len(np.unique(np.log(x))) < 2:
        raise InvalidInputError(
            "and y must be equally many positive numbers, at two or more different x, got "
            f"shapes {x.shape} and {y.shape}",
            parameter="x",
            value=x.shape,
        )
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def laplacian_estimate(W: Any, g: Any, level: float, dimension: int) -> FloatArray:
    r"""The Laplace-Beltrami operator at every point.

    .. math:: \frac{d + 4}{K} \sum_j W_{ij} (g_j - g_i)

    A hollow row lacks its peak, so that with k neighbors the estimate is too large, by a relative
    error of order 1/k.

    Parameters
    ----------
    W : (n, n) QOT affinity, or the first-order kernel.
    g : (n,) values of a function at the points.
    level : K, from `potential_level`, or twice the mean potential of the affinity.
    dimension : intrinsic dimension d.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> t = 2 * np.pi * np.arange(1000) / 1000
    >>> a = sparrot.qot(np.c_[np.cos(t), np.sin(t)], 1.0)
    >>> K = potential_level(a.eps, 1000, 1, 2 * np.pi)
    >>> laplacian_estimate(a, np.cos(t), K, 1)[[0, 250, 500]].round(1) + 0.0
    array([-1.,  0.,  1.])
    """
    W = csr_array(as_affinity(W))
    d = as_count(dimension, "dimension", 10**3)
    K = as_positive(level, "level", "it is potential_level(eps, n, dimension, volume)")
    values = as_finite(g, (W.shape[0],), "g")
    return (d + 4) / K * (W @ values - W.sum(axis=1) * values)


def laplace_beltrami(gradient: Any, hessian: Any, tangent: Any, curvature: Any) -> float:
    r"""The limit operator at a point: :math:`\mathrm{tr}(Q \Pi) + \langle \nabla g, H \rangle`.

    Parameters
    ----------
    gradient, hessian : (p,) and (p, p), of g in the ambient space.
    tangent : (p, d) basis of the tangent space.
    curvature : (p,) mean curvature vector H, the sum over the tangent directions.

    Examples
    --------
    >>> import numpy as np
    >>> top = np.array([0.0, 0.0, 1.0])  # of the unit sphere, for g(x, y, z) = z
    >>> laplace_beltrami(top, np.zeros((3, 3)), np.eye(3)[:, :2], -2 * top)
    -2.0
    """
    Q = np.linalg.qr(as_array(tangent, "tangent"))[0]
    p = len(Q)
    gradient = as_finite(gradient, (p,), "gradient")
    curvature = as_finite(curvature, (p,), "curvature")
    hessian = as_finite(hessian, (p, p), "hessian")
    return float(np.trace(Q.T @ hessian @ Q) + np.dot(gradient, curvature))


def barenblatt(r: Any, t: float, dimension: int, *, mass: float = 1.0) -> FloatArray:
    r"""The solution of :math:`\partial_t u = \Delta (u^2)` that starts from a point mass.

    .. math:: u(r, t) = t^{-1} \Bigl[ B\, t^{2/(d+2)} - \frac{r^2}{4 (d+2)} \Bigr]_+, \qquad
              \mathrm{mass} = |S^{d-1}| \frac{2 (4 (d+2))^{d/2}}{d (d+2)} B^{(d+2)/2}

    Parameters
    ----------
    r : distances from the origin.
    t : time.
    dimension : d.
    mass : the integral of u, the same at all times.

    Examples
    --------
    >>> barenblatt([0.0, 1.0, 2.0], 1.0, 1).round(4)
    array([0.3606, 0.2772, 0.0272])
    """
    d = as_count(dimension, "dimension", 10**3)
    t = as_positive(t, "t", "the solution starts from a point mass at t = 0")
    mass = as_positive(mass, "mass", "it is the integral of the solution")
    unit = sphere_area(d) * 2 * (4 * (d + 2)) ** (d / 2) / (d * (d + 2))
    B = (mass / unit) ** (2 / (d + 2))
    r = as_finite(r, None, "r")
    with np.errstate(over="ignore"):  # far away it is zero
        return np.maximum(B * t ** (2 / (d + 2)) - r**2 / (4 * (d + 2)), 0) / t


def barenblatt_time(eps: float, n: int, dimension: int, volume: float) -> float:
    r"""The time at which Barenblatt's profile is a row of QOT to first order, as a density.

    A row, :math:`\frac{N}{V} W_{0j}` per unit of volume, equals `barenblatt(r, t, d)` at
    :math:`t = \varepsilon V / (2 (d+2) N)`.

    Examples
    --------
    >>> import numpy as np
    >>> t, r = barenblatt_time(0.1, 500, 2, 3.0), 0.05
    >>> row = (potential_level(0.1, 500, 2, 3.0) - r**2 / 2) / 0.1
    >>> bool(np.isclose(500 / 3.0 * row, barenblatt(r, t, 2)))
    True
    """
    d = as_count(dimension, "dimension", 10**3)
    eps = as_positive(eps, "eps", "it is in the units of the cost, the `eps` of an affinity")
    V = as_positive(volume, "volume", "it is the volume of the manifold in the units of X")
    return eps * V / (2 * (d + 2) * as_count(n, "n", 2**62))
