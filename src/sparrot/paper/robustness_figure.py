"""Figure: what rank-one, arbitrary and heteroskedastic noise do to affinities."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper._look import METHODS, curve_with_band, panel, paper_style

_FLOOR = 1e-13  # what is smaller is rounding


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """Invariance, contraction, and decay with the dimension."""
    with paper_style() as plt:
        figure, panels = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
        _rank_one(panels[0], numbers["rank-one"])
        _contraction(panels[1], numbers["contraction"])
        _noise(panels[2], numbers["noise_bands"])
    return {"": figure}


def _rank_one(axes: Any, rows: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(row["affinity"] for row in rows))
    for k, name in enumerate(names):
        changes = [max(row["change"], _FLOOR) for row in rows if row["affinity"] == name]
        offsets = k + np.linspace(-0.15, 0.15, len(changes))
        style = METHODS[name]
        face = style.get("mfc", style["color"])
        axes.scatter(offsets, changes, s=26, marker=style["marker"], c=face, ec=style["color"])
    axes.set(yscale="log", ylabel=r"$|W - \tilde W|_F\ /\ |W|_F$", xlim=(-0.5, len(names) - 0.5))
    axes.set_xticks(range(len(names)), names)
    panel(axes, "a", r"costs plus $\eta_i + \eta_j$")


def _contraction(axes: Any, rows: list[dict[str, Any]]) -> None:
    bounds, changes = ([row[key] for row in rows] for key in ("bound", "change"))
    axes.scatter(bounds, changes, color=METHODS["QOT"]["color"], s=20, label="QOT")
    ends = [min(changes) / 2, max(bounds)]
    axes.plot(ends, ends, color="black", linewidth=0.9, linestyle=":", label="the bound")
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel=r"$|E|_F\ /\ \varepsilon$", ylabel=r"$|W(C) - W(C + E)|_F$")
    axes.legend(loc="upper left")
    panel(axes, "b", "any perturbation E")


def _noise(axes: Any, rows: list[dict[str, Any]]) -> None:
    for name in dict.fromkeys(row["affinity"] for row in rows):
        curve_with_band(
            axes, [row for row in rows if row["affinity"] == name], "p", METHODS[name], name
        )
    first = next(row for row in rows if row["affinity"] == "QOT")
    p = np.unique([row["p"] for row in rows])
    guide = first["mean"] * np.sqrt(first["p"] / p)
    axes.plot(p, guide, color="black", linewidth=0.9, linestyle=":", label=r"$p^{-1/2}$")
    axes.set(
        xscale="log", yscale="log", xlabel="dimension p", ylabel=r"$|W - \tilde W|_F\ /\ |W|_F$"
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    panel(axes, "c", "heteroskedastic noise")
