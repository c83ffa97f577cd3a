"""Arrays and text in a form that can stand inside a page.

Columns of the user's table, as numbers or as categories.

The Python lines that make the same again.

All that the page shows, as values that JSON can say.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparrot import __version__
from sparrot._validation import as_array
from sparrot.errors import InvalidInputError
from sparrot.ot import Certificate
from sparrot.plot._style import (
    CIVIDIS,
    MISSING,
    are_missing,
    as_categories,
    colors,
    known_categories,
)
from sparrot.summary import Step, Summary

_TYPES = {"f4": "<f4", "u1": "<u1", "u2": "<u2", "u4": "<u4"}
# What could end a script element, begin a comment in it, or end a line of JavaScript.
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def encode_array(array: Any, kind: str) -> dict[str, str]:
    """Numbers as base64 of little-endian bytes, rows first.

    Examples
    --------
    >>> encode_array([1, 2], "u2")
    {'type': 'u2', 'base64': 'AQACAA=='}
    """
    data = np.ascontiguousarray(array, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "base64": b64encode(data).decode("ascii")}


def encode_json(value: Any) -> str:
    """JSON that is safe inside a script element, whatever the strings in it say.

    Examples
    --------
    >>> encode_json("</script><b>")
    '"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")  # half of a pair is no character
    return text.translate(_ESCAPED)


_FEW = 30  # different integers; fewer are names of classes
_MANY = 1000  # different categories; more are no colors
_MISSING = 0xFFFF


def encode_columns(columns: Any, n: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The columns that can serve as colors, and a sentence about each that cannot.

    Numbers are numbers, but up to 30 different integers are categories; so is a categorical column,
    whatever is in it, and everything else by its text. More than 1,000 categories are no colors.

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
    encoded, notes = [], []
    for name in columns if isinstance(columns, Mapping) else list(columns.columns):
        shape = np.shape(columns[name])
        if shape != (n,):
            raise InvalidInputError(
                f"column {str(name)!r} must have an entry for each of {n} points, got shape {shape}"
            )
        column = _encode(columns[name])
        if column is None:
            notes.append(f"column {name} has over {_MANY} different entries: no color is offered")
        else:
            encoded.append({"name": str(name)} | column)
    return encoded, notes


def _encode(column: Any) -> dict[str, Any] | None:
    entries = np.asarray(column)
    if known_categories(column) is None and _are_numbers(column, entries):
        return {"kind": "numbers", "values": encode_array(_float32(entries), "f4")}
    names, codes = as_categories(column)
    if len(names) > _MANY:
        return None
    codes = np.where(codes < 0, _MISSING, codes)
    return {"kind": "categories", "categories": names, "codes": encode_array(codes, "u2")}


def _are_numbers(column: Any, entries: Any) -> bool:
    """Whether entries are numbers; columns of pandas with NA in them are objects to numpy."""
    kind = getattr(column, "dtype", entries.dtype).kind
    return kind == "f" or (kind in "iu" and len(set(entries[~are_missing(entries)])) > _FEW)


def _float32(entries: Any) -> Any:
    """Numbers beyond the range of float32 count as missing, as infinite ones do."""
    with np.errstate(over="ignore"):
        if entries.dtype == object:
            entries = np.where(are_missing(entries), np.nan, entries)
        return entries.astype(np.float32)


_DEFAULTS = {"metric": "sqeuclidean", "tol": 1e-8, "search": "exact"}


def python_lines(
    summary: Summary, step: Step, load: Sequence[str], given: Sequence[str] = ()
) -> str:
    """Lines that build the affinity of one step, its embedding, and the whole page.

    Parameters
    ----------
    summary, step : what was computed.
    load : lines that define `X`, and a variable for each that was `given`.
    given : which of `names`, `columns` and `layouts` the page has.
    """
    k, d = len(step.eigenvalues), step.embedding.shape[1]
    chosen = summary.steps[summary.chosen]
    said = "".join(
        f", {name}={getattr(summary, name)!r}"
        for name, default in _DEFAULTS.items()
        if getattr(summary, name) != default
    )
    around = (
        f"each_side={summary.chosen}, span={summary.span!r}, n_eigenvalues={k}, n_coordinates={d}"
    )
    extra = "".join(f", {name}={name}" for name in given)
    lines = [
        "import numpy as np",
        "import sparrot",
        "",
        *(load or [f"X = ...  # the {summary.shape[0]} points"]),
        "",
        "# the affinity at this eps, and its certificate",
        f"a = sparrot.qot(X, eps={step.eps!r}{said})",
        "print(a, a.certificate)",
        "",
        "# everything on this page, and its embedding at this eps",
        f"summary = sparrot.summarize(X, eps={chosen.eps!r}{said}, {around})",
        f"embedding = summary.steps[{summary.steps.index(step)}].embedding",
        f'sparrot.report.write_report("report.html", summary{extra})',
    ]
    return "\n".join(lines)


_N_COLOURS = 24


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
        "footer": f"Made by sparrot {__version__}. Eigenvectors are turned onto those of the "
        "neighboring eps, so that points only move where the graph changes.",
        "shape": summary.shape,
        "dimensions": summary.steps[0].embedding.shape[1],
        "chosen": summary.chosen,
        "names": None if names is None else _names(names, n),
        "palette": colors(_N_COLOURS),
        "sequential": CIVIDIS,
        "missing": MISSING,
        "columns": encoded,
        "notes": notes + left_out,
        "layouts": drawn,
        "steps": [
            _step(step) | {"code": python_lines(summary, step, load, given)}
            for step in summary.steps
        ],
    }


