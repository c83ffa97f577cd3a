"""Figures of single cells: one a set, with types, affinities, distances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.plot.paper.clusters import image, perplexities, points
from sparrot.plot.paper.look import METHODS, panel, paper_style
from sparrot.plot.style import SEQUENTIAL

_SHOWN = ("QOT", "EOT", "k-NN")
_CORRELATIONS = ("correlations", "correlation_bands")


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """One figure for each set that was there."""
    with paper_style() as plt:
        return {
            name: _set(plt, found, *(_of(numbers[key], name) for key in _CORRELATIONS))
            for name, found in numbers["sets"].items()
        }


def _of(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["set"] == name]


def _set(
    plt: Any, found: dict[str, Any], rows: list[dict[str, Any]], bands: list[dict[str, Any]]
) -> Any:
    figure = plt.figure(figsize=(15, 10.5), layout="constrained")
    top, middle, bottom = figure.subfigures(3, 1)
    panels = top.subplots(1, 4, width_ratios=(1.5, 1, 1, 1.1))
    _cells(panels[0], found)
    sizes = np.unique(found["types"], return_counts=True)[1]
    for axes, letter, method in zip(panels[1:3], "bc", ("QOT", "EOT"), strict=True):
        image(axes, found[method]["image"], sizes)
        panel(axes, letter, f"{method}, by type")
    perplexities(panels[3], found)
    panel(panels[3], "d", "effective neighbours")
    panels = middle.subplots(1, 4)
    for axes, letter, method in zip(panels, "efg", _SHOWN, strict=False):
        _coloured(axes, found, found[method]["root"])
        panel(axes, letter, f"{method}: distance to the origin")
    _coloured(panels[3], found, found["truth"])
    panel(panels[3], "h", "truth")
    left, right = bottom.subplots(1, 2, width_ratios=(1, 2))
    _spectrum(left, found)
    _correlations(right, rows, {row["method"]: row["mean"] for row in bands})
    return figure


def _cells(axes: Any, found: dict[str, Any]) -> None:
    points(axes, found["layout"], found["types"], size=3, legend=False)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, markerscale=3, handletextpad=0.1
    )
    axes.set(xlabel=f"{found['axes']} 1", ylabel=f"{found['axes']} 2")
    panel(axes, "a", f"{len(found['types']):,} cells")


def _coloured(axes: Any, found: dict[str, Any], values: Any) -> None:
    layout, values = np.asarray(found["layout"]), np.asarray(values)
    high = max(float(np.percentile(values, 98)), float(values.max()) * 1e-6)
    axes.scatter(
        *layout.T, c=values, s=3, cmap=SEQUENTIAL, vmin=0, vmax=high, linewidths=0, rasterized=True
    )
    axes.scatter(*layout[found["origin"]], s=60, color="red", edgecolors="white", zorder=3)
    axes.set(xticks=[], yticks=[])


def _spectrum(axes: Any, found: dict[str, Any]) -> None:
    for method in ("QOT", "EOT"):
        values = found[method]["values"]
        axes.plot(
            np.arange(1, len(values) + 1),
            values,
            label=method,
            **METHODS[method] | {"linestyle": ":", "markersize": 3},
        )
    axes.set(xlabel="index", ylabel="Laplacian eigenvalue", ylim=(0, None))
    axes.legend()
    panel(axes, "i", "leading spectrum")


def _correlations(axes: Any, rows: list[dict[str, Any]], means: dict[str, float]) -> None:
    names = list(dict.fromkeys(row["lineage"] for row in rows))
    for k, method in enumerate(_SHOWN):
        values = [row["correlation"] for row in rows if row["method"] == method]
        label = f"{method} (mean {means[method]:.2f})"
        places = np.arange(len(names)) + 0.27 * (k - 1)
        axes.bar(places, values, 0.25, color=METHODS[method]["color"], label=label)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right", fontsize=9)
    axes.set(ylabel="Pearson correlation", ylim=(min(0, axes.get_ylim()[0]), 1.25))
    axes.legend(ncols=3, loc="upper right")
    panel(axes, "j", "squared distance against the truth, by lineage")
