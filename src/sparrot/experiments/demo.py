"""The demo: a closed curve hidden by noise in many dimensions, and three graphs that look for it.

Each graph is judged by the mean principal angle between its ten leading eigenvectors and those of
the clean curve. QOT runs with its default; the other two get the best parameter of a range, chosen
with the answer in hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot.affinity import Affinity, qot
from sparrot.affinity.baselines import gaussian, knn
from sparrot.datasets import Spiral, make_spiral
from sparrot.embedding import eigenpairs
from sparrot.metrics import mean_principal_angle
from sparrot.types import FloatArray

_N_VECTORS = 10
_NEIGHBOURS = (5, 10, 15, 25, 40, 60, 90, 125)
_BANDWIDTHS = tuple(float(h) for h in np.logspace(-2, 2, 9))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One graph: its parameter, neighbours a row, plane, angle, and seconds to build.

    The plane is the first two eigenvectors that are not trivial, with mean square one.
    """

    name: str
    parameter: str
    neighbours: float
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
        _best("k-NN", "k", _NEIGHBOURS, lambda k: knn(X, k).matrix, reference),
        _best("Gaussian", "h", _BANDWIDTHS, lambda h: gaussian(X, h).matrix, reference),
    )
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return Demo(spiral, (left * values)[:, :2], affinity, outcomes)


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
        said = f"{symbol} = {parameter:.3g} (best of {len(parameters)})"
        tried.append(_judge(name, said, W, seconds, reference))
    return min(tried, key=lambda outcome: outcome.angle)


def _judge(name: str, parameter: str, W: Any, seconds: float, reference: FloatArray) -> Outcome:
    vectors = eigenpairs(W, _N_VECTORS).vectors
    angle = mean_principal_angle(vectors, reference)
    neighbours = csr_array(W).nnz / W.shape[0]
    plane = vectors[:, 1:3] * np.sqrt(len(vectors))
    return Outcome(name, parameter, neighbours, plane, angle, seconds)
