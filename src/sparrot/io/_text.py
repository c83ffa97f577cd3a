"""Tables in text files (`.csv`, `.tsv`, or either with `.gz`): numbers, and perhaps names.

What a column is gets decided by all of its fields: numbers, of which some may be missing, or words.
The first line is a header if it has a word above numbers, or a word after the first field, or just
counts 0, 1, 2, ... (perhaps after a first field), as pandas names columns that have no names. The
first column is row names if it has words (but not if these are few and repeat, as labels do, or if
the caller asks for it by its name), if the header has no name for it or names it beside mere
counts (as pandas writes an index), or if the header is one field shorter than the rows (as R writes
tables). Comments on top, lines that begin with #, and blank columns at the end do not count. The
caller may say which it is. Where a file could be read in two ways, a
warning tells which was taken. Further columns of words are no features, nor is a column of labels.
"""

from __future__ import annotations

import csv
import gzip
import logging
import re
from array import array
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np

from sparrot._types import FloatArray
from sparrot._validation import not_whole, refuse_broken
from sparrot.errors import AffinityWarning, InvalidInputError, counted, literal, warn

if TYPE_CHECKING:
    from sparrot.io._points import Table

LOG = logging.getLogger(__name__)
_LABELS = 20  # different integers in a column that may be labels
_SEEN = 200  # columns, at most, that such a one is compared with
_LABEL_NAMES = {  # in small letters, without what separates words
    *("label", "labels", "labelid", "class", "classes", "classid", "target", "targets", "outcome"),
    *("category", "categories", "cluster", "clusters", "clusterid", "group", "groups", "y"),
    *("celltype", "celltypes", "species", "leiden", "louvain", "groundtruth"),
}
_FEWEST_COUNTED = 5  # rows, at least, that a column counts; 1 and 2 may be anything
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_MISSING = {"", "na", "n/a", "nan", "null", "none", "<na>", "#n/a"}


def read_matrix(
    source: Path,
    *,
    header: bool | None = None,
    names: bool | None = None,
    label: str | None = None,
    without: Sequence[str] = (),
) -> FloatArray:
    """The numbers of a text file, without header, row names, text and labels; NaN if missing."""
    return _features(source, header, names, label, without)[0]


def read_columns(
    source: Path,
    *,
    header: bool | None = None,
    names: bool | None = None,
    label: str | None = None,
    without: Sequence[str] = (),
) -> list[str]:
    """The names of the columns of this matrix; 0, 1, 2, ... where there is no header."""
    return _features(source, header, names, label, without)[1]


def _features(
    source: Path,
    header: bool | None,
    names: bool | None,
    label: str | None,
    without: Sequence[str],
) -> tuple[FloatArray, list[str]]:
    """The columns of numbers, and their names."""
    table = _read(source)
    layout = _decide(table, header, names, {label, *without})
    if layout.names and len(layout.columns) == 1:
        problem = "has no columns but the row names"
        raise _refusal(source, problem, "", table.first, table.delimiter)
    said = ("with" if found else "without" for found in (layout.header, layout.names))
    LOG.info("%s is read %s a header and %s row names", source, *said)
    X = table.numbers(layout.header)
    words = _columns_of_words(table, layout, X, {label, *without})
    _warn_if_doubtful(table, layout, header, names, {label, *without})
    if table.blank:
        what = "column" if table.blank == 1 else f"{table.blank} columns"
        problem = f"{source}: left out the last {what}, empty and without a name"
        warn(AffinityWarning(problem, remedy=f"end no line with {table.delimiter!r}"))
    first = int(layout.names)
    columns, words = layout.columns[first:], [c - first for c in words]
    kept = features(source, columns, X[:, first:], words, label, without)
    return np.ascontiguousarray(X[:, first:][:, kept]), [columns[c] for c in kept]


def read_names(
    source: Path, *, header: bool | None = None, names: bool | None = None
) -> list[str] | None:
    """The first column, where it is row names; else None."""
    table = _read(source)
    layout = _decide(table, header, names)
    if not layout.names:
        return None
    with _opened(source) as file:
        return [row[0] for row in islice(_rows(file, table.delimiter), int(layout.header), None)]


