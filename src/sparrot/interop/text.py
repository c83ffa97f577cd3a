"""Numbers from a text file with, perhaps, a header and a first column of row names."""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from sparrot.errors import InvalidInputError
from sparrot.types import FloatArray

_log = logging.getLogger(__name__)


def read_text(source: Path, delimiter: str) -> FloatArray:
    """The matrix of a text file.

    The first line is a header if a field after the first is no number, or if these just count
    0, 1, 2, ... beside a first that is none. The first column is row names if its first field below
    the header is no number, if the header leaves it unnamed or names it beside mere counts (as
    pandas writes an index), or if the header is one field shorter than the rows (as R writes
    tables).
    """
    first, second = _first_lines(source, delimiter)
    header = _is_header(first)
    row = second if header else first
    if not row:
        raise InvalidInputError(f"{source} has no rows of numbers")
    short = header and len(first) == len(row) - 1
    unnamed = header and (first[0].strip() == "" or _counts(first))
    names = short or unnamed or not _is_number(row[0])
    columns = [""] * short + first if header else [str(k) for k in range(len(row))]
    _require_numbers(row, columns, int(names), source)
    _log.info("%s: %s header, %s row names", source, *("a" if w else "no" for w in (header, names)))
    X = _numbers(source, delimiter, header, bool(names))
    return X[:, int(names) :]


def _first_lines(source: Path, delimiter: str) -> tuple[list[str], list[str]]:
    try:
        with source.open(newline="", encoding="utf-8-sig") as file:
            lines = list(islice(filter(None, csv.reader(file, delimiter=delimiter)), 2))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{source} is not text in UTF-8 ({error})") from error
    if not lines:
        raise InvalidInputError(f"{source} is empty")
    return lines[0], lines[1] if len(lines) > 1 else []


def _is_header(first: list[str]) -> bool:
    single = len(first) == 1 and not _is_number(first[0])
    return single or _counts(first) or not all(map(_is_number, first[1:]))


def _counts(first: list[str]) -> bool:
    """Whether the fields are a word and 0, 1, 2, ..."""
    numbers = [str(k) for k in range(len(first) - 1)]
    return len(first) > 1 and not _is_number(first[0]) and first[1:] == numbers


def _require_numbers(row: list[str], columns: list[str], start: int, source: Path) -> None:
    words = [
        f"{name!r} ({field!r})"
        for name, field in list(zip(columns, row, strict=False))[start:]
        if not _is_number(field)
    ]
    if words or len(row) == start:
        raise InvalidInputError(
            f"all columns of {source} but the first must be numbers, and these are not: "
            f"{', '.join(words[:5]) or 'there are none'}; drop what is no feature and impute what "
            "is missing"
        )


def _numbers(source: Path, delimiter: str, header: bool, names: bool) -> FloatArray:
    ignored: dict[int | str, Callable[[str], float]] = {0: lambda name: 0.0}
    try:
        return np.loadtxt(
            source,
            delimiter=delimiter,
            skiprows=int(header),
            quotechar='"',
            comments=None,
            converters=ignored if names else None,
            ndmin=2,
            encoding="utf-8-sig",
        )
    except ValueError as error:
        raise InvalidInputError(
            f"{source} is not a table of numbers: {error} (rows counted from the first below the "
            "header); repair that line, or impute what is missing"
        ) from error


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
