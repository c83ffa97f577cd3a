"""Affinities that people use now: k-NN graphs, kernels, and MAGIC's diffusion operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from sparrot.affinity.arguments import as_public_metric
from sparrot.affinity.compact import costs_below
from sparrot.affinity.qot import project
from sparrot.affinity.result import Affinity
from sparrot.cost import make_cost
from sparrot.engine import Threads, require_memory
from sparrot.errors import InvalidInputError
from sparrot.support import compressed, nearest
from sparrot.types import FloatArray, IntArray, PointArray
from sparrot.validation import as_count, as_points, as_positive

_DENSE_BYTES = 32  # for each entry of a dense kernel, all copies counted
_FULL = 10.0  # sparse products for each entry of the result above which dense ones are faster
_DENSE_POWER = 5000  # points up to which dense matrices are small


def knn(
    X: Any,
    k: int = 15,
    *,
    metric: str = "sqeuclidean",
    neighbours: Any = None,
    n_jobs: int | None = None,
) -> Affinity:
    """Unit weights between each point and its k nearest others, symmetrised by the maximum.

    Parameters
    ----------
    X : (n, p) points.
    k : number of neighbours, the point itself not counted.
    metric : as for `sparrot.qot`.
    neighbours : a transformer with the interface of `sklearn.neighbors.KNeighborsTransformer` to
        search with (an approximate one, say); exact search by tiles if None.
    n_jobs : threads; all cores by default.

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
    points = as_points(X, as_public_metric(metric))
    n = len(points)
    k = as_count(k, "k", n - 1)
    cost = make_cost(points, metric)
    if neighbours is None:
        with Threads(n_jobs) as threads:
            indices, _ = nearest(cost, k, threads)
    else:
        indices = _nearest_others(_searched(neighbours, points), k)
    graph = compressed(np.full(n, k), indices.ravel(), np.ones(n * k), n)
    return Affinity("knn", csr_array(graph.maximum(graph.T)), cost.mean(), metric)


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
    return Affinity("gaussian", np.exp(-C / h), unit, metric, hollow=False)


def epanechnikov(
    X: Any, bandwidth: float | None = None, *, eps: float | None = None, metric: str = "sqeuclidean"
) -> Affinity:
    """The kernel `[1 - C_ij / h]_+`, with h relative to the mean cost.

    The paper's table ties the bandwidth to the eps of QOT by `h = eps^(2/3)`; without either, 1.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.epanechnikov(np.array([[0.0], [1.0], [3.0]]), 0.75).matrix.toarray().round(4)
    array([[1.    , 0.5714, 0.    ],
           [0.5714, 1.    , 0.    ],
           [0.    , 0.    , 1.    ]])
    """
    if bandwidth is not None and eps is not None:
        raise InvalidInputError("give bandwidth or eps, not both")
    if bandwidth is None:
        eps = 1.0 if eps is None else eps
        bandwidth = as_positive(eps, "eps", "the bandwidth is eps^(2/3)") ** (2 / 3)
    h = _as_bandwidth(bandwidth)
    cost = make_cost(as_points(X, as_public_metric(metric)), metric)
    C = costs_below(cost, h)
    matrix = csr_array((1 - C.data / h, C.indices, C.indptr), shape=C.shape)
    return Affinity("epanechnikov", matrix, cost.mean(), metric, hollow=False)


def gaussian_l2(
    X: Any,
    bandwidth: float = 1.0,
    *,
    metric: str = "sqeuclidean",
    hollow: bool = True,
    tol: float = 1e-8,
) -> Affinity:
    """The Frobenius projection of the Gaussian kernel (Zass and Shashua), as `project` does it.

    Its potential, eps and `check` are those of the projection: `check` takes the kernel.

    Parameters
    ----------
    X, metric : as for `sparrot.qot`.
    bandwidth : of the Gaussian kernel, relative to the mean cost.
    hollow, tol : as for `sparrot.project`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> sparrot.gaussian_l2(X).certificate.marginal_error <= 1e-8
    True
    """
    kernel = gaussian(X, bandwidth, metric=metric)
    projected = project(kernel.matrix, hollow=hollow, tol=tol)
    return replace(projected, kind="gaussian-l2", mean_cost=kernel.mean_cost)


