"""Where layouts of an affinity start: at its leading eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._types import FloatArray
from sparrot._validation import as_count
from sparrot.spectral import eigenpairs

_SPREAD = 1e-4  # standard deviation of a coordinate, as in openTSNE; umap rescales its start
_NOISE = 1e-2  # standard deviation of the noise, relative to that


def spectral_start(W: Any, n_components: int, rng: np.random.Generator) -> FloatArray:
    """The leading eigenvectors of W after the trivial one, scaled down, with a little noise.

    These are the algebraically largest eigenvalues, as a hollow W may have negative ones of large
    size. In a graph of several components points may have equal coordinates; the noise separates
    them.

    Examples
    --------
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> spectral_start(ring, 2, np.random.default_rng(0)).shape
    (6, 2)
    """
    k = as_count(n_components, "n_components", W.shape[0] - 2)
    vectors = eigenpairs(W, k + 1, components="each").vectors[:, 1:]
    spread = vectors.std(axis=0)
    start = vectors / np.where(spread > 0, spread, 1.0)
    return _SPREAD * (start + _NOISE * rng.standard_normal(start.shape))
