r"""The EOT affinity: entropically regularised optimal transport of the data onto itself.

.. math:: W = \arg\min \{ \langle C, A \rangle + \varepsilon \sum_{ij} A_{ij} (\log A_{ij} - 1) :
          A = A^\top,\ A \mathbf 1 = \mathbf 1,\ \mathrm{diag}\, A = 0 \}

the information projection of the Gaussian kernel; :math:`W_{ij} = \exp((u_i + u_j - C_{ij}) /
\varepsilon)` has no zeros off the diagonal.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from sparrot.affinity.along import Along
from sparrot.affinity.arguments import as_options, as_public_metric
from sparrot.affinity.diagnostics import warn_if_poor
from sparrot.affinity.problems import EntropicProblem, TransportProblem
from sparrot.affinity.result import Affinity
from sparrot.affinity.scale import Scale, solve_at
from sparrot.cost import make_cost
from sparrot.engine import ProgressCallback, Threads
from sparrot.errors import InvalidInputError
from sparrot.validation import as_flag, as_points, as_positive, as_potential


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
    >>> [int(sparrot.tsallis(X, 0.1, q).neighbours) for q in (0, 0.5, 0.9)]
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
