"""`sparrot.sc.neighbors` builds the graph of the cells, `sparrot.sc.affinity` reads it back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from sparrot._types import FloatArray, PointArray
from sparrot._validation import (
    as_array,
    as_choice,
    as_flag,
    as_key,
    as_neighbors,
    as_points,
    as_public_metric,
    require_transformer,
)
from sparrot.affinity import (
    KINDS,
    Affinity,
    better_search,
    cost_named,
    distance_named,
    is_auto,
    kinds,
    with_defaults,
)
from sparrot.cost import distances_between
from sparrot.engine import Run
from sparrot.errors import InvalidInputError
from sparrot.io import (
    DEFAULT_KEY,
    SCANPY_NEIGHBORS,
    get_affinity,
    graph_keys,
    nearest_distances,
    put_graph,
)
from sparrot.ot import neighbor_graph
from sparrot.sc._anndata import Representation, as_anndata, as_writable, choose_points

LOG = logging.getLogger(__name__)
_MANY = 60  # neighbors, among which a search hardly misses any
_METHODS = ("umap", "gauss", "jaccard")  # of scanpy, which make weights of distances


def neighbors(
    adata: Any,
    n_neighbors: int | None = None,
    n_pcs: int | None = None,
    *,
    perplexity: float | None = None,
    eps: float | str | None = None,
    min_neighbors: Any = "auto",
    kind: str | None = None,
    metric: Any = "euclidean",
    metric_kwds: Mapping[str, Any] | None = None,
    distances: Any = None,
    use_rep: str | None = None,
    layer: str | None = None,
    transformer: Any = None,
    knn: bool = True,
    method: str | None = None,
    random_state: Any = 0,
    rng: Any = None,
    key_added: str | None = None,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Build the QOT graph of the cells, in place of `sc.pp.neighbors`.

    It takes every argument of `sc.pp.neighbors`, of scanpy 1.10 and later.

    Parameters
    ----------
    adata : AnnData, in memory or backed; X may be sparse.
    n_neighbors : effective number of neighbors of every cell, hardly any of which has more: the
        row-wise graph of `sparrot.qot(X, n_neighbors=15)`, in which no cell is its own neighbor. 15
        if nothing else is said, or that of a `transformer` which has one, as in scanpy. Of the
        distances (which scanpy's PAGA and ingest read) there is one less for each cell, as in
        scanpy: it is an integer of at least 2. Where cells are too few for it, it is one more than
        half of them, as in scanpy, and the log warns. With `perplexity` or `eps`, and for kinds
        other than QOT, it is for the distances only.
    perplexity : instead: mean effective number of neighbors of a cell. Where only `min_neighbors`
        is given, and for kinds other than QOT, it is 30, or half the number of other cells where
        that is less.
    eps : instead: regularization relative to the mean cost, or `"connected"`, as in `sparrot.qot`.
    min_neighbors : with `perplexity` or `eps`: the effective number of neighbors that every cell
        has at least, so that outliers do not fall apart from the rest. `"auto"` is 5 (or fewer, see
        `sparrot.qot`), None or 0 for no floor. The log (level INFO) says which floor a default is.
    kind : `"qot"` (the default), `"eot"` (entries below 1e-3 / n are dropped, unless `drop` says
        otherwise) or `"tsallis"`.
    metric : `"euclidean"` (whose cost is half the squared distance; `"sqeuclidean"`, `"l2"` and
        `"minkowski"` with p = 2 are the same), `"cosine"`, or, with an n x n matrix in memory, any
        distance of scikit-learn but `"nan_euclidean"` or a function of two points.
    metric_kwds : further arguments of the metric, such as `{"p": 3}` of `"minkowski"`; needs the
        n x n matrix too.
    distances : an n x n array of distances, instead of points. `metric` is what they are: of
        Euclidean ones the cost is half the square, of all others the distance itself. Of
        which points they are is not known: `params["use_rep"]` is `"X"`, for tools that need one.
    use_rep : a key of `obsm`, or `"X"`. By default X if it has at most 50 columns, else the
        principal components in `obsm["X_pca"]`, all of them; where there are none, 50 are computed
        (or as many as there can be), with a warning. The log (level INFO) says so.
        Genes themselves should be log-normalized but not scaled.
    n_pcs : number of principal components, the first of those that are stored; 0 for none. If X
        has at most 50 columns they are taken as they are, as in scanpy, and a warning is logged.
    layer : use this layer in place of X. Scanpy's `params` cannot name a layer: `sc.tl.ingest`
        would search X.
    transformer : for large data: an object with the interface of
        `sklearn.neighbors.KNeighborsTransformer`, among whose neighbors the plan is sought, as with
        `search="approximate"` (its certificate says what that missed). Its metric must be
        Euclidean, and it should find about three times `n_neighbors`, which then has to be said as
        well. The log (level INFO) says if pairs were missed, a warning if those of many cells, or
        a tenth of the mass of one among those that are checked against all.
        `"pynndescent"` for that of `sparrot.qot`, `"sklearn"` or None for an exact search.
    knn : True. There is no hard threshold to switch off: `kind="eot"` has weights between all.
    method : another word for `kind`; `params["method"]` says which it was. Those of scanpy make
        weights of distances, and are refused.
    random_state, rng : nothing here is random: any seed gives the same graph. `params` has it if
        it is an integer.
    key_added : write under this key, and not as the default graph. `"neighbors"` is the default
        graph, for which scanpy's tools know only the default names.
    copy : return a changed copy, in memory, instead of changing adata.
    **options : passed on to `sparrot.qot`, `sparrot.eot` or `sparrot.tsallis`: `tol`, `n_jobs`,
        `drop`, `engine` (a Dask cluster, for QOT), ... `hollow` stays True: a graph of scanpy has a
        zero diagonal. With `neighbors` (and `search="approximate"`) the distances are to the
        nearest among these, where they are enough.

    Returns
    -------
    None or AnnData
        Written, where `{k}` is `key_added`, or `neighbors` (then the keys of obsp have no prefix):

        * `obsp["{k}_connectivities"]`: the affinity W, a symmetric `csr_matrix` of float64 with
          zero diagonal, rows of sum one (for `kind="eot"` less what is dropped, at most 1e-3);
        * `obsp["{k}_distances"]`: a `csr_matrix` of distances, `n_neighbors - 1` in every row;
        * `obs["{k}_potential"]`: the potential u in the units of the cost, large where a cell is
          far from others or its noise is strong; with a floor also `obs["{k}_row_eps"]` and
          `obs["{k}_min_neighbors"]`, what each cell adds to eps and its floor;
        * `uns["{k}"]`: `connectivities_key`, `distances_key`, `potential_key`; `params` with
          `n_neighbors`, `method`, `metric`, `random_state`, `perplexity` or `eps` where that is
          the scale, `min_neighbors` if every cell has the same floor, and `use_rep` (for principal
          components by default, `n_pcs`: so `sc.tl.ingest` projects new cells);
          `sparrot`, everything else about W, so that `sparrot.sc.affinity` can read it back;
        * if PCA had to run: what `sc.pp.pca` writes (for a layer, only `obsm["X_pca_{layer}"]`).

    Examples
    --------
    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((200, 10)))
    >>> sparrot.sc.neighbors(adata, n_neighbors=15)
    >>> W, params = adata.obsp["connectivities"], adata.uns["neighbors"]["params"]
    >>> float((1 / W.power(2).sum(axis=1)).min().round(3)), params["n_neighbors"], params["method"]
    (15.0, 15, 'qot')
    >>> sparrot.sc.neighbors(adata, perplexity=30)
    >>> adata.uns["neighbors"]["params"]["min_neighbors"]
    5.0
    """
    _refuse_other_weights(knn, method, options.get("hollow", True))
    kind = _as_kind(kind, method)
    options |= _as_search(transformer, options)
    if n_neighbors is None:
        n_neighbors = _parameters(transformer).get("n_neighbors")
    metric, metric_kwds = _as_metric(metric, metric_kwds)
    adata = as_writable(adata, copy)
    keys = graph_keys(adata.uns, as_key(key_added, "key_added") or DEFAULT_KEY, "key_added")
    given = {"perplexity": perplexity, "eps": eps, "min_neighbors": min_neighbors}
    n = adata.n_obs
    is_scale = (  # for every cell, and not for the distances alone
        "n_neighbors" in KINDS[kind].scales
        and perplexity is None
        and eps is None
        and (n_neighbors is not None or is_auto(min_neighbors))
    )
    count = _as_count(n_neighbors, n, is_scale)
    if is_scale:
        given["n_neighbors"] = min(count, n - 1)  # of two cells, each counts itself as the second
    place = {"use_rep": use_rep, "n_pcs": n_pcs, "layer": layer}
    if distances is None:
        chosen, cells = _cells(adata, metric, metric_kwds, **place)
    else:
        chosen, cells = None, _given_distances(distances, n, metric, metric_kwds, place)
    arguments = with_defaults(kind, n, given | {"metric": cells.cost} | options) | options
    with better_search(*_more_neighbors(transformer, count)):
        W, nearest = _build_graph(cells, kind, count - 1, arguments)
    is_default = n_neighbors is None if is_scale else is_auto(min_neighbors)
    if is_default and W.min_neighbors is not None:
        LOG.info(
            "every cell has at least %g effective neighbors, the default of %s",
            W.min_neighbors.min(),
            "n_neighbors" if is_scale else "min_neighbors",
        )
    params = {"n_neighbors": count, "method": kind, "metric": cells.metric}
    params |= {"metric_kwds": _recorded(metric_kwds)} if metric_kwds else {}
    seed = random_state if rng is None else rng
    params |= {"random_state": int(seed)} if isinstance(seed, Integral) else {}
    params |= {name: arguments[name] for name in ("perplexity", "eps") if name in arguments}
    if W.min_neighbors is not None and np.ptp(W.min_neighbors) == 0:
        params["min_neighbors"] = float(W.min_neighbors[0])
    if chosen is None:
        params["use_rep"] = "X"
    else:
        chosen.put_computed(adata)
        params |= chosen.params
    put_graph(adata, W, nearest, keys, params)
    return adata if copy else None


