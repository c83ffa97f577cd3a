"""Results into files, by their endings, whole or not at all."""

from __future__ import annotations

import csv
import shutil
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array

import sparrot
from sparrot.cli.targets import ending, require_same_cells
from sparrot.extras import load_extra
from sparrot.files import whole_file


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns with names, and where they belong in an AnnData.

    Attributes
    ----------
    columns : (n,) numbers each, by name.
    place : as in `"obsm/X_tsne"` or `"obs/cluster"`; the last part names the array in a `.npz`.
        Without a place each column is an array of its own there.
    """

    columns: Mapping[str, Any]
    place: str = ""

    @property
    def values(self) -> Any:
        """All columns as a matrix, or a column of obs as it is."""
        if self.place.startswith("obs/"):
            return np.asarray(*self.columns.values())
        return np.column_stack(list(self.columns.values()))


def coordinates(Y: Any, name: str) -> Table:
    """The columns of Y as `name_1`, `name_2`, ...

    Examples
    --------
    >>> coordinates(np.eye(2), "map").columns
    {'map_1': array([1., 0.]), 'map_2': array([0., 1.])}
    """
    return Table({f"{name}_{k}": y for k, y in enumerate(Y.T, 1)}, f"obsm/X_{name}")


def write_results(
    options: Namespace, result: Table | sparrot.Affinity, draw: Callable[[], Any]
) -> None:
    """The result and the figure, as far as they were asked for: both appear, or none."""
    with ExitStack() as files:
        if options.output is not None:
            temporary = files.enter_context(whole_file(options.output))
            write_result(result, temporary, _base(options.output, options.path))
        if options.plot is not None:
            _save_figure(draw(), files.enter_context(whole_file(options.plot)))


def write_result(result: Table | sparrot.Affinity, path: Path, base: Path | None = None) -> None:
    """One result to a new file; a `.h5ad` file keeps what its base has."""
    if ending(path) == ".h5ad" and base is not None:
        shutil.copyfile(base, path)
    if not isinstance(result, sparrot.Affinity):
        _WRITERS[ending(path)](result, path)
    elif ending(path) in (".npz", ".h5ad"):
        sparrot.save(result, path)
    elif ending(path) == ".mtx":
        mmwrite(path, coo_array(result.matrix), precision=17)
    else:
        _WRITERS[ending(path)](edges(result), path)


def edges(affinity: sparrot.Affinity) -> Table:
    """Every stored entry of the matrix: where it is, counted from 0, and its weight.

    Examples
    --------
    >>> edges(sparrot.qot(np.array([[0.0], [1.0]]))).columns["j"]
    array([1, 0]...)
    """
    W = coo_array(affinity.matrix)
    i, j = W.coords
    return Table({"i": i, "j": j, "weight": W.data})


def _base(target: Path, source: Path) -> Path | None:
    """The file that a `.h5ad` file adds to: what is there, or else the source."""
    if ending(target) != ".h5ad":
        return None
    if target.exists():
        return target
    return source if ending(source) == ".h5ad" else None


def _save_figure(axes: Any, path: Path) -> None:
    """The figure that some Axes are in."""
    figure = np.ravel(axes)[0].figure
    figure.savefig(path, dpi=150)
    load_extra("matplotlib.pyplot", "plot").close(figure)


def _write_npy(table: Table, path: Path) -> None:
    np.save(path, table.values)


def _write_npz(table: Table, path: Path) -> None:
    named = {table.place.rpartition("/")[2]: table.values} if table.place else table.columns
    np.savez(path, **named)


def _write_text(table: Table, path: Path, delimiter: str) -> None:
    columns = [np.asarray(column).tolist() for column in table.columns.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(zip(*columns, strict=True))


def _write_parquet(table: Table, path: Path) -> None:
    parquet, arrow = load_extra("pyarrow.parquet", "parquet"), load_extra("pyarrow", "parquet")
    named = {name: np.ascontiguousarray(column) for name, column in table.columns.items()}
    parquet.write_table(arrow.table(named), path)


def _write_mtx(table: Table, path: Path) -> None:
    mmwrite(path, table.values.reshape(-1, len(table.columns)), precision=17)


def _write_h5ad(table: Table, path: Path) -> None:
    """Into the file that is there, or into a new one with cells called 0, 1, 2, ..."""
    anndata, pandas = load_extra("anndata", "scanpy"), load_extra("pandas", "scanpy")
    io, h5py = load_extra("anndata.io", "scanpy"), load_extra("h5py", "scanpy")
    values = table.values
    if path.exists():
        require_same_cells(path, len(values))
    else:
        names = np.arange(len(values)).astype(str)
        anndata.AnnData(obs=pandas.DataFrame(index=names)).write_h5ad(path)
    room, _, name = table.place.partition("/")
    with h5py.File(path, "r+") as file:
        if room == "obs":
            obs = io.read_elem(file["obs"])
            obs[name] = pandas.Categorical(values.astype(str))
            io.write_elem(file, "obs", obs)
        else:
            io.write_elem(file, table.place, values)


_WRITERS: dict[str, Callable[[Table, Path], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": lambda table, path: _write_text(table, path, ","),
    ".tsv": lambda table, path: _write_text(table, path, "\t"),
    ".parquet": _write_parquet,
    ".h5ad": _write_h5ad,
    ".mtx": _write_mtx,
}
