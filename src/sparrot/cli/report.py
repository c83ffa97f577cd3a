"""`sparrot report`: from a file of points to a page."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparrot.cli.session import Session
from sparrot.cli.source import read_points, summarize
from sparrot.cli.summary import along_eps_facts, along_eps_lines, files_facts, files_lines
from sparrot.cli.targets import PAGES, ending, require_other_file, require_writable
from sparrot.io._h5ad import list_arrays, read_annotations as read_cells
from sparrot.report import write_report


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """What a file says about its points, and the Python lines that read it all."""

    load: Sequence[str]
    names: Sequence[str] | None = None
    columns: Any = None
    layouts: Mapping[str, Any] = field(default_factory=dict)


def run(options: Namespace, session: Session) -> None:
    """Read points, summarize their affinity, write the page and say what is on it."""
    path: Path = options.path
    require_writable(options.output, PAGES)
    require_other_file(options.output, path)
    array = options.array or _default_array(path)
    X = read_points(options, session, array)
    session.stage("reading columns")
    about = read_annotations(path, array, options.pca)
    session.stage("affinities along eps")
    summary = summarize(X, options, session)
    session.stage("writing the page")
    write_report(
        options.output,
        summary,
        names=about.names,
        columns=about.columns,
        layouts=about.layouts,
        title=path.name,
        load=about.load,
    )
    for warning in summary.steps[summary.chosen].warnings:
        session.warn(warning)
    facts = files_facts(options) | along_eps_facts(summary)
    session.finish(facts, along_eps_lines(summary) | files_lines(options))


def read_annotations(path: Path, array: str | None, pca: int | None = None) -> Annotations:
    """Names, columns and flat layouts of a `.h5ad` file; of others, only how to read them."""
    named = "" if array is None else f", array={array!r}"
    load = [f"X = sparrot.read_points({str(path)!r}{named})"]
    if pca is not None:
        load += [
            "from sklearn.decomposition import PCA",
            f"X = PCA({pca}, random_state=0).fit_transform(X)",
        ]
    if ending(path) != ".h5ad":
        return Annotations(load)
    obs, layouts = read_cells(path)
    load += [
        "import anndata",
        f"data = anndata.read_h5ad({str(path)!r})",
        "names, columns = data.obs_names, data.obs",
    ]
    if layouts:
        load.append(f"layouts = {{key: data.obsm[key] for key in {[*layouts]!r}}}")
    return Annotations(load, obs.index, obs, layouts)


def _default_array(path: Path) -> str | None:
    """The principal components of cells, where there are some."""
    if ending(path) != ".h5ad" or not path.is_file():
        return None
    return "obsm/X_pca" if "obsm/X_pca" in list_arrays(path) else "X"
