"""Clusters of points by the leading eigenfunctions of the random walk on their affinity."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import qr, svd
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_choice, as_count, as_finite, as_seed
from sparrot.affinity import KEEP_LARGEST, LARGER, n_large_pieces, small_size, ways_to_connect
from sparrot.errors import AffinityWarning, InvalidInputError, counted, warn
from sparrot.spectral._eigen import (
    COMPONENTS,
    Spectrum,
    announce_nearly_separate,
    eigenpairs,
    nearly_separate,
)
from sparrot.spectral._estimator import NeedsRows, SpectralEstimator, divisible, extended

_SMALL = 0.25  # of a mean cluster: what is smaller may be outliers
_ROUNDING = 1e-8  # a gap between eigenvalues that is none


class SpectralClustering(ClusterMixin, SpectralEstimator):  # type: ignore[misc]
    """Spectral clustering on an affinity.

    The k leading eigenfunctions of the random walk, the trivial one among them, are nearly constant
    on clusters; k-means or a pivoted QR decomposition finds the clusters from their values.

    Parameters
    ----------
    n_clusters : number of clusters; None for the number that the eigengap suggests.
    affinity : as for `sparrot.Eigenmaps`; by its name "qot", it has a floor of 5 effective
        neighbors.
    assign : "kmeans", or "cluster_qr" (Damle, Minden and Ying), which needs no random start.
    max_clusters : the most that may be suggested; so many more than pieces if the graph has as many
        pieces as that, none of them so small that it may be outliers.
    components : for a graph in pieces: "each" takes the components for clusters, and splits one
        only if there are fewer than `n_clusters`; "warn" does the same with a warning; "largest"
        clusters the largest component as if it were alone, the other points get the label -1, and
        a warning says how many these are; "error" refuses.
    random_state : seed of the eigensolver and of k-means.

    Attributes
    ----------
    labels_ : (n,) cluster of each point; with `components="largest"` -1 for those outside.
    n_clusters_ : the number of clusters.
    eigenvalues_ : leading eigenvalues, one more than there are clusters (or `max_clusters`, if
        their number is suggested).
    embedding_ : (n, k) eigenfunctions that were clustered; NaN where the label is -1.
    component_labels_ : (n,) connected component of each point, the largest 0.
    affinity_ : (n, n) matrix.

    Warns
    -----
    AffinityWarning : clusters will be outliers, as the graph has pieces of few points, or is one
        piece in name only: eigenvalues within 1e-3 of one belong to few points
        (`sparrot.eigenpairs` says how few) and to less than a quarter of a mean cluster. Or
        clusters are as small as that in spite of smaller eigenvalues. `value` has these points.

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
        components: str = "each",
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.assign = assign
        self.max_clusters = max_clusters
        self.components = components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X."""
        assign = as_choice(self.assign, "assign", ("kmeans", "cluster_qr"))
        as_choice(self.components, "components", COMPONENTS)
        seed = None if self.random_state is None else as_seed(self.random_state)
        W = self._fit_affinity(X)
        kept = self._kept = self._fit_components(W, "the label -1")
        pairs = self._eigenpairs(W if kept.all() else W[kept][:, kept])
        self.eigenvalues_ = pairs.values
        k = self.n_clusters
        self.n_clusters_ = suggest_clusters(pairs.values) if k is None else int(k)
        told = self._announce_outliers(pairs, np.flatnonzero(kept))
        Y = pairs.functions[:, : self.n_clusters_]
        if assign == "kmeans":
            self._kmeans = KMeans(self.n_clusters_, n_init=10, random_state=seed)
            self._kmeans.fit(Y)
        else:
            self._rotation = cluster_rotation(Y)
        self.embedding_ = np.full((len(kept), self.n_clusters_), np.nan)
        self.embedding_[kept] = Y
        self.labels_ = self._assigned(self.embedding_)
        if not told and pairs.n_connected_components == 1:
            self._announce_small_clusters()
        return self

    @NeedsRows
    def predict(self, X: Any) -> IntArray:
        """Clusters of new points, from the Nystrom extension of the eigenfunctions.

        With `components="largest"` only neighbors in that component count. A point that has none
        gets the label -1.
        """
        check_is_fitted(self)
        values = divisible(self.eigenvalues_[: self.n_clusters_])
        functions = np.nan_to_num(self.embedding_ / values)
        return self._assigned(extended(self._new_rows(X), self._kept.astype(float), functions))

    def _assigned(self, Y: FloatArray) -> IntArray:
        """The cluster of each row; -1 for rows of NaN."""
        known = ~np.isnan(Y[:, 0])
        labels = np.full(len(Y), -1)
        if self.assign == "cluster_qr":
            labels[known] = np.abs(Y[known] @ self._rotation).argmax(axis=1)
        elif known.any():
            labels[known] = self._kmeans.predict(Y[known])
        return labels

    def _announce_outliers(self, pairs: Spectrum, points: IntArray) -> bool:
        """Warn of points that hang by a thread, and of components unless that was done before.

        Returns whether there was something to warn of.
        """
        already_warned = self.components == "warn"
        if not already_warned and pairs.n_connected_components > self.n_clusters_:
            self._announce_more_components_than_clusters(pairs)
            return True
        order = np.arange(len(pairs.values))
        among = (pairs.nontrivial if already_warned else order > 0) & (order < self.n_clusters_)
        most = _SMALL * len(points) / self.n_clusters_
        count, where = nearly_separate(pairs.values, pairs.vectors, among, self._floors, most)
        connected = already_warned or pairs.n_connected_components == 1
        announce_nearly_separate(
            count,
            points[where],
            len(self.component_labels_),
            floors=self._floors,
            connected=connected,
        )
        return count > 0

    def _announce_small_clusters(self) -> None:
        """Warn of clusters of so few points that they may be outliers."""
        n = int((self.labels_ >= 0).sum())
        few = min(small_size(n, self._floors), _SMALL * n / self.n_clusters_)
        sizes = np.bincount(self.labels_[self.labels_ >= 0], minlength=self.n_clusters_)
        small = np.flatnonzero((sizes > 0) & (sizes < few))
        if not len(small):
            return
        points = np.flatnonzero(np.isin(self.labels_, small))
        floor, _ = ways_to_connect(self._floors)
        warn(
            AffinityWarning(
                f"{counted(len(small), 'cluster')} of {self.n_clusters_}"
                f"{' together have' if len(small) > 1 else ' has'} {len(points)} of {n} points, "
                "which may be outliers that the graph hardly joins to others",
                value=points,
                remedy=[floor, LARGER, "drop these points"],
            )
        )

    def _announce_more_components_than_clusters(self, pairs: Spectrum) -> None:
        rest = np.flatnonzero(pairs.labels >= self.n_clusters_)
        clusters = n_large_pieces(pairs.labels, self._floors) > self.n_clusters_
        floor, larger = ways_to_connect(self._floors, clusters=clusters)
        remedy = [f"if the data is one piece, {floor}", larger, KEEP_LARGEST]
        enough = "take a larger {n_clusters}"
        if clusters:
            remedy.insert(0, f"if the pieces are clusters, {enough}")
        else:
            remedy.append(enough)
        warn(
            AffinityWarning(
                f"the graph has {pairs.n_connected_components} components, more than clusters "
                f"({self.n_clusters_}): {len(rest)} of {len(pairs.labels)} points have no cluster "
                "of their own",
                value=rest,
                remedy=remedy,
            )
        )

    def _eigenpairs(self, W: Any) -> Spectrum:
        """The pairs of all clusters, and one more for the gap that follows them."""
        n = W.shape[0]
        if self.n_clusters is None:
            most = as_count(self.max_clusters, "max_clusters", 10**6)
            labels = self.component_labels_[self._kept]
            pieces = int(labels.max()) + 1
            if pieces >= most and n_large_pieces(labels, self._floors) == pieces:
                most += pieces
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
    values = as_finite(values, None, "values")
    if values.ndim != 1 or len(values) < 3 or (np.diff(values) > _ROUNDING).any():
        raise InvalidInputError(
            "a number of clusters is suggested by at least 3 eigenvalues in descending order, "
            f"got {values}",
            remedy=["give {n_clusters}", "raise {max_clusters}", "pass more points"],
        )
    gaps = values[1:-1] - values[2:]
    return 2 + int(np.argmax(np.where(gaps > _ROUNDING, gaps, 0.0)))


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
