"""Tools on the graph of the cells, where scanpy's own are not exact: `diffmap`, `tsne`, `umap`."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from sparrot._validation import as_choice, as_count, as_positive, as_seed
from sparrot.io import get_connectivities, get_floors
from sparrot.layout import umap_layout
from sparrot.layout._tsne import tsne_layout
from sparrot.layout._umap import curve
from sparrot.sc._anndata import as_writable, get_start, put_diffusion_map, put_layout
from sparrot.spectral import Spectrum, alpha_normalization, eigenpairs
from sparrot.spectral._eigen import (
    COMPONENTS,
    announce_nearly_separate,
    announce_pieces,
    announce_rest,
    components_by_size,
    nearly_separate,
)

_COMPONENTS = 15  # of a diffusion map, scanpy's default
_STATIONARY = 0.9994  # sc.tl.dpt takes larger eigenvalues for that of the steady state
LOG = logging.getLogger(__name__)


def diffmap(
    adata: Any,
    n_comps: int | None = None,
    *,
    neighbors_key: str | None = None,
    components: str = "warn",
    random_state: Any = 0,
    rng: Any = None,
    copy: bool = False,
) -> Any:
    """The diffusion map of the graph, in place of `sc.tl.diffmap`.

    Scanpy asks for the eigenvalues of largest size, and on a hollow W some of these are negative;
    these are the algebraically largest, in float64, with fixed signs. As in scanpy, the graph is
    first divided by the density at both ends of an edge (`alpha_normalization` with alpha 1), which
    makes a difference only to a graph that is not bistochastic.

    Parameters
    ----------
    adata : AnnData with a graph, of sparrot or scanpy. Of an AnnData for which sparrot built the
        graph it may be a part that consists of whole connected components.
    n_comps : number of components, counting the steady state, as in scanpy; 15 if not given, or one
        less than there are cells.
    neighbors_key : the `key_added` of `neighbors`.
    components : for a graph in pieces: "warn" takes the leading eigenvectors of all pieces, with a
        warning; "each" does the same silently; "largest" maps the largest connected component as if
        it were alone, the other cells get NaN, and a warning says how many these are; "error"
        refuses.
    random_state, rng : as in `sc.tl.diffmap`, but nothing depends on them: start and signs of the
        eigenvectors are fixed.
    copy : return a changed copy.

    Returns
    -------
    None or AnnData
        Written: `obsm["X_diffmap"]`, the eigenvectors, column 0 the steady state, and
        `uns["diffmap_evals"]`, their eigenvalues. `sc.tl.dpt` reads both; cells outside the
        component of the root have infinite pseudotime.

    Warns
    -----
    AffinityWarning : the graph is in pieces, or in one piece in name only: eigenvalues within 1e-3
        of one belong to few cells (`sparrot.eigenpairs` says how few), which are named.

    Examples
    --------
    >>> import anndata, numpy as np, sparrot
    >>> adata = anndata.AnnData(np.random.default_rng(0).standard_normal((200, 10)))
    >>> sparrot.sc.neighbors(adata)
    >>> sparrot.sc.diffmap(adata, n_comps=4)
    >>> adata.obsm["X_diffmap"].shape, bool(np.isclose(adata.uns["diffmap_evals"][0], 1))
    ((200, 4), True)
    """
    adata = as_writable(adata, copy)
    as_choice(components, "components", COMPONENTS)
    W = alpha_normalization(get_connectivities(adata, neighbors_key), 1.0)
    labels = components_by_size(W)
    floors = get_floors(adata, neighbors_key)
    announce_pieces(W, labels, components, floors)
    kept = np.arange(len(labels))
    if components == "largest":
        announce_rest(W, labels, "NaN in obsm['X_diffmap']", floors)
        kept = np.flatnonzero(labels == 0)
    most = len(kept) - 1
    k = min(_COMPONENTS, most) if n_comps is None else as_count(n_comps, "n_comps", most)
    spectrum = eigenpairs(W[kept][:, kept], k, components="each")
    count, where = nearly_separate(spectrum.values, spectrum.vectors, spectrum.nontrivial, floors)
    announce_nearly_separate(count, kept[where], len(labels), floors=floors, names=adata.obs_names)
    _log_slow(spectrum)
    vectors = np.full((len(labels), k), np.nan)
    vectors[kept] = spectrum.vectors
    put_diffusion_map(adata, vectors, spectrum.values)
    return adata if copy else None


def tsne(
    adata: Any,
    n_components: int = 2,
    *,
    neighbors_key: str | None = None,
    key_added: str | None = None,
    random_state: Any = 0,
    copy: bool = False,
    **options: Any,
) -> Any:
    """The t-SNE layout of the graph, in place of `sc.tl.tsne`.

    Parameters
    ----------
    adata : AnnData with a graph, of sparrot or scanpy, whole or cut into whole components, as for
        `diffmap`.
    n_components : 2 or 1.
    neighbors_key : the `key_added` of `neighbors`.
    key_added : write under this key instead of `X_tsne` and `tsne`.
    random_state : seed, or a generator of NumPy (None for a new one), which draws it: it is stored.
    copy : return a changed copy.
    **options : passed on to `openTSNE.TSNE`: `n_iter`, `exaggeration`, `n_jobs`, ... It starts from
        the leading eigenvectors of the graph unless `initialization` is given.

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
    adata = as_writable(adata, copy)
    seed = _drawn_seed(random_state)
    W = get_connectivities(adata, neighbors_key)
    embedding = tsne_layout(W, n_components, random_state=seed, **options)
    params = {"method": "openTSNE", "random_state": seed, "use_graph": True}
    put_layout(adata, "tsne", key_added, embedding, params)
    return adata if copy else None


