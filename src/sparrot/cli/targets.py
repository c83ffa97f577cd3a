"""Where results may go: complaints about a target come before the work, not after it."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from sparrot._extras import load_extra
from sparrot.errors import InvalidInputError
from sparrot.io._h5ad import read_obs

AFFINITIES = (".npz", ".csv", ".tsv", ".parquet", ".h5ad", ".mtx")
TABLES = (".npy", *AFFINITIES)
RECORDS = (".npz", ".csv", ".tsv", ".parquet")
FIGURES = (".png", ".pdf", ".svg")
PAGES = (".html",)
_NEEDS = {
    ".parquet": ("pyarrow.parquet", "parquet"),
    ".h5ad": ("anndata", "scanpy"),
}
_WHY_NOT = {
    AFFINITIES: {".npy": "a .npy file would hold all n x n entries"},
    RECORDS: {".npy": "a .npy file has no names for the columns"},
}


def ending(path: Path) -> str:
    """The last suffix, in small letters.

    Examples
    --------
    >>> ending(Path("A.NPZ"))
    '.npz'
    """
    return path.suffix.lower()


def check_targets(options: Namespace, kinds: tuple[str, ...]) -> None:
    """Complain about the result's file or the figure's."""
    require_writable(options.output, kinds)
    require_writable(options.plot, FIGURES)
    require_other_file(options.output, options.path)
    _require_two_files(options.output, getattr(options, "checkpoint", None))


def require_writable(target: Path | None, kinds: tuple[str, ...]) -> None:
    """Complain about an ending, a missing package, a folder."""
    if target is None:
        return
    kind = ending(target)
    if kind not in kinds:
        why = _WHY_NOT.get(kinds, {}).get(kind)
        raise InvalidInputError(
            f"this is written to {' '.join(kinds)} files, got {str(target)!r}"
            + (f"; {why}" if why else "")
        )
    if kind in _NEEDS:
        load_extra(*_NEEDS[kind])
    if kind in FIGURES:
        load_extra("matplotlib", "plot").use("Agg")
    if target.is_dir():
        raise InvalidInputError(f"{target} is a folder; name a file in it")
    folder = next(folder for folder in target.resolve().parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInputError(f"cannot write to {folder}; name another folder")


def require_other_file(target: Path | None, source: Path) -> None:
    """Complain if the result would replace the input; a `.h5ad` file keeps what it has."""
    if target is None or ending(target) == ".h5ad" or not target.exists() or not source.exists():
        return
    if target.samefile(source):
        raise InvalidInputError(f"{target} is the input, and would be lost; name another file")


def _require_two_files(target: Path | None, checkpoint: Path | None) -> None:
    """Complain if the result would replace the checkpoint."""
    if target is None or checkpoint is None or target.resolve() != checkpoint.resolve():
        return
    raise InvalidInputError(f"{target} cannot be result and checkpoint; name two files")


def require_same_cells(target: Path | None, n: int) -> None:
    """Complain if results on n points do not fit into a `.h5ad` file that is there already."""
    if target is None or ending(target) != ".h5ad" or not target.exists():
        return
    try:
        cells = len(read_obs(target))
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{target} is there and is not a whole .h5ad file ({error.__cause__}); name a new file"
        ) from error
    if cells != n:
        raise InvalidInputError(
            f"{target} has {cells} cells, and there are {n} points; they must be the same, or name "
            "a new file"
        )
