"""An affinity in a folder of zarr arrays, from which its matrix is mapped into memory.

The folder is a zarr group (version 2 of the format) without compression, each array in one chunk:
so the file of a chunk is the array as it is in memory, and a matrix that is larger than the memory
can be used like any other. The group `matrix` is a sparse matrix as AnnData stores them. The other
arrays have a number for each point, and the attributes are the rest of the record of the affinity.

Where workers of a cluster reach the folder, they write the matrix in blocks of rows. Each block has
its place in files that are there beforehand, so that a block that is written twice, because a
worker died, does no harm. A worker knows the folder by a mark that the client left in it; what no
worker could write the client writes itself.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparrot._files import digest, whole_folder
from sparrot._validation import as_path, not_whole
from sparrot.affinity._record import from_record, require_schema, to_record
from sparrot.affinity._result import Affinity
from sparrot.engine import Run
from sparrot.errors import ClusterError, InvalidInputError, MissingDataError

ENDING = ".zarr"
_AT_ONCE = 1 << 22  # entries that are written at a time
_MATRIX = ("matrix/data", "matrix/indices", "matrix/indptr")
_ENTRIES = _MATRIX[:2]  # those with a number for each entry
_BLOCK_ENTRIES = 1 << 20  # of a block of rows that a worker writes, about
_IN_FLIGHT = 16  # such blocks, at most
_MARK = "mark"
_WHAT = "a whole .zarr folder of an affinity"
LOG = logging.getLogger("sparrot")


def as_out(path: Any) -> Path | None:
    """A folder for a result, if one was asked for."""
    return None if path is None else as_new_folder(path, "out")


def as_new_folder(path: Any, parameter: str) -> Path:
    """The path of a folder that can be made."""
    target = as_path(path, parameter)
    if target.suffix != ENDING:
        raise InvalidInputError(
            f"must end in {ENDING}, got {str(target)!r}",
            parameter=parameter,
            value=target,
            remedy=f"name it {target.stem}{ENDING}",
        )
    if target.exists():
        raise InvalidInputError(
            f"{target} is there already", parameter=parameter, value=target, remedy="name another"
        )
    if not target.parent.is_dir():
        raise MissingDataError(
            f"is in the folder {target.parent}, which does not exist",
            parameter=parameter,
            value=target,
            remedy="make it first",
        )
    return target


def write_folder(affinity: Affinity, target: Path, run: Run | None = None) -> None:
    """Write a sparse affinity to a new folder, whole or not at all; by workers if there are any."""
    if not issparse(affinity.matrix):
        raise InvalidInputError(
            f"has a dense matrix, and {target} is for sparse ones",
            parameter="affinity",
            remedy=["save it to an .npz file", "make EOT with {drop=1e-3}"],
        )
    record, W = to_record(affinity), affinity.matrix
    arrays = {name: value for name, value in record.items() if isinstance(value, np.ndarray)}
    if affinity.potential is not None:
        arrays["potential"] = affinity.potential
    arrays |= dict(zip(_MATRIX, (W.data, W.indices, W.indptr), strict=True))
    words = {name: _plain(value) for name, value in record.items() if name not in arrays}
    encoding = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": W.shape}
    by_workers = run is not None and run.has_workers and W.nnz > _BLOCK_ENTRIES
    with whole_folder(target) as folder:
        _write_group(folder, words | {"digest": digest(words | arrays)})
        _write_group(folder / "matrix", encoding)
        for name, array in arrays.items():
            if by_workers and name in _ENTRIES:
                _describe_array(folder / name, array)
            else:
                _write_array(folder / name, array)
        if by_workers:
            assert run is not None
            _write_by_workers(folder.absolute(), W, run)


def kept_in(folder: Path | None, affinity: Affinity, run: Run) -> Affinity:
    """The affinity, written to a folder and with its matrix mapped from there; or as it is."""
    if folder is None:
        return affinity
    write_folder(affinity, folder, run)
    return replace(affinity, matrix=mapped_matrix(folder))


def _write_by_workers(folder: Path, W: csr_array, run: Run) -> None:
    """The entries of a matrix in blocks of rows; those that fail are written here."""
    for name, array in zip(_ENTRIES, (W.data, W.indices), strict=True):
        with (folder / name / "0").open("wb") as file:
            file.truncate(array.nbytes)
    mark, nonce = folder.parent / _MARK, token_hex()
    mark.write_text(nonce)
    rows = np.searchsorted(W.indptr, range(0, W.nnz, _BLOCK_ENTRIES))
    starts = [*np.unique(W.indptr[rows]).tolist(), W.nnz]
    blocks = [(folder, nonce, a, W.data[a:b], W.indices[a:b]) for a, b in pairwise(starts)]
    written: list[bool] = []
    try:
        for one in run.on_workers("write", _write_if_reached, blocks, _IN_FLIGHT):
            written.append(one)  # noqa: PERF402  (what was written before an error counts)
    except ClusterError as error:
        LOG.warning("%s: %s is written here", error.problem, folder.name)
    left = [block for k, block in enumerate(blocks) if not (k < len(written) and written[k])]
    if left and written:
        LOG.info(
            "workers do not reach %s: %d of %d blocks of rows are written here",
            folder.name, len(left), len(blocks),
        )  # fmt: skip
    for place, _, *block in left:
        _write_block(place, *block)


def _write_if_reached(folder: Path, nonce: str, start: int, *arrays: Any) -> bool:
    """The work of a task: write a block of rows, if this is the folder that the client means."""
    try:
        if (folder.parent / _MARK).read_text() != nonce:
            return False
        _write_block(folder, start, *arrays)
    except OSError:
        return False
    return True


def _write_block(folder: Path, start: int, *arrays: Any) -> None:
    """Entries from `start` on, in their place in files that are there."""
    for name, array in zip(_ENTRIES, arrays, strict=True):
        with (folder / name / "0").open("r+b") as file:
            file.seek(start * array.itemsize)
            file.write(np.ascontiguousarray(array).data)
            file.flush()
            os.fsync(file.fileno())  # so that another machine sees it


def open_folder(source: Path) -> Affinity:
    """The affinity in a folder, with its matrix mapped from there.

    All is read once, to see that nothing is missing or changed; after that what is needed.
    """
    try:
        words = json.loads((source / ".zattrs").read_text())
        require_schema(words, str(source))
        found = words.pop("digest", "")
        places = (*_MATRIX, *(path.parent.name for path in source.glob("*/.zarray")))
        arrays = {name: _mapped(source / name) for name in places}
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise not_whole(source, _WHAT, error) from error
    if found != digest(words | arrays):
        raise InvalidInputError(
            f"{source} was damaged or changed after it was saved", remedy="save the affinity anew"
        )
    matrix = mapped_matrix(source)
    others = {name: array for name, array in arrays.items() if name not in _MATRIX}
    return from_record(words | others, matrix, others.get("potential"), str(source), copy=False)


def mapped_matrix(source: Path) -> csr_array:
    """The matrix in a folder, of which what is needed is read when it is."""
    parts = tuple(_mapped(source / name) for name in _MATRIX)
    n = len(parts[2]) - 1
    return csr_array(parts, shape=(n, n))


def _plain(value: Any) -> Any:
    """A number or a word as JSON knows it."""
    return value.item() if isinstance(value, np.generic) else value


def _write_group(folder: Path, attributes: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / ".zgroup").write_text(json.dumps({"zarr_format": 2}))
    (folder / ".zattrs").write_text(json.dumps(attributes))


def _describe_array(folder: Path, array: Any) -> None:
    """A vector as one chunk, of which nothing is written yet."""
    size = [len(array)]
    about = {"zarr_format": 2, "shape": size, "chunks": [max(1, *size)], "dtype": array.dtype.str}
    about |= {"compressor": None, "filters": None, "fill_value": 0, "order": "C"}
    folder.mkdir()
    (folder / ".zarray").write_text(json.dumps(about))


def _write_array(folder: Path, array: Any) -> None:
    """A vector as one chunk, a part of it at a time."""
    _describe_array(folder, array)
    with (folder / "0").open("wb") as file:
        for start in range(0, len(array), _AT_ONCE):
            file.write(np.ascontiguousarray(array[start : start + _AT_ONCE]).data)


def _mapped(folder: Path) -> Any:
    """What `_write_array` wrote, mapped from its file."""
    about = json.loads((folder / ".zarray").read_text())
    (n,), dtype = about["shape"], np.dtype(about["dtype"])
    if n == 0:
        return np.empty(0, dtype)
    if (folder / "0").stat().st_size != n * dtype.itemsize:
        raise ValueError(f"{folder.name} has not {n} entries")
    return np.memmap(folder / "0", dtype, "r", shape=(n,))