def magic(
    X: Any, k: int = 5, *, k_max: int | None = None, decay: float = 1.0, t: int = 3
) -> Affinity:
    r"""MAGIC's diffusion operator (van Dijk et al.), a power of a Markov matrix.

    :math:`K_{ij} = \exp(-(d_{ij} / \sigma_i)^{decay})` over the nearest neighbours, the bandwidth
    :math:`\sigma_i` being the distance to the k-th; symmetrised by the mean, rows scaled to one,
    and raised to the power t. Each point is its own neighbour. The result is not symmetric.

    Parameters
    ----------
    X : (n, p) points.
    k : the neighbour that sets the bandwidth, the point itself not counted.
    k_max : neighbours with an affinity, 3 k by default.
    decay : how fast the kernel falls off.
    t : power.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> bool(np.allclose(sparrot.magic(X).matrix.sum(axis=1), 1))
    True
    """
    points = as_points(X)
    n = len(points)
    k = as_count(k, "k", n - 1)
    k_max = min(3 * k, n - 1) if k_max is None else as_count(k_max, "k_max", n - 1)
    decay = as_positive(decay, "decay", "the kernel must fall off; 1.0 is MAGIC's choice")
    cost = make_cost(points, "sqeuclidean")
    with Threads() as threads:
        indices, costs = nearest(cost, max(k, k_max), threads)
    distances = np.sqrt(2 * cost.unit * costs)
    sigma = np.maximum(distances[:, k - 1], np.finfo(np.float64).tiny)
    weights = np.exp(-((distances[:, :k_max] / sigma[:, None]) ** decay))
    rows = np.repeat(np.arange(n), k_max)
    K = csr_array((weights.ravel(), (rows, indices[:, :k_max].ravel())), shape=(n, n))
    K = (K + K.T) / 2 + diags_array(np.ones(n)).tocsr()
    M = csr_array(diags_array(1 / K.sum(axis=1)) @ K)
    power = _power(M, as_count(t, "t", 10**6))
    return Affinity("magic", power, cost.unit, "sqeuclidean", hollow=False)


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


def _as_bandwidth(value: Any) -> float:
    hint = "it is relative to the mean cost, 1.0 is a good start"
    return as_positive(value, "bandwidth", hint)


def _dense_costs(X: Any, bandwidth: Any, metric: str) -> tuple[FloatArray, float, float]:
    h = _as_bandwidth(bandwidth)
    cost = make_cost(as_points(X, as_public_metric(metric)), metric)
    require_memory(
        _DENSE_BYTES * cost.n**2,
        what=f"a dense kernel of {cost.n} points",
        remedy="sparrot.qot and sparrot.knn are sparse",
    )
    return cost.dense(), cost.unit, h


def _searched(neighbours: Any, points: PointArray) -> csr_array:
    if not hasattr(neighbours, "fit_transform"):
        raise InvalidInputError(
            "neighbours must be a transformer such as sklearn.neighbors.KNeighborsTransformer, got "
            f"{neighbours!r}; the number of neighbours is k"
        )
    return csr_array(neighbours.fit_transform(points))


def _nearest_others(graph: csr_array, k: int) -> IntArray:
    """The k nearest in each row of a graph of distances, the point itself left out."""
    n = graph.shape[0]
    i = np.repeat(np.arange(n), np.diff(graph.indptr))
    others = graph.indices != i
    i, j, distance = i[others], graph.indices[others], graph.data[others]
    counts = np.bincount(i, minlength=n)
    if counts.min() < k:
        raise InvalidInputError(
            f"the neighbours transformer gave point {counts.argmin()} only {counts.min()} "
            f"neighbours, and k is {k}; let it search for more"
        )
    order = np.lexsort((j, distance, i))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    chosen: IntArray = j[order[starts[:, None] + np.arange(k)]]
    return chosen
