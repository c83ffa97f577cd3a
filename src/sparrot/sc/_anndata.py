"""Points and layouts of an AnnData: where they are, and which ones scanpy would take.

A diffusion map is in `obsm["X_diffmap"]` and `uns["diffmap_evals"]`, a layout in `obsm["X_{name}"]`
and `uns[name]`. (`sparrot.io._anndata` knows where a graph is.)

Which points a graph is built from follows scanpy's rules (`choose_points`). What QOT does not see
is a number for each cell that is added to all its squared distances; independent noise in many
dimensions is nearly that. PCA keeps only a few directions of the noise, so that this no longer
holds: the paper notes that it "could impede the robustness". It also leaves out most of the noise.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from sparrot._types import FloatArray
from sparrot._validation import as_count, as_flag, as_key
from sparrot.errors import AffinityWarning, InvalidInputError, counted, load_extra, warn
from sparrot.io import SCANPY_WIDE, listed_keys, writing_anndata

LOG = logging.getLogger(__name__)


def as_anndata(adata: Any) -> Any:
    """An AnnData, or an object that has its parts."""
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "obsp", "uns", "n_obs")):
        raise InvalidInputError(
            f"must be an AnnData, got {type(adata).__name__}",
            parameter="adata",
            value=adata,
            remedy="for an array use {sparrot.qot}",
        )
    return adata


def as_writable(adata: Any, copy: Any) -> Any:
    """The AnnData to write into: itself, or a copy in memory."""
    adata, backed = as_anndata(adata), getattr(adata, "isbacked", False)
    if as_flag(copy, "copy"):
        return adata.to_memory() if backed else adata.copy()
    if backed and adata.is_view:
        raise InvalidInputError(
            "is a view of a file on disk, and nothing can be written to it",
            parameter="adata",
            value=adata,
            remedy=["call .to_memory() first", "pass {copy=True}"],
        )
    return adata


# Coordinates


def put_diffusion_map(adata: Any, vectors: FloatArray, values: FloatArray) -> None:
    """Write a diffusion map where `sc.tl.diffmap` does."""
    with writing_anndata():
        adata.obsm["X_diffmap"] = vectors
        adata.uns["diffmap_evals"] = values


def put_layout(
    adata: Any, name: str, key_added: str | None, embedding: Any, params: dict[str, Any]
) -> None:
    """Write a layout where scanpy does: `X_{name}` and `name`, or `key_added` for both."""
    key_added = as_key(key_added, "key_added")
    with writing_anndata():
        adata.obsm[key_added or f"X_{name}"] = np.asarray(embedding)
        adata.uns[key_added or name] = {"params": params}


def get_start(adata: Any, init_pos: Any, seed: int) -> Any:
    """Where a layout starts: what `sparrot.umap_layout` takes, a key of `obsm`, or `"paga"`."""
    if not isinstance(init_pos, str) or init_pos in ("spectral", "random"):
        return init_pos
    if init_pos in adata.obsm:
        return adata.obsm[init_pos]
    if init_pos == "paga":
        return _around_groups(adata, seed)
    raise InvalidInputError(
        "must be 'spectral', 'random', 'paga', an array or a key of obsm "
        f"({listed_keys(adata.obsm)}), got {init_pos!r}",
        parameter="init_pos",
        value=init_pos,
    )


def _around_groups(adata: Any, seed: int) -> FloatArray:
    """Every cell at random around its group of `sc.tl.paga`, as in scanpy.

    It is within half the way to the group that its own is best connected with, in each coordinate.
    """
    paga = adata.uns.get("paga", {})
    if "pos" not in paga:
        raise InvalidInputError(
            "is 'paga', and uns['paga']['pos'] is not there",
            parameter="init_pos",
            value="paga",
            remedy="run sc.tl.paga and sc.pl.paga first, which finds positions of the groups",
        )
    at, groups = np.asarray(paga["pos"]), adata.obs[paga["groups"]].cat.codes.to_numpy()
    if groups.min() < 0 or groups.max() >= len(at):
        raise InvalidInputError(
            f"is 'paga', and not every cell has a group in obs[{paga['groups']!r}] with a position",
            parameter="init_pos",
            value="paga",
            remedy="run sc.tl.paga and sc.pl.paga anew",
        )
    connected = paga["connectivities"].toarray()
    best = connected.argmax(axis=1)
    way = np.where(connected.any(axis=1)[:, None], at - at[best], 0)
    return at[groups] + (np.random.default_rng(seed).random((len(groups), 2)) - 0.5) * way[groups]


# Points


@dataclass(frozen=True, slots=True)
class Representation:
    """Points, and how scanpy will find them again.

    Attributes
    ----------
    points : (n, p) array, dense or sparse.
    place : where in the AnnData they are, for errors.
    params : `use_rep`, `n_pcs`, `layer`: what to write into `uns[key]["params"]`.
    computed : what PCA found, if it had to run, by the part of the AnnData where it belongs.
    """

    points: Any
    place: str
    params: dict[str, Any]
    computed: dict[str, dict[str, Any]] = field(default_factory=dict)

    def put_computed(self, adata: Any) -> None:
        """Write what PCA found."""
        with writing_anndata():
            for part, items in self.computed.items():
                getattr(adata, part).update(items)


def choose_points(
    adata: Any, use_rep: str | None, n_pcs: int | None, layer: str | None
) -> Representation:
    """The points that `sc.pp.neighbors` would take; `layer` takes the place of X.

    PCA runs here if it is needed and absent. Nothing is written.
    """
    use_rep, layer = as_key(use_rep, "use_rep"), as_key(layer, "layer")
    if layer is not None and use_rep is not None:
        raise InvalidInputError(
            f"is {layer!r} and use_rep is {use_rep!r}, and only one can be given",
            parameter="layer",
            value=layer,
            remedy=["leave out {layer}", "leave out {use_rep}"],
        )
    if layer is not None and layer not in adata.layers:
        raise InvalidInputError(
            f"must be a key of adata.layers ({listed_keys(adata.layers)}), got {layer!r}",
            parameter="layer",
            value=layer,
        )
    if use_rep == "X" or (use_rep is None and (n_pcs == 0 or adata.n_vars <= SCANPY_WIDE)):
        params = {"use_rep": "X"} | ({} if layer is None else {"layer": layer})
        if n_pcs:
            LOG.warning(
                "n_pcs=%s is ignored, as in scanpy: all %s columns are taken as they are; for "
                "components, run sc.pp.pca and name them by use_rep='X_pca'",
                n_pcs,
                adata.n_vars,
            )
        return Representation(in_memory(_matrix(adata, layer)), _place(layer), params)
    if use_rep is not None:
        return _stored(adata, use_rep, n_pcs)
    return _principal_components(adata, n_pcs, layer)


def in_memory(X: Any) -> Any:
    """The array itself; a backed AnnData has something else in its place."""
    if issparse(X) or isinstance(X, np.ndarray):
        return X
    return X.to_memory() if hasattr(X, "to_memory") else np.asarray(X[:])


def _matrix(adata: Any, layer: str | None) -> Any:
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise InvalidInputError(
            f"{_place(layer)} is None",
            remedy=["take a representation of obsm by {use_rep}", "a layer by {layer}"],
        )
    return X


def _place(layer: str | None) -> str:
    return "adata.X" if layer is None else f"adata.layers[{layer!r}]"


def _stored(adata: Any, use_rep: str, n_pcs: int | None) -> Representation:
    if use_rep not in adata.obsm:
        raise InvalidInputError(
            f"must be 'X' or a key of adata.obsm ({listed_keys(adata.obsm)}), got {use_rep!r}",
            parameter="use_rep",
            value=use_rep,
        )
    points, place = in_memory(adata.obsm[use_rep]), f"adata.obsm[{use_rep!r}]"
    if n_pcs is None:
        return Representation(points, place, {"use_rep": use_rep})
    n_pcs = as_count(n_pcs, "n_pcs", points.shape[1])
    return Representation(points[:, :n_pcs], place, {"use_rep": use_rep, "n_pcs": n_pcs})


def _principal_components(adata: Any, n_pcs: int | None, layer: str | None) -> Representation:
    """Principal components of X or of the layer: those that are stored, or else new ones.

    For components of X only `n_pcs` is written, as scanpy's own default does: then `sc.tl.ingest`
    projects new cells onto the same components. With `use_rep` it would not, and silently take the
    genes of new cells for components. (The price, as in scanpy: if `obsm["X_pca"]` is missing when
    `sc.tl.umap` runs, it computes a PCA of its own, and warns.)
    """
    key = "X_pca" if layer is None else f"X_pca_{layer}"
    computed: dict[str, dict[str, Any]] = {}
    if key not in adata.obsm:
        computed = _pca(adata, n_pcs, layer, key)
    stored = computed["obsm"][key] if computed else in_memory(adata.obsm[key])
    points = stored[:, : _as_columns(n_pcs, stored, key)]
    LOG.info(
        "the graph is built from %d principal components (obsm[%r]); use_rep='X' (or n_pcs=0) "
        "takes all %d columns, which should be log-normalized but not scaled",
        points.shape[1],
        key,
        adata.n_vars,
    )
    params: dict[str, Any] = {"n_pcs": points.shape[1]}
    params |= {} if layer is None else {"use_rep": key}
    return Representation(points, f"adata.obsm[{key!r}]", params, computed)


def _as_columns(n_pcs: Any, stored: Any, key: str) -> int:
    """How many of the components to take: all by default; those of the user are not replaced."""
    there = int(stored.shape[1])
    count = there if n_pcs is None else as_count(n_pcs, "n_pcs")
    if count > there:
        raise InvalidInputError(
            f"must be at most {there}, the number of principal components in obsm[{key!r}], got "
            f"{count}",
            parameter="n_pcs",
            value=n_pcs,
            remedy=["run sc.pp.pca with more of them", "delete the stored ones"],
        )
    return count


def _pca(adata: Any, n_pcs: int | None, layer: str | None, key: str) -> dict[str, dict[str, Any]]:
    """`sc.pp.pca` on a copy of the one matrix, so that backed and layered data work as well."""
    X = in_memory(_matrix(adata, layer))
    _require_finite(X, adata.var, _place(layer))
    most = min(X.shape) - 1
    n_comps = min(SCANPY_WIDE, most) if n_pcs is None else as_count(n_pcs, "n_pcs", most)
    warn(
        AffinityWarning(
            f"is not given, {_place(layer)} has {X.shape[1]} columns, and obsm[{key!r}] is not "
            "there. Falling back to preprocessing with `sc.pp.pca` and default params "
            f"({n_comps} components)",
            parameter="use_rep",
            remedy=["run sc.pp.pca first", "take all columns by {use_rep='X'}"],
        )
    )
    scanpy, anndata = load_extra("scanpy", "scanpy"), load_extra("anndata", "scanpy")
    shell = anndata.AnnData(X, var=adata.var.copy())
    scanpy.pp.pca(shell, n_comps=n_comps)
    computed = {"obsm": {key: shell.obsm["X_pca"]}}
    if layer is None:
        computed |= {"varm": {"PCs": shell.varm["PCs"]}, "uns": {"pca": shell.uns["pca"]}}
    return computed


def _require_finite(X: Any, var: Any, place: str) -> None:
    """Finite entries in the columns that `sc.pp.pca` uses."""
    used = var.get("highly_variable", np.ones(X.shape[1], dtype=bool))
    X = X[:, np.asarray(used, dtype=bool)]
    entries = coo_array(X) if issparse(X) else X
    bad = ~np.isfinite(entries.data if issparse(X) else entries)
    if bad.any():
        columns = entries.coords[1][bad] if issparse(X) else np.nonzero(bad)[1]
        gene = var.index[np.flatnonzero(used)[columns[0]]]
        raise InvalidInputError(
            f"{place} has {counted(len(columns), 'non-finite entry', 'non-finite entries')}, the "
            f"first in the column {gene!r}",
            remedy="drop or impute them",
        )
