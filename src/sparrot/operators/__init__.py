"""Affinity -> operators on functions on the points."""

from sparrot.operators.coarse import coarse_grained
from sparrot.operators.grounded import grounded_solver
from sparrot.operators.heat import heat_kernel, heat_operator
from sparrot.operators.heat_time import heat_time
from sparrot.operators.laplacian import laplace, laplacian
from sparrot.operators.normalise import (
    alpha_normalisation,
    random_walk,
    symmetric_normalisation,
)
from sparrot.operators.signals import interpolate, smooth

__all__ = [
    "alpha_normalisation",
    "coarse_grained",
    "grounded_solver",
    "heat_kernel",
    "heat_operator",
    "heat_time",
    "interpolate",
    "laplace",
    "laplacian",
    "random_walk",
    "smooth",
    "symmetric_normalisation",
]
