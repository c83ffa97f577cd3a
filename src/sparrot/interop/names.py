"""What the points of a file are called, so that results can say it too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sparrot.errors import InvalidInputError
from sparrot.extras import load_extra
from sparrot.interop.text import read_row_names


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
    reader = _READERS.get(suffixes[-1] if suffixes else "")
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


_READERS: dict[str, Callable[[Path], list[str] | None]] = {
    ".csv": lambda source: read_row_names(source, ","),
    ".tsv": lambda source: read_row_names(source, "\t"),
    ".parquet": _of_parquet,
    ".h5ad": _of_cells,
}
