"""The look of the paper's figures, and panels that several of them share.

One color and one marker per method, panels with letters. Matplotlib is imported when a figure is
drawn. Nothing is computed here but what a picture needs: limits, bins, an order of points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sparrot.errors import load_extra
from sparrot.paper._methods import BY_NEIGHBORS, PROJECTIONS
from sparrot.paper._records import Rows
from sparrot.plot._categories import in_order
from sparrot.plot._style import PALETTE, SEQUENTIAL, colors

# Can be told apart with every kind of color vision; markers do the rest.
BLUE, ORANGE, GREEN, RED, SKY, PINK, GRAY, YELLOW = PALETTE
BLACK = "#000000"
STYLES: dict[str, dict[str, Any]] = {
    "QOT": {"color": BLUE, "marker": "o"},
    "EOT": {"color": RED, "marker": "s"},
    "QOT, fat": {"color": BLUE, "marker": "o", "linestyle": "--", "mfc": "white"},
    "EOT, fat": {"color": RED, "marker": "s", "linestyle": "--", "mfc": "white"},
    "Gaussian L2": {"color": GREEN, "marker": "^"},
    "k-NN": {"color": ORANGE, "marker": "D"},
    "MAGIC": {"color": PINK, "marker": "v"},
    "Gaussian": {"color": SKY, "marker": "P"},
    "Epanechnikov": {"color": GRAY, "marker": "X"},
}
# A closed curve has closed colors.
CYCLE = {"cmap": "twilight_shifted", "vmin": 0.0, "vmax": 2 * np.pi}
IMAGE_LABEL = "affinity, times N"
ANGLE_LABELS = {
    "angle": "mean principal angle to the\n10 vectors of the clean curve (rad)",
    "whole": "mean principal angle to the\n11 vectors of whole pairs (rad)",
}
_SCORE_LABELS = {"nmi": "NMI", "angle": "angle to the template (rad)"}
_RC = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.markersize": 5,
    "pdf.fonttype": 42,
}


@contextmanager
def paper_style() -> Iterator[Any]:
    """Matplotlib's pyplot, with our style inside the block."""
    plt = load_extra("matplotlib.pyplot", "plot")
    with plt.rc_context(_RC):
        yield plt


def panel(axes: Any, letter: str, title: str) -> None:
    """A bold letter and a title, above the axes on the left."""
    axes.set_title(rf"$\bf{{{letter}}}$  {title}")


def draw_band(axes: Any, rows: Rows, over: str, style: dict[str, Any], label: str) -> None:
    """Means as a line and ranges as a band, from the records of `bands`."""
    x, mean, low, high = ([row[key] for row in rows] for key in (over, "mean", "low", "high"))
    axes.plot(x, mean, label=label, **style)
    axes.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)


def draw_angles(axes: Any, rows: Rows, judge: str) -> None:
    """Angles of the spiral over the parameter of each method, by one judge."""
    _draw_over_eps(axes, [row for row in rows if row["of"] == judge], min, at_the_end=True)
    axes.set(xlabel=r"$\varepsilon$ (or bandwidth), relative to the mean cost")
    axes.set(ylabel=ANGLE_LABELS[judge], ylim=(0, np.pi / 2))


def draw_scores(axes: Any, rows: Rows, key: str) -> None:
    """A score of clusters over the parameter of each method."""
    best = max if key == "nmi" else min
    _draw_over_eps(axes, [row for row in rows if row["of"] == key], best)
    axes.set(xlabel=r"$\varepsilon$, relative to the mean cost")
    axes.set(ylabel=_SCORE_LABELS[key], ylim=(0, 1 if key == "nmi" else np.pi / 2))


def _draw_over_eps(
    axes: Any, rows: Rows, best: Callable[..., Any], *, at_the_end: bool | None = None
) -> None:
    """Bands over eps; for a method by neighbors, a line at its best with its k written on it.

    The k stands at the right end of the line, or at the left; None for the end where curves leave
    more room.
    """
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        style = STYLES[method] | {"markersize": 4}
        if method not in BY_NEIGHBORS:
            draw_band(axes, chosen, "parameter", style, method)
            continue
        top = best(chosen, key=lambda row: row["mean"])
        level, color = top["mean"], style["color"]
        right = _is_free_at_the_end(rows, level) if at_the_end is None else at_the_end
        axes.axhline(level, color=color, linestyle="-.", label=f"{method}, best k")
        axes.annotate(
            f"k = {top['parameter']:g}",
            (float(right), level),
            (-3 if right else 3, {"k-NN": 2, "MAGIC": -9}[method]),  # their lines lie close
            ha="right" if right else "left",
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=8,
            color=color,
        )
    axes.set_xscale("log")


def _is_free_at_the_end(rows: Rows, level: float) -> bool:
    """Whether curves are farther from a level at their ends than where they begin."""
    others = [row for row in rows if row["method"] not in BY_NEIGHBORS]
    places = [row["parameter"] for row in others]

    def room(place: float) -> float:
        return min(abs(row["mean"] - level) for row in others if row["parameter"] == place)

    return room(max(places)) > room(min(places))


