"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`: renamed to it on success, removed on failure.

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
    try:
        folder = Path(mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:  # it names the temporary folder, not the file that was asked for
        raise type(error)(error.errno, error.strerror, str(path)) from error
    temporary = folder / f"{named.stem}{named.suffix.lower()}"
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
