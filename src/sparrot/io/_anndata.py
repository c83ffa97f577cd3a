"""Where a graph is in an AnnData, and the distances that scanpy keeps beside it.

A graph with the key k consists of

* `obsp["{k}_connectivities"]`: the affinity, a `csr_matrix`;
* `obsp["{k}_distances"]`: distances to the nearest neighbors of the points or, where these are not
  known, dissimilarities of the strongest neighbors in the graph, with the same number in every row;
* `obs["{k}_potential"]`: the potential, where the affinity has one, and so `row_eps`,
  `min_neighbors` and `weights`: what belongs to a cell goes with it when cells are sorted or cut;
* `uns[k]`: `connectivities_key`, `distances_key`, `potential_key` (and so on), scanpy's `params`,
  and `sparrot`, a record of everything else that is known about the affinity.

Scanpy's default k is `"neighbors"`, and then the keys of `obsp` have no prefix.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_matrix

from sparrot._files import digest
from sparrot._types import PointArray, UIntArray
from sparrot._validation import as_key, as_word
from sparrot.affinity import (
    Affinity,
    distance_named,
    from_record,
    nearest_in,
    nearest_others,
    of_part,
    require_rows,
    require_schema,
    to_record,
)
from sparrot.errors import AffinityWarning, InvalidInputError, load_extra, warn
from sparrot.ot import compressed

DEFAULT_KEY = "neighbors"  # the key of scanpy's default graph
RECORD = "sparrot"  # in uns[k]: only graphs of sparrot have it
_OF_CELLS = ("row_eps", "min_neighbors", "weights")  # of a record: columns of obs
SCANPY_WIDE = 50  # columns: above that scanpy takes principal components by default, and so many
SCANPY_NEIGHBORS = 15  # scanpy's default, which counts the cell itself


@dataclass(frozen=True, slots=True)
class GraphKeys:
    """The names under which one graph is stored.

    Examples
    --------
    >>> GraphKeys().connectivities, GraphKeys("mine").connectivities, GraphKeys("mine").potential
    ('connectivities', 'mine_connectivities', 'mine_potential')
    """

    uns: str = DEFAULT_KEY

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
        return self.column("potential")

    def column(self, name: str) -> str:
        """In obs, for what an affinity has of every cell."""
        return f"{self.uns}_{name}"

    @property
    def _prefix(self) -> str:
        return "" if self.uns == DEFAULT_KEY else f"{self.uns}_"


def graph_keys(uns: Any, key: str, parameter: str) -> GraphKeys:
    """The names of a graph that is to be written; raises if it would replace what is no graph.

    Old files have a default graph without `connectivities_key`.

    Examples
    --------
    >>> graph_keys({}, "mine", "key_added").distances
    'mine_distances'
    """
    there = uns.get(key, {"connectivities_key": ""})
    is_graph = isinstance(there, Mapping) and "connectivities_key" in there
    if not is_graph and key != DEFAULT_KEY:
        raise InvalidInputError(
            f"is {key!r}, and uns[{key!r}] holds something that is no graph and would be lost",
            parameter=parameter,
            value=key,
            remedy=f"choose another {{{parameter}}}",
        )
    return GraphKeys(key)


@contextmanager
def writing_anndata() -> Iterator[None]:
    """No warning where writing turns a view into an AnnData of its own, as in scanpy."""
    anndata = load_extra("anndata", "scanpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anndata.ImplicitModificationWarning)
        yield


def put_graph(
    adata: Any, affinity: Affinity, distances: Any, keys: GraphKeys, params: dict[str, Any]
) -> None:
    """Write an affinity and distances between neighbors, in place of a graph with the same key."""
    with writing_anndata():
        adata.obsp[keys.connectivities] = csr_matrix(affinity.matrix)
        adata.obsp[keys.distances] = distances
        entry = {"connectivities_key": keys.connectivities, "distances_key": keys.distances}
        record = to_record(affinity)
        of_cells = {name: record.pop(name, None) for name in _OF_CELLS}
        for name, values in ({"potential": affinity.potential} | of_cells).items():
            column = keys.column(name)
            if values is not None:
                adata.obs[column] = values
                entry[f"{name}_key"] = column
            elif column in adata.obs:  # of the graph that was there
                del adata.obs[column]
        record["content"] = content(affinity.matrix, [affinity.potential, *of_cells.values()])
        record["digest"] = digest(record)
        adata.uns[keys.uns] = entry | {"params": params, RECORD: record}


def get_affinity(adata: Any, key: str | None, source: str = "adata") -> Affinity:
    """The affinity under a key of `uns`; without a key, the only one that sparrot wrote."""
    key = _only_key(adata, source) if key is None else as_word(key, "key")
    entry = adata.uns.get(key, {})
    if RECORD not in entry:
        raise InvalidInputError(
            f"must be one under which {source} has an affinity of sparrot "
            f"({listed_keys(_written(adata))}), got {key!r}",
            parameter="key",
            value=key,
            remedy="{sparrot.sc.neighbors} writes one",
        )
    place = f"uns[{key!r}] of {source}"
    connectivities, potential = entry.get("connectivities_key"), entry.get("potential_key")
    columns = [entry.get(f"{name}_key") for name in ("potential", *_OF_CELLS)]
    gone = [] if connectivities in adata.obsp else [f"obsp[{connectivities!r}]"]
    gone += [f"obs[{name!r}]" for name in columns if name is not None and name not in adata.obs]
    if gone:
        raise InvalidInputError(
            f"{place} points to {' and '.join(gone)}, which {'is' if len(gone) == 1 else 'are'} "
            "not there",
            remedy="build the affinity anew",
        )
    u = None if potential is None else adata.obs[potential].to_numpy()
    record, W = _record(adata, entry), adata.obsp[connectivities]
    require_schema(record, place)
    own = {name: value for name, value in entry[RECORD].items() if name != "digest"}
    if record.get("digest") != digest(own):
        raise InvalidInputError(
            f"{place} was damaged or changed after it was saved", remedy="build the affinity anew"
        )
    if W.shape[0] < int(record["n"]):
        return from_record(of_part(record, W, place), W, u, place)
    changed = own["content"] != content(W, [u, *(record.get(name) for name in _OF_CELLS)])
    return from_record(record, W, u, place, changed)


def content(matrix: Any, of_cells: Sequence[Any]) -> str:
    """A digest of a graph with what belongs to its cells, in whatever order these are.

    Cells may be sorted, and a certificate holds as before. It is a sum over all entries that are
    not zero, each hashed with what belongs to its two cells.

    Examples
    --------
    >>> W, u = np.array([[0, 2, 1], [2, 0, 4], [1, 4, 0.0]]), np.array([1.0, 2.0, 3.0])
    >>> content(W[::-1, ::-1], [u[::-1]]) == content(csr_matrix(W), [u])
    True
    >>> content(W, [u]) == content(W, [u[::-1]])
    False
    """
    W = coo_array(matrix)
    cells = np.zeros(W.shape[0], np.uint64)
    for place, values in enumerate(of_cells):
        if values is not None:
            cells = _hashed(cells + np.uint64(place), values)
    i, j = W.coords
    entries = _hashed(_hashed(cells[i], cells[j]), W.data)[W.data != 0]
    return f"{entries.sum(dtype=np.uint64):016x}"


def _hashed(h: UIntArray, values: Any) -> UIntArray:
    """Hashes of numbers with what was hashed before them."""
    values = np.ascontiguousarray(values)
    x = values if values.dtype == np.uint64 else (values.astype(np.float64) + 0.0).view(np.uint64)
    for _ in range(2):
        h = (h ^ x) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    return h


def _record(adata: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a graph, with what obs has of every cell."""
    columns = {name: entry.get(f"{name}_key") for name in _OF_CELLS}
    found = {name: column for name, column in columns.items() if column in adata.obs}
    return {**entry[RECORD]} | {name: adata.obs[found[name]].to_numpy() for name in found}


