"""Panels that the figures of clusters share: points, perplexities, images, eigenvectors, scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._extras import load_extra
from sparrot.paper._look import METHODS, best_line, curve_with_band, panel
from sparrot.plot._categories import in_order
from sparrot.plot._style import SEQUENTIAL, colors

SHOWN = ("QOT", "EOT")
_BY_NEIGHBOURS = ("k-NN",)
_UNIFORM = "affinity, times N"
_LABELS = {"nmi": "NMI", "angle": "angle to the template (rad)"}


def overview(top: Any, below: Any, numbers: dict[str, Any], title: str, caption: str) -> None:
    """Panels a to f of two subfigures: points, perplexities, affinities; eigenvectors below."""
    shown = numbers["shown"]
    labels = np.asarray(shown["labels"])
    panels = top.subplots(1, 4, width_ratios=(1.1, 1.1, 1, 1))
    points(panels[0], numbers["principal"], labels)
    panels[0].set(xlabel="PC 1", ylabel="PC 2")
    panel(panels[0], "a", title)
    perplexities(panels[1], shown)
    panel(panels[1], "b", "effective neighbors")
    sizes = np.unique(labels, return_counts=True)[1]
    images(top, panels[2:], [shown[method]["image"] for method in SHOWN], sizes)
    for axes, letter, method in zip(panels[2:], "cd", SHOWN, strict=True):
        panel(axes, letter, rf"{method}, $\varepsilon$ = {shown[method]['eps']:.2g}")
    rows = below.subplots(2, len(shown["QOT"]["vectors"][0]), sharex=True)
    for row, letter, method in zip(rows, "ef", SHOWN, strict=True):
        eigenvectors(row, shown[method]["vectors"], labels, method, letter)
    below.supxlabel(f"{caption}; triangles: beyond the limits", fontsize=9)


def points(axes: Any, Y: Any, labels: Any, *, size: float = 5, legend: bool = True) -> None:
    """A plane of points, colored by label, in random order so that no label covers another."""
    Y, labels = np.asarray(Y), np.asarray(labels).astype(str)
    names = in_order(labels)
    shades = dict(zip(names, colors(len(names)), strict=True))
    order = np.random.default_rng(0).permutation(len(Y))
    tints = [shades[label] for label in labels[order]]
    axes.scatter(*Y[order].T, s=size, c=tints, linewidths=0, rasterized=True)
    for name, color in shades.items():
        axes.scatter([], [], s=size, color=color, label=name, linewidths=0)
    axes.set(xticks=[], yticks=[])
    if legend:
        axes.legend(fontsize=8, markerscale=2.5, handletextpad=0.1, loc="best")


def within_limits(axes: Any, Y: Any, percent: float = 1.0) -> Any:
    """Points moved to the edge of the bulk of them; those beyond are marked there and counted."""
    Y = np.asarray(Y)
    low, high = np.percentile(Y, [percent, 100 - percent], axis=0)
    low, high = low - 0.15 * (high - low), high + 0.15 * (high - low)
    inside = Y.clip(low, high)
    out = (inside != Y).any(axis=1)
    if out.any():
        axes.scatter(*inside[out].T, s=45, facecolors="none", edgecolors="black", linewidths=0.8)
        axes.text(
            0.98, 0.02, f"circled: {out.sum()} beyond", ha="right", transform=axes.transAxes, size=8
        )
    margin = 0.04 * (high - low)
    axes.set(xlim=(low[0] - margin[0], high[0] + margin[0]))
    axes.set(ylim=(low[1] - margin[1], high[1] + margin[1]))
    return inside


def perplexities(axes: Any, found: dict[str, Any]) -> None:
    """Distributions of the effective number of neighbors, with their common mean."""
    values = {m: np.asarray(found[m]["perplexity"]) for m in SHOWN}
    high = max(np.percentile(v, 99.5) for v in values.values())  # where the axis ends
    bins = np.linspace(0, high, 50)
    for method, v in values.items():
        color = METHODS[method]["color"]
        label = f"{method} ({found[method]['deviation']:.0f})"
        axes.hist(np.minimum(v, high), bins, color=color, alpha=0.55, label=label)
    mean = found["QOT"]["mean_perplexity"]
    axes.axvline(mean, color="black", linestyle=":", linewidth=1)
    axes.set(xlabel=f"perplexity (mean {mean:.0f})", ylabel="points")
    axes.legend(title="(deviation)", fontsize=8, title_fontsize=8)


def images(figure: Any, panels: Any, found: list[Any], sizes: Any, label: str = _UNIFORM) -> None:
    """Affinities from afar, in common colors with a bar; blocks apart by lines. White is zero."""
    matplotlib = load_extra("matplotlib.colors", "plot")
    highest = max(float(np.max(pixels)) for pixels in found)
    norm = matplotlib.PowerNorm(0.35, vmin=0, vmax=highest)
    for axes, pixels in zip(panels, found, strict=True):
        drawn = image(axes, pixels, sizes, norm)
    bar = figure.colorbar(drawn, ax=panels[-1], label=label, fraction=0.05, pad=0.02)
    bar.set_ticks([0, *(t for t in (0.1, 1, 10, 100) if t < highest / 1.6), round(highest)])
    bar.ax.set_yticklabels([f"{t:g}" for t in bar.get_ticks()])
    bar.ax.minorticks_off()


def image(axes: Any, pixels: Any, sizes: Any, norm: Any) -> Any:
    """One affinity from afar."""
    n = sum(sizes)
    drawn = axes.imshow(
        np.ma.masked_equal(np.asarray(pixels), 0),
        extent=(0, n, n, 0),
        norm=norm,
        cmap=f"{SEQUENTIAL}_r",
        interpolation="nearest",
    )
    for end in np.cumsum(sizes)[:-1]:
        axes.axhline(end, color="0.4", linewidth=0.5)
        axes.axvline(end, color="0.4", linewidth=0.5)
    axes.set(xticks=[], yticks=[])
    return drawn


def eigenvectors(panels: Any, vectors: Any, labels: Any, method: str, letter: str) -> None:
    """Eigenfunctions v_2, v_3, ... over the points, in order of their labels.

    Limits are by the 99th percentile: values beyond are triangles at the edge.
    """
    vectors, labels = np.asarray(vectors), np.asarray(labels).astype(str)
    order = np.argsort(labels, kind="stable")
    names = in_order(labels)
    shades = dict(zip(names, colors(len(names)), strict=True))
    tints = np.array([shades[label] for label in labels[order]])
    for j, axes in enumerate(np.ravel(panels)):
        values = vectors[order, j]
        limit = 1.1 * float(np.percentile(np.abs(values), 99))
        _clipped(axes, values, limit, tints)
        tick = float(f"{0.8 * limit:.1g}")
        axes.set(xticks=[], ylim=(-1.15 * limit, 1.15 * limit))
        axes.set_yticks([-tick, 0, tick], [f"{-tick:g}", "0", f"{tick:g}"], fontsize=7)
        axes.set_title(rf"$v_{{{j + 2}}}$", loc="center", fontsize=9)
    first = np.ravel(panels)[0]
    first.set_ylabel(method)
    first.set_title(rf"$\bf{{{letter}}}$", loc="left")


def _clipped(axes: Any, values: Any, limit: float, tints: Any) -> None:
    place = np.arange(len(values))
    for marker, size, chosen in (
        ("o", 2, np.abs(values) <= limit),
        ("^", 14, values > limit),
        ("v", 14, values < -limit),
    ):
        axes.scatter(
            place[chosen],
            values[chosen].clip(-limit, limit),
            s=size,
            c=tints[chosen],
            marker=marker,
            linewidths=0,
            rasterized=True,
        )


def score_curves(axes: Any, rows: list[dict[str, Any]], key: str) -> None:
    """A score over eps from bands; for k-NN, a line at its best."""
    rows = [row for row in rows if row["of"] == key]
    best_of = max if key == "nmi" else min
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        style = METHODS[method]
        if method in _BY_NEIGHBOURS:
            best = best_of(chosen, key=lambda row: row["mean"])
            note = f"k = {best['parameter']:g}"
            end = _is_free_at_the_end(rows, best["mean"])
            label = f"{method}, best k"
            best_line(axes, best["mean"], style["color"], label, note, at_the_end=end)
        else:
            curve_with_band(axes, chosen, "parameter", style | {"markersize": 4}, method)
    axes.set(xscale="log", xlabel=r"$\varepsilon$, relative to the mean cost")
    axes.set(ylabel=_LABELS[key], ylim=(0, 1 if key == "nmi" else np.pi / 2))


def _is_free_at_the_end(rows: list[dict[str, Any]], value: float) -> bool:
    """Whether curves are farther from a value at their ends than where they begin."""
    others = [row for row in rows if row["method"] not in _BY_NEIGHBOURS]
    places = [row["parameter"] for row in others]

    def room(place: float) -> float:
        return min(abs(row["mean"] - value) for row in others if row["parameter"] == place)

    return room(max(places)) > room(min(places))
