"""Coordinates of points by the eigenfunctions of the random walk on their affinity."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sparrot._types import BoolArray, FloatArray
from sparrot._validation import as_choice, as_coordinates, as_steps
from sparrot.affinity import KEEP_LARGEST, ways_to_connect
from sparrot.errors import InvalidInputError
from sparrot.spectral._eigen import (
    COMPONENTS,
    announce_complete,
    announce_nearly_separate,
    eigenpairs,
    nearly_separate,
)
from sparrot.spectral._estimator import NeedsRows, SpectralEstimator, divisible, extended
from sparrot.spectral._operators import as_exponent, degrees, scaled


class SpectralMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SpectralEstimator):  # type: ignore[misc]
    """Coordinates `g(lambda_j) psi_j`, j = 2, 3, ..., with a function g of the eigenvalue."""

    n_components: int
    components: str
    random_state: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows of X."""
        as_choice(self.components, "components", COMPONENTS)
        W = self._fit_affinity(X)
        kept = self._fit_components(W, "NaN for coordinates")
        if self.components == "each":
            announce_complete(W, self.component_labels_, self._floors)
        m = as_coordinates(self.n_components, int(kept.sum()))
        self._weights = degrees(W) ** -self._exponent()
        self._decompose(scaled(W, self._weights, self._weights), kept, m)
        self.embedding_ = self._factors(self._lambda) * self._psi
        self._weights[~kept] = 0.0
        self._n_features_out = m
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Embed the rows of X and return their coordinates."""
        return self.fit(X).embedding_.copy()

    def transform(self, X: Any) -> FloatArray:
        """Coordinates of new points by the Nystrom extension; training points keep their own.

        With `affinity="precomputed"`, X holds the affinities of new points to the training points.
        With `components="largest"` only neighbors in that component count, and a point that has
        none gets NaN.
        """
        check_is_fitted(self)
        functions = np.nan_to_num(self._extension_factors(self._lambda) * self._psi)
        return extended(self._new_rows(X), self._weights, functions)

    def _exponent(self) -> float:
        return 0.0

    def _factors(self, values: FloatArray) -> FloatArray:
        """The factors g(lambda)."""
        return np.ones_like(values)

    def _extension_factors(self, values: FloatArray) -> FloatArray:
        """The factors g(lambda) / lambda of the extension."""
        return self._factors(values) / divisible(values)

    def _decompose(self, W: Any, kept: BoolArray, m: int) -> None:
        """Set psi and lambda: of the kept points, or of each component as if it were alone."""
        labels = self.component_labels_
        n = len(labels)
        each = self.components == "each"
        self._psi, self._lambda = np.zeros((n, m)), np.ones((n, m))
        self._psi[~kept] = np.nan
        count, hanging = 0, [np.empty(0, dtype=np.intp)]
        for c in range(int(labels.max()) + 1 if each else 1):
            points = np.flatnonzero(labels == c if each else kept)
            k = min(m, len(points) - 2)
            if k < 1:
                continue
            block = W if len(points) == n else W[points][:, points]
            pairs = eigenpairs(block, k + 1, components="each", random_state=self.random_state)
            self._psi[points, :k] = pairs.functions[:, 1:]
            self._lambda[points, :k] = pairs.values[1:]
            if c == 0:
                self.eigenvalues_ = pairs.values[1:]
            found, where = nearly_separate(
                pairs.values, pairs.vectors, pairs.nontrivial, self._floors
            )
            count += found
            hanging.append(points[where])
        points = np.sort(np.concatenate(hanging))
        announce_nearly_separate(count, points, n, floors=self._floors)


# Only now that the class exists: scikit-learn's wrapper for `set_output` would hide the condition.
SpectralMap.transform = NeedsRows(SpectralMap.transform)  # type: ignore[method-assign, assignment]


class Eigenmaps(SpectralMap):
    """Laplacian eigenmaps: the smoothest nontrivial functions on the graph as coordinates.

    Coordinate j is the eigenfunction of the random walk with the (j + 1)-th largest eigenvalue,
    of mean square one.

    Parameters
    ----------
    n_components : number of coordinates.
    affinity : the name of a symmetric kind, such as "qot", "eot" or "knn"; an estimator such as
        `sparrot.QOT(perplexity=30)`; or "precomputed", where X is the affinity. By its name "qot",
        QOT has a floor, `min_neighbors="auto"`: every point has at least 5 effective neighbors, so
        that outliers do not split off from the rest; and an eps that outliers do not inflate,
        `eps="auto"`: 1, the mean cost, but the median cost where the mean is more than three times
        that. The log (level INFO) says which floor it is. The paper's QOT, without either, is
        `affinity=sparrot.QOT()`.
        With the default "qot", an X that is an affinity already (square, symmetric, nonnegative,
        zero diagonal, rows that sum to one) is used as it is, so that
        `make_pipeline(StandardScaler(), QOT(perplexity=30, min_neighbors=5), Eigenmaps())` embeds
        what QOT makes.
    components : for a graph in pieces: "warn" embeds it as a whole, with a warning; "largest"
        embeds the largest component as if it were alone, the other points get NaN, and a warning
        says how many these are; "each" embeds every component on its own; "error" refuses.
    random_state : seed of the eigensolver.

    Attributes
    ----------
    embedding_ : (n, n_components) coordinates.
    eigenvalues_ : (n_components,) eigenvalues of the walk (of the largest component, if "each").
    component_labels_ : (n,) connected component of each point, the largest 0.
    affinity_ : (n, n) matrix.
    affinity_estimator_ : the fitted estimator that made it, None if precomputed.

    Warns
    -----
    AffinityWarning : the graph is in pieces, or in one piece in name only: eigenvalues within 1e-3
        of one belong to few points (`sparrot.eigenpairs` says how few). `value` has these.

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
    alpha : exponent of `sparrot.spectral.alpha_normalization`; it changes nothing for a
        bistochastic affinity.
    affinity, components, random_state : as for `sparrot.Eigenmaps`; by its name "qot", the affinity
        has a floor of 5 effective neighbors.

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
        if not self._is_multiscale():
            return values ** as_steps(self.t)
        if self.eigenvalues_.max() > 1 - 1e-12:
            raise InvalidInputError(
                "the multiscale map of a graph in pieces is infinite",
                remedy=[*ways_to_connect(self._floors), KEEP_LARGEST],
            )
        return np.where(values == 1, 0.0, values / np.where(values == 1, 1.0, 1 - values))

    def _extension_factors(self, values: FloatArray) -> FloatArray:
        if self._is_multiscale():
            return np.where(values == 1, 0.0, 1 / np.where(values == 1, 1.0, 1 - values))
        steps = as_steps(self.t)
        return values ** (steps - 1) if steps else super()._extension_factors(values)

    def _is_multiscale(self) -> bool:
        return isinstance(self.t, str) and self.t == "multiscale"
