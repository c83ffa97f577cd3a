"""Exact neighbours with the interface that scikit-learn and scanpy know."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sparrot.affinity.arguments import as_public_metric
from sparrot.affinity.estimators.base import validated
from sparrot.affinity.nearest import nearest_of_new, nearest_others
from sparrot.types import FloatArray, IntArray
from sparrot.validation import as_choice, as_count


class KNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The graph of exact nearest neighbours, as `sklearn.neighbors.KNeighborsTransformer` gives it.

    A drop-in for any pipeline (or `transformer=` of scanpy) that takes that one; the search runs in
    float32 tiles on all cores, and float64 decides.

    Parameters
    ----------
    mode : `"distance"` for distances, `"connectivity"` for ones.
    n_neighbors : number of neighbours; with `"distance"` every training point comes as its own
        neighbour in addition, at distance zero, as in scikit-learn.
    metric : `"euclidean"`, `"sqeuclidean"` (the squared distance), `"cosine"` (`1 - cos`), or
        another distance of scikit-learn.
    n_jobs : threads; all cores by default.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> sparrot.KNeighborsTransformer(n_neighbors=1).fit_transform(X).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        metric: str = "euclidean",
        n_jobs: int | None = None,
    ) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the points to search among."""
        as_choice(self.mode, "mode", ("distance", "connectivity"))
        as_public_metric(self.metric)
        self._fit_X = validated(self, X, reset=True).copy()
        most = len(self._fit_X) - (self.mode == "distance")
        self._k = as_count(self.n_neighbors, "n_neighbors", most) + (self.mode == "distance")
        self.n_samples_fit_ = self._n_features_out = len(self._fit_X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_matrix:
        """The graph of the points themselves."""
        return self.fit(X)._own_graph()

    def transform(self, X: Any) -> csr_matrix:
        """The nearest training points of each row."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if np.array_equal(X, self._fit_X):
            return self._own_graph()
        return self._graph(*nearest_of_new(X, self._fit_X, self._k, self.metric, self.n_jobs))

    def _own_graph(self) -> csr_matrix:
        """Every point is its own first neighbour."""
        n = self.n_samples_fit_
        own, zero = np.arange(n, dtype=np.int32)[:, None], np.zeros((n, 1))
        if self._k == 1:
            return self._graph(own, zero)
        indices, distances = nearest_others(self._fit_X, self._k - 1, self.metric, self.n_jobs)
        return self._graph(np.hstack([own, indices]), np.hstack([zero, distances]))

    def _graph(self, indices: IntArray, distances: FloatArray) -> csr_matrix:
        data = distances if self.mode == "distance" else np.ones_like(distances)
        indptr = np.arange(len(indices) + 1, dtype=np.int32) * self._k
        shape = len(indices), self.n_samples_fit_
        return csr_matrix((data.ravel(), indices.ravel(), indptr), shape=shape)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
