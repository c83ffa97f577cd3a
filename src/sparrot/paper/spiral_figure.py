"""Figures of the spiral: data and angles; embeddings; interpolation; principal components."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper._angles_figure import LABELS, angle_curves
from sparrot.paper._look import CYCLE, METHODS, curve_with_band, panel, paper_style

_AXES = {"clean": ("x", "y", "z"), "principal": ("PC 1", "PC 2", "PC 3")}
_BEST_BY = {"angle": "the ten vectors", "whole": "whole pairs"}
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
    figure = plt.figure(figsize=(12, 9), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.2)
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.1))
    titles = ("clean curve", "noisy data, 3 principal components")
    for k, (key, title) in enumerate(zip(("clean", "principal"), titles, strict=True)):
        axes = figure.add_subplot(grid[0, k], projection="3d")
        points = np.asarray(numbers["data"][key])
        axes.scatter(*points.T, c=numbers["data"]["t"], s=5, **CYCLE)
        axes.set_box_aspect((1, 1, 0.6), zoom=0.85)
        for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), _AXES[key], strict=True):
            axis.set_label_text(name)
            axis.set_ticklabels([])
            axis.labelpad = -8
        panel(axes, "ab"[k], title)
    titles = ("the paper's judge, which cuts a pair in two", "to whole pairs of eigenvectors")
    for k, (key, title) in enumerate(zip(LABELS, titles, strict=True)):
        axes = figure.add_subplot(grid[1, k])
        angle_curves(axes, numbers["angle_bands"], key)
        panel(axes, "cd"[k], title)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
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
        angles = f"angle {row['angle']:.2f}, whole pairs {row['whole_there']:.2f}"
        axes.set_title(f"{method}, {symbol} = {row['parameter']:.2g}\n{angles}", fontsize=9)
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
    """A row for each judge by which the parameters are best; the truth is the same in both."""
    truth = numbers["paths"]["angle"]["reference"]
    top = max(np.max(path) for paths in numbers["paths"].values() for path in paths.values())
    figure, panels = plt.subplots(2, 5, figsize=(16, 7), layout="constrained")
    for i, (key, title) in enumerate(_BEST_BY.items()):
        paths = {"reference": truth} | numbers["paths"][key]
        for j, (method, path) in enumerate(paths.items()):
            drawn = _path(panels[i, j], np.asarray(path), top)
            name = "clean curve" if method == "reference" else method
            panel(panels[i, j], "abcdefghij"[5 * i + j], name)
        panels[i, 0].set_ylabel(f"best by {title}\ninterpolation s")
        figure.colorbar(drawn, ax=panels[i, 3], label="density along the curve")
        _errors(panels[i, 4], [row for row in numbers["divergence"] if row["judge"] == key])
        panel(panels[i, 4], "abcdefghij"[5 * i + 4], "error along the path")
    highest = 1.35 * max(row["divergence"] for row in numbers["divergence"])
    for axes in panels[:, 4]:
        axes.set_ylim(0, highest)
    return figure


def _path(axes: Any, path: Any, top: float) -> Any:
    n = path.shape[1]
    axes.set(xlabel="place along the curve", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    return axes.imshow(
        path * n,
        aspect="auto",
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap="cividis",
        vmin=0,
        vmax=top * n,
        interpolation="nearest",
    )


def _errors(axes: Any, rows: list[dict[str, Any]]) -> None:
    for method in dict.fromkeys(row["method"] for row in rows):
        chosen = [row for row in rows if row["method"] == method]
        weights, errors = ([row[key] for row in chosen] for key in ("s", "divergence"))
        axes.plot(weights, errors, label=method, **METHODS[method])
    axes.set(xlabel="interpolation s", ylabel="Sinkhorn divergence to the truth")
    axes.legend(loc="upper left", ncols=3, fontsize=8)


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
        for key, line, name in (("angle", "-", method), ("whole", "--", f"{method}, whole pairs")):
            rows = [r for r in numbers["pca_bands"] if r["method"] == method and r["of"] == key]
            curve_with_band(axes, rows, "d", METHODS[method] | {"linestyle": line}, name)
    axes.set(xscale="log", xlabel="principal components d", ylim=(0, None))
    axes.set_ylabel(LABELS["angle"])
    axes.set_xticks(dimensions, [str(d) for d in dimensions])
    axes.minorticks_off()
    axes.legend(fontsize=8)
    return figure
