"""Files of AnnData (`.h5ad`): this module alone opens them, for the whole package.

An `.h5ad` file is HDF5 with a group for each part of an AnnData. Only the parts that are asked for
are read, and only those that change are written. `sparrot.io._anndata` knows where a graph is.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparrot._files import whole_file
from sparrot._validation import as_array, as_points, refuse_broken
from sparrot.affinity import Affinity, distance_named, kinds, resume
from sparrot.errors import InvalidInputError, counted, load_extra
from sparrot.io._anndata import (
    RECORD,
    SCANPY_NEIGHBORS,
    SCANPY_WIDE,
    get_affinity,
    graph_keys,
    nearest_distances,
    put_graph,
    strongest_dissimilarities,
)
from sparrot.io._formats import require_file

if TYPE_CHECKING:
    from sparrot.io._points import Table

_TABLES = 1 << 21  # bytes that HDF5 writes of its own at once, at most


@contextmanager
def open_h5ad(source: Path) -> Iterator[Any]:
    """The groups of an `.h5ad` file, to be read; anything broken in it is an `InvalidInputError`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.h5ad"
    >>> write_new_anndata(path, ["a", "b"])
    >>> with open_h5ad(path) as file:
    ...     "obs" in file
    True
    """
    load_extra("anndata", "scanpy")
    with open_hdf5(source, "a whole .h5ad file") as file:
        yield file


@contextmanager
def open_hdf5(source: Path, what: str) -> Iterator[Any]:
    """The same for any HDF5 file; `what` it should be is for the error."""
    h5py = load_extra("h5py", "scanpy")
    require_file(source)
    with refuse_broken(source, what), h5py.File(source, "r") as file:
        yield file


# Points


def read_matrix(source: Path, array: str | None = None, label: str | None = None) -> Any:
    """The matrix at a place such as `"obsm/X_pca"`, or at the default one.

    Columns of a table become a matrix. The labels are in obs, and no points.
    """
    if label is not None:
        read_column(source, label)
    with open_h5ad(source) as file:
        place = _default_array(file) if array is None else array
        points: Any = _read(file[place]) if place in file else None
        if not hasattr(points, "shape"):
            found = ", ".join(_arrays(file)) or "no matrix"
            raise InvalidInputError(
                f"must name a matrix of {source}, which has {found}; {place!r} is "
                f"{'none' if place in file else 'not there'}",
                parameter="array",
                value=array,
                remedy="name one of these",
            )
        return points.to_numpy() if hasattr(points, "to_numpy") else points


def read_column(source: Path, label: str) -> Any:
    """The column of labels in obs."""
    obs = read_obs(source)
    if label not in obs.columns:
        raise InvalidInputError(
            f"must be a column of obs in {source}, which has "
            f"{', '.join(map(repr, obs.columns)) or 'none'}, got {label!r}",
            parameter="label",
            value=label,
        )
    return obs[label]


def default_array(source: Path) -> str:
    """Where the points of a file are if nobody says.

    X if it has at most 50 columns; else `obsm/X_pca`, if that is there.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.h5ad"
    >>> write_new_anndata(path, ["a", "b"])
    >>> write_parts(path, {"obsm/X_pca": np.eye(2), "X": np.ones((2, 51))})
    >>> default_array(path)
    'obsm/X_pca'
    """
    with open_h5ad(source) as file:
        return _default_array(file)


def _default_array(file: Any) -> str:
    if "obsm/X_pca" not in file:
        return "X"
    X = file.get("X")
    shape = () if X is None else tuple(X.attrs.get("shape", getattr(X, "shape", ())))
    return "X" if len(shape) == 2 and shape[1] <= SCANPY_WIDE else "obsm/X_pca"


def list_arrays(source: Path) -> list[str]:
    """Where a file may have points: X, and the keys of obsm and layers, as in `"obsm/X_pca"`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.h5ad"
    >>> write_new_anndata(path, ["a", "b"])
    >>> write_parts(path, {"obsm/X_pca": np.eye(2)})
    >>> list_arrays(path)
    ['obsm/X_pca']
    """
    with open_h5ad(source) as file:
        return _arrays(file)


def _arrays(file: Any) -> list[str]:
    found = [f"{part}/{name}" for part in ("obsm", "layers") for name in file.get(part, ())]
    return [*(["X"] if "X" in file else []), *found]


def _read(element: Any) -> Any:
    """A part of a file; a sparse matrix in it has its indices within its shape."""
    part = load_extra("anndata.io", "scanpy").read_elem(element)
    for matrix in part.values() if isinstance(part, dict) else (part,):
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    return part


# Cells


def read_obs(source: Path) -> Any:
    """The data frame `obs`, one row per cell; its index has the names of the cells.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.h5ad"
    >>> write_new_anndata(path, ["a", "b"])
    >>> read_obs(path).index.tolist()
    ['a', 'b']
    """
    with open_h5ad(source) as file:
        return _read(file["obs"])


def read_names(source: Path) -> list[str]:
    """The names of the cells."""
    return [str(name) for name in read_obs(source).index]


def read_annotations(source: Path) -> tuple[Any, dict[str, Any]]:
    """The data frame `obs` of the cells, and their layouts: entries of obsm with two columns."""
    anndata = load_extra("anndata", "scanpy")
    with open_h5ad(source):
        adata = anndata.read_h5ad(source, backed="r")
        try:
            flat = [key for key, Y in adata.obsm.items() if getattr(Y, "shape", ())[1:] == (2,)]
            return adata.obs, {key: np.asarray(adata.obsm[key]) for key in flat}
        finally:
            adata.file.close()


def read_anndata(source: Path) -> Any:
    """Everything, as an AnnData in memory."""
    anndata = load_extra("anndata", "scanpy")
    with open_h5ad(source):
        return anndata.read_h5ad(source)


def write_new_anndata(target: Path, names: Iterable[str]) -> None:
    """A new file of cells with these names, and nothing else."""
    _write_anndata(target, _without_data(names))


def write_table(table: Table, target: Path) -> None:
    """Add a table to the cells of a file that exists: a column of `obs`, or an entry of `obsm`."""
    values = table.values
    require_cells(target, len(values))
    part, _, name = table.place.partition("/")
    if part == "obs":
        obs = read_obs(target)
        obs[name] = load_extra("pandas", "scanpy").Categorical(values.astype(str))
        write_parts(target, {"obs": obs})
    else:
        write_parts(target, {table.place: values})


def require_cells(target: Path, n: int, parameter: str = "path") -> None:
    """Raise if a file has not as many cells as there are points."""
    cells = len(read_obs(target))
    if cells != n:
        raise InvalidInputError(
            f"{target} has {counted(cells, 'cell')}, and there are {counted(n, 'point')}",
            parameter=parameter,
            value=target,
            remedy=["give the points of these cells", "name a new file"],
        )


def write_parts(target: Path, parts: Mapping[str, Any]) -> None:
    """Write elements such as `"obs"` or `"obsm/X_pca"` into a file that exists.

    A failure may leave half of them: give a copy (see `whole_file`).
    """
    with _writing(target, "r+") as file:
        for place, value in parts.items():
            part, _, name = place.rpartition("/")  # AnnData from 0.13 on refuses a path for a key
            group = file.require_group(part) if part else file
            load_extra("anndata.io", "scanpy").write_elem(group, name, value)


def _write_anndata(target: Path, adata: Any) -> None:
    with _writing(target, "w") as file:
        load_extra("anndata.io", "scanpy").write_elem(file, "/", adata)


@contextmanager
def _writing(target: Path, mode: str) -> Iterator[Any]:
    """An `.h5ad` file to write to; a full disk is an `OSError`.

    HDF5 does not survive a write that fails: it may end the process at its next step. So it gets a
    stream whose writes never fail, which remembers what happened.
    """
    h5py = load_extra("h5py", "scanpy")
    with target.open("w+b" if mode == "w" else "r+b", buffering=0) as raw:
        stream = _UnfailingStream(raw)
        try:
            with h5py.File(stream, mode) as file:
                yield file
        except Exception:
            if stream.error is None:
                raise
        if stream.error is not None:
            raise stream.error


class _UnfailingStream(RawIOBase):
    """A file as h5py wants it, whose first error is kept.

    After it nothing is written; but HDF5 must find its own tables again, so that what is not large
    is kept in memory.
    """

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._place = 0
        self._kept: list[tuple[int, bytes]] = []
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write; say that all was written."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            self._file.seek(self._place)
            while self.error is None and left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.error = error
        if self.error is not None and size <= _TABLES:
            self._kept.append((self._place, bytes(data)))
        self._place += size
        return size

    def readinto(self, buffer: Any) -> int:
        """Read; zeros after the end, for h5py does not look how much it got."""
        found = memoryview(buffer).cast("B")
        size = len(found)
        found[:] = bytes(size)
        self._file.seek(self._place)
        self._file.readinto(found)
        for start, data in self._kept:
            first, last = max(start, self._place), min(start + len(data), self._place + size)
            if first < last:
                found[first - self._place : last - self._place] = data[first - start : last - start]
        self._place += size
        return size

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file; say that it has it."""
        try:
            if self.error is None:
                self._file.truncate(size)
        except OSError as error:
            self.error = error
        return size or 0

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        self._place = offset if whence == 0 else self._file.seek(offset, whence)
        return self._place

    def tell(self) -> int:
        """The place."""
        return self._place


