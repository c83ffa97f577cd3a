"""Graphs and kernels that people use now: k-NN, Gaussian, Epanechnikov, MAGIC; with estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from sparrot._types import FloatArray, PointArray
from sparrot._validation import (
    as_count,
    as_points,
    as_points_for,
    as_positive,
    as_public_metric,
    require_transformer,
)
from sparrot.affinity._estimator import AffinityEstimator
from sparrot.affinity._folder import as_out, kept_in
from sparrot.affinity._neighbors import distance_named, nearest, nearest_of_graph, nearest_of_new
from sparrot.affinity._result import Affinity
from sparrot.affinity._transport import project
from sparrot.cost import SMALL, Cost, costs_to, make_cost
from sparrot.engine import Run, require_memory, row_blocks
from sparrot.errors import AffinityWarning, InvalidInputError, warn
from sparrot.ot import QuadraticRegularizer, compressed, new_rows, screen

_DENSE_BYTES = 32  # for each entry of a dense kernel, all copies counted
_FULL = 10.0  # sparse products for each entry of the result above which dense ones are faster
_DENSE_POWER = 5000  # points up to which dense matrices are small


def knn(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "sqeuclidean",
    neighbors: Any = None,
    n_jobs: int | None = None,
    engine: Any = None,
    out: Any = None,
) -> Affinity:
    """Unit weights between each point and its k nearest others, symmetrized by the maximum.

    Parameters
    ----------
    X : (n, p) points.
    n_neighbors : k, the point itself not counted; all others, with a warning, if they are fewer.
    metric : as for `sparrot.qot`.
    neighbors : a transformer with the interface of `sklearn.neighbors.KNeighborsTransformer` to
        search with (an approximate one, say); exact search by tiles if None.
    n_jobs : threads; all cores by default.
    engine : as for `sparrot.qot`: a Dask cluster on which to search, exactly.
    out : as for `sparrot.qot`: a new folder for the graph.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.knn(np.arange(5.0)[:, None], 1).matrix.toarray().astype(int)
    array([[0, 1, 0, 0, 0],
           [1, 0, 1, 0, 0],
           [0, 1, 0, 1, 0],
           [0, 0, 1, 0, 1],
           [0, 0, 0, 1, 0]])
    """
    metric, folder = as_public_metric(metric), as_out(out)
    points = as_points_for(None if neighbors is not None else engine, X, metric)
    with Run(n_jobs, engine=engine) as run:
        held: Any = run.hold(points) if neighbors is None else points
        n, cost = len(held), make_cost(held, metric)
        k = _as_neighbors(n_neighbors, n)
        if neighbors is None:
            indices, _ = nearest(cost, k, run)
        else:
            require_transformer(neighbors)
            indices = nearest_of_graph(csr_array(neighbors.fit_transform(points)), k)
    graph = compressed(np.full(n, k), indices.ravel(), np.ones(n * k), n)
    found = Affinity("knn", csr_array(graph.maximum(graph.T)), cost.mean(), metric)
    return kept_in(folder, found, run)


def gaussian(X: Any, bandwidth: float = 1.0, *, metric: str = "sqeuclidean") -> Affinity:
    """The dense kernel `exp(-C_ij / h)`, with the bandwidth h relative to the mean cost.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.gaussian(np.array([[0.0], [2.0]])).matrix.round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """
    C, unit, h = _dense_costs(X, bandwidth, metric)
    with np.errstate(over="ignore"):  # so far away there is no affinity
        kernel = np.exp(-C / h)
    return Affinity("gaussian", kernel, unit, metric, hollow=False)


def epanechnikov(
    X: Any,
    bandwidth: float | None = None,
    *,
    eps: float | None = None,
    metric: str = "sqeuclidean",
    n_jobs: int | None = None,
) -> Affinity:
    """The kernel `[1 - C_ij / h]_+`, with h relative to the mean cost.

    Parameters
    ----------
    X, metric, n_jobs : as for `sparrot.knn`.
    bandwidth : h; 1 if neither this nor eps is given.
    eps : instead of h: the paper's table ties it to the eps of QOT by `h = eps^(2/3)`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.epanechnikov(np.array([[0.0], [1.0], [3.0]]), 0.75).matrix.toarray().round(4)
    array([[1.    , 0.5714, 0.    ],
           [0.5714, 1.    , 0.    ],
           [0.    , 0.    , 1.    ]])
    """
    h = _one_bandwidth(bandwidth, eps)
    cost = make_cost(as_points(X, as_public_metric(metric)), metric)
    C = costs_below(cost, h, n_jobs=n_jobs)
    matrix = csr_array((1 - C.data / h, C.indices, C.indptr), shape=C.shape)
    return Affinity("epanechnikov", matrix, cost.mean(), metric, hollow=False)


def gaussian_l2(
    X: Any,
    bandwidth: float = 1.0,
    *,
    metric: str = "sqeuclidean",
    hollow: bool = True,
    tol: float = 1e-8,
    n_jobs: int | None = None,
) -> Affinity:
    """The Frobenius projection of the Gaussian kernel (Zass and Shashua), as `project` does it.

    Its potential, eps and `check` are those of the projection: `check` takes the kernel.

    Parameters
    ----------
    X, metric : as for `sparrot.qot`.
    bandwidth : of the Gaussian kernel, relative to the mean cost.
    hollow, tol, n_jobs : as for `sparrot.project`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> sparrot.gaussian_l2(X).certificate.marginal_error <= 1e-8
    True
    """
    kernel = gaussian(X, bandwidth, metric=metric)
    projected = project(kernel.matrix, hollow=hollow, tol=tol, n_jobs=n_jobs)
    return replace(projected, kind="gaussian_l2", mean_cost=kernel.mean_cost)


def magic(
    X: Any,
    n_neighbors: int = 5,
    *,
    max_neighbors: int | None = None,
    decay: float = 1.0,
    t: int = 3,
    n_jobs: int | None = None,
) -> Affinity:
    r"""MAGIC's diffusion operator (van Dijk et al.), a power of a Markov matrix.

    :math:`K_{ij} = \exp(-(d_{ij} / \sigma_i)^{decay})` over the nearest neighbors, the bandwidth
    :math:`\sigma_i` being the distance to the k-th; symmetrized by the mean, rows scaled to one,
    and raised to the power t. Each point is its own neighbor. The result is not symmetric.

    Parameters
    ----------
    X : (n, p) points.
    n_neighbors : k, the neighbor that sets the bandwidth, the point itself not counted; the
        farthest, with a warning, if there are fewer.
    max_neighbors : neighbors with an affinity, 3 k by default.
    decay : how fast the kernel falls off.
    t : power.
    n_jobs : threads; all cores by default.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> bool(np.allclose(sparrot.magic(X).matrix.sum(axis=1), 1))
    True
    """
    points = as_points(X)
    n = len(points)
    k = _as_neighbors(n_neighbors, n)
    k_max = min(3 * k, n - 1)
    if max_neighbors is not None:
        k_max = as_count(max_neighbors, "max_neighbors", n - 1)
    decay = as_positive(decay, "decay", "the kernel must fall off; 1.0 is MAGIC's choice")
    cost = make_cost(points, "sqeuclidean")
    with Run(n_jobs) as run:
        indices, costs = nearest(cost, max(k, k_max), run)
    distances = np.sqrt(2 * cost.unit * costs)
    weights = _decayed(distances, k, k_max, decay)
    rows = np.repeat(np.arange(n), k_max)
    K = csr_array((weights.ravel(), (rows, indices[:, :k_max].ravel())), shape=(n, n))
    K = (K + K.T) / 2 + diags_array(np.ones(n)).tocsr()
    M = csr_array(diags_array(1 / K.sum(axis=1)) @ K)
    power = _power(M, as_count(t, "t", 10**6))
    return Affinity("magic", power, cost.unit, "sqeuclidean", hollow=False)


def _as_neighbors(value: Any, n: int) -> int:
    """A number of nearest neighbors, at most all other points."""
    k = as_count(value, "n_neighbors")
    if k >= n:
        warn(
            AffinityWarning(
                f"is {k} of {n} points: each has all {n - 1} others for neighbors",
                parameter="n_neighbors",
                value=k,
                remedy=f"take {{n_neighbors={n // 2}}} or fewer" if n >= 4 else "",
            )
        )
    return min(k, n - 1)


def _decayed(distances: FloatArray, k: int, k_max: int, decay: float) -> FloatArray:
    """MAGIC's weights of the first neighbors of each point, from all distances in order.

    Of a point so far off that distances overflow, they are all alike.
    """
    distances = np.minimum(distances, np.finfo(np.float64).max)
    sigma = np.maximum(distances[:, k - 1], np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        return np.exp(-((distances[:, :k_max] / sigma[:, None]) ** decay))


def _power(M: csr_array, t: int) -> csr_array:
    """The power t of a sparse matrix; by dense products once those are cheaper."""
    n = M.shape[0]
    power = M
    for done in range(1, t):
        if power.nnz * (M.nnz / n) > _FULL * n**2 and n <= _DENSE_POWER:
            rest = np.linalg.matrix_power(M.toarray(), t - done)
            return csr_array(power.toarray() @ rest)
        power = csr_array(power @ M)
    return power


def as_bandwidth(value: Any) -> float:
    """The bandwidth of a kernel, relative to the mean cost."""
    hint = "it is relative to the mean cost, 1.0 is a good start"
    return as_positive(value, "bandwidth", hint)


def _one_bandwidth(bandwidth: Any, eps: Any) -> float:
    """The bandwidth, given as such or by eps."""
    if bandwidth is not None and eps is not None:
        raise InvalidInputError(
            f"and eps are two names of one scale, got {bandwidth!r} and {eps!r}",
            parameter="bandwidth",
            value=bandwidth,
            remedy="give one of them",
        )
    if bandwidth is None:
        eps = 1.0 if eps is None else eps
        bandwidth = as_positive(eps, "eps", "the bandwidth is eps^(2/3)") ** (2 / 3)
    return as_bandwidth(bandwidth)


def _dense_costs(X: Any, bandwidth: Any, metric: str) -> tuple[FloatArray, float, float]:
    h = as_bandwidth(bandwidth)
    cost = make_cost(as_points(X, as_public_metric(metric)), metric)
    require_memory(
        _DENSE_BYTES * cost.n**2,
        what=f"a dense kernel of {cost.n} points",
        remedy="take {sparrot.qot} or {sparrot.knn}, which are sparse",
    )
    return cost.dense(), cost.unit, h


def costs_below(
    cost: Cost, level: float, *, hollow: bool = False, n_jobs: int | None = None
) -> csr_array:
    """The costs below a level as a sparse symmetric matrix, with or without the diagonal.

    A kernel of compact support needs these, and no others.
    """
    own = np.flatnonzero((cost.diagonal() < level) & (not hollow))
    if cost.n <= SMALL:
        C = cost.dense()
        i, j = np.nonzero(np.triu(level > C, 1))
        found = C[i, j]
    else:
        with Run(n_jobs) as run:
            pairs = screen(cost, np.full(cost.n, level / 2), run)
        i, j, found = pairs.i, pairs.j, pairs.cost
    rows, columns = np.concatenate([i, j, own]), np.concatenate([j, i, own])
    data = np.concatenate([found, found, cost.diagonal()[own]])
    return csr_array((data, (rows, columns)), shape=(cost.n, cost.n))


def _kernel_rows(model: Any, X: PointArray) -> FloatArray:
    """The Gaussian kernel of new points and the points of a fitted estimator."""
    require_memory(
        _DENSE_BYTES * len(X) * len(model._fit_X),
        what=f"a dense kernel of {len(X)} x {len(model._fit_X)} points",
        remedy="pass fewer new points at a time",
    )
    h = as_bandwidth(model.bandwidth) * model.result_.mean_cost
    with np.errstate(over="ignore"):
        return np.exp(-costs_to(model._fit_X, model.metric)(X) / h)


class KNN(AffinityEstimator):
    """The symmetrized k-nearest-neighbor graph; see `sparrot.knn`.

    The row of a new point has ones for its k nearest training points, by an exact search.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.KNN(1).fit_transform(np.arange(4.0)[:, None]).nnz
    6
    """

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        metric: str = "sqeuclidean",
        neighbors: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def _build(self, X: PointArray) -> Affinity:
        return knn(X, **self.get_params(deep=False))

    def _new_rows(self, X: PointArray) -> csr_array:
        n = len(self._fit_X)
        k = min(self.n_neighbors, n - 1)
        metric = distance_named(self.metric)
        indices, _ = nearest_of_new(X, self._fit_X, k, metric, self.n_jobs)
        return compressed(np.full(len(X), k), indices.ravel(), np.ones(indices.size), n)


class Gaussian(AffinityEstimator):
    """The Gaussian kernel, also of new points; see `sparrot.gaussian`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.Gaussian(0.5).fit_transform(np.eye(3)).shape
    (3, 3)
    """

    def __init__(self, bandwidth: float = 1.0, *, metric: str = "sqeuclidean") -> None:
        self.bandwidth = bandwidth
        self.metric = metric

    def _build(self, X: PointArray) -> Affinity:
        return gaussian(X, **self.get_params())

    def _new_rows(self, X: PointArray) -> FloatArray:
        return _kernel_rows(self, X)


class Epanechnikov(AffinityEstimator):
    """The Epanechnikov kernel, also of new points; see `sparrot.epanechnikov`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.Epanechnikov(eps=0.1).fit_transform(np.eye(3)).nnz
    3
    """

    def __init__(
        self,
        bandwidth: float | None = None,
        *,
        eps: float | None = None,
        metric: str = "sqeuclidean",
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.eps = eps
        self.metric = metric
        self.n_jobs = n_jobs

    def _build(self, X: PointArray) -> Affinity:
        return epanechnikov(X, **self.get_params())

    def _new_rows(self, X: PointArray) -> csr_array:
        h = _one_bandwidth(self.bandwidth, self.eps) * self.result_.mean_cost
        costs, n = costs_to(self._fit_X, self.metric), len(self._fit_X)
        rows = [np.maximum(1 - costs(X[rows]) / h, 0) for rows in row_blocks(len(X), n)]
        return csr_array(vstack([csr_array(block) for block in rows]))


class GaussianL2(AffinityEstimator):
    """The Frobenius projection of the Gaussian kernel; see `sparrot.gaussian_l2`.

    The row of a new point is the projection of its row of the kernel, at the potentials of the
    training points.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.GaussianL2().fit_transform(np.eye(3)).toarray()[0]
    array([0. , 0.5, 0.5])
    """

    def __init__(
        self,
        bandwidth: float = 1.0,
        *,
        metric: str = "sqeuclidean",
        hollow: bool = True,
        tol: float = 1e-8,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.metric = metric
        self.hollow = hollow
        self.tol = tol
        self.n_jobs = n_jobs

    def _build(self, X: PointArray) -> Affinity:
        return gaussian_l2(X, **self.get_params())

    def _new_rows(self, X: PointArray) -> csr_array:
        u, eps, K = self.result_.potential, self.result_.eps, _kernel_rows(self, X)
        assert u is not None
        assert eps is not None
        with Run(self.n_jobs) as run:
            new = np.full(len(X), -1)
            return new_rows(lambda rows: -K[rows], new, u, QuadraticRegularizer(eps), run)


class MAGIC(AffinityEstimator):
    """MAGIC's diffusion operator; see `sparrot.magic`.

    A new point takes one step to its neighbors among the training points, and t steps from there,
    as MAGIC carries its result over to new data.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.MAGIC(2, t=1).fit_transform(np.arange(8.0)[:, None]).shape
    (8, 8)
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        max_neighbors: int | None = None,
        decay: float = 1.0,
        t: int = 3,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.max_neighbors = max_neighbors
        self.decay = decay
        self.t = t
        self.n_jobs = n_jobs

    def _build(self, X: PointArray) -> Affinity:
        return magic(X, **self.get_params())

    def _new_rows(self, X: PointArray) -> csr_array:
        n = len(self._fit_X)
        k = min(self.n_neighbors, n - 1)
        k_max = self.max_neighbors or min(3 * k, n - 1)
        found = nearest_of_new(X, self._fit_X, max(k, k_max), "euclidean", self.n_jobs)
        indices, weights = found[0][:, :k_max], _decayed(found[1], k, k_max, self.decay)
        weights /= weights.sum(axis=1, keepdims=True)
        step = compressed(np.full(len(X), k_max), indices.ravel(), weights.ravel(), n)
        return csr_array(step @ self.affinity_)
