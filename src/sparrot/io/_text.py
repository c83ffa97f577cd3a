"""Tables in text files (`.csv`, `.tsv`, or either with `.gz`): numbers, and perhaps names.

The first line is a header if a field after the first is no number, or if the fields (without the
first, if that is no number) just count 0, 1, 2, ..., as pandas names columns that have no names.
The first column is row names if its first field below the header is no number, if the header has an
empty name for it or names it beside mere counts (as pandas writes an index), or if the header is
one field shorter than the rows (as R writes tables).
"""

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
from typing import TYPE_CHECKING, TextIO, cast

import numpy as np

from sparrot._types import FloatArray
from sparrot._validation import not_whole
from sparrot.errors import InvalidInputError, counted

if TYPE_CHECKING:
    from sparrot.io._formats import Table

_log = logging.getLogger(__name__)
_NO_NUMBER = re.compile(r"convert string '(.*)' to float64 at row (\d+), column (\d+)", re.DOTALL)
_OTHER_LENGTH = re.compile(r"columns changed from (\d+) to (\d+) at row (\d+)")


def read_matrix(source: Path) -> FloatArray:
    """The numbers of a text file, without its header and row names."""
    layout = _layout(source)
    header, names = ("with" if found else "without" for found in (layout.header, layout.names))
    _log.info("%s is read %s a header and %s row names", source, header, names)
    X = _numbers(source, layout)
    _warn_if_doubtful(layout, X, source)
    return X[:, int(layout.names) :]


def read_names(source: Path) -> list[str] | None:
    """The first column, where it is row names; else None."""
    layout = _layout(source)
    if not layout.names:
        return None
    with _opened(source) as file:
        rows = filter(None, csv.reader(file, delimiter=layout.delimiter))
        return [row[0] for row in islice(rows, int(layout.header), None)]


def write_table(table: Table, target: Path) -> None:
    """A line of headings, and one for each row, with its name first if rows have names."""
    columns = [np.asarray(column).tolist() for column in table.columns.values()]
    heading = list(table.columns)
    if table.names is not None:
        columns.insert(0, list(table.names))
        heading.insert(0, "")
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=_delimiter(target), lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(zip(*columns, strict=True))


def is_number(field: str | bytes) -> bool:
    """Whether a field is a number.

    Examples
    --------
    >>> is_number("1e-3"), is_number(b"nan"), is_number("1,5")
    (True, True, False)
    """
    try:
        float(field)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Layout:
    """The separator, the first line, if that is a header, and if the first column is row names."""

    delimiter: str
    first: list[str]
    header: bool
    names: bool


def _layout(source: Path) -> _Layout:
    delimiter = _delimiter(source)
    first, second = _first_lines(source, delimiter)
    header = _is_header(first)
    row = second if header else first
    if not row:
        raise _refusal(source, "has no rows of numbers", "", first, delimiter)
    short = header and len(first) == len(row) - 1
    unnamed = header and (first[0].strip() == "" or _counts(first))
    names = short or unnamed or not is_number(row[0])
    columns = [""] * short + first if header else [str(k) for k in range(len(row))]
    _require_numbers(row, columns, int(names), source, delimiter)
    return _Layout(delimiter, first, header, names)


def _delimiter(path: Path) -> str:
    return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


def _warn_if_doubtful(layout: _Layout, X: FloatArray, source: Path) -> None:
    """Log what was decided where the file could be read in two ways."""
    first, nameless = layout.first, layout.header and not layout.names
    if first == ["0"]:
        _log.warning("%s: the first line is 0, and was taken for a point, not for a header", source)
    elif _just_counts(first):
        _log.warning(
            "%s: the first line counts from 0 to %d, and was taken for a header, not for a point",
            source,
            len(first) - 1,
        )
    if nameless and X.shape[1] > 1 and np.array_equal(X[:, 0], np.arange(len(X))):
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
        raise not_whole(source, "text in UTF-8", error) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise not_whole(source, "a whole .gz file", error) from error
    if not lines:
        raise InvalidInputError(
            f"{source} is empty", parameter="path", value=source, remedy="write it anew"
        )
    return lines[0], lines[1] if len(lines) > 1 else []


