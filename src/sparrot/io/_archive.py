"""Archives of plain arrays: `.npz` files, read without pickles, with errors that name the file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sparrot.errors import InvalidInputError


@contextmanager
def open_npz(source: Path) -> Iterator[Any]:
    """The arrays of an `.npz` file by name; whatever is broken in it is an `InvalidInputError`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> np.savez(path, x=np.arange(3))
    >>> with open_npz(path) as file:
    ...     file["x"]
    array([0, 1, 2])
    """
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    try:
        if not zipfile.is_zipfile(source):
            raise zipfile.BadZipFile("the directory of the archive is missing")
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            yield file
    except InvalidInputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"{source} is not a whole .npz file of plain arrays ({error}); write it anew"
        ) from error


def holds_affinity(source: Path) -> bool:
    """Whether an `.npz` file is an affinity of `sparrot.save`.

    Examples
    --------
    >>> import sparrot, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> sparrot.save(sparrot.qot(np.eye(3)), path)
    >>> holds_affinity(path)
    True
    """
    with open_npz(source) as file:
        return {"schema", "mean_cost"} <= set(file.files)
