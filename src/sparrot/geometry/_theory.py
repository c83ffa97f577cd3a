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

The limit is one in which the number of neighbors grows and their radius falls,
:math:`1 \ll k \ll N`: in our units :math:`N^{-2/d} \ll \varepsilon \ll N`, in the paper's, whose
eps is N times ours, :math:`N^{1 - 2/d} \ll \varepsilon \ll N^2`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
from sparrot.affinity import Affinity, costs_below
from sparrot.cost import make_cost
from sparrot.engine import require_memory
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


def expected_neighbors(eps: float, n: int, dimension: int, volume: float) -> float:
    r"""How many of n points on a manifold a row of QOT has for neighbors, to first order.

    .. math:: k = N \frac{|S^{d-1}|}{d\, V} (2 K_{\varepsilon, N})^{d/2}
              = \frac{(d + 2)\, \varepsilon}{2 K_{\varepsilon, N}}
              \propto \varepsilon^{d/(d+2)} N^{2/(d+2)},

    the points in a ball of radius :math:`\sqrt{2 K_{\varepsilon, N}}`. The theory is one of
    :math:`1 \ll k \ll N`: with few neighbors potentials follow the sample, and a row lacks its own
    peak, a share 1/k; with a good part of all points, balls are no longer flat. In eps that is
    :math:`N^{-2/d} \ll \varepsilon \ll N` (in the paper's units, N times ours,
    :math:`N^{1-2/d} \ll \varepsilon \ll N^2`).

    Parameters
    ----------
    eps : regularization in the units of C (`Affinity.eps`, not relative to the mean cost).
    n : number of points N.
    dimension, volume : intrinsic dimension d and volume V of the manifold.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = sparrot.datasets.make_sphere(1000)
    >>> a = sparrot.qot(X, 1.0)
    >>> k = expected_neighbors(a.eps, 1000, 2, 4 * np.pi)
    >>> round(k, 1), bool(abs(a.mean_neighbors / k - 1) < 0.1)
    (31.6, True)
    """
    level = potential_level(eps, n, dimension, volume)
    if level == 0:
        raise InvalidInputError(
            f"or volume is so small, {eps:.3g} and {volume:.3g}, that the level underflows",
            parameter="eps",
            value=eps,
            remedy="rescale the points",
        )
    return (dimension + 2) * eps / (2 * level)


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


class Curvatures(NamedTuple):
    """What the curvature of a manifold near a point does to averages over small balls.

    Attributes
    ----------
    scalar : the scalar curvature s.
    omega : the mean of the squared length of the second fundamental form over unit vectors.
    mean : the mean of the form itself, a normal vector; d times it is the mean curvature vector H.
    """

    scalar: float
    omega: float
    mean: FloatArray


def curvatures(second_form: Any) -> Curvatures:
    r"""The curvatures of the theory from the second fundamental form at a point.

    With :math:`H = \sum_a \mathbb I(e_a, e_a)` over an orthonormal basis of the tangent space, and
    :math:`|\mathbb I|^2` the sum of all squares,

    .. math:: s = |H|^2 - |\mathbb I|^2, \qquad
              \omega = \frac{1}{|S^{d-1}|} \int |\mathbb I(\theta, \theta)|^2 d\theta
              = \frac{2 |\mathbb I|^2 + |H|^2}{d (d + 2)}, \qquad
              \mathfrak N = \frac{1}{|S^{d-1}|} \int \mathbb I(\theta, \theta)\, d\theta
              = \frac{H}{d}.

    Parameters
    ----------
    second_form : (d, d, p - d) values at pairs of basis vectors, in a basis of the normal space;
        symmetric in the first two.

    Examples
    --------
    >>> import numpy as np
    >>> curvatures(-np.eye(2)[:, :, None])  # the unit sphere
    Curvatures(scalar=2.0, omega=1.0, mean=array([-1.]))
    """
    II = as_finite(second_form, None, "second_form")
    if II.ndim != 3 or II.shape[0] != II.shape[1] or not II.size:
        raise InvalidInputError(
            f"must have shape (d, d, p - d), got {II.shape}",
            parameter="second_form",
            value=II.shape,
        )
    if not np.allclose(II, II.transpose(1, 0, 2), rtol=1e-9):
        raise InvalidInputError(
            "must be symmetric in its first two indices", parameter="second_form", value=second_form
        )
    d = len(II)
    H = np.trace(II)
    with np.errstate(over="ignore", invalid="ignore"):
        squares, trace = float(np.square(II).sum()), float(np.square(H).sum())
    if not np.isfinite(squares + trace):
        raise InvalidInputError("overflows when it is squared", parameter="second_form")
    return Curvatures(trace - squares, (2 * squares + trace) / (d * (d + 2)), H / d)


