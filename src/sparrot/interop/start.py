"""Where a layout of an affinity starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.embedding import leading_eigenvectors
from sparrot.types import FloatArray
from sparrot.validation import as_count

_SPREAD = 1e-4  # standard deviation, as in openTSNE; umap rescales what it gets
_JITTER = 1e-2  # of that


def spectral_start(W: Any, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Leading eigenvectors after the trivial one, small, with a little noise.

    By the algebraically largest eigenvalues: openTSNE and umap ask for those of largest size or
    for those of a Laplacian, and the first may be negative on a hollow W. The noise keeps points
    of one component of the graph, which may have the same coordinates, apart.
    """
    k = as_count(n_components, "n_components", W.shape[0] - 2)
    vectors = leading_eigenvectors(W, k + 1)[1][:, 1:]
    spread = vectors.std(axis=0)
    start = vectors / np.where(spread > 0, spread, 1.0)
    return _SPREAD * (start + _JITTER * rng.standard_normal(start.shape))
