"""`sparrot report`: from a file of points to a page."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparrot.cli._options import READING, add_command, add_input, add_qot, add_verbosity
from sparrot.cli._session import Session
from sparrot.cli._summary import files_facts, files_lines, path_facts, path_lines
from sparrot.io import ending


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "report",
        "an interactive page about the affinity of a file of points",
        "One HTML page that needs no network: the embedding, colored by any column;\n"
        "a slider along eps; spectrum, neighbors, certificate and warnings.\n"
        "Columns are those of obs in a .h5ad file; of a table, the one that --label names.",
        "cells.h5ad --perplexity 30 -o report.html",
    )
    add_input(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="PAGE",
        help="where the page goes (default: report.html)",
    )
    add_qot(parser)
    add_verbosity(parser)


def run(options: Namespace, session: Session) -> None:
    """Read points, summarize their affinity, write the page and print what is on it."""
    from sparrot.cli._input import PREPARING, read_labels, read_points, summarize
    from sparrot.cli._output import PAGES, require_other_file, require_writable
    from sparrot.report import write_report

    path: Path = options.path
    require_writable(options.output, PAGES)
    require_other_file(options.output, path)
    X = read_points(options, session)
    session.stage("reading columns")
    given = {name: getattr(options, name) for name in READING}
    preparation = {name: getattr(options, name) for name in PREPARING}
    about = read_annotations(path, given, read_labels(options, X.shape[0]), **preparation)
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
    facts = files_facts(options) | path_facts(summary)
    session.finish(facts, path_lines(summary, options) | files_lines(options))


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """What a file says about its points, and the Python lines that read it all."""

    load: Sequence[str]
    names: Sequence[str] | None = None
    columns: Any = None
    layouts: Mapping[str, Any] = field(default_factory=dict)


def read_annotations(
    path: Path,
    given: Mapping[str, Any],
    labels: Any = None,
    standardize: bool | None = None,
    pca: int | None = None,
) -> Annotations:
    """Names, columns and flat layouts of a `.h5ad` file; of others the labels, and how to read."""
    from sparrot.io import read_annotations as read_cells

    label = given.get("label")
    named = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    load = [f"X = sparrot.read_points({str(path)!r}{named})"]
    if standardize:
        load += [
            "from sklearn.preprocessing import StandardScaler",
            "X = StandardScaler().fit_transform(X.astype('float64'))",
        ]
    if pca is not None:
        load += [
            "from sklearn.decomposition import PCA",
            f"X = PCA({pca}, random_state=0).fit_transform(X)",
        ]
    if ending(path) != ".h5ad":
        if labels is None:
            return Annotations(load)
        text = {name: value for name, value in given.items() if name != "without"}
        named = "".join(f", {name}={value!r}" for name, value in text.items() if value is not None)
        load.append(f"columns = {{{label!r}: sparrot.read_labels({str(path)!r}{named})}}")
        return Annotations(load, columns={label: labels})
    obs, layouts = read_cells(path)
    load += [
        "import anndata",
        f"data = anndata.read_h5ad({str(path)!r})",
        "names, columns = data.obs_names, data.obs",
    ]
    if label is not None:  # the first one colors the page at first
        obs = obs[[label, *obs.columns.drop(label)]]
        load.append(f"columns = columns[[{label!r}, *columns.columns.drop({label!r})]]")
    if layouts:
        load.append(f"layouts = {{key: data.obsm[key] for key in {[*layouts]!r}}}")
    return Annotations(load, obs.index, obs, layouts)
