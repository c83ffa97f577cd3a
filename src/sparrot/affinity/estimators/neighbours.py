"""Exact neighbours with the interface that scikit-learn and scanpy know."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sparrot.affinity.arguments import as_public_metric
from sparrot.cost import costs_to, make_cost
from sparrot.engine import Threads
from sparrot.errors import InvalidInputError
from sparrot.support import nearest
from sparrot.types import FloatArray, IntArray, PointArray
from sparrot.validation import as_array, as_choice, as_count, as_points

_BLOCK_ENTRIES = 4_000_000


class KNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The graph of exact nearest neighbours, as `sklearn.neighbors.KNeighborsTransformer` gives it.

    A drop-in for any pipeline (or `transformer=` of scanpy) that takes that one; the search runs in
    float32 tiles on all cores, and float64 decides.

    Parameters
    ----------
    mode : `"distance"` for distances, `"connectivity"` for ones.
    n_neighbors : number of neighbours; with `"distance"` every training point comes as its own
        neighbour in addition, at distance zero, as in scikit-learn.
    metric : `"euclidean"`, `"cosine"` (`1 - cos`), or another metric of `sparrot.qot`.
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
        self._fit_X = self._points(X, reset=True)
        most = len(self._fit_X) - (self.mode == "distance")
        self._k = as_count(self.n_neighbors, "n_neighbors", most) + (self.mode == "distance")
        self.n_samples_fit_ = self._n_features_out = len(self._fit_X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_matrix:
        """The graph of the points themselves."""
        self.fit(X)
        n = self.n_samples_fit_
        own = np.arange(n, dtype=np.int32)[:, None]
        if self._k == 1:
            return self._graph(own, np.zeros((n, 1)))
        with Threads(self.n_jobs) as threads:
            cost = make_cost(self._fit_X, self._cost_metric())
            indices, costs = nearest(cost, self._k - 1, threads)
        distances = self._distances(cost.unit * costs)
        return self._graph(np.hstack([own, indices]), np.hstack([np.zeros((n, 1)), distances]))

    def transform(self, X: Any) -> csr_matrix:
        """The nearest training points of each row."""
        check_is_fitted(self)
        X = self._points(X, reset=False)
        if np.array_equal(X, self._fit_X):
            return self.fit_transform(X)
        costs_of = costs_to(self._fit_X, self._cost_metric())
        size = max(1, _BLOCK_ENTRIES // self.n_samples_fit_)

        def one(start: int) -> tuple[IntArray, FloatArray]:
            C = costs_of(X[start : start + size])
            order = np.argsort(C, axis=1, kind="stable")[:, : self._k]
            return order.astype(np.int32), np.take_along_axis(C, order, axis=1)

        with Threads(self.n_jobs) as threads:
            parts = list(threads.map(one, range(0, len(X), size)))
        indices, costs = (np.concatenate(part) for part in zip(*parts, strict=True))
        return self._graph(indices, self._distances(costs))

    def _graph(self, indices: IntArray, distances: FloatArray) -> csr_matrix:
        data = distances if self.mode == "distance" else np.ones_like(distances)
        indptr = np.arange(len(indices) + 1, dtype=np.int32) * self._k
        shape = len(indices), self.n_samples_fit_
        return csr_matrix((data.ravel(), indices.ravel(), indptr), shape=shape)

    def _cost_metric(self) -> str:
        metric = as_public_metric(self.metric)
        return "sqeuclidean" if metric == "euclidean" else metric

    def _distances(self, costs: FloatArray) -> FloatArray:
        return np.sqrt(2 * np.maximum(costs, 0)) if self.metric == "euclidean" else costs

    def _points(self, X: Any, reset: bool) -> PointArray:
        """Scikit-learn's bookkeeping, then our own checks."""
        try:
            validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        return as_points(X) if reset else as_array(X)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
