"""Affinity -> operators on functions on the points."""

from sparrot.operators.laplacian import laplace, laplacian
from sparrot.operators.normalise import (
    alpha_normalisation,
    random_walk,
    symmetric_normalisation,
)
from sparrot.operators.signals import interpolate, smooth

__all__ = [
    "alpha_normalisation",
    "interpolate",
    "laplace",
    "laplacian",
    "random_walk",
    "smooth",
    "symmetric_normalisation",
]
