"""Where real data is: in the folder that the variable `SPARROT_DATA` names.

No data comes with the package.
"""

from __future__ import annotations

import os
from pathlib import Path

from sparrot.errors import MissingDataError

VARIABLE = "SPARROT_DATA"


def data_folder() -> Path | None:
    """The folder that `SPARROT_DATA` names; None if it is not set.

    Raises
    ------
    MissingDataError : the variable names a folder that does not exist.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise MissingDataError(
            f"{VARIABLE} is {named!r}, which is not a folder", remedy="set it to the data folder"
        )
    return folder


def find_data(*names: str) -> Path | None:
    """The first of these files that the data folder has; None if it has none of them.

    Examples
    --------
    >>> find_data("no-such-file.npz") is None
    True
    """
    folder = data_folder()
    if folder is None:
        return None
    return next((folder / name for name in names if (folder / name).exists()), None)


def need_data(name: str, what: str) -> Path:
    """A file of the data folder; a `MissingDataError` that names it if it is not there."""
    path = find_data(name)
    if path is None:
        folder = data_folder()
        lacking = f"{folder} has none" if folder else f"{VARIABLE} names no folder"
        raise MissingDataError(
            f"{what} needs the file {name}, but {lacking}",
            remedy=f"set {VARIABLE} to the folder that has it",
        )
    return path