def _opened(source: Path) -> TextIO:
    opened = gzip.open if source.suffix.lower() == ".gz" else open
    return cast("TextIO", opened(source, "rt", newline="", encoding="utf-8-sig"))


def _is_header(first: list[str]) -> bool:
    single = len(first) == 1 and not is_number(first[0])
    counts = _counts(first) or _just_counts(first)
    return single or counts or not all(map(is_number, first[1:]))


def _counts(first: list[str]) -> bool:
    """Whether the fields are a word and 0, 1, 2, ..."""
    numbers = [str(k) for k in range(len(first) - 1)]
    return len(first) > 1 and not is_number(first[0]) and first[1:] == numbers


def _just_counts(first: list[str]) -> bool:
    """Whether the fields are 0, 1, 2, ... and more than one."""
    return len(first) > 1 and first == [str(k) for k in range(len(first))]


def _refusal(
    source: Path, problem: str, remedy: str, row: list[str], delimiter: str
) -> InvalidInputError:
    """The error of a file; it says so if the fields of a row seem to be separated otherwise."""
    found = [s for s in ";|\t," if s != delimiter and any(s in field for field in row)]
    if len(row) == 1 and len(row[0].split()) > 1:
        found.append(" ")
    remedies = [remedy]
    if found:
        problem += f" (its fields seem to be separated by {found[0]!r} and not {delimiter!r})"
        remedies.append("write it with ',' as .csv or with tabs as .tsv, and with decimal points")
    return InvalidInputError(f"{source} {problem}", parameter="path", value=source, remedy=remedies)


def _require_numbers(
    row: list[str], columns: list[str], start: int, source: Path, delimiter: str
) -> None:
    words = [
        f"{name!r} ({field!r})"
        for name, field in list(zip(columns, row, strict=False))[start:]
        if not is_number(field)
    ]
    if len(row) == start:
        raise _refusal(source, "has no columns but the row names", "", row, delimiter)
    if words:
        raise _refusal(
            source,
            "must have numbers in all columns but the first, and these are none: "
            f"{', '.join(words[:5])}",
            "drop what is no feature and impute what is missing",
            row,
            delimiter,
        )


def _numbers(source: Path, layout: _Layout) -> FloatArray:
    ignored: dict[int | str, Callable[[str], float]] = {0: lambda name: 0.0}
    try:
        with _opened(source) as file:
            return np.loadtxt(
                file,
                delimiter=layout.delimiter,
                skiprows=int(layout.header),
                quotechar='"',
                comments=None,
                converters=ignored if layout.names else None,
                ndmin=2,
            )
    except (ValueError, EOFError, zlib.error) as error:
        raise _explained(source, str(error), layout) from error


def _explained(source: Path, message: str, layout: _Layout) -> InvalidInputError:
    """What NumPy found, with rows and columns counted from 0, as everywhere else.

    NumPy itself counts rows from 0 and columns from 1, names among them, where a field is no
    number; and rows from 1 where their lengths differ.
    """
    where = "counted from 0 below the header" if layout.header else "counted from 0"
    if found := _NO_NUMBER.search(message):
        field, row, column = found[1], int(found[2]), int(found[3]) - 1 - layout.names
        what = f"{field!r} at row {row}, column {column} ({where}) is no number"
        fields, remedy = [*layout.first, field], "impute what is missing"
    elif found := _OTHER_LENGTH.search(message):
        what = f"row {int(found[3]) - 1} ({where}) has {counted(int(found[2]), 'field')}"
        what += f", and those before it have {found[1]}"
        fields, remedy = [], "repair that line"
    else:
        what, fields, remedy = message, [], "repair it"
    problem = f"is not a table of numbers: {what}"
    return _refusal(source, problem, remedy, fields, layout.delimiter)
