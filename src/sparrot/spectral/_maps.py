r"""What spectral estimators share: an affinity by name, and the Nystrom extension.

An eigenfunction of the walk has :math:`\lambda \psi_i = \sum_j P_{ij} \psi_j`. A new point x with
the row p over the training points gets :math:`\psi(x) = \lambda^{-1} \sum_j p_j \psi_j`; for a
training point p is its own row of P, and this is its own value.

Coordinates of points by the eigenfunctions of the random walk on their affinity.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from types import MethodType
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sparrot._types import FloatArray
from sparrot._validation import as_affinity, as_array, as_choice, as_count
from sparrot.affinity import EOT, KNN, QOT, Affinity, Epanechnikov, Gaussian, GaussianL2, Tsallis
from sparrot.affinity._estimator import AffinityEstimator, check_features, validated
from sparrot.affinity._transport import TransportEstimator
from sparrot.errors import InvalidInputError
from sparrot.spectral._eigen import COMPONENTS, components_by_size, eigenpairs
from sparrot.spectral._operators import as_exponent, degrees, scaled

_LEAST = 1e-6  # size of an eigenvalue that can be divided by
_LOST = 1e-3  # of a row sum, or of symmetry, in what is an affinity still
_NAMED = {
    "qot": QOT,
    "eot": EOT,
    "tsallis": Tsallis,
    "knn": KNN,
    "gaussian": Gaussian,
    "gaussian_l2": GaussianL2,
    "epanechnikov": Epanechnikov,
}


class SpectralEstimator(BaseEstimator):  # type: ignore[misc]
    """Builds or takes an affinity; gives rows for new points where the affinity can.

    With the default `affinity="qot"`, an X that is an affinity already (`is_affinity`) is taken for
    what it is, as with "precomputed": so `make_pipeline(QOT(), Eigenmaps())` means what it says.

    Attributes
    ----------
    affinity_ : (n, n) matrix.
    affinity_estimator_ : the fitted estimator that made it, None if it was precomputed.
    n_features_in_ : number of columns seen by `fit`.
    """

    affinity: Any

    def _fit_affinity(self, X: Any) -> Any:
        """The affinity of the rows of X, or X itself."""
        maker = named_affinity(self.affinity)
        if self._is_default() and is_affinity(X):
            maker = None
        if maker is None:
            X = getattr(X, "matrix", X)  # of an Affinity
            self.affinity_ = as_affinity(check_features(self, X, reset=True))
        else:
            maker.fit(validated(self, X, reset=True))
            self.affinity_ = as_affinity(maker.affinity_)
        self.affinity_estimator_ = maker
        return self.affinity_

    def _is_default(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity == "qot"

    def _warned_of_pieces(self) -> bool:
        """Whether whoever made the affinity has warned already, if it is in pieces."""
        return isinstance(self.affinity_estimator_, TransportEstimator)

    def _new_rows(self, X: Any) -> Any:
        """Affinities of new points to the training points; from X itself if precomputed."""
        if self.affinity_estimator_ is None:
            n = self.affinity_.shape[0]
            if np.ndim(X) == 2 and np.shape(X)[1] != n:
                raise InvalidInputError(
                    f"with affinity='precomputed' X must hold rows of affinities of the new points "
                    f"to the {n} training points, so {n} features, but X has {np.shape(X)[1]} "
                    f"features, and {type(self).__name__} is expecting {n} features as input"
                )
            rows = check_features(self, X, reset=False)
            rows = csr_array(rows) if issparse(rows) else as_array(rows)
            if not rows.min() >= 0:
                raise InvalidInputError(
                    f"rows of an affinity must be nonnegative numbers, got {rows.min():.3g}; with "
                    "affinity='precomputed' transform takes affinities to the training points"
                )
            return rows
        return self.affinity_estimator_.transform(validated(self, X, reset=False))

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.affinity, str) and (
            self.affinity == "precomputed"
        )
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def named_affinity(affinity: Any) -> Any:
    """An unfitted affinity estimator from its name, or a clone of one; None if precomputed.

    Examples
    --------
    >>> named_affinity("knn")
    KNN()
    """
    if isinstance(affinity, str) and affinity == "precomputed":
        return None
    if isinstance(affinity, str) and affinity in _NAMED:
        return _NAMED[affinity]()
    if hasattr(affinity, "fit_transform") and not isinstance(affinity, type):
        return clone(affinity)
    raise InvalidInputError(
        f"affinity must be an estimator such as sparrot.QOT(perplexity=30), 'precomputed', or one "
        f"of {', '.join(_NAMED)}, got {affinity!r}; an affinity itself goes into fit, with "
        "affinity='precomputed'"
    )


def is_affinity(X: Any) -> bool:
    """Whether X is a bistochastic affinity, and no points: an `Affinity`, or a matrix like one.

    That is a square matrix, sparse or dense, symmetric, without negative entries, with zero
    diagonal and rows that sum to one (within 1e-3: sparse entropic rows lose some of their mass).

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
    if not (np.abs(sums - 1) <= _LOST).all() or X.diagonal().any():
        return False
    return bool(X.min() >= 0 and abs(X - X.T).max() <= _LOST * X.max())


