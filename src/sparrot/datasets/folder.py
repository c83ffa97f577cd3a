"""Where real data is: in the folder that `SPARROT_DATA` names; none comes with the package."""

from __future__ import annotations

import os
from pathlib import Path

from sparrot.errors import MissingDataError

VARIABLE = "SPARROT_DATA"


def data_folder() -> Path | None:
    """The folder that `SPARROT_DATA` names, None if it names none.

    Raises
    ------
    MissingDataError : the variable names a folder that does not exist.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise MissingDataError(f"{VARIABLE} is {named!r}, which is not a folder")
    return folder


def find_data(*names: str) -> Path | None:
    """The first of these files that the data folder has.

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
    """A file of the data folder, or an error that says what is missing where."""
    path = find_data(name)
    if path is None:
        where = data_folder()
        said = f"{where} has none" if where else f"{VARIABLE} names no folder"
        raise MissingDataError(
            f"{what} needs the file {name}, but {said}; set {VARIABLE} to the folder that has it"
        )
    return path
