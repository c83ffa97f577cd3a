"""The Python lines that make the same again."""

from __future__ import annotations

from collections.abc import Sequence

from sparrot.embedding import Step, Summary

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
        f"summary = sparrot.summarise(X, eps={chosen.eps!r}{said}, {around})",
        f"embedding = summary.steps[{summary.steps.index(step)}].embedding",
        f'sparrot.report.write_report("report.html", summary{extra})',
    ]
    return "\n".join(lines)