def affinity(adata: Any, key: str | None = None) -> Affinity:
    """The affinity that `neighbors` wrote, as `sparrot.qot` would have returned it.

    Parameters
    ----------
    adata : AnnData with a graph of sparrot, or a part of one that consists of whole connected
        components. The affinity of a part has no certificate (`check` makes one), and its
        `mean_cost`, of which `relative_eps` is a multiple, is that of all cells.
    key : the `key_added` of `neighbors`; may be left out if there is only one graph.

    Examples
    --------
    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((200, 10)))
    >>> sparrot.sc.neighbors(adata)
    >>> sparrot.sc.affinity(adata).certificate.violation
    0.0
    """
    return get_affinity(as_anndata(adata), key)


def _refuse_other_weights(knn: Any, method: Any, hollow: Any) -> None:
    """Raise for arguments that ask for weights which a plan of optimal transport does not have."""
    if not as_flag(knn, "knn"):
        raise InvalidInputError(
            "must be True, got False: the weights are those of optimal transport, and no threshold "
            "cuts them off",
            parameter="knn",
            value=knn,
            remedy="for a graph of all pairs take {kind='eot'} with {drop=None}",
        )
    if isinstance(method, str) and method in _METHODS:
        raise InvalidInputError(
            f"is {method!r}, by which scanpy makes weights of distances, and here they are those "
            "of optimal transport",
            parameter="method",
            value=method,
            remedy=["leave it out", "call sc.pp.neighbors"],
        )
    if not as_flag(hollow, "hollow"):
        raise InvalidInputError(
            "must be True, got False: cells would have an affinity to themselves, and a graph of "
            "scanpy has none",
            parameter="hollow",
            value=False,
            remedy=["leave it out", "keep such an affinity with {sparrot.save}"],
        )


