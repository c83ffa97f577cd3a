"""Nearest neighbors: of the points themselves, in a graph, of new points; exactly, by tiles.

With scores `s_ij = G_ij - h_j` (minus the cost, but for a term of the row) a product in float32 is
a filter: the k-th largest of the lower bounds of a row is below its k-th largest score, so only the
columns whose upper bound reaches it can be among the nearest. Exact costs put those in order.

A distance has the name that scikit-learn and scanpy give it: the cost that belongs to `"euclidean"`
and `"sqeuclidean"` is half the squared distance, that of any other is the distance itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn import neighbors
from sklearn.utils.validation import check_is_fitted

from sparrot._types import Float32Array, FloatArray, IntArray, PointArray
from sparrot._validation import as_array, as_count
from sparrot.affinity._estimator import validated
from sparrot.cost import SMALL, Cost, as_slice, costs_to, list_hits, make_cost, with_new
from sparrot.engine import Run, Side, row_blocks
from sparrot.errors import InvalidInputError, counted, literal
from sparrot.ot import compressed

TILED = ("euclidean", "sqeuclidean", "cosine")  # distances that need no n x n matrix
_ENTRIES, _FEWEST_ROWS = 4_000_000, 16  # of a tile: entries, about, and rows at least
_PRODUCT_ROUNDING = 1e-12  # of costs that come from products in float64


def nearest(
    cost: Cost, k: int, run: Run, rows: IntArray | None = None
) -> tuple[IntArray, FloatArray]:
    """The k nearest other points of each point (or of some rows), and their costs in float64.

    In ascending order, the smaller index first among equals: it is the same for any number of
    threads, and the same as a full sort would give.
    """
    tile = _nearest_of_few if cost.n <= SMALL else _nearest_of_some
    every = _all_of(cost)
    return _by_tiles(every if rows is None else every.part(rows), cost, k, run, tile)


def _all_of(cost: Cost) -> Side:
    every: IntArray = np.arange(cost.n, dtype=np.int32)
    return Side(cost, every, every, values=(cost.shift, cost.margin(cost.shift)))


def _by_tiles(
    left: Side, cost: Cost, k: int, run: Run, tile: Callable[..., Any]
) -> tuple[IntArray, FloatArray]:
    """The k nearest of some rows among the points of a cost, and their costs."""
    size = max(_FEWEST_ROWS, _ENTRIES // cost.n)
    finish = partial(_nearest_of_all, k=k)
    _, parts = run.tiles(partial(tile, k=k), left, _all_of(cost), size, finish)
    none = np.zeros((0, k), np.int32), np.zeros((0, k))
    indices, costs = (np.concatenate(part) for part in zip(none, *parts, strict=True))
    return indices, costs


def _nearest_of_few(left: Side, right: Side, k: int) -> tuple[IntArray, IntArray, FloatArray]:
    """The pairs among which are the k nearest of each row, from costs in float64."""
    cost, rows = left.cost, left.rows
    C = cost.rows(as_slice(rows))
    place = np.arange(len(rows))
    C[place, rows] = np.inf
    kth = np.partition(C, k - 1, axis=1)[:, k - 1]
    slack = _PRODUCT_ROUNDING * (cost.shift[rows, None] + cost.shift + np.abs(C))
    slack[place, rows] = 0
    i, j = np.nonzero(kth[:, None] + 2 * slack >= C)
    return i, j.astype(np.int32), cost.pairs(rows[i], j)


def _nearest_of_some(left: Side, right: Side, k: int) -> tuple[IntArray, IntArray, FloatArray]:
    """The same among some columns, from products in float32."""
    from sparrot._kernels import row_kth

    shift, margin = right.values
    lower, upper = _rounded(-shift - margin, down=True), _rounded(-shift + margin, down=False)
    found, size = [], max(_FEWEST_ROWS, _ENTRIES // len(right))
    for start, rows in zip(range(0, len(left), size), left.parts(size), strict=True):
        G: Float32Array = np.empty((len(rows), len(right)), np.float32)
        rows.cost.products(as_slice(rows.rows), right.cost, slice(None), G)
        own = rows.names - right.names[0]
        twins = np.flatnonzero((own >= 0) & (own < len(right)))
        G[twins, own[twins]] = -np.inf
        kth = np.empty(len(rows), np.float32)
        row_kth(G, lower, np.empty(k, np.float32), kth)
        i, j = list_hits(G, upper, _rounded(kth - 2 * rows.values[1], down=True))
        C = rows.cost.pairs(rows.rows[i], j, right.cost)
        found.append((i + np.int32(start), right.names[j], C))
    i, j, C = (np.concatenate(part) for part in zip(*found, strict=True))
    return i, j, C


def _nearest_of_all(
    left: Side, found: list[tuple[IntArray, IntArray, FloatArray]], k: int
) -> tuple[IntArray, FloatArray]:
    """The k nearest of each row, given such pairs for all columns."""
    i, j, C = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(i, kind="stable")
    return _cheapest(i[order], j[order], C[order], len(left), k)


def _cheapest(
    i: IntArray, j: IntArray, C: FloatArray, n_rows: int, k: int
) -> tuple[IntArray, FloatArray]:
    """The k cheapest of each row, the smaller index first among equals; i ascends."""
    order = np.lexsort((j, C, i))
    starts = np.searchsorted(i, np.arange(n_rows))
    chosen = order[starts[:, None] + np.arange(k)]
    return j[chosen], C[chosen]


def _rounded(x: FloatArray, down: bool) -> Float32Array:
    """In float32, rounded down (or up): never on the other side of the number itself."""
    return np.nextafter(x.astype(np.float32), np.float32(-np.inf if down else np.inf))


def cost_named(distance: str) -> str:
    """The cost that belongs to a distance.

    Examples
    --------
    >>> cost_named("euclidean"), cost_named("cosine")
    ('sqeuclidean', 'cosine')
    """
    return "sqeuclidean" if distance == "euclidean" else distance


def distance_named(cost: str) -> str:
    """The distance that belongs to a cost: the other way round.

    Examples
    --------
    >>> distance_named("sqeuclidean"), distance_named("cosine")
    ('euclidean', 'cosine')
    """
    return "euclidean" if cost == "sqeuclidean" else cost


def distances_of(costs: FloatArray, distance: str) -> FloatArray:
    """Costs as distances.

    Examples
    --------
    >>> for name in ("euclidean", "sqeuclidean", "cosine"):
    ...     distances_of(np.array([0.5, 2.0]), name)
    array([1., 2.])
    array([1., 4.])
    array([0.5, 2. ])
    """
    if distance == "euclidean":
        return np.sqrt(2 * np.maximum(costs, 0))
    return 2 * costs if distance == "sqeuclidean" else costs


def nearest_others(
    X: PointArray, k: int, distance: str, n_jobs: int | None = None, engine: Any = None
) -> tuple[IntArray, FloatArray]:
    """The k nearest other points of each point, ascending, and their distances.

    Examples
    --------
    >>> nearest_others(np.array([[0.0], [1.0], [3.0]]), 1, "euclidean")
    (array([[1],
           [0],
           [1]], dtype=int32), array([[1.],
           [1.],
           [2.]]))
    """
    with Run(n_jobs, engine=engine) as run:
        cost = make_cost(run.hold(X), cost_named(distance))
        indices, costs = nearest(cost, k, run)
    return indices, distances_of(cost.unit * costs, distance)


def nearest_in(
    graph: csr_array, X: PointArray, k: int, distance: str, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """The k nearest of each point among its neighbors in a graph, ascending, and their distances.

    The values in the graph do not count. A point with fewer neighbors is looked up among all.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> nearest_in(csr_array([[0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]]), X, 1,
    ...            "euclidean")[0].ravel()
    array([1, 0, 1, 2], dtype=int32)
    """
    i, j, _ = _edges(graph)
    cost = make_cost(X, cost_named(distance))
    n_edges = np.bincount(i, minlength=len(X))
    enough, few = np.flatnonzero(n_edges >= k), np.flatnonzero(n_edges < k)
    indices, costs = np.empty((len(X), k), np.int32), np.empty((len(X), k))
    known = n_edges[i] >= k
    i, j = i[known], j[known]
    row = np.searchsorted(enough, i)
    indices[enough], costs[enough] = _cheapest(row, j, cost.pairs(i, j), len(enough), k)
    if len(few):
        with Run(n_jobs) as run:
            indices[few], costs[few] = nearest(cost, k, run, few.astype(np.int32))
    return indices, distances_of(cost.unit * costs, distance)


def nearest_of_graph(graph: csr_array, k: int) -> IntArray:
    """The k nearest in each row of a graph of distances, the point itself left out.

    Examples
    --------
    >>> nearest_of_graph(csr_array([[0, 2, 1], [2, 0, 3], [1, 3, 0]]), 1).ravel()
    array([2, 0, 0], dtype=int32)
    """
    n = graph.shape[0]
    i, j, distance = _edges(graph)
    n_edges = np.bincount(i, minlength=n)
    if n_edges.min() < k:
        raise InvalidInputError(
            f"gave point {n_edges.argmin()} only {counted(n_edges.min(), 'neighbor')}, and k is "
            f"{k}",
            parameter="neighbors",
            remedy="let it search for more",
        )
    return _cheapest(i, j, distance, n, k)[0]


def _edges(graph: csr_array) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows (ascending), columns and values of the edges between different points."""
    i = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    j = graph.indices.astype(np.int32)
    others = i != j
    return i[others], j[others], graph.data[others]


