"""The QOT affinity as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sparrot.affinity.qot import qot
from sparrot.cost import costs_to
from sparrot.engine import Threads
from sparrot.errors import InvalidInputError
from sparrot.support import QUADRATIC
from sparrot.transport import new_rows, twins
from sparrot.types import PointArray
from sparrot.validation import as_array


class QOT(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sparse bistochastic affinity of the training points, and rows for new ones.

    Parameters
    ----------
    eps, metric, hollow, solver, tol, max_iter, n_jobs : as for `sparrot.qot`.

    Attributes
    ----------
    affinity_ : (n, n) `csr_array`: symmetric, nonnegative, rows sum to one, zero diagonal.
    potential_ : (n,) dual potential in the units of the cost.
    eps_ : eps in the same units.
    certificate_ : `sparrot.Certificate` of optimality.
    n_iter_ : Newton steps taken.
    n_features_in_ : number of columns seen by `fit`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> model = sparrot.QOT(eps=0.5).fit(X)
    >>> rows = model.transform(X[:3] + 0.01)          # new points against the training points
    >>> rows.shape, bool(np.allclose(rows.sum(axis=1), 1))
    ((3, 100), True)
    """

    def __init__(
        self,
        eps: float = 1.0,
        *,
        metric: str = "sqeuclidean",
        hollow: bool = True,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.eps = eps
        self.metric = metric
        self.hollow = hollow
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the affinity of the rows of X."""
        X = self._validated(X, reset=True)
        result = qot(
            X,
            self.eps,
            metric=self.metric,
            hollow=self.hollow,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        assert result.potential is not None
        assert result.eps is not None
        self.affinity_ = result.matrix
        self.potential_ = result.potential
        self.eps_ = result.eps
        self.certificate_ = result.certificate
        self.n_iter_ = result.n_iter
        self._fit_X = X.copy()
        self._n_features_out = len(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_array:
        """Build the affinity of the rows of X and return it."""
        return self.fit(X).affinity_.copy()

    def transform(self, X: Any) -> csr_array:
        """Rows of new points against the training points; each sums to one.

        A row that equals a training point is that point, so it gets no affinity to itself (unless
        `hollow=False`); on the training data this returns `affinity_`.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if np.array_equal(X, self._fit_X):
            return self.affinity_.copy()
        twin = twins(X, self._fit_X) if self.hollow else np.full(len(X), -1)
        costs = costs_to(self._fit_X, self.metric)
        with Threads(self.n_jobs) as threads:
            return new_rows(
                lambda rows: costs(X[rows]),
                twin,
                self.potential_,
                QUADRATIC,
                self.eps_,
                threads,
            )

    def _validated(self, X: Any, reset: bool) -> PointArray:
        """Scikit-learn's own bookkeeping: shape, names of features, number of features."""
        array = as_array(X)
        try:
            validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        return array

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
