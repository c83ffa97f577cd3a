"""Panels that the figures of clusters share: points, perplexities, images, eigenvectors, scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.extras import load_extra
from sparrot.plot.labels import in_order
from sparrot.plot.paper.look import METHODS, curve_with_band
from sparrot.plot.style import SEQUENTIAL, colours

_BY_NEIGHBOURS = ("k-NN",)
_LABELS = {"nmi": "NMI", "angle": "angle to the template (rad)"}


def points(axes: Any, Y: Any, labels: Any, *, size: float = 5, legend: bool = True) -> None:
    """A plane of points, coloured by label."""
    Y, labels = np.asarray(Y), np.asarray(labels).astype(str)
    names = in_order(labels)
    for name, colour in zip(names, colours(len(names)), strict=True):
        of = labels == name
        axes.scatter(*Y[of].T, s=size, color=colour, label=name, linewidths=0, rasterized=True)
    axes.set(xticks=[], yticks=[])
    if legend:
        axes.legend(fontsize=8, markerscale=2.5, handletextpad=0.1, loc="best")


def perplexities(axes: Any, found: dict[str, Any]) -> None:
    """Distributions of the effective number of neighbours, with their common mean."""
    values = {m: np.asarray(found[m]["perplexity"]) for m in ("QOT", "EOT")}
    high = max(np.percentile(v, 99.5) for v in values.values())  # where the axis ends
    bins = np.linspace(0, high, 50)
    for method, v in values.items():
        colour = METHODS[method]["color"]
        label = f"{method} ({found[method]['deviation']:.0f})"
        axes.hist(np.minimum(v, high), bins, color=colour, alpha=0.55, label=label)
    mean = found["QOT"]["mean_perplexity"]
    axes.axvline(mean, color="black", linestyle=":", linewidth=1)
    axes.set(xlabel=f"perplexity (mean {mean:.0f})", ylabel="points")
    axes.legend(title="(deviation)", fontsize=8, title_fontsize=8)


def image(axes: Any, pixels: Any, sizes: Any) -> None:
    """An affinity from afar, relative to uniform; blocks apart by lines. White is zero."""
    pixels = np.asarray(pixels)
    n = sum(sizes)
    norm = load_extra("matplotlib.colors", "plot").PowerNorm(0.5, vmin=0)
    axes.imshow(
        np.ma.masked_equal(pixels, 0),
        extent=(0, n, n, 0),
        norm=norm,
        cmap=f"{SEQUENTIAL}_r",
        interpolation="nearest",
    )
    for end in np.cumsum(sizes)[:-1]:
        axes.axhline(end, color="0.4", linewidth=0.5)
        axes.axvline(end, color="0.4", linewidth=0.5)
    axes.set(xticks=[], yticks=[])


def eigenvectors(panels: Any, vectors: Any, labels: Any, method: str, first: int = 2) -> None:
    """Eigenfunctions over the points, in order of their labels."""
    vectors, labels = np.asarray(vectors), np.asarray(labels).astype(str)
    order = np.argsort(labels, kind="stable")
    names = in_order(labels)
    shades = dict(zip(names, colours(len(names)), strict=True))
    tints = [shades[label] for label in labels[order]]
    for j, axes in enumerate(np.ravel(panels)):
        values = vectors[order, j]
        axes.scatter(np.arange(len(values)), values, s=2, c=tints, linewidths=0, rasterized=True)
        limit = 1.1 * np.percentile(np.abs(values), 99)
        axes.set(xticks=[], yticks=[], ylim=(-limit, limit))
        axes.set_title(rf"$v_{{{j + first}}}$", loc="center", fontsize=9)
    np.ravel(panels)[0].set_ylabel(method)


def score_curves(axes: Any, rows: list[dict[str, Any]], key: str) -> None:
    """A score over eps from bands; for k-NN, a line at its best."""
    rows = [row for row in rows if row["of"] == key]
    best_of = max if key == "nmi" else min
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        style = METHODS[method]
        if method in _BY_NEIGHBOURS:
            best = best_of(chosen, key=lambda row: row["mean"])
            label = f"{method}, best (k = {best['parameter']:g})"
            axes.axhline(best["mean"], color=style["color"], linestyle="-.", label=label)
        else:
            curve_with_band(axes, chosen, "parameter", style | {"markersize": 4}, method)
    axes.set(xscale="log", xlabel=r"$\varepsilon$, relative to the mean cost")
    axes.set(ylabel=_LABELS[key], ylim=(0, 1 if key == "nmi" else np.pi / 2))