def _without_data(names: Iterable[str]) -> Any:
    anndata, pandas = load_extra("anndata", "scanpy"), load_extra("pandas", "scanpy")
    return anndata.AnnData(obs=pandas.DataFrame(index=list(names)))


# Affinities


def list_affinities(source: Path) -> list[str]:
    """The keys of `uns` under which sparrot wrote an affinity."""
    with open_h5ad(source) as file:
        entries = file.get("uns", {}).items()
        return [key for key, entry in entries if hasattr(entry, "keys") and RECORD in entry]


def holds_affinity(source: Path) -> bool:
    """Whether a file has affinities, and no points."""
    return bool(list_affinities(source)) and "X" not in list_arrays(source)


def read_graphs(source: Path) -> Any:
    """An AnnData with the `obs`, `obsp` and `uns` of a file: all its graphs, and no data."""
    anndata = load_extra("anndata", "scanpy")
    with open_h5ad(source) as file:
        return anndata.AnnData(**{part: _read(file[part]) for part in ("obs", "obsp", "uns")})


def read_affinity(source: Path, key: str | None) -> Affinity:
    """The affinity under a key of `uns`, or the only one."""
    return get_affinity(read_graphs(source), key, str(source))


def write_affinity(affinity: Affinity, target: Path, key: str, use_rep: str | None) -> None:
    """Add an affinity to a file, or to a new one, whole or not at all."""
    n, new = affinity.matrix.shape[0], not target.exists()
    adata = _without_data([str(k) for k in range(n)]) if new else read_graphs(target)
    keys = graph_keys(adata.uns, key, "key")
    if not new:
        require_cells(target, n)
    distances = _distances(affinity, target, use_rep)
    params = {"n_neighbors": int(distances.indptr[1]) + 1, "method": affinity.kind}
    params |= {"metric": distance_named(affinity.metric)}
    params |= {"use_rep": use_rep or "X"}  # without one, sc.tl.umap may run a PCA of its own
    put_graph(adata, affinity, distances, keys, params)
    with whole_file(target) as temporary:
        if new:
            _write_anndata(temporary, adata)
        else:
            shutil.copyfile(target, temporary)
            graph = {"obs": adata.obs, "obsp": dict(adata.obsp), f"uns/{key}": adata.uns[key]}
            write_parts(temporary, graph)


def _distances(affinity: Affinity, target: Path, use_rep: str | None) -> Any:
    """Of the nearest cells, if their representation is known; else of the strongest neighbors."""
    if use_rep is None or affinity.metric in ("precomputed", "kernel"):
        return strongest_dissimilarities(affinity.matrix, SCANPY_NEIGHBORS - 1)
    place = "X" if use_rep == "X" else f"obsm/{use_rep}"
    found = [name for name in list_arrays(target) if not name.startswith("layers/")]
    if place not in found:
        raise InvalidInputError(
            f"must be 'X' or a key of obsm, got {use_rep!r}, and {target} has "
            f"{', '.join(found) or 'neither'}",
            parameter="use_rep",
            value=use_rep,
            remedy="name one of these",
        )
    points = as_points(as_array(read_matrix(target, place), f"{place} of {target}"))
    if affinity.potential is not None and affinity.kind in kinds(transport=True):
        resume(affinity, points)  # raises if these are other points
    return nearest_distances(points, min(SCANPY_NEIGHBORS, len(points)) - 1, affinity.metric)
