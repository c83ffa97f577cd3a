"""Affinities that a file holds already, beside points or instead of them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from sparrot.cli.complaints import FLAGS
from sparrot.cli.targets import ending
from sparrot.errors import InvalidInputError
from sparrot.io._h5ad import list_affinities, list_arrays
from sparrot.io._npz import holds_affinity

# Options about making an affinity, as the parser and the functions call them.
MAKING = (
    "eps",
    "perplexity",
    "metric",
    "k",
    "q",
    "drop",
    "search",
    "checkpoint",
    "tol",
    "max_iter",
)
_ABOUT_POINTS = ("array", "kind", "pca", *MAKING)


def takes_stored(options: Namespace) -> bool:
    """Whether the affinity is read, not made from points.

    A file of an affinity and no points leaves no choice; where both are there, `--affinity` or any
    option about points makes it.

    Raises
    ------
    InvalidInputError
        If the options contradict the file or each other, or say nothing where there is a choice.
    """
    path: Path = options.path
    asked = _asked(options)
    if options.affinity is not None:
        if ending(path) != ".h5ad":
            raise InvalidInputError(f"--affinity is for .h5ad files, got {str(path)!r}")
        _refuse(asked, "--affinity takes one that is stored")
        return True
    if ending(path) == ".h5ad" and path.is_file():
        return _takes_stored_of_cells(options, asked)
    if ending(path) != ".npz" or not holds_affinity(path):
        return False
    _refuse(asked, f"{path} is an affinity already")
    return True


def _takes_stored_of_cells(options: Namespace, asked: str) -> bool:
    keys, arrays = contents(options.path)
    if not keys or options.array is not None:
        return False
    if "X" not in arrays:
        _refuse(asked, f"{options.path} is an affinity already")
        return True
    if not asked and options.command != "affinity":
        raise InvalidInputError(
            f"{options.path} holds points and an affinity; say --affinity {keys[0]} to take it, or "
            "--array X to make one from the points"
        )
    return False


def contents(path: Path) -> tuple[list[str], list[str]]:
    """What a `.h5ad` file holds: keys of affinities, and arrays of points."""
    return list_affinities(path), list_arrays(path)


def _asked(options: Namespace) -> str:
    """The first option about points that was given."""
    given = (FLAGS[name] for name in _ABOUT_POINTS if getattr(options, name, None) is not None)
    return next(given, "")


def _refuse(asked: str, why: str) -> None:
    if asked:
        raise InvalidInputError(
            f"{why}, and {asked} is about making one; leave it out, or give the points"
        )
