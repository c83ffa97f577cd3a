"""Affinity -> operators on functions on the points."""

from sparrot.operators.normalise import symmetric_normalisation

__all__ = ["symmetric_normalisation"]