class NeedsRows:
    """A method that is there only if the affinity gives rows for new points.

    As scikit-learn's `available_if`, but the error says why the method is missing.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        """The method of an estimator, or the function of a class."""
        if estimator is None:
            return self._method
        require_rows(estimator, self._method.__name__)
        return MethodType(self._method, estimator)


def require_rows(estimator: SpectralEstimator, method: str) -> None:
    """Raise the `AttributeError` of a method unless the affinity gives rows for new points."""
    maker = named_affinity(estimator.affinity)
    own = isinstance(maker, AffinityEstimator) and not isinstance(maker, TransportEstimator)
    if own or (maker is not None and not hasattr(maker, "transform")):
        raise AttributeError(
            f"this {type(estimator).__name__} has no {method}, because {type(maker).__name__} "
            "gives no rows for new points; take affinity='qot', 'eot' or 'tsallis', or precomputed "
            "rows"
        )


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
            f"an eigenvalue is {least:.1e}, and its function cannot be extended to new points; "
            "take fewer of them"
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


class SpectralMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SpectralEstimator):  # type: ignore[misc]
    """Coordinates `g(lambda_j) psi_j`, j = 2, 3, ..., with a function g of the eigenvalue."""

    n_components: int
    components: str
    random_state: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows of X."""
        W = self._fit_affinity(X)
        m = as_count(self.n_components, "n_components", max(1, W.shape[0] - 2))
        as_choice(self.components, "components", COMPONENTS)
        self._weights = degrees(W) ** -self._exponent()
        self._decompose(scaled(W, self._weights, self._weights), m)
        factors = self._factors(self._lambda)
        self.embedding_ = factors * self._psi
        outside = np.isnan(self._psi[:, 0])
        self._weights[outside] = 0.0
        self._n_features_out = m
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Embed the rows of X and return their coordinates."""
        return self.fit(X).embedding_.copy()

    def transform(self, X: Any) -> FloatArray:
        """Coordinates of new points by the Nystrom extension; training points keep their own.

        With `affinity="precomputed"`, X holds the affinities of new points to the training points.
        """
        check_is_fitted(self)
        functions = np.nan_to_num(self._slopes(self._lambda) * self._psi)
        return extended(self._new_rows(X), self._weights, functions)

    def _exponent(self) -> float:
        return 0.0

    def _factors(self, values: FloatArray) -> FloatArray:
        """The factors g(lambda)."""
        return np.ones_like(values)

    def _slopes(self, values: FloatArray) -> FloatArray:
        """The factors g(lambda) / lambda of the extension."""
        return self._factors(values) / divisible(values)

    def _decompose(self, W: Any, m: int) -> None:
        """Set psi and lambda, one a coordinate and, with components="each", a component."""
        labels = components_by_size(W)
        n = len(labels)
        self.component_labels_ = labels
        self._psi, self._lambda = np.zeros((n, m)), np.ones((n, m))
        said = self.components
        if said == "warn" and self._warned_of_pieces():
            said = "each"  # the same pairs, without a second warning
        parts = range(int(labels.max()) + 1) if self.components == "each" else (0,)
        for c in parts:
            points = np.flatnonzero(labels == c) if self.components == "each" else np.arange(n)
            k = min(m, len(points) - 2)
            if k < 1:
                continue
            block = W if len(points) == n else W[points][:, points]
            pairs = eigenpairs(block, k + 1, components=said, random_state=self.random_state)
            self._psi[points, :k] = pairs.functions[:, 1:]
            self._lambda[points, :k] = pairs.values[1:]
            if c == 0:
                self.eigenvalues_ = pairs.values[1:]
        if self.components == "largest":
            self._psi[labels > 0] = np.nan


# Once the class is made: scikit-learn's wrapper for `set_output` would hide the condition.
SpectralMap.transform = NeedsRows(SpectralMap.transform)  # type: ignore[method-assign, assignment]


class Eigenmaps(SpectralMap):
    """Laplacian eigenmaps: the smoothest nontrivial functions on the graph as coordinates.

    Coordinate j is the eigenfunction of the random walk with the (j + 1)-th largest eigenvalue,
    of mean square one.

    Parameters
    ----------
    n_components : number of coordinates.
    affinity : "qot", "eot", "tsallis", "knn", "gaussian", "gaussian_l2", "epanechnikov"; an
        estimator such as `sparrot.QOT(perplexity=30)`; or "precomputed", where X is the affinity.
        With the default "qot", an X that is an affinity already (square, symmetric, nonnegative,
        zero diagonal, rows that sum to one) is used as it is, so that
        `make_pipeline(StandardScaler(), QOT(), Eigenmaps())` embeds what QOT makes.
    components : for a graph in pieces: "warn"; "largest" embeds the largest component alone, and
        the other points get NaN; "each" embeds every component on its own; "error" refuses.
    random_state : seed of the eigensolver.

    Attributes
    ----------
    embedding_ : (n, n_components) coordinates.
    eigenvalues_ : (n_components,) eigenvalues of the walk (of the largest component, if "each").
    component_labels_ : (n,) connected component of each point, the largest 0.
    affinity_ : (n, n) matrix.
    affinity_estimator_ : the fitted estimator that made it, None if precomputed.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> t = 2 * np.pi * np.arange(100) / 100
    >>> X = np.c_[np.cos(t), np.sin(t)]
    >>> model = sparrot.Eigenmaps(affinity=sparrot.QOT(perplexity=10))
    >>> Y = model.fit_transform(X)                    # a circle, again
    >>> np.linalg.norm(Y, axis=1).round(4)[:3]
    array([1.4142, 1.4142, 1.4142])
    >>> bool(np.allclose(model.transform(X[:5]), Y[:5], atol=1e-6))
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "qot",
        components: str = "warn",
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.affinity = affinity
        self.components = components
        self.random_state = random_state


