"""The figure of the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparrot.extras import load_extra
from sparrot.plot.matrix import affinity

if TYPE_CHECKING:
    from sparrot.experiments.demo import Demo

# The curve is closed, and so are its colours.
_CYCLE = {"cmap": "twilight_shifted", "vmin": 0.0, "vmax": 2 * np.pi}


def draw_demo(demo: Demo) -> Any:
    """Clean curve, noisy points, the affinity, and the leading eigenvectors of each method."""
    plt = load_extra("matplotlib.pyplot", "plot")
    style = {"font.size": 10, "axes.titlesize": 11, "axes.spines.top": False}
    with plt.rc_context(style | {"axes.spines.right": False}):
        figure = plt.figure(figsize=(11.5, 7), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15)
        _curve(figure.add_subplot(231, projection="3d"), demo)
        _principal(figure.add_subplot(232), demo)
        _affinity(figure.add_subplot(233), demo)
        for k, outcome in enumerate(demo.outcomes):
            axes = figure.add_subplot(234 + k)
            points = axes.scatter(*outcome.plane.T, c=demo.spiral.t, s=8, **_CYCLE)
            axes.set_title(f"{'def'[k]}  {outcome.name}: angle {outcome.angle:.2f} rad", loc="left")
            axes.set(xlabel="eigenvector 2", ylabel="eigenvector 3", aspect="equal")
            axes.set(xlim=(-2, 2), ylim=(-2, 2), xticks=range(-2, 3), yticks=range(-2, 3))
        bar = figure.colorbar(points, ax=axes, ticks=[0, np.pi, 2 * np.pi], shrink=0.8)
        bar.ax.set_yticklabels(["0", "π", "2π"])
        bar.set_label("position t along the curve")
    return figure


def _curve(axes: Any, demo: Demo) -> None:
    axes.scatter(*demo.spiral.clean.T, c=demo.spiral.t, s=6, **_CYCLE)
    axes.set_title("a  the clean curve", loc="left")
    axes.set(xlabel="x", ylabel="y", zlabel="z", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.set(zticks=[-0.4, 0, 0.4])
    axes.set_box_aspect((1, 1, 0.5), zoom=0.9)


def _principal(axes: Any, demo: Demo) -> None:
    axes.scatter(*demo.principal.T, c=demo.spiral.t, s=8, **_CYCLE)
    axes.set_title(f"b  the data: noise in {demo.spiral.X.shape[1]} dimensions", loc="left")
    axes.set(xlabel="principal component 1", ylabel="principal component 2", aspect="equal")


def _affinity(axes: Any, demo: Demo) -> None:
    affinity(demo.affinity, ax=axes)
    axes.set_title(f"c  QOT affinity, {demo.affinity.neighbours:.0f} neighbours a row", loc="left")
    axes.set(xlabel="point, in order along the curve", ylabel="point")
