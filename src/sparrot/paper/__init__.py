"""The paper's experiments: each runs, judges the paper's claims and draws its figure."""

__all__ = []