def read_column(
    source: Path, label: str, *, header: bool | None = None, names: bool | None = None
) -> Any:
    """The column of labels: integers or floats if all of its fields are, else text."""
    table = _read(source)
    layout = _decide(table, header, names, {label})
    require_column(source, layout.columns[int(layout.names) :], label)
    column = len(layout.columns) - 1 - layout.columns[::-1].index(label)
    with _opened(source) as file:
        rows = islice(_rows(file, table.delimiter), int(layout.header), None)
        return _as_labels(np.asarray([row[column] for row in rows], dtype=str))


def whereabouts(
    source: Path,
    point: int,
    *,
    header: bool | None = None,
    names: bool | None = None,
    label: str | None = None,
    without: Sequence[str] = (),
) -> str:
    """Where a point is in the file, in words."""
    layout = _decide(_read(source), header, names, {label, *without})
    return f"on line {_line_of(source, point + int(layout.header))}"


def list_columns(
    source: Path, *, header: bool | None = None, names: bool | None = None
) -> dict[str, list[str]]:
    """The columns by what they hold, for the most part: numbers, words, nothing, names of rows."""
    table = _read(source)
    layout = _decide(table, header, names)
    first, n = int(layout.names), len(table.below)
    words = [c for c, found in table.words.items() if c >= first and found.prevail(n)]
    others = [c for c in range(first, len(layout.columns)) if c not in words]
    X = table.numbers(layout.header)
    empty = [c for c in others if c not in table.words and np.isnan(X[:, c]).all()]
    return {
        "numbers": [layout.columns[c] for c in others if c not in empty],
        "words": [layout.columns[c] for c in sorted(words)],
        "empty": [layout.columns[c] for c in empty],
        "names": layout.columns[:first],
    }


def _as_labels(fields: Any) -> Any:
    """Numbers, if all fields are written as numbers are: 01 is a name, and 0.10 is a number.

    Examples
    --------
    >>> _as_labels(np.array(["0", "10"])), _as_labels(np.array(["01", "2"]))
    (array([ 0, 10]), array(['01', '2'], dtype='<U2'))
    >>> _as_labels(np.array(["0.10", "2"]))
    array([0.1, 2. ])
    """
    with suppress(ValueError, OverflowError):
        numbers = fields.astype(np.int64)
        return numbers if np.array_equal(numbers.astype(str), fields) else fields
    with suppress(ValueError):
        numbers = fields.astype(np.float64)
        return numbers if any("." in field for field in fields) else fields
    return fields


def features(
    source: Path,
    names: Sequence[str],
    X: FloatArray,
    text: Sequence[int],
    label: str | None,
    without: Sequence[str],
) -> list[int]:
    """The columns of a table that are features: not those of words, of labels, or left out.

    A warning names columns of words that nobody asked for, and a feature that looks like a label.
    """
    if label is not None:
        require_column(source, names, label)
    for name in without:
        require_column(source, names, name, "without")
    words, known = set(text), {label, *without}
    kept = [c for c in range(len(names)) if c not in words and names[c] not in known]
    if not kept:
        raise InvalidInputError(
            f"leaves no column of numbers in {source}", parameter="without", value=without
        )
    left_out = [names[c] for c in text if names[c] not in known]
    if left_out:
        several = len(left_out) > 1
        warn(
            AffinityWarning(
                f"{source}: left out the column{'s' * several} {', '.join(map(repr, left_out))}, "
                f"which {'are' if several else 'is'} not of numbers",
                remedy=f"to color by {'one' if several else 'it'}, give "
                f"{{label={literal(repr(left_out[0]))}}}"
                if label is None
                else "",
            )
        )
    _warn_of_labels(source, names, X, kept, label)
    return kept


def require_column(
    source: Path, names: Sequence[str], label: str, parameter: str = "label"
) -> None:
    """Raise if a table has no column of that name."""
    if label not in names:
        raise InvalidInputError(
            f"must be a column of {source}, which has {', '.join(map(repr, names[:20]))}, got "
            f"{label!r}",
            parameter=parameter,
            value=label,
        )


