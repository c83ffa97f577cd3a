"""What all affinity estimators share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sparrot._types import PointArray
from sparrot._validation import as_array
from sparrot.affinity._result import Affinity
from sparrot.errors import InvalidInputError
from sparrot.ot import twins


class AffinityEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What all affinity estimators share: `fit`, `fit_transform`, and the rows of training points.

    The affinity is sparse unless it is full, and scikit-learn makes no data frame of a sparse
    matrix: `set_output(transform="pandas")` is an error then.

    Attributes
    ----------
    affinity_ : (n, n) matrix.
    result_ : the `sparrot.Affinity`, with everything that is known about it.
    n_features_in_ : number of columns seen by `fit`.
    """

    def _build(self, X: PointArray) -> Affinity:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the affinity of the rows of X."""
        X = validated(self, X, reset=True)
        return self._adopt(self._build(X), X)

    def _adopt(self, result: Affinity, X: PointArray) -> Self:
        """Take an affinity of the rows of X for what `fit` builds."""
        self.result_ = result
        self.affinity_ = result.matrix
        self._fit_X = X.copy()
        self._n_features_out = len(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Build the affinity of the rows of X and return it."""
        return self.fit(X).affinity_.copy()

    def transform(self, X: Any) -> Any:
        """Rows of `affinity_`, of training points, and rows of new points against these.

        A row of X that equals a training point is that point (the first, if there are several); on
        the training data as a whole this returns `affinity_`.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if np.array_equal(X, self._fit_X):
            return self.affinity_.copy()
        twin = twins(X, self._fit_X)
        known, new = np.flatnonzero(twin >= 0), np.flatnonzero(twin < 0)
        if not len(new):
            return self.affinity_[twin]
        parts = [self.affinity_[twin[known]], self._new_rows(X[new])]
        stacked = csr_array(vstack(parts)) if issparse(parts[1]) else np.vstack(parts)
        return stacked[np.argsort(np.concatenate([known, new]))]

    def _new_rows(self, X: PointArray) -> Any:
        """Rows of new points: of the kind of `affinity_`, dense or sparse."""
        raise InvalidInputError(
            f"has a point that is no training point, and {type(self).__name__} has rows for "
            "training points only",
            parameter="X",
            remedy="give the class a method _new_rows",
        )

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "metric", "") == "precomputed"
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def validated(estimator: Any, X: Any, reset: bool) -> PointArray:
    """Points, with scikit-learn's own bookkeeping: shape, names of features, number of features."""
    array = as_array(X)
    check_features(estimator, X, reset)
    return array


def check_features(estimator: Any, X: Any, reset: bool) -> Any:
    """What scikit-learn's `validate_data` returns; its errors are ours."""
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise InvalidInputError(f"does not fit: {why}", parameter="X") from error
