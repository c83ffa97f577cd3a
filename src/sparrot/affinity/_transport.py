r"""Affinities of regularized transport of the data onto itself: functions and estimators.

QOT is the Frobenius projection of :math:`-C/\varepsilon` onto the hollow symmetric bistochastic
matrices,

.. math:: W = \arg\min \{ \langle C, A \rangle + \tfrac{\varepsilon}{2} |A|_F^2 :
          A \ge 0,\ A = A^\top,\ A \mathbf 1 = \mathbf 1,\ \mathrm{diag}\, A = 0 \},

EOT the information projection of the Gaussian kernel onto the same set,

.. math:: W = \arg\min \{ \langle C, A \rangle + \varepsilon \sum_{ij} A_{ij} (\log A_{ij} - 1) \},

and the q-family is what lies between. With a dual potential u their solutions are
:math:`[u_i + u_j - C_{ij}]_+ / \varepsilon` and :math:`\exp((u_i + u_j - C_{ij}) / \varepsilon)`,
and u is optimal exactly when every row sums to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import wraps
from numbers import Real
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching
from sklearn.utils.validation import check_is_fitted

from sparrot._types import FloatArray, PointArray
from sparrot._validation import (
    as_choice,
    as_finite,
    as_flag,
    as_floors,
    as_max_iter,
    as_max_memory,
    as_neighbors,
    as_path,
    as_points,
    as_points_for,
    as_positive,
    as_potential,
    as_public_metric,
    as_real,
    as_tolerance,
    as_weights,
    require_transformer,
)
from sparrot.affinity._diagnostics import warn_if_poor
from sparrot.affinity._estimator import AffinityEstimator, validated
from sparrot.affinity._folder import as_out, kept_in
from sparrot.affinity._kinds import AUTO
from sparrot.affinity._result import Affinity, affinity_of
from sparrot.cost import Cost, costs_to, make_cost
from sparrot.engine import ProgressCallback, Run
from sparrot.errors import InvalidInputError, NotConvergedError, counted
from sparrot.ot import (
    SEARCHES,
    SOLVERS,
    EntropicRegularizer,
    EpsilonPath,
    Options,
    PowerRegularizer,
    Problem,
    QuadraticRegularizer,
    Regularizer,
    Scale,
    Start,
    TsallisRegularizer,
    as_q,
    log_q,
    new_entropic_rows,
    new_floor_rows,
    new_rows,
    twins,
)


def qot(
    X: Any,
    eps: float | str | None = None,
    *,
    perplexity: float | None = None,
    n_neighbors: float | None = None,
    min_neighbors: Any = None,
    weights: Any = None,
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
    progress: bool | ProgressCallback | None = None,
    engine: Any = None,
    out: Any = None,
) -> Affinity:
    r"""Build the QOT affinity of a cloud of points, with a certificate of optimality.

    Parameters
    ----------
    X : (n, p) points, n >= 2: dense or sparse, never modified; or an (n, n) cost matrix. Points
        that are mapped from a file (`np.load(path, mmap_mode="r")`) are read as tiles need them;
        a quarter of them is held in memory for the first potentials.
    eps : regularization relative to the mean cost :math:`\bar C = N^{-2} \sum_{ij} C_{ij}`; 1 by
        default. Larger means more neighbors; on data of one piece with light tails a
        factor of three either way seldom matters.
        `"connected"` finds an eps at which the graph has one component and 2 % below which it has
        more (the smallest, if larger eps never disconnect the graph; where it is connected at
        1e-6, none below is tried). `"auto"`, the default of spectral estimators, `summarize`, the
        report and the command line, is 1, but relative to the median cost where the mean is more
        than three times as large, which is the work of outliers.
    perplexity : instead of eps: the mean perplexity of a row to reach, to 1 %. That is the
        exponential of the entropy of its weights: k if k weights are equal, and never less than
        the effective number of neighbors :math:`1 / |W_i|^2`.
    n_neighbors : instead of both: the effective number of neighbors of *every* row, hardly any of
        which has more from 8 on (about one in nine at 5, more than half at 2): `min_neighbors` with
        a small eps (a twentieth of the eps at which a typical row alone would have that many; more
        below three neighbors, up to half at two).
    min_neighbors : a floor on the effective number of neighbors :math:`1 / |W_i|^2` of every row,
        at most n - 1; one number, or one for each point. So no outlier pairs off with another, and
        the graph does not fall into small pieces. See the notes. None or 0 for no floor, as in the
        paper (0 also for some of the points); `"auto"`, the default of spectral estimators,
        layouts, `sparrot.sc` and the command line, for 5, or half the perplexity or half the number
        of other points where that is less (no floor with `n_neighbors`, which is one itself, nor
        with `eps="connected"`, since a floor may connect the graph at any eps).
    weights : (n,) positive weights of the points, such as the numbers of points that each stands
        for; rows then sum to the weights. See the notes. Not with floors, nor in an approximate
        search. With `hollow` no point may weigh more than all others together.
    metric : `"sqeuclidean"` for :math:`C = |x - y|^2/2`, `"cosine"` for :math:`C = 1 - \cos`,
        `"precomputed"` for a symmetric cost matrix, or the name of any distance of scikit-learn
        (then C is that distance). All but the first two need an n x n matrix. So `"euclidean"` is
        :math:`C = |x - y|`, not the default; but `sparrot.sc.neighbors` means the default by it.
    hollow : forbid self-loops. With them, noise that adds a number to all costs of a point changes
        the graph; `False` is for comparison.
    solver : `"newton"` (dense, for small n), `"active-set"` (sparse, no n x n array),
        `"alternating"` (dense and slow, a referee), or `"auto"`.
    tol : largest marginal error :math:`\max_i |(W 1)_i - 1|`; with a floor also the largest
        :math:`k_i |W_i|^2 - 1` and the complementarity error.
    max_iter : limit on the Newton steps (or rounds of alternating projections) of each solve;
        easier problems that lead to it have the same limit each, and steps of few rows by
        themselves, as with `n_neighbors=2`, do not count.
    potential : where to start: the potential of an earlier result on the same points, in the units
        of C; or that result itself, which with a floor is a better start, for it has `row_eps`.
    n_jobs : threads; all cores by default. The result does not depend on it.
    max_memory : bytes that the solver may take; what is available by default. What the solve will
        need is estimated from a sample before it starts. With an engine, candidate pairs that would
        take more stay on the workers, in blocks of rows, and so does the work of Newton on them.
    search : `"exact"` looks at every pair of points that no bound rules out; `"approximate"`, for
        millions of points, only at neighbors in a graph and at neighbors of neighbors: row sums
        are still exact to `tol`, and the certificate bounds what was missed by a sample of rows.
        Where an exact search is the faster one, up to about :math:`n^2 p = 2 \cdot 10^{14}`, it is
        exact all the same, unless `neighbors` are given; `"auto"` takes the faster one also then.
        The log says which it is, and how long it may take.
    neighbors : for an approximate search, a transformer with the interface of
        `sklearn.neighbors.KNeighborsTransformer`; pynndescent with 30 neighbors by default
        (whose graph, unlike all else here, depends on its number of threads).
    checkpoint : path of a file: what is found is saved there after each round of an exact search
        by the active set, and a later call on the same points, with any eps, goes on from it.
    progress : True for a progress bar, or a function that is called with a `sparrot.Progress` now
        and then.
    engine : a `dask.distributed.Client` (or the address of a scheduler): all passes over pairs of
        points then run on the workers of its cluster, none of which needs all points, and the
        result is the same to the last bit. X may be the path of a .npy file or a .zarr folder that
        the workers can read (also an array that is mapped from such a file), or a Dask array,
        which never comes to the client. For the metrics `"sqeuclidean"` and
        `"cosine"`, and an exact search by the active set. Few points, up to 65,536, are not worth
        sending. None for the threads of this machine.
    out : path of a new folder that ends in .zarr: the affinity is written there, whole or not at
        all, and the matrix of the result is mapped from it: what is needed of it is read when it
        is. `sparrot.load` opens it again. The workers of an engine write it, in blocks of rows, if
        they reach the folder by the same path; the client writes what they cannot.

    Returns
    -------
    Affinity
        With `matrix`, `potential`, `eps`, `certificate` and `check`; with a floor also `row_eps`.

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

    With floors :math:`k_i` the constraints :math:`|A_i|^2 \le 1 / k_i` are added. That is again a
    Frobenius projection onto a convex set: unique, Lipschitz in C, and unchanged by noise that adds
    a number to all costs of a point. With a multiplier :math:`e_i \ge 0` for each row, `row_eps`,
    which is zero where a row has more neighbors than its floor,
    :math:`W_{ij} = [u_i + u_j - C_{ij}]_+ / (\varepsilon + (e_i + e_j) / 2)`. A floor of all n - 1
    other points makes a row uniform; :math:`|W_i|^2` is least there, so that a floor which is met
    to `tol` holds the entries of the row to :math:`\sqrt{\mathtt{tol} / k_i}`. Rows that
    `QOT.transform` solves for anew are uniform to the last digits.

    With weights :math:`w_i` the problem is that of :math:`\mu = \sum_i w_i \delta_{x_i}`, with the
    squared norm of the density of A in :math:`L^2(\mu \otimes \mu)`:

    .. math:: \min \Bigl\{ \langle C, A \rangle + \tfrac{\varepsilon}{2} \sum_{ij}
              \frac{A_{ij}^2}{w_i w_j} : A \ge 0,\ A = A^\top,\ A \mathbf 1 = w \Bigr\}

    (and :math:`\mathrm{diag}\, A = 0`). The solution is
    :math:`W_{ij} = w_i w_j [u_i + u_j - C_{ij}]_+ / \varepsilon`, and u is optimal exactly when
    :math:`\sum_j w_j [u_i + u_j - C_{ij}]_+ = \varepsilon` for every i. So a point of weight 2 is
    the same as two equal points of weight 1: where each point stands for :math:`w_i` copies, W has
    the sums of their affinities. Without `hollow` that is exact; with it, copies of one point have
    no affinity to each other. eps is relative to the weighted mean of the costs. Multiply
    all weights and eps by t: the potential stays, and W is t times as large. So weights that sum to
    one instead of n want an eps n times smaller, or a `perplexity` (that of the rows of W, a number
    of points and not of copies).

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
    >>> c = sparrot.qot(X, 0.1, min_neighbors=5)
    >>> [bool(((1 / W.power(2).sum(axis=1)) > 4.999).all()) for W in (a.matrix, c.matrix)]
    [False, True]
    >>> float(sparrot.qot(X, 0.1, min_neighbors="auto").min_neighbors.min())
    5.0
    >>> d = c.eps + (c.row_eps[0] + c.row_eps[1]) / 2
    >>> bool(np.isclose(c.matrix[0, 1], max(0, c.potential[0] + c.potential[1] - C) / d))
    True

    Each of 50 points in the place of four copies, or three:

    >>> w = np.where(np.arange(50) < 25, 4.0, 3.0)
    >>> coarse = sparrot.qot(X[:50], 0.1, weights=w, hollow=False)
    >>> fine = sparrot.qot(np.repeat(X[:50], w.astype(int), axis=0), 0.1, hollow=False)
    >>> S = np.repeat(np.eye(50), w.astype(int), axis=0)
    >>> bool(np.allclose(S.T @ fine.matrix.toarray() @ S, coarse.matrix.toarray()))
    True
    """
    return _solve(
        as_points_for(engine, X, as_public_metric(metric)),
        "qot",
        QuadraticRegularizer(),
        as_scale(eps, perplexity, n_neighbors),
        as_options(solver, tol, max_iter, search, neighbors, checkpoint, engine),
        metric=metric,
        hollow=hollow,
        min_neighbors=min_neighbors,
        weights=weights,
        potential=potential,
        n_jobs=n_jobs,
        max_memory=max_memory,
        progress=progress,
        engine=engine,
        out=out,
    )


P = ParamSpec("P")
R = TypeVar("R")


def _refusing(
    names: tuple[str, ...], why: str, remedy: list[str]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse arguments of `qot` that a function does not have, in a sentence."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*arguments: P.args, **named: P.kwargs) -> R:
            for name in names:
                if name in named:
                    raise InvalidInputError(why, parameter=name, value=named[name], remedy=remedy)
            return function(*arguments, **named)

        return checked

    return decorated


_without_floors = _refusing(
    ("min_neighbors", "n_neighbors"),
    "is for QOT alone: other plans have no floor on the neighbors of a row",
    ["leave it out", "take {sparrot.qot} or {sparrot.QOT}"],
)
_at_given_eps = _refusing(
    ("n_neighbors",),
    "takes an eps of its own, and here eps is given",
    ["give {min_neighbors}, a floor at any eps"],
)


@_at_given_eps
def qot_path(
    X: Any,
    eps_grid: Iterable[float],
    *,
    min_neighbors: Any = None,
    metric: str = "sqeuclidean",
    hollow: bool = True,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
    search: str = "exact",
    neighbors: Any = None,
    progress: bool | ProgressCallback | None = None,
    engine: Any = None,
) -> Iterator[Affinity]:
    """QOT affinities for many eps, one by one, each started from the ones before.

    A decreasing grid is the fastest for large n: the pairs of the first problem serve all others.

    Parameters
    ----------
    X, min_neighbors, metric, hollow, solver, tol, max_iter, n_jobs, max_memory, search, neighbors,
    progress, engine : as for `qot`; the floor is the same at every eps. There is no `n_neighbors`,
        which takes an eps of its own.
    eps_grid : relative eps, in any order; results come in the same order.

    Yields
    ------
    Affinity
        What `qot(X, eps)` returns; `mean_neighbors`, `n_connected_components`, `perplexity` and
        `spectral_gap` of each are there for the asking.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> [a.n_connected_components for a in sparrot.qot_path(X, [10, 1, 0.15])]
    [1, 1, 4]
    """
    if not isinstance(eps_grid, Iterable):
        raise InvalidInputError(
            f"must be several eps, got {eps_grid!r}",
            parameter="eps_grid",
            value=eps_grid,
            remedy="for one use {sparrot.qot}",
        )
    hint = "every eps of the grid is relative to the mean cost"
    grid = [as_positive(eps, "eps_grid", hint) for eps in eps_grid]
    options = as_options(solver, tol, max_iter, search, neighbors, engine=engine)
    points = as_points_for(engine, X, as_public_metric(metric))
    with Run(n_jobs, as_max_memory(max_memory), progress, engine) as run:
        hollow = as_flag(hollow, "hollow")
        cost = make_cost(run.hold(points), metric)
        floor = as_floor(min_neighbors, cost.n, hollow, Scale(eps=1.0))
        problem = Problem(cost, QuadraticRegularizer(), hollow, floor)
        path = EpsilonPath(problem, options, run)

    def affinities() -> Iterator[Affinity]:
        for eps in grid:
            with run, _results_of("qot", metric):  # BLAS has its threads back in between
                before = path.n_solves
                solution = path.at(eps)
            yield affinity_of(solution, "qot", metric, path.n_solves - before)

    return affinities()


@_at_given_eps
def project(
    K: Any,
    q: float = 0.0,
    *,
    min_neighbors: Any = None,
    hollow: bool = True,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    progress: bool | ProgressCallback | None = None,
) -> Affinity:
    r"""Project any symmetric matrix onto the (hollow) symmetric bistochastic matrices.

    The Frobenius projection: the minimizer of `|A - K|_F` over `A >= 0, A = A', A1 = 1` and, if
    `hollow`, `diag A = 0`. The solution is `W_ij = [u_i + u_j + K_ij]_+`, divided by
    `1 + (e_i + e_j) / 2` with the `row_eps` e of a floor.

    With `q=1` it is the projection of a nonnegative K under the divergence of Kullback and Leibler,
    :math:`W = \mathrm{diag}(s)\, K\, \mathrm{diag}(s)` with :math:`s_i = e^{u_i}`: the symmetric
    scaling of Sinkhorn. It does not change with multiplicative noise :math:`K_{ij} d_i d_j`, as the
    other does not with :math:`K_{ij} + d_i + d_j`. In between it is the projection under
    `sparrot.bregman_divergence`, :math:`W_{ij} = \exp_q(\log_q K_{ij} + u_i + u_j)`.

    Parameters
    ----------
    K : (n, n) symmetric matrix, for example a kernel; never modified. Nonnegative if q > 0.
    q : 0 <= q <= 1: the divergence.
    min_neighbors, hollow, solver, tol, max_iter, n_jobs, progress : as for `qot`; floors at q = 0
        only. There is no `n_neighbors`, which takes an eps of its own.

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
    >>> K = np.exp(-np.square(np.arange(4.0)[:, None] - np.arange(4)))
    >>> a = sparrot.project(K, q=1)
    >>> s = np.exp(a.potential)
    >>> bool(np.allclose(a.matrix, s[:, None] * (K - np.eye(4)) * s))
    True
    """
    kernel, q = as_points(K, "kernel", "K"), as_q(q)
    regularizer: Regularizer = QuadraticRegularizer()
    if q > 0:
        if not is_no_floor(min_neighbors):
            raise InvalidInputError(
                "is for q = 0 alone",
                parameter="min_neighbors",
                value=min_neighbors,
                remedy="leave it out",
            )
        if (kernel < 0).any():
            raise InvalidInputError(
                f"must not be negative for q > 0, got entries down to {kernel.min():.3g}",
                parameter="K",
                remedy="take {q=0}, the Frobenius projection",
            )
        if q == 1:
            _require_scaling(kernel, as_flag(hollow, "hollow"))
        kernel = log_q(kernel, q)
        regularizer = EntropicRegularizer() if q == 1 else TsallisRegularizer(q=q)
    return _solve(
        kernel,
        "projection",
        regularizer,
        Scale(eps=1.0),
        as_options(solver, tol, max_iter),
        metric="kernel",
        hollow=hollow,
        min_neighbors=min_neighbors,
        n_jobs=n_jobs,
        progress=progress,
        warn=False,
    )


def _require_scaling(K: PointArray, hollow: bool) -> None:
    """Raise unless some diagonal matrix s makes s K s bistochastic.

    There is one if and only if K has total support (Sinkhorn and Knopp): each of its positive
    entries lies on a permutation of positive ones. Given one permutation p, the entry (i, j) does
    where i and the row whose place in p is j are in one cycle of the graph of all entries.
    """
    graph = K > 0
    if hollow:
        graph &= ~np.eye(len(K), dtype=bool)
    if graph.sum() == graph.size - hollow * len(K):
        return
    place = maximum_bipartite_matching(csr_array(graph), perm_type="column")
    remedy = ["add a small number to all its entries", "take {q=0}, the Frobenius projection"]
    if (place < 0).any():
        raise InvalidInputError(
            "has so many zeros that no bistochastic matrix has them too: row "
            f"{int(np.argmin(place))} is left without a partner",
            parameter="K",
            remedy=remedy,
        )
    row = np.argsort(place)  # that has a column for its place
    i, j = np.nonzero(graph)
    links = csr_array((np.ones(len(i)), (i, row[j])), shape=K.shape)
    cycle = connected_components(links, directed=True, connection="strong")[1]
    outside = np.flatnonzero(cycle[i] != cycle[row[j]])
    if len(outside):
        raise InvalidInputError(
            f"has {counted(len(outside), 'entry', 'entries')}, such as "
            f"({i[outside[0]]}, {j[outside[0]]}), that must vanish in every bistochastic matrix "
            "with its zeros, and no scaling makes them do so",
            parameter="K",
            remedy=["set them to zero", *remedy],
        )


@_without_floors
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
    progress: bool | ProgressCallback | None = None,
) -> Affinity:
    """Build the entropic bistochastic affinity of a cloud of points.

    Parameters
    ----------
    X, eps, perplexity, metric, hollow, tol, max_iter, potential, n_jobs, max_memory, progress :
        as for `sparrot.qot`. Good values of eps are ten to a hundred times smaller than for QOT; so
        if neither eps nor perplexity is given, the perplexity is 30, or half the number of other
        points where that is less (and with fewer than 10 points eps is 1).
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
    drop = as_drop(drop, as_scale(eps, perplexity))
    points = as_points(X, as_public_metric(metric))
    scale = as_scale(eps, perplexity, default=Scale.default(len(points)))
    return _solve(
        points,
        "eot",
        EntropicRegularizer(drop=drop),
        scale,
        as_options("auto", tol, max_iter),
        metric=metric,
        hollow=hollow,
        potential=potential,
        n_jobs=n_jobs,
        max_memory=max_memory,
        progress=progress,
    )


