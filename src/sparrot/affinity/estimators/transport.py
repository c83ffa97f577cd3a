"""Affinities of regularised transport as scikit-learn estimators: they transform new points."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_is_fitted

from sparrot.affinity.eot import eot, tsallis
from sparrot.affinity.estimators.base import AffinityEstimator, validated
from sparrot.affinity.qot import qot
from sparrot.affinity.result import Affinity
from sparrot.cost import costs_to
from sparrot.engine import Threads
from sparrot.errors import InvalidInputError
from sparrot.solvers import new_rows, twins
from sparrot.support import QUADRATIC, Link, tsallis_link
from sparrot.types import FloatArray, PointArray

_BLOCK_ENTRIES = 4_000_000
_ROWS_CHECKED = 16  # by `resume`
_SAME = 1e-6  # of eps or of the largest cost: what points in float32 may err by


class TransportEstimator(AffinityEstimator):
    """Affinities of regularised transport: they have potentials, and rows for new points.

    Attributes
    ----------
    affinity_ : (n, n) matrix: symmetric, nonnegative, rows sum to one.
    potential_ : (n,) dual potential in the units of the cost.
    eps_ : eps in the same units.
    certificate_ : `sparrot.Certificate` of optimality.
    n_iter_ : Newton steps of the last solve.
    """

    def _adopt(self, result: Affinity, X: PointArray) -> Self:
        super()._adopt(result, X)
        self.potential_ = result.potential
        self.eps_ = result.eps
        self.certificate_ = result.certificate
        self.n_iter_ = result.n_iter
        return self

    def transform(self, X: Any) -> Any:
        """Rows of new points against the training points; each sums to one.

        A row that equals a training point is that point (the first, if there are several), so it
        gets no affinity to itself unless `hollow=False`; on the training data as a whole this
        returns `affinity_`.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if np.array_equal(X, self._fit_X):
            return self.affinity_.copy()
        twin = twins(X, self._fit_X) if self.hollow else np.full(len(X), -1)
        costs = costs_to(self._fit_X, self.metric)
        with Threads(self.n_jobs) as threads:
            return self._rows(lambda rows: costs(X[rows]), twin, threads)

    def _rows(self, costs: Any, twin: Any, threads: Threads) -> csr_array:
        link, mass, u = self._regulariser()
        return new_rows(costs, twin, u, link, mass, threads)

    def _regulariser(self) -> tuple[Link, float, FloatArray]:
        assert self.eps_ is not None
        assert self.potential_ is not None
        return QUADRATIC, self.eps_, self.potential_