def _as_kind(kind: Any, method: Any) -> str:
    """The kind of affinity, by either of its two names."""
    offered = kinds(transport=True)
    known = {
        name: as_choice(value, name, offered)
        for name, value in {"kind": kind, "method": method}.items()
        if value is not None
    }
    if len(set(known.values())) > 1:
        raise InvalidInputError(
            f"is {method!r}, and kind is {kind!r}",
            parameter="method",
            value=method,
            remedy="give one of {method} and {kind}",
        )
    return next(iter(known.values()), "qot")


def _as_search(transformer: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The search that a transformer means for `sparrot.qot`: among the neighbors that it finds."""
    if transformer is None:
        return {}
    for name in ("search", "neighbors"):
        if options.get(name) is not None:
            raise InvalidInputError(
                f"says how neighbors are found, and so does {name}",
                parameter="transformer",
                value=transformer,
                remedy=f"give one of {{transformer}} and {{{name}}}",
            )
    if isinstance(transformer, str):
        as_choice(transformer, "transformer", ("pynndescent", "sklearn"))
        return {} if transformer == "sklearn" else {"search": "approximate"}
    require_transformer(transformer, "transformer")
    found = _parameters(transformer)
    kwds = {name: found.get(name) for name in ("p", "w")}
    kwds |= found.get("metric_params") or found.get("metric_kwds") or {}
    metric = found.get("metric", "euclidean")
    if _one_name(metric, kwds) not in ("euclidean", "sqeuclidean"):
        raise InvalidInputError(
            f"has the metric {metric!r}, and an approximate search is for Euclidean distances",
            parameter="transformer",
            value=transformer,
            remedy=[
                "pass a Euclidean {transformer} with {metric='cosine'}: it searches unit vectors"
                if metric == "cosine"
                else "",
                "give {metric} and no {transformer}: the search is then exact",
            ],
        )
    return {"search": "approximate", "neighbors": transformer}


def _more_neighbors(transformer: Any, count: int) -> list[str]:
    """What helps where a transformer finds too few neighbors; nothing to say where there is none.

    By itself, a transformer of more neighbors would be a graph of more neighbors.
    """
    if transformer is None:
        return []
    more = f"sparrot.KNeighborsTransformer(n_neighbors={max(_MANY, 4 * count)})"
    return [
        f"give it more neighbors, as in {{transformer={more}}}, {{n_neighbors={count}}}",
        "leave out {transformer}",
    ]


def _parameters(transformer: Any) -> dict[str, Any]:
    """The parameters of an estimator, as far as it tells them."""
    return dict(getattr(transformer, "get_params", dict)())


def _as_metric(metric: Any, metric_kwds: Any) -> tuple[Any, Mapping[str, Any]]:
    """A distance and its further arguments: one that has several names by only one of them."""
    metric_kwds = {} if metric_kwds is None else metric_kwds
    if not isinstance(metric_kwds, Mapping):
        raise InvalidInputError(
            f"must be a dictionary, got {type(metric_kwds).__name__}",
            parameter="metric_kwds",
            remedy="pass something like {{'p': 3}}",
        )
    if isinstance(metric, str) and "squared" in metric_kwds:
        raise InvalidInputError(
            "has 'squared', and the cost of a Euclidean distance is half its square anyway",
            parameter="metric_kwds",
            value=metric_kwds,
            remedy="leave it out",
        )
    name = _one_name("euclidean" if metric is None else metric, metric_kwds)
    renamed = isinstance(metric, str) and metric == "minkowski" and name == "euclidean"
    return name, {} if renamed else metric_kwds


def _one_name(metric: Any, metric_kwds: Mapping[str, Any]) -> Any:
    """`"euclidean"` for its other names.

    Examples
    --------
    >>> _one_name("l2", {}), _one_name("minkowski", {"p": 2}), _one_name("minkowski", {"p": 3})
    ('euclidean', 'euclidean', 'minkowski')
    """
    if not isinstance(metric, str):
        return metric
    p, w = metric_kwds.get("p"), metric_kwds.get("w")
    is_plain = not set(metric_kwds) - {"p", "w"} and w is None and (p is None or p == 2)
    return "euclidean" if metric == "l2" or (metric == "minkowski" and is_plain) else metric


def _recorded(metric_kwds: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a metric as a file can hold them: functions and the like by their names."""
    return {
        name: value
        if isinstance(value, (str, Number, np.ndarray, list))
        else getattr(value, "__name__", str(value))
        for name, value in metric_kwds.items()
        if value is not None
    }


def _as_count(n_neighbors: Any, n: int, is_scale: bool) -> int:
    """How many neighbors to take of n cells: one more than there are distances of each.

    Where there are fewer, half of the cells and one more are taken, as in scanpy; the default is
    at most that where it is the scale, or the graph of few cells would be all but complete.
    """
    if n < 2:
        raise InvalidInputError(
            f"needs at least 2 cells, got {n}: a graph is between cells",
            parameter="adata",
            value=n,
        )
    if n_neighbors is not None:
        number = as_neighbors(n_neighbors, "n_neighbors", least=2)
        if not isinstance(n_neighbors, Integral):
            near = int(number) if number.is_integer() else SCANPY_NEIGHBORS
            raise InvalidInputError(
                f"must be an integer, as it also says how many distances are kept, got {number}",
                parameter="n_neighbors",
                value=n_neighbors,
                remedy=f"pass {{n_neighbors={near}}}",
            )
    count = SCANPY_NEIGHBORS if n_neighbors is None else int(n_neighbors)
    half = 1 + n // 2
    if count <= (half if is_scale and n_neighbors is None else n - is_scale):
        return count
    LOG.warning("%d cells are too few for n_neighbors=%d: taking %d", n, count, half)
    return half


@dataclass(frozen=True, slots=True)
class _Cells:
    """What stands for the cells: points, or distances between them.

    Attributes
    ----------
    X : (n, p) points, or the n x n matrix of their costs.
    cost : the `metric` of `sparrot.qot` for these.
    metric : the distance, by the name that `params` holds.
    D : (n, n) distances, where they are not those of points.
    """

    X: PointArray
    cost: str
    metric: str
    D: FloatArray | None = None


def _cells(
    adata: Any, metric: Any, metric_kwds: Mapping[str, Any], **place: Any
) -> tuple[Representation, _Cells]:
    """The points that were chosen, or their distances where the metric is more than a name."""
    if not callable(metric) and (
        not isinstance(metric, str) or metric in ("precomputed", "kernel")
    ):
        raise InvalidInputError(
            f"must be a distance between points, got {metric!r}",
            parameter="metric",
            value=metric,
            remedy="pass an n x n array by {distances}",
        )
    if isinstance(metric, str):
        as_public_metric(metric)
    chosen = choose_points(adata, **place)
    points = as_points(as_array(chosen.points, chosen.place))
    if isinstance(metric, str) and not metric_kwds:
        cost = cost_named(metric)
        return chosen, _Cells(points, cost, distance_named(cost))
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "function")
    D = distances_between(points, points, metric, metric_kwds)
    return chosen, _of_distances((D + D.T) / 2, name)


