"""Points and names of rows from files, and tables into them, in the format of the ending."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparrot._validation import as_array, as_flag, as_path, as_word
from sparrot.errors import AffinityWarning, InvalidInputError, counted, literal
from sparrot.io._formats import (
    FORMATS,
    Format,
    ending,
    formats_holding,
    formats_taking,
    require_file,
)

LOG = logging.getLogger(__name__)
_NAMED = 5  # columns, at most, in an error


def read_points(
    path: str | os.PathLike[str],
    *,
    array: str | None = None,
    header: bool | None = None,
    names: bool | None = None,
    label: str | None = None,
    without: str | Sequence[str] | None = None,
) -> Any:
    """Read points from a file, in the format that its ending names.

    Parameters
    ----------
    path : one of

        * `.npy`: a matrix;
        * `.npz`: the matrix called `array`; without a name `X`, or the only matrix. A sparse matrix
          of `scipy.sparse.save_npz`, in any of its formats, is read as such;
        * `.csv`, `.tsv`, or either with `.gz`: numbers, with or without a header and a first
          column of row names; further columns of text are left out, with a warning. The first
          line is a header if it has words above numbers, or just counts 0, 1, 2, ...; the first
          column is row names if it has words (unless these are few and repeat, as labels do), or
          if the header has no name for it. A warning says where that is in doubt. Comments on top,
          which begin with #, and columns at the end without name and content do not count;
        * `.parquet`: all columns of numbers but the index (extra `parquet`); truth values and
          categories of pandas, also of numbers, are left out as text is;
        * `.h5ad`: what `array` names: `"X"`, `"obsm/X_pca"`, `"layers/counts"`; without a name `X`
          if it has at most 50 columns, else `obsm/X_pca`; where that is missing all of `X`, of
          which `sparrot.sc.neighbors` and scanpy would take principal components (extra `scanpy`);
        * `.mtx` or `.mtx.gz`: a sparse matrix as it is; files of 10x Genomics have cells in
          columns, transpose those.
    array : which matrix, for `.npz` and `.h5ad`.
    header, names : for text: whether the first line is a header, and the first column row names;
        found out from all of the file if not given.
    label : for tables: a column of labels, which is no part of the points.
    without : for tables: other columns that are no part of the points, by name.

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
    source = as_path(path)
    given = {"header": header, "names": names, "label": label, "without": as_columns(without)}
    points = _finite(read_matrix(source, array, **given), source, given)
    LOG.info("read %d points with %d features from %s", *points.shape, source)
    return points


def as_columns(without: Any) -> list[str] | None:
    """The names of columns, from one of them or several; None for none.

    Examples
    --------
    >>> as_columns("day"), as_columns(("day", "batch")), as_columns([])
    (['day'], ['day', 'batch'], None)
    """
    if without is None or isinstance(without, str):
        return None if without is None else [without]
    if not isinstance(without, (list, tuple)) or not all(isinstance(k, str) for k in without):
        raise InvalidInputError(
            f"must be the name of a column or a list of names, got {without!r}",
            parameter="without",
            value=without,
        )
    return list(without) or None


def read_matrix(source: Path, array: str | None = None, **text: Any) -> Any:
    """The same, but its entries need not be finite.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npy"
    >>> np.save(path, [[1.0, np.nan]])
    >>> read_matrix(path)
    array([[ 1., nan]])
    """
    chosen = _format_of(source)
    points = chosen.load().read_matrix(source, **_given({"array": array} | text, chosen, source))
    if points.ndim != 2 or points.dtype.kind not in "buif":
        raise InvalidInputError(
            f"{source} must hold a matrix of numbers, one row per point, but has shape "
            f"{points.shape} of {points.dtype}",
            parameter="path",
            value=source,
            remedy="write one row per point, with numbers only",
        )
    return csr_array(points) if issparse(points) else points


def read_names(path: str | os.PathLike[str], **text: bool | None) -> list[str] | None:
    """The names of the rows of a file; None if it has none, or if they just count 0, 1, 2, ...

    Parameters
    ----------
    path : in text files the first column, where `read_points` takes it for names; in `.parquet`
        files the index, in `.h5ad` files the names of the cells, in `.npz` files the words in
        the array `names`. Others have no names.
    **text : `header` and `names` of text files, as for `read_points`.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/cells.csv"
    >>> with open(path, "w") as file:
    ...     _ = file.write("cell,height,width\\na,1,2\\nb,3,4\\n")
    >>> read_names(path)
    ['a', 'b']
    """
    source = as_path(path)
    chosen = FORMATS.get(ending(source))
    if chosen is None or not chosen.names:
        return None
    names = chosen.load().read_names(source, **_given(text, chosen, source))
    return None if names is None or names == [str(k) for k in range(len(names))] else names


def list_columns(source: Path, **text: bool | None) -> dict[str, list[str]] | None:
    """The columns of a table by what they hold; None if the format has no columns.

    These are `numbers`, `words`, nothing (`empty`), and `names` of rows.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cells.csv"
    >>> _ = path.write_text("cell,height,kind\\na,1,x\\nb,3,x\\n")
    >>> list_columns(path)
    {'numbers': ['height'], 'words': ['kind'], 'empty': [], 'names': ['cell']}
    """
    chosen = _format_of(source)
    if "without" not in chosen.options:
        return None
    columns: dict[str, list[str]] = chosen.load().list_columns(
        source, **_given(text, chosen, source)
    )
    return columns