def _about(summary: Summary) -> str:
    n, p = summary.shape
    where = "by their costs" if summary.metric == "precomputed" else f"in {p:,} dimensions"
    return (
        f"{n:,} points {where}, metric {summary.metric}, mean cost "
        f"{summary.mean_cost:.4g}; QOT affinity at {len(summary.steps)} values of eps"
    )


def _step(step: Step) -> dict[str, Any]:
    return {
        "eps": step.eps,
        "components": step.components,
        "quantiles": step.quantiles.tolist(),
        "mean_perplexity": float(step.perplexity.mean()),
        "most_perplexity": float(step.perplexity.max()),
        "eigenvalues": step.eigenvalues.tolist(),
        "embedding": encode_array(step.embedding, "f4"),
        "potential": encode_array(step.potential, "f4"),
        "perplexity": encode_array(step.perplexity, "f4"),
        "neighbors": encode_array(step.n_neighbors, "u4"),
        "verdict": _verdict(step.certificate),
        "certificate": _certificate(step),
        "warnings": step.warnings,
    }


def _certificate(step: Step) -> list[tuple[str, str]]:
    certificate = step.certificate
    return [
        ("marginal error", f"{certificate.marginal_error:.1e}"),
        ("violation", f"{certificate.violation:.1e}"),
        ("pairs checked", f"{certificate.pairs_checked:,}"),
        ("steps of the solver", f"{len(step.history)}"),
    ]


def _verdict(certificate: Certificate) -> str:
    rows = f"Rows sum to one within {certificate.marginal_error:.1e}"
    if not certificate.exact:
        return f"{rows}, but not all pairs were checked."
    if certificate.violation > 0:
        return f"{rows}; pairs left out exceed the optimum by up to {certificate.violation:.1e}."
    return f"Optimal: {rows.lower()}, and no pair left out has a positive score."


def _layouts(layouts: Mapping[str, Any], n: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The layouts that can be drawn, and a sentence about each that cannot."""
    drawn, notes = [], []
    for name, Y in layouts.items():
        if np.shape(Y) != (n, 2):
            raise InvalidInputError(f"layout {name!r} must have shape ({n}, 2), got {np.shape(Y)}")
        try:
            drawn.append({"name": str(name), "xy": encode_array(as_array(Y, "it"), "f4")})
        except InvalidInputError as error:
            notes.append(f"layout {name} is left out: {error}")
    return drawn, notes


def _names(names: Sequence[Any], n: int) -> list[str]:
    if len(names) != n:
        raise InvalidInputError(f"names must be one for each of {n} points, got {len(names)}")
    return [str(name) for name in names]