def _given_distances(
    distances: Any, n: int, metric: Any, metric_kwds: Any, place: dict[str, Any]
) -> _Cells:
    """The distances that stand for n cells; nothing about points may be given as well."""
    about_points = place | {"metric_kwds": metric_kwds}
    for name, value in about_points.items():
        if isinstance(value, (str, int, Mapping)) and value:
            raise InvalidInputError(
                "is about points, and distances were given",
                parameter=name,
                value=value,
                remedy=[f"leave out {{{name}}}", "leave out {distances}"],
            )
    D = None if issparse(distances) else as_points(distances, "precomputed", "distances")
    if D is None or D.shape != (n, n) or not isinstance(metric, str):
        shape = getattr(distances, "shape", None)
        raise InvalidInputError(
            f"must be a dense {n} x {n} array, with a metric that has a name, got a "
            f"{type(distances).__name__} of shape {shape} and {metric!r}",
            parameter="distances",
            value=shape,
            remedy="of a graph of neighbors only, give the {transformer} that found them",
        )
    return _of_distances(np.asarray(D, dtype=np.float64), metric)


def _of_distances(D: FloatArray, metric: str) -> _Cells:
    """Cells by their distances, of which the cost is made; squares are those of Euclidean ones."""
    if metric == "sqeuclidean":
        D, metric = np.sqrt(D), "euclidean"
    return _Cells(D**2 / 2 if metric == "euclidean" else D, "precomputed", metric, D)


