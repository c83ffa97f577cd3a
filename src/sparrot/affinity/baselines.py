"""Affinities that people use now, for contrast."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.neighbors import kneighbors_graph

from sparrot.cost import make_cost
from sparrot.types import FloatArray, PointArray


def knn(X: PointArray, k: int) -> csr_array:
    """Unit weights between each point and its k nearest others, symmetrised by the maximum."""
    graph = csr_array(kneighbors_graph(X, k, mode="connectivity", include_self=False))
    return graph.maximum(graph.T)


def gaussian(X: PointArray, bandwidth: float) -> FloatArray:
    """The dense kernel `exp(-C_ij / h)`, with the bandwidth h relative to the mean cost."""
    return np.exp(-make_cost(X, "sqeuclidean").dense() / bandwidth)
