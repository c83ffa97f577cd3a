"""Labels as categories, with names in the order of a legend, or as numbers; some may be missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from sparrot._types import FloatArray, IntArray

_FEW_INTEGERS = 30  # distinct ones; so few are names of classes


def as_categories(labels: Any) -> tuple[list[str], IntArray]:
    """The distinct labels as text, and for each entry the index of its label, -1 if missing.

    A categorical column of pandas keeps the order of its categories, without those that do not
    occur; other labels are in the order of `in_order`.

    Examples
    --------
    >>> names, codes = as_categories(["B 10", "B 9", None, "B 9"])
    >>> names, codes.tolist()
    (['B 9', 'B 10'], [1, 0, -1, 0])
    """
    column = categorical(labels)
    if column is not None:
        return _that_occur([str(name) for name in column.categories], np.asarray(column.codes))
    entries = np.asarray(labels, dtype=object)
    missing = are_missing(entries)
    names = in_order(entries[~missing])
    place = {name: code for code, name in enumerate(names)}
    codes = np.full(len(entries), -1, dtype=np.int64)
    codes[~missing] = [place[str(entry)] for entry in entries[~missing]]
    return names, codes


def categorical(labels: Any) -> Any:
    """What holds `categories` and `codes` of a categorical column; None for other labels."""
    column = getattr(labels, "cat", labels)
    return column if hasattr(column, "categories") and hasattr(column, "codes") else None


def are_missing(entries: Any) -> Any:
    """Which entries are None, not a number, the NA of pandas, or empty text.

    Examples
    --------
    >>> are_missing(["a", None, float("nan"), ""]).tolist()
    [False, True, True, True]
    """
    return np.array([entry is None or _is_no_value(entry) for entry in entries], dtype=bool)


def are_numbers(labels: Any) -> bool:
    """Whether labels are numbers, and no categories: floats, and integers of which many differ.

    To numpy, a column of pandas with NA in it holds objects.

    Examples
    --------
    >>> are_numbers([0.5, 1.5]), are_numbers([0, 1, 1]), are_numbers(range(100))
    (True, False, True)
    """
    entries = np.asarray(labels)
    kind = getattr(labels, "dtype", entries.dtype).kind
    if categorical(labels) is not None or kind not in "fiu":
        return False
    return kind == "f" or len(set(entries[~are_missing(entries)])) > _FEW_INTEGERS


def as_numbers(labels: Any) -> FloatArray:
    """Such labels in float64, NaN where they are missing.

    Examples
    --------
    >>> as_numbers([3, None])
    array([ 3., nan])
    """
    entries = np.asarray(labels)
    if entries.dtype == object:
        entries = np.where(are_missing(entries), np.nan, entries)
    return entries.astype(np.float64)


def in_order(labels: Iterable[Any]) -> list[str]:
    """The distinct labels as sorted text, where digits compare as numbers.

    Examples
    --------
    >>> in_order(["B 10", "A", "B 9", "A"])
    ['A', 'B 9', 'B 10']
    """

    def key(text: str) -> list[Any]:
        parts = re.split("([0-9]+)", text)  # text and digits in turn
        return [int(part) if k % 2 else part for k, part in enumerate(parts)]

    return sorted({str(label) for label in labels}, key=key)


def _is_no_value(entry: Any) -> bool:
    if isinstance(entry, str):
        return not entry.strip()
    try:
        return bool(entry != entry)
    except TypeError:  # comparing pandas.NA gives NA, which is neither true nor false
        return True


def _that_occur(names: list[str], codes: IntArray) -> tuple[list[str], IntArray]:
    used = np.unique(codes[codes >= 0])
    place = np.full(len(names) + 1, -1, dtype=np.int64)  # the last is for the code -1
    place[used] = np.arange(len(used))
    return [names[k] for k in used], place[codes]
