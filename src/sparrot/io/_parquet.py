"""Tables in `.parquet` files, by pyarrow: columns of numbers but the index are features."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparrot._validation import refuse_broken
from sparrot.errors import AffinityWarning, InvalidInputError, literal, load_extra, warn
from sparrot.io._text import counts_rows, features, is_symmetric, require_column

if TYPE_CHECKING:
    from sparrot.io._points import Table

_WHOLE = "a whole .parquet file"
_INDEX_NAMES = {"", "index", "unnamed: 0", "id", "__index_level_0__"}  # in small letters
_INDEX = {  # how pandas keeps an index without a name
    "name": None,
    "field_name": "__index_level_0__",
    "pandas_type": "unicode",
    "numpy_type": "object",
    "metadata": None,
}


def read_matrix(source: Path, *, label: str | None = None, without: Sequence[str] = ()) -> Any:
    """The columns of a table as a matrix, without the index of pandas, text and labels."""
    return _features(source, label, without)[0]


def read_columns(
    source: Path, *, label: str | None = None, without: Sequence[str] = ()
) -> list[str]:
    """The names of the columns of this matrix."""
    return _features(source, label, without)[1]


def whereabouts(source: Path, point: int, **_: Any) -> str:
    """Where a point is in the table, in words."""
    return f"at row {point} (counted from 0)"


def list_columns(source: Path) -> dict[str, list[str]]:
    """The columns by what they hold: numbers, something else, nothing, or the index."""
    columns, is_number = _columns(source)
    numbers = list(compress(columns, is_number))
    empty = [name for name in numbers if np.isnan(columns[name]).all()]
    return {
        "numbers": [name for name in numbers if name not in empty],
        "words": [name for name, number in zip(columns, is_number, strict=True) if not number],
        "empty": empty,
        "names": _index_columns(_read(source, columns=[]).schema),
    }


def _columns(source: Path) -> tuple[dict[str, Any], list[bool]]:
    """All columns but the index, and which are of numbers: truth values and categories are not."""
    with refuse_broken(source, _WHOLE):
        table = _read(source)
        index = _index_columns(table.schema)
        columns = {name: table[name].to_numpy() for name in table.column_names if name not in index}
        categories = _categories(table.schema)
    return columns, [
        column.dtype.kind in "uif" and name not in categories for name, column in columns.items()
    ]


def _features(source: Path, label: str | None, without: Sequence[str]) -> tuple[Any, list[str]]:
    """The columns of numbers, and their names."""
    columns, is_number = _columns(source)
    if not any(is_number):
        raise InvalidInputError(
            f"{source} must have columns of numbers, but has none",
            parameter="path",
            value=source,
            remedy="write numbers",
        )
    X = np.column_stack(list(compress(columns.values(), is_number)))
    filled = np.full((len(X), len(columns)), np.nan)
    filled[:, is_number] = X
    words = [k for k, number in enumerate(is_number) if not number]
    names = list(columns)
    kept = features(source, names, filled, words, label, without)
    is_index = names[0].lower() in _INDEX_NAMES and counts_rows(filled[:, 0])
    if is_index and len(kept) > 1 and kept[0] == 0 and not is_symmetric(filled[:, kept]):
        warn(
            AffinityWarning(
                f"{source}: the first column, {names[0]!r}, counts the rows, and was taken for a "
                "feature",
                remedy=f"leave it out by {{without={literal(repr(names[0]))}}} if it is an index",
            )
        )
    place = np.cumsum(is_number) - 1
    return X[:, [place[k] for k in kept]], [names[k] for k in kept]


def read_column(source: Path, label: str) -> Any:
    """The column of labels."""
    with refuse_broken(source, _WHOLE):
        table = _read(source)
    require_column(source, table.column_names, label)
    return table[label].to_numpy()


def read_names(source: Path) -> list[str] | None:
    """The index, if it is one column; None if it only counts, or has several levels."""
    with refuse_broken(source, _WHOLE):
        index = _index_columns(_read(source, columns=[]).schema)
        if len(index) != 1:
            return None
        return [str(name) for name in _read(source, columns=index)[0].to_pylist()]


def write_table(table: Table, target: Path) -> None:
    """The columns, and names of rows as an index of pandas."""
    parquet, arrow = load_extra("pyarrow.parquet", "parquet"), load_extra("pyarrow", "parquet")
    columns = {name: np.ascontiguousarray(column) for name, column in table.columns.items()}
    written = arrow.table(columns)
    if table.names is not None:
        written = written.append_column(_INDEX["field_name"], arrow.array(table.names))
        about = {"index_columns": [_INDEX["field_name"]], "columns": [_INDEX], "column_indexes": []}
        written = written.replace_schema_metadata({"pandas": json.dumps(about)})
    parquet.write_table(written, target)


def _read(source: Path, **options: Any) -> Any:
    return load_extra("pyarrow.parquet", "parquet").read_table(source, **options)


def _categories(schema: Any) -> set[str]:
    """The columns that pandas wrote as categories, which may come back as plain numbers."""
    about = (schema.pandas_metadata or {}).get("columns", [])
    return {each["field_name"] for each in about if each["pandas_type"] == "categorical"}


def _index_columns(schema: Any) -> list[str]:
    """The columns that pandas wrote for the index; an index that only counts has none."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in index if isinstance(name, str)]