def _build_graph(
    cells: _Cells, kind: str, k: int, arguments: dict[str, Any]
) -> tuple[Affinity, csr_matrix]:
    """The affinity of the cells, and the distances to the k nearest others of each.

    Parameters
    ----------
    cells : points, or their costs.
    kind : `"qot"`, `"eot"` or `"tsallis"`.
    k : how many distances.
    arguments : of the function of that name, `metric` among them. If they bring approximate
        neighbors, the nearest are taken from these, without a second search.
    """
    search = _KeptSearch(arguments.get("neighbors"), arguments.get("n_jobs"))
    if arguments.get("search", "exact") != "exact" and search.is_transformer:
        arguments = arguments | {"neighbors": search}
    affinity = KINDS[kind].function(cells.X, **arguments)
    X = cells.X if cells.D is None else cells.D
    n_jobs, engine = arguments.get("n_jobs"), arguments.get("engine")
    return affinity, nearest_distances(X, k, cells.cost, n_jobs, search.graph, engine)


class _KeptSearch:
    """A neighbors transformer that keeps the graph which another one found.

    Attributes
    ----------
    graph : (n, n) `csr_array` of the neighbors; None if they were never asked for.
    """

    def __init__(self, neighbors: Any, n_jobs: int | None = None) -> None:
        self.graph: Any = None
        self._neighbors = neighbors
        self._n_jobs = n_jobs

    @property
    def is_transformer(self) -> bool:
        """Whether there are neighbors to be found."""
        return hasattr(self._neighbors, "fit_transform")

    def fit_transform(self, X: Any) -> Any:
        """The graph of the neighbors of X."""
        with Run(self._n_jobs) as run:
            self.graph = neighbor_graph(X, self._neighbors, run)
        return self.graph
