r"""The paper's spiral: a closed curve in many dimensions with noise that varies along it.

.. math:: x(t) = (\cos t\,(0.5 \cos 6t + 1),\ \sin t\,(0.4 \cos 6t + 1),\ 0.4 \sin 6t)

Points are evenly spaced in arc length, embedded by a random orthogonal map, and moved in a random
direction by :math:`\rho(t) = \rho_0 + \rho_1 (1 + \cos 6t) / 2`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray


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
    """Sample the noisy spiral of the paper.

    Parameters
    ----------
    n, d : number of points and of dimensions (at least 3).
    noise : least noise, and by how much the largest exceeds it. The paper's text has (0.05, 0.95),
        its code (0.05, 1.25).
    random_state : seed or generator.

    Examples
    --------
    >>> s = make_spiral(100, 20)
    >>> s.X.shape, s.clean.shape
    ((100, 20), (100, 3))
    """
    if n < 3 or d < 3:
        raise InvalidInputError(f"the spiral needs n >= 3 points and d >= 3, got n={n}, d={d}")
    rng = np.random.default_rng(random_state)
    t = _evenly_spaced(n)
    clean = _curve(t)
    R = np.linalg.qr(rng.standard_normal((d, 3)))[0]
    Z = rng.standard_normal((n, d))
    rho = noise[0] + noise[1] * (1 + np.cos(6 * t)) / 2
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
