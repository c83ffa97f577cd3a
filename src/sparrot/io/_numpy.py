"""Files of NumPy, without pickles: an array (`.npy`), or an archive of arrays by name (`.npz`).

An archive holds points, a sparse matrix or an affinity. An affinity is its record (see
`sparrot.affinity._record`), one array for each field, and beside it its matrix and potential, and
names of the points if they have any.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse, load_npz

from sparrot._files import digest, whole_file
from sparrot._validation import refuse_broken
from sparrot.affinity import Affinity, from_record, require_schema, to_record
from sparrot.errors import InvalidInputError
from sparrot.io._formats import ending, require_file

if TYPE_CHECKING:
    from sparrot.io._points import Table

_NAMES = "names"  # of the points: the name of the array
_SCIPY = {"format", "shape", "data"}  # in every file of scipy.sparse.save_npz
_CSR = {"data", "indices", "indptr", "shape"}  # the same matrix, written by others
_MATRIX = ("matrix_data", "matrix_indices", "matrix_indptr")  # of an affinity


@contextmanager
def open_npz(source: Path) -> Iterator[Any]:
    """The arrays of an `.npz` file by name; anything broken in it is an `InvalidInputError`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> np.savez(path, x=np.arange(3))
    >>> with open_npz(path) as file:
    ...     file["x"]
    array([0, 1, 2])
    """
    require_file(source)
    with refuse_broken(source, "a whole .npz file of plain arrays"):
        if not zipfile.is_zipfile(source):
            raise zipfile.BadZipFile("the directory of the archive is missing")
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            yield file


def read_matrix(source: Path, array: str | None = None) -> Any:
    """The array of `.npy`; else that called `array`, or a sparse matrix, X, or the only matrix."""
    if ending(source) == ".npy":
        with refuse_broken(source, "a whole .npy file of numbers"):
            return np.load(source, allow_pickle=False)
    if holds_affinity(source):
        raise InvalidInputError(
            f"{source} holds an affinity and no points",
            parameter="path",
            value=source,
            remedy="read it by {sparrot.load}",
        )
    with open_npz(source) as file:
        if array is None and set(file.files) >= _SCIPY:
            return _checked(load_npz(source))
        if array is None and set(file.files) >= _CSR:
            return read_csr(file)
        return file[_name_in(file, source, array)]


def read_names(source: Path) -> list[str] | None:
    """The words in the array `names`; None if there is no such array."""
    with open_npz(source) as file:
        names = file[_NAMES] if _NAMES in file.files else np.empty(0)
    return [str(name) for name in names] if names.ndim == 1 and names.dtype.kind == "U" else None


def write_table(table: Table, target: Path) -> None:
    """One matrix, and in an archive the names of its rows.

    If rows are no points, each column is an array of its own there.
    """
    if ending(target) == ".npy":
        with target.open("wb") as file:  # of which NumPy sees so little that it tells why it failed
            np.save(SimpleNamespace(write=file.write), table.values)
        return
    whole = {table.place.rpartition("/")[2]: table.values}
    np.savez(target, **(whole if table.place else table.columns), **_named(table.names))


def _named(names: Sequence[str] | None) -> dict[str, Any]:
    return {} if names is None else {_NAMES: np.array(names, dtype=np.str_)}


def read_csr(file: Any) -> csr_array:
    """A sparse matrix from its arrays `data`, `indices`, `indptr` and `shape`."""
    parts = file["data"], file["indices"], file["indptr"]
    return _checked(csr_array(parts, shape=tuple(map(int, file["shape"]))))


def _checked(matrix: Any) -> Any:
    """A sparse matrix whose indices are within its shape; a ValueError if they are not."""
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


def _name_in(file: Any, source: Path, array: str | None) -> str:
    shapes = {name: np.shape(file[name]) for name in file.files}
    if array is None:
        matrices = [name for name, shape in shapes.items() if len(shape) == 2]
        array = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if array is None or array not in shapes:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"
        raise InvalidInputError(
            f"must name a matrix of {source}, which has {found}; got {array!r}"
            if array is not None
            else f"is needed to choose a matrix of {source}, which has {found}",
            parameter="array",
            value=array,
            remedy="" if array is None else "name one of these",
        )
    return array


def holds_affinity(source: Path) -> bool:
    """Whether an `.npz` file is an affinity of `sparrot.save`."""
    with open_npz(source) as file:
        return {"schema", "mean_cost"} <= set(file.files)


def write_affinity(affinity: Affinity, target: Path, names: Sequence[str] | None = None) -> None:
    """Write an affinity, and names of its points if they have any, to a file, whole or not at all.

    Examples
    --------
    >>> import sparrot, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> write_affinity(sparrot.qot(np.eye(3)), path, ["a", "b", "c"])
    >>> read_names(path)
    ['a', 'b', 'c']
    """
    arrays, W = to_record(affinity) | _named(names), affinity.matrix
    if issparse(W):
        arrays |= dict(zip(_MATRIX, (W.data, W.indices, W.indptr), strict=True))
    else:
        arrays["matrix_dense"] = W
    if affinity.potential is not None:
        arrays["potential"] = affinity.potential
    with whole_file(target) as temporary:
        np.savez(temporary, digest=digest(arrays), **arrays)


def read_affinity(source: Path) -> Affinity:
    """The affinity that `write_affinity` wrote."""
    with open_npz(source) as file:
        arrays = {name: file[name] for name in file.files}
    found = str(arrays.pop("digest", ""))
    record = {name: array[()] for name, array in arrays.items()}
    require_schema(record, str(source))
    if found != digest(arrays):
        raise InvalidInputError(
            f"{source} was damaged or changed after it was saved", remedy="save the affinity anew"
        )
    potential = arrays.get("potential")
    return from_record(record, _affinity_matrix(arrays, source), potential, str(source))


def _affinity_matrix(arrays: dict[str, Any], source: Path) -> Any:
    if "schema" not in arrays or "matrix_dense" in arrays:
        return arrays.get("matrix_dense", np.empty((0, 0)))
    missing = [name for name in (*_MATRIX, "n") if name not in arrays]
    if missing:
        raise InvalidInputError(
            f"{source} lacks {', '.join(missing)}", remedy="save the affinity anew"
        )
    try:
        n = int(arrays["n"])
        return _checked(csr_array(tuple(arrays[name] for name in _MATRIX), shape=(n, n)))
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(
            f"the matrix of {source} is damaged ({error})", remedy="save the affinity anew"
        ) from error
