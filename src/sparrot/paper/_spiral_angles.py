"""How far the eigenspaces of an affinity of the noisy spiral are from those of the clean curve.

The judge is the paper's: the mean principal angle between the ten leading eigenvectors and the ten
of the ring, in which each clean point is joined to the next on either side (the paper's k = 3
counts the point itself). But the eigenvalues of a ring come in pairs after the first, so that ten
vectors cut the fifth pair in two. Which half they keep is up to the eigensolver, and is worth up to
(pi/2)/10 of angle. So there are two judges: `angle`, to the ten, which gives the verdict; and
`whole`, to the eleven of whole pairs, in which the ten should lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sparrot._types import FloatArray
from sparrot.affinity import knn
from sparrot.datasets import Spiral
from sparrot.metrics import mean_principal_angle
from sparrot.paper._experiment import Claim, unless
from sparrot.paper._methods import affinities
from sparrot.paper._records import Curves, Rows
from sparrot.spectral import eigenpairs

N_VECTORS = 10
JUDGES = {"angle": N_VECTORS, "whole": N_VECTORS + 1}  # vectors of the ring


def leading(W: Any, count: int = N_VECTORS) -> FloatArray:
    """The leading eigenvectors, the trivial one first."""
    return eigenpairs(W, count, components="each").vectors


def reference(spiral: Spiral) -> FloatArray:
    """The leading eigenvectors of the ring, in whole pairs."""
    return leading(knn(spiral.clean, 2).matrix, max(JUDGES.values()))


def judged(V: FloatArray, truth: FloatArray) -> dict[str, float]:
    """The mean principal angle to the ten vectors, and to whole pairs.

    Examples
    --------
    >>> import numpy as np
    >>> judged(np.eye(12)[:, :10], np.eye(12)[:, :11])
    {'angle': 0.0, 'whole': 0.0}
    """
    return {judge: mean_principal_angle(V, truth[:, :count]) for judge, count in JUDGES.items()}


def angles(
    method: str, X: FloatArray, parameters: Sequence[float], truth: FloatArray
) -> list[dict[str, float]]:
    """Both angles for each parameter of a method."""
    return [judged(leading(W), truth) for W in affinities(method, X, parameters)]


def angle_records(
    found: Mapping[tuple[str, int], list[dict[str, float]]],
    parameters: Mapping[str, Sequence[float]],
) -> Rows:
    """One record for each method, parameter and seed, from the angles by method and seed."""
    return [
        {"method": method, "parameter": parameter, "seed": seed} | both
        for (method, seed), values in found.items()
        for parameter, both in zip(parameters[method], values, strict=True)
    ]


def best_angle(curves: Curves, method: str) -> float:
    """The smallest angle of a method over its parameter, of means over seeds."""
    return float(curves[method].mean(axis=0).min())


class Finding(NamedTuple):
    """What one judge finds: in words, whether it meets the criterion, and why it does not."""

    ours: str
    holds: bool
    why: str


def claim_by_both(
    sentence: str, paper: str, criterion: str, find: Callable[[str], Finding]
) -> Claim:
    """A claim with the verdict of the paper's judge, and what the other one finds."""
    ten, whole = (find(judge) for judge in JUDGES)
    also = "it holds" if whole.holds else f"it does not hold either ({whole.why})"
    reason = unless(ten.holds, f"{ten.why}; to whole pairs {also}")
    if ten.holds and not whole.holds:
        reason = f"not to whole pairs: {whole.why}"
    ours = f"{ten.ours}; to whole pairs: {whole.ours}"
    return Claim(sentence, paper, ours, criterion, ten.holds, reason)
