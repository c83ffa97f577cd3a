"""Read points from files: one row a point, one column a feature.

What the points of a file are called, so that results can say it too.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, load_npz

from sparrot._extras import load_extra
from sparrot._validation import as_array
from sparrot.errors import InvalidInputError
from sparrot.io._archive import holds_affinity, open_npz
from sparrot.io._market import read_market
from sparrot.io._text import read_row_names, read_text

_log = logging.getLogger(__name__)
_SCIPY = {"format", "shape", "data"}  # in every file of scipy.sparse.save_npz
_CSR = {"data", "indices", "indptr", "shape"}  # the same matrix by other hands


def read_points(path: str | os.PathLike[str], *, array: str | None = None) -> Any:
    """Read points from a file, chosen by its ending.

    Parameters
    ----------
    path : one of

        * `.npy`: a matrix;
        * `.npz`: the matrix called `array`; without a name `X`, or the only matrix. A sparse matrix
          of `scipy.sparse.save_npz`, of whatever format, is read as such;
        * `.csv`, `.tsv`, or either with `.gz`: numbers, with or without a header and a first
          column of row names. A first column is row names if it is not numbers, or if the header
          has no name for it. A first line 0, 1, 2, ... is a header;
        * `.parquet`: all columns but the index must be numbers (extra `parquet`);
        * `.h5ad`: `X`, or what `array` says: `"obsm/X_pca"`, `"layers/counts"` (extra `scanpy`);
        * `.mtx` or `.mtx.gz`: a sparse matrix as it is; files of 10x Genomics have cells in
          columns, transpose those.
    array : which matrix, for `.npz` and `.h5ad`.

    Returns
    -------
    array or csr_array
        Of float32 or float64, finite; sparse where the file is sparse. Every affinity takes either.

    Examples
    --------
    >>> import sparrot, tempfile
    >>> path = tempfile.mkdtemp() + "/cells.csv"
    >>> with open(path, "w") as file:
    ...     _ = file.write("cell,height,width\\na,1,2\\nb,3,4\\n")
    >>> sparrot.read_points(path)
    array([[1., 2.],
           [3., 4.]])
    """
    source = Path(path)
    points = _finite(read_matrix(source, array), source)
    _log.info("read %d points with %d features from %s", *points.shape, source)
    return points


def read_matrix(source: Path, array: str | None = None) -> Any:
    """The same, but its entries need not be finite.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npy"
    >>> np.save(path, [[1.0, np.nan]])
    >>> read_matrix(path)
    array([[ 1., nan]])
    """
    reader = _READERS.get(_ending(source))
    if reader is None:
        raise InvalidInputError(
            f"points are read from {' '.join(_READERS)} files, got {str(source)!r}; anything else "
            "can be passed as an array"
        )
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    if array is not None and _ending(source) not in (".npz", ".h5ad"):
        raise InvalidInputError(f"array= is for .npz and .h5ad files, got {str(source)!r}")
    points = reader(source, array)
    if points.ndim != 2 or points.dtype.kind not in "buif":
        raise InvalidInputError(
            f"points must be a matrix of numbers, one row a point, but {source} has shape "
            f"{points.shape} of {points.dtype}"
        )
    return csr_array(points) if issparse(points) else points


def _ending(source: Path) -> str:
    """The suffix in small letters, with the one before `.gz`."""
    suffixes = [suffix.lower() for suffix in source.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def _finite(points: Any, source: Path) -> Any:
    """Finite numbers of float32 or float64."""
    if not issparse(points):
        return as_array(points, str(source))
    dtype = np.float32 if points.dtype == np.float32 else np.float64
    points = csr_array(points, dtype=dtype)
    bad = np.flatnonzero(~np.isfinite(points.data))
    if len(bad):
        raise InvalidInputError(
            f"{source} has {len(bad)} entries that are not finite; drop or impute them"
        )
    return points


def _read_npy(source: Path, array: str | None) -> Any:
    try:
        return np.load(source, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidInputError(
            f"{source} is not a whole .npy file of numbers ({error})"
        ) from error


def _read_npz(source: Path, array: str | None) -> Any:
    if holds_affinity(source):
        raise InvalidInputError(f"{source} is an affinity; sparrot.load reads it")
    with open_npz(source) as file:
        if array is None and set(file.files) >= _SCIPY:
            return _sound(load_npz(source))
        if array is None and set(file.files) >= _CSR:
            parts = file["data"], file["indices"], file["indptr"]
            return _sound(csr_array(parts, shape=tuple(file["shape"])))
        return file[_name_in(file, source, array)]


def _sound(matrix: Any) -> Any:
    """A sparse matrix whose indices are within its shape; a ValueError if they are not."""
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


def _name_in(file: Any, source: Path, array: str | None) -> str:
    """The array that was asked for; else X, or the only matrix."""
    shapes = {name: np.shape(file[name]) for name in file.files}
    if array is None:
        matrices = [name for name, shape in shapes.items() if len(shape) == 2]
        array = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if array is None or array not in shapes:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        asked = f"which array of {source}?" if array is None else f"{source} has no {array!r}."
        raise InvalidInputError(f"{asked} It has {found or 'none'}; name a matrix by array=")
    return array


def _read_parquet(source: Path, array: str | None) -> Any:
    parquet = load_extra("pyarrow.parquet", "parquet")
    try:
        table = parquet.read_table(source)
    except (OSError, ValueError) as error:  # pyarrow's own errors are among them
        raise InvalidInputError(f"{source} is not a whole .parquet file ({error})") from error
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    table = table.drop_columns([name for name in index if isinstance(name, str)])
    columns = {name: table[name].to_numpy() for name in table.column_names}
    words = [name for name, column in columns.items() if column.dtype.kind not in "buif"]
    if words or not columns:
        raise InvalidInputError(
            f"all columns of {source} must be numbers, but {', '.join(words) or 'there are none'}"
            f"{' is not' if len(words) == 1 else ' are not' if words else ''}; drop what is no "
            "feature"
        )
    return np.column_stack(list(columns.values()))


def _read_h5ad(source: Path, array: str | None) -> Any:
    io, h5py = load_extra("anndata.io", "scanpy"), load_extra("h5py", "scanpy")
    try:
        with h5py.File(source, "r") as file:
            place = "X" if array is None else array
            if place not in file:
                raise InvalidInputError(f"{source} has no {place!r}; {_places(file)}")
            points = io.read_elem(file[place])
            if not hasattr(points, "shape"):
                raise InvalidInputError(f"{place!r} of {source} is no matrix; {_places(file)}")
            return points.to_numpy() if hasattr(points, "to_numpy") else points
    except OSError as error:
        raise InvalidInputError(f"{source} is not a whole .h5ad file ({error})") from error


def _places(file: Any) -> str:
    found = [f"{part}/{name}" for part in ("obsm", "layers") for name in file.get(part, ())]
    return f"array= may be {', '.join(['X', *found])}"


_READERS: dict[str, Callable[[Path, str | None], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": lambda source, array: read_text(source, ","),
    ".tsv": lambda source, array: read_text(source, "\t"),
    ".csv.gz": lambda source, array: read_text(source, ","),
    ".tsv.gz": lambda source, array: read_text(source, "\t"),
    ".parquet": _read_parquet,
    ".h5ad": _read_h5ad,
    ".mtx": lambda source, array: read_market(source),
    ".mtx.gz": lambda source, array: read_market(source),
}


def read_names(path: str | os.PathLike[str]) -> list[str] | None:
    """The names of the rows of a file, or None if it has none or they just count 0, 1, 2, ...

    Parameters
    ----------
    path : of text its first column, where `read_points` takes that for names; of `.parquet` the
        index, of `.h5ad` the names of the cells. Other kinds have no names.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/cells.csv"
    >>> with open(path, "w") as file:
    ...     _ = file.write("cell,height,width\\na,1,2\\nb,3,4\\n")
    >>> read_names(path)
    ['a', 'b']
    """
    source = Path(path)
    suffixes = [suffix.lower() for suffix in source.suffixes if suffix.lower() != ".gz"]
    reader = _NAME_READERS.get(suffixes[-1] if suffixes else "")
    names = None if reader is None else reader(source)
    if names is None or names == [str(k) for k in range(len(names))]:
        return None
    return names


def _of_parquet(source: Path) -> list[str] | None:
    parquet = load_extra("pyarrow.parquet", "parquet")
    index = (parquet.read_schema(source).pandas_metadata or {}).get("index_columns", [])
    if len(index) != 1 or not isinstance(index[0], str):  # a range, or several levels
        return None
    return [str(name) for name in parquet.read_table(source, columns=index)[0].to_pylist()]


def _of_cells(source: Path) -> list[str]:
    io, h5py = load_extra("anndata.io", "scanpy"), load_extra("h5py", "scanpy")
    try:
        with h5py.File(source, "r") as file:
            return [str(name) for name in io.read_elem(file["obs"]).index]
    except (OSError, KeyError) as error:
        raise InvalidInputError(f"{source} is not a whole .h5ad file ({error})") from error


_NAME_READERS: dict[str, Callable[[Path], list[str] | None]] = {
    ".csv": lambda source: read_row_names(source, ","),
    ".tsv": lambda source: read_row_names(source, "\t"),
    ".parquet": _of_parquet,
    ".h5ad": _of_cells,
}