@_without_floors
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
    progress: bool | ProgressCallback | None = None,
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
    >>> [int(sparrot.tsallis(X, 0.1, q).mean_neighbors) for q in (0, 0.5, 0.9)]
    [3, 5, 61]
    """
    return _solve(
        as_points(X, as_public_metric(metric)),
        "tsallis",
        TsallisRegularizer(q=as_sparse_q(q)),
        as_scale(eps, perplexity),
        as_options(solver, tol, max_iter),
        metric=metric,
        hollow=hollow,
        n_jobs=n_jobs,
        max_memory=max_memory,
        progress=progress,
    )


def _solve(
    points: Any,
    kind: str,
    regularizer: Regularizer,
    scale: Scale,
    options: Options,
    *,
    metric: str,
    hollow: Any,
    min_neighbors: Any = None,
    weights: Any = None,
    potential: Any = None,
    n_jobs: int | None = None,
    max_memory: Any = None,
    progress: bool | ProgressCallback | None = None,
    engine: Any = None,
    out: Any = None,
    warn: bool = True,
) -> Affinity:
    """The core of all of them: make the cost, find eps, solve, and go back to the data's units."""
    hollow, folder = as_flag(hollow, "hollow"), as_out(out)
    with Run(n_jobs, as_max_memory(max_memory), progress, engine) as run, ExitStack() as results:
        held = run.hold(points)
        weights = as_point_weights(weights, len(held), hollow)
        results.enter_context(_results_of(kind, metric, weights))
        cost = make_cost(held, metric)
        start = None if potential is None else as_start(potential, cost)
        floor = as_floor(min_neighbors, cost.n, hollow, scale)
        problem = Problem(cost, regularizer, hollow, floor)
        eps = scale.relative_eps(cost)
        if weights is not None:
            problem, eps = _weighted(problem, weights, eps)
        path = EpsilonPath(problem, options, run, start)
        if eps is not None:
            solution = path.at(eps)
        elif scale.perplexity is not None:
            solution = path.with_perplexity(scale.perplexity)
        elif scale.n_neighbors is not None:
            solution = path.with_neighbors(scale.n_neighbors)
        else:
            solution = path.connected()
        affinity = affinity_of(solution, kind, metric, path.n_solves, weights)
    if warn:
        given_eps = scale.eps is not None and not scale.robust
        warn_if_poor(affinity, cost, given_eps, connected=scale == Scale())
    return kept_in(folder, affinity, run)