def draw_overview(top: Any, below: Any, numbers: dict[str, Any], title: str, caption: str) -> None:
    """Panels a to f of two subfigures: points, perplexities, affinities; eigenvectors below."""
    shown = numbers["shown"]
    labels = np.asarray(shown["labels"])
    panels = top.subplots(1, 4, width_ratios=(1.1, 1.1, 1, 1))
    draw_points(panels[0], numbers["principal"], labels)
    panels[0].set(xlabel="PC 1", ylabel="PC 2")
    panel(panels[0], "a", title)
    draw_perplexities(panels[1], shown)
    panel(panels[1], "b", "effective neighbors")
    sizes = np.unique(labels, return_counts=True)[1]
    draw_images(top, panels[2:], [shown[method]["image"] for method in PROJECTIONS], sizes)
    for axes, letter, method in zip(panels[2:], "cd", PROJECTIONS, strict=True):
        panel(axes, letter, rf"{method}, $\varepsilon$ = {shown[method]['eps']:.2g}")
    rows = below.subplots(2, len(shown["QOT"]["vectors"][0]), sharex=True)
    for row, letter, method in zip(rows, "ef", PROJECTIONS, strict=True):
        _draw_eigenvectors(row, shown[method]["vectors"], labels, method, letter)
    below.supxlabel(f"{caption}; triangles: beyond the limits", fontsize=9)


def draw_points(
    axes: Any,
    Y: Any,
    labels: Any,
    *,
    shades: dict[str, str] | None = None,
    size: float = 5,
    legend: bool = True,
) -> None:
    """A plane of points, colored by label, in random order so that no label covers another."""
    Y, labels = np.asarray(Y), np.asarray(labels).astype(str)
    shades = _shades(labels) if shades is None else shades
    order = np.random.default_rng(0).permutation(len(Y))
    tints = [shades[label] for label in labels[order]]
    axes.scatter(*Y[order].T, s=size, c=tints, linewidths=0, rasterized=True)
    for name, color in shades.items():
        axes.scatter([], [], s=size, color=color, label=name, linewidths=0)
    axes.set(xticks=[], yticks=[])
    if legend:
        axes.legend(fontsize=8, markerscale=2.5, handletextpad=0.1, loc="best")


def _shades(labels: Any) -> dict[str, str]:
    """A color for each label."""
    names = in_order(labels)
    return dict(zip(names, colors(len(names)), strict=True))


def within_limits(axes: Any, Y: Any, percent: float = 1.0) -> Any:
    """Points, those far from the bulk moved to its edge, where they are circled and counted."""
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


def draw_perplexities(axes: Any, found: dict[str, Any]) -> None:
    """Distributions of the effective number of neighbors, with their common mean."""
    values = {m: np.asarray(found[m]["perplexity"]) for m in PROJECTIONS}
    high = max(np.percentile(v, 99.5) for v in values.values())  # where the axis ends
    bins = np.linspace(0, high, 50)
    for method, v in values.items():
        color = STYLES[method]["color"]
        label = f"{method} ({found[method]['deviation']:.0f})"
        axes.hist(np.minimum(v, high), bins, color=color, alpha=0.55, label=label)
    mean = found["QOT"]["mean_perplexity"]
    axes.axvline(mean, color="black", linestyle=":", linewidth=1)
    axes.set(xlabel=f"perplexity (mean {mean:.0f})", ylabel="points")
    axes.legend(title="(deviation)", fontsize=8, title_fontsize=8)


def draw_images(figure: Any, panels: Any, found: list[Any], sizes: Any) -> None:
    """Images of affinities in common colors with a bar; lines between blocks. White is zero."""
    highest = max(float(np.max(pixels)) for pixels in found)
    norm = load_extra("matplotlib.colors", "plot").PowerNorm(0.35, vmin=0, vmax=highest)
    for axes, pixels in zip(panels, found, strict=True):
        drawn = draw_image(axes, pixels, sizes, norm)
    bar = figure.colorbar(drawn, ax=panels[-1], label=IMAGE_LABEL, fraction=0.05, pad=0.02)
    bar.set_ticks([0, *(t for t in (0.1, 1, 10, 100) if t < highest / 1.6), round(highest)])
    bar.ax.set_yticklabels([f"{t:g}" for t in bar.get_ticks()])
    bar.ax.minorticks_off()


def draw_image(axes: Any, pixels: Any, sizes: Any, norm: Any) -> Any:
    """The image of one affinity, with lines between blocks of these sizes."""
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


def _draw_eigenvectors(panels: Any, vectors: Any, labels: Any, method: str, letter: str) -> None:
    """Eigenfunctions v_2, v_3, ... over the points, in order of their labels.

    Limits are by the 99th percentile: values beyond are triangles at the edge.
    """
    vectors, labels = np.asarray(vectors), np.asarray(labels).astype(str)
    order = np.argsort(labels, kind="stable")
    shades = _shades(labels)
    tints = np.array([shades[label] for label in labels[order]])
    for j, axes in enumerate(np.ravel(panels)):
        values = vectors[order, j]
        limit = 1.1 * float(np.percentile(np.abs(values), 99))
        _draw_clipped(axes, values, limit, tints)
        tick = float(f"{0.8 * limit:.1g}")
        axes.set(xticks=[], ylim=(-1.15 * limit, 1.15 * limit))
        axes.set_yticks([-tick, 0, tick], [f"{-tick:g}", "0", f"{tick:g}"], fontsize=7)
        axes.set_title(rf"$v_{{{j + 2}}}$", loc="center", fontsize=9)
    first = np.ravel(panels)[0]
    first.set_ylabel(method)
    first.set_title(rf"$\bf{{{letter}}}$", loc="left")


def _draw_clipped(axes: Any, values: Any, limit: float, tints: Any) -> None:
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
