"""t-SNE of an affinity, by openTSNE."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sparrot._extras import load_extra
from sparrot._types import PointArray
from sparrot._validation import as_array, as_points
from sparrot.affinity import Affinity, resume
from sparrot.affinity._registry import fit, kinds
from sparrot.affinity._transport import TransportEstimator
from sparrot.errors import InvalidInputError
from sparrot.layout._start import spectral_start


def tsne(
    X: Any,
    n_components: int = 2,
    *,
    kind: str = "qot",
    perplexity: float | None = None,
    eps: float | str | None = None,
    metric: str = "sqeuclidean",
    random_state: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Any:
    """Lay points out by t-SNE with a QOT affinity.

    Parameters
    ----------
    X : (n, p) points.
    n_components : 2, or 1.
    kind : `"qot"`, `"eot"` or `"tsallis"`; for others see `tsne_affinities`.
    perplexity, eps, metric : as for `sparrot.qot`, but a perplexity of 30 if nothing is said.
    random_state : seed; the result is the same every time.
    n_jobs : threads, for the affinity (all cores by default) and for openTSNE (one by default).
    **options : to `openTSNE.TSNE`: `n_iter`, `exaggeration`, `initialization`, ...

    Returns
    -------
    openTSNE.TSNEEmbedding
        An array of coordinates, with `transform` for new points and `affinities` for the rest.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> embedding = sparrot.tsne(X, n_iter=20, early_exaggeration_iter=20)
    >>> embedding.shape, embedding.transform(X[:3] + 0.1).shape
    ((100, 2), (3, 2))
    """
    points = as_points(X, metric)
    model = fit(points, kind, perplexity=perplexity, eps=eps, metric=metric, n_jobs=n_jobs)
    affinities = tsne_affinities(model, points)
    if metric != "precomputed" and points.shape[1] >= n_components:
        pca = load_extra("openTSNE.initialization", "tsne").pca
        start = pca(points, n_components, random_state=random_state)
        options = {"initialization": start} | options
    return _run(affinities, n_components, random_state, {"n_jobs": n_jobs or 1} | options)


def tsne_affinities(source: Any, X: Any = None) -> Any:
    """Any affinity as `openTSNE.affinity.Affinities`, for `openTSNE.TSNE().fit(affinities=...)`.

    Parameters
    ----------
    source : a `sparrot.Affinity`, a symmetric matrix, or whatever is fitted and has an `affinity_`.
    X : the points of a `sparrot.Affinity`; needed for `embedding.transform` of new points. A fitted
        `QOT`, `EOT` or `Tsallis` knows its own; matrices and other kinds have no rows for new
        points, and only the number of theirs is checked.

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
    load_extra("openTSNE", "tsne")
    from sparrot.layout._opentsne import SparrotAffinities

    if isinstance(source, Affinity) and source.kind in kinds(transport=True) and X is not None:
        source = resume(source, X)
    if isinstance(source, BaseEstimator):
        check_is_fitted(source, "affinity_")
    if isinstance(source, TransportEstimator):
        return SparrotAffinities(source.affinity_, source, _own_points(source, X))
    affinities = SparrotAffinities(getattr(source, "affinity_", source))
    if X is not None:
        _require_rows(X, affinities.n_samples)
    return affinities


def _require_rows(X: Any, n: int) -> None:
    found = len(as_array(X))
    if found != n:
        raise InvalidInputError(f"X must be the {n} rows of the affinity, got {found}")


def _own_points(model: TransportEstimator, X: Any) -> PointArray:
    """The points that an estimator was fitted to; X, if it is given, must be the same."""
    points: PointArray = model._fit_X
    if X is not None and not np.array_equal(as_points(X, model.metric), points):
        raise InvalidInputError(
            f"X is not the data that this {type(model).__name__} was fitted to; leave it out"
        )
    return points


def lay_out(W: Any, *, n_components: int, random_state: int, **options: Any) -> Any:
    """t-SNE of a matrix, from its leading eigenvectors unless told otherwise."""
    affinities = tsne_affinities(W)
    start = spectral_start(W, n_components, np.random.default_rng(random_state))
    return _run(affinities, n_components, random_state, {"initialization": start} | options)


def _run(affinities: Any, n_components: int, random_state: int, options: dict[str, Any]) -> Any:
    TSNE = load_extra("openTSNE", "tsne").TSNE
    try:
        model = TSNE(n_components=n_components, random_state=random_state, **options)
    except TypeError as error:
        raise InvalidInputError(f"openTSNE.TSNE does not take this: {error}") from error
    return model.fit(affinities=affinities)
