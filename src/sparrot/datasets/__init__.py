"""Data with a known answer."""

from sparrot.datasets.mixture import Mixture, make_mixture
from sparrot.datasets.spiral import Spiral, make_spiral

__all__ = ["Mixture", "Spiral", "make_mixture", "make_spiral"]
