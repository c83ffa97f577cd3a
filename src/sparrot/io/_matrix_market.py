"""Matrices in Matrix Market files (`.mtx`), which are read only if they are whole.

Where a file does not end with a line break, the reader of SciPy may look for the end of the last
line beyond the end of the file: the process crashes, which no `except` catches. So the entries are
counted first, the last one is checked, and the reader always gets a last line with an end.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_array, csr_array, issparse

from sparrot._validation import not_whole
from sparrot.io._text import is_number

if TYPE_CHECKING:
    from sparrot.io._formats import Table

_DIGITS = 17  # that tell any two numbers of float64 apart
_VALUES = {b"pattern": 0, b"complex": 2}  # numbers in an entry; one in all other fields
_BELOW = {b"symmetric": 1, b"hermitian": 1, b"skew-symmetric": -1}  # with the diagonal, or without


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
    try:
        with opened(source, "rb") as file:
            _require_whole(filter(None, map(bytes.strip, file)))
        with opened(source, "rb") as file:
            matrix = mmread(_Ended(file))
    except (ValueError, OverflowError, EOFError, OSError, zlib.error) as error:
        raise not_whole(source, "a whole .mtx file", error) from error
    return csr_array(matrix) if issparse(matrix) else np.asarray(matrix)


def write_table(table: Table, target: Path) -> None:
    """The values of a table as a dense matrix, to the last bit."""
    mmwrite(target, table.values.reshape(-1, len(table.columns)), precision=_DIGITS)


def write_sparse(matrix: Any, target: Path) -> None:
    """The stored entries of a matrix, to the last bit."""
    mmwrite(target, coo_array(matrix), precision=_DIGITS)


class _Ended:
    """A stream of bytes with one more line break at its end."""

    def __init__(self, file: gzip.GzipFile | IO[bytes]) -> None:
        self._file, self._end = file, b"\n"

    def read(self, size: int = -1) -> bytes:
        """The next bytes; after the last of them, the line break."""
        part = self._file.read(size)
        if not part:
            part, self._end = self._end, b""
        return part


def _require_whole(lines: Iterator[bytes]) -> None:
    """A ValueError unless there are as many entries as the header says, and the last is whole."""
    head = next(lines, b"").lower().split()
    if len(head) != 5 or head[0] != b"%%matrixmarket":
        raise ValueError("its first line is no Matrix Market header")
    size = next((line for line in lines if not line.startswith(b"%")), b"")
    entries, numbers = _promised(head, [int(number) for number in size.split()])
    found, last = 0, b""
    for found, last in enumerate(lines, 1):  # noqa: B007
        pass
    if found != entries:
        raise ValueError(f"it has {found} of {entries} entries")
    if entries and (len(last.split()) != numbers or not all(map(is_number, last.split()))):
        raise ValueError(f"its last entry is cut off: {last.decode(errors='replace')!r}")


def _promised(head: list[bytes], size: list[int]) -> tuple[int, int]:
    """The number of entries, and how many numbers each has."""
    _, _, layout, field, symmetry = head
    values = _VALUES.get(field, 1)
    if layout == b"coordinate" and len(size) == 3:
        return size[2], 2 + values
    if layout == b"array" and len(size) == 2:
        rows, columns = size
        below = _BELOW.get(symmetry)
        return rows * columns if below is None else rows * (rows + below) // 2, values
    raise ValueError("its sizes are missing")
