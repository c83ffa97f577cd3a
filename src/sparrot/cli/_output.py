"""Results into files, by their endings, whole or not at all.

What speaks against a target is found before the work, not after it.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array

import sparrot
from sparrot._extras import load_extra
from sparrot._files import whole_file
from sparrot.errors import InvalidInputError
from sparrot.io import _h5ad as h5ad
from sparrot.io._points import read_names

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
    (AFFINITIES, ".npy"): ", which would hold all n x n entries",
    (RECORDS, ".npy"): ", which has no names for the columns",
}
_NAMED = (".csv", ".tsv", ".parquet")
_INDEX = {  # how pandas keeps an index without a name
    "name": None,
    "field_name": "__index_level_0__",
    "pandas_type": "unicode",
    "numpy_type": "object",
    "metadata": None,
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
    """Raise if the result or the figure cannot be written where they should go."""
    require_writable(options.output, kinds)
    require_writable(options.plot, FIGURES, "plot")
    require_other_file(options.output, options.path)
    checkpoint: Path | None = getattr(options, "checkpoint", None)
    if options.output and checkpoint and options.output.resolve() == checkpoint.resolve():
        raise InvalidInputError(
            f"{options.output} cannot be result and checkpoint", remedy="name two files"
        )
    if options.plot is not None and getattr(options, "n_components", 2) < 2:
        raise InvalidInputError(
            "a scatter plot needs two coordinates",
            remedy=["take {n_components=2}", "leave out {plot}"],
        )


def require_writable(
    target: Path | None, kinds: tuple[str, ...], parameter: str = "output"
) -> None:
    """Raise if the ending is not one of these, its package is missing, or the folder is closed."""
    if target is None:
        return
    kind = ending(target)
    if kind not in kinds:
        raise InvalidInputError(
            f"is written to {' '.join(kinds)} files, got {str(target)!r}"
            f"{_WHY_NOT.get((kinds, kind), '')}",
            parameter=parameter,
            value=target,
        )
    if kind in _NEEDS:
        load_extra(*_NEEDS[kind])
    if kind in FIGURES:
        load_extra("matplotlib", "plot").use("Agg")
    if target.is_dir():
        raise InvalidInputError(f"{target} is a folder", remedy="name a file in it")
    folder = next(folder for folder in target.resolve().parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInputError(f"cannot write to {folder}", remedy="name another folder")


def require_other_file(target: Path | None, source: Path) -> None:
    """Raise if the result would replace the input; a `.h5ad` file keeps what it has."""
    if target is None or ending(target) == ".h5ad" or not target.exists() or not source.exists():
        return
    if target.samefile(source):
        raise InvalidInputError(
            f"{target} is the input, and would be lost", remedy="name another file"
        )


def require_same_cells(target: Path | None, n: int) -> None:
    """Raise if results on n points do not fit into a `.h5ad` file that is there already."""
    if target is None or ending(target) != ".h5ad" or not target.exists():
        return
    cells = len(h5ad.read_obs(target))
    if cells != n:
        raise InvalidInputError(
            f"{target} has {cells} cells, and there are {n} points",
            remedy=["give the points of these cells", "name a new file"],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns with names, and where they belong in an AnnData.

    Attributes
    ----------
    columns : (n,) numbers each, by name.
    place : as in `"obsm/X_tsne"` or `"obs/cluster"`; the last part names the array in a `.npz`.
        Without a place the rows are not points, and each column is an array of its own there.
    names : of the points, if they have any: a first column without a heading.
    """

    columns: Mapping[str, Any]
    place: str = ""
    names: Sequence[str] | None = None

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
    """Write the result and the figure, as far as they were asked for: both appear, or none."""
    with ExitStack() as files:
        if options.output is not None:
            temporary = files.enter_context(whole_file(options.output))
            base = _base(options.output, options.path)
            write_result(result, temporary, base, _names(result, temporary, options.path))
        if options.plot is not None:
            _save_figure(draw(), files.enter_context(whole_file(options.plot)))


def write_result(
    result: Table | sparrot.Affinity,
    path: Path,
    base: Path | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Write a result to a new file: a copy of `base` for `.h5ad`, if there is one."""
    if ending(path) == ".h5ad":
        _begin_cells(result, path, base, names)
    if not isinstance(result, sparrot.Affinity):
        _WRITERS[ending(path)](replace(result, names=names), path)
    elif ending(path) in (".npz", ".h5ad"):
        sparrot.save(result, path)
    elif ending(path) == ".mtx":
        mmwrite(path, coo_array(result.matrix), precision=17)
    else:
        _WRITERS[ending(path)](edges(result), path)


def edges(affinity: sparrot.Affinity) -> Table:
    """Row, column (counted from 0) and weight of every stored entry of the matrix.

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


def _names(result: Table | sparrot.Affinity, target: Path, source: Path) -> list[str] | None:
    """The names of the points, if the result is about points and its file has a place for them."""
    cells = ending(target) == ".h5ad"
    table = isinstance(result, Table) and result.place and ending(target) in _NAMED
    return read_names(source) if source.is_file() and (cells or table) else None


def _begin_cells(
    result: Table | sparrot.Affinity, path: Path, base: Path | None, names: Sequence[str] | None
) -> None:
    """A copy of the base, or a new `.h5ad` file of cells with these names, or 0, 1, 2, ..."""
    if base is not None:
        shutil.copyfile(base, path)
        return
    n = len(result.values) if isinstance(result, Table) else result.matrix.shape[0]
    h5ad.write_new(path, [str(i) for i in range(n)] if names is None else names)


def _save_figure(axes: Any, path: Path) -> None:
    """Save the figure that some Axes are in."""
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
        if table.names is not None:
            columns.insert(0, list(table.names))
        writer.writerow([*([""] if table.names is not None else []), *table.columns])
        writer.writerows(zip(*columns, strict=True))


def _write_parquet(table: Table, path: Path) -> None:
    parquet, arrow = load_extra("pyarrow.parquet", "parquet"), load_extra("pyarrow", "parquet")
    named = {name: np.ascontiguousarray(column) for name, column in table.columns.items()}
    written = arrow.table(named)
    if table.names is not None:
        written = written.append_column(_INDEX["field_name"], arrow.array(table.names))
        about = {"index_columns": [_INDEX["field_name"]], "columns": [_INDEX], "column_indexes": []}
        written = written.replace_schema_metadata({"pandas": json.dumps(about)})
    parquet.write_table(written, path)


def _write_mtx(table: Table, path: Path) -> None:
    mmwrite(path, table.values.reshape(-1, len(table.columns)), precision=17)


def _write_h5ad(table: Table, path: Path) -> None:
    """Add the table to the file that is there."""
    values = table.values
    require_same_cells(path, len(values))
    part, _, name = table.place.partition("/")
    if part == "obs":
        obs = h5ad.read_obs(path)
        obs[name] = load_extra("pandas", "scanpy").Categorical(values.astype(str))
        h5ad.write_parts(path, {"obs": obs})
    else:
        h5ad.write_parts(path, {table.place: values})


_WRITERS: dict[str, Callable[[Table, Path], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": lambda table, path: _write_text(table, path, ","),
    ".tsv": lambda table, path: _write_text(table, path, "\t"),
    ".parquet": _write_parquet,
    ".h5ad": _write_h5ad,
    ".mtx": _write_mtx,
}