def as_start(potential: Any, cost: Cost) -> Start:
    """Where to start: a potential in the units of the data, or an earlier result."""
    if not isinstance(potential, Affinity):
        return Start(as_potential(potential, cost.n) / cost.unit)
    u = as_potential(potential.potential, cost.n) / cost.unit
    if potential.row_eps is None or potential.eps is None:
        return Start(u)
    e = as_finite(potential.row_eps, (cost.n,), "potential")
    return Start(u, np.maximum(e, 0) / cost.unit, potential.eps / cost.unit)


def _weighted(
    problem: Problem[Regularizer], weights: FloatArray, eps: float | None
) -> tuple[Problem[Regularizer], float | None]:
    """The problem with weights of mean one, and the eps of it that is one of given weights."""
    if problem.floor is not None:
        raise InvalidInputError(
            "cannot be given together with a floor on the neighbors of a row",
            parameter="weights",
            remedy="leave out {weights}, or {min_neighbors} and {n_neighbors}",
        )
    mean = float(weights.mean())
    if eps is not None:
        eps *= problem.cost.mean_under(weights) / mean
    return replace(problem, weights=weights / mean), eps


@contextmanager
def _results_of(kind: str, metric: str, weights: FloatArray | None = None) -> Iterator[None]:
    """Let the error of a solve that did not converge carry an affinity, as the function returns."""
    try:
        yield
    except NotConvergedError as error:
        affinity = affinity_of(error.result, kind, metric, weights=weights)
        raise NotConvergedError(error.problem, affinity, remedy=error.remedies) from None


