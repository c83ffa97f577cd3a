"""Leading eigenvectors, as the integrations want them, and a start of layouts made of them."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from sparrot._types import FloatArray
from sparrot._validation import as_count
from sparrot.errors import AffinityWarning
from sparrot.spectral import eigenpairs

_SPREAD = 1e-4  # standard deviation, as in openTSNE; umap rescales what it gets
_JITTER = 1e-2  # of that
_STATIONARY = 0.9994  # sc.tl.dpt takes eigenvalues from here on for that of the steady state
_log = logging.getLogger(__name__)


def leading(W: Any, k: int) -> tuple[FloatArray, FloatArray]:
    """The k algebraically largest eigenvalues, descending, and the vectors that belong to them.

    Scanpy, openTSNE and umap ask for eigenvalues of largest size, or for those of a Laplacian; on a
    hollow W the former may be negative.
    """
    spectrum = eigenpairs(W, k, components="each")
    return spectrum.values, spectrum.vectors


def spectral_start(W: Any, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Leading eigenvectors after the trivial one, small, with a little noise.

    The noise keeps points of one component of the graph apart, which may have the same coordinates.
    """
    k = as_count(n_components, "n_components", W.shape[0] - 2)
    vectors = leading(W, k + 1)[1][:, 1:]
    spread = vectors.std(axis=0)
    start = vectors / np.where(spread > 0, spread, 1.0)
    return _SPREAD * (start + _JITTER * rng.standard_normal(start.shape))


def warn_of_pieces(W: Any, values: FloatArray) -> None:
    """Say that a graph is in pieces, or has eigenvalues that `sc.tl.dpt` takes for stationary."""
    pieces = connected_components(W, directed=False, return_labels=False)
    if pieces > 1:
        warnings.warn(
            f"the graph has {pieces} connected components, and as many components of the diffusion "
            "map only tell them apart; raise perplexity, or take eps='connected'",
            AffinityWarning,
            stacklevel=3,
        )
    slow = int((values >= _STATIONARY).sum()) - pieces
    if slow > 0:
        _log.warning(
            "sc.tl.dpt takes eigenvalues from %g on for stationary, and so gives %d of the "
            "components less weight than they have",
            _STATIONARY,
            slow,
        )
