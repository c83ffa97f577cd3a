"""Made data with a known answer: the paper's mixture and spiral, a sphere and a torus."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_finite, as_generator
from sparrot.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Mixture:
    """Points of a mixture of Gaussians.

    Attributes
    ----------
    X : (n, d) points.
    clean : (n, 2) the points without noise: the mean of the cluster of each.
    labels : (n,) cluster of each point, ascending.
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
    r"""Sample the paper's mixture of Gaussians: means on a circle, and spreads that differ.

    Cluster i of k has mean :math:`r (\sin \theta_i, \cos \theta_i, 0, \dots, 0)` with
    :math:`\theta_i = 2 \pi i / k`, and covariance :math:`\sigma_i^2 I` in d dimensions.

    Parameters
    ----------
    n_per_cluster, d : number of points of each cluster, and of dimensions (at least 2).
    spread : standard deviation in each coordinate, one for each cluster.
    radius : of the circle of means. The paper's text has 1, its code 1.5.
    random_state : seed or generator.

    Examples
    --------
    >>> m = make_mixture(50, 10)
    >>> m.X.shape, m.labels[[0, 50, 149]].tolist()
    ((150, 10), [0, 1, 2])
    """
    n_per_cluster, d = _as_size(n_per_cluster, "n_per_cluster"), _as_size(d, "d", least=2)
    spreads = as_finite(spread, None, "spread")
    if spreads.ndim != 1 or not len(spreads) or not (spreads >= 0).all():
        raise InvalidInputError(
            f"must have a number for each cluster, got {spread!r}", parameter="spread", value=spread
        )
    k = len(spreads)
    radius = float(as_finite(radius, (), "radius"))
    rng = as_generator(random_state)
    labels = np.repeat(np.arange(k), n_per_cluster)
    theta = 2 * np.pi * labels / k
    clean = radius * np.stack([np.sin(theta), np.cos(theta)], axis=1)
    X = rng.standard_normal((len(labels), d)) * spreads[labels, None]
    X[:, :2] += clean
    return Mixture(X, clean, labels)


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
    n, d = _as_size(n, "n"), _as_size(d, "d")
    Z = as_generator(random_state).standard_normal((n, d + 1))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class Spiral:
    """A noisy closed curve.

    Attributes
    ----------
    X : (n, d) noisy points, scaled so that `N^-2 sum_ij |x_i - x_j|^2 = 1`.
    clean : (n, 3) points on the curve, in order.
    t : (n,) parameter of each point in [0, 2 pi).
    noise : (n,) distance by which each point was moved, before scaling.
    """

    X: FloatArray
    clean: FloatArray
    t: FloatArray
    noise: FloatArray


def make_spiral(
    n: int = 1000,
    d: int = 250,
    *,
    noise: tuple[float, float] = (0.05, 0.95),
    random_state: int | np.random.Generator | None = 0,
) -> Spiral:
    r"""Sample the paper's spiral: a closed curve in many dimensions, with noise that varies on it.

    .. math:: x(t) = (\cos t\,(0.5 \cos 6t + 1),\ \sin t\,(0.4 \cos 6t + 1),\ 0.4 \sin 6t)

    Points are evenly spaced in arc length, embedded by a random orthogonal map, and moved in a
    random direction by :math:`\rho(t) = \rho_0 + \rho_1 (1 + \cos 6t) / 2`.

    Parameters
    ----------
    n, d : number of points and of dimensions (at least 3).
    noise : :math:`\rho_0` and :math:`\rho_1`: the least noise, and by how much the largest exceeds
        it. The paper's text has (0.05, 0.95), its code (0.05, 1.25).
    random_state : seed or generator.

    Examples
    --------
    >>> s = make_spiral(100, 20)
    >>> s.X.shape, s.clean.shape
    ((100, 20), (100, 3))
    """
    n, d = _as_size(n, "n", least=3), _as_size(d, "d", least=3)
    rng = as_generator(random_state)
    t = _evenly_spaced(n)
    clean = _curve(t)
    R = np.linalg.qr(rng.standard_normal((d, 3)))[0]
    Z = rng.standard_normal((n, d))
    least, range_ = as_finite(noise, (2,), "noise")
    rho = least + range_ * (1 + np.cos(6 * t)) / 2
    X = clean @ R.T + Z * (rho / np.linalg.norm(Z, axis=1))[:, None]
    X -= X.mean(axis=0)
    X /= np.sqrt(2 * np.square(X).sum(axis=1).mean())
    return Spiral(X, clean, t, rho)


