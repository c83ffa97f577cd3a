"""Columns of the user's table, as numbers or as categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparrot.errors import InvalidInputError
from sparrot.plot.labels import are_missing, as_categories, known_categories
from sparrot.report.encode import encode_array

_FEW = 30  # different integers; fewer are names of classes
_MANY = 1000  # different categories; more are no colours
_MISSING = 0xFFFF


def encode_columns(columns: Any, n: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The columns that can serve as colours, and a sentence about each that cannot.

    Numbers are numbers, but up to 30 different integers are categories; so is a categorical column,
    whatever is in it, and everything else by its text. More than 1,000 categories are no colours.

    Parameters
    ----------
    columns : a mapping from names to n entries, or a data frame.
    n : the number of points.

    Examples
    --------
    >>> encoded, notes = encode_columns({"kind": ["b", "a", None], "x": [0.5, 1.0, 2.0]}, 3)
    >>> [(column["name"], column["kind"]) for column in encoded], encoded[0]["categories"]
    ([('kind', 'categories'), ('x', 'numbers')], ['a', 'b'])
    """
    encoded, notes = [], []
    for name in columns if isinstance(columns, Mapping) else list(columns.columns):
        shape = np.shape(columns[name])
        if shape != (n,):
            raise InvalidInputError(
                f"column {str(name)!r} must have an entry for each of {n} points, got shape {shape}"
            )
        column = _encode(columns[name])
        if column is None:
            notes.append(f"column {name} has over {_MANY} different entries: no colour is offered")
        else:
            encoded.append({"name": str(name)} | column)
    return encoded, notes


def _encode(column: Any) -> dict[str, Any] | None:
    entries = np.asarray(column)
    if known_categories(column) is None and _are_numbers(column, entries):
        return {"kind": "numbers", "values": encode_array(_float32(entries), "f4")}
    names, codes = as_categories(column)
    if len(names) > _MANY:
        return None
    codes = np.where(codes < 0, _MISSING, codes)
    return {"kind": "categories", "categories": names, "codes": encode_array(codes, "u2")}


def _are_numbers(column: Any, entries: Any) -> bool:
    """Whether entries are numbers; columns of pandas with NA in them are objects to numpy."""
    kind = getattr(column, "dtype", entries.dtype).kind
    return kind == "f" or (kind in "iu" and len(set(entries[~are_missing(entries)])) > _FEW)


def _float32(entries: Any) -> Any:
    """Numbers beyond the range of float32 count as missing, as infinite ones do."""
    with np.errstate(over="ignore"):
        if entries.dtype == object:
            entries = np.where(are_missing(entries), np.nan, entries)
        return entries.astype(np.float32)
