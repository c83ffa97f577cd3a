"""Numbers and row names from a text file with, perhaps, a header."""

from __future__ import annotations

import csv
import gzip
import logging
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO, cast

import numpy as np

from sparrot._types import FloatArray
from sparrot.errors import InvalidInputError

_log = logging.getLogger(__name__)
_NO_NUMBER = re.compile(r"convert string '(.*)' to float64 at row (\d+), column (\d+)", re.DOTALL)
_OTHER_LENGTH = re.compile(r"columns changed from (\d+) to (\d+) at row (\d+)")


def read_text(source: Path, delimiter: str) -> FloatArray:
    """The matrix of a text file.

    The first line is a header if a field after the first is no number, or if the fields (the first
    left out, if it is none) just count 0, 1, 2, ..., as pandas names columns without names. The
    first column is row names if its first field below the header is no number, if the header leaves
    it unnamed or names it beside mere counts (as pandas writes an index), or if the header is one
    field shorter than the rows (as R writes tables).
    """
    layout = _layout(source, delimiter)
    header, names = layout.header, layout.names
    _log.info("%s: %s header, %s row names", source, *("a" if w else "no" for w in (header, names)))
    X = _numbers(source, delimiter, layout)
    _say_if_doubtful(layout, X, source)
    return X[:, int(names) :]


def read_row_names(source: Path, delimiter: str) -> list[str] | None:
    """The first column, where it is row names."""
    layout = _layout(source, delimiter)
    if not layout.names:
        return None
    with _opened(source) as file:
        rows = filter(None, csv.reader(file, delimiter=delimiter))
        return [row[0] for row in islice(rows, int(layout.header), None)]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The first line, whether it is a header, and whether the first column is row names."""

    first: list[str]
    header: bool
    names: bool


def _layout(source: Path, delimiter: str) -> _Layout:
    first, second = _first_lines(source, delimiter)
    header = _is_header(first)
    row = second if header else first
    if not row:
        raise InvalidInputError(
            f"{source} has no rows of numbers{_other_separator(first, delimiter)}"
        )
    short = header and len(first) == len(row) - 1
    unnamed = header and (first[0].strip() == "" or _counts(first))
    names = short or unnamed or not _is_number(row[0])
    columns = [""] * short + first if header else [str(k) for k in range(len(row))]
    _require_numbers(row, columns, int(names), source, delimiter)
    return _Layout(first, header, names)


def _say_if_doubtful(layout: _Layout, X: FloatArray, source: Path) -> None:
    """Log what was decided where the file could be read in two ways."""
    first, mute = layout.first, layout.header and not layout.names
    if first == ["0"]:
        _log.warning("%s: the first line is 0, and was taken for a point, not for a header", source)
    elif _just_counts(first):
        _log.warning(
            "%s: the first line counts from 0 to %d, and was taken for a header, not for a point",
            source,
            len(first) - 1,
        )
    if mute and X.shape[1] > 1 and np.array_equal(X[:, 0], np.arange(len(X))):
        _log.warning(
            "%s: the first column, %r, counts the rows, and was taken for a feature; drop it if it "
            "is an index",
            source,
            first[0],
        )


def _first_lines(source: Path, delimiter: str) -> tuple[list[str], list[str]]:
    try:
        with _opened(source) as file:
            lines = list(islice(filter(None, csv.reader(file, delimiter=delimiter)), 2))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{source} is not text in UTF-8 ({error})") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{source} is not a whole .gz file ({error})") from error
    if not lines:
        raise InvalidInputError(f"{source} is empty")
    return lines[0], lines[1] if len(lines) > 1 else []


def _opened(source: Path) -> TextIO:
    opened = gzip.open if source.suffix.lower() == ".gz" else open
    return cast("TextIO", opened(source, "rt", newline="", encoding="utf-8-sig"))


def _is_header(first: list[str]) -> bool:
    single = len(first) == 1 and not _is_number(first[0])
    counts = _counts(first) or _just_counts(first)
    return single or counts or not all(map(_is_number, first[1:]))


def _counts(first: list[str]) -> bool:
    """Whether the fields are a word and 0, 1, 2, ..."""
    numbers = [str(k) for k in range(len(first) - 1)]
    return len(first) > 1 and not _is_number(first[0]) and first[1:] == numbers


def _just_counts(first: list[str]) -> bool:
    """Whether the fields are 0, 1, 2, ... and more than one."""
    return len(first) > 1 and first == [str(k) for k in range(len(first))]


def _other_separator(row: list[str], delimiter: str) -> str:
    """What to say of a line that looks as if its fields were separated otherwise."""
    blank = len(row) == 1 and len(row[0].split()) > 1
    found = [s for s in ";|\t," if s != delimiter and any(s in field for field in row)]
    if not found and not blank:
        return ""
    return (
        f"; its fields seem to be separated by {(found or [' '])[0]!r} and not {delimiter!r}: "
        "write it with ',' as .csv or with tabs as .tsv, and with decimal points"
    )


def _require_numbers(
    row: list[str], columns: list[str], start: int, source: Path, delimiter: str
) -> None:
    words = [
        f"{name!r} ({field!r})"
        for name, field in list(zip(columns, row, strict=False))[start:]
        if not _is_number(field)
    ]
    if words or len(row) == start:
        raise InvalidInputError(
            f"all columns of {source} but the first must be numbers, and these are not: "
            f"{', '.join(words[:5]) or 'there are none'}; drop what is no feature and impute what "
            f"is missing{_other_separator(row, delimiter)}"
        )


def _numbers(source: Path, delimiter: str, layout: _Layout) -> FloatArray:
    ignored: dict[int | str, Callable[[str], float]] = {0: lambda name: 0.0}
    try:
        with _opened(source) as file:
            return np.loadtxt(
                file,
                delimiter=delimiter,
                skiprows=int(layout.header),
                quotechar='"',
                comments=None,
                converters=ignored if layout.names else None,
                ndmin=2,
            )
    except (ValueError, EOFError, zlib.error) as error:
        raise InvalidInputError(
            f"{source} is not a table of numbers: {_why(str(error), layout, delimiter)}"
        ) from error


def _why(said: str, layout: _Layout, delimiter: str) -> str:
    """What NumPy said, with rows and columns of the matrix, counted from 0 as elsewhere.

    NumPy counts rows from 0 and columns from 1 where a field is no number, names among them; and
    rows from 1 where their lengths differ.
    """
    below = " below the header" if layout.header else ""
    if found := _NO_NUMBER.search(said):
        field, row, column = found[1], int(found[2]), int(found[3]) - 1 - layout.names
        where = f"{field!r} at row {row}, column {column} (counted from 0{below}) is no number"
        hint = _other_separator([*layout.first, field], delimiter)
        return f"{where}; impute what is missing{hint}"
    if found := _OTHER_LENGTH.search(said):
        row = int(found[3]) - 1
        return (
            f"row {row} (counted from 0{below}) has {found[2]} fields, and those before it "
            f"{found[1]}; repair that line"
        )
    return f"{said}; repair it"


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
