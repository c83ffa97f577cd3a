"""Clusters of points by the leading eigenfunctions of the random walk on their affinity."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import qr, svd
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_choice, as_count
from sparrot.errors import InvalidInputError
from sparrot.spectral._eigen import Spectrum, eigenpairs
from sparrot.spectral._estimator import NeedsRows, SpectralEstimator, divisible, extended


class SpectralClustering(ClusterMixin, SpectralEstimator):  # type: ignore[misc]
    """Spectral clustering on an affinity.

    The k leading eigenfunctions of the random walk, the trivial one among them, are nearly constant
    on clusters; k-means or a pivoted QR decomposition finds the clusters from their values. No
    component of a graph in pieces is split unless k exceeds the number of components.

    Parameters
    ----------
    n_clusters : number of clusters; None for the number that the eigengap suggests.
    affinity : as for `sparrot.Eigenmaps`.
    assign : "kmeans", or "cluster_qr" (Damle, Minden and Ying), which needs no random start.
    max_clusters : the most that may be suggested.
    random_state : seed of the eigensolver and of k-means.

    Attributes
    ----------
    labels_ : (n,) cluster of each point.
    n_clusters_ : the number of clusters.
    eigenvalues_ : leading eigenvalues, one more than there are clusters (or `max_clusters`, if
        their number is suggested).
    embedding_ : (n, k) eigenfunctions that were clustered.
    affinity_ : (n, n) matrix.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> m = sparrot.datasets.make_mixture(40, 5, spread=(0.1, 0.2, 0.3))
    >>> model = sparrot.SpectralClustering(affinity=sparrot.QOT(perplexity=15)).fit(m.X)
    >>> model.n_clusters_, sparrot.metrics.nmi(m.labels, model.labels_)
    (3, 1.0)
    >>> bool((model.predict(m.X + 0.01) == model.labels_).all())
    True
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: Any = "qot",
        assign: str = "kmeans",
        max_clusters: int = 10,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.assign = assign
        self.max_clusters = max_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X."""
        assign = as_choice(self.assign, "assign", ("kmeans", "cluster_qr"))
        W = self._fit_affinity(X)
        pairs = self._eigenpairs(W)
        self.eigenvalues_ = pairs.values
        k = self.n_clusters
        self.n_clusters_ = suggest_clusters(pairs.values) if k is None else int(k)
        self.embedding_ = pairs.functions[:, : self.n_clusters_]
        if assign == "kmeans":
            self._kmeans = KMeans(self.n_clusters_, n_init=10, random_state=self.random_state)
            self.labels_ = self._kmeans.fit_predict(self.embedding_)
        else:
            self._rotation = cluster_rotation(self.embedding_)
            self.labels_ = _dominant(self.embedding_, self._rotation)
        return self

    @NeedsRows
    def predict(self, X: Any) -> IntArray:
        """Clusters of new points, from the Nystrom extension of the eigenfunctions."""
        check_is_fitted(self)
        values = divisible(self.eigenvalues_[: self.n_clusters_])
        rows = self._new_rows(X)
        Y = extended(rows, np.ones(rows.shape[1]), self.embedding_ / values)
        if self.assign == "kmeans":
            return self._kmeans.predict(Y)
        return _dominant(Y, self._rotation)

    def _eigenpairs(self, W: Any) -> Spectrum:
        """The pairs of all clusters, and one more for the gap that follows them."""
        n = W.shape[0]
        if self.n_clusters is None:
            most = as_count(self.max_clusters, "max_clusters", 10**6)
        else:
            most = as_count(self.n_clusters, "n_clusters", n - 1)
        k = min(most + 1, n - 1)
        return eigenpairs(W, k, components="each", random_state=self.random_state)


def suggest_clusters(values: Any) -> int:
    """The number of clusters that eigenvalues suggest: those before the largest gap, at least two.

    Examples
    --------
    >>> suggest_clusters([1.0, 0.98, 0.95, 0.5, 0.45])
    3
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) < 3 or (np.diff(values) > 1e-8).any():
        raise InvalidInputError(
            "a number of clusters is suggested by at least 3 eigenvalues in descending order, "
            f"got {values}",
            remedy=["give {n_clusters}", "raise {max_clusters}", "pass more points"],
        )
    gaps = values[:-1] - values[1:]
    return 2 + int(np.argmax(gaps[1:]))


def cluster_rotation(V: FloatArray) -> FloatArray:
    """The rotation after which each row of V is near an axis: its cluster.

    The most independent rows, found by QR with pivoting, stand for the clusters; the rotation is
    the polar factor that brings them to the axes.

    Examples
    --------
    >>> import numpy as np
    >>> V = np.array([[1.0, 1.0], [1.0, 1.1], [1.0, -1.0]])
    >>> np.abs(V @ cluster_rotation(V)).argmax(axis=1)
    array([0, 0, 1])
    """
    k = V.shape[1]
    pivots = qr(V.T, mode="r", pivoting=True)[1][:k]
    left, _, right = svd(V[pivots].T)
    return left @ right


def _dominant(V: FloatArray, rotation: FloatArray) -> IntArray:
    """The axis that each row of V is nearest to after the rotation."""
    return np.abs(V @ rotation).argmax(axis=1)
