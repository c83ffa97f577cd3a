"""Figures of single cells: one a set, with types, affinities, distances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper._clusters_figure import images, perplexities, points
from sparrot.paper._look import METHODS, panel, paper_style
from sparrot.plot._style import SEQUENTIAL

_SHOWN = ("QOT", "EOT", "k-NN")
_CORRELATIONS = ("correlations", "correlation_bands", "correlation_means")

Rows = list[dict[str, Any]]


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """One figure for each set that was there."""
    with paper_style() as plt:
        return {
            name: _set(plt, found, *(_of(numbers[key], name) for key in _CORRELATIONS))
            for name, found in numbers["sets"].items()
        }


def _of(rows: Rows, name: str) -> Rows:
    return [row for row in rows if row["set"] == name]


def _set(plt: Any, found: dict[str, Any], rows: Rows, bands: Rows, means: Rows) -> Any:
    branches = found["branches"]
    figure = plt.figure(figsize=(16, 11 + 2.6 * len(branches)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1)
    heights = (1, 1, *[0.8] * len(branches), 1)
    top, middle, *lower, bottom = figure.subfigures(len(heights), 1, height_ratios=heights)
    panels = top.subplots(1, 4, width_ratios=(1.5, 1, 1, 1.1))
    _cells(panels[0], found)
    sizes = np.unique(found["types"], return_counts=True)[1]
    images(top, panels[1:3], [found[method]["image"] for method in ("QOT", "EOT")], sizes)
    for axes, letter, method in zip(panels[1:3], "bc", ("QOT", "EOT"), strict=True):
        panel(axes, letter, f"{method}, by type")
    perplexities(panels[3], found)
    panel(panels[3], "d", "effective neighbors")
    letters = iter("efghijklmnopqrstu")
    _distances(middle, found, letters, "all cells", slice(None), {})
    for part, (lineage, chosen) in zip(lower, branches.items(), strict=True):
        shown = [row for row in rows if row["lineage"] == lineage and row["seed"] == 0]
        of = {row["method"]: row["correlation"] for row in shown}
        _distances(part, found, letters, lineage, chosen, of)
    left, right = bottom.subplots(1, 2, width_ratios=(1, 2))
    _spectrum(left, found, next(letters))
    _correlations(right, rows, bands, {row["method"]: row["mean"] for row in means})
    panel(right, next(letters), "squared distance against the truth, by lineage")
    return figure


def _distances(
    figure: Any, found: dict[str, Any], letters: Any, name: str, chosen: Any, of: dict[str, float]
) -> None:
    """Squared distance to the origin by each method, and the truth, of some of the cells."""
    panels = figure.subplots(1, 4)
    for axes, method in zip(panels, _SHOWN, strict=False):
        drawn = _colored(axes, found, found[method]["distance"], chosen)
        figure.colorbar(drawn, ax=axes, label="squared distance to the origin", extend="max")
        said = f", r = {of[method]:.2f}" if of else ""
        panel(axes, next(letters), f"{method}{said}")
    drawn = _colored(panels[3], found, found["truth"], chosen)
    figure.colorbar(drawn, ax=panels[3], label=found["truth_name"])
    panel(panels[3], next(letters), "truth")
    panels[0].set_ylabel(name)


def _cells(axes: Any, found: dict[str, Any]) -> None:
    points(axes, found["layout"], found["types"], size=3, legend=False)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, markerscale=3, handletextpad=0.1
    )
    axes.set(xlabel=f"{found['axes']} 1", ylabel=f"{found['axes']} 2")
    panel(axes, "a", f"{len(found['types']):,} cells")


def _colored(axes: Any, found: dict[str, Any], values: Any, chosen: Any) -> Any:
    layout, values = np.asarray(found["layout"]), np.asarray(values)
    high = max(float(np.percentile(values[chosen], 98)), float(values.max()) * 1e-6)
    axes.scatter(*layout.T, c="0.9", s=2, linewidths=0, rasterized=True)
    drawn = axes.scatter(
        *layout[chosen].T,
        c=values[chosen],
        s=3,
        cmap=SEQUENTIAL,
        vmin=0,
        vmax=high,
        linewidths=0,
        rasterized=True,
    )
    axes.scatter(*layout[found["origin"]], s=60, color="red", edgecolors="white", zorder=3)
    axes.set(xticks=[], yticks=[])
    return drawn


def _spectrum(axes: Any, found: dict[str, Any], letter: str) -> None:
    """All eigenvalues as a histogram, the leading ones in an inset."""
    inset = axes.inset_axes((0.12, 0.5, 0.28, 0.4))
    for method in ("QOT", "EOT"):
        spectrum, values = found[method]["spectrum"], found[method]["values"]
        style = METHODS[method]
        axes.stairs(
            spectrum["counts"],
            spectrum["edges"],
            color=style["color"],
            fill=True,
            alpha=0.5,
            label=method,
        )
        index = np.arange(1, len(values) + 1)
        inset.plot(index, values, **style | {"linestyle": ":", "markersize": 3})
    axes.set(xlabel="Laplacian eigenvalue", ylabel="eigenvalues", xlim=(0, 2))
    inset.set_xticks([1, 5, 10, 15, 20][: 1 + len(values) // 5])
    inset.tick_params(labelsize=7)
    inset.set_title("leading", fontsize=8, loc="center")
    inset.set_xlabel("index", fontsize=7, labelpad=1)
    inset.set_ylim(0, None)
    axes.legend(loc="upper right")
    panel(axes, letter, "Laplacian spectrum")


def _correlations(axes: Any, rows: Rows, bands: Rows, means: dict[str, float]) -> None:
    """Means over samples as bars, and every sample as a mark."""
    names = list(dict.fromkeys(row["lineage"] for row in rows))
    several = len({row["seed"] for row in rows}) > 1
    for k, method in enumerate(_SHOWN):
        shift = 0.27 * (k - 1)
        chosen = [row for row in bands if row["method"] == method]
        axes.bar(
            [names.index(row["lineage"]) + shift for row in chosen],
            [row["mean"] for row in chosen],
            0.25,
            color=METHODS[method]["color"],
            label=f"{method} (mean {means[method]:.2f})",
        )
        if several:
            samples = [row for row in rows if row["method"] == method]
            axes.scatter(
                [names.index(row["lineage"]) + shift for row in samples],
                [row["correlation"] for row in samples],
                s=8,
                color="black",
                zorder=3,
            )
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right", fontsize=9)
    axes.set(ylabel="Pearson correlation", ylim=(min(0, axes.get_ylim()[0]), 1.25))
    axes.legend(ncols=3, loc="upper right")
