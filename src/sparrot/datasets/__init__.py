"""Data with a known answer."""

from sparrot.datasets.spiral import Spiral, make_spiral

__all__ = ["Spiral", "make_spiral"]
