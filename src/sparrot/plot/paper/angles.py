"""Panels of angles over the parameter of each method."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.plot.paper.look import METHODS, curve_with_band

_BY_NEIGHBOURS = ("k-NN", "MAGIC")
LABEL = "mean principal angle (rad)"


def angle_curves(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Curves over eps from bands; for methods that have none, a line at their best."""
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        style = METHODS[method] | {"markersize": 4}
        if method in _BY_NEIGHBOURS:
            best = min(chosen, key=lambda row: row["mean"])
            label = f"{method}, best (k = {best['parameter']:g})"
            axes.axhline(best["mean"], label=label, color=style["color"], linestyle="-.")
        else:
            curve_with_band(axes, chosen, "parameter", style, method)
    axes.set(xscale="log", xlabel=r"$\varepsilon$ (or bandwidth), relative to the mean cost")
    axes.set(ylabel=LABEL, ylim=(0, np.pi / 2))
