r"""Distances between points, from the random walk :math:`P = D^{-1} W` on their affinity.

**Along the manifold** (`geodesic_distances`). The unit is one step of the walk: :math:`\phi` is a
distance if at every point :math:`\sum_j P_{ij} (\phi_j - \phi_i)^2 = 1`, the root mean square
length of a step in the direction of steepest ascent. This needs no coordinates, so noise that fills
many dimensions, and drowns Euclidean lengths, has no effect on it. There are three methods.

* *heat* (Crane, Weischedel and Wardetzky, on a graph): after one implicit step of length t from the
  source, :math:`v = -\log u` rises steadily, but not at slope one. Scaled at each point to slope
  one it gives a wanted difference :math:`f_{ij}` for each edge, and :math:`\phi` minimizes
  :math:`\sum_{ij} W_{ij} (\phi_j - \phi_i - f_{ij})^2`, a Laplacian system.
* *varadhan*: :math:`\phi_i = \sqrt{-2t \log(u_i / u_{source})}` with u the heat after time t.
* *graph*: shortest paths along the edges, with Euclidean lengths.

Heat after time t and heat after one implicit step of length t are both power series of the walk
with positive coefficients,

.. math:: e^{-t(I - P)} \propto \sum_k \frac{t^k}{k!} P^k, \qquad
          (I + t(I - P))^{-1} \propto \sum_k \Bigl( \frac{t}{1+t} \Bigr)^k P^k .

Their logarithm is wanted far from the source, where a method with a small *absolute* error
(conjugate gradients, Chebyshev) returns noise. A sum of positive terms has a small relative error.

**Of the walk** (`diffusion_distances`, `commute_times`): Euclidean distances of a Gram matrix G,

.. math:: d(i, j)^2 = G_{ii} + G_{jj} - 2 G_{ij},

with :math:`G = D^{-1/2} e^{-2 t L} D^{-1/2}` (L the symmetric Laplacian) for the diffusion
distance, and :math:`G = \mathrm{vol}\, (D - W)^+` for the square root of the commute time. Only the
columns of G for the sources and the diagonal entries for the targets are computed, in blocks:
memory is linear in n, and time is that of one column for each source and each target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from sparrot._types import BoolArray, FloatArray, IntArray, PointArray
from sparrot._validation import as_affinity, as_choice, as_indices, as_positive
from sparrot.errors import InvalidInputError
from sparrot.geometry._local import as_points_of
from sparrot.spectral import grounded_solver, heat_operator, laplacian, random_walk
from sparrot.spectral._operators import degrees

_STEP = 4.0  # implicit time step, in steps of the walk: a few neighborhoods, as Crane et al. advise
_SPREAD = 4.0  # Varadhan's time, in distances to the farthest point: beyond hops, before mixing
_TERM = 1e-10  # the series ends where its terms are that small, relative to the sum
_MOST_TERMS = 100_000
_LARGE, _SMALL = 1e200, 1e-290  # where the sum is scaled down; below that, digits are lost
_BLOCK = 256  # columns at a time

Ratio = Callable[[int], float]
Columns = Callable[[FloatArray], FloatArray]


def geodesic_distances(
    W: Any, sources: Any, *, method: str = "heat", X: Any = None, t: float | None = None
) -> FloatArray:
    """Distances along the manifold from some points to all.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    sources : an index, or a list of them.
    method : `"heat"` (most accurate), `"varadhan"`, or `"graph"` (shortest paths; needs X).
    X : (n, p) points, for distances in their units rather than in steps of the walk. For noisy
        points in many dimensions leave it out: their lengths are mostly noise.
    t : time in steps of the walk; if None, 4 for heat, and four times the largest distance for
        Varadhan.

    Returns
    -------
    Distances, of shape (n,) for one index and (k, n) for a list of k; infinite to other components.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> angle = 2 * np.pi * np.arange(1000) / 1000
    >>> X = np.c_[np.cos(angle), np.sin(angle)]
    >>> d = geodesic_distances(sparrot.qot(X, perplexity=8), 0, X=X)
    >>> d[[250, 500, 750]].round(1)  # a quarter, a half and three quarters of the circle
    array([1.6, 3.1, 1.6])
    """
    method = as_choice(method, "method", ("heat", "varadhan", "graph"))
    W = csr_array(as_affinity(W))
    n = W.shape[0]
    chosen = as_indices(sources, n, "sources")
    points = None if X is None else as_points_of(X, n)
    if t is not None:
        t = as_positive(t, "t", "it counts steps of the walk; None has it chosen")
    if method == "graph":
        distances = _shortest(W, chosen, points, t)
    elif method == "heat":
        distances = _heat_method(W, chosen, points, t or _STEP)
    elif points is None:
        P, labels = random_walk(W), connected_components(W, directed=False)[1]
        distances = np.stack([_varadhan(P, s, labels == labels[s], t) for s in chosen])
    else:
        raise InvalidInputError(
            "was given, but Varadhan's distances are in steps of the walk",
            parameter="X",
            remedy=["leave {X} out", "use {method='heat'}"],
        )
    return _shaped_as(sources, distances)


def diffusion_distances(W: Any, sources: Any, t: float, *, targets: Any = None) -> FloatArray:
    r"""How differently heat spreads from two points in time t.

    .. math:: d_t(i, j)^2 = \sum_k \bigl( H_t(i, k) - H_t(j, k) \bigr)^2 / D_{kk},
              \qquad H_t = e^{-t (I - D^{-1} W)}

    Time is continuous, as for `heat_kernel`: the powers :math:`P^t` of Coifman and Lafon would keep
    the negative eigenvalues that a hollow affinity has.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    sources : an index, or a list of them.
    t : time, in steps of the walk.
    targets : the points to measure to; all if None, which is slow for many points.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> diffusion_distances(path, 0, 1.0).round(4)
    array([0.    , 0.2832, 0.5597, 0.709 ])
    """
    W = csr_array(as_affinity(W))
    t = as_positive(t, "t", "it counts steps of the walk; heat_time finds one for a perplexity")
    i, j = _ends(sources, targets, W.shape[0])
    root = np.sqrt(degrees(W))[:, None]
    H = heat_operator(laplacian(W, "symmetric"), 2 * t, tol=1e-14)
    squares = _gram_distances(lambda unit: (H @ (unit / root)) / root, W.shape[0], i, j)
    return _shaped_as(sources, np.sqrt(np.maximum(squares, 0)))


def commute_times(W: Any, sources: Any, *, targets: Any = None) -> FloatArray:
    r"""Mean number of steps of the walk from one point to another and back.

    :math:`\mathrm{vol}\,(e_i - e_j)^\top (D - W)^+ (e_i - e_j)` with vol the sum of all degrees of
    the component, which is vol times the effective resistance; infinite between components. Over
    many points it tends to :math:`\mathrm{vol}\,(1/D_{ii} + 1/D_{jj})` and forgets the geometry
    (von Luxburg, Radl and Hein): for distances along a manifold see `geodesic_distances`.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    sources : an index, or a list of them.
    targets : the points to measure to; all if None, which is slow for many points.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> commute_times(path, 0).round(6)
    array([ 0.,  6., 12., 18.])
    """
    W = csr_array(as_affinity(W))
    i, j = _ends(sources, targets, W.shape[0])
    labels = connected_components(W, directed=False)[1]
    resistance = _gram_distances(_laplacian_solver(W, labels), W.shape[0], i, j)
    volume = np.bincount(labels, degrees(W))[labels]
    together = labels[i][:, None] == labels[j]
    times = np.where(together, volume[i][:, None] * np.maximum(resistance, 0), np.inf)
    return _shaped_as(sources, times)


def _ends(sources: Any, targets: Any, n: int) -> tuple[IntArray, IntArray]:
    """Where distances begin and end."""
    ends = np.arange(n) if targets is None else as_indices(targets, n, "targets")
    return as_indices(sources, n, "sources"), ends


def _shaped_as(sources: Any, distances: FloatArray) -> FloatArray:
    """One row per source; only the row where one index was given."""
    return distances[0] if np.ndim(sources) == 0 else distances


def _laplacian_solver(W: csr_array, labels: IntArray) -> Columns:
    """Solves `(D - W) x = b`, with x zero at the first point of each component."""
    grounded = np.zeros(len(labels), dtype=bool)
    grounded[np.unique(labels, return_index=True)[1]] = True
    return grounded_solver(laplacian(W, "combinatorial"), grounded)


def _heat_method(W: csr_array, sources: IntArray, X: PointArray | None, t: float) -> FloatArray:
    """One factorization for all sources: each solution is shifted to zero at its source."""
    P, labels = random_walk(W), connected_components(W, directed=False)[1]
    solve = _laplacian_solver(W, labels)
    edges = P.tocoo()
    i, j = edges.row, edges.col
    weights = W[i, j]
    distances = np.full((len(sources), len(labels)), np.inf)
    for row, source in zip(distances, sources, strict=True):
        reached = labels == labels[source]
        v = np.where(reached, _log_step(P, source, reached, t), 0.0)
        inverse_slope = 1 / _slope(edges, v) if X is None else _length_of_rise(edges, v, X)
        f = (v[j] - v[i]) * (inverse_slope[i] + inverse_slope[j]) / 2
        inflow = np.bincount(i, -weights * f, minlength=len(labels))
        phi = solve(inflow.astype(np.float64, copy=False))
        row[reached] = np.maximum(phi - phi[source], 0)[reached]
    return distances


def _slope(edges: coo_array, v: FloatArray) -> FloatArray:
    """Root mean square of the rise of v over a step; infinite where v is flat."""
    i, j = edges.row, edges.col
    square = np.bincount(i, edges.data * (v[j] - v[i]) ** 2, minlength=len(v))
    return np.sqrt(np.where(square > 0, square, np.inf))


def _length_of_rise(edges: coo_array, v: FloatArray, X: PointArray) -> FloatArray:
    """By how much x moves, in its units, as v rises by one: the regression of x on v nearby."""
    P, n = edges.tocsr(), len(v)
    rise = v[edges.col] - (P @ v)[edges.row]
    Q = csr_array((edges.data * rise, (edges.row, edges.col)), shape=(n, n))
    variance = np.bincount(edges.row, edges.data * rise**2, minlength=n)
    return np.linalg.norm(Q @ X, axis=1) / np.where(variance > 0, variance, np.inf)


def _varadhan(P: csr_array, source: int, reached: BoolArray, t: float | None) -> FloatArray:
    if t is None:
        farthest = float(_log_step(P, source, reached, _STEP)[reached].max()) * np.sqrt(_STEP / 2)
        t = max(1.0, _SPREAD * farthest)
    v = minus_log_heat(P, source, reached, heat_ratio(t))
    if np.isinf(v[reached]).any():
        _refuse(t)
    return np.sqrt(np.maximum(2 * t * v, 0))


def _shortest(W: csr_array, sources: IntArray, X: PointArray | None, t: float | None) -> FloatArray:
    if X is None or t is not None:
        raise InvalidInputError(
            "method='graph' needs the points for its lengths, and takes no t",
            remedy="give {X} and leave out {t}",
        )
    edges = W.tocoo()
    length = np.linalg.norm(np.subtract(X[edges.row], X[edges.col], dtype=np.float64), axis=1)
    length = np.maximum(length, np.finfo(np.float64).tiny)  # a zero would be no edge
    graph = csr_array((length, (edges.row, edges.col)), shape=W.shape)
    return np.asarray(dijkstra(graph, directed=False, indices=sources))


def _log_step(P: csr_array, source: int, reached: BoolArray, t: float) -> FloatArray:
    """-log u after one implicit step; where u underflows, again with a gauge by hops.

    Far away v grows by the same amount with every hop, so that u times the exponential of hops
    times this rate does not underflow.
    """
    v = minus_log_heat(P, source, reached, euler_ratio(t))
    hops = np.empty(0)
    while (lost := reached & np.isinf(v)).any():
        if not len(hops):
            hops = dijkstra(P, indices=source, unweighted=True)
        rate = (v / np.maximum(hops, 1))[np.where(np.isinf(v), -1, v).argmax()]
        gauge = np.where(reached, rate * hops, 0.0)
        v = minus_log_heat(P, source, reached, euler_ratio(t), gauge)
        if np.count_nonzero(reached & np.isinf(v)) >= np.count_nonzero(lost):
            _refuse(t)
    return v


def _refuse(t: float) -> NoReturn:
    raise InvalidInputError(
        f"at t = {t:g} the heat that reaches the farthest points is too little for float64",
        remedy="take a larger {t}",
    )


def euler_ratio(t: float) -> Ratio:
    """From one term of the implicit step to the next."""
    return lambda k: t / (1 + t)


def heat_ratio(t: float) -> Ratio:
    """From one term of the exponential to the next."""
    return lambda k: t / k


def minus_log_heat(
    P: csr_array, source: int, reached: BoolArray, ratio: Ratio, gauge: FloatArray | None = None
) -> FloatArray:
    """`-log(u / u_source)`; infinite where no heat can go, or so little that float64 loses it.

    A gauge w, a rough idea of the result, widens the range: the series is that of `u exp(w)`.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.spectral import random_walk
    >>> P = random_walk(np.diag(np.ones(2), 1) + np.diag(np.ones(2), -1))
    >>> minus_log_heat(P, 0, np.ones(3, bool), euler_ratio(1.0)).round(4)
    array([0.    , 1.2528, 1.9459])
    """
    w = np.zeros(P.shape[0]) if gauge is None else gauge
    i = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    Q = csr_array((P.data * np.exp(w[i] - w[P.indices]), P.indices, P.indptr), shape=P.shape)
    term = np.zeros(P.shape[0])
    term[source] = 1.0
    total = term.copy()
    k = 1
    while not _finished(term[reached], total[reached], ratio(k)):
        term = ratio(k) * (Q @ term)
        total += term
        if total.max() > _LARGE:
            term, total = term / _LARGE, total / _LARGE
        k += 1
        if k > _MOST_TERMS:
            raise InvalidInputError(
                f"is so large that the series of heat needs more than {_MOST_TERMS} terms",
                parameter="t",
                remedy=["take a smaller {t}", "pass {t=None} to have it chosen"],
            )
    kept = total > _SMALL * total.max()
    with np.errstate(divide="ignore"):
        return np.where(kept, np.log(total[source]) - np.log(total) + w - w[source], np.inf)


def _finished(term: FloatArray, total: FloatArray, ratio: float) -> bool:
    """Whether what is left of the series is small everywhere, or has vanished."""
    small = (term <= _TERM * (1 - ratio) * total) & (total > 0)
    return ratio < 1 and bool(small.all() or not term.any())


def _gram_distances(gram: Columns, n: int, i: IntArray, j: IntArray) -> FloatArray:
    """Squared distances from points i to points j, of the Gram matrix that `gram` applies."""
    columns = np.concatenate([gram(_units(n, part)) for part in _blocks(i)], axis=1)
    own = columns[i, np.arange(len(i))]
    diagonal = [gram(_units(n, part))[part, np.arange(len(part))] for part in _blocks(j)]
    squares = own[:, None] + np.concatenate(diagonal) - 2 * columns[j].T
    squares[i[:, None] == j] = 0
    return squares


def _blocks(points: IntArray) -> list[IntArray]:
    return [points[k : k + _BLOCK] for k in range(0, len(points), _BLOCK)]


def _units(n: int, points: IntArray) -> FloatArray:
    """The unit vectors of some of n points, as columns."""
    unit = np.zeros((n, len(points)))
    unit[points, np.arange(len(points))] = 1
    return unit
