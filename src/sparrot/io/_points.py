"""Read points from files, one row a point, and the names of the rows.

`_FORMATS` lists the endings and who reads them: to add a format, write a module with a
`read_matrix` (and a `read_names`, if its rows can have names) and add a line.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparrot._validation import as_array
from sparrot.errors import InvalidInputError, MissingDataError
from sparrot.io import _h5ad, _matrix_market, _npz, _parquet, _text

_log = logging.getLogger(__name__)


def read_points(path: str | os.PathLike[str], *, array: str | None = None) -> Any:
    """Read points from a file, in the format that its ending names.

    Parameters
    ----------
    path : one of

        * `.npy`: a matrix;
        * `.npz`: the matrix called `array`; without a name `X`, or the only matrix. A sparse matrix
          of `scipy.sparse.save_npz`, in any of its formats, is read as such;
        * `.csv`, `.tsv`, or either with `.gz`: numbers, with or without a header and a first
          column of row names. The first column is row names if it is not numbers, or if the header
          has no name for it. A first line 0, 1, 2, ... is a header;
        * `.parquet`: all columns but the index must be numbers (extra `parquet`);
        * `.h5ad`: `X`, or what `array` names: `"obsm/X_pca"`, `"layers/counts"` (extra `scanpy`);
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
    chosen = _FORMATS.get(_ending(source))
    if chosen is None:
        raise InvalidInputError(
            f"points are read from {' '.join(_FORMATS)} files, got {str(source)!r}",
            remedy=["write them to one of these", "pass an array to {sparrot.qot}"],
        )
    if not source.is_file():
        raise MissingDataError(f"there is no file {source}", remedy="check the path")
    if array is None:
        points = chosen.read_matrix(source)
    elif chosen.several:
        points = chosen.read_matrix(source, array)
    else:
        several = " and ".join(ending for ending, each in _FORMATS.items() if each.several)
        raise InvalidInputError(
            f"is for {several} files, got {str(source)!r}", parameter="array", value=array
        )
    if points.ndim != 2 or points.dtype.kind not in "buif":
        raise InvalidInputError(
            f"points must be a matrix of numbers, one row a point, but {source} has shape "
            f"{points.shape} of {points.dtype}",
            remedy="write one row a point, with numbers only",
        )
    return csr_array(points) if issparse(points) else points


def read_names(path: str | os.PathLike[str]) -> list[str] | None:
    """The names of the rows of a file; None if it has none, or if they just count 0, 1, 2, ...

    Parameters
    ----------
    path : in text files the first column, where `read_points` takes it for names; in `.parquet`
        files the index, in `.h5ad` files the names of the cells. Others have no names.

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
    chosen = _FORMATS.get(_ending(source))
    names = None if chosen is None or chosen.read_names is None else chosen.read_names(source)
    return None if names is None or names == [str(k) for k in range(len(names))] else names


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
    bad = np.count_nonzero(~np.isfinite(points.data))
    if bad:
        raise InvalidInputError(
            f"{source} has {bad} entries that are not finite", remedy="drop or impute them"
        )
    return points


def _read_npy(source: Path) -> Any:
    try:
        return np.load(source, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidInputError(
            f"{source} is not a whole .npy file of numbers ({error})", remedy="write it anew"
        ) from error


@dataclass(frozen=True, slots=True)
class _Format:
    """Who reads a format, and whether a file holds several matrices, of which one is chosen."""

    read_matrix: Callable[..., Any]
    read_names: Callable[[Path], list[str] | None] | None = None
    several: bool = False


_TEXT = _Format(_text.read_matrix, _text.read_names)
_FORMATS = {
    ".npy": _Format(_read_npy),
    ".npz": _Format(_npz.read_matrix, several=True),
    ".csv": _TEXT,
    ".tsv": _TEXT,
    ".csv.gz": _TEXT,
    ".tsv.gz": _TEXT,
    ".parquet": _Format(_parquet.read_matrix, _parquet.read_names),
    ".h5ad": _Format(_h5ad.read_matrix, _h5ad.read_names, several=True),
    ".mtx": _Format(_matrix_market.read_matrix),
    ".mtx.gz": _Format(_matrix_market.read_matrix),
}
