"""Figure of batch effects: cells, potentials, affinities, layouts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._extras import load_extra
from sparrot.paper._clusters_figure import image, images, points
from sparrot.paper._look import panel, paper_style
from sparrot.plot._style import colors

_METHODS = ("QOT", "EOT", "k-NN", "Gaussian")
_LAID_OUT = ("default", "QOT", "EOT", "k-NN")


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """Data and potentials; affinities by type and batch; layouts by type, and by batch."""
    with paper_style() as plt:
        figure = plt.figure(figsize=(14, 13.5), layout="constrained")
        top, middle, bottom = figure.subfigures(3, 1, height_ratios=(1, 1, 2))
        _data(top.subplots(1, 4), numbers)
        _affinities(middle, numbers)
        _layouts(bottom.subplots(2, 4), numbers)
    return {"": figure}


def _data(panels: Any, numbers: dict[str, Any]) -> None:
    batches = [f"{b} reads" for b in numbers["batches"]]
    for axes, letter, labels in zip(panels, "ab", (numbers["types"], batches), strict=False):
        points(axes, numbers["principal"], labels, size=4)
        axes.set(xlabel="PC 1", ylabel="PC 2")
        panel(axes, letter, {"a": "types", "b": "batches"}[letter])
    for axes, letter, method in zip(panels[2:], "cd", ("QOT", "EOT"), strict=True):
        _potentials(axes, np.asarray(numbers["potentials"][method]), numbers["batches"])
        panel(axes, letter, rf"potential of {method}")


def _potentials(axes: Any, u: Any, batches: Any) -> None:
    names = sorted(set(batches))
    bins = np.linspace(np.percentile(u, 0.5), np.percentile(u, 99.5), 40)
    for name, color in zip(names, colors(len(names)), strict=True):
        chosen = u[np.asarray(batches) == name]
        axes.hist(np.clip(chosen, bins[0], bins[-1]), bins, color=color, alpha=0.6, label=name)
    axes.set(xlabel="u over the mean cost", ylabel="cells")
    axes.legend(title="reads", fontsize=8, title_fontsize=8)


def _affinities(figure: Any, numbers: dict[str, Any]) -> None:
    """Three in common colors; the Gaussian kernel on a scale of its own, logarithmic as there."""
    panels = figure.subplots(1, 4)
    keys = [f"{t} {b:05d}" for t, b in zip(numbers["types"], numbers["batches"], strict=True)]
    sizes = np.unique(keys, return_counts=True)[1]
    rows = {row["method"]: row for row in numbers["affinities"]}
    images(figure, panels[:3], [numbers["images"][m] for m in _METHODS[:3]], sizes)
    _logarithmic(figure, panels[3], np.asarray(numbers["images"]["Gaussian"]), sizes)
    for axes, letter, method in zip(panels, "efgh", _METHODS, strict=True):
        said = f"NMI {rows[method]['nmi']:.2f}, mixing {rows[method]['mixing']:.2f}"
        axes.set_xlabel(f"by type, then reads\n{said}")
        panel(axes, letter, method + ", log scale" * (method == "Gaussian"))


def _logarithmic(figure: Any, axes: Any, pixels: Any, sizes: Any) -> None:
    low = max(float(np.percentile(pixels[pixels > 0], 1)), 1e-6)
    norm = load_extra("matplotlib.colors", "plot").LogNorm(low, float(pixels.max()))
    drawn = image(axes, np.maximum(pixels, low), sizes, norm)
    figure.colorbar(
        drawn, ax=axes, label="affinity, times N", fraction=0.05, pad=0.02, extend="min"
    )


def _layouts(panels: Any, numbers: dict[str, Any]) -> None:
    batches = [f"{b} reads" for b in numbers["batches"]]
    rows = {row["method"]: row for row in numbers["layouts"]}
    for j, method in enumerate(_LAID_OUT):
        for i, labels in enumerate((numbers["types"], batches)):
            points(panels[i, j], numbers["embeddings"][method], labels, size=4, legend=j == 0)
            panel(panels[i, j], "ijklmnop"[4 * i + j], f"t-SNE, {method}")
        said = f"mixing {rows[method]['mixing']:.2f}, purity {rows[method]['purity']:.2f}"
        panels[1, j].set_xlabel(said)
    panels[0, 0].set_ylabel("by type")
    panels[1, 0].set_ylabel("by batch")