def umap(
    adata: Any,
    n_components: int = 2,
    *,
    min_dist: float = 0.5,
    spread: float = 1.0,
    maxiter: int | None = None,
    alpha: float = 1.0,
    gamma: float = 1.0,
    negative_sample_rate: int = 5,
    init_pos: Any = "spectral",
    random_state: Any = 0,
    rng: Any = None,
    a: float | None = None,
    b: float | None = None,
    method: str = "umap",
    neighbors_key: str | None = None,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """The UMAP layout of the graph, in place of `sc.tl.umap`, by `sparrot.umap_layout`.

    `sc.tl.umap` sets small weights of the graph to zero, in place (with scipy 1.17): what runs
    after it, such as `sc.tl.leiden`, sees another graph. This one works on a copy.

    Parameters
    ----------
    adata : AnnData with a graph, of sparrot or scanpy, whole or cut into whole components, as for
        `diffmap`.
    n_components, min_dist, spread, alpha, gamma, negative_sample_rate : as in `sc.tl.umap`.
    maxiter : number of epochs; None for as many as `sc.tl.umap` runs. Edges that are left out are
        logged (see `sparrot.umap_layout`).
    init_pos : `"spectral"` for the leading eigenvectors of the graph, `"random"`, a key of `obsm`,
        an array, or `"paga"` for cells around their groups where `sc.pl.paga` has put these.
    neighbors_key : the `key_added` of `neighbors`.
    key_added : write under this key instead of `X_umap` and `umap`.
    a, b : the curve of UMAP, both of them; by default it follows from `min_dist` and `spread`.
    method : "umap"; scanpy's other one, "rapids", is refused.
    random_state, rng : seed, or a generator of NumPy (a `random_state` of None for a new one),
        which draws it; `rng` if it is given. The seed is stored unless it is 0.
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
    adata = as_writable(adata, copy)
    as_choice(method, "method", ("umap",))
    seed = _drawn_seed(random_state if rng is None else rng)
    a, b = curve(min_dist, spread, a, b)
    layout = umap_layout(
        get_connectivities(adata, neighbors_key),
        n_components,
        a=a,
        b=b,
        n_epochs=maxiter,
        init=get_start(adata, init_pos, seed),
        random_state=seed,
        negative_sample_rate=negative_sample_rate,
        learning_rate=as_positive(alpha, "alpha", "1.0 is scanpy's own"),
        repulsion_strength=as_positive(gamma, "gamma", "1.0 is scanpy's own"),
    )
    params = {"a": a, "b": b} | ({"random_state": seed} if seed else {})
    put_layout(adata, "umap", key_added, layout.embedding.astype("float32"), params)
    return adata if copy else None


def _drawn_seed(random_state: Any) -> int:
    """A seed that files can hold, of whatever scikit-learn takes for one."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.int64))
    return as_seed(random_state)


def _log_slow(spectrum: Spectrum) -> None:
    """Log eigenvalues that `sc.tl.dpt` mistakes for 1."""
    slow = int((spectrum.values >= _STATIONARY).sum()) - spectrum.n_connected_components
    if slow > 0:
        LOG.warning(
            "sc.tl.dpt takes eigenvalues from %g on for stationary, and so gives %d of the "
            "components less weight than they have",
            _STATIONARY,
            slow,
        )