def as_scale(
    eps: Any,
    perplexity: Any,
    n_neighbors: Any = None,
    default: Scale = Scale(eps=1.0),  # noqa: B008
) -> Scale:
    """What was asked for: a relative eps, a perplexity, neighbors, or the smallest connected eps.

    Examples
    --------
    >>> as_scale(None, None).eps, as_scale(None, 30).perplexity
    (1.0, 30.0)
    """
    given = {"eps": eps, "perplexity": perplexity, "n_neighbors": n_neighbors}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1:
        raise InvalidInputError(
            f"only one scale can be had, and {len(given)} were given",
            remedy=f"give {' or '.join(f'{{{name}}}' for name in given)}, not both",
        )
    if n_neighbors is not None:
        return Scale(n_neighbors=as_neighbors(n_neighbors, "n_neighbors"))
    if perplexity is not None:
        hint = "it is an effective number of neighbors, 30 is a good start"
        return Scale(perplexity=as_positive(perplexity, "perplexity", hint))
    if isinstance(eps, str):
        if eps not in ("connected", AUTO):
            raise InvalidInputError(
                "must be positive, or 'connected' for the smallest that connects the graph, or "
                f"'auto' for 1 unless outliers inflate the mean cost, got {eps!r}",
                parameter="eps",
                value=eps,
                remedy=["take {eps='connected'}", "take {eps='auto'}"],
            )
        return Scale() if eps == "connected" else Scale(eps=1.0, robust=True)
    if eps is None:
        return default
    return Scale(
        eps=as_positive(eps, "eps", "it is relative to the mean cost, 1.0 is a good start")
    )


