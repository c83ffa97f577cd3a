"""The formats by their endings, in one table: what reads and writes each, and what it can hold.

To add one, write a module with a `read_matrix`, and with what its line in `FORMATS` promises. The
table names modules and loads them when they are used, so that help need not wait for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sparrot.errors import MissingDataError, load_extra


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes
    ----------
    module : in this room, with `read_matrix`.
    names : whether rows can have names: then the module has `read_names`.
    holds : what results can go there: a `"table"` of points, a `"record"` (a table whose rows are
        no points, with names of its columns), both by `write_table`; an `"affinity"`, by
        `write_affinity`, `read_affinity` and `holds_affinity`; or only its `"matrix"`, by
        `write_matrix`, or its `"entries"`, as a table.
    lacks : why not, for results where that is worth a word.
    keeps : whether results are added to what is in a file already.
    options : the arguments of `read_points` that are for this format; with `"label"` the module
        has `read_column`, with `"without"` it has `read_columns` and `list_columns`.
    needs : a package that must be there, and the extra that brings it.

    Examples
    --------
    >>> FORMATS[".parquet"].options, FORMATS[".parquet"].holds
    (('label', 'without'), ('table', 'record', 'entries'))
    """

    module: str
    names: bool = False
    holds: tuple[str, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)
    keeps: bool = False
    options: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None

    def load(self) -> Any:
        """The module."""
        return import_module(f"sparrot.io.{self.module}")

    def require(self) -> None:
        """Raise if the package is missing."""
        if self.needs is not None:
            load_extra(*self.needs)


_LISTS = ("table", "record", "entries")
_TEXT = Format("_text", names=True, holds=_LISTS, options=("header", "names", "label", "without"))
_MATRIX = Format("_matrix_market", holds=("table", "matrix"))
FORMATS = {
    ".npy": Format(
        "_numpy",
        holds=("table",),
        lacks={
            "affinity": "which would hold all n x n entries",
            "record": "which has no names for the columns",
        },
    ),
    ".npz": Format("_numpy", names=True, holds=("table", "record", "affinity"), options=("array",)),
    ".csv": _TEXT,
    ".tsv": _TEXT,
    ".csv.gz": replace(_TEXT, holds=()),
    ".tsv.gz": replace(_TEXT, holds=()),
    ".parquet": Format(
        "_parquet",
        names=True,
        holds=_LISTS,
        options=("label", "without"),
        needs=("pyarrow.parquet", "parquet"),
    ),
    ".h5ad": Format(
        "_h5ad",
        names=True,
        holds=("table", "affinity"),
        keeps=True,
        options=("array", "label"),
        needs=("anndata", "scanpy"),
    ),
    ".mtx": _MATRIX,
    ".mtx.gz": replace(_MATRIX, holds=()),
}


def ending(path: Path) -> str:
    """The suffix in small letters, with the one before `.gz`.

    Examples
    --------
    >>> ending(Path("A.NPZ")), ending(Path("cells.v2.csv.gz")), ending(Path("a"))
    ('.npz', '.csv.gz', '')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def formats_holding(*results: str) -> tuple[str, ...]:
    """The endings of files that can hold one of these results.

    Examples
    --------
    >>> formats_holding("affinity"), formats_holding("matrix", "entries")
    (('.npz', '.h5ad'), ('.csv', '.tsv', '.parquet', '.mtx'))
    """
    return tuple(name for name, each in FORMATS.items() if {*results} & {*each.holds})


def formats_taking(option: str) -> tuple[str, ...]:
    """The endings of files for which `read_points` has an option.

    Examples
    --------
    >>> formats_taking("array")
    ('.npz', '.h5ad')
    """
    return tuple(name for name, each in FORMATS.items() if option in each.options)


def require_file(path: Path) -> None:
    """Raise if there is no such file."""
    if not path.is_file():
        raise MissingDataError(
            f"{path} {'is a folder' if path.is_dir() else 'does not exist'}",
            parameter="path",
            value=path,
            remedy="name a file in it" if path.is_dir() else "check the spelling",
        )
