"""Operators -> geometry: distances, paths between measures, the manifold near a point, limits."""

from sparrot.geometry._distances import commute_times, diffusion_distances, geodesic_distances
from sparrot.geometry._interpolation import barycenter, interpolate, sinkhorn_divergence
from sparrot.geometry._local import intrinsic_dimension, local_covariance, mahalanobis_lengths
from sparrot.geometry._theory import (
    ball_expectation,
    barenblatt,
    barenblatt_time,
    curvatures,
    davis_kahan_bound,
    dimension_constant,
    expected_neighbors,
    first_order,
    laplace_beltrami,
    laplacian_estimate,
    potential_exponent,
    potential_level,
    scaling_exponent,
)

__all__ = [
    "ball_expectation",
    "barenblatt",
    "barenblatt_time",
    "barycenter",
    "commute_times",
    "curvatures",
    "davis_kahan_bound",
    "diffusion_distances",
    "dimension_constant",
    "expected_neighbors",
    "first_order",
    "geodesic_distances",
    "interpolate",
    "intrinsic_dimension",
    "laplace_beltrami",
    "laplacian_estimate",
    "local_covariance",
    "mahalanobis_lengths",
    "potential_exponent",
    "potential_level",
    "scaling_exponent",
    "sinkhorn_divergence",
]
