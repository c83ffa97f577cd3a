"""Figure: runtime and memory of the dense solver and of the active set."""

from __future__ import annotations

from typing import Any

from sparrot.paper._look import METHODS, panel, paper_style

_SOLVERS = {
    "newton": ("dense Newton (Algorithm 1)", METHODS["EOT"]),
    "active-set": ("active set (Algorithm 2)", METHODS["QOT"]),
}


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """Every run as a faint mark, medians as a line."""
    with paper_style() as plt:
        figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        _panel(panels[0], numbers, "seconds", 1.0)
        panel(panels[0], "a", "runtime")
        panels[0].set(xlabel="number of points N", ylabel="seconds")
        _panel(panels[1], numbers, "bytes", 1e6)
        panel(panels[1], "b", "memory")
        panels[1].set(xlabel="number of points N", ylabel="peak, MB above the points")
        panels[0].legend()
    return {"": figure}


def _panel(axes: Any, numbers: dict[str, Any], what: str, unit: float) -> None:
    for solver, (name, style) in _SOLVERS.items():
        runs, medians = (
            [(row["n"], row[what] / unit) for row in numbers[key] if row["solver"] == solver]
            for key in ("runs", "medians")
        )
        faint = {"color": style["color"], "marker": style["marker"], "s": 14, "alpha": 0.3}
        axes.scatter([n for n, _ in runs], [height for _, height in runs], **faint)
        axes.plot([n for n, _ in medians], [height for _, height in medians], label=name, **style)
    sizes = sorted({row["n"] for row in numbers["runs"]})
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
