"""Figures of the digits: affinities, eigenvectors and scores; layouts, and the slant of ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.extras import load_extra
from sparrot.plot.paper.clusters import eigenvectors, image, perplexities, points, score_curves
from sparrot.plot.paper.look import panel, paper_style
from sparrot.plot.style import SEQUENTIAL

_SHOWN = ("QOT", "EOT")


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """The panels (a) to (c), and (d), as two figures."""
    with paper_style() as plt:
        return {"": _affinities(plt, numbers), "layouts": _layouts(plt, numbers)}


def _affinities(plt: Any, numbers: dict[str, Any]) -> Any:
    shown = numbers["shown"]
    labels = np.asarray(shown["labels"])
    sizes = np.unique(labels, return_counts=True)[1]
    figure = plt.figure(figsize=(13, 9.4), layout="constrained")
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=(1.2, 1, 1.2))
    panels = top.subplots(1, 4, width_ratios=(1.1, 1.1, 1, 1))
    points(panels[0], numbers["principal"], labels)
    panels[0].set(xlabel="PC 1", ylabel="PC 2")
    panel(panels[0], "a", f"{len(labels)} images")
    perplexities(panels[1], shown)
    panel(panels[1], "b", "effective neighbours")
    for axes, letter, method in zip(panels[2:], "cd", _SHOWN, strict=True):
        image(axes, shown[method]["image"], sizes)
        panel(axes, letter, rf"{method}, $\varepsilon$ = {shown[method]['eps']:.2g}")
    rows = middle.subplots(2, len(shown["QOT"]["vectors"][0]), sharex=True)
    for row, method in zip(rows, _SHOWN, strict=True):
        eigenvectors(row, shown[method]["vectors"], labels, method)
    for axes, letter, key in zip(bottom.subplots(1, 2), "ef", ("nmi", "angle"), strict=True):
        score_curves(axes, numbers["score_bands"], key)
        panel(axes, letter, {"nmi": "spectral clustering", "angle": "eigenspaces"}[key])
        axes.legend(fontsize=8)
    return figure


def _layouts(plt: Any, numbers: dict[str, Any]) -> Any:
    figure, panels = plt.subplots(1, 4, figsize=(15, 4), layout="constrained")
    shown = numbers["shown"]
    for axes, letter, method in zip(panels[:2], "ab", _SHOWN, strict=True):
        points(axes, shown[method]["layout"], shown["labels"], legend=method == "QOT")
        axes.set(xlabel="MDS 1", ylabel="MDS 2")
        panel(axes, letter, f"{method}: all digits")
    for axes, letter, method in zip(panels[2:], "cd", _SHOWN, strict=True):
        drawn = _slants(axes, numbers["ones"][method], numbers["images"])
        correlation = numbers["ones"][method]["correlation"]
        panel(axes, letter, f"{method}: the ones, |r| = {correlation:.2f}")
    figure.colorbar(drawn, ax=panels[-1], label="slant (rad)")
    return figure


def _slants(axes: Any, ones: dict[str, Any], images: dict[str, Any]) -> Any:
    """The layout of the ones coloured by slant, with some of them drawn at their place."""
    boxes = load_extra("matplotlib.offsetbox", "plot")
    layout = np.asarray(ones["layout"])
    drawn = axes.scatter(*layout.T, c=ones["slant"], s=14, cmap=SEQUENTIAL)
    pixels = np.asarray(images["pixels"])
    for row, small in zip(images["rows"], pixels, strict=True):
        ink = np.zeros((*small.shape, 4))
        ink[..., 3] = small
        axes.add_artist(boxes.AnnotationBbox(boxes.OffsetImage(ink), layout[row], frameon=False))
    axes.set(xticks=[], yticks=[], xlabel="MDS 1", ylabel="MDS 2")
    return drawn
