"""Affinity -> operators, eigenpairs, maps and clusters."""

from sparrot.spectral._clustering import SpectralClustering, suggest_clusters
from sparrot.spectral._eigen import Spectrum, eigenpairs
from sparrot.spectral._heat import heat_kernel, heat_operator, heat_time
from sparrot.spectral._maps import DiffusionMap, Eigenmaps
from sparrot.spectral._operators import (
    alpha_normalization,
    coarse_grained,
    laplace,
    laplacian,
    random_walk,
    symmetric_normalization,
)
from sparrot.spectral._signals import grounded_solver, harmonic_extension, smooth

__all__ = [
    "DiffusionMap",
    "Eigenmaps",
    "SpectralClustering",
    "Spectrum",
    "alpha_normalization",
    "coarse_grained",
    "eigenpairs",
    "grounded_solver",
    "harmonic_extension",
    "heat_kernel",
    "heat_operator",
    "heat_time",
    "laplace",
    "laplacian",
    "random_walk",
    "smooth",
    "suggest_clusters",
    "symmetric_normalization",
]
