"""Operators -> geometry: distances, paths between measures, the manifold near a point, limits."""

from sparrot.geometry.asymptotics import (
    barenblatt,
    barenblatt_time,
    dimension_constant,
    laplace_beltrami,
    laplacian_estimate,
    potential_exponent,
    potential_level,
    scaling_exponent,
)
from sparrot.geometry.diffusion import commute_times, diffusion_distances
from sparrot.geometry.divergence import sinkhorn_divergence
from sparrot.geometry.geodesics import geodesic_distances
from sparrot.geometry.interpolation import barycentre, interpolate
from sparrot.geometry.local import intrinsic_dimension, local_covariance, mahalanobis_lengths

__all__ = [
    "barenblatt",
    "barenblatt_time",
    "barycentre",
    "commute_times",
    "diffusion_distances",
    "dimension_constant",
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
