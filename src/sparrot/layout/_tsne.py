"""t-SNE of an affinity, by openTSNE; and where layouts start, at its leading eigenvectors.

openTSNE accepts only subclasses of its `openTSNE.affinity.Affinities`, and is an optional package
that is imported when it is used: `SparrotAffinities` has the methods, and `_opentsne_class` makes
the subclass.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sparrot._types import FloatArray, PointArray
from sparrot._validation import (
    as_affinity,
    as_array,
    as_choice,
    as_coordinates,
    as_count,
    as_points,
    as_positive,
    as_public_metric,
    as_seed,
)
from sparrot.affinity import (
    Affinity,
    TransportEstimator,
    distance_named,
    fit,
    kinds,
    nearest_of_new,
    perplexity as perplexity_of,
    resume,
)
from sparrot.errors import InvalidInputError, load_extra
from sparrot.spectral import eigenpairs

_SAMPLE = 500  # new points from which the eps for a perplexity is found
_REACH = np.log(1e6)  # that eps is sought within this factor of the affinity's own
_PRECISION = 0.01  # of log eps
_SPREAD = 1e-4  # standard deviation of a coordinate of a start, as in openTSNE; umap rescales it
_NOISE = 1e-2  # standard deviation of the noise in it, relative to that


def tsne(
    X: Any,
    n_components: int = 2,
    *,
    kind: str = "qot",
    perplexity: float | None = None,
    eps: float | str | None = None,
    n_neighbors: float | None = None,
    min_neighbors: Any = "auto",
    metric: str = "sqeuclidean",
    random_state: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Any:
    """Lay points out by t-SNE with a QOT affinity.

    Parameters
    ----------
    X : (n, p) points.
    n_components : 2 or 1.
    kind : `"qot"`, `"eot"` or `"tsallis"`; for others see `tsne_affinities`.
    perplexity, eps, n_neighbors, metric : as for `sparrot.qot`, but the default is a perplexity
        of 30.
    min_neighbors : for QOT: the effective number of neighbors that every point has at least.
        `"auto"` is 5 (or fewer, see `sparrot.qot`), None or 0 for no floor.
    random_state : seed; the result is the same every time.
    n_jobs : threads, for the affinity (all cores by default) and for openTSNE (one by default).
    **options : passed on to `openTSNE.TSNE`: `n_iter`, `exaggeration`, `initialization`, ...

    Returns
    -------
    openTSNE.TSNEEmbedding
        An array of coordinates; its `transform` places new points, and it holds the `affinities`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> embedding = sparrot.tsne(X, n_iter=20, early_exaggeration_iter=20)
    >>> embedding.shape, embedding.transform(X[:3] + 0.1).shape
    ((100, 2), (3, 2))
    >>> float(embedding.affinities.model.result_.min_neighbors.min())
    5.0
    """
    kind = as_choice(kind, "kind", kinds(transport=True))
    n_components = as_count(n_components, "n_components", 2)
    seed = as_seed(random_state)
    points = as_points(X, as_public_metric(metric))
    scale = {"perplexity": perplexity, "eps": eps, "n_neighbors": n_neighbors}
    model = fit(points, kind, **scale, min_neighbors=min_neighbors, metric=metric, n_jobs=n_jobs)
    affinities = tsne_affinities(model, points)
    if metric != "precomputed" and points.shape[1] >= n_components:
        pca = load_extra("openTSNE.initialization", "tsne").pca
        start = pca(points, n_components, random_state=seed)
        options = {"initialization": start} | options
    return _run(affinities, n_components, seed, {"n_jobs": n_jobs or 1} | options)


def tsne_layout(W: Any, n_components: int = 2, *, random_state: int = 0, **options: Any) -> Any:
    """t-SNE of a matrix; it starts from the leading eigenvectors unless `initialization` is given.

    Examples
    --------
    >>> import sparrot
    >>> W = sparrot.knn(np.random.default_rng(0).standard_normal((60, 3))).matrix
    >>> tsne_layout(W, n_iter=5, early_exaggeration_iter=5).shape
    (60, 2)
    """
    affinities = tsne_affinities(W)
    start = spectral_start(W, n_components, np.random.default_rng(random_state))
    return _run(affinities, n_components, random_state, {"initialization": start} | options)


def _run(affinities: Any, n_components: int, random_state: int, options: dict[str, Any]) -> Any:
    TSNE = load_extra("openTSNE", "tsne").TSNE
    try:
        model = TSNE(n_components=n_components, random_state=random_state, **options)
    except TypeError as error:
        raise InvalidInputError(
            f"openTSNE.TSNE does not take this: {error}",
            remedy="pass only arguments of openTSNE.TSNE",
        ) from error
    return model.fit(affinities=affinities)


def tsne_affinities(source: Any, X: Any = None) -> Any:
    """Any affinity as `openTSNE.affinity.Affinities`, for `openTSNE.TSNE().fit(affinities=...)`.

    Parameters
    ----------
    source : a `sparrot.Affinity`, a symmetric matrix, or a fitted estimator with an `affinity_`.
    X : the points of a `sparrot.Affinity`; needed for `embedding.transform` of new points. A fitted
        `QOT`, `EOT` or `Tsallis` knows its own. Matrices and other kinds have no rows for new
        points: of X only the number of points is checked.

    Returns
    -------
    openTSNE.affinity.Affinities
        With `P` and, if the points are known and the kind has rows for new ones, `to_new`.

    Examples
    --------
    >>> import numpy as np, openTSNE, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> A = sparrot.tsne_affinities(sparrot.qot(X), X)
    >>> bool(np.isclose(A.P.sum(), 1)), A.to_new(X[:2] + 0.1).shape
    (True, (2, 100))
    """
    make = _opentsne_class()
    if isinstance(source, Affinity) and source.kind in kinds(transport=True) and X is not None:
        source = resume(source, X)
    if isinstance(source, BaseEstimator):
        check_is_fitted(source, "affinity_")
    if isinstance(source, TransportEstimator):
        return make(source.affinity_, source, _own_points(source, X))
    affinities = make(getattr(source, "affinity_", source))
    found = affinities.n_samples if X is None else len(as_array(X))
    if found != affinities.n_samples:
        raise InvalidInputError(
            f"must be the {affinities.n_samples} rows of the affinity, got {found}", parameter="X"
        )
    return affinities


def _own_points(model: TransportEstimator, X: Any) -> PointArray:
    """The points that an estimator was fitted to; X, if it is given, must be the same."""
    points: PointArray = model._fit_X
    if X is not None and not np.array_equal(as_points(X, model.metric), points):
        raise InvalidInputError(
            f"is not the data that this {type(model).__name__} was fitted to",
            parameter="X",
            remedy="leave it out",
        )
    return points


class SparrotAffinities:
    """A sparrot affinity with the methods that openTSNE calls; `tsne_affinities` makes it.

    Parameters
    ----------
    W : symmetric affinity; copied, and scaled to sum to one as `P`.
    model, X : the fitted estimator and its points, for rows of new points; None if there are none.
    """

    def __init__(self, W: Any, model: Any = None, X: PointArray | None = None) -> None:
        super().__init__()
        P = csr_matrix(as_affinity(W))
        self.P = csr_matrix(P / P.sum())
        self.model = model
        self.X = X

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by `_unpickled`: the subclass has no name in this module."""
        return _unpickled, (self.__dict__,)

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return int(self.P.shape[0])

    def to_new(
        self, data: Any, perplexity: float | None = None, return_distances: bool = False
    ) -> Any:
        """Affinities of new points to the points of the embedding, in rows of sum one.

        Parameters
        ----------
        data : (m, p) new points.
        perplexity : their mean perplexity, reached, if possible, by another eps with the same
            potentials; None keeps the eps of the affinity. (`embedding.transform` asks for 5.)
        return_distances : also return the nearest points of each new one, ascending, three times
            the perplexity many, and their distances.
        """
        if self.model is None or self.X is None:
            raise InvalidInputError(
                "these affinities have no rows for new points",
                remedy=[
                    "make them from a fitted QOT, EOT or Tsallis",
                    "from an affinity of qot, eot or tsallis and its points",
                    "use {sparrot.tsne}",
                ],
            )
        data = as_array(data, "data")
        model = self.model if perplexity is None else self._reaching(data, perplexity)
        P = csr_matrix(model.transform(data))
        if not return_distances:
            return P
        k = min(self.n_samples, int(np.ceil(3 * perplexity_of(P).mean())))
        distance = distance_named(self.model.metric)
        return P, *nearest_of_new(data, self.X, k, distance, self.model.n_jobs)

    def _reaching(self, data: PointArray, perplexity: float) -> Any:
        """The model at the eps where a sample of the new rows has the mean perplexity.

        If no eps within reach has it, the eps is the end of the range that comes closest.
        """
        target = as_positive(perplexity, "perplexity", "it is an effective number of neighbors")
        sample = data[:: max(1, len(data) // _SAMPLE)]
        model = copy.copy(self.model)

        def excess(log_ratio: float) -> float:
            model.eps_ = self.model.eps_ * np.exp(log_ratio)
            return float(perplexity_of(model.transform(sample)).mean()) - target

        if excess(-_REACH) < 0 < excess(_REACH):
            excess(brentq(excess, -_REACH, _REACH, xtol=_PRECISION))
        return model


@cache
def _opentsne_class() -> Any:
    """`SparrotAffinities` as a subclass of openTSNE's."""
    base = load_extra("openTSNE.affinity", "tsne").Affinities
    return type("SparrotAffinities", (SparrotAffinities, base), {})


def _unpickled(state: dict[str, Any]) -> Any:
    affinities = object.__new__(_opentsne_class())
    affinities.__dict__.update(state)
    return affinities


def spectral_start(W: Any, n_components: int, rng: np.random.Generator) -> FloatArray:
    """The leading eigenvectors of W after the trivial one, scaled down, with a little noise.

    These are the algebraically largest eigenvalues, as a hollow W may have negative ones of large
    size. In a graph of several components points may have equal coordinates; the noise separates
    them.

    Examples
    --------
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> spectral_start(ring, 2, np.random.default_rng(0)).shape
    (6, 2)
    """
    k = as_coordinates(n_components, W.shape[0])
    vectors = eigenpairs(W, k + 1, components="each").vectors[:, 1:]
    spread = vectors.std(axis=0)
    start = vectors / np.where(spread > 0, spread, 1.0)
    return _SPREAD * (start + _NOISE * rng.standard_normal(start.shape))