def as_drop(value: Any, scale: Scale) -> float | None:
    """The mass that a row may lose, below the whole; None for a dense plan, if there is such a one.

    Examples
    --------
    >>> as_drop(None, Scale(eps=1.0)), as_drop(1e-3, as_scale("connected", None))
    (None, 0.001)
    """
    if value is None and scale == Scale():
        raise InvalidInputError(
            "'connected' needs a sparse plan: a dense entropic plan is connected at any eps",
            parameter="eps",
            value="connected",
            remedy="pass {drop=1e-3} as well",
        )
    if value is None:
        return None
    drop = as_positive(value, "drop", "it is the mass that a row may lose, 1e-3 is a good start")
    if drop >= 1:
        raise InvalidInputError(
            f"must be below 1, the mass of a row, got {drop:g}",
            parameter="drop",
            value=drop,
            remedy="1e-3 is a good start",
        )
    return drop


def as_sparse_q(value: Any) -> float:
    """Which one of the q-family, without its dense end."""
    if not 0 <= as_real(value) < 1:
        raise InvalidInputError(
            f"must be in [0, 1), got {value!r}",
            parameter="q",
            value=value,
            remedy="q = 1 is {sparrot.eot}",
        )
    return float(value)


def as_floor(value: Any, n: int, hollow: bool, scale: Scale) -> FloatArray | None:
    """A floor for each of n points, from one number, from n, or from the scale; None for no floor.

    Examples
    --------
    >>> as_floor(3, 5, True, Scale(eps=1.0)), as_floor(None, 4, True, Scale(n_neighbors=2))
    (array([3., 3., 3., 3., 3.]), array([2., 2., 2., 2.]))
    >>> as_floor("auto", 4, True, Scale(eps=1.0))
    array([1.5, 1.5, 1.5, 1.5])
    """
    most = n - hollow
    if isinstance(value, str) and value == AUTO:
        value = scale.floor(n)
    require_one_floor(value, scale)
    if scale.n_neighbors is None:
        return None if is_no_floor(value) else as_floors(value, n, most)
    return np.full(n, as_neighbors(scale.n_neighbors, "n_neighbors", most))


