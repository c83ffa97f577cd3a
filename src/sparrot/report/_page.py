"""The report as one HTML page: style, script and content in one file.

The content is what JSON can hold: text, tables and encoded arrays. Columns of the user's table
become numbers or categories; each eps of the summary becomes a step of the slider, with the Python
lines that compute it again.

The content security policy of the page allows that one script and style (by their hashes) and no
address at all: the page cannot reach a network, and text from the data cannot run.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from sparrot import __version__
from sparrot._files import whole_file
from sparrot._validation import as_array, as_path, as_word
from sparrot.errors import InvalidInputError, counted
from sparrot.ot import Certificate
from sparrot.plot._categories import are_numbers, as_categories, as_numbers
from sparrot.plot._style import CIVIDIS, MISSING, colors
from sparrot.summary import Step, Summary, as_summary

_MOST_CATEGORIES = 1000  # more cannot be told apart by color
_MISSING_CODE = 0xFFFF
_DEFAULTS = {"metric": "sqeuclidean", "tol": 1e-8, "search": "exact"}


def page_content(
    summary: Summary,
    names: Sequence[Any] | None,
    columns: Any,
    layouts: Mapping[str, Any],
    title: str,
    load: Sequence[str],
) -> dict[str, Any]:
    """The content of a page; the parameters are those of `write_report`."""
    n = summary.shape[0]
    encoded, notes = encode_columns(columns, n)
    drawn, left_out = _layouts(layouts, n)
    present = {"names": names is not None, "columns": bool(encoded), "layouts": bool(layouts)}
    given = [name for name, there in present.items() if there]
    return {
        "title": title,
        "about": _about(summary),
        "footer": f"Made by sparrot {__version__}. Eigenvectors are aligned with those of the "
        "neighboring eps, so that points only move where the graph changes.",
        "shape": summary.shape,
        "dimensions": summary.steps[0].embedding.shape[1],
        "chosen": summary.chosen,
        "names": None if names is None else _names(names, n),
        "palette": colors(
            max((len(column.get("categories", ())) for column in encoded), default=0)
        ),
        "sequential": CIVIDIS,
        "missing": MISSING,
        "columns": encoded,
        "notes": notes + left_out,
        "layouts": drawn,
        "steps": [
            _step(step, summary.min_neighbors is not None)
            | {"code": python_lines(summary, step, load, given)}
            for step in summary.steps
        ],
    }


def _about(summary: Summary) -> str:
    n, p = summary.shape
    where = "by their costs" if summary.metric == "precomputed" else f"in {counted(p, 'dimension')}"
    return (
        f"{n:,} points {where}, metric {summary.metric}, mean cost "
        f"{summary.mean_cost:.4g}; QOT affinity at {counted(len(summary.steps), 'value')} of eps"
        f"{_floor(summary)}"
    )


def _floor(summary: Summary) -> str:
    if summary.min_neighbors is None:
        return ", without a floor"
    least = summary.min_neighbors.min()
    return f", with at least {least:g} effective neighbors of every point"


def _step(step: Step, has_floor: bool) -> dict[str, Any]:
    return {
        "eps": step.relative_eps,
        "components": step.n_connected_components,
        "quantiles": step.quantiles.tolist(),
        "mean_perplexity": float(step.perplexity.mean()),
        "most_perplexity": float(step.perplexity.max()),
        "eigenvalues": step.eigenvalues.tolist(),
        "embedding": encode_array(step.embedding, "f4", "the embedding"),
        "potential": encode_array(step.potential, "f4", "the potential"),
        "perplexity": encode_array(step.perplexity, "f4"),
        "neighbors": encode_array(step.neighbor_counts, "u4"),
        "verdict": _verdict(step.certificate, has_floor),
        "certificate": _certificate(step, has_floor),
        "warnings": [str(warning) for warning in step.warnings],
    }


def _certificate(step: Step, has_floor: bool) -> list[tuple[str, str]]:
    certificate = step.certificate
    floor = [
        ("floor violation", f"{certificate.floor_violation:.1e}"),
        ("complementarity", f"{certificate.complementarity:.1e}"),
    ]
    return [
        ("marginal error", f"{certificate.marginal_error:.1e}"),
        *(floor if has_floor else []),
        ("violation", f"{certificate.violation:.1e}"),
        ("pairs checked", f"{certificate.pairs_checked:,}"),
        ("steps of the solver", f"{len(step.history)}"),
    ]


def _verdict(certificate: Certificate, has_floor: bool) -> str:
    met = " and have their neighbors" if has_floor else ""
    rows = f"Rows sum to one{met} within {certificate.largest_error:.1e}"
    if not certificate.exact:
        return f"{rows}, but not all pairs were checked."
    if certificate.violation > 0:
        return f"{rows}; pairs left out exceed the optimum by up to {certificate.violation:.1e}."
    return f"Optimal: {rows.lower()}, and no pair left out has a positive score."


def _layouts(layouts: Mapping[str, Any], n: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The layouts that can be drawn, and a sentence about each that cannot."""
    if not isinstance(layouts, Mapping):
        raise InvalidInputError(
            f"must be a mapping from names to layouts, got {type(layouts).__name__}",
            parameter="layouts",
            value=layouts,
        )
    drawn, notes = [], []
    for name, Y in layouts.items():
        if np.shape(Y) != (n, 2):
            raise InvalidInputError(
                f"must have shape ({n}, 2), but {str(name)!r} has shape {np.shape(Y)}",
                parameter="layouts",
                value=layouts,
            )
        try:
            drawn.append({"name": str(name), "xy": encode_array(as_array(Y, "it"), "f4")})
        except InvalidInputError as error:
            notes.append(f"layout {name} is left out: {error}")
    return drawn, notes


