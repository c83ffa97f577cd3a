"""Affinities inside an AnnData: which keys, and the way back.

For a key k (scanpy's default is `"neighbors"`, and then the names of the matrices have no prefix):

* `obsp["{k}_connectivities"]`: the matrix, a `csr_matrix`;
* `obsp["{k}_distances"]`: nearest neighbors, of the points or, where there are none, of the graph;
* `obs["{k}_potential"]`: the potential, where the affinity has one;
* `uns[k]`: `connectivities_key`, `distances_key`, `potential_key`, scanpy's `params`, and
  `sparrot`, the record of all else that is known.

Which points of an AnnData the graph is built from: scanpy's rules, and a word about PCA.

The robustness of a bistochastic affinity to heteroskedastic noise rests on the noise adding, in
high dimension, one number a point to all its squared distances. PCA keeps only a few directions of
the noise, which no longer does so: the paper notes that it "could impede the robustness".
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_matrix, issparse

from sparrot._extras import load_extra
from sparrot._validation import as_count
from sparrot.affinity import Affinity
from sparrot.affinity._record import from_record, require_whole, to_record
from sparrot.errors import InvalidInputError

DEFAULT = "neighbors"
_REMEDY = (
    "sparrot.sc.neighbors (and not sc.pp.neighbors) writes one into an AnnData, sparrot.save into "
    "a file"
)


@dataclass(frozen=True, slots=True)
class Keys:
    """The names under which one graph is stored, given the one that the user chose."""

    uns: str = DEFAULT

    @property
    def connectivities(self) -> str:
        """In obsp."""
        return self._prefix + "connectivities"

    @property
    def distances(self) -> str:
        """In obsp."""
        return self._prefix + "distances"

    @property
    def potential(self) -> str:
        """In obs."""
        return f"{self.uns}_potential"

    @property
    def _prefix(self) -> str:
        return "" if self.uns == DEFAULT else f"{self.uns}_"


def as_anndata(adata: Any) -> Any:
    """An AnnData, or whatever has its parts."""
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "obsp", "uns", "n_obs")):
        raise InvalidInputError(
            f"adata must be an AnnData, got {type(adata).__name__}; of an array, sparrot.qot makes "
            "the affinity"
        )
    return adata


def put(adata: Any, affinity: Affinity, keys: Keys, params: dict[str, Any], distances: Any) -> None:
    """Write an affinity and the distances of its nearest neighbors.

    What an earlier graph left under the same key goes: half of it would contradict this one.
    """
    adata.obsp[keys.connectivities] = csr_matrix(affinity.matrix)
    adata.obsp[keys.distances] = distances
    entry = {"connectivities_key": keys.connectivities, "distances_key": keys.distances}
    if affinity.potential is not None:
        adata.obs[keys.potential] = affinity.potential
        entry["potential_key"] = keys.potential
    elif keys.potential in adata.obs:
        del adata.obs[keys.potential]
    adata.uns[keys.uns] = entry | {"params": params, "sparrot": to_record(affinity)}


def get(adata: Any, key: str | None, source: str = "adata") -> Affinity:
    """The affinity under a key of `uns`; without a key, the only one that sparrot wrote."""
    key = _only_key(adata, source) if key is None else key
    entry = adata.uns.get(key, {})
    if "sparrot" not in entry:
        raise InvalidInputError(
            f"{source} has no affinity of sparrot under uns[{key!r}], only {_written(adata)}; "
            "sparrot.sc.neighbors writes one"
        )
    stored = entry.get("connectivities_key"), entry.get("potential_key")
    absent = [k for k, place in zip(stored, (adata.obsp, adata.obs), strict=True) if k not in place]
    if stored[0] in absent or (stored[1] is not None and stored[1] in absent):
        raise InvalidInputError(
            f"uns[{key!r}] of {source} points to {' and '.join(map(str, absent))}, which is gone; "
            "build the affinity anew"
        )
    potential = None if stored[1] is None else adata.obs[stored[1]].to_numpy()
    name = f"uns[{key!r}] of {source}"
    return from_record(entry["sparrot"], adata.obsp[stored[0]], potential, name)


def graph(adata: Any, neighbors_key: str | None) -> Any:
    """The connectivities under a key of `uns`, of sparrot or scanpy.

    Old files have no `connectivities_key`; scanpy reads the default graph without it.
    """
    key = neighbors_key or DEFAULT
    entry = adata.uns.get(key, {})
    place = entry.get("connectivities_key", Keys().connectivities if key == DEFAULT else "")
    if place not in adata.obsp:
        raise InvalidInputError(f"no graph under uns[{key!r}]; run sparrot.sc.neighbors first")
    if "sparrot" in entry:
        require_whole(entry["sparrot"], adata.obsp[place], f"uns[{key!r}] of adata")
    return adata.obsp[place]


@contextmanager
def writing() -> Iterator[None]:
    """Writing to a view makes it an AnnData of its own, as scanpy does without a word."""
    anndata = load_extra("anndata", "scanpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anndata.ImplicitModificationWarning)
        yield


def _written(adata: Any) -> list[str]:
    return [k for k, entry in adata.uns.items() if isinstance(entry, dict) and "sparrot" in entry]


def _only_key(adata: Any, source: str) -> str:
    keys = _written(adata)
    if len(keys) != 1:
        raise InvalidInputError(
            f"{source} holds {len(keys)} affinities of sparrot"
            + (f" ({', '.join(keys)}); name one by key=" if keys else f"; {_REMEDY}")
        )
    return keys[0]


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