def require_one_floor(value: Any, scale: Scale) -> None:
    """Raise for a floor beside a number of neighbors, which is one."""
    if scale.n_neighbors is not None and not is_no_floor(value):
        raise InvalidInputError(
            "is itself a floor on the neighbors of every point, and a second one was given",
            parameter="n_neighbors",
            value=scale.n_neighbors,
            remedy="give {n_neighbors} or {min_neighbors}, not both",
        )


def is_no_floor(value: Any) -> bool:
    """Whether it is None or the number 0."""
    is_zero = isinstance(value, Real) and not isinstance(value, bool) and value == 0
    return value is None or is_zero


def as_point_weights(value: Any, n: int, hollow: bool) -> FloatArray | None:
    """Positive weights of n points for which there is a plan; None for equal ones.

    Examples
    --------
    >>> as_point_weights([1, 2, 3], 3, True)
    array([1., 2., 3.])
    """
    if value is None:
        return None
    weights = as_weights(value, n, "weights")
    zero = np.flatnonzero(weights == 0)
    if len(zero):
        raise InvalidInputError(
            f"must be positive, but that of point {zero[0]} is zero",
            parameter="weights",
            value=0.0,
            remedy="drop the points without weight",
        )
    heaviest, total = int(weights.argmax()), weights.sum()
    if hollow and 2 * weights[heaviest] > total * (1 + 1e-12):
        raise InvalidInputError(
            f"leave no solution without self-loops: point {heaviest} has "
            f"{weights[heaviest] / total:.0%} of all weight, and the others can take less",
            parameter="weights",
            value=weights[heaviest],
            remedy=["lower its weight", "use {hollow=False}"],
        )
    return weights


