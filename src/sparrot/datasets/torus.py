r"""Points on a torus of revolution, uniform in area, with its curvature.

.. math:: x(\theta, \phi) = \bigl( (R + r \cos\theta) \cos\phi,\ (R + r \cos\theta) \sin\phi,\
          r \sin\theta \bigr)

The area element is :math:`r (R + r \cos\theta)`, the area :math:`4 \pi^2 R r`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray
from sparrot.validation import as_count


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
        """(n, 3) mean curvature vectors: minus the sum of the principal curvatures, outwards."""
        around = np.cos(self.theta) / (self.R + self.r * np.cos(self.theta))
        return -(1 / self.r + around)[:, None] * self.normal


def make_torus(
    n: int = 1000,
    *,
    radii: tuple[float, float] = (1.0, 0.5),
    first: tuple[float, float] | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Torus:
    """Uniform points on the torus.

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
    R, r = radii
    if not 0 < r < R < np.inf:
        raise InvalidInputError(f"radii must be R > r > 0, got {radii!r}")
    n = as_count(n, "n", 10**9)
    rng = np.random.default_rng(random_state)
    theta, phi = _tube_angles(rng, n, r / R), 2 * np.pi * rng.random(n)
    if first is not None:
        theta[0], phi[0] = first
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
