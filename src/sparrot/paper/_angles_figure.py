"""Panels of angles over the parameter of each method.

The paper's judge is the angle to ten vectors, which cut the fifth pair of a ring in two; the angle
to the eleven of whole pairs is drawn beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper._look import METHODS, best_line, curve_with_band

_BY_NEIGHBOURS = ("k-NN", "MAGIC")
LABELS = {
    "angle": "mean principal angle to the\n10 vectors of the clean curve (rad)",
    "whole": "mean principal angle to the\n11 vectors of whole pairs (rad)",
}


def angle_curves(axes: Any, rows: list[dict[str, Any]], key: str) -> None:
    """Curves over eps from bands; for methods that have none, a line at their best."""
    rows = [row for row in rows if row["of"] == key]
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        style = METHODS[method] | {"markersize": 4}
        if method in _BY_NEIGHBOURS:
            best = min(chosen, key=lambda row: row["mean"])
            note = f"k = {best['parameter']:g}"
            lift = (2, -9)[_BY_NEIGHBOURS.index(method)]  # the lines lie close
            label = f"{method}, best k"
            best_line(axes, best["mean"], style["color"], label, note, lift, at_the_end=True)
        else:
            curve_with_band(axes, chosen, "parameter", style, method)
    axes.set(xscale="log", xlabel=r"$\varepsilon$ (or bandwidth), relative to the mean cost")
    axes.set(ylabel=LABELS[key], ylim=(0, np.pi / 2))
