"""`sparrot.sc.neighbors` builds the graph of the cells, `sparrot.sc.affinity` reads it back."""

from __future__ import annotations

import logging
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from sparrot._types import PointArray
from sparrot._validation import as_array, as_choice, as_flag, as_neighbors, as_points
from sparrot.affinity import (
    KINDS,
    Affinity,
    cost_named,
    distance_named,
    is_auto,
    kinds,
    with_defaults,
)
from sparrot.engine import Run
from sparrot.errors import InvalidInputError
from sparrot.io import (
    DEFAULT_KEY,
    SCANPY_NEIGHBORS,
    GraphKeys,
    get_affinity,
    nearest_distances,
    put_graph,
)
from sparrot.ot import neighbor_graph
from sparrot.sc._anndata import as_anndata, as_writable, choose_points

LOG = logging.getLogger(__name__)
_ONLY_IN_SCANPY = {  # arguments of sc.pp.neighbors: why there is no such thing here, what to do
    "random_state": ("nothing in it is random", "leave it out"),
    "method": ("the graph is an affinity of optimal transport", "choose one by {kind}"),
    "knn": (
        "the number of neighbors is an effective one, of weights that differ",
        "choose it for every cell by {n_neighbors}, or on average by {perplexity}",
    ),
    "transformer": (
        "the search is exact by default",
        ["leave it out", "pass {search='approximate'} and the transformer as {neighbors}"],
    ),
    "metric_kwds": (
        "the metric is chosen by name",
        "pass distances of your own to {sparrot.qot} with {metric='precomputed'}, and write the "
        "affinity into an .h5ad file by {sparrot.save}",
    ),
}


