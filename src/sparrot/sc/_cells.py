"""What the functions of `sparrot.sc` compute and write, once their arguments are named."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._validation import as_array, as_count, as_points
from sparrot.affinity._registry import build
from sparrot.errors import InvalidInputError
from sparrot.layout._start import leading, warn_of_pieces
from sparrot.sc._anndata import Keys, Representation, graph, put, writing
from sparrot.sc._distances import KeptGraph, named_distance, nearest_distances
from sparrot.spectral import alpha_normalization

_COMPONENTS = 15  # of a diffusion map, scanpy's default


def connect(
    adata: Any,
    chosen: Representation,
    kind: str,
    scale: dict[str, Any],
    cost: str,
    k: int,
    keys: Keys,
    options: dict[str, Any],
) -> None:
    """Build the graph of some points and the distances to the k nearest of each, and write both.

    Nothing is written before all is there.
    """
    points = as_points(as_array(chosen.points, chosen.place))
    found = KeptGraph(options.get("neighbors"), options.get("n_jobs"))
    W = build(points, kind, **scale, metric=cost, **found.within(options))
    params = {"n_neighbors": k + 1, "method": kind, "metric": named_distance(cost)}
    params |= {"random_state": 0} | scale | chosen.params
    distances = nearest_distances(points, k, cost, options.get("n_jobs"), found.graph)
    with writing():
        chosen.keep(adata)
        put(adata, W, keys, params, distances)


def diffuse(adata: Any, n_comps: int | None, neighbors_key: str | None) -> None:
    """Write the diffusion map of a graph."""
    W = graph(adata, neighbors_key)
    most = adata.n_obs - 1
    k = min(_COMPONENTS, most) if n_comps is None else as_count(n_comps, "n_comps", most)
    values, vectors = leading(alpha_normalization(W, 1.0), k)
    warn_of_pieces(W, values)
    with writing():
        adata.obsm["X_diffmap"] = vectors
        adata.uns["diffmap_evals"] = values


def keep_layout(
    adata: Any, name: str, key_added: str | None, embedding: Any, params: dict[str, Any]
) -> None:
    """Write a layout where scanpy writes its own: `X_{name}` and `name`, or one key for both."""
    with writing():
        adata.obsm[key_added or f"X_{name}"] = np.asarray(embedding)
        adata.uns[key_added or name] = {"params": params}


def start_named(adata: Any, init_pos: Any) -> Any:
    """Where a layout starts: what `sparrot.umap_layout` takes, or a key of `obsm`."""
    if not isinstance(init_pos, str) or init_pos in ("spectral", "random"):
        return init_pos
    if init_pos not in adata.obsm:
        raise InvalidInputError(
            "init_pos must be 'spectral', 'random', an array or a key of obsm "
            f"({', '.join(adata.obsm) or 'there are none'}), got {init_pos!r}"
        )
    return adata.obsm[init_pos]
