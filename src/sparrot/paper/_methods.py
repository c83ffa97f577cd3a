"""The affinities that the paper compares, by name.

Each has one parameter: a number of neighbors for k-NN and MAGIC, for all others eps or a bandwidth
relative to the mean cost. QOT and EOT are hollow; the variants called fat (the paper's "fattened")
may have mass on the diagonal. MAGIC's operator is not symmetric, and is made so by its mean with
its transpose.
The paper also reduces points to principal components before an affinity is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray
from sparrot.affinity import (
    Affinity,
    eot,
    epanechnikov,
    gaussian,
    gaussian_l2,
    knn,
    magic,
    qot,
    qot_path,
)

BISTOCHASTIC = ("QOT", "EOT", "QOT, fat", "EOT, fat", "Gaussian L2")
BY_NEIGHBORS = ("k-NN", "MAGIC")
OTHERS = ("Gaussian", "Epanechnikov", *BY_NEIGHBORS)
METHODS = (*BISTOCHASTIC, *OTHERS)
PROJECTIONS = ("QOT", "EOT")
MAIN_METHODS = (*PROJECTIONS, "k-NN")
TOL = 1e-6  # of a row sum: far less than the spread over seeds
_MAGIC_POWER = 5


def eps_grid(n: int) -> tuple[float, ...]:
    """The paper's range of eps, from 100 down to 0.01.

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
    """The matrix of a method for each parameter; QOT and EOT start from the solution before."""
    if method.startswith("QOT"):
        hollow = method == "QOT"
        return (a.matrix for a in qot_path(X, parameters, hollow=hollow, tol=TOL, n_jobs=1))
    if method.startswith("EOT"):
        return _entropic_path(X, parameters, method == "EOT")
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


def _entropic_path(X: FloatArray, parameters: Iterable[float], hollow: bool) -> Iterator[Any]:
    potential = None
    for eps in parameters:
        found = eot(X, eps, hollow=hollow, potential=potential, tol=TOL, n_jobs=1)
        potential = found.potential
        yield found.matrix


def _symmetric(W: csr_array) -> csr_array:
    return csr_array((W + W.T) / 2)


def matched(method: str, X: FloatArray, target: float | None) -> Affinity:
    """QOT with its default; EOT of mean perplexity `target`; or k-NN of as many neighbors."""
    if method == "QOT":
        return qot(X, n_jobs=1)
    assert target is not None
    if method == "EOT":
        return eot(X, perplexity=target, tol=TOL, n_jobs=1)
    return knn(X, round(target), n_jobs=1)


def principal(X: FloatArray, d: int) -> FloatArray:
    """The d leading principal components."""
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return (left * values)[:, :d]
