r"""Distances along the manifold, from heat on the graph.

The unit is one step of the walk: :math:`\phi` is a distance if at every point
:math:`\sum_j P_{ij} (\phi_j - \phi_i)^2 = 1`, the root mean square length of a step in the
direction of steepest ascent. This needs no coordinates, so noise that fills many dimensions, which
drowns Euclidean lengths, does not reach it.

**heat** (Crane, Weischedel and Wardetzky, on a graph): after one implicit step of length t from the
source, :math:`v = -\log u` rises evenly, but at its own pace. Scaled at each point to
slope one it gives a wanted difference :math:`f_{ij}` for each edge, and :math:`\phi` minimizes
:math:`\sum_{ij} W_{ij} (\phi_j - \phi_i - f_{ij})^2`, a Laplacian system.

**varadhan**: :math:`\phi_i = \sqrt{-2t \log(u_i / u_{source})}` with u the heat after time t.

**graph**: shortest paths along the edges, with Euclidean lengths.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from sparrot._types import BoolArray, FloatArray, IntArray, PointArray
from sparrot._validation import as_affinity, as_choice, as_positive
from sparrot.errors import InvalidInputError
from sparrot.geometry._arguments import as_indices, as_points_of, shaped_as
from sparrot.geometry._diffusion import euler_ratio, heat_ratio, minus_log_heat
from sparrot.spectral import grounded_solver, laplacian, random_walk

_STEP = 4.0  # implicit time step, in steps of the walk: a few neighborhoods, as Crane et al. advise
_SPREAD = 4.0  # Varadhan's time, in distances to the farthest point: beyond hops, before mixing


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
    chosen = as_indices(sources, n)
    points = None if X is None else as_points_of(X, n)
    if t is not None:
        t = as_positive(t, "t", "it counts steps of the walk; None has it chosen")
    if method == "graph":
        return shaped_as(sources, _shortest(W, chosen, points, t))
    labels = connected_components(W, directed=False)[1]
    P = random_walk(W)
    if method == "heat":
        return shaped_as(sources, _heat_method(W, P, chosen, labels, points, t or _STEP))
    if points is not None:
        raise InvalidInputError(
            "Varadhan's distances are in steps of the walk: leave X out, or use method='heat'"
        )
    return shaped_as(sources, np.stack([_varadhan(P, s, labels == labels[s], t) for s in chosen]))


def _heat_method(
    W: csr_array,
    P: csr_array,
    sources: IntArray,
    labels: IntArray,
    X: PointArray | None,
    t: float,
) -> FloatArray:
    """One factorisation for all sources: a potential per component, shifted to zero at each."""
    grounded = np.zeros(len(labels), dtype=bool)
    grounded[np.unique(labels, return_index=True)[1]] = True
    solve = grounded_solver(laplacian(W, "combinatorial"), grounded)
    edges = P.tocoo()
    weights = W[edges.row, edges.col]
    distances = np.full((len(sources), len(labels)), np.inf)
    for row, source in zip(distances, sources, strict=True):
        reached = labels == labels[source]
        v = np.where(reached, _log_step(P, source, reached, t), 0.0)
        inverse_slope = 1 / _slope(edges, v) if X is None else _length_of_rise(edges, v, X)
        i, j = edges.row, edges.col
        f = (v[j] - v[i]) * (inverse_slope[i] + inverse_slope[j]) / 2
        inflow = np.bincount(i, -weights * f, minlength=len(labels))
        phi = solve(inflow.astype(np.float64, copy=False))
        row[reached] = np.maximum(phi - phi[source], 0)[reached]
    return distances


def _log_step(P: csr_array, source: int, reached: BoolArray, t: float) -> FloatArray:
    """-log u after one implicit step; where u underflows, again with a gauge by hops.

    Far away v grows by as much with every hop, so that hops times a rate leave little to underflow.
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
        f"at t = {t:g} the heat that reaches the farthest points is too little for float64; "
        "take a larger t"
    )


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
        raise InvalidInputError("method='graph' needs the points X for its lengths, and takes no t")
    edges = W.tocoo()
    length = np.linalg.norm(np.subtract(X[edges.row], X[edges.col], dtype=np.float64), axis=1)
    length = np.maximum(length, np.finfo(np.float64).tiny)  # duplicates are near, not apart
    graph = csr_array((length, (edges.row, edges.col)), shape=W.shape)
    return np.asarray(dijkstra(graph, directed=False, indices=sources))