def ball_expectation(
    value: float,
    laplacian: float,
    radius: float,
    dimension: int,
    volume: float,
    *,
    scalar_curvature: float = 0.0,
    omega: float = 0.0,
) -> float:
    r"""The mean of a function over a small ball, :math:`E[f(X)\, 1_{|X - x_0| \le r}]`, to r^(d+3).

    For X uniform on a manifold of dimension d and volume V, and a smooth f,

    .. math:: \frac{|S^{d-1}|}{d\, V} f r^d + \frac{|S^{d-1}|}{d (d+2) V} \Bigl( \tfrac12 \Delta f
              - \tfrac16 s f + \tfrac{d (d+2)}{24} \omega f \Bigr) r^{d+2} + O(r^{d+3}),

    f, :math:`\Delta f` and the curvatures (`curvatures`) at :math:`x_0`. The paper has this lemma
    with :math:`+ s / 6`. But a ball of positive curvature has less volume: on the unit sphere in
    space, where s = 2 and :math:`\omega = 1`, a cap has the share :math:`r^2 / 4` exactly, for both
    terms cancel. Of a function that depends on r itself, as the parabola
    :math:`r^2 - |x - x_0|^2` does, only the first order is right: further terms are as large as the
    second.

    Parameters
    ----------
    value, laplacian : f and its Laplacian on the manifold, at the center.
    radius : of the ball, in the ambient space.
    dimension, volume : d and V.
    scalar_curvature, omega : s and :math:`\omega`; zero where the manifold is flat.

    Examples
    --------
    >>> import numpy as np
    >>> round(ball_expectation(1, 0, 0.1, 2, 4 * np.pi, scalar_curvature=2, omega=1), 12)
    0.0025
    """
    d = as_count(dimension, "dimension", 10**3)
    V = as_positive(volume, "volume", "it is the volume of the manifold in the units of X")
    r = as_positive(radius, "radius", "it is that of a ball in the ambient space")
    f, Lf = (
        float(as_finite(x, (), name)) for x, name in ((value, "value"), (laplacian, "laplacian"))
    )
    s = float(as_finite(scalar_curvature, (), "scalar_curvature"))
    w = float(as_finite(omega, (), "omega"))
    second = Lf / 2 - s * f / 6 + d * (d + 2) * w * f / 24
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.float64(r) ** np.array([d, d + 2])
        mean = float(sphere_area(d) / (d * V) * (f * powers[0] + second / (d + 2) * powers[1]))
    if not np.isfinite(mean):
        raise InvalidInputError("overflows", parameter="radius", value=radius, remedy="rescale")
    return mean


def davis_kahan_bound(W: Any, A: Any, k: int) -> float:
    r"""A bound on how far the k leading eigenvectors of A are from those of W.

    .. math:: | \sin \Theta(V_k(A), V_k(W)) |_F \le
              \frac{2\, |W - A|_F}{\lambda_k(W) - \lambda_{k+1}(W)}

    (Davis and Kahan, in the form of Yu, Wang and Samworth), with the principal angles between both
    spaces on the left. Of all bistochastic A the Frobenius projection of W (`sparrot.project`) has
    the smallest. It says nothing where it is above :math:`\sqrt k`; infinite if there is no gap.

    Parameters
    ----------
    W, A : (n, n) symmetric matrices, or affinities.
    k : how many eigenvectors, of the largest eigenvalues; fewer than n.

    Examples
    --------
    >>> import numpy as np
    >>> W = np.diag([3.0, 1.0, 0.0])
    >>> A = W + np.array([[0.0, 0.1, 0.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> round(davis_kahan_bound(W, A, 1), 4)  # the angle is 0.05
    0.1414
    """
    W, A = (as_points(getattr(M, "matrix", M), "kernel", name) for M, name in ((W, "W"), (A, "A")))
    n = len(W)
    if A.shape != W.shape:
        raise InvalidInputError(
            f"must have the shape {W.shape} of W, got {A.shape}", parameter="A", value=A.shape
        )
    k = as_count(k, "k", n - 1)
    require_memory(
        24.0 * n * n,
        what=f"the spectrum of a dense matrix of {n} points",
        remedy="take fewer points",
    )
    size = max(float(np.abs(W).max()), float(np.abs(A).max())) or 1.0  # so that no square overflows
    values = np.linalg.eigvalsh(W / size)[::-1]
    distance, gap = np.linalg.norm(W / size - A / size), values[k - 1] - values[k]
    if distance == 0:
        return 0.0
    with np.errstate(over="ignore"):
        return float(2 * distance / gap) if gap > 0 else float("inf")


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