def _curve(t: FloatArray) -> FloatArray:
    wave = np.cos(6 * t)
    return np.stack(
        [np.cos(t) * (0.5 * wave + 1), np.sin(t) * (0.4 * wave + 1), 0.4 * np.sin(6 * t)], axis=1
    )


def _evenly_spaced(n: int, resolution: int = 100_000) -> FloatArray:
    """Parameters of n points at equal distances along the curve."""
    t = np.linspace(0, 2 * np.pi, resolution + 1)
    chords = np.linalg.norm(np.diff(_curve(t), axis=0), axis=1)
    length = np.concatenate([[0.0], chords.cumsum()])
    return np.interp(np.arange(n) * length[-1] / n, length, t)


@dataclass(frozen=True, slots=True)
class Torus:
    """A sampled torus.

    Attributes
    ----------
    X : (n, 3) points.
    theta, phi : (n,) angles around the tube and around the axis.
    R, r : radii of the ring and of the tube.
    """

    X: FloatArray
    theta: FloatArray
    phi: FloatArray
    R: float
    r: float

    @property
    def area(self) -> float:
        """The area of the torus."""
        return float(4 * np.pi**2 * self.R * self.r)

    @property
    def normal(self) -> FloatArray:
        """(n, 3) outward unit normals."""
        ring = np.cos(self.theta)
        return np.stack(
            [ring * np.cos(self.phi), ring * np.sin(self.phi), np.sin(self.theta)], axis=1
        )

    @property
    def curvature(self) -> FloatArray:
        """(n, 3) mean curvature vectors: normals times minus the sum of principal curvatures."""
        around = np.cos(self.theta) / (self.R + self.r * np.cos(self.theta))
        return -(1 / self.r + around)[:, None] * self.normal


def make_torus(
    n: int = 1000,
    *,
    radii: tuple[float, float] = (1.0, 0.5),
    first: tuple[float, float] | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Torus:
    r"""Points on a torus of revolution, uniform in area.

    .. math:: x(\theta, \phi) = \bigl( (R + r \cos\theta) \cos\phi,\ (R + r \cos\theta) \sin\phi,\
              r \sin\theta \bigr)

    The area element is :math:`r (R + r \cos\theta)`, the area :math:`4 \pi^2 R r`.

    Parameters
    ----------
    n : number of points.
    radii : of the ring and of the tube, R > r > 0.
    first : angles (theta, phi) of a point to put first; (pi/2, pi/2) is the paper's (0, 1, 1/2).
    random_state : seed or generator.

    Examples
    --------
    >>> torus = make_torus(100, first=(np.pi / 2, np.pi / 2))
    >>> torus.X.shape, torus.X[0].round(6) + 0.0
    ((100, 3), array([0. , 1. , 0.5]))
    """
    R, r = as_finite(radii, (2,), "radii").tolist()
    if not 0 < r < R < np.inf:
        raise InvalidInputError(f"must be R > r > 0, got {radii!r}", parameter="radii", value=radii)
    n = _as_size(n, "n")
    rng = as_generator(random_state)
    theta, phi = _tube_angles(rng, n, r / R), 2 * np.pi * rng.random(n)
    if first is not None:
        theta[0], phi[0] = as_finite(first, (2,), "first")
    ring = R + r * np.cos(theta)
    X = np.stack([ring * np.cos(phi), ring * np.sin(phi), r * np.sin(theta)], axis=1)
    return Torus(X, theta, phi, R, r)


def _tube_angles(rng: np.random.Generator, n: int, ratio: float) -> FloatArray:
    """Angles with density proportional to `1 + ratio cos(theta)`."""
    theta = 2 * np.pi * rng.random(n)
    inner = rng.random(n) * (1 + ratio) > 1 + ratio * np.cos(theta)
    while inner.any():
        theta[inner] = 2 * np.pi * rng.random(int(inner.sum()))
        inner[inner] = rng.random(int(inner.sum())) * (1 + ratio) > 1 + ratio * np.cos(theta[inner])
    return theta


def _as_size(value: Any, name: str, least: int = 1) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInputError(
            f"must be an integer of at least {least}, got {value!r}", parameter=name, value=value
        )
    return int(value)