def as_options(
    solver: Any,
    tol: Any,
    max_iter: Any,
    search: Any = "exact",
    neighbors: Any = None,
    checkpoint: Any = None,
    engine: Any = None,
) -> Options:
    """How to solve."""
    if engine is not None and (search == "approximate" or solver not in ("auto", "active-set")):
        raise InvalidInputError(
            "is for an exact search by the active set, and another was asked for",
            parameter="engine",
            value=engine,
            remedy=["leave out {search} and {solver}", "leave out {engine}"],
        )
    search = search if engine is None else "exact"
    if neighbors is not None:
        require_transformer(neighbors)
        if search == "exact":
            raise InvalidInputError(
                "is for search='approximate'; an exact search needs none",
                parameter="neighbors",
                value=neighbors,
                remedy="take {search='approximate'}",
            )
    as_choice(search, "search", SEARCHES)
    if search != "exact" and solver not in ("auto", "active-set"):
        raise InvalidInputError(
            f"{solver!r} looks at every pair, so search={search!r} has no meaning",
            parameter="solver",
            value=solver,
            remedy="use {solver='active-set'} or {solver='auto'}",
        )
    if checkpoint is not None and (search != "exact" or solver not in ("auto", "active-set")):
        raise InvalidInputError(
            "is for an exact search by the active set, and another was asked for",
            parameter="checkpoint",
            value=checkpoint,
            remedy=["take {search='exact'}", "take {solver='auto'}"],
        )
    return Options(
        method=as_choice(solver, "solver", SOLVERS),
        tol=as_tolerance(tol),
        max_iter=as_max_iter(max_iter),
        search=search,
        neighbors=neighbors,
        checkpoint=None if checkpoint is None else as_path(checkpoint, "checkpoint"),
    )


