"""The demo: a closed curve hidden by noise in many dimensions, and three graphs that look for it.

Each graph is judged by the mean principal angle between its eleven leading eigenvectors and
those of the clean curve. QOT runs with its default; the other two get the best parameter of a
range, chosen with the answer in hand.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray
from sparrot.affinity import Affinity, gaussian, knn, qot
from sparrot.datasets import Spiral, make_spiral
from sparrot.errors import AffinityWarning, load_extra
from sparrot.metrics import mean_principal_angle
from sparrot.paper._figures import CYCLE
from sparrot.paper._methods import principal
from sparrot.plot import affinity as draw_affinity
from sparrot.spectral import eigenpairs

_N_VECTORS = 11  # the constant, and five whole pairs of a closed curve
_NEIGHBORS = (5, 10, 15, 25, 40, 60, 90, 125)
_BANDWIDTHS = tuple(float(h) for h in np.logspace(-2, 2, 9))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One graph: its parameter, neighbors a row, plane, angle, and seconds to build.

    The plane is the first two eigenvectors that are not trivial, with mean square one.
    """

    name: str
    parameter: str
    mean_neighbors: float
    plane: FloatArray
    angle: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Demo:
    """All that the table and the figure show."""

    spiral: Spiral
    principal: FloatArray
    affinity: Affinity
    outcomes: tuple[Outcome, ...]


def run_demo(n: int = 1000, d: int = 250) -> Demo:
    """Build the three graphs of the noisy spiral and judge them."""
    spiral = make_spiral(n, d)
    reference = eigenpairs(knn(spiral.clean, 2), _N_VECTORS).vectors
    X = spiral.X
    start = time.perf_counter()
    affinity = qot(X)
    seconds = time.perf_counter() - start
    outcomes = (
        _judge("QOT", "eps = 1 (default)", affinity.matrix, seconds, reference),
        _best("k-NN", "k", _NEIGHBORS, lambda k: knn(X, k).matrix, reference),
        _best("Gaussian", "h", _BANDWIDTHS, lambda h: gaussian(X, h).matrix, reference),
    )
    return Demo(spiral, principal(X, 2), affinity, outcomes)


def _best(
    name: str,
    symbol: str,
    parameters: Sequence[Any],
    build: Callable[[Any], Any],
    reference: FloatArray,
) -> Outcome:
    tried = []
    for parameter in parameters:
        start = time.perf_counter()
        W = build(parameter)
        seconds = time.perf_counter() - start
        label = f"{symbol} = {parameter:.3g} (best of {len(parameters)})"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AffinityWarning)  # some parameters are bad on purpose
            tried.append(_judge(name, label, W, seconds, reference))
    return min(tried, key=lambda outcome: outcome.angle)


def _judge(name: str, parameter: str, W: Any, seconds: float, reference: FloatArray) -> Outcome:
    vectors = eigenpairs(W, _N_VECTORS).vectors
    angle = mean_principal_angle(vectors, reference)
    neighbors = csr_array(W).nnz / W.shape[0]
    plane = vectors[:, 1:3] * np.sqrt(len(vectors))
    return Outcome(name, parameter, neighbors, plane, angle, seconds)


def draw_demo(demo: Demo) -> Any:
    """Clean curve, noisy points, the affinity, and the leading eigenvectors of each graph."""
    plt = load_extra("matplotlib.pyplot", "plot")
    style = {"font.size": 10, "axes.titlesize": 11, "axes.spines.top": False}
    with plt.rc_context(style | {"axes.spines.right": False}):
        figure = plt.figure(figsize=(11.5, 7), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15)
        _draw_curve(figure.add_subplot(231, projection="3d"), demo)
        _draw_principal(figure.add_subplot(232), demo)
        _draw_affinity(figure.add_subplot(233), demo)
        for k, outcome in enumerate(demo.outcomes):
            axes = figure.add_subplot(234 + k)
            points = axes.scatter(*outcome.plane.T, c=demo.spiral.t, s=8, **CYCLE)
            axes.set_title(f"{'def'[k]}  {outcome.name}: angle {outcome.angle:.2f} rad", loc="left")
            axes.set(xlabel="eigenvector 2", ylabel="eigenvector 3", aspect="equal")
            axes.set(xlim=(-2, 2), ylim=(-2, 2), xticks=range(-2, 3), yticks=range(-2, 3))
        bar = figure.colorbar(points, ax=axes, ticks=[0, np.pi, 2 * np.pi], shrink=0.8)
        bar.ax.set_yticklabels(["0", "π", "2π"])
        bar.set_label("position t along the curve")
    return figure


def _draw_curve(axes: Any, demo: Demo) -> None:
    axes.scatter(*demo.spiral.clean.T, c=demo.spiral.t, s=6, **CYCLE)
    axes.set_title("a  the clean curve", loc="left")
    axes.set(xlabel="x", ylabel="y", zlabel="z", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.set(zticks=[-0.4, 0, 0.4])
    axes.set_box_aspect((1, 1, 0.5), zoom=0.9)


def _draw_principal(axes: Any, demo: Demo) -> None:
    axes.scatter(*demo.principal.T, c=demo.spiral.t, s=8, **CYCLE)
    axes.set_title(f"b  the data: noise in {demo.spiral.X.shape[1]} dimensions", loc="left")
    axes.set(xlabel="principal component 1", ylabel="principal component 2", aspect="equal")


def _draw_affinity(axes: Any, demo: Demo) -> None:
    draw_affinity(demo.affinity, ax=axes)
    axes.set_title(
        f"c  QOT affinity, {demo.affinity.mean_neighbors:.0f} neighbors a row", loc="left"
    )
    axes.set(xlabel="point, in order along the curve", ylabel="point")
