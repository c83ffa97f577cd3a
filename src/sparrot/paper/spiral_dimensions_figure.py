"""Figure: the spiral's angles for several numbers of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper._angles_figure import LABELS, angle_curves
from sparrot.paper._look import panel, paper_style


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """One row a dimension: the paper's judge, and whole pairs."""
    dimensions = sorted({row["d"] for row in numbers["angles"]})
    with paper_style() as plt:
        figure, panels = plt.subplots(
            len(dimensions),
            2,
            figsize=(12, 3.5 * len(dimensions)),
            sharey=True,
            layout="constrained",
        )
        for row, d in zip(panels, dimensions, strict=True):
            for axes, key in zip(row, LABELS, strict=True):
                angle_curves(axes, [r for r in numbers["angle_bands"] if r["d"] == d], key)
        panels[0, 1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        judges = ["the paper's judge", "whole pairs"] * len(dimensions)
        places = zip("abcdefgh", panels.flat, np.repeat(dimensions, 2), judges, strict=False)
        for letter, axes, d, by in places:
            panel(axes, letter, f"d = {d:,}, {by}")
    return {"": figure}
