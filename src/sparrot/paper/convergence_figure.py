"""Figure: marginal error against steps, of Newton and of alternating projections."""

from __future__ import annotations

from typing import Any

from sparrot.paper._look import METHODS, panel, paper_style

_SOLVERS = {
    "newton": ("semismooth Newton", METHODS["QOT"] | {"marker": "o"}),
    "alternating": ("alternating projections", METHODS["EOT"] | {"marker": ""}),
}


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """One panel a size, both axes logarithmic."""
    sizes = sorted({curve["n"] for curve in numbers["curves"]})
    with paper_style() as plt:
        figure, panels = plt.subplots(
            1, len(sizes), figsize=(4.4 * len(sizes), 3.6), sharey=True, layout="constrained"
        )
        for letter, n, axes in zip("abcdef", sizes, panels, strict=False):
            for curve in (c for c in numbers["curves"] if c["n"] == n):
                name, style = _SOLVERS[curve["solver"]]
                steps = range(1, len(curve["errors"]))
                axes.loglog(steps, curve["errors"][1:], label=name, **style)
            axes.axhline(numbers["tol"], color="black", linewidth=0.8, linestyle=":")
            axes.set_xlabel("iterations")
            panel(axes, letter, f"N = {n:,}")
        panels[0].set_ylabel(r"$\max_i\, |(W\mathbf{1})_i - 1|$" "\n(the paper: Euclidean norm)")
        panels[0].legend(loc="lower right", bbox_to_anchor=(1.0, 0.0))
    return {"": figure}
