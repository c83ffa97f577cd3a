"""Results into files, by their endings, whole or not at all."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array

import sparrot
from sparrot.errors import InvalidInputError
from sparrot.extras import load_extra
from sparrot.files import whole_file

AFFINITIES = (".npz", ".h5ad", ".mtx")
TABLES = (".npy", ".npz", ".csv", ".tsv", ".parquet", ".h5ad")
RECORDS = (".npz", ".csv", ".tsv", ".parquet")
FIGURES = (".png", ".pdf", ".svg")
_NEEDS = {
    ".parquet": ("pyarrow.parquet", "parquet"),
    ".h5ad": ("anndata", "scanpy"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns with names, and where they belong in an AnnData.

    Attributes
    ----------
    place : as in `"obsm/X_tsne"` or `"obs/cluster"`; the last part names the array in a `.npz`.
    columns : names.
    values : (n, number of columns), or (n,) for one.
    """

    place: str
    columns: Sequence[str]
    values: Any


def require_writable(target: Path | None, kinds: tuple[str, ...]) -> None:
    """Complain before the work, not after it: about an ending, a missing package, a folder."""
    if target is None:
        return
    if target.suffix not in kinds:
        raise InvalidInputError(f"this is written to {' '.join(kinds)} files, got {str(target)!r}")
    if target.suffix in _NEEDS:
        load_extra(*_NEEDS[target.suffix])
    if target.suffix in FIGURES:
        load_extra("matplotlib", "plot").use("Agg")
    if target.is_dir():
        raise InvalidInputError(f"{target} is a folder; name a file in it")
    folder = next(folder for folder in target.absolute().parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInputError(f"cannot write to {folder}; name another folder")


def require_same_cells(target: Path | None, n: int) -> None:
    """Complain if results on n points do not fit into a `.h5ad` file that is there already."""
    if target is None or target.suffix != ".h5ad" or not target.exists():
        return
    with load_extra("h5py", "scanpy").File(target, "r") as file:
        cells = len(load_extra("anndata.io", "scanpy").read_elem(file["obs"]))
    if cells != n:
        raise InvalidInputError(
            f"{target} has {cells} cells, and there are {n} points; they must be the same, or name "
            "a new file"
        )


def write_affinity(affinity: sparrot.Affinity, target: Path, source: Path) -> None:
    """An affinity to `.npz`, `.h5ad` or `.mtx`."""
    if target.suffix == ".mtx":
        with whole_file(target) as temporary:
            mmwrite(temporary, coo_array(affinity.matrix), precision=17)
    elif target.suffix == ".h5ad" and not target.exists() and source.suffix == ".h5ad":
        with whole_file(target) as temporary:
            shutil.copyfile(source, temporary)
            sparrot.save(affinity, temporary)
    else:
        sparrot.save(affinity, target)


def write_table(table: Table, target: Path, source: Path) -> None:
    """Columns to any of `TABLES`; a `.h5ad` file keeps what it, or else the source, has."""
    with whole_file(target) as temporary:
        if target.suffix == ".h5ad":
            base = target if target.exists() else source
            _write_h5ad(table, temporary, base if base.suffix == ".h5ad" else None)
        else:
            _WRITERS[target.suffix](table, temporary)


def write_figure(axes: Any, target: Path) -> None:
    """The figure that some Axes are in."""
    figure = np.ravel(axes)[0].figure
    with whole_file(target) as temporary:
        figure.savefig(temporary, dpi=150)
    load_extra("matplotlib.pyplot", "plot").close(figure)


def _write_npy(table: Table, path: Path) -> None:
    np.save(path, table.values)


def _write_npz(table: Table, path: Path) -> None:
    if table.place:
        arrays = {table.place.rpartition("/")[2]: table.values}
    else:
        arrays = dict(zip(table.columns, np.asarray(table.values).T, strict=True))
    np.savez(path, **arrays)


def _write_text(table: Table, path: Path, delimiter: str) -> None:
    rows = np.asarray(table.values).reshape(-1, len(table.columns)).tolist()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(rows)


def _write_parquet(table: Table, path: Path) -> None:
    parquet, arrow = load_extra("pyarrow.parquet", "parquet"), load_extra("pyarrow", "parquet")
    columns = np.asarray(table.values).reshape(-1, len(table.columns)).T
    named = dict(zip(table.columns, map(np.ascontiguousarray, columns), strict=True))
    parquet.write_table(arrow.table(named), path)


_WRITERS: dict[str, Callable[[Table, Path], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": lambda table, path: _write_text(table, path, ","),
    ".tsv": lambda table, path: _write_text(table, path, "\t"),
    ".parquet": _write_parquet,
}


def _write_h5ad(table: Table, path: Path, base: Path | None) -> None:
    """Into a copy of a file, or into a new one with cells called 0, 1, 2, ..."""
    anndata, pandas = load_extra("anndata", "scanpy"), load_extra("pandas", "scanpy")
    io, h5py = load_extra("anndata.io", "scanpy"), load_extra("h5py", "scanpy")
    n = len(table.values)
    if base is None:
        names = np.arange(n).astype(str)
        anndata.AnnData(obs=pandas.DataFrame(index=names)).write_h5ad(path)
    else:
        shutil.copyfile(base, path)
    room, _, name = table.place.partition("/")
    with h5py.File(path, "r+") as file:
        obs = io.read_elem(file["obs"])
        if room == "obs":
            obs[name] = pandas.Categorical(np.asarray(table.values).astype(str))
            io.write_elem(file, "obs", obs)
        else:
            io.write_elem(file, table.place, np.asarray(table.values))
