"""Operators -> coordinates."""

from sparrot.embedding.spectral import leading_eigenvectors
from sparrot.embedding.summary import Step, Summary, summarise

__all__ = ["Step", "Summary", "leading_eigenvectors", "summarise"]