class QOT(TransportEstimator):
    """Sparse bistochastic affinity of the training points, and rows for new ones.

    Scikit-learn makes no data frame of a sparse matrix: `set_output(transform="pandas")` is an
    error.

    Parameters
    ----------
    eps, perplexity, metric, hollow, solver, tol, max_iter, n_jobs, max_memory, search, neighbours :
        as for `sparrot.qot`.

    Attributes
    ----------
    affinity_ : (n, n) `csr_array`: symmetric, nonnegative, rows sum to one, zero diagonal.
    potential_ : (n,) dual potential in the units of the cost.
    eps_ : eps in the same units.
    certificate_ : `sparrot.Certificate` of optimality.
    result_ : the `sparrot.Affinity` with all of these.
    n_iter_ : Newton steps of the last solve.
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
        eps: float | str | None = None,
        *,
        perplexity: float | None = None,
        metric: str = "sqeuclidean",
        hollow: bool = True,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        search: str = "exact",
        neighbours: Any = None,
    ) -> None:
        self.eps = eps
        self.perplexity = perplexity
        self.metric = metric
        self.hollow = hollow
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.search = search
        self.neighbours = neighbours

    def _build(self, X: PointArray) -> Affinity:
        return qot(X, **self.get_params(deep=False))


class EOT(TransportEstimator):
    """Entropic bistochastic affinity of the training points, and rows for new ones.

    Parameters
    ----------
    eps, perplexity, metric, hollow, drop, tol, max_iter, n_jobs, max_memory : as for `sparrot.eot`;
        a perplexity of 30 (n / 10 where that is less) if neither eps nor perplexity is given.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> sparrot.EOT(perplexity=15).fit_transform(X).shape
    (100, 100)
    """

    def __init__(
        self,
        eps: float | str | None = None,
        *,
        perplexity: float | None = None,
        metric: str = "sqeuclidean",
        hollow: bool = True,
        drop: float | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.eps = eps
        self.perplexity = perplexity
        self.metric = metric
        self.hollow = hollow
        self.drop = drop
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_memory = max_memory

    def _build(self, X: PointArray) -> Affinity:
        return eot(X, **self.get_params())

    def _rows(self, costs: Any, twin: Any, threads: Threads) -> Any:
        """Rows `softmax_j((u_j - c_j) / eps)`."""
        n = len(self._fit_X)
        size = max(1, _BLOCK_ENTRIES // n)
        parts = []
        for k in range(0, len(twin), size):
            rows = slice(k, min(k + size, len(twin)))
            S = (self.potential_ - costs(rows)) / self.eps_
            own = np.flatnonzero(twin[rows] >= 0)
            S[own, twin[rows][own]] = -np.inf
            W = np.exp(S - S.max(axis=1, keepdims=True))
            W /= W.sum(axis=1, keepdims=True)
            parts.append(W if self.drop is None else csr_array(np.where(self.drop / n <= W, W, 0)))
        return np.concatenate(parts) if self.drop is None else csr_array(vstack(parts))


class Tsallis(TransportEstimator):
    """Affinity of the q-family, between QOT and EOT, and rows for new points.

    Parameters
    ----------
    eps, q, perplexity, metric, hollow, solver, tol, max_iter, n_jobs, max_memory :
        as for `sparrot.tsallis`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> sparrot.Tsallis(eps=0.1, q=0.5).fit(X).transform(X[:2] + 0.1).shape
    (2, 100)
    """

    def __init__(
        self,
        eps: float | str | None = None,
        q: float = 0.5,
        *,
        perplexity: float | None = None,
        metric: str = "sqeuclidean",
        hollow: bool = True,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.eps = eps
        self.q = q
        self.perplexity = perplexity
        self.metric = metric
        self.hollow = hollow
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_memory = max_memory

    def _build(self, X: PointArray) -> Affinity:
        return tsallis(X, **self.get_params())

    def _regulariser(self) -> tuple[Link, float, FloatArray]:
        assert self.eps_ is not None
        assert self.potential_ is not None
        shift = self.eps_ / (2 * (1 - self.q))
        return tsallis_link(self.eps_, self.q), 1.0, self.potential_ + shift


def resume(affinity: Affinity, X: Any) -> TransportEstimator:
    """The fitted estimator of an affinity that is there already; nothing is solved.

    Parameters
    ----------
    affinity : a result of `sparrot.qot`, `eot` or `tsallis`, perhaps from a file.
    X : the points (or costs) it was made from.

    Returns
    -------
    QOT, EOT or Tsallis
        As `fit(X)` would leave it: with `transform` for new points.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> sparrot.resume(sparrot.qot(X), X).transform(X[:3] + 0.01).shape
    (3, 100)
    """
    model = _estimator_of(affinity)
    points = validated(model, X, reset=True)
    n = affinity.matrix.shape[0]
    if len(points) != n:
        raise InvalidInputError(f"X must be the {n} rows of the affinity, got {len(points)}")
    _require_same_data(affinity, points)
    return model._adopt(affinity, points)


def _require_same_data(affinity: Affinity, points: PointArray) -> None:
    """Recompute a few rows from the points and the potential; others would give other rows."""
    assert affinity.eps is not None
    costs = costs_to(points, affinity.metric)
    allowed = 0.0 if affinity.certificate is None else affinity.certificate.violation
    for i in np.unique(np.linspace(0, len(points) - 1, _ROWS_CHECKED).astype(int)):
        C = costs(points[i : i + 1])
        rounding = _SAME * max(affinity.eps, float(np.abs(C).max()))
        off = affinity.discrepancy(C, slice(i, i + 1))
        if not off <= allowed + rounding:
            raise InvalidInputError(
                f"X is not the data of this affinity: its row {i} does not follow from X and the "
                f"potential (by {off / affinity.eps:.2g}); pass the points it was made from, in "
                "their order"
            )


def _estimator_of(affinity: Affinity) -> TransportEstimator:
    eps, metric, hollow = affinity.relative_eps, affinity.metric, affinity.hollow
    if affinity.kind == "qot":
        return QOT(eps, metric=metric, hollow=hollow)
    if affinity.kind == "tsallis":
        return Tsallis(eps, affinity.q, metric=metric, hollow=hollow)
    if affinity.kind == "eot":
        return EOT(eps, metric=metric, hollow=hollow, drop=_dropped(affinity))
    raise InvalidInputError(
        f"a {affinity.kind} affinity has no rows for new points; qot, eot and tsallis have"
    )


def _dropped(affinity: Affinity) -> float | None:
    """The `drop` of a sparse entropic plan: its violation is `eps drop / n`."""
    if affinity.certificate is None or affinity.eps is None or not issparse(affinity.matrix):
        return None
    return affinity.certificate.violation * affinity.matrix.shape[0] / affinity.eps
