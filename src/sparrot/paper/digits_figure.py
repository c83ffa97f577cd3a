"""Figures of the digits: affinities, eigenvectors and scores; layouts, and the slant of ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._extras import load_extra
from sparrot.paper._clusters_figure import SHOWN, overview, points, score_curves, within_limits
from sparrot.paper._look import panel, paper_style
from sparrot.plot._style import SEQUENTIAL


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """The panels (a) to (c), and (d), as two figures."""
    with paper_style() as plt:
        return {"": _affinities(plt, numbers), "layouts": _layouts(plt, numbers)}


def _affinities(plt: Any, numbers: dict[str, Any]) -> Any:
    figure = plt.figure(figsize=(13, 9.4), layout="constrained")
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=(1.2, 1, 1.2))
    title = f"{len(numbers['shown']['labels'])} images"
    overview(top, middle, numbers, title, "images, by digit")
    for axes, letter, key in zip(bottom.subplots(1, 2), "gh", ("nmi", "angle"), strict=True):
        score_curves(axes, numbers["score_bands"], key)
        panel(axes, letter, {"nmi": "spectral clustering", "angle": "eigenspaces"}[key])
        axes.legend(fontsize=8)
    return figure


def _layouts(plt: Any, numbers: dict[str, Any]) -> Any:
    figure, panels = plt.subplots(1, 4, figsize=(17, 4.4), layout="constrained")
    shown = numbers["shown"]
    for axes, letter, method in zip(panels[:2], "ab", SHOWN, strict=True):
        inside = within_limits(axes, shown[method]["layout"])
        points(axes, inside, shown["labels"], legend=method == "QOT")
        axes.set(xlabel="MDS 1", ylabel="MDS 2")
        panel(axes, letter, f"{method}: all digits")
    correlations = {row["method"]: row["slant"] for row in numbers["ones"] if row["seed"] == 0}
    for axes, letter, method in zip(panels[2:], "cd", SHOWN, strict=True):
        drawn = _slants(axes, numbers["slants"][method], numbers["images"])
        panel(axes, letter, f"{method}: the ones, |r| = {correlations[method]:.2f}")
    figure.colorbar(drawn, ax=panels[-1], label="slant (rad)")
    return figure


def _slants(axes: Any, ones: dict[str, Any], images: dict[str, Any]) -> Any:
    """The layout of the ones colored by slant; some of them are drawn above, with a line to it."""
    boxes = load_extra("matplotlib.offsetbox", "plot")
    inside = within_limits(axes, ones["layout"])
    drawn = axes.scatter(*inside.T, c=ones["slant"], s=14, cmap=SEQUENTIAL)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.35 * (high - low))
    rows = np.asarray(images["rows"])
    order = np.argsort(inside[rows, 0])
    places = np.linspace(0.04, 0.96, len(rows))
    for k, place in zip(order, places, strict=True):
        small = np.asarray(images["pixels"][k])
        ink = np.zeros((*small.shape, 4))
        ink[..., 3] = small
        box = boxes.AnnotationBbox(
            boxes.OffsetImage(ink, zoom=1.4),
            inside[rows[k]],
            xybox=(place, 0.9 if k % 2 else 0.97),
            boxcoords="axes fraction",
            frameon=False,
            pad=0,
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6},
        )
        axes.add_artist(box)
    axes.set(xticks=[], yticks=[], xlabel="MDS 1", ylabel="MDS 2")
    return drawn
