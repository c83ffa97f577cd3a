"""Figures of the spiral: data and angles; embeddings; interpolation; principal components."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.plot.paper.angles import LABEL, angle_curves
from sparrot.plot.paper.look import CYCLE, METHODS, curve_with_band, panel, paper_style

_AXES = {"clean": ("x", "y", "z"), "principal": ("PC 1", "PC 2", "PC 3")}
_LIMIT = 2.2  # of embeddings whose coordinates have mean square one


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """The panels (a) and (b), (c), (d), (e) of the paper's figure, as four figures."""
    with paper_style() as plt:
        return {
            "": _data_and_angles(plt, numbers),
            "embeddings": _embeddings(plt, numbers),
            "interpolation": _interpolation(plt, numbers),
            "pca": _pca(plt, numbers),
        }


def _data_and_angles(plt: Any, numbers: dict[str, Any]) -> Any:
    figure = plt.figure(figsize=(14, 4.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.2)
    grid = figure.add_gridspec(1, 3, width_ratios=(1, 1, 1.7))
    titles = ("clean curve", "noisy data, 3 principal components")
    for k, (key, title) in enumerate(zip(("clean", "principal"), titles, strict=True)):
        axes = figure.add_subplot(grid[k], projection="3d")
        points = np.asarray(numbers["data"][key])
        axes.scatter(*points.T, c=numbers["data"]["t"], s=5, **CYCLE)
        axes.set_box_aspect((1, 1, 0.6), zoom=0.85)
        for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), _AXES[key], strict=True):
            axis.set_label_text(name)
            axis.set_ticklabels([])
            axis.labelpad = -8
        panel(axes, "ab"[k], title)
    axes = figure.add_subplot(grid[2])
    angle_curves(axes, numbers["angle_bands"])
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    panel(axes, "c", "distance from the eigenspaces of the clean curve")
    return figure


def _embeddings(plt: Any, numbers: dict[str, Any]) -> Any:
    best = {row["method"]: row for row in numbers["best"]}
    rows = -(-len(best) // 5)
    figure, panels = plt.subplots(
        rows, 5, figsize=(13, 2.9 * rows), sharex=True, sharey=True, layout="constrained"
    )
    for axes, above in zip(panels.flat[len(best) :], panels.flat[len(best) - 5 :], strict=False):
        axes.set_axis_off()
        above.tick_params(labelbottom=True)
    for axes, (method, row) in zip(panels.flat, best.items(), strict=False):
        symbol = "k" if method in ("k-NN", "MAGIC") else r"$\varepsilon$"
        _scatter(axes, numbers["embeddings"][method], numbers["data"]["t"])
        axes.set_title(f"{method}, {symbol} = {row['parameter']:.2g}\nangle {row['angle']:.2f}")
    for axes in panels[-1]:
        axes.set_xlabel(r"$v_2$")
    for axes in panels[:, 0]:
        axes.set_ylabel(r"$v_3$")
    return figure


def _scatter(axes: Any, points: Any, t: Any) -> None:
    points = np.asarray(points)
    axes.scatter(*points.T, c=t, s=4, **CYCLE)
    axes.set(xlim=(-_LIMIT, _LIMIT), ylim=(-_LIMIT, _LIMIT), aspect="equal")


def _interpolation(plt: Any, numbers: dict[str, Any]) -> Any:
    paths = {method: np.asarray(path) for method, path in numbers["paths"].items()}
    figure, panels = plt.subplots(
        1, len(paths) + 1, figsize=(3.0 * len(paths) + 4.2, 3.7), layout="constrained"
    )
    weights = np.linspace(0, 1, len(next(iter(paths.values()))))
    top = max(path.max() for path in paths.values())
    for k, (method, path) in enumerate(paths.items()):
        n = path.shape[1]
        image = panels[k].imshow(
            path * n,
            aspect="auto",
            origin="lower",
            extent=(0, 1, 0, 1),
            cmap="cividis",
            vmin=0,
            vmax=top * n,
            interpolation="nearest",
        )
        panels[k].set(xlabel="place along the curve", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        panel(panels[k], "abcdef"[k], "clean curve" if method == "reference" else method)
    panels[0].set_ylabel("interpolation s")
    figure.colorbar(image, ax=panels[len(paths) - 1], label="density along the curve")
    axes = panels[-1]
    for method in dict.fromkeys(row["method"] for row in numbers["divergence"]):
        errors = [row["divergence"] for row in numbers["divergence"] if row["method"] == method]
        axes.plot(weights, errors, label=method, **METHODS[method])
    axes.set(xlabel="interpolation s", ylabel="Sinkhorn divergence to the truth")
    axes.set_ylim(0, 1.35 * max(row["divergence"] for row in numbers["divergence"]))
    axes.legend(loc="upper left", ncols=2)
    panel(axes, "abcdef"[len(paths)], "error along the path")
    return figure


def _pca(plt: Any, numbers: dict[str, Any]) -> Any:
    dimensions = sorted({row["d"] for row in numbers["pca"]})
    methods = list(dict.fromkeys(row["method"] for row in numbers["pca"]))
    width = len(dimensions)
    figure = plt.figure(figsize=(2.0 * width + 4.2, 4.6), layout="constrained")
    grid = figure.add_gridspec(2, width + 1, width_ratios=(*[1] * width, 2.0))
    for embedding in numbers["pca_embeddings"]:
        i, j = methods.index(embedding["method"]), dimensions.index(embedding["d"])
        axes = figure.add_subplot(grid[i, j])
        _scatter(axes, embedding["points"], numbers["data"]["t"])
        axes.set(xticks=[], yticks=[])
        if i == 0:
            axes.set_title(f"d = {embedding['d']}", loc="center")
        if j == 0:
            axes.set_ylabel(embedding["method"])
    axes = figure.add_subplot(grid[:, -1])
    for method in methods:
        rows = [row for row in numbers["pca_bands"] if row["method"] == method]
        curve_with_band(axes, rows, "d", METHODS[method], method)
    axes.set(xscale="log", xlabel="principal components d", ylabel=LABEL, ylim=(0, None))
    axes.set_xticks(dimensions, [str(d) for d in dimensions])
    axes.minorticks_off()
    axes.legend()
    return figure
