"""Affinity -> operators on functions on the points."""

from sparrot.operators.laplacian import laplacian
from sparrot.operators.normalise import symmetric_normalisation

__all__ = ["laplacian", "symmetric_normalisation"]
