"""What the functions for scanpy take, checked before anything is computed."""

from __future__ import annotations

import logging
from numbers import Integral
from typing import Any

from sparrot._validation import as_choice, as_count, as_flag
from sparrot.affinity import Affinity
from sparrot.affinity._neighbors import cost_named
from sparrot.affinity._registry import kinds, with_defaults
from sparrot.errors import InvalidInputError
from sparrot.layout import umap_layout
from sparrot.layout._tsne import lay_out
from sparrot.layout._umap import curve
from sparrot.sc._anndata import DEFAULT, Keys, as_anndata, choose, get, graph
from sparrot.sc._cells import connect, diffuse, keep_layout, start_named
from sparrot.sc._distances import NEIGHBORS

_log = logging.getLogger(__name__)
_OF_SCANPY = {  # what sc.pp.neighbors takes, and a word on what to do here
    "random_state": "nothing in it is random, its result is deterministic; leave it out",
    "method": "kind= chooses the affinity, 'qot', 'eot' or 'tsallis'; leave it out",
    "knn": "a cell has as many neighbors as the data says, perplexity= on average; leave it out",
    "transformer": "it searches exactly; leave it out, or pass search='approximate' and the "
    "transformer by neighbors=",
    "metric_kwds": "compute the distances yourself, and pass them to sparrot.qot by "
    "metric='precomputed'; sparrot.save puts the affinity into an .h5ad file",
}


def own(adata: Any, copy: Any) -> Any:
    """The AnnData to write into: itself, or a copy in memory."""
    adata, backed = as_anndata(adata), getattr(adata, "isbacked", False)
    if as_flag(copy, "copy"):
        return adata.to_memory() if backed else adata.copy()
    if backed and adata.is_view:
        raise InvalidInputError(
            "adata is a view of a file on disk, and nothing can be written to it; call "
            ".to_memory() first, or pass copy=True"
        )
    return adata


def as_seed(random_state: Any) -> int:
    """An integer."""
    if not isinstance(random_state, Integral) or isinstance(random_state, bool):
        raise InvalidInputError(
            f"random_state must be an integer, which a file can hold, got {random_state!r}"
        )
    return int(random_state)


def as_neighbors(n_neighbors: Any, n: int) -> int:
    """How many neighbors to keep distances to, the cell itself counted."""
    if n_neighbors == 1:
        raise InvalidInputError("n_neighbors counts the cell itself, so it must be at least 2")
    if n_neighbors is not None:
        return as_count(n_neighbors, "n_neighbors", n)
    if n < NEIGHBORS:
        _log.warning("there are only %d cells: n_neighbors is %d, not %d", n, n, NEIGHBORS)
    return min(n, NEIGHBORS)


def say_if_alone(n_neighbors: Any, perplexity: Any, eps: Any) -> None:
    """Log that the number of neighbors is not the scale of the graph, if nothing else is given."""
    if n_neighbors is not None and perplexity is None and eps is None:
        _log.warning(
            "n_neighbors=%s only affects the distances, and not the graph; use perplexity= for its "
            "effective number of neighbors",
            n_neighbors,
        )


def require_known(options: dict[str, Any]) -> None:
    """Refuse what the other functions take, or scanpy, and this one cannot."""
    for name in options:
        if name in _OF_SCANPY:
            raise InvalidInputError(f"sparrot.sc.neighbors takes no {name}: {_OF_SCANPY[name]}")
    if not as_flag(options.get("hollow", True), "hollow"):
        raise InvalidInputError(
            "hollow=False gives cells an affinity to themselves, and a graph of scanpy has none; "
            "leave it out, or keep such an affinity with sparrot.save"
        )


def as_cost(metric: Any) -> str:
    """The cost that belongs to a distance of scanpy."""
    if metric in ("precomputed", "kernel"):
        raise InvalidInputError(
            f"sparrot.sc.neighbors starts from points, not from metric={metric!r}; put the matrix "
            "of sparrot.qot into the file with sparrot.save"
        )
    return cost_named(str(metric))


__all__ = ["affinity", "diffmap", "neighbors", "tsne", "umap"]


