r"""The QOT affinity: quadratically regularised optimal transport of the data onto itself.

.. math:: W = \arg\min \{ \langle C, A \rangle + \tfrac{\varepsilon}{2} |A|_F^2 :
          A \ge 0,\ A = A^\top,\ A \mathbf 1 = \mathbf 1,\ \mathrm{diag}\, A = 0 \}

the Frobenius projection of :math:`-C/\varepsilon` onto the hollow symmetric bistochastic matrices.
With the dual potential u the solution is :math:`W_{ij} = [u_i + u_j - C_{ij}]_+ / \varepsilon`, and
u is optimal exactly when every row sums to one.
"""

from __future__ import annotations

from typing import Any

from sparrot.affinity.result import Affinity
from sparrot.cost import MatrixCost, PointCost, make_cost
from sparrot.engine import ProgressCallback, Threads, silent
from sparrot.errors import NotConvergedError
from sparrot.transport import SOLVERS, Certificate, Solution, SolverOptions, marginal_error, solve
from sparrot.validation import as_choice, as_max_iter, as_points, as_positive, as_potential


def qot(
    X: Any,
    eps: float = 1.0,
    *,
    metric: str = "sqeuclidean",
    hollow: bool = True,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    potential: Any = None,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Affinity:
    r"""Build the QOT affinity of a cloud of points, with a certificate of optimality.

    Parameters
    ----------
    X : (n, p) points, n >= 2: dense or sparse, never modified; or an (n, n) cost matrix.
    eps : regularisation relative to the mean cost :math:`\bar C = N^{-2} \sum_{ij} C_{ij}`.
        Larger means more neighbours; 1 is a good start, and a decade either way seldom matters.
    metric : `"sqeuclidean"` for :math:`C = |x - y|^2/2`, `"cosine"` for :math:`C = 1 - \cos`,
        `"precomputed"` for a symmetric cost matrix, or the name of any distance of scikit-learn
        (then C is that distance). All but the first two need an n x n matrix.
    hollow : forbid self-loops. They undo the robustness to noise; `False` is for comparison.
    solver : `"newton"` (dense, for small n), `"active-set"` (sparse, no n x n array),
        `"alternating"` (dense and slow, a referee), or `"auto"`.
    tol : largest marginal error :math:`\max_i |(W 1)_i - 1|`.
    max_iter : limit on Newton steps (or rounds of alternating projections).
    potential : where to start, in the units of C: the potential of an earlier result.
    n_jobs : threads; all cores by default. The result does not depend on it.
    progress : called with a `sparrot.Progress` now and then.

    Returns
    -------
    Affinity
        With `matrix`, `potential`, `eps`, `certificate` and `check`.

    Raises
    ------
    NotConvergedError
        If `tol` is not met; its `result` is the best iterate.

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
    """
    eps = as_positive(eps, "eps", "it is relative to the mean cost, 1.0 is a good start")
    points = as_points(X, metric)
    solver, tol, max_iter = _solver_arguments(solver, tol, max_iter)
    cost = make_cost(points, metric)
    start = None if potential is None else as_potential(potential, cost.n) / cost.unit
    options = SolverOptions(solver, tol, max_iter, start, progress or silent)
    return _solve(cost, eps, hollow, metric, options, n_jobs)


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
    solver, tol, max_iter = _solver_arguments(solver, tol, max_iter)
    cost = make_cost(kernel, "kernel")
    options = SolverOptions(solver, tol, max_iter, None, progress or silent)
    return _solve(cost, 1.0, hollow, "kernel", options, n_jobs)


def _solver_arguments(solver: Any, tol: Any, max_iter: Any) -> tuple[str, float, int | None]:
    return (
        as_choice(solver, "solver", SOLVERS),
        as_positive(tol, "tol", "it is the largest error of a row sum, 1e-8 is a good choice"),
        as_max_iter(max_iter),
    )


def _solve(
    cost: PointCost | MatrixCost,
    eps: float,
    hollow: bool,
    metric: str,
    options: SolverOptions,
    n_jobs: int | None,
) -> Affinity:
    with Threads(n_jobs) as threads:
        solution = solve(cost, eps, hollow, options, threads)
    affinity = _in_units(solution, eps, cost.unit, hollow, metric)
    if not solution.converged:
        error = affinity.certificate.marginal_error
        raise NotConvergedError(
            f"marginal error {error:.2e} after {solution.n_iter} steps of solver="
            f"{solution.solver!r}, tol is {options.tol:.1e}; raise max_iter or tol, or take a "
            f"larger eps (it is {eps:.3g} x the mean cost). The best iterate is in `.result` of "
            "this error",
            affinity,
        )
    return affinity


def _in_units(solution: Solution, eps: float, unit: float, hollow: bool, metric: str) -> Affinity:
    """From units of the mean cost to the units of the data."""
    certificate = Certificate(
        marginal_error=marginal_error(solution.plan),
        violation=unit * solution.violation,
        pairs_checked=solution.pairs_checked,
        exact=solution.pairs_checked > 0,
    )
    return Affinity(
        matrix=solution.plan,
        potential=unit * solution.u,
        eps=unit * eps,
        mean_cost=unit,
        certificate=certificate,
        n_iter=solution.n_iter,
        history=solution.history,
        hollow=hollow,
        metric=metric,
        solver=solution.solver,
    )
