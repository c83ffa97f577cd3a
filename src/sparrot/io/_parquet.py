"""Tables in `.parquet` files, by pyarrow: all columns but the index are features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sparrot._extras import load_extra
from sparrot.errors import InvalidInputError


def read_matrix(source: Path) -> Any:
    """The columns of a table as a matrix, without those that pandas keeps as the index."""
    table = _read(source)
    columns = {
        name: table[name].to_numpy()
        for name in table.column_names
        if name not in _index_columns(table.schema)
    }
    words = [name for name, column in columns.items() if column.dtype.kind not in "buif"]
    if words or not columns:
        raise InvalidInputError(
            f"all columns of {source} must be numbers, but {', '.join(words) or 'there are none'}"
            f"{' is not' if len(words) == 1 else ' are not' if words else ''}",
            remedy="drop what is no feature",
        )
    return np.column_stack(list(columns.values()))


def read_names(source: Path) -> list[str] | None:
    """The index, if it is one column; None if it only counts, or has several levels."""
    index = _index_columns(_read(source, columns=[]).schema)
    if len(index) != 1:
        return None
    return [str(name) for name in _read(source, columns=index)[0].to_pylist()]


def _read(source: Path, **options: Any) -> Any:
    parquet = load_extra("pyarrow.parquet", "parquet")
    try:
        return parquet.read_table(source, **options)
    except (OSError, ValueError) as error:  # pyarrow's own errors are among them
        raise InvalidInputError(
            f"{source} is not a whole .parquet file ({error})", remedy="write it anew"
        ) from error


def _index_columns(schema: Any) -> list[str]:
    """The columns that pandas wrote for the index; an index that only counts has none."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in index if isinstance(name, str)]
