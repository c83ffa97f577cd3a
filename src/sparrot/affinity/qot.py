r"""The QOT affinity: quadratically regularised optimal transport of the data onto itself.

.. math:: W = \arg\min \{ \langle C, A \rangle + \tfrac{\varepsilon}{2} |A|_F^2 :
          A \ge 0,\ A = A^\top,\ A \mathbf 1 = \mathbf 1,\ \mathrm{diag}\, A = 0 \}

the Frobenius projection of :math:`-C/\varepsilon` onto the hollow symmetric bistochastic matrices.
With the dual potential u the solution is :math:`W_{ij} = [u_i + u_j - C_{ij}]_+ / \varepsilon`, and
u is optimal exactly when every row sums to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sparrot.affinity.along import Along
from sparrot.affinity.arguments import as_options, as_public_metric
from sparrot.affinity.diagnostics import warn_if_poor
from sparrot.affinity.problems import TransportProblem
from sparrot.affinity.result import Affinity
from sparrot.affinity.scale import Scale, solve_at
from sparrot.cost import make_cost
from sparrot.engine import ProgressCallback, Threads
from sparrot.errors import InvalidInputError
from sparrot.validation import as_flag, as_points, as_positive, as_potential


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
    neighbours: Any = None,
    checkpoint: Any = None,
    progress: ProgressCallback | None = None,
) -> Affinity:
    r"""Build the QOT affinity of a cloud of points, with a certificate of optimality.

    Parameters
    ----------
    X : (n, p) points, n >= 2: dense or sparse, never modified; or an (n, n) cost matrix. Points
        that are mapped from a file (`np.load(path, mmap_mode="r")`) are read as tiles need them;
        a quarter of them is held in memory for the first potentials.
    eps : regularisation relative to the mean cost :math:`\bar C = N^{-2} \sum_{ij} C_{ij}`; 1 if
        nothing is said. Larger means more neighbours; on data of one piece with light tails a
        factor of three either way seldom matters.
        `"connected"` finds the smallest eps, to 2 %, for which the graph has one component.
    perplexity : instead of eps: the mean effective number of neighbours to reach, to 1 %.
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
        millions of points, only at neighbours in a graph and at neighbours of neighbours: row sums
        are still exact to `tol`, and the certificate bounds what was missed by a sample of rows.
        Where an exact search is the faster one, up to about :math:`n^2 p = 2 \cdot 10^{14}`, it is
        exact all the same, unless `neighbours` are given; `"auto"` is so whatever is given. The log
        says which, and how long it may take.
    neighbours : for an approximate search, a transformer with the interface of
        `sklearn.neighbors.KNeighborsTransformer`; pynndescent with 30 neighbours by default
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
    product, and memory for the neighbours only.

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
    options = as_options(
        solver, tol, max_iter, max_memory, progress, search, neighbours, checkpoint
    )
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
    neighbours: Any = None,
    progress: ProgressCallback | None = None,
) -> Iterator[Affinity]:
    """QOT affinities for many eps, one by one, each started from the ones before.

    A decreasing grid is the fastest for large n: the pairs of the first problem serve all others.

    Parameters
    ----------
    X, metric, hollow, solver, tol, max_iter, n_jobs, max_memory, search, neighbours, progress : as
        for `qot`.
    eps_grid : relative eps, in any order; results come in the same order.

    Yields
    ------
    Affinity
        What `qot(X, eps)` returns; `neighbours`, `components`, `perplexity` and `spectral_gap` of
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
    options = as_options(solver, tol, max_iter, max_memory, progress, search, neighbours)
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

    The Frobenius projection: the minimiser of `|A - K|_F` over `A >= 0, A = A', A1 = 1` and, if
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