def nearest_of_new(
    X: PointArray, Y: PointArray, k: int, distance: str, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """For each row of X the k nearest rows of Y, ascending, and their distances.

    Among equals the smaller index comes first.

    Examples
    --------
    >>> nearest_of_new(np.array([[2.0]]), np.array([[0.0], [3.0], [9.0]]), 2, "euclidean")
    (array([[1, 0]], dtype=int32), array([[1., 2.]]))
    """
    metric, rest = cost_named(distance), np.arange(len(X))
    indices, costs = np.empty((len(X), k), np.int32), np.empty((len(X), k))
    with Run(n_jobs) as run:
        near = with_new(X, Y, metric) if len(Y) > SMALL else None
        if near is not None:
            rows, here, there = near
            names = np.arange(here.n, dtype=np.int32)
            left = Side(here, names, -1 - names, values=(here.shift, here.margin(here.shift)))
            indices[rows], found = _by_tiles(left, there, k, run, _nearest_of_some)
            costs[rows], rest = there.unit * found, np.delete(rest, rows)
        if len(rest):
            costs_of = costs_to(Y, metric)
            blocks = [rest[rows] for rows in row_blocks(len(rest), len(Y))]
            parts = list(run.threads.map(lambda rows: _least(costs_of(X[rows]), k), blocks))
            indices[rest], costs[rest] = (np.concatenate(part) for part in zip(*parts, strict=True))
    return indices, distances_of(costs, distance)


def _least(C: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """The k least entries of each row in order: only those that reach the k-th are sorted."""
    kth = np.partition(C, k - 1, axis=1)[:, k - 1 : k]
    i, j = np.nonzero(kth >= C)
    return _cheapest(i, j.astype(np.int32), C[i, j], len(C), k)


class KNeighborsTransformer(neighbors.KNeighborsTransformer):  # type: ignore[misc]
    """`sklearn.neighbors.KNeighborsTransformer` with an exact search by tiles.

    A drop-in for any pipeline (or `transformer=` of scanpy) that takes that one, with all of its
    parameters. For Euclidean distances, their squares and cosines `transform` searches in float32
    tiles on all cores, and float64 decides; X is made dense. Any other metric is searched by
    scikit-learn, and so are new points of few coordinates, for which it has a tree, and all that
    `kneighbors` finds.

    Parameters
    ----------
    mode : `"distance"` for distances, `"connectivity"` for ones.
    n_neighbors : number of neighbors; with `"distance"` every training point comes as its own
        neighbor in addition, at distance zero, as in scikit-learn.
    algorithm, leaf_size : how scikit-learn searches, where it does.
    metric : `"minkowski"` (with `p=2` the Euclidean distance), `"euclidean"`, `"sqeuclidean"` (the
        squared distance), `"cosine"` (`1 - cos`), `"nan_euclidean"`, a function of two points, or
        another distance of scikit-learn.
    p : power of the Minkowski distance.
    metric_params : further arguments of the metric.
    n_jobs : threads; by default all cores, and one where scikit-learn searches.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> sparrot.KNeighborsTransformer(n_neighbors=1).fit_transform(X).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            mode=mode,
            n_neighbors=n_neighbors,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the points to search among."""
        knows_missing = isinstance(self.metric, str) and self.metric == "nan_euclidean"
        if not issparse(X) and not knows_missing:
            as_array(X)  # whose errors say what to do
        with self._refusing():
            super().fit(X)
        if self.n_samples_fit_ < 2:
            raise InvalidInputError(
                "has 1 sample, which has no neighbors", parameter="X", remedy="pass more"
            )
        as_count(self.n_neighbors, "n_neighbors", self.n_samples_fit_ - (self.mode == "distance"))
        return self

    def transform(self, X: Any) -> csr_matrix:
        """The nearest training points of each row; a training set as a whole has its own graph."""
        check_is_fitted(self)
        if not self._has_tiles:
            with self._refusing():
                return super().transform(X)
        new, Y = validated(self, X, reset=False), as_array(self._fit_X)
        k = self.n_neighbors + (self.mode == "distance")
        if not np.array_equal(new, Y):
            if self._fit_method != "brute":  # a tree: points have few coordinates
                return super().transform(new if issparse(X) else X)
            return self._graph(*nearest_of_new(new, Y, k, self.effective_metric_, self.n_jobs))
        own, zero = np.arange(len(Y), dtype=np.int32)[:, None], np.zeros((len(Y), 1))
        if k == 1:
            return self._graph(own, zero)
        indices, distances = nearest_others(Y, k - 1, self.effective_metric_, self.n_jobs)
        return self._graph(np.hstack([own, indices]), np.hstack([zero, distances]))

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """What scikit-learn does not take, by whatever error, as invalid input."""
        try:
            yield
        except (ValueError, TypeError) as error:
            raise InvalidInputError(
                " ".join(str(error).split()),
                remedy=f"change X or a parameter of {literal(repr(self))}: scikit-learn refuses it",
            ) from error

    @property
    def _has_tiles(self) -> bool:
        """Whether the metric is one that this module searches."""
        return not self.effective_metric_params_ and self.effective_metric_ in TILED

    def _graph(self, indices: IntArray, distances: FloatArray) -> csr_matrix:
        data = distances if self.mode == "distance" else np.ones_like(distances)
        n, k = indices.shape
        counts = np.full(n, k)
        return csr_matrix(compressed(counts, indices.ravel(), data.ravel(), self.n_samples_fit_))