def neighbors(
    adata: Any,
    n_neighbors: int | None = None,
    *,
    perplexity: float | None = None,
    eps: float | str | None = None,
    kind: str = "qot",
    metric: str = "euclidean",
    use_rep: str | None = None,
    n_pcs: int | None = None,
    layer: str | None = None,
    key_added: str | None = None,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Build the QOT graph of the cells, in the place of `sc.pp.neighbors`.

    Parameters
    ----------
    adata : AnnData, in memory or backed; X may be sparse.
    n_neighbors : for the distances only (scanpy's PAGA and ingest read them): how many, the cell
        itself counted, as in scanpy; 15 if not given, or as many as there are cells. The
        connectivities choose their own neighbors, by `perplexity`; a warning is logged if that
        and `eps` are left out.
    perplexity : mean effective number of neighbors of a cell; 30 if `eps` is not given, or half
        the number of other cells where that is less.
    eps : instead: regularization relative to the mean cost, or `"connected"`, as in `sparrot.qot`.
    kind : `"qot"`, `"eot"` (entries below 1e-3 / n dropped, unless `drop` says otherwise) or
        `"tsallis"`.
    metric : `"euclidean"` (whose cost is half the squared distance), `"cosine"`, or, with an n x n
        matrix, any distance of scikit-learn.
    use_rep : a key of `obsm`, or `"X"`. By default X if it has at most 50 columns, else 50
        principal components, computed if absent. PCA changes how noise enters the distances, and
        where noise varies between cells that costs robustness: the log (level INFO) reminds you.
    n_pcs : number of principal components; 0 for none. At most 50 columns are taken as they are,
        as in scanpy, and a warning is logged.
    layer : take this layer in place of X. Scanpy has no word for layers: `sc.tl.ingest` would
        search X.
    key_added : write under this key, and not as the default graph. `"neighbors"` is that of the
        default graph, under which scanpy's tools read no other names.
    copy : return a changed copy, in memory, instead of changing adata.
    **options : to `sparrot.qot`, `sparrot.eot` or `sparrot.tsallis`: `tol`, `n_jobs`, `drop`, ...
        `hollow` stays True: a graph of scanpy has a zero diagonal. With `neighbors` (and
        `search="approximate"`) the distances are to the nearest among these, where they are enough.

    Returns
    -------
    None or AnnData
        Written, where `{k}` is `key_added`, or `neighbors` (then the keys of obsp have no prefix):

        * `obsp["{k}_connectivities"]`: the affinity W, a symmetric `csr_matrix` of float64 with
          zero diagonal, rows of sum one (of `kind="eot"` less what is dropped, at most 1e-3);
        * `obsp["{k}_distances"]`: a `csr_matrix` of distances, `n_neighbors - 1` in every row;
        * `obs["{k}_potential"]`: the potential u in the units of the cost, large where a cell is
          far from others or its noise is strong;
        * `uns["{k}"]`: `connectivities_key`, `distances_key`, `potential_key`; `params` with
          `n_neighbors`, `method`, `metric`, `random_state`, `perplexity` or `eps`, and `use_rep`
          (for principal components by default, `n_pcs`: so `sc.tl.ingest` projects new cells);
          `sparrot`, all else that is known of W, so that `sparrot.sc.affinity` can read it back;
        * if PCA had to run: what `sc.pp.pca` writes (for a layer, only `obsm["X_pca_{layer}"]`).

    Examples
    --------
    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((200, 10)))
    >>> sparrot.sc.neighbors(adata, perplexity=20)
    >>> adata.obsp["connectivities"].shape, adata.uns["neighbors"]["params"]["method"]
    ((200, 200), 'qot')
    """
    require_known(options)
    adata = own(adata, copy)
    k = as_neighbors(n_neighbors, adata.n_obs) - 1
    kind = as_choice(kind, "kind", kinds(transport=True))
    scale = with_defaults(kind, adata.n_obs, {"perplexity": perplexity, "eps": eps})
    cost = as_cost(metric)
    say_if_alone(n_neighbors, perplexity, eps)
    chosen = choose(adata, use_rep, n_pcs, layer)
    connect(adata, chosen, kind, scale, cost, k, Keys(key_added or DEFAULT), options)
    return adata if copy else None


def affinity(adata: Any, key: str | None = None) -> Affinity:
    """The affinity that `neighbors` wrote, as `sparrot.qot` would have returned it.

    Parameters
    ----------
    adata : AnnData with a graph of sparrot; not a part of the one for which it was built.
    key : the `key_added` of `neighbors`; may be left out if there is one graph only.

    Examples
    --------
    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((200, 10)))
    >>> sparrot.sc.neighbors(adata)
    >>> sparrot.sc.affinity(adata).certificate.violation
    0.0
    """
    return get(as_anndata(adata), key)


def diffmap(
    adata: Any, n_comps: int | None = None, *, neighbors_key: str | None = None, copy: bool = False
) -> Any:
    """The diffusion map of the graph, in the place of `sc.tl.diffmap`.

    Scanpy asks for the eigenvalues of largest size, and on a hollow W some of these are negative;
    these are the algebraically largest, in float64, with fixed signs. As in scanpy, the graph is
    divided by the density at both ends of an edge first (`alpha_normalization` with alpha 1), which
    makes a difference only to a graph that is not bistochastic.

    Parameters
    ----------
    adata : AnnData with a graph, of sparrot or scanpy.
    n_comps : number of components, the steady state counted, as in scanpy; 15 if not given, or one
        less than there are cells.
    neighbors_key : the `key_added` of `neighbors`.
    copy : return a changed copy.

    Returns
    -------
    None or AnnData
        Written: `obsm["X_diffmap"]`, eigenvectors, column 0 the steady state, and
        `uns["diffmap_evals"]`, their eigenvalues. `sc.tl.dpt` reads both.

    Examples
    --------
    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((200, 10)))
    >>> sparrot.sc.neighbors(adata)
    >>> sparrot.sc.diffmap(adata, n_comps=4)
    >>> adata.obsm["X_diffmap"].shape, bool(np.isclose(adata.uns["diffmap_evals"][0], 1))
    ((200, 4), True)
    """
    adata = own(adata, copy)
    diffuse(adata, n_comps, neighbors_key)
    return adata if copy else None


def tsne(
    adata: Any,
    n_components: int = 2,
    *,
    neighbors_key: str | None = None,
    key_added: str | None = None,
    random_state: int = 0,
    copy: bool = False,
    **options: Any,
) -> Any:
    """The t-SNE layout of the graph, in the place of `sc.tl.tsne`.

    Parameters
    ----------
    adata : AnnData with a graph, of sparrot or scanpy.
    n_components : 2, or 1.
    neighbors_key : the `key_added` of `neighbors`.
    key_added : write under this key, and not `X_tsne`.
    random_state : seed, an integer: it is written down.
    copy : return a changed copy.
    **options : to `openTSNE.TSNE`: `n_iter`, `exaggeration`, `n_jobs`, ... It starts from the
        leading eigenvectors of the graph unless `initialization` is given.

    Returns
    -------
    None or AnnData
        Written: `obsm["X_tsne"]` and `uns["tsne"]["params"]` (or both under `key_added`).

    Examples
    --------
    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((100, 10)))
    >>> sparrot.sc.neighbors(adata)
    >>> sparrot.sc.tsne(adata, n_iter=20, early_exaggeration_iter=20)
    >>> adata.obsm["X_tsne"].shape
    (100, 2)
    """
    random_state = as_seed(random_state)
    adata = own(adata, copy)
    W = graph(adata, neighbors_key)
    embedding = lay_out(W, n_components=n_components, random_state=random_state, **options)
    params = {"method": "openTSNE", "random_state": random_state, "use_graph": True}
    keep_layout(adata, "tsne", key_added, embedding, params)
    return adata if copy else None


def umap(
    adata: Any,
    n_components: int = 2,
    *,
    min_dist: float = 0.5,
    spread: float = 1.0,
    maxiter: int | None = None,
    alpha: float = 1.0,
    negative_sample_rate: int = 5,
    init_pos: Any = "spectral",
    neighbors_key: str | None = None,
    key_added: str | None = None,
    random_state: int = 0,
    copy: bool = False,
) -> Any:
    """The UMAP layout of the graph, in the place of `sc.tl.umap`, by `sparrot.umap_layout`.

    `sc.tl.umap` sets small weights of the graph to zero, in place (with scipy 1.17): what runs
    after it, `sc.tl.leiden` for one, sees another graph. This one works on a copy.

    Parameters
    ----------
    adata : AnnData with a graph, of sparrot or scanpy.
    n_components, min_dist, spread, alpha, negative_sample_rate : as in `sc.tl.umap`.
    maxiter : number of epochs; None for enough to sample every edge, within limits (see
        `sparrot.umap_layout`). Of edges that are left out even so the log speaks.
    init_pos : `"spectral"` for the leading eigenvectors of the graph, `"random"`, a key of `obsm`,
        or an array.
    neighbors_key : the `key_added` of `neighbors`.
    key_added : write under this key, and not `X_umap`.
    random_state : seed, an integer.
    copy : return a changed copy.

    Returns
    -------
    None or AnnData
        Written: `obsm["X_umap"]` and `uns["umap"]["params"]` (or both under `key_added`), with `a`
        and `b` of the curve of UMAP and a seed other than 0. `sc.tl.ingest` reads both.

    Examples
    --------
    The first call takes a while, as umap-learn compiles its loops:

    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((100, 10)))
    >>> sparrot.sc.neighbors(adata)
    >>> sparrot.sc.umap(adata)  # doctest: +SKIP
    >>> adata.obsm["X_umap"].shape  # doctest: +SKIP
    (100, 2)
    """
    random_state = as_seed(random_state)
    adata = own(adata, copy)
    layout = umap_layout(
        graph(adata, neighbors_key),
        n_components,
        min_dist=min_dist,
        spread=spread,
        n_epochs=maxiter,
        init=start_named(adata, init_pos),
        random_state=random_state,
        negative_sample_rate=negative_sample_rate,
        learning_rate=alpha,
    )
    a, b = curve(min_dist, spread)
    params = {"a": a, "b": b} | ({"random_state": random_state} if random_state else {})
    keep_layout(adata, "umap", key_added, layout.embedding.astype("float32"), params)
    return adata if copy else None
