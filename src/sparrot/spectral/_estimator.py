r"""What the spectral estimators share: an affinity by name, and the Nystrom extension.

An eigenfunction of the walk has :math:`\lambda \psi_i = \sum_j P_{ij} \psi_j`. A new point x with
the row p over the training points gets :math:`\psi(x) = \lambda^{-1} \sum_j p_j \psi_j`; for a
training point p is its own row of P, and this is its own value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from sparrot._types import BoolArray, FloatArray
from sparrot._validation import as_affinity, as_array
from sparrot.affinity import (
    LOST_MASS,
    Affinity,
    AffinityEstimator,
    TransportEstimator,
    check_features,
    kinds,
    leave_pieces_to_caller,
    named_estimator,
    validated,
)
from sparrot.errors import InvalidInputError
from sparrot.spectral._eigen import announce_pieces, announce_rest, components_by_size

LOG = logging.getLogger(__name__)
_LEAST = 1e-6  # size of an eigenvalue that can be divided by


class SpectralEstimator(BaseEstimator):  # type: ignore[misc]
    """Builds or takes an affinity, and gives rows for new points where the affinity can.

    With the default `affinity="qot"`, an X that is an affinity already (`is_affinity`) is taken as
    one, as with "precomputed": `make_pipeline(QOT(), Eigenmaps())` embeds what QOT makes.

    Attributes
    ----------
    affinity_ : (n, n) matrix.
    affinity_estimator_ : the fitted estimator that made it, None if it was precomputed.
    component_labels_ : (n,) connected component of each point, the largest 0.
    n_features_in_ : number of columns seen by `fit`.
    """

    affinity: Any
    components: str

    def _fit_affinity(self, X: Any) -> Any:
        """The affinity of the rows of X, or X itself."""
        maker = named_estimator(self.affinity)
        if self._is_named("qot") and is_affinity(X):
            maker = None
        source = X
        if maker is None:
            X = getattr(X, "matrix", X)
            self.affinity_ = as_affinity(check_features(self, X, reset=True))
        else:
            with leave_pieces_to_caller():
                maker.fit(validated(self, X, reset=True))
            self.affinity_ = as_affinity(maker.affinity_)
            source = getattr(maker, "result_", None)
        self._floors = source.min_neighbors if isinstance(source, Affinity) else None
        if maker is not None and isinstance(self.affinity, str) and self._floors is not None:
            LOG.info(
                "affinity=%r: every point has at least %g effective neighbors, the default of "
                "min_neighbors; affinity=sparrot.%s() is without",
                self.affinity,
                self._floors.min(),
                type(maker).__name__,
            )
        self.affinity_estimator_ = maker
        return self.affinity_

    def _is_named(self, name: str) -> bool:
        return isinstance(self.affinity, str) and self.affinity == name

    def _fit_components(self, W: Any, fate: str) -> BoolArray:
        """Which points count: all, or those of the largest component; `fate` is what others get."""
        labels = self.component_labels_ = components_by_size(W)
        announce_pieces(W, labels, self.components, self._floors)
        if self.components != "largest":
            return np.ones(len(labels), dtype=bool)
        announce_rest(W, labels, fate, self._floors)
        return labels == 0

    def _new_rows(self, X: Any) -> Any:
        """Affinities of new points to the training points; X itself if precomputed."""
        if self.affinity_estimator_ is not None:
            return self.affinity_estimator_.transform(validated(self, X, reset=False))
        n = self.affinity_.shape[0]
        if np.ndim(X) == 2 and np.shape(X)[1] != n:
            raise InvalidInputError(
                f"must be rows of affinities of the new points to the {n} training points, because "
                f"the affinity was precomputed, but X has {np.shape(X)[1]} features, and "
                f"{type(self).__name__} is expecting {n} features as input",
                parameter="X",
            )
        rows = check_features(self, X, reset=False)
        rows = csr_array(rows) if issparse(rows) else as_array(rows)
        if not rows.min() >= 0:
            raise InvalidInputError(
                f"must be nonnegative numbers, got {rows.min():.3g}",
                parameter="X",
                remedy="with {affinity='precomputed'} pass affinities to the training points",
            )
        return rows

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_named("precomputed")
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def is_affinity(X: Any) -> bool:
    """Whether X is a bistochastic affinity rather than points.

    That is an `Affinity`, or a square matrix, sparse or dense, symmetric, without negative entries,
    with zero diagonal and rows that sum to one (within 1e-3: sparse entropic rows lose some of
    their mass).

    Examples
    --------
    >>> import sparrot
    >>> is_affinity(sparrot.qot(np.eye(3)).matrix), is_affinity(np.eye(3))
    (True, False)
    """
    if isinstance(X, Affinity):
        return True
    if not (issparse(X) or isinstance(X, np.ndarray)):
        return False
    if X.ndim != 2 or X.shape[0] != X.shape[1] or X.shape[0] < 2 or X.dtype.kind != "f":
        return False
    sums = np.asarray(X.sum(axis=1)).ravel()
    if not (np.abs(sums - 1) <= LOST_MASS).all() or X.diagonal().any():
        return False
    return bool(X.min() >= 0 and abs(X - X.T).max() <= LOST_MASS * X.max())


class NeedsRows:
    """A method that exists only if the affinity gives rows for new points.

    As scikit-learn's `available_if`, but the error says why the method is missing.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        """The method of an estimator, or the function of a class."""
        if estimator is None:
            return self._method
        maker = named_estimator(estimator.affinity)
        own = isinstance(maker, AffinityEstimator) and not isinstance(maker, TransportEstimator)
        if own or (maker is not None and not hasattr(maker, "transform")):
            *others, last = map(repr, kinds(transport=True))
            raise AttributeError(
                f"this {type(estimator).__name__} has no {self._method.__name__}, because "
                f"{type(maker).__name__} gives no rows for new points; take "
                f"affinity={', '.join(others)} or {last}, or precomputed rows"
            )
        return MethodType(self._method, estimator)


def divisible(values: FloatArray) -> FloatArray:
    """Eigenvalues that the extension can divide by.

    Examples
    --------
    >>> divisible(np.array([0.9, -0.2]))
    array([ 0.9, -0.2])
    """
    least = float(np.abs(values).min())
    if least < _LEAST:
        raise InvalidInputError(
            f"an eigenvalue is {least:.1e}, so that its function cannot be extended to new points",
            remedy="take fewer of them",
        )
    return values


def extended(rows: Any, weights: FloatArray, functions: FloatArray) -> FloatArray:
    """The mean of functions over each row, its entries weighted; NaN for a row without mass.

    Examples
    --------
    >>> import numpy as np
    >>> extended(np.array([[1.0, 3.0], [0.0, 0.0]]), np.ones(2), np.array([[0.0], [4.0]]))
    array([[ 3.],
           [nan]])
    """
    mass = np.asarray(rows @ weights)
    total = np.asarray(rows @ (weights[:, None] * functions))
    mean = np.full_like(total, np.nan)
    return np.divide(total, mass[:, None], out=mean, where=mass[:, None] > 0)
