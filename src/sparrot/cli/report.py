"""`sparrot report`: from a file of points to a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparrot.embedding import summarise
from sparrot.errors import InvalidInputError
from sparrot.extras import load_extra
from sparrot.report import write_report


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Points, what else the file says about them, and the Python lines that read it."""

    X: Any
    load: Sequence[str]
    names: Sequence[str] | None = None
    columns: Any = None
    layouts: Mapping[str, Any] = field(default_factory=dict)


def report(path: Path, output: Path, array: str | None = None, **arguments: Any) -> None:
    """Read points, summarise their affinity, write the page and say where it is.

    Parameters
    ----------
    path : a `.npy` or `.h5ad` file.
    output : the page.
    array : which matrix of a `.h5ad` file: `"X"`, or as in `"obsm/X_pca"`, which is the default
        where it is there.
    arguments : passed on to `sparrot.summarise`.
    """
    source = read_source(path, array)
    summary = summarise(source.X, **arguments)
    write_report(
        output,
        summary,
        names=source.names,
        columns=source.columns,
        layouts=source.layouts,
        title=path.name,
        load=source.load,
    )
    chosen = summary.steps[summary.chosen]
    print(
        f"{summary.shape[0]:,} points, eps = {chosen.eps:.3g} x mean cost, "
        f"{chosen.neighbours.mean():.1f} neighbours a row, marginal error "
        f"{chosen.certificate.marginal_error:.1e}"
    )
    for warning in chosen.warnings:
        print(f"warning: {warning}")
    print(f"Report: {output}")


def read_source(path: Path, array: str | None = None) -> Source:
    """Read a file, chosen by its ending."""
    readers = {".npy": _read_npy, ".h5ad": _read_h5ad}
    if path.suffix not in readers:
        raise InvalidInputError(f"a report needs a .npy or .h5ad file, got {str(path)!r}")
    if not path.is_file():
        raise InvalidInputError(f"there is no file {str(path)!r}")
    return readers[path.suffix](path, array)


def _read_npy(path: Path, array: str | None) -> Source:
    if array is not None:
        raise InvalidInputError(f"a .npy file has one array only, got array={array!r}")
    try:
        X = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InvalidInputError(f"cannot read {str(path)!r}: {error}") from error
    return Source(X, [f"X = np.load({str(path)!r})"])


def _read_h5ad(path: Path, array: str | None) -> Source:
    data = load_extra("anndata", "scanpy").read_h5ad(path)
    if array is None:
        array = "obsm/X_pca" if "X_pca" in data.obsm else "X"
    room, _, key = array.partition("/")
    if array != "X" and (room not in ("obsm", "layers") or key not in getattr(data, room)):
        there = ["X", *(f"obsm/{k}" for k in data.obsm), *(f"layers/{k}" for k in data.layers)]
        raise InvalidInputError(f"{str(path)!r} has {', '.join(there)}, but no {array!r}")
    flat = [key for key, Y in data.obsm.items() if getattr(Y, "shape", (0, 0))[1] == 2]
    load = [
        "import anndata",
        f"data = anndata.read_h5ad({str(path)!r})",
        "X = data.X" if array == "X" else f"X = data.{room}[{key!r}]",
        "names, columns = data.obs_names, data.obs",
        f"layouts = {{key: data.obsm[key] for key in {flat!r}}}",
    ]
    return Source(
        X=data.X if array == "X" else getattr(data, room)[key],
        load=load,
        names=data.obs_names,
        columns=data.obs,
        layouts={key: np.asarray(data.obsm[key]) for key in flat},
    )