def get_connectivities(adata: Any, neighbors_key: str | None) -> Any:
    """The connectivities under a key of `uns`, of sparrot or scanpy.

    Old files have no `connectivities_key`; scanpy reads the default graph without it.
    """
    key = as_key(neighbors_key, "neighbors_key") or DEFAULT_KEY
    entry = adata.uns.get(key, {})
    place = entry.get(
        "connectivities_key", GraphKeys().connectivities if key == DEFAULT_KEY else ""
    )
    if place not in adata.obsp:
        raise InvalidInputError(
            f"must be the key of a graph in uns, got {key!r}",
            parameter="neighbors_key",
            value=neighbors_key,
            remedy="run {sparrot.sc.neighbors} first",
        )
    if RECORD in entry:
        require_rows(_record(adata, entry), adata.obsp[place], f"uns[{key!r}] of adata")
    elif GraphKeys(key).potential in adata.obs:
        _announce_replaced(key)
    return adata.obsp[place]


def _announce_replaced(key: str) -> None:
    """Warn that another function has written its graph over ours, as scVelo's `pp.moments` may."""
    warn(
        AffinityWarning(
            f"is {key!r}, where the graph of sparrot has been replaced by another; its potential "
            f"is still in obs[{GraphKeys(key).potential!r}]",
            parameter="neighbors_key",
            value=key,
            remedy=[
                "run {sparrot.sc.neighbors} again (and scv.pp.moments with n_neighbors=None, which "
                "takes the graph that is there)",
                "delete the potential if that was meant",
            ],
        )
    )


