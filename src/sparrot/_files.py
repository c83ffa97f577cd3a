"""Files that appear whole or not at all, and a digest of what is in them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MARK = ".sparrot-"
_OURS = re.compile(re.escape(_MARK) + "[0-9a-f]{8}")
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_open_folders: set[Path] = set()


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`: renamed to it on success, removed on failure.

    The file is on the disk before it takes its name, and has the mode of the one that it replaces.
    A link stays a link: the file that it points to is replaced. The temporary path has the ending
    of `path` in small letters, as writers that look at the ending expect.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
    ('whole', 1)
    """
    named, target = Path(path), Path(path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _folder_beside(target, path) as folder:
        temporary = folder / f"{named.stem}{named.suffix.lower()}"
        yield temporary
        _flush(temporary)
        if target.exists():
            temporary.chmod(S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """The same for a folder, which must not be there yet: a temporary one, that exists.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "a"
    >>> with whole_folder(folder) as temporary:
    ...     _ = (temporary / "b.txt").write_text("whole")
    >>> [file.name for file in folder.iterdir()], len(list(folder.parent.iterdir()))
    (['b.txt'], 1)
    """
    with _folder_beside(path, path) as folder:
        temporary = folder / path.name
        temporary.mkdir()
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                _flush(file)
        os.rename(temporary, path)


@contextmanager
def _folder_beside(target: Path, path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder that is there for a while; errors about what is in it name the path instead."""
    try:
        folder, lock = _new_folder(target.parent)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
    try:
        yield folder
    except OSError as error:
        about_us = str(error.filename).startswith(str(folder))
        if error.errno is None or not (about_us or _is_full(error)):
            raise
        raise type(error)(error.errno, os.strerror(error.errno), str(path)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _open_folders.discard(folder)
        if lock is not None:
            os.close(lock)


def _flush(file: Path) -> None:
    """Have a file on the disk: some are found to be full only now."""
    with file.open("r+b") as written:
        os.fsync(written.fileno())


def _is_full(error: OSError) -> bool:
    """Whether there was no room for a file, which some writers do not name."""
    return error.filename is None and error.errno in _NO_ROOM


def remove_open_files() -> None:
    """Remove what this process has not finished: for its last moments, it cannot go on then."""
    for folder in list(_open_folders):
        shutil.rmtree(folder, ignore_errors=True)


def _new_folder(parent: Path) -> tuple[Path, int | None]:
    """A folder for a temporary file, and a lock on it that ends with this process."""
    _remove_leftovers(parent)
    while True:
        folder = parent / f"{_MARK}{secrets.token_hex(4)}"
        _open_folders.add(folder)  # before it is there: the process may end at any time
        try:
            with suppress(FileExistsError):
                folder.mkdir(0o700)
                with suppress(BlockingIOError, FileNotFoundError):
                    lock = _locked(folder)
                    if folder.is_dir():
                        return folder, lock
                # Another process took it for a leftover before it was locked.
        except OSError:  # in /proc there is "no such file": that is not taken for another process
            shutil.rmtree(folder, ignore_errors=True)
            _open_folders.discard(folder)
            raise
        _open_folders.discard(folder)


def _locked(folder: Path) -> int | None:
    """A lock on a folder, None where there are no locks; raises if somebody holds it."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # a file system without locks
        os.close(descriptor)
        return None
    return descriptor


def _remove_leftovers(parent: Path) -> None:
    """Remove the temporary folders of processes that were killed: nobody holds their locks."""
    for name in filter(_OURS.fullmatch, _names_in(parent)):
        with suppress(OSError):
            lock = _locked(parent / name)
            if lock is not None:
                shutil.rmtree(parent / name, ignore_errors=True)
                os.close(lock)


def _names_in(parent: Path) -> list[str]:
    try:
        return os.listdir(parent)
    except PermissionError:  # one may write here, but not look
        return []


def digest(arrays: Mapping[str, Any]) -> str:
    """A digest of arrays with their names: of other contents it is another.

    Examples
    --------
    >>> import numpy as np
    >>> digest({"a": np.arange(2), "b": 1.0}) == digest({"b": 1.0, "a": np.arange(2)})
    True
    >>> digest({"a": np.arange(2)}) == digest({"a": np.arange(2.0)})
    False
    """
    import numpy as np  # which `sparrot --help` does without

    found = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {np.shape(arrays[name])} ".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()
