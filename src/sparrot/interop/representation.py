"""Which points of an AnnData the graph is built from: scanpy's rules, and a word about PCA.

The robustness of a bistochastic affinity to heteroskedastic noise rests on the noise adding, in
high dimension, one number a point to all its squared distances. PCA keeps only a few directions of
the noise, which no longer does so: the paper notes that it "could impede the robustness".
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from sparrot.errors import InvalidInputError
from sparrot.extras import load_extra
from sparrot.validation import as_count

WIDE = 50  # columns: above that scanpy's default is PCA, with so many components
_log = logging.getLogger(__name__)
_CAUTION = (
    "the graph is built from %d principal components (%s): fast, but PCA changes how noise enters "
    "the distances, and where its strength varies between cells this costs robustness; "
    "use_rep='X' (or n_pcs=0) takes all %d columns"
)


@dataclass(frozen=True, slots=True)
class Representation:
    """Points, and the words by which scanpy will find them again.

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

    def keep(self, adata: Any) -> None:
        """Write what was computed."""
        for part, items in self.computed.items():
            getattr(adata, part).update(items)


def choose(adata: Any, use_rep: str | None, n_pcs: int | None, layer: str | None) -> Representation:
    """The points that `sc.pp.neighbors` would take; `layer` stands in for X.

    PCA runs here if it is needed and absent. Nothing is written before `Representation.keep`.
    """
    if layer is not None and use_rep is not None:
        raise InvalidInputError(f"give layer or use_rep, not both: {layer!r} and {use_rep!r}")
    if layer is not None and layer not in adata.layers:
        raise InvalidInputError(f"no layer {layer!r}; there are {_listed(adata.layers)}")
    if use_rep == "X" or (use_rep is None and (n_pcs == 0 or adata.n_vars <= WIDE)):
        params = {"use_rep": "X"} | ({} if layer is None else {"layer": layer})
        if n_pcs:
            _log.warning(
                "n_pcs=%s is left aside, as in scanpy: %s columns are taken as they are; for "
                "components, run sc.pp.pca and name them by use_rep='X_pca'",
                n_pcs,
                adata.n_vars,
            )
        return Representation(in_memory(_matrix(adata, layer)), _place(layer), params)
    if use_rep is not None:
        return _stored(adata, use_rep, n_pcs)
    return _principal(adata, n_pcs, layer)


def in_memory(X: Any) -> Any:
    """The array itself, of whatever stands for it in a backed AnnData."""
    if issparse(X) or isinstance(X, np.ndarray):
        return X
    return X.to_memory() if hasattr(X, "to_memory") else np.asarray(X[:])


def _matrix(adata: Any, layer: str | None) -> Any:
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise InvalidInputError("adata.X is None; name a representation by use_rep= or layer=")
    return X


def _place(layer: str | None) -> str:
    return "adata.X" if layer is None else f"adata.layers[{layer!r}]"


def _stored(adata: Any, use_rep: str, n_pcs: int | None) -> Representation:
    if use_rep not in adata.obsm:
        raise InvalidInputError(
            f"no obsm[{use_rep!r}]; there are {_listed(adata.obsm)}, and 'X' for the matrix itself"
        )
    points, place = in_memory(adata.obsm[use_rep]), f"adata.obsm[{use_rep!r}]"
    if n_pcs is None:
        return Representation(points, place, {"use_rep": use_rep})
    n_pcs = as_count(n_pcs, "n_pcs", points.shape[1])
    return Representation(points[:, :n_pcs], place, {"use_rep": use_rep, "n_pcs": n_pcs})


def _principal(adata: Any, n_pcs: int | None, layer: str | None) -> Representation:
    """Principal components, of the layer or X.

    Those of X are named to scanpy by `n_pcs` alone, as its own default does: then `sc.tl.ingest`
    projects new cells by the same components. With `use_rep` it would not, and take the genes of
    new cells for components without a word. (The price, as in scanpy: should `obsm["X_pca"]` be
    gone when `sc.tl.umap` runs, that runs a PCA of its own, and warns.)
    """
    key = "X_pca" if layer is None else f"X_pca_{layer}"
    most = min(adata.n_vars, adata.n_obs) - 1
    wanted = min(WIDE, most) if n_pcs is None else as_count(n_pcs, "n_pcs", most)
    computed: dict[str, dict[str, Any]] = {}
    if key in adata.obsm:
        stored = in_memory(adata.obsm[key])
        _require_columns(stored, key, n_pcs)
    else:
        computed = _pca(adata, wanted, layer, key)
        stored = computed["obsm"][key]
    points = stored[:, :wanted]
    _log.info(_CAUTION, points.shape[1], f"obsm[{key!r}]", adata.n_vars)
    params: dict[str, Any] = {"n_pcs": points.shape[1]}
    params |= {} if layer is None else {"use_rep": key}
    return Representation(points, f"adata.obsm[{key!r}]", params, computed)


def _require_columns(stored: Any, key: str, n_pcs: int | None) -> None:
    """What is stored is not ours to replace, and scanpy does not either."""
    if n_pcs is not None and stored.shape[1] < n_pcs:
        raise InvalidInputError(
            f"obsm[{key!r}] has {stored.shape[1]} principal components, fewer than n_pcs={n_pcs}; "
            f"run sc.pp.pca with n_comps={n_pcs}, take fewer, or delete obsm[{key!r}]"
        )


def _pca(adata: Any, n_comps: int, layer: str | None, key: str) -> dict[str, dict[str, Any]]:
    """`sc.pp.pca` on a copy of the one matrix, so that backed and layered data work as well."""
    scanpy, anndata = load_extra("scanpy", "scanpy"), load_extra("anndata", "scanpy")
    X = in_memory(_matrix(adata, layer))
    _require_finite(X, adata.var, _place(layer))
    shell = anndata.AnnData(X, var=adata.var.copy())
    scanpy.pp.pca(shell, n_comps=n_comps)
    computed = {"obsm": {key: shell.obsm["X_pca"]}}
    if layer is None:
        computed |= {"varm": {"PCs": shell.varm["PCs"]}, "uns": {"pca": shell.uns["pca"]}}
    return computed


def _require_finite(X: Any, var: Any, place: str) -> None:
    """Finite entries in the columns of which `sc.pp.pca` makes components."""
    used = var.get("highly_variable", np.ones(X.shape[1], dtype=bool))
    X = X[:, np.asarray(used, dtype=bool)]
    entries = coo_array(X) if issparse(X) else X
    bad = ~np.isfinite(entries.data if issparse(X) else entries)
    if bad.any():
        columns = entries.coords[1][bad] if issparse(X) else np.nonzero(bad)[1]
        gene = var.index[np.flatnonzero(used)[columns[0]]]
        raise InvalidInputError(
            f"{place} has {len(columns)} entries that are not finite, one in the column {gene!r}; "
            "drop or impute them"
        )


def _listed(mapping: Any) -> str:
    return ", ".join(repr(name) for name in mapping) or "none"