def _names(names: Sequence[Any], n: int) -> list[str]:
    several = isinstance(names, Iterable) and not isinstance(names, (str, bytes))
    listed = [str(name) for name in names] if several else []
    if len(listed) != n:
        raise InvalidInputError(
            f"must be one for each of {n} points, got {len(listed)}", parameter="names", value=names
        )
    return listed


def encode_columns(columns: Any, n: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The columns that can serve as colors, and a sentence about each that cannot.

    Floats are numbers, and so are integers of which more than 30 differ. All other entries are
    categories, and so is all that a categorical column of pandas holds; with more than 1,000
    categories a column cannot serve.

    Parameters
    ----------
    columns : a mapping from names to n entries, or a data frame.
    n : the number of points.

    Examples
    --------
    >>> encoded, notes = encode_columns({"kind": ["b", "a", None], "x": [0.5, 1.0, 2.0]}, 3)
    >>> [(column["name"], column["kind"]) for column in encoded], encoded[0]["categories"]
    ([('kind', 'categories'), ('x', 'numbers')], ['a', 'b'])
    """
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise InvalidInputError(
            "must be a mapping from names to entries, or a data frame, got "
            f"{type(columns).__name__}",
            parameter="columns",
            value=columns,
        )
    encoded, notes = [], []
    for name in columns if isinstance(columns, Mapping) else list(columns.columns):
        shape = np.shape(columns[name])
        if shape != (n,):
            raise InvalidInputError(
                f"must have an entry for each of {n} points, but column {str(name)!r} has shape "
                f"{shape}",
                parameter="columns",
                value=columns,
            )
        column = _encode_column(columns[name])
        if column is None:
            notes.append(
                f"column {name} has over {_MOST_CATEGORIES} different entries: no color is offered"
            )
        else:
            encoded.append({"name": str(name)} | column)
    return encoded, notes


def _encode_column(column: Any) -> dict[str, Any] | None:
    entries = np.asarray(column)
    if are_numbers(column):
        return {"kind": "numbers", "values": encode_array(_float32(entries), "f4")}
    names, codes = as_categories(column)
    if len(names) > _MOST_CATEGORIES:
        return None
    codes = np.where(codes < 0, _MISSING_CODE, codes)
    return {"kind": "categories", "categories": names, "codes": encode_array(codes, "u2")}


def _float32(entries: Any) -> Any:
    """Numbers beyond the range of float32 become infinite, and so count as missing."""
    with np.errstate(over="ignore"):
        return as_numbers(entries).astype(np.float32)


def encode_array(array: Any, kind: str, name: str = "it") -> dict[str, str]:
    """Numbers of a type such as `"f4"` as base64 of their little-endian bytes, row by row.

    Finite numbers that would be infinite in this type are an error that has their `name`.

    Examples
    --------
    >>> encode_array([1, 2], "u2")
    {'type': 'u2', 'base64': 'AQACAA=='}
    """
    with np.errstate(over="ignore"):
        data = np.ascontiguousarray(array, dtype=f"<{kind}")
    if kind == "f4" and (np.isinf(data) & np.isfinite(array)).any():
        raise InvalidInputError(
            f"{name} has numbers up to {np.abs(array).max():.1g}, beyond the range of float32 "
            "(3e+38)",
            remedy="scale it",
        )
    return {"type": kind, "base64": b64encode(data.tobytes()).decode("ascii")}


def python_lines(
    summary: Summary, step: Step, load: Sequence[str], given: Sequence[str] = ()
) -> str:
    """Python lines that build the affinity of one step, its embedding, and the whole page.

    Parameters
    ----------
    summary, step : what was computed.
    load : lines that define `X`, and each of the variables that are `given`.
    given : which of `names`, `columns` and `layouts` the page has.
    """
    k, d = len(step.eigenvalues), step.embedding.shape[1]
    chosen = summary.steps[summary.chosen]
    options = "".join(
        f", {name}={getattr(summary, name)!r}"
        for name, default in _DEFAULTS.items()
        if getattr(summary, name) != default
    )
    floors = summary.min_neighbors
    if floors is not None:
        same = np.ptp(floors) == 0
        options += f", min_neighbors={float(floors[0]) if same else floors.tolist()}"
    none = ", min_neighbors=None" if floors is None else ""
    around = (
        f"each_side={summary.chosen}, span={summary.span!r}, n_eigenvalues={k}, n_components={d}"
    )
    extra = "".join(f", {name}={name}" for name in given)
    lines = [
        "import numpy as np",
        "import sparrot",
        "",
        *(load or [f"X = ...  # the {summary.shape[0]} points"]),
        "",
        "# the affinity at this eps, and its certificate",
        f"a = sparrot.qot(X, eps={step.relative_eps!r}{options})",
        "print(a, a.certificate)",
        "",
        "# everything on this page, and its embedding at this eps",
        f"summary = sparrot.summarize(X, eps={chosen.relative_eps!r}{options}{none}, {around})",
        f"embedding = summary.steps[{summary.steps.index(step)}].embedding",
        f'sparrot.report.write_report("report.html", summary{extra})',
    ]
    return "\n".join(lines)


_SCRIPTS = ("arrays", "grid", "webgl", "canvas", "colors", "charts", "stage", "page")
# What could end a script element, begin a comment in it, or end a line of JavaScript.
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def write_report(
    path: str | os.PathLike[str],
    summary: Summary,
    *,
    names: Sequence[Any] | None = None,
    columns: Any = None,
    layouts: Mapping[str, Any] | None = None,
    title: str = "sparrot report",
    load: Sequence[str] = (),
) -> None:
    """Write the report of a summary as one self-contained HTML file, whole or not at all.

    Parameters
    ----------
    path : where to.
    summary : as `sparrot.summarize` returns it.
    names : n names, shown under the cursor; row numbers if not given.
    columns : further choices of color: a mapping from names to n entries, or a data frame. Numbers
        get a color bar; categorical columns, text and up to 30 distinct integers get a legend.
        Missing entries are gray.
    layouts : further layouts by name, (n, 2) each, which do not move with eps. One with coordinates
        that are not finite is left out, and the page says so.
    title : of the page.
    load : Python lines that define `X`, and `names`, `columns` and `layouts` where they are given;
        the page shows them before the lines that make it again.

    Examples
    --------
    >>> import tempfile, numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> path = tempfile.mkdtemp() + "/report.html"
    >>> sparrot.report.write_report(path, sparrot.summarize(X), columns={"norm": X[:, 0] ** 2})
    >>> with open(path, encoding="utf-8") as page:
    ...     page.readline()
    '<!doctype html>\\n'
    """
    target = as_path(path)
    if not isinstance(load, (list, tuple)) or not all(isinstance(line, str) for line in load):
        raise InvalidInputError("must be a list of lines of Python", parameter="load", value=load)
    columns, layouts = ({} if given is None else given for given in (columns, layouts))
    content = page_content(
        as_summary(summary), names, columns, layouts, as_word(title, "title"), load
    )
    with whole_file(target) as temporary:
        temporary.write_text(_html(content), encoding="utf-8")


def _html(content: dict[str, Any]) -> str:
    """The page: its frame, filled with style, script and content."""
    style = _read("page.css")
    script = '(() => {\n"use strict";\n' + "".join(_read(f"{s}.js") for s in _SCRIPTS) + "})();"
    parts = {
        "policy": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}",
        "title": escape(_characters(content["title"])),
        "style": style,
        "script": script,
        "data": encode_json(content),
    }
    return re.sub("@([a-z]+)@", lambda found: parts[found[1]], _read("page.html"))


def encode_json(value: Any) -> str:
    """JSON that is safe inside a script element, whatever the strings in it say.

    Examples
    --------
    >>> encode_json("</script><b>")
    '"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _characters(text).translate(_ESCAPED)


def _characters(text: str) -> str:
    """The text as a file can hold it: a lone surrogate is no character, and becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (files("sparrot.report") / "page" / name).read_text(encoding="utf-8")