def get_floors(adata: Any, neighbors_key: str | None) -> Any:
    """The floors on the neighbors of every point of such a graph; None if it has none."""
    entry = adata.uns.get(neighbors_key or DEFAULT_KEY, {})
    return _record(adata, entry).get("min_neighbors") if RECORD in entry else None


def _written(adata: Any) -> list[str]:
    return [k for k, entry in adata.uns.items() if isinstance(entry, dict) and RECORD in entry]


def _only_key(adata: Any, source: str) -> str:
    keys = _written(adata)
    if not keys:
        raise InvalidInputError(
            f"{source} holds no affinity of sparrot",
            remedy="{sparrot.sc.neighbors} (and not sc.pp.neighbors) writes one into an AnnData, "
            "{sparrot.save} into a file",
        )
    if len(keys) > 1:
        raise InvalidInputError(
            f"is needed, as {source} holds {len(keys)} affinities of sparrot ({', '.join(keys)})",
            parameter="key",
            remedy="name one",
        )
    return keys[0]


def listed_keys(mapping: Any) -> str:
    """The keys of a mapping, for an error; in AnnData 0.13 `layers` has None, which is X."""
    return ", ".join(repr(name) for name in mapping if name is not None) or "there are none"


# Distances


def nearest_distances(
    X: PointArray,
    k: int,
    metric: str,
    n_jobs: int | None = None,
    among: Any = None,
    engine: Any = None,
) -> csr_matrix:
    """A `csr_matrix` with the distances to the k nearest others of each point, k in every row.

    Zero distances, of duplicates, are stored. `among` is a graph of neighbors: a point that has k
    or more in it finds its nearest among them. `engine` is a cluster, as for `sparrot.qot`.

    Examples
    --------
    >>> D = nearest_distances(np.array([[0.0], [0.0], [3.0]]), 1, "sqeuclidean")
    >>> D.data, D.indices
    (array([0., 0., 3.]), array([1, 0, 0], dtype=int32))
    """
    distance = distance_named(metric)
    if among is None:
        indices, distances = nearest_others(X, k, distance, n_jobs, engine)
    else:
        indices, distances = nearest_in(among, X, k, distance, n_jobs)
    return _same_number(indices, distances)


def strongest_dissimilarities(W: Any, most: int) -> csr_matrix:
    """Dissimilarities of the strongest neighbors in a graph, where its points are not known.

    A `csr_matrix` with `1 - W_ij / max(W)`, which orders neighbors but has no unit; as many in
    every row, at most `most`.

    Examples
    --------
    >>> D = strongest_dissimilarities(np.array([[0, 2, 1], [2, 0, 4], [1, 4, 0.0]]), 1)
    >>> D.indices, D.data
    (array([1, 2, 1], dtype=int32), array([0.5, 0. , 0. ]))
    """
    W = csr_matrix(W, copy=True)
    W.setdiag(0)
    W.eliminate_zeros()
    n, degrees = W.shape[0], np.diff(W.indptr)
    k = int(min(most, degrees.min()))
    order = np.lexsort((-W.data, np.repeat(np.arange(n), degrees)))
    strongest = order[W.indptr[:-1, None] + np.arange(k)]
    return _same_number(W.indices[strongest], 1 - W.data[strongest] / W.data.max(initial=0.0))


def _same_number(columns: Any, values: Any) -> csr_matrix:
    """The sparse matrix that has these (n, k) values in these columns of its rows."""
    n, k = columns.shape
    order = np.argsort(columns, axis=1)
    columns, values = (np.take_along_axis(a, order, axis=1).ravel() for a in (columns, values))
    return csr_matrix(compressed(np.full(n, k), columns, values, n))