class DiffusionMap(SpectralMap):
    """Diffusion map (Coifman and Lafon): distances are those of the walk after t steps.

    Coordinate j is `lambda_j^t psi_j`. With t = "multiscale" all times count at once, with
    `lambda_j / (1 - lambda_j)`, the sum over t = 1, 2, ...

    Parameters
    ----------
    n_components : number of coordinates.
    t : steps of the walk, 0 for eigenmaps, or "multiscale".
    alpha : exponent of `alpha_normalization`; it changes nothing for a bistochastic affinity.
    affinity, components, random_state : as for `sparrot.Eigenmaps`.

    Attributes
    ----------
    embedding_, eigenvalues_, component_labels_, affinity_, affinity_estimator_ : as for
        `sparrot.Eigenmaps`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> sparrot.DiffusionMap(4, t=2).fit_transform(X).shape
    (100, 4)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        t: int | str = 1,
        alpha: float = 0.0,
        affinity: Any = "qot",
        components: str = "warn",
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.t = t
        self.alpha = alpha
        self.affinity = affinity
        self.components = components
        self.random_state = random_state

    def _exponent(self) -> float:
        return as_exponent(self.alpha)

    def _factors(self, values: FloatArray) -> FloatArray:
        if self.t != "multiscale":
            return values ** self._steps()
        if self.eigenvalues_.max() > 1 - 1e-12:
            raise InvalidInputError(
                "the multiscale map of a graph in pieces is infinite; take a larger eps, "
                "components='largest' or components='each'"
            )
        return np.where(values == 1, 0.0, values / np.where(values == 1, 1.0, 1 - values))

    def _slopes(self, values: FloatArray) -> FloatArray:
        if self.t == "multiscale":
            return np.where(values == 1, 0.0, 1 / np.where(values == 1, 1.0, 1 - values))
        return values ** (self._steps() - 1) if self._steps() else super()._slopes(values)

    def _steps(self) -> int:
        whole = isinstance(self.t, Integral) and not isinstance(self.t, bool)
        if not whole or int(self.t) < 0:
            raise InvalidInputError(
                f"t must be a number of steps, 0, 1, 2, ..., or 'multiscale', got {self.t!r}"
            )
        return int(self.t)