def _warn_of_labels(
    source: Path, names: Sequence[str], X: FloatArray, kept: list[int], label: str | None
) -> None:
    """Name the features that may be labels, in one warning."""
    found = _like_labels(names, X, kept)
    if not found or is_symmetric(X[:, kept]):
        return
    ends = {kept[0]: "first column of numbers, {},", kept[-1]: "last column of numbers, {},"}
    listed, name = ", ".join(repr(names[c]) for c in found), literal(repr(names[found[0]]))
    one, has, taken = "one", f"columns {listed} have", "were taken for features"
    if len(found) == 1:
        which = ends.get(found[0], "column {}").format(listed)
        one, has, taken = "it", f"{which} has", "was taken for a feature"
    warn(
        AffinityWarning(
            f"{source}: the {has} integers that repeat, as labels do, and {taken}",
            remedy=[
                f"if {one} is a label, give {{label={name}}}" * (label is None),
                f"if {one} is no feature, leave it out by {{without={name}}}",
            ],
        )
    )


def _like_labels(names: Sequence[str], X: FloatArray, kept: list[int]) -> list[int]:
    """The features that may be labels: integers that repeat, and no coordinates by their names.

    They have a name of labels; or they are the first or the last column, and stand out. The former
    come first.
    """
    if len(kept) < 2:
        return []
    few, coordinates = min(_LABELS, len(X) // 5), _coordinates(names)
    free = [c for c in kept if names[c] not in coordinates]
    named = [c for c in free if _is_label_name(names[c]) and _has_few(X[:, c], len(X) // 2)]
    ends = [c for c in free if c in (kept[0], kept[-1]) and c not in named]
    return named + [c for c in ends if _has_few(X[:, c], few) and _stands_out(X, kept, c)]


def _is_label_name(name: str) -> bool:
    """Whether a column is called as labels are.

    Examples
    --------
    >>> [_is_label_name(name) for name in ("Cell type", "y", "height")]
    [True, True, False]
    """
    return re.sub(r"[\W_]", "", name.lower()) in _LABEL_NAMES


def _coordinates(names: Sequence[str]) -> set[str]:
    """The names that differ from another in x, y or z alone, or in the number after one of these.

    Examples
    --------
    >>> sorted(_coordinates(["x", "y", "x_pos", "y_pos", "height"]))
    ['x', 'x_pos', 'y', 'y_pos']
    >>> sorted(_coordinates(["x1", "x2", "y"])), _coordinates(["y", "sex"])
    (['x1', 'x2'], set())
    """
    alike: dict[str, set[str]] = {}
    for name in {*names}:
        plain = name.strip().lower()
        for axis in re.finditer("[xyz]", plain):
            alike.setdefault(f"{plain[: axis.start()]}*{plain[axis.end() :]}", set()).add(name)
        if re.fullmatch(r"[xyz][\W_]?\d+", plain):
            alike.setdefault(plain[0], set()).add(name)
    return {name for those in alike.values() if len(those) > 1 for name in those}


def is_symmetric(X: FloatArray) -> bool:
    """Whether it is a symmetric matrix, as of costs: without a column it would be none.

    Examples
    --------
    >>> is_symmetric(np.eye(3)), is_symmetric(np.ones((3, 2)))
    (True, False)
    """
    return X.shape[0] == X.shape[1] and bool(np.allclose(X, X.T))


def _has_few(x: FloatArray, most: int) -> bool:
    """Whether a column has integers alone, two at least and so many at most that are distinct."""
    return _are_whole(x) and 2 <= len(np.unique(x)) <= most


def _stands_out(X: FloatArray, kept: list[int], c: int) -> bool:
    """Whether most other features have more than three times as many distinct values.

    All of the others, for a first column, and in a table of integers alone, which may be of pixels
    or counts.
    """
    others = [k for k in kept if k != c]
    seen = others[:: -(-len(others) // _SEEN)]
    found = len(np.unique(X[:, c]))
    many = float(np.mean([len(np.unique(X[:, k])) > 3 * found for k in seen]))
    if many == 1 or c == kept[0]:
        return many == 1
    return many > 0.5 and not all(_are_whole(X[:, k]) for k in seen)


def counts_rows(x: FloatArray) -> bool:
    """Whether a column counts the rows, from 0 or from 1, and these are more than a few.

    Examples
    --------
    >>> [counts_rows(np.arange(k, k + 5.0)) for k in (0, 1, 2)], counts_rows(np.arange(2.0))
    ([True, True, False], False)
    """
    n = len(x)
    return n >= _FEWEST_COUNTED and bool(x[0] in (0, 1) and (x == x[0] + np.arange(n)).all())


def _are_whole(x: FloatArray) -> bool:
    return bool((np.floor(x) == x).all())


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


@dataclass(slots=True)
class _Words:
    """Fields of a column that are neither numbers nor missing: how many, the first, different ones.

    The row of the first is counted from 0 below the first line, which is row -1. Of the different
    ones there are enough to see that they are many.
    """

    row: int
    text: str
    count: int = 0
    different: set[str] = field(default_factory=set)

    def add(self, text: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.different) <= _LABELS:
            self.different.add(text)

    def prevail(self, n: int) -> bool:
        """Whether they are most of n fields, and no sign that the file is broken.

        Numbers with another delimiter between them are one: it is not what its ending says.
        """
        return 2 * self.count > n and self.text.isprintable() and not _are_numbers(self.text)

    def repeat(self, n: int) -> bool:
        """Whether they are most of n fields, and few different ones, as labels are."""
        return self.prevail(n) and len(self.different) <= min(_LABELS, n // 2)


@dataclass(slots=True)
class _Table:
    """A file: its first line as it is, and the numbers below, NaN where a field is not a number.

    Columns at the end that are blank in all lines, the first included, are left out and counted.
    """

    source: Path
    delimiter: str
    first: list[str]
    below: FloatArray
    words: dict[int, _Words] = field(default_factory=dict)
    blank: int = 0

    def is_numeric(self, column: int) -> bool:
        """Whether there are numbers in a column below the first line, and no words."""
        return column not in self.words and not np.isnan(self.below[:, column]).all()

    def numbers(self, header: bool) -> FloatArray:
        """The numbers of all points: below a header, or with the first line."""
        return self.below if header else np.vstack([_values(self.first), self.below])


@dataclass(frozen=True, slots=True)
class _Layout:
    """Whether the first line is a header, and the first column row names; names of all columns."""

    header: bool
    names: bool
    columns: list[str]


def _read(source: Path) -> _Table:
    """Read a whole file, once."""
    delimiter = _delimiter(source)
    try:
        with refuse_broken(source, _what(source)), _opened(source) as file:
            rows = _rows(file, delimiter)
            first = next(rows, None)
            if first is None:
                raise InvalidInputError(
                    f"{source} is empty", parameter="path", value=source, remedy="write it anew"
                )
            return _read_below(source, delimiter, first, rows)
    except InvalidInputError as error:
        if not isinstance(error.__cause__, UnicodeDecodeError):
            raise
        raise not_whole(source, "text in UTF-8", error.__cause__, "save it as UTF-8") from error


def _read_below(
    source: Path, delimiter: str, first: list[str], rows: Iterator[list[str]]
) -> _Table:
    numbers, words, width = array("d"), dict[int, _Words](), len(first)
    k, blank = -1, 0
    for k, row in enumerate(rows):
        if k == 0:
            width = len(row)
            blank = width - 1
        elif len(row) != width:
            problem = (
                f"is not a table of numbers: line {_line_of(source, k + 1)} has "
                f"{counted(len(row), 'field')}, and those before it have {width}"
            )
            raise _refusal(source, problem, "repair that line", [], delimiter)
        try:
            if "_" in "".join(row):  # which Python takes for a part of a number
                raise ValueError
            numbers.extend(map(float, row))
            blank = 0
        except ValueError:
            del numbers[k * width :]
            numbers.extend(_values(row))
            blank = min(blank, _blank_at_end(row))
            for column, text in enumerate(row):
                if _is_word(text):
                    words.setdefault(column, _Words(k, text)).add(text)
    below = np.frombuffer(numbers, np.float64).reshape(k + 1, width)
    blank = min(blank, _blank_at_end(first[:width]) + max(0, width - len(first)))
    if len(first) == width - 1 and 0 in words:  # row names, which the header does not count
        blank = 0
    if blank:
        first, below = first[: width - blank], below[:, : width - blank]
    return _Table(source, delimiter, first, below, words, blank)


def _blank_at_end(row: list[str]) -> int:
    """How many of the last fields of a row are blank.

    Examples
    --------
    >>> _blank_at_end(["1", "", "2", "", " "]), _blank_at_end(["1"])
    (2, 0)
    """
    return next((k for k, text in enumerate(reversed(row)) if text.strip()), len(row))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _are_numbers(text: str) -> bool:
    """Whether a field is several numbers, between which there is the delimiter of other files."""
    return any(s in text and all(map(_is_number, text.split(s))) for s in ";|\t,")


def _is_number_of_others(text: str) -> bool:
    """Whether a field is a number with a unit of some kind, or with marks within it.

    Examples
    --------
    >>> [_is_number_of_others(text) for text in ("1,000", "5%", "$ 7", "0,5", "<0.1", "1_0")]
    [True, True, True, True, True, True]
    >>> [_is_number_of_others(text) for text in ("2020-01-01", "cell 3", "x", "TAL-1", "%")]
    [False, False, False, False, False]
    """
    digits = text.strip(" %$€£<>~'").replace(",", ".").replace("_", "")
    return _is_word(text) and _is_number(digits.replace(".", "", digits.count(".") - 1))


def _is_missing(text: str) -> bool:
    return text.strip().lower() in _MISSING


def _is_word(text: str) -> bool:
    return not _is_number(text) and not _is_missing(text)


def _values(row: list[str]) -> list[float]:
    """The numbers of a row, NaN for fields that are not numbers."""
    return [float(text) if _is_number(text) else np.nan for text in row]


def _decide(
    table: _Table, header: bool | None, names: bool | None, asked: Set[str | None] = frozenset()
) -> _Layout:
    """What the first line and column are, where columns of some names were asked for."""
    first, (n, width) = table.first, table.below.shape
    short = n > 0 and len(first) == width - 1
    if header is None:
        header = (short and 0 in table.words) or _is_header(table)
    if not n and header:
        problem, remedy = "has no rows of numbers below its first line", "write one row per point"
        raise _refusal(table.source, problem, remedy, first, table.delimiter)
    short = short and header
    if not short and len(first) != width:
        lengths = (
            f"its header has {counted(len(first), 'field')}, and its rows have {width}"
            if header
            else f"line {_line_of(table.source, 1)} has {counted(width, 'field')}, and the one "
            f"before it has {len(first)}"
        )
        problem = f"is not a table of numbers: {lengths}"
        raise _refusal(table.source, problem, "repair that line", first, table.delimiter)
    if names is None:
        unnamed = header and (first[0].strip() == "" or _counts(first))
        words = table.words.get(0)
        word = words is not None or (not header and _is_word(first[0]))
        labels = (first[0] if header else "0") in asked or (words is not None and words.repeat(n))
        names = short or unnamed or (word and not labels)
    columns = [""] * short + first if header else [str(k) for k in range(width)]
    return _Layout(header, names, columns)


def _is_header(table: _Table) -> bool:
    first, (n, width) = table.first, table.below.shape
    if _counts(first) or _just_counts(first):
        return True
    words = [column for column, text in enumerate(first) if _is_word(text)]
    above_numbers = any(column < width and table.is_numeric(column) for column in words)
    if above_numbers or words[-1:] > [0] or (words and len(first) == 1):
        return True
    return n > 0 and first[0].strip() == "" and np.array_equal(table.below[:, 0], np.arange(n))


def _counts(first: list[str]) -> bool:
    """Whether the fields are a word, or nothing, and 0, 1, 2, ..."""
    numbers = [str(k) for k in range(len(first) - 1)]
    return len(first) > 1 and not _is_number(first[0]) and first[1:] == numbers


def _just_counts(first: list[str]) -> bool:
    """Whether the fields are 0, 1, 2, ... and more than one."""
    return len(first) > 1 and first == [str(k) for k in range(len(first))]


def _columns_of_words(
    table: _Table, layout: _Layout, X: FloatArray, no_features: Set[str | None]
) -> list[int]:
    """The columns of words; raises if there are no others, or for words among numbers.

    Words among numbers do not matter in a column that is known to be no feature.
    """
    found = {c: words for c, words in table.words.items() if c >= int(layout.names)}
    if not layout.header:
        for c, text in enumerate(table.first):
            if c >= int(layout.names) and _is_word(text):
                found[c] = _Words(-1, text, 1 + (found[c].count if c in found else 0))
    whole = sorted(c for c, words in found.items() if words.prevail(len(X)))
    if whole and len(whole) == X.shape[1] - int(layout.names):
        listed = ", ".join(f"{layout.columns[c]!r} ({found[c].text!r})" for c in whole[:5])
        after = " after the first" if layout.names else ""
        raise _refusal(
            table.source,
            f"must have columns of numbers{after}, and these hold words: {listed}",
            "write numbers",
            [found[c].text for c in whole] + (table.first if len(table.first) == 1 else []),
            table.delimiter,
        )
    among_numbers = [c for c in found if c not in whole and layout.columns[c] not in no_features]
    if not among_numbers:
        return whole
    c = min(among_numbers, key=lambda c: found[c].row)
    raise _word_among_numbers(table, layout, c, found[c])


def _word_among_numbers(table: _Table, layout: _Layout, c: int, words: _Words) -> InvalidInputError:
    """The error of the first word in a column of numbers, and what it may be."""
    names = ", row names included" if layout.names else ""
    where = "" if layout.header else f" (columns are counted from 0{names})"
    thousands = _THOUSANDS.fullmatch(words.text) is not None
    remedy = ["impute what is missing"]
    if thousands:
        remedy = [f"write {words.text.replace(',', '')}, without a separator of thousands"]
    elif words.row < 0:
        remedy = ["give {header=True} if the first line is a header"]
    return _refusal(
        table.source,
        f"is not a table of numbers: {words.text!r} on line {_line_of(table.source, words.row + 1)}"
        f", column {layout.columns[c]!r}{where}, is no number",
        [*remedy, f"leave that column out by {{without={literal(repr(layout.columns[c]))}}}"],
        table.first if thousands else [*table.first, words.text],
        table.delimiter,
    )


def _refusal(
    source: Path, problem: str, remedy: str | list[str], row: list[str], delimiter: str
) -> InvalidInputError:
    """The error of a file; it says so if the fields of a row seem to be separated otherwise."""
    found = [s for s in ";|\t," if s != delimiter and any(s in text for text in row)]
    if len(row) == 1 and len(row[0].split()) > 1:
        found.append(" ")
    remedies = [remedy] if isinstance(remedy, str) else list(remedy)
    if found:
        problem += f" (its fields seem to be separated by {found[0]!r} and not {delimiter!r})"
        remedies.append("write it with ',' as .csv or with tabs as .tsv, and with decimal points")
    return InvalidInputError(f"{source} {problem}", parameter="path", value=source, remedy=remedies)


def _warn_if_doubtful(
    table: _Table,
    layout: _Layout,
    header: bool | None,
    names: bool | None,
    no_features: Set[str | None],
) -> None:
    """Say what was decided where a file could be read in two ways and the caller left it open."""
    if header is None:
        for what, remedy in _doubts_about_header(table, layout):
            warn(AffinityWarning(f"{table.source}: the first line {what}", remedy=remedy))
    if names is None and layout.columns[0] not in no_features:
        for what, remedy in _doubts_about_names(table, layout):
            column = f"the first column, {layout.columns[0]!r},"
            warn(AffinityWarning(f"{table.source}: {column} {what}", remedy=remedy))


def _doubts_about_header(table: _Table, layout: _Layout) -> Iterator[tuple[str, str]]:
    first = table.first
    if layout.header and _just_counts(first):
        yield (
            f"counts from 0 to {len(first) - 1}, and was taken for a header, not for a point",
            "give {header=False} if it is a point",
        )
    fractions = [text for text in first if _is_number(text) and 0 < float(text) % 1 < 1]
    if layout.header and fractions:
        yield (
            f"has numbers such as {fractions[0]!r} beside words, and was taken for a header, not "
            "for a point",
            "give {header=False} if it is a point",
        )
    if not layout.header and first == ["0"]:
        yield (
            "is 0, and was taken for a point, not for a header",
            "give {header=True} if it is a header",
        )
    numbers = _values(first[int(layout.names) :])
    ascending = len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
    whole = ascending and all(number.is_integer() for number in numbers)
    if not layout.header and whole and (layout.names or _unlike(numbers, table.below)):
        name = f" with the name {first[0]!r}" if layout.names else ""
        yield (
            f"was taken for a point{name}, and its numbers ascend as in a header",
            "give {header=True} if it is one",
        )


def _unlike(numbers: list[float], below: FloatArray) -> bool:
    """Whether each of these integers has fractions below it, or numbers that do not reach it."""
    fractions = (np.floor(below) != below).any(axis=0)
    with np.errstate(invalid="ignore"):
        beyond = (np.abs(below) < np.abs(numbers)).all(axis=0)
    return len(below) > 1 and bool((fractions | beyond).all())


def _doubts_about_names(table: _Table, layout: _Layout) -> Iterator[tuple[str, str]]:
    column = table.below[:, 0]
    if layout.names and 0 in table.words and not np.isnan(column).all():
        words = table.words[0]
        yield (
            f"has words in {words.count} of {len(column)} rows ({words.text!r} on line "
            f"{_line_of(table.source, words.row + 1)}) and numbers in others, and was taken for "
            "row names",
            "give {names=False} if it is a feature",
        )
    elif layout.names and 0 in table.words and _is_number_of_others(table.words[0].text):
        yield (
            f"has numbers in a form that is not read, such as {table.words[0].text!r}, and was "
            "taken for row names",
            "write plain numbers if it is a feature",
        )
    if not layout.header:
        column = np.append(_values(table.first[:1]), column)
    is_index = counts_rows(column) and table.below.shape[1] > 1
    if is_index and not layout.names and not is_symmetric(table.numbers(layout.header)):
        yield (
            "counts the rows, and was taken for a feature",
            "give {names=True} if it is an index",
        )


def _rows(file: TextIO, delimiter: str) -> Iterator[list[str]]:
    """The lines of a file that have anything in them, as fields, without comments on top."""
    return (row for _, row in _numbered_rows(file, delimiter))


def _numbered_rows(file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The same, each with the number of its line.

    Comments begin with #, and so may a header or a name of a row: then the next line has as many
    fields, and a number among them.
    """
    rows = _numbered_lines(file, delimiter)
    k, above = 0, list[str]()
    for line, row in rows:
        fits = len(row) == len(above) and any(map(_is_number, row))
        if above and (fits or not above[0].startswith("#")):
            yield from ((k, above), (line, row))
            break
        k, above = line, row
    else:
        yield from [(k, above)] if above else []
    yield from rows


def _numbered_lines(file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """All lines with anything in them, counted from 1; a field may go on in the next line."""
    reader, line = csv.reader(file, delimiter=delimiter), 1
    for row in reader:
        if row:
            yield line, row
        line = reader.line_num + 1


def _line_of(source: Path, row: int) -> int:
    """The number of the line of a row, as editors count: from 1, with comments and blank lines.

    Rows are counted from 0, and the header is one. The file is read once more: only errors ask.
    """
    with _opened(source) as file:
        return next(islice(_numbered_rows(file, _delimiter(source)), row, None))[0]


def _delimiter(path: Path) -> str:
    return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


def _what(source: Path) -> str:
    return "a whole .gz file" if source.suffix.lower() == ".gz" else "a table of numbers"


def _opened(source: Path) -> TextIO:
    opened = gzip.open if source.suffix.lower() == ".gz" else open
    return cast("TextIO", opened(source, "rt", newline="", encoding="utf-8-sig"))