class TransportEstimator(AffinityEstimator):
    """Affinities of regularized transport: they have potentials, and rows for new points.

    Attributes
    ----------
    affinity_ : (n, n) matrix: symmetric, nonnegative, rows sum to one.
    potential_ : (n,) dual potential in the units of the cost.
    eps_ : eps in the same units.
    certificate_ : `sparrot.Certificate` of optimality.
    n_iter_ : Newton steps of the last solve, and at least one.
    """

    @classmethod
    def _parameters_of(cls, affinity: Affinity) -> dict[str, Any]:
        """The arguments of an estimator that builds an affinity like this one."""
        return {
            "eps": affinity.relative_eps,
            "metric": affinity.metric,
            "hollow": affinity.hollow,
        }

    def _adopt(self, result: Affinity, X: PointArray) -> Self:
        super()._adopt(result, X)
        assert result.potential is not None
        assert result.eps is not None
        self.potential_: FloatArray = result.potential
        self.eps_: float = result.eps
        self.certificate_ = result.certificate
        self.n_iter_ = max(result.n_iter, 1)  # scikit-learn asks for one
        return self

    def transform(self, X: Any) -> Any:
        """Rows of new points against the training points; each sums to one.

        Rows of EOT with `drop` sum to less, by at most that.

        A row that equals a training point is that point (the first, if there are several), so it
        gets no affinity to itself unless `hollow=False`; on the training data as a whole this
        returns `affinity_`.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if np.array_equal(X, self._fit_X):
            return self.affinity_.copy()
        twin = twins(X, self._fit_X) if self.hollow else np.full(len(X), -1)
        costs = costs_to(self._fit_X, self.metric, shifted=True)
        with Run(self.n_jobs) as run:
            return self._rows(lambda rows: costs(X[rows]), twin, run)

    def _rows(self, costs: Any, twin: Any, run: Run) -> Any:
        regularizer = self._regularizer()
        return new_rows(costs, twin, self.potential_ + regularizer.shift, regularizer, run)

    def _regularizer(self) -> PowerRegularizer:
        return QuadraticRegularizer(self.eps_)


class QOT(TransportEstimator):
    """Sparse bistochastic affinity of the training points, and rows for new ones.

    Scikit-learn makes no data frame of a sparse matrix: `set_output(transform="pandas")` is an
    error.

    Parameters
    ----------
    eps, perplexity, n_neighbors, min_neighbors, metric, hollow, solver, tol, max_iter, n_jobs,
    max_memory, search, neighbors, engine : as for `sparrot.qot`; scikit-learn's `clone` copies the
        address of a scheduler, but no client. The row of a new point has the floor of
        the others too (where they differ, their median).

    Attributes
    ----------
    affinity_ : (n, n) `csr_array`: symmetric, nonnegative, rows sum to one, zero diagonal.
    potential_ : (n,) dual potential in the units of the cost.
    eps_ : eps in the same units.
    certificate_ : `sparrot.Certificate` of optimality.
    result_ : the `sparrot.Affinity` with all of these, and with the `row_eps` of a floor.
    n_iter_ : Newton steps of the last solve, and at least one.
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
        n_neighbors: float | None = None,
        min_neighbors: Any = None,
        metric: str = "sqeuclidean",
        hollow: bool = True,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        search: str = "exact",
        neighbors: Any = None,
        engine: Any = None,
    ) -> None:
        self.eps = eps
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.min_neighbors = min_neighbors
        self.metric = metric
        self.hollow = hollow
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.search = search
        self.neighbors = neighbors
        self.engine = engine

    def _build(self, X: PointArray) -> Affinity:
        return qot(X, **self.get_params(deep=False))

    @classmethod
    def _parameters_of(cls, affinity: Affinity) -> dict[str, Any]:
        floors: Any = affinity.min_neighbors
        if floors is not None and floors.min() == floors.max():
            floors = float(floors[0])
        return super()._parameters_of(affinity) | {"min_neighbors": floors}

    def _rows(self, costs: Any, twin: Any, run: Run) -> Any:
        e, floors = self.result_.row_eps, self.result_.min_neighbors
        if e is None or floors is None:
            return super()._rows(costs, twin, run)
        k = np.where(twin >= 0, floors[twin], np.median(floors))
        return new_floor_rows(costs, twin, self.potential_, e, self.eps_, k, run)


class EOT(TransportEstimator):
    """Entropic bistochastic affinity of the training points, and rows for new ones.

    Parameters
    ----------
    eps, perplexity, metric, hollow, drop, tol, max_iter, n_jobs, max_memory : as for `sparrot.eot`;
        the default scale is that of `sparrot.eot`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> sparrot.EOT(perplexity=15).fit_transform(X).shape
    (100, 100)
    """

    @_without_floors
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

    @classmethod
    def _parameters_of(cls, affinity: Affinity) -> dict[str, Any]:
        return super()._parameters_of(affinity) | {"drop": affinity.drop}

    def _rows(self, costs: Any, twin: Any, run: Run) -> Any:
        regularizer = EntropicRegularizer(self.eps_, self.drop)
        return new_entropic_rows(costs, twin, self.potential_, regularizer, run)


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

    @_without_floors
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

    @classmethod
    def _parameters_of(cls, affinity: Affinity) -> dict[str, Any]:
        return super()._parameters_of(affinity) | {"q": affinity.q}

    def _regularizer(self) -> PowerRegularizer:
        return TsallisRegularizer(self.eps_, q=self.q)
