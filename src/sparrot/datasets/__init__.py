"""Data with a known answer."""

from sparrot.datasets.mixture import Mixture, make_mixture
from sparrot.datasets.sphere import make_sphere
from sparrot.datasets.spiral import Spiral, make_spiral
from sparrot.datasets.torus import Torus, make_torus

__all__ = [
    "Mixture",
    "Spiral",
    "Torus",
    "make_mixture",
    "make_sphere",
    "make_spiral",
    "make_torus",
]
