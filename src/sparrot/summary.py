"""What eps does to the affinity of one data set: an embedding, a spectrum and neighbors for each.

The eps that was asked for stands in the middle of a short path of QOT affinities. Eigenvectors are
known up to sign, and nearly equal eigenvalues mix theirs, so each embedding is turned onto the one
before it; from one eps to the next, points then move only as far as the graph has changed.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot._validation import as_count, as_points, as_positive
from sparrot.affinity import Affinity, perplexity as effective_neighbors, qot, qot_path
from sparrot.affinity._diagnostics import signs_of_poor_choice
from sparrot.affinity._transport import as_scale
from sparrot.cost import make_cost
from sparrot.engine import ProgressCallback
from sparrot.errors import AffinityWarning, InvalidInputError
from sparrot.ot import Certificate, Scale
from sparrot.spectral import eigenpairs

_QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)
_FEWEST = 4  # points: two coordinates need three eigenvectors, and these a fourth point


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One eps of a path.

    Attributes
    ----------
    eps : relative to the mean cost.
    n_neighbors, perplexity, potential : (n,) number of neighbors of each point, effective number,
        and dual potential in the units of C.
    quantiles : of the neighbors: least, 10 %, median, 90 %, most.
    components : connected components of the graph.
    eigenvalues : the largest, in descending order.
    embedding : (n, d) eigenvectors 2 to d + 1, of mean zero and mean square one, turned onto the
        next step on the way to the chosen one.
    certificate : why the affinity is optimal.
    history : the marginal error before each step of the solver.
    warnings : what may not be as meant, with the remedy.
    """

    eps: float
    n_neighbors: IntArray
    perplexity: FloatArray
    potential: FloatArray
    quantiles: FloatArray
    components: int
    eigenvalues: FloatArray
    embedding: FloatArray
    certificate: Certificate
    history: tuple[float, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A data set along eps.

    Attributes
    ----------
    shape : of the points: n and p.
    metric : the cost.
    tol : the marginal error that was asked for.
    span : the largest eps over the chosen one.
    mean_cost : in the units of the data.
    steps : one for each eps, ascending.
    chosen : the step of the eps that was asked for.
    search : where pairs were looked for.
    """

    shape: tuple[int, int]
    metric: str
    tol: float
    span: float
    mean_cost: float
    steps: tuple[Step, ...]
    chosen: int
    search: str = "exact"


def summarize(
    X: Any,
    eps: float | str | None = None,
    *,
    perplexity: float | None = None,
    metric: str = "sqeuclidean",
    each_side: int = 3,
    span: float = 4.0,
    n_eigenvalues: int = 10,
    n_coordinates: int = 4,
    tol: float = 1e-8,
    max_iter: int | None = None,
    n_jobs: int | None = None,
    search: str = "exact",
    neighbors: Any = None,
    progress: ProgressCallback | None = None,
) -> Summary:
    """Summarize the QOT affinity of a cloud of points, at one eps and at others around it.

    Parameters
    ----------
    X, eps, perplexity, metric, tol, max_iter, n_jobs, search, neighbors, progress : as for
        `sparrot.qot`; at least four points.
    each_side : how many other eps there are on either side of the chosen one.
    span : the largest eps over the chosen one, and that over the smallest.
    n_eigenvalues : how many eigenvalues to compute for each; fewer if there are fewer points.
    n_coordinates : columns of each embedding, at least two and fewer than eigenvalues.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> s = sparrot.summarize(X)
    >>> [round(step.eps, 2) for step in s.steps], s.chosen
    ([0.25, 0.4, 0.63, 1.0, 1.59, 2.52, 4.0], 3)
    >>> s.steps[s.chosen].embedding.shape, s.steps[s.chosen].components
    ((200, 4), 1)
    """
    scale = as_scale(eps, perplexity)
    points = as_points(X, metric)
    k, d = _numbers(n_eigenvalues, n_coordinates, len(points))
    side = as_count(each_side, "each_side", 100)
    if as_positive(span, "span", "it is a factor on eps, 4 is a good start") <= 1:
        raise InvalidInputError(f"span is a factor on eps, more than 1, got {span!r}")
    options: dict[str, Any] = {
        "metric": metric,
        "tol": tol,
        "max_iter": max_iter,
        "n_jobs": n_jobs,
        "search": search,
        "neighbors": neighbors,
        "progress": progress,
    }
    middle = _chosen_eps(points, scale, options)
    grid = middle * span ** (np.arange(side, -side - 1, -1) / side)
    cost = make_cost(points, metric)
    path = zip(grid, qot_path(points, grid, **options), strict=True)
    given = scale.eps is not None
    steps = [
        _step(float(e), a, k, d, tuple(map(str, signs_of_poor_choice(a, cost, given))))
        for e, a in path
    ]
    steps.reverse()
    return Summary(points.shape, metric, tol, span, cost.unit, _turned(steps, side), side, search)


def _numbers(n_eigenvalues: Any, n_coordinates: Any, n: int) -> tuple[int, int]:
    """How many eigenvalues and coordinates there are to be, and can be with n points."""
    if n < _FEWEST:
        raise InvalidInputError(f"a summary needs at least {_FEWEST} points, got {n}")
    k = as_count(n_eigenvalues, "n_eigenvalues", 1000)
    d = as_count(n_coordinates, "n_coordinates", 999)
    if not 2 <= d < k:
        raise InvalidInputError(
            f"n_coordinates must be at least 2 and less than n_eigenvalues = {k}, got {d}"
        )
    return min(k, n - 1), min(d, n - 2)


def _chosen_eps(points: PointArray, scale: Scale, options: dict[str, Any]) -> float:
    if scale.eps is not None:
        return scale.eps
    eps = "connected" if scale.perplexity is None else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AffinityWarning)  # the summary keeps what they say
        return qot(points, eps, perplexity=scale.perplexity, **options).relative_eps


def _step(eps: float, affinity: Affinity, k: int, d: int, signs: tuple[str, ...]) -> Step:
    assert affinity.potential is not None
    assert affinity.certificate is not None
    W = csr_array(affinity.matrix)
    spectrum = eigenpairs(W, k, components="each")
    values, vectors = spectrum.values, spectrum.vectors
    components = affinity.components
    neighbors = np.diff(W.indptr)
    return Step(
        eps=eps,
        n_neighbors=neighbors,
        perplexity=effective_neighbors(W),
        potential=affinity.potential,
        quantiles=np.quantile(neighbors, _QUANTILES),
        components=components,
        eigenvalues=values,
        embedding=np.sqrt(len(vectors)) * _nontrivial(vectors, components)[:, :d],
        certificate=affinity.certificate,
        history=affinity.history,
        warnings=signs,
    )


def _nontrivial(vectors: FloatArray, components: int) -> FloatArray:
    """The eigenvectors but the constant one, which a graph in pieces mixes with those of pieces.

    The eigenvalue one has a vector for each component; in their space, a QR factorisation puts the
    constant first.
    """
    n, k = vectors.shape
    top = min(components, k)
    Q = np.linalg.qr(np.c_[np.ones(n), vectors[:, :top]])[0]
    return np.c_[Q[:, 1:top], vectors[:, top:]]


def _turned(steps: list[Step], chosen: int) -> tuple[Step, ...]:
    """Each embedding turned (or reflected) onto its neighbor on the way to the chosen one."""
    for along in (range(chosen + 1, len(steps)), range(chosen - 1, -1, -1)):
        for k in along:
            Y, onto = steps[k].embedding, steps[k - along.step].embedding
            steps[k] = replace(steps[k], embedding=Y @ orthogonal_procrustes(Y, onto)[0])
    return tuple(steps)
