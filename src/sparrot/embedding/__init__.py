"""Operators -> coordinates."""

from sparrot.embedding.spectral import leading_eigenvectors

__all__ = ["leading_eigenvectors"]
