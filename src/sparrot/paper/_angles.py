"""How far the eigenspaces of each affinity of the noisy spiral are from those of the clean curve.

The judge is the paper's: the mean principal angle between the ten leading eigenvectors and the ten
of the ring, each clean point joined to the next on either side (the paper's k = 3 counts the point
itself). But the eigenvalues of a ring come in pairs after the first, and ten vectors cut the fifth
pair in two: which half they keep is the whim of an eigensolver, worth up to (pi/2)/10 of angle. So
each angle comes twice: `angle` to the ten, and `whole` to the eleven of whole pairs, in which the
ten should lie.
The parameters of all methods but k-NN and MAGIC are relative to the mean cost. MAGIC's operator is
not symmetric, and is made so by its mean with its transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray
from sparrot.affinity import eot, epanechnikov, gaussian, gaussian_l2, knn, magic, qot_path
from sparrot.datasets import Spiral
from sparrot.metrics import mean_principal_angle
from sparrot.spectral import eigenpairs

BISTOCHASTIC = ("QOT", "EOT", "QOT, fat", "EOT, fat", "Gaussian L2")
BY_EPS = (*BISTOCHASTIC, "Gaussian", "Epanechnikov")
BY_NEIGHBOURS = ("k-NN", "MAGIC")
METHODS = (*BY_EPS, *BY_NEIGHBOURS)
OTHERS = ("Gaussian", "Epanechnikov", *BY_NEIGHBOURS)
N_VECTORS = 10
JUDGES = {"angle": N_VECTORS, "whole": N_VECTORS + 1}  # vectors of the ring
_MAGIC_POWER = 5
TOL = 1e-6  # of a row sum: far less than the spread over seeds

Curves = dict[str, FloatArray]  # method -> (seeds, parameters)


def eps_grid(n: int) -> tuple[float, ...]:
    """The paper's range, from 100 down to 0.01.

    Examples
    --------
    >>> eps_grid(5)
    (100.0, 10.0, 1.0, 0.1, 0.01)
    """
    return tuple(float(f"{e:.6g}") for e in np.logspace(2, -2, n))


def slug(method: str) -> str:
    """A method's name for a file.

    Examples
    --------
    >>> slug("QOT, fat")
    'qot-fat'
    """
    return method.lower().replace(", ", "-").replace(" ", "-")


def affinities(method: str, X: FloatArray, parameters: Iterable[float]) -> Iterator[Any]:
    """The matrix of a method for each parameter, each solve from the one before."""
    if method.startswith("QOT"):
        hollow = method == "QOT"
        return (a.matrix for a in qot_path(X, parameters, hollow=hollow, tol=TOL, n_jobs=1))
    if method.startswith("EOT"):
        return _entropic(X, parameters, method == "EOT")
    build: dict[str, Callable[[float], Any]] = {
        "Gaussian L2": lambda h: gaussian_l2(X, h).matrix,
        "Gaussian": lambda h: gaussian(X, h).matrix,
        "Epanechnikov": lambda eps: epanechnikov(X, eps=eps).matrix,
        "k-NN": lambda k: knn(X, int(k)).matrix,
        "MAGIC": lambda k: _symmetric(magic(X, int(k), t=_MAGIC_POWER).matrix),
    }
    return map(build[method], parameters)


def affinity(method: str, X: FloatArray, parameter: float) -> Any:
    """The matrix of a method for one parameter."""
    return next(iter(affinities(method, X, [parameter])))


def _entropic(X: FloatArray, parameters: Iterable[float], hollow: bool) -> Iterator[Any]:
    potential = None
    for eps in parameters:
        found = eot(X, eps, hollow=hollow, potential=potential, tol=TOL, n_jobs=1)
        potential = found.potential
        yield found.matrix


def _symmetric(W: csr_array) -> csr_array:
    return csr_array((W + W.T) / 2)


def leading(W: Any, count: int = N_VECTORS) -> FloatArray:
    """The leading eigenvectors, the trivial one first."""
    return eigenpairs(W, count, components="each").vectors


def reference(spiral: Spiral) -> FloatArray:
    """The leading eigenvectors of the ring, in whole pairs."""
    return leading(knn(spiral.clean, 2).matrix, max(JUDGES.values()))


def judged(V: FloatArray, truth: FloatArray) -> dict[str, float]:
    """The mean principal angle to the ten, and to whole pairs.

    Examples
    --------
    >>> judged(np.eye(12)[:, :10], np.eye(12)[:, :11])
    {'angle': 0.0, 'whole': 0.0}
    """
    return {judge: mean_principal_angle(V, truth[:, :count]) for judge, count in JUDGES.items()}


def angles(
    method: str, X: FloatArray, parameters: Sequence[float], truth: FloatArray
) -> list[dict[str, float]]:
    """Both angles for each parameter."""
    return [judged(leading(W), truth) for W in affinities(method, X, parameters)]


def best(curves: Curves, method: str) -> float:
    """The smallest angle of a method, by means over seeds."""
    return float(curves[method].mean(axis=0).min())


def at(curves: Curves, method: str, place: int) -> float:
    """The angle of a method at one parameter, by means over seeds."""
    return float(curves[method][:, place].mean())


def good_decades(
    curves: Curves, method: str, parameters: Sequence[float], threshold: float
) -> float:
    """Decades of the parameter over which the mean angle stays below a threshold, in one run.

    Examples
    --------
    >>> curves = {"QOT": np.array([[0.9, 0.1, 0.1, 0.9, 0.1]])}
    >>> good_decades(curves, "QOT", [100.0, 10.0, 1.0, 0.1, 0.01], 0.5)
    1.0
    """
    good = curves[method].mean(axis=0) < threshold
    logs = np.log10(parameters)
    longest, start = 0.0, None
    for k, below in enumerate(good):
        start = (k if start is None else start) if below else None
        if start is not None:
            longest = max(longest, abs(float(logs[k] - logs[start])))
    return longest


def table(
    found: Mapping[tuple[str, int], list[dict[str, float]]],
    parameters: Mapping[str, Sequence[float]],
) -> list[dict[str, Any]]:
    """One record for each method, parameter and seed."""
    return [
        {"method": method, "parameter": parameter, "seed": seed} | both
        for (method, seed), values in found.items()
        for parameter, both in zip(parameters[method], values, strict=True)
    ]


def curves_of(rows: list[dict[str, Any]], judge: str = "angle") -> Curves:
    """The records of one judge as arrays, one row a seed."""
    n_seeds = len({row["seed"] for row in rows})
    return {
        method: np.array([r[judge] for r in rows if r["method"] == method]).reshape(n_seeds, -1)
        for method in dict.fromkeys(row["method"] for row in rows)
    }
