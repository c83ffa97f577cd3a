"""Matrices in Matrix Market files (`.mtx`), read only if every byte of them is in its place.

A file is read in pieces of whole lines. Each piece must match, as a whole, what the header
announces for a line; only then NumPy turns it into numbers. (The reader of SciPy crashes on some
broken files, and takes numbers from others, and its writer does not notice a full disk.)
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from sparrot._types import FloatArray
from sparrot._validation import refuse_broken
from sparrot.engine import require_memory

if TYPE_CHECKING:
    from sparrot.io._points import Table

_PIECE = 1 << 20  # bytes that are read at once, about
_LINES = 100_000  # that are written at once
_COUNT = rb"[0-9]+"
_DECIMAL = rb"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_REAL = rb"[+-]?(?:" + _DECIMAL + rb"|[nN][aA][nN]|[iI][nN][fF](?:inity)?)"
_FIELDS = {  # the numbers of an entry, without its place
    b"real": (_REAL,),
    b"double": (_REAL,),
    b"integer": (rb"[+-]?[0-9]+",),
    b"unsigned-integer": (rb"[0-9]+",),
    b"pattern": (),
}
_SYMMETRIES = {b"general": 0, b"symmetric": 1, b"skew-symmetric": -1}  # the sign of the other half


def read_matrix(source: Path) -> Any:
    """The matrix of an `.mtx` or `.mtx.gz` file: sparse from coordinates, dense from an array.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.mtx"
    >>> head = "%%MatrixMarket matrix coordinate real general"
    >>> _ = path.write_text(head + chr(10) + "2 2 1" + chr(10) + "1 2 0.5")
    >>> read_matrix(path).toarray()
    array([[0. , 0.5],
           [0. , 0. ]])
    """
    opened = gzip.open if source.suffix.lower() == ".gz" else open
    with refuse_broken(source, "a whole .mtx file"):
        with opened(source, "rb") as file:
            head = _read_head(file)
            entries = _read_entries(file, head)
        return _sparse(entries, head) if head.coordinates else _dense(entries, head)


def write_matrix(path: Path, matrix: Any) -> None:
    """Write a matrix to the last bit: coordinates if it is sparse, else an array.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.mtx"
    >>> write_matrix(path, np.array([[0.1], [2.0]]))
    >>> read_matrix(path).ravel()
    array([0.1, 2. ])
    """
    shape = f"{matrix.shape[0]} {matrix.shape[1]}"
    field = "real" if matrix.dtype.kind == "f" else "integer"
    with path.open("w", encoding="ascii", newline="\n") as file:
        if issparse(matrix):
            entries = coo_array(matrix)
            i, j = entries.coords
            columns = [i + 1, j + 1, entries.data]
            file.write(f"%%MatrixMarket matrix coordinate {field} general\n{shape} {len(i)}\n")
        else:
            columns = [np.ravel(matrix, order="F")]
            file.write(f"%%MatrixMarket matrix array {field} general\n{shape}\n")
        line = " ".join(["%r"] * len(columns)) + "\n"
        for k in range(0, len(columns[0]), _LINES):
            parts = (column[k : k + _LINES].tolist() for column in columns)
            file.writelines(line % entry for entry in zip(*parts, strict=True))


def write_table(table: Table, target: Path) -> None:
    """The values of a table as a dense matrix, to the last bit."""
    write_matrix(target, table.values.reshape(-1, len(table.columns)))


@dataclass(frozen=True, slots=True)
class _Head:
    """What the first lines of a file announce."""

    coordinates: bool
    field: bytes
    symmetry: int
    shape: tuple[int, int]
    n_entries: int

    @property
    def numbers(self) -> tuple[bytes, ...]:
        """A regular expression for each number of an entry."""
        place = (_COUNT, _COUNT) if self.coordinates else ()
        return (*place, *_FIELDS[self.field])


def _read_head(file: gzip.GzipFile | IO[bytes]) -> _Head:
    words = file.readline(_PIECE).lower().split()
    if len(words) != 5 or words[:2] != [b"%%matrixmarket", b"matrix"]:
        raise ValueError("its first line is no Matrix Market header")
    _, _, layout, field, symmetry = words
    known = layout in (b"coordinate", b"array") and symmetry in _SYMMETRIES and field in _FIELDS
    if not known or (layout == b"array" and field == b"pattern"):
        said = b" ".join(words[2:]).decode(errors="replace")
        raise ValueError(f"its header says {said!r}, and only real matrices can be read")
    line = b"%"
    while line.startswith(b"%") or line.isspace():
        line = file.readline(_PIECE)
    coordinates = layout == b"coordinate"
    size = [int(number) for number in line.split() if re.fullmatch(_COUNT, number)]
    if len(size) != len(line.split()) or len(size) != 2 + coordinates:
        raise ValueError("its sizes are missing")
    rows, columns = size[:2]
    sign = _SYMMETRIES[symmetry]
    if sign and rows != columns:
        raise ValueError(f"a {symmetry.decode()} matrix of {rows} rows has {columns} columns")
    stored = rows * (rows + sign) // 2 if sign else rows * columns
    return _Head(coordinates, field, sign, (rows, columns), size[2] if coordinates else stored)


def _read_entries(file: gzip.GzipFile | IO[bytes], head: _Head) -> FloatArray:
    """All entries, a row each; a ValueError unless there are as many as the header says."""
    entry = rb"[ \t]*+" + rb"[ \t]++".join(head.numbers) + rb"[ \t]*+"
    line = rb"(?:(?:" + entry + rb"|[ \t]*+)\r?\n)"
    lines = re.compile(line + rb"*+")
    width = len(head.numbers)
    parts, found = [np.empty((0, width))], 0
    for piece in _whole_lines(file):
        end = lines.match(piece).end()  # type: ignore[union-attr]
        part = np.fromstring(piece[:end].decode("ascii"), sep=" ").reshape(-1, width)
        found += len(part)
        if end < len(piece):
            wrong = piece[end:].split(b"\n", 1)[0][:80].decode(errors="replace")
            raise ValueError(f"its entry {found + 1} is {wrong!r}")
        if found > head.n_entries:
            break
        parts.append(part)
    if found != head.n_entries:
        more = "more than" if found > head.n_entries else f"{found} of"
        raise ValueError(f"it has {more} {head.n_entries} entries")
    return np.concatenate(parts)


def _whole_lines(file: gzip.GzipFile | IO[bytes]) -> Iterator[bytes]:
    """The rest of a file in pieces that end with a line break, the last of them too."""
    begun = b""
    while piece := file.read(_PIECE):
        whole, break_, rest = piece.rpartition(b"\n")
        if break_:
            yield begun + whole + break_
            begun = rest
        else:
            begun += piece
            if len(begun) > _PIECE:
                raise ValueError("it has a line without end")
    if begun:
        yield begun + b"\n"


def _sparse(entries: FloatArray, head: _Head) -> csr_array:
    rows, columns = head.shape
    places = entries[:, :2]
    if len(places) and (places.min() < 1 or (places.max(axis=0) > head.shape).any()):
        raise ValueError(f"an entry is outside of its {rows} rows and {columns} columns")
    require_memory(
        16.0 * rows + 2.0 * entries.nbytes,
        what=f"a sparse matrix of {rows} rows",
        remedy="check the sizes in its header",
    )
    dtype = np.int32 if max(head.shape) < 2**31 else np.int64
    i, j = (places.T - 1).astype(dtype)
    values = entries[:, 2] if entries.shape[1] > 2 else np.ones(len(entries))
    if head.symmetry:
        apart = i != j
        if (i < j).any() and (i > j).any():
            raise ValueError("a symmetric matrix has entries on both sides of its diagonal")
        if head.symmetry < 0 and not apart.all():
            raise ValueError("a skew-symmetric matrix has entries on its diagonal")
        i, j = np.concatenate([i, j[apart]]), np.concatenate([j, i[apart]])
        values = np.concatenate([values, head.symmetry * values[apart]])
    return csr_array((values, (i, j)), shape=head.shape)


def _dense(entries: FloatArray, head: _Head) -> FloatArray:
    rows, columns = head.shape
    if not head.symmetry:
        return np.ascontiguousarray(entries.reshape(columns, rows).T)
    j, i = np.triu_indices(rows, k=int(head.symmetry < 0))  # the lower half, column by column
    matrix = np.zeros(head.shape)
    matrix[j, i] = head.symmetry * entries[:, 0]
    matrix[i, j] = entries[:, 0]
    return matrix
