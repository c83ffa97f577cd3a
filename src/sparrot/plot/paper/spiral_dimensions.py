"""Figure: the spiral's angles for several numbers of dimensions."""

from __future__ import annotations

from typing import Any

from sparrot.plot.paper.angles import angle_curves
from sparrot.plot.paper.look import panel, paper_style


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """One panel a dimension."""
    dimensions = sorted({row["d"] for row in numbers["angles"]})
    rows = (len(dimensions) + 1) // 2
    with paper_style() as plt:
        figure, panels = plt.subplots(
            rows, 2, figsize=(12, 3.6 * rows + 0.2), sharey=True, layout="constrained"
        )
        for letter, d, axes in zip("abcdef", dimensions, panels.flat, strict=False):
            angle_curves(axes, [row for row in numbers["angle_bands"] if row["d"] == d])
            panel(axes, letter, f"d = {d:,}")
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return {"": figure}
