"""Results into files, by their endings, whole or not at all.

What speaks against a target is found before the work, not after it.
"""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

import sparrot
from sparrot._files import whole_file
from sparrot.errors import InvalidInputError, counted, load_extra
from sparrot.io import (
    FORMATS,
    Table,
    ending,
    formats_holding,
    read_names,
    require_cells,
    write_entries,
    write_new_anndata,
    write_table,
)
from sparrot.plot._categories import are_numbers, as_numbers

AFFINITIES = formats_holding("affinity", "matrix", "entries")
TABLES = formats_holding("table")
RECORDS = formats_holding("record")
FIGURES = (".png", ".pdf", ".svg")
PAGES = (".html",)
_RESULTS = {AFFINITIES: "affinity", RECORDS: "record"}  # of which a format may say why not


def check_targets(options: Namespace, kinds: tuple[str, ...]) -> None:
    """Raise if the result or the figure cannot be written where they should go."""
    require_writable(options.output, kinds)
    require_writable(options.plot, FIGURES, "plot")
    for source in (options.path, getattr(options, "labels_in", None)):
        require_other_file(options.output, source)
    checkpoint: Path | None = getattr(options, "checkpoint", None)
    if options.output and checkpoint and options.output.resolve() == checkpoint.resolve():
        raise InvalidInputError(
            f"{options.output} is the checkpoint as well",
            parameter="output",
            value=options.output,
            remedy="name two files",
        )
    if options.plot is not None and getattr(options, "n_components", 2) < 2:
        raise InvalidInputError(
            "is a scatter plot, which needs two coordinates",
            parameter="plot",
            value=options.plot,
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
        lacks = FORMATS[kind].lacks if kind in FORMATS else {}
        why = lacks.get(_RESULTS.get(kinds, ""), "")
        raise InvalidInputError(
            f"must end in {', '.join(kinds)}, got {str(target)!r}{why and f', {why}'}",
            parameter=parameter,
            value=target,
            remedy="name a figure by {plot}" if kind in FIGURES and ".npz" in kinds else "",
        )
    if kind in FORMATS:
        FORMATS[kind].require()
    if kind in FIGURES:
        load_extra("matplotlib", "plot").use("Agg")
    if target.is_dir():
        raise InvalidInputError(
            f"{target} is a folder", parameter=parameter, value=target, remedy="name a file in it"
        )
    folder = next(folder for folder in target.resolve().parents if folder.exists())
    if not folder.is_dir() or not _takes_files(folder):
        raise InvalidInputError(
            f"{target} cannot be made, as {folder} is "
            f"{'not writable' if folder.is_dir() else 'not a folder'}",
            parameter=parameter,
            value=target,
            remedy="name another folder",
        )


def _takes_files(folder: Path) -> bool:
    """Whether a file can be made in a folder; what its permissions say need not be so."""
    try:
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def require_other_file(target: Path | None, source: Path | None) -> None:
    """Raise if the result would replace the input; a `.h5ad` file keeps what it has."""
    if target is None or source is None:
        return
    if _keeps(target) or not target.exists() or not source.exists():
        return
    if target.samefile(source):
        raise InvalidInputError(
            f"{target} is the input, and would be lost",
            parameter="output",
            value=target,
            remedy="name another file",
        )


def require_same_cells(target: Path | None, n: int) -> None:
    """Raise if results on n points do not fit into a `.h5ad` file that is there already."""
    if target is not None and _keeps(target) and target.exists():
        require_cells(target, n, "output")


def coordinates(Y: Any, name: str) -> Table:
    """The columns of Y as `name_1`, `name_2`, ...

    Examples
    --------
    >>> coordinates(np.eye(2), "map").columns
    {'map_1': array([1., 0.]), 'map_2': array([0., 1.])}
    """
    return Table({f"{name}_{k}": y for k, y in enumerate(Y.T, 1)}, f"obsm/X_{name}")


def draw_layout(
    Y: Any, name: str, labels: Any = None, label: str | None = None, title: str = ""
) -> Any:
    """Points with coordinates by these, in the colors of their labels, on axes with names."""
    shown = np.isfinite(Y).all(axis=1)
    color: dict[str, Any] = {}
    if labels is not None:
        color = {"values": as_numbers(labels)} if are_numbers(labels) else {"labels": labels}
        color["name"] = label
    ax = sparrot.plot.embedding(Y, **color)
    ax.set(xlabel=f"{name} 1", ylabel=f"{name} 2")
    low, high = frame(Y[shown, :2])
    beyond = int(((Y[shown, :2] < low) | (Y[shown, :2] > high)).any(axis=1).sum())
    if beyond:
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        said = f"{counted(beyond, 'point')} of {shown.sum():,} beyond the frame"
        title = f"{title}\n{said}" if title else said
    ax.set_title(title)
    return ax


def frame(Y: Any) -> tuple[Any, Any]:
    """Corners of a box about all points; about most of them, if a few are so far that they hide it.

    These are fewer than one in a hundred, and would make a side more than three times as long.

    Examples
    --------
    >>> Y = np.column_stack([np.arange(1000.0), np.append(np.arange(999.0), 1e5)])
    >>> frame(Y)
    (array([  0.    , -44.4555]), array([ 999.    , 1043.4555]))
    """
    low, high = Y.min(axis=0), Y.max(axis=0)
    inner_low, inner_high = np.quantile(Y, [0.005, 0.995], axis=0)
    side = inner_high - inner_low
    far = high - low > 3 * side
    room = 0.05 * side
    return np.where(far, inner_low - room, low), np.where(far, inner_high + room, high)


def write_results(
    options: Namespace, result: Table | sparrot.Affinity, draw: Callable[[], Any]
) -> None:
    """Write the result and the figure, as far as they were asked for: both appear, or none."""
    with ExitStack() as files:
        if options.output is not None:
            temporary = files.enter_context(whole_file(options.output))
            base = _base(options.output, options.path)
            names = _names(result, temporary, options)
            write_result(result, temporary, base, names, _use_rep(options, base))
        if options.plot is not None:
            _save_figure(draw(), files.enter_context(whole_file(options.plot)))


def write_result(
    result: Table | sparrot.Affinity,
    path: Path,
    base: Path | None = None,
    names: Sequence[str] | None = None,
    use_rep: str | None = None,
) -> None:
    """Write a result to a new file: a copy of `base` for `.h5ad`, if there is one.

    `use_rep` is what in that copy an affinity was made from, where that is known.
    """
    if _keeps(path):
        _begin_cells(result, path, base, names)
    if isinstance(result, Table):
        write_table(replace(result, names=names), path)
    elif _keeps(path):  # cells, which have their names
        sparrot.save(result, path, use_rep=use_rep)
    elif ending(path) in formats_holding("affinity"):
        FORMATS[ending(path)].load().write_affinity(result, path, names)
    else:
        write_entries(result, path)


def _base(target: Path, source: Path) -> Path | None:
    """The file that a `.h5ad` file adds to: what is there, or else the source."""
    if not _keeps(target):
        return None
    if target.exists():
        return target
    return source if ending(source) == ending(target) else None


def _use_rep(options: Namespace, base: Path | None) -> str | None:
    """The name that scanpy has for the points, if they are in the base as they are."""
    array: str | None = getattr(options, "array", None)
    if array is None or base is None or not base.samefile(options.path):
        return None
    if options.pca is not None or options.standardize or options.metric == "precomputed":
        return None
    part, _, key = array.partition("/")
    return {"X": "X", "obsm": key}.get(part)


def _keeps(target: Path) -> bool:
    """Whether results are added to what is in the file."""
    return ending(target) in FORMATS and FORMATS[ending(target)].keeps


def _names(result: Table | sparrot.Affinity, target: Path, options: Namespace) -> list[str] | None:
    """The names of the points, if the result is about points and its file has a place for them."""
    about_points = not isinstance(result, Table) or result.place != ""
    places = TABLES if isinstance(result, Table) else formats_holding("affinity")
    has_place = ending(target) in places and FORMATS[ending(target)].names
    if not about_points or not has_place or not options.path.is_file():
        return None
    text = {name: getattr(options, name, None) for name in ("header", "names")}
    names = read_names(options.path, **text)
    return names if names is not None and len(names) == _rows(result) else None


def _rows(result: Table | sparrot.Affinity) -> int:
    return len(result.values) if isinstance(result, Table) else int(result.matrix.shape[0])


def _begin_cells(
    result: Table | sparrot.Affinity, path: Path, base: Path | None, names: Sequence[str] | None
) -> None:
    """A copy of the base, or a new `.h5ad` file of cells with these names, or 0, 1, 2, ..."""
    if base is not None:
        shutil.copyfile(base, path)
        return
    write_new_anndata(path, map(str, range(_rows(result))) if names is None else names)


def _save_figure(axes: Any, path: Path) -> None:
    """Save the figure that some Axes are in."""
    figure, drawn = np.ravel(axes)[0].figure, BytesIO()
    figure.savefig(drawn, dpi=150, format=ending(path)[1:])  # matplotlib stumbles over a full disk
    path.write_bytes(drawn.getvalue())
    load_extra("matplotlib.pyplot", "plot").close(figure)
