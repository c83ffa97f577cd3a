"""Columns of the user's table, as numbers or as categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparrot.errors import InvalidInputError
from sparrot.plot.style import in_order
from sparrot.report.encode import encode_array

_FEW = 30  # different integers; fewer are names of classes
_MANY = 1000  # different categories; more are no colours
_MISSING = 0xFFFF


def encode_columns(columns: Any, n: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The columns that can serve as colours, and a sentence about each that cannot.

    Numbers are numbers, but up to 30 different integers are categories; everything else is a
    category by its text. More than 1,000 categories are no colours.

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
    if entries.dtype.kind == "f" or (entries.dtype.kind in "iu" and not _are_classes(entries)):
        return {"kind": "numbers", "values": encode_array(_float32(entries), "f4")}
    given = entries.astype(object)
    missing = np.array([entry is None or entry != entry for entry in given], dtype=bool)
    names = _in_order(column, given[~missing])
    if len(names) > _MANY:
        return None
    place = {name: code for code, name in enumerate(names)}
    codes = [
        _MISSING if gone else place[str(entry)] for entry, gone in zip(given, missing, strict=True)
    ]
    return {"kind": "categories", "categories": names, "codes": encode_array(codes, "u2")}


def _in_order(column: Any, present: Any) -> list[str]:
    """The categories that occur: in the order of a categorical column, else by name."""
    known = getattr(getattr(column, "cat", None), "categories", None)
    if known is None:
        return in_order(present)
    found = {str(entry) for entry in present}
    return [str(name) for name in known if str(name) in found]


def _are_classes(entries: Any) -> bool:
    return len(np.unique(entries)) <= _FEW


def _float32(entries: Any) -> Any:
    """Numbers beyond the range of float32 count as missing, as infinite ones do."""
    with np.errstate(over="ignore"):
        return entries.astype(np.float32)
