"""Affinities inside an AnnData: which keys, and the way back.

For a key k (scanpy's default is `"neighbors"`, and then the names of the matrices have no prefix):

* `obsp["{k}_connectivities"]`: the matrix, a `csr_matrix`;
* `obsp["{k}_distances"]`: nearest neighbours, of the points or, where there are none, of the graph;
* `obs["{k}_potential"]`: the potential, where the affinity has one;
* `uns[k]`: `connectivities_key`, `distances_key`, `potential_key`, scanpy's `params`, and
  `sparrot`, the record of all else that is known.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from scipy.sparse import csr_matrix

from sparrot.affinity import Affinity
from sparrot.errors import InvalidInputError
from sparrot.extras import load_extra
from sparrot.interop.record import from_record, require_whole, to_record

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
    """Write an affinity and the distances of its nearest neighbours.

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
