"""Figures of the mixture: data, affinities and eigenvectors; scores; Laplacian spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper._clusters_figure import overview, score_curves
from sparrot.paper._look import METHODS, curve_with_band, panel, paper_style


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """The panels (a) and (b); (c) and (d); and the supplement's spectra."""
    with paper_style() as plt:
        return {
            "": _affinities(plt, numbers),
            "scores": _scores(plt, numbers),
            "spectra": _spectra(plt, numbers["spectra"]),
        }


def _affinities(plt: Any, numbers: dict[str, Any]) -> Any:
    figure = plt.figure(figsize=(13, 6.2), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.25, 1))
    title = f"three Gaussians, d = {numbers['shown']['d']}"
    overview(top, bottom, numbers, title, "points, by cluster")
    return figure


def _scores(plt: Any, numbers: dict[str, Any]) -> Any:
    rows = numbers["score_bands"]
    dimensions = sorted({row["d"] for row in rows})
    width = len(dimensions) + 1
    figure, panels = plt.subplots(2, width, figsize=(3.4 * width, 6), layout="constrained")
    for j, d in enumerate(dimensions):
        for i, key in enumerate(("nmi", "angle")):
            score_curves(panels[i, j], [row for row in rows if row["d"] == d], key)
        panel(panels[0, j], "abcdef"[j], f"d = {d}")
    panels[0, 0].legend(fontsize=8)
    for i, key in enumerate(("nmi", "angle")):
        _pca(panels[i, -1], [row for row in numbers["pca_bands"] if row["of"] == key])
        panels[i, -1].set(ylabel=panels[i, 0].get_ylabel(), ylim=panels[i, 0].get_ylim())
    panel(panels[0, -1], "abcdef"[width - 1], f"d = {dimensions[-1]}, after PCA")
    panels[1, -1].legend(fontsize=8, loc="upper left")
    return figure


def _pca(axes: Any, rows: list[dict[str, Any]]) -> None:
    dimensions = sorted({row["pca"] for row in rows})
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        symbol = "k" if method == "k-NN" else r"$\varepsilon$"
        label = f"{method}, {symbol} = {chosen[0]['parameter']:.3g}"
        curve_with_band(axes, chosen, "pca", METHODS[method], label)
    axes.set(xscale="log", xlabel="principal components")
    axes.set_xticks(dimensions, [str(d) for d in dimensions])
    axes.minorticks_off()


def _spectra(plt: Any, rows: list[dict[str, Any]]) -> Any:
    dimensions = sorted({row["d"] for row in rows})
    figure, panels = plt.subplots(
        1, len(dimensions), figsize=(3.6 * len(dimensions), 3.2), layout="constrained"
    )
    for letter, axes, d in zip("abcdef", np.ravel(panels), dimensions, strict=False):
        for method in ("QOT", "EOT"):
            chosen = [row for row in rows if row["d"] == d and row["method"] == method]
            index, values = ([row[key] for row in chosen] for key in ("index", "value"))
            axes.plot(index, values, label=method, **METHODS[method] | {"linestyle": ":"})
        axes.set(xlabel="index", xticks=range(1, len(index) + 1, 2))
        panel(axes, letter, f"d = {d}")
    np.ravel(panels)[0].set_ylabel("Laplacian eigenvalue")
    np.ravel(panels)[0].legend(loc="center right")
    return figure