def _format_of(source: Path) -> Format:
    """The format of a file that is there."""
    require_file(source)
    if ending(source) not in FORMATS:
        raise InvalidInputError(
            f"must end in {', '.join(FORMATS)} for points, got {str(source)!r}",
            parameter="path",
            value=source,
            remedy=["write them to one of these", "pass an array to {sparrot.qot}"],
        )
    return FORMATS[ending(source)]


def read_labels(
    path: str | os.PathLike[str],
    label: str,
    *,
    header: bool | None = None,
    names: bool | None = None,
) -> Any:
    """Read the labels of points from a file.

    Parameters
    ----------
    path : a table, `.csv`, `.tsv` or `.parquet`, or `.h5ad`.
    label : the name of a column, in `.h5ad` of `obs`.
    header, names : for text, as for `sparrot.read_points`.

    Returns
    -------
    array or Series
        Of `.h5ad` files the column of `obs` as it is. A column of text is an array of integers or
        floats if all of its fields are numbers; it stays text where one is written as a number is
        not, as in 01.

    Examples
    --------
    >>> import sparrot, tempfile
    >>> path = tempfile.mkdtemp() + "/cells.csv"
    >>> with open(path, "w") as file:
    ...     _ = file.write("height,kind,day\\n1,a,3\\n3,b,4\\n")
    >>> sparrot.read_labels(path, "kind"), sparrot.read_labels(path, "day")
    (array(['a', 'b'], dtype='<U1'), array([3, 4]))
    """
    source = as_path(path)
    chosen = _format_of(source)
    asked = {"label": as_word(label, "label"), "header": header, "names": names}
    given = _given(asked, chosen, source)
    return chosen.load().read_column(source, **given)


def _given(options: Mapping[str, Any], chosen: Format, source: Path) -> dict[str, Any]:
    """The options that were given; raises if they are not for this format."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name != "without":  # `as_columns` has looked at it
            (as_flag if name in ("header", "names") else as_word)(value, name)
        if name not in chosen.options:
            raise InvalidInputError(
                f"is for {' and '.join(formats_taking(name))} files, "
                f"and the file is {str(source)!r}",
                parameter=name,
                value=value,
                remedy="leave it out",
            )
    return given


def _finite(points: Any, source: Path, given: Mapping[str, Any]) -> Any:
    """Finite numbers of float32 or float64; in a table, what is not is named by its column."""
    if not issparse(points):
        if "label" in FORMATS[ending(source)].options and ending(source) != ".h5ad":
            _require_finite_table(points, source, given)
        return as_array(points, str(source))
    dtype = np.float32 if points.dtype == np.float32 else np.float64
    points = csr_array(points, dtype=dtype)
    bad = int(np.count_nonzero(~np.isfinite(points.data)))
    if bad:
        raise InvalidInputError(
            f"{source} has {counted(bad, 'non-finite entry', 'non-finite entries')}",
            parameter="path",
            value=source,
            remedy="drop or impute them",
        )
    return points


def _require_finite_table(X: Any, source: Path, given: Mapping[str, Any]) -> None:
    """Raise for a table with missing or infinite numbers, and say where the first of them is."""
    bad = np.argwhere(~np.isfinite(X))
    if not len(bad):
        return
    i, j = bad[0]
    chosen = FORMATS[ending(source)]
    options = _given(given, chosen, source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AffinityWarning)  # they were given when X was read
        names = chosen.load().read_columns(source, **options)
        where = chosen.load().whereabouts(source, int(i), **options)
    what = "no number" if np.isnan(X[i, j]) else "an infinite number"
    columns = [names[k] for k in np.unique(bad[:, 1])]
    listed = ", ".join(map(repr, columns[:_NAMED])) + (", ..." if len(columns) > _NAMED else "")
    spread = f" in {len(columns)} columns ({listed})" if len(columns) > 1 else ""
    raise InvalidInputError(
        f"{source} has {what} in column {names[j]!r} {where}, "
        f"{counted(len(bad), 'such entry', 'such entries')} in all{spread}",
        parameter="path",
        value=source,
        remedy=[
            "drop or impute them",
            f"leave that column out by {{without={literal(repr(names[j]))}}}",
        ],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns with names, and where they belong in an AnnData.

    Attributes
    ----------
    columns : (n,) numbers each, by name.
    place : as in `"obsm/X_tsne"` or `"obs/cluster"`; the last part names the array in a `.npz`.
        Without a place the rows are not points, and each column is an array of its own there.
    names : of the points, if they have any: a first column without a heading.

    Examples
    --------
    >>> Table({"x": [1, 2], "y": [3, 4]}, "obsm/X_map").values
    array([[1, 3],
           [2, 4]])
    """

    columns: Mapping[str, Any]
    place: str = ""
    names: Sequence[str] | None = None

    @property
    def values(self) -> Any:
        """All columns as a matrix, or a column of obs as it is."""
        if self.place.startswith("obs/"):
            return np.asarray(*self.columns.values())
        return np.column_stack(list(self.columns.values()))


def write_table(table: Table, target: Path) -> None:
    """Write a table in the format that the ending names; a `.h5ad` file must be there already.

    A failure may leave half of it: give a path of `whole_file`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> write_table(Table({"x": [1, 2]}, names=["a", "b"]), path)
    >>> path.read_text()
    ',x\\na,1\\nb,2\\n'
    """
    if ending(target) not in formats_holding("table"):
        raise InvalidInputError(
            f"cannot hold a table, got {str(target)!r}",
            parameter="path",
            value=target,
            remedy=f"take a file that ends in {', '.join(formats_holding('table'))}",
        )
    FORMATS[ending(target)].load().write_table(table, target)
