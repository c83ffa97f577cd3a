r"""Arguments that all affinities share.

The QOT affinity: quadratically regularized optimal transport of the data onto itself.

.. math:: W = \arg\min \{ \langle C, A \rangle + \tfrac{\varepsilon}{2} |A|_F^2 :
          A \ge 0,\ A = A^\top,\ A \mathbf 1 = \mathbf 1,\ \mathrm{diag}\, A = 0 \}

the Frobenius projection of :math:`-C/\varepsilon` onto the hollow symmetric bistochastic matrices.
With the dual potential u the solution is :math:`W_{ij} = [u_i + u_j - C_{ij}]_+ / \varepsilon`, and
u is optimal exactly when every row sums to one.

The EOT affinity: entropically regularized optimal transport of the data onto itself.

.. math:: W = \arg\min \{ \langle C, A \rangle + \varepsilon \sum_{ij} A_{ij} (\log A_{ij} - 1) :
          A = A^\top,\ A \mathbf 1 = \mathbf 1,\ \mathrm{diag}\, A = 0 \}

the information projection of the Gaussian kernel; :math:`W_{ij} = \exp((u_i + u_j - C_{ij}) /
\varepsilon)` has no zeros off the diagonal.

Affinities of regularized transport as scikit-learn estimators: they transform new points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_is_fitted

from sparrot._types import FloatArray, PointArray
from sparrot._validation import (
    as_choice,
    as_flag,
    as_max_iter,
    as_points,
    as_positive,
    as_potential,
    as_tolerance,
)
from sparrot.affinity._along import Along
from sparrot.affinity._diagnostics import warn_if_poor
from sparrot.affinity._estimator import AffinityEstimator, validated
from sparrot.affinity._problems import EntropicProblem, TransportProblem
from sparrot.affinity._result import Affinity
from sparrot.affinity._scale import Scale, solve_at
from sparrot.cost import costs_to, make_cost
from sparrot.engine import ProgressCallback, Threads, silent
from sparrot.errors import InvalidInputError
from sparrot.ot import QUADRATIC, SEARCHES, SOLVERS, Link, Options, new_rows, tsallis_link, twins


def as_options(
    solver: Any,
    tol: Any,
    max_iter: Any,
    max_memory: Any,
    progress: Any,
    search: Any = "exact",
    neighbors: Any = None,
    checkpoint: Any = None,
) -> Options:
    """How to solve."""
    if max_memory is not None:
        max_memory = as_positive(max_memory, "max_memory", "it is in bytes, such as 4e9")
    if progress is not None and not callable(progress):
        raise InvalidInputError(f"progress must be a function of a Progress, got {progress!r}")
    search = _as_search(search, neighbors)
    if search != "exact" and solver not in ("auto", "active-set"):
        raise InvalidInputError(
            f"solver={solver!r} looks at every pair, so search={search!r} has no meaning; use "
            "solver='active-set' or 'auto'"
        )
    if checkpoint is not None and (search != "exact" or solver not in ("auto", "active-set")):
        raise InvalidInputError(
            "checkpoint is for search='exact' with solver='active-set' or 'auto', got "
            f"search={search!r}, solver={solver!r}"
        )
    return Options(
        solver=as_choice(solver, "solver", SOLVERS),
        tol=as_tolerance(tol),
        max_iter=as_max_iter(max_iter),
        max_memory=max_memory,
        progress=progress or silent,
        search=search,
        neighbors=neighbors,
        checkpoint=None if checkpoint is None else Path(checkpoint),
    )


def _as_search(search: Any, neighbors: Any) -> str:
    if neighbors is not None and not hasattr(neighbors, "fit_transform"):
        raise InvalidInputError(
            "neighbors must be a transformer such as sklearn.neighbors.KNeighborsTransformer, got "
            f"{neighbors!r}"
        )
    if neighbors is not None and search == "exact":
        raise InvalidInputError("neighbors is for search='approximate'; an exact search needs none")
    return as_choice(search, "search", SEARCHES)


def as_public_metric(metric: Any) -> str:
    """The name of a metric; `"kernel"` is the affair of `project`."""
    if metric == "kernel" or not isinstance(metric, str):
        raise InvalidInputError(f"metric must be the name of a metric, got {metric!r}")
    return metric


def qot(
    X: Any,
    eps: float | str | None = None,
    *,
    perplexity: float | None = None,
    metric: str = "sqeuclidean",
    hollow: bool = True,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    potential: Any = None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
    search: str = "exact",
    neighbors: Any = None,
    checkpoint: Any = None,
    progress: ProgressCallback | None = None,
) -> Affinity:
    r"""Build the QOT affinity of a cloud of points, with a certificate of optimality.

    Parameters
    ----------
    X : (n, p) points, n >= 2: dense or sparse, never modified; or an (n, n) cost matrix. Points
        that are mapped from a file (`np.load(path, mmap_mode="r")`) are read as tiles need them;
        a quarter of them is held in memory for the first potentials.
    eps : regularization relative to the mean cost :math:`\bar C = N^{-2} \sum_{ij} C_{ij}`; 1 if
        nothing is said. Larger means more neighbors; on data of one piece with light tails a
        factor of three either way seldom matters.
        `"connected"` finds the smallest eps, to 2 %, for which the graph has one component.
    perplexity : instead of eps: the mean effective number of neighbors to reach, to 1 %.
    metric : `"sqeuclidean"` for :math:`C = |x - y|^2/2`, `"cosine"` for :math:`C = 1 - \cos`,
        `"precomputed"` for a symmetric cost matrix, or the name of any distance of scikit-learn
        (then C is that distance). All but the first two need an n x n matrix. So `"euclidean"` is
        :math:`C = |x - y|`, not the default; but `sparrot.sc.neighbors` means the default by it.
    hollow : forbid self-loops. They undo the robustness to noise; `False` is for comparison.
    solver : `"newton"` (dense, for small n), `"active-set"` (sparse, no n x n array),
        `"alternating"` (dense and slow, a referee), or `"auto"`.
    tol : largest marginal error :math:`\max_i |(W 1)_i - 1|`.
    max_iter : limit on Newton steps (or rounds of alternating projections) on all points.
    potential : where to start, in the units of C: the potential of an earlier result.
    n_jobs : threads; all cores by default. The result does not depend on it.
    max_memory : bytes that the solver may take; what is available by default. What the solve will
        need is estimated from a sample before it starts.
    search : `"exact"` looks at every pair of points that no bound rules out; `"approximate"`, for
        millions of points, only at neighbors in a graph and at neighbors of neighbors: row sums
        are still exact to `tol`, and the certificate bounds what was missed by a sample of rows.
        Where an exact search is the faster one, up to about :math:`n^2 p = 2 \cdot 10^{14}`, it is
        exact all the same, unless `neighbors` are given; `"auto"` is so whatever is given. The log
        says which, and how long it may take.
    neighbors : for an approximate search, a transformer with the interface of
        `sklearn.neighbors.KNeighborsTransformer`; pynndescent with 30 neighbors by default
        (whose graph, unlike all else here, depends on its number of threads).
    checkpoint : path of a file: what is found is saved there after each round of an exact search
        by the active set, and a later call on the same points, with any eps, goes on from it.
    progress : called with a `sparrot.Progress` now and then.

    Returns
    -------
    Affinity
        With `matrix`, `potential`, `eps`, `certificate` and `check`.

    Raises
    ------
    NotConvergedError
        If `tol` is not met; its `result` is the best iterate.

    Warns
    -----
    AffinityWarning
        If outliers dominate the mean cost, or the graph is not connected.

    Notes
    -----
    The active set costs one or two passes over all pairs, O(n^2 p) at the speed of a matrix
    product, and memory for the neighbors only.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> a = sparrot.qot(X)
    >>> bool(abs(a.matrix.sum(axis=1) - 1).max() <= 1e-8)
    True
    >>> C = ((X[0] - X[1]) ** 2).sum() / 2
    >>> bool(np.isclose(a.matrix[0, 1], max(0, a.potential[0] + a.potential[1] - C) / a.eps))
    True
    >>> a.certificate.violation, a.certificate.pairs_checked, a.certificate.exact
    (0.0, 19900, True)
    >>> b = sparrot.qot(X, perplexity=20)
    >>> float(sparrot.perplexity(b.matrix).mean().round())
    20.0
    """
    scale = Scale.of(eps, perplexity)
    options = as_options(solver, tol, max_iter, max_memory, progress, search, neighbors, checkpoint)
    points = as_points(X, as_public_metric(metric))
    with Threads(n_jobs) as threads:
        cost = make_cost(points, metric)
        start = None if potential is None else as_potential(potential, cost.n) / cost.unit
        problem = TransportProblem(cost, metric, as_flag(hollow, "hollow"), options, threads)
        affinity = solve_at(Along(problem, start), scale)
    warn_if_poor(affinity, cost, scale)
    return affinity


def qot_path(
    X: Any,
    eps_grid: Iterable[float],
    *,
    metric: str = "sqeuclidean",
    hollow: bool = True,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
    search: str = "exact",
    neighbors: Any = None,
    progress: ProgressCallback | None = None,
) -> Iterator[Affinity]:
    """QOT affinities for many eps, one by one, each started from the ones before.

    A decreasing grid is the fastest for large n: the pairs of the first problem serve all others.

    Parameters
    ----------
    X, metric, hollow, solver, tol, max_iter, n_jobs, max_memory, search, neighbors, progress : as
        for `qot`.
    eps_grid : relative eps, in any order; results come in the same order.

    Yields
    ------
    Affinity
        What `qot(X, eps)` returns; `neighbors`, `components`, `perplexity` and `spectral_gap` of
        each are there for the asking.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> [a.components for a in sparrot.qot_path(X, [10, 1, 0.1])]
    [1, 1, 5]
    """
    hint = "every eps of the grid is relative to the mean cost"
    if not isinstance(eps_grid, Iterable):
        raise InvalidInputError(f"eps_grid must be several eps, got {eps_grid!r}; for one use qot")
    grid = [as_positive(eps, "eps", hint) for eps in eps_grid]
    options = as_options(solver, tol, max_iter, max_memory, progress, search, neighbors)
    points = as_points(X, as_public_metric(metric))
    threads = Threads(n_jobs)
    with threads:
        cost = make_cost(points, metric)
        along = Along(TransportProblem(cost, metric, as_flag(hollow, "hollow"), options, threads))

    def solutions() -> Iterator[Affinity]:
        for eps in grid:
            with threads:  # BLAS has its threads back between two results
                affinity = along.at(eps)
            yield affinity

    return solutions()


def project(
    K: Any,
    *,
    hollow: bool = True,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Affinity:
    """Project any symmetric matrix onto the (hollow) symmetric bistochastic matrices.

    The Frobenius projection: the minimizer of `|A - K|_F` over `A >= 0, A = A', A1 = 1` and, if
    `hollow`, `diag A = 0`. The solution is `W_ij = [u_i + u_j + K_ij]_+`.

    Parameters
    ----------
    K : (n, n) symmetric matrix, for example a kernel; never modified.
    hollow, solver, tol, max_iter, n_jobs, progress : as for `qot`.

    Returns
    -------
    Affinity
        With `eps = 1` and `metric = "kernel"`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> K = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> sparrot.project(K).matrix.toarray().round(6)   # three points leave no choice
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """
    kernel = as_points(K, "kernel")
    options = as_options(solver, tol, max_iter, None, progress)
    with Threads(n_jobs) as threads:
        cost = make_cost(kernel, "kernel")
        problem = TransportProblem(cost, "kernel", as_flag(hollow, "hollow"), options, threads)
        return Along(problem).at(1.0)


def eot(
    X: Any,
    eps: float | str | None = None,
    *,
    perplexity: float | None = None,
    metric: str = "sqeuclidean",
    hollow: bool = True,
    drop: float | None = None,
    tol: float = 1e-8,
    max_iter: int | None = None,
    potential: Any = None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
    progress: ProgressCallback | None = None,
) -> Affinity:
    """Build the entropic bistochastic affinity of a cloud of points.

    Parameters
    ----------
    X, eps, perplexity, metric, hollow, tol, max_iter, potential, n_jobs, max_memory, progress :
        as for `sparrot.qot`. Good values of eps are ten to a hundred times smaller than for QOT; so
        if neither eps nor perplexity is given, the perplexity is 30, or n / 10 where that is less
        (and with fewer than 30 points eps is 0.1).
    drop : None for the dense matrix. A number gives a sparse matrix without the entries below
        `drop / n`, so that no row loses more mass than `drop`; it is then computed in tiles where
        the dense one does not fit in memory.

    Returns
    -------
    Affinity
        With a dense `matrix` (sparse with `drop`); `W_ij = exp((u_i + u_j - C_ij) / eps)`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> a = sparrot.eot(X, 0.1)
    >>> bool(abs(a.matrix.sum(axis=1) - 1).max() <= 1e-8), float(a.matrix.diagonal().max())
    (True, 0.0)
    """
    options = as_options("auto", tol, max_iter, max_memory, progress)
    if drop is not None:
        drop = as_positive(drop, "drop", "it is the mass that a row may lose, 1e-3 is a good start")
        if drop >= 1:
            raise InvalidInputError(f"drop must be below 1, the mass of a row, got {drop:g}")
    elif isinstance(eps, str) and Scale.of(eps, perplexity) == Scale():
        raise InvalidInputError(
            "a dense entropic plan is connected at any eps; eps='connected' needs a drop, such as "
            "drop=1e-3"
        )
    points = as_points(X, as_public_metric(metric))
    scale = Scale.of_entropic(eps, perplexity, len(points))
    with Threads(n_jobs) as threads:
        cost = make_cost(points, metric)
        start = None if potential is None else as_potential(potential, cost.n) / cost.unit
        problem = EntropicProblem(cost, metric, as_flag(hollow, "hollow"), options, threads, drop)
        affinity = solve_at(Along(problem, start), scale)
    warn_if_poor(affinity, cost, scale)
    return affinity


def tsallis(
    X: Any,
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
    progress: ProgressCallback | None = None,
) -> Affinity:
    r"""Build the affinity of the q-family, between QOT (q = 0) and EOT (q -> 1).

    :math:`W_{ij} = \exp_q((u_i + u_j - C_{ij}) / \varepsilon)` with
    :math:`\exp_q(x) = [1 + (1 - q) x]_+^{1/(1-q)}` and row sums one: sparse for every q < 1.

    Parameters
    ----------
    X, eps, perplexity, metric, hollow, solver, tol, max_iter, n_jobs, max_memory, progress :
        as for `sparrot.qot` (there is no alternating solver for q > 0).
    q : 0 <= q < 1.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> bool(abs(sparrot.tsallis(X, 1.0, q=0).matrix - sparrot.qot(X).matrix).max() < 1e-7)
    True
    >>> [int(sparrot.tsallis(X, 0.1, q).n_neighbors) for q in (0, 0.5, 0.9)]
    [3, 5, 61]
    """
    scale = Scale.of(eps, perplexity)
    if isinstance(q, bool) or not isinstance(q, Real) or not 0 <= float(q) < 1:
        raise InvalidInputError(f"q must be in [0, 1), got {q!r}; q = 1 is sparrot.eot")
    options = as_options(solver, tol, max_iter, max_memory, progress)
    if options.solver == "alternating":
        raise InvalidInputError("solver='alternating' is for q = 0: use sparrot.qot, or 'newton'")
    points = as_points(X, as_public_metric(metric))
    with Threads(n_jobs) as threads:
        cost = make_cost(points, metric)
        problem = TransportProblem(
            cost, metric, as_flag(hollow, "hollow"), options, threads, float(q)
        )
        affinity = solve_at(Along(problem), scale)
    warn_if_poor(affinity, cost, scale)
    return affinity


_BLOCK_ENTRIES = 4_000_000
_ROWS_CHECKED = 16  # by `resume`
_SAME = 1e-6  # of eps or of the largest cost: what points in float32 may err by


class TransportEstimator(AffinityEstimator):
    """Affinities of regularized transport: they have potentials, and rows for new points.

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
        link, mass, u = self._regularizer()
        return new_rows(costs, twin, u, link, mass, threads)

    def _regularizer(self) -> tuple[Link, float, FloatArray]:
        assert self.eps_ is not None
        assert self.potential_ is not None
        return QUADRATIC, self.eps_, self.potential_


class QOT(TransportEstimator):
    """Sparse bistochastic affinity of the training points, and rows for new ones.

    Scikit-learn makes no data frame of a sparse matrix: `set_output(transform="pandas")` is an
    error.

    Parameters
    ----------
    eps, perplexity, metric, hollow, solver, tol, max_iter, n_jobs, max_memory, search, neighbors :
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
        neighbors: Any = None,
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
        self.neighbors = neighbors

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

    def _regularizer(self) -> tuple[Link, float, FloatArray]:
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
