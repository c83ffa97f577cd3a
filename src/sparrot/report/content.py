"""All that the page shows, as values that JSON can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparrot import __version__
from sparrot.embedding import Step, Summary
from sparrot.errors import InvalidInputError
from sparrot.plot.style import CIVIDIS, MISSING, colours
from sparrot.report.columns import encode_columns
from sparrot.report.encode import encode_array
from sparrot.report.reproduce import python_lines
from sparrot.solvers import Certificate
from sparrot.validation import as_array

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
        "neighbouring eps, so that points only move where the graph changes.",
        "shape": summary.shape,
        "dimensions": summary.steps[0].embedding.shape[1],
        "chosen": summary.chosen,
        "names": None if names is None else _names(names, n),
        "palette": colours(_N_COLOURS),
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
        "neighbours": encode_array(step.neighbours, "u4"),
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