def neighbors(
    adata: Any,
    n_neighbors: int | None = None,
    *,
    perplexity: float | None = None,
    eps: float | str | None = None,
    min_neighbors: Any = "auto",
    kind: str = "qot",
    metric: str = "euclidean",
    use_rep: str | None = None,
    n_pcs: int | None = None,
    layer: str | None = None,
    key_added: str | None = None,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Build the QOT graph of the cells, in place of `sc.pp.neighbors`.

    Parameters
    ----------
    adata : AnnData, in memory or backed; X may be sparse.
    n_neighbors : effective number of neighbors of every cell, hardly any of which has more: the
        row-wise graph of `sparrot.qot(X, n_neighbors=15)`. 15 if nothing else is said. Also the
        number of distances (which scanpy's PAGA and ingest read), counting the cell itself, as in
        scanpy. Where cells are too few for it, it is one more than half of them, as in scanpy, and
        the log warns. With `perplexity` or `eps`, and for kinds other than QOT, it is for the
        distances only.
    perplexity : instead: mean effective number of neighbors of a cell. Where only `min_neighbors`
        is given, and for kinds other than QOT, it is 30, or half the number of other cells where
        that is less.
    eps : instead: regularization relative to the mean cost, or `"connected"`, as in `sparrot.qot`.
    min_neighbors : with `perplexity` or `eps`: the effective number of neighbors that every cell
        has at least, so that outliers do not fall apart from the rest. `"auto"` is 5 (or fewer, see
        `sparrot.qot`), None or 0 for no floor.
    kind : `"qot"`, `"eot"` (entries below 1e-3 / n are dropped, unless `drop` says otherwise) or
        `"tsallis"`.
    metric : `"euclidean"` (whose cost is half the squared distance), `"cosine"`, or, with an n x n
        matrix in memory, any distance of scikit-learn.
    use_rep : a key of `obsm`, or `"X"`. By default X if it has at most 50 columns, else 50
        principal components, computed if absent. PCA changes how noise enters the distances, and
        where noise varies between cells that costs robustness: the log (level INFO) reminds you.
    n_pcs : number of principal components; 0 for none. If X has at most 50 columns they are taken
        as they are, as in scanpy, and a warning is logged.
    layer : use this layer in place of X. Scanpy's `params` cannot name a layer: `sc.tl.ingest`
        would search X.
    key_added : write under this key, and not as the default graph. `"neighbors"` is the default
        graph, for which scanpy's tools know only the default names.
    copy : return a changed copy, in memory, instead of changing adata.
    **options : passed on to `sparrot.qot`, `sparrot.eot` or `sparrot.tsallis`: `tol`, `n_jobs`,
        `drop`, ... `hollow` stays True: a graph of scanpy has a zero diagonal. With `neighbors`
        (and `search="approximate"`) the distances are to the nearest among these, where they are
        enough.

    Returns
    -------
    None or AnnData
        Written, where `{k}` is `key_added`, or `neighbors` (then the keys of obsp have no prefix):

        * `obsp["{k}_connectivities"]`: the affinity W, a symmetric `csr_matrix` of float64 with
          zero diagonal, rows of sum one (for `kind="eot"` less what is dropped, at most 1e-3);
        * `obsp["{k}_distances"]`: a `csr_matrix` of distances, `n_neighbors - 1` in every row;
        * `obs["{k}_potential"]`: the potential u in the units of the cost, large where a cell is
          far from others or its noise is strong;
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
    _require_known(options)
    adata = as_writable(adata, copy)
    kind, cost = as_choice(kind, "kind", kinds(transport=True)), _as_cost(metric)
    given = {"perplexity": perplexity, "eps": eps, "min_neighbors": min_neighbors, "metric": cost}
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
    arguments = with_defaults(kind, n, given | options) | options
    chosen = choose_points(adata, use_rep, n_pcs, layer)
    points = as_points(as_array(chosen.points, chosen.place))
    W, distances = _build_graph(points, kind, count - 1, arguments)
    params = {"n_neighbors": count, "method": kind, "metric": distance_named(cost)}
    params |= {"random_state": 0}
    params |= {name: arguments[name] for name in ("perplexity", "eps") if name in arguments}
    if W.min_neighbors is not None and np.ptp(W.min_neighbors) == 0:
        params["min_neighbors"] = float(W.min_neighbors[0])
    chosen.put_computed(adata)
    put_graph(adata, W, distances, GraphKeys(key_added or DEFAULT_KEY), params | chosen.params)
    return adata if copy else None


def affinity(adata: Any, key: str | None = None) -> Affinity:
    """The affinity that `neighbors` wrote, as `sparrot.qot` would have returned it.

    Parameters
    ----------
    adata : AnnData with a graph of sparrot; not a part of the one for which it was built.
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


def _require_known(options: dict[str, Any]) -> None:
    """Refuse what scanpy takes, or the functions of sparrot, and this one does not."""
    for name in options:
        if name in _ONLY_IN_SCANPY:
            why, remedy = _ONLY_IN_SCANPY[name]
            raise InvalidInputError(
                f"is not an argument of sparrot.sc.neighbors: {why}",
                parameter=name,
                value=options[name],
                remedy=remedy,
            )
    if not as_flag(options.get("hollow", True), "hollow"):
        raise InvalidInputError(
            "must be True, got False: cells would have an affinity to themselves, and a graph of "
            "scanpy has none",
            parameter="hollow",
            value=False,
            remedy=["leave it out", "keep such an affinity with {sparrot.save}"],
        )


def _as_count(n_neighbors: Any, n: int, is_scale: bool) -> int:
    """How many neighbors to take of n cells, as an integer that counts the cell itself.

    Where there are fewer, half of the cells and one more are taken, as in scanpy; the default is
    at most that where it is the scale, or the graph of few cells would be all but complete.
    """
    if n_neighbors is not None:
        as_neighbors(n_neighbors, "n_neighbors")
        if not isinstance(n_neighbors, Integral) or n_neighbors < 2:
            raise InvalidInputError(
                "must be an integer of at least 2, as it counts the cell itself, got "
                f"{n_neighbors}",
                parameter="n_neighbors",
                value=n_neighbors,
                remedy=f"{SCANPY_NEIGHBORS} is a good start",
            )
    count = SCANPY_NEIGHBORS if n_neighbors is None else int(n_neighbors)
    half = 1 + n // 2
    if count <= (half if is_scale and n_neighbors is None else n - is_scale):
        return count
    LOG.warning("%d cells are too few for n_neighbors=%d: taking %d", n, count, half)
    return half


def _as_cost(metric: Any) -> str:
    """The cost that belongs to a distance of scanpy."""
    if not isinstance(metric, str) or metric in ("precomputed", "kernel"):
        raise InvalidInputError(
            f"must be a distance between points, got {metric!r}",
            parameter="metric",
            value=metric,
            remedy="write the affinity of {sparrot.qot} into the file by {sparrot.save}",
        )
    return cost_named(metric)


def _build_graph(
    X: PointArray, kind: str, k: int, arguments: dict[str, Any]
) -> tuple[Affinity, csr_matrix]:
    """The affinity of some points, and the distances to the k nearest others of each.

    Parameters
    ----------
    X : (n, p) points.
    kind : `"qot"`, `"eot"` or `"tsallis"`.
    k : how many distances.
    arguments : of the function of that name, `metric` among them. If they bring approximate
        neighbors, the nearest are taken from these, without a second search.
    """
    search = _KeptSearch(arguments.get("neighbors"), arguments.get("n_jobs"))
    if arguments.get("search", "exact") != "exact" and search.is_transformer:
        arguments = arguments | {"neighbors": search}
    affinity = KINDS[kind].function(X, **arguments)
    metric, n_jobs = arguments["metric"], arguments.get("n_jobs")
    return affinity, nearest_distances(X, k, metric, n_jobs, search.graph)


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
