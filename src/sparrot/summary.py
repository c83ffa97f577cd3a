"""What eps does to the QOT affinity of one data set: neighbors, spectrum and embedding at several.

The eps that was asked for is in the middle of a short path. Eigenvectors are known up to sign, and
those of nearly equal eigenvalues up to a rotation, so each embedding is aligned with that of the
next eps; from one to the other, points then move only as far as the graph has changed.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot._validation import as_count, as_points, as_positive, as_public_metric
from sparrot.affinity import (
    Affinity,
    as_floor,
    as_scale,
    perplexity as perplexity_of_rows,
    qot,
    qot_path,
    signs_of_poor_choice,
)
from sparrot.cost import Cost, make_cost
from sparrot.engine import ProgressCallback
from sparrot.errors import AffinityWarning, InvalidInputError
from sparrot.ot import Certificate, Scale
from sparrot.spectral import eigenpairs

__all__ = ["Step", "Summary", "summarize"]

_QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)
_WIDEST = 1e6  # span
_FEWEST = 4  # points: two coordinates need three eigenvectors, and these a fourth point


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One eps of a path.

    Attributes
    ----------
    relative_eps : eps over the mean cost.
    neighbor_counts, perplexity, potential : (n,) number of neighbors of each point, perplexity of
        its row, and dual potential in the units of C.
    effective_neighbors : (n,) `1 / sum_j W_ij^2`, of which floors speak.
    quantiles : of the number of neighbors: minimum, 10 %, median, 90 %, maximum.
    n_connected_components : number of connected components of the graph.
    eigenvalues : the largest, in descending order.
    embedding : (n, d) eigenvectors 2 to d + 1, of mean zero and mean square one, aligned with the
        embedding of the next step on the way to the chosen one.
    certificate : why the affinity is optimal.
    history : the marginal error before each step of the solver.
    warnings : what may not be as intended, with the remedy.
    """

    relative_eps: float
    neighbor_counts: IntArray
    perplexity: FloatArray
    effective_neighbors: FloatArray
    potential: FloatArray
    quantiles: FloatArray
    n_connected_components: int
    eigenvalues: FloatArray
    embedding: FloatArray
    certificate: Certificate
    history: tuple[float, ...]
    warnings: tuple[AffinityWarning, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What a short path of eps does to one data set.

    Attributes
    ----------
    shape : of the points: n and p.
    metric : the cost.
    tol : the marginal error that was asked for.
    span : the largest eps over the chosen one.
    mean_cost : in the units of the cost of the data as given.
    steps : one for each eps, ascending.
    chosen : index of the step at the eps that was asked for.
    search : how pairs were searched for, as for `sparrot.qot`.
    min_neighbors : (n,) the effective neighbors that each row has at least, at every eps; None
        without a floor.
    """

    shape: tuple[int, int]
    metric: str
    tol: float
    span: float
    mean_cost: float
    steps: tuple[Step, ...]
    chosen: int
    search: str = "exact"
    min_neighbors: FloatArray | None = None


def as_summary(summary: Any) -> Summary:
    """What `summarize` returned, and nothing else."""
    if not isinstance(summary, Summary):
        raise InvalidInputError(
            f"must be a sparrot.Summary, got {type(summary).__name__}",
            parameter="summary",
            value=summary,
            remedy="make one with {sparrot.summarize(X)}",
        )
    return summary


def summarize(
    X: Any,
    eps: float | str | None = None,
    *,
    perplexity: float | None = None,
    n_neighbors: float | None = None,
    min_neighbors: Any = "auto",
    metric: str = "sqeuclidean",
    each_side: int = 3,
    span: float = 4.0,
    n_eigenvalues: int = 10,
    n_components: int = 4,
    tol: float = 1e-8,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    search: str = "exact",
    neighbors: Any = None,
    progress: bool | ProgressCallback | None = None,
) -> Summary:
    """Summarize the QOT affinity of a cloud of points, at one eps and at others around it.

    Parameters
    ----------
    X, eps, perplexity, n_neighbors, metric, tol, max_iter, n_jobs, search, neighbors, progress :
        as for `sparrot.qot`, but for eps, which is `"auto"` by default; at least four points. With
        `n_neighbors` every point has that many at every eps, and the chosen eps is the one that
        `sparrot.qot` finds for it.
    min_neighbors : the effective number of neighbors that every point has at least, at every eps.
        `"auto"` is 5 (or fewer, see `sparrot.qot`), None or 0 for no floor.
    each_side : how many other eps there are on either side of the chosen one.
    span : the ratio of the largest eps to the chosen one, and of that to the smallest.
    n_eigenvalues : how many eigenvalues to compute for each; fewer if there are fewer points.
    n_components : columns of each embedding, at least two and fewer than eigenvalues.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> s = sparrot.summarize(X)
    >>> [round(step.relative_eps, 2) for step in s.steps], s.chosen
    ([0.25, 0.4, 0.63, 1.0, 1.59, 2.52, 4.0], 3)
    >>> step = s.steps[s.chosen]
    >>> step.embedding.shape, step.n_connected_components, float(s.min_neighbors.min())
    ((200, 4), 1, 5.0)
    """
    scale = as_scale(eps, perplexity, n_neighbors, Scale(eps=1.0, robust=True))
    points = as_points(X, as_public_metric(metric))
    k, d = _counts(n_eigenvalues, n_components, len(points))
    side = as_sides(each_side, span)
    floor = as_floor(min_neighbors, len(points), True, scale)
    options: dict[str, Any] = {
        "min_neighbors": floor,
        "metric": metric,
        "tol": tol,
        "max_iter": max_iter,
        "n_jobs": n_jobs,
        "search": search,
        "neighbors": neighbors,
        "progress": progress,
    }
    cost = make_cost(points, metric)
    middle = _chosen_eps(points, cost, scale, options)
    grid = middle * span ** (np.arange(side, -side - 1, -1) / side)
    path = zip(grid, qot_path(points, grid, **options), strict=True)
    given = scale.eps is not None and not scale.robust
    steps = [_step(float(e), a, k, d, signs_of_poor_choice(a, cost, given)) for e, a in path]
    steps.reverse()
    found = _aligned(steps, side)
    return Summary(points.shape, metric, tol, span, cost.unit, found, side, search, floor)


def as_sides(each_side: Any, span: Any) -> int:
    """How many eps there are on either side of one, if they can span that factor."""
    hint = "it is a factor on eps, 4 is a good start"
    if not 1 < as_positive(span, "span", hint) <= _WIDEST:
        raise InvalidInputError(
            f"must be more than 1 and at most {_WIDEST:g}, got {span!r}",
            parameter="span",
            value=span,
            remedy=hint,
        )
    return as_count(each_side, "each_side", 100)


def _counts(n_eigenvalues: Any, n_components: Any, n: int) -> tuple[int, int]:
    """The numbers of eigenvalues and coordinates, no more than n points can have."""
    if n < _FEWEST:
        raise InvalidInputError(
            f"must have at least {_FEWEST} points, got {n}",
            parameter="X",
            value=n,
            remedy="give more points",
        )
    k = as_count(n_eigenvalues, "n_eigenvalues", 1000)
    d = as_count(n_components, "n_components", 999)
    if not 2 <= d < k:
        raise InvalidInputError(
            f"must be at least 2 and less than n_eigenvalues = {k}, got {d}",
            parameter="n_components",
            value=d,
        )
    return min(k, n - 1), min(d, n - 2)


def _chosen_eps(points: PointArray, cost: Cost, scale: Scale, options: dict[str, Any]) -> float:
    """The relative eps that was asked for: by itself, by neighbors, or by a connected graph."""
    given = scale.relative_eps(cost)
    if given is not None:
        return given
    wish: dict[str, Any] = {"perplexity": scale.perplexity, "n_neighbors": scale.n_neighbors}
    if scale == Scale():
        wish = {"eps": "connected"}
    if scale.n_neighbors is not None:  # which is the floor itself
        wish["min_neighbors"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AffinityWarning)  # the summary keeps what they say
        return qot(points, **options | wish).relative_eps


def _step(
    eps: float, affinity: Affinity, k: int, d: int, messages: tuple[AffinityWarning, ...]
) -> Step:
    """All that is kept of one affinity; its embedding is not aligned yet."""
    assert affinity.potential is not None
    assert affinity.certificate is not None
    W = csr_array(affinity.matrix)
    spectrum = eigenpairs(W, k, components="each")
    values, vectors = spectrum.values, spectrum.vectors
    components = affinity.n_connected_components
    neighbors = np.diff(W.indptr)
    return Step(
        relative_eps=eps,
        neighbor_counts=neighbors,
        perplexity=perplexity_of_rows(W),
        effective_neighbors=1 / W.power(2).sum(axis=1),
        potential=affinity.potential,
        quantiles=np.quantile(neighbors, _QUANTILES),
        n_connected_components=components,
        eigenvalues=values,
        embedding=np.sqrt(len(vectors)) * _nontrivial(vectors, components)[:, :d],
        certificate=affinity.certificate,
        history=affinity.history,
        warnings=messages,
    )


def _nontrivial(vectors: FloatArray, components: int) -> FloatArray:
    """The eigenvectors without the constant one.

    In a graph in pieces the eigenvalue 1 has a vector for each component, and the constant is a
    combination of them; a QR factorization of their span puts it first.
    """
    n, k = vectors.shape
    top = min(components, k)
    Q = np.linalg.qr(np.c_[np.ones(n), vectors[:, :top]])[0]
    return np.c_[Q[:, 1:top], vectors[:, top:]]


def _aligned(steps: list[Step], chosen: int) -> tuple[Step, ...]:
    """Each embedding rotated or reflected onto its neighbor on the way to the chosen one."""
    for away in (range(chosen + 1, len(steps)), range(chosen - 1, -1, -1)):
        for k in away:
            Y, target = steps[k].embedding, steps[k - away.step].embedding
            steps[k] = replace(steps[k], embedding=Y @ orthogonal_procrustes(Y, target)[0])
    return tuple(steps)
