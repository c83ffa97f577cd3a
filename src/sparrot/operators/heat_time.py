"""How long heat has to flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sparrot.affinity import perplexity as row_perplexity
from sparrot.errors import InvalidInputError
from sparrot.operators.heat import as_laplacian, heat_operator
from sparrot.types import FloatArray
from sparrot.validation import as_count, as_positive

_DENSE = 2000  # points up to which all rows are looked at, by one eigendecomposition
_EXACT, _SAMPLED = 1e-12, 1e-4  # relative error of t, where all rows count and where some do
_STALLED = 1e-9  # growth of the log perplexity, as time doubles, that is none
_ROUNDING = 1e-12  # of the largest entry, asymmetry that is none


def heat_time(
    L: Any, perplexity: float = 250.0, *, sample: int = 64, random_state: int = 0
) -> float:
    """The time at which the rows of the heat kernel have a mean perplexity.

    Up to 2,000 points all rows count, and one eigendecomposition serves all times. Above that the
    mean is over a random `sample` of rows, so t has the error of a mean of that many, and is found
    to 1e-4 of itself.

    Parameters
    ----------
    L : (n, n) Laplacian, sparse or dense, as from `laplacian`.
    perplexity : the effective number of points that heat from one point has reached.
    sample, random_state : how many rows are looked at where n > 2,000, and which.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> from sparrot.operators import heat_kernel, laplacian
    >>> L = laplacian(sparrot.qot(np.random.default_rng(0).random((100, 2)), perplexity=10))
    >>> t = heat_time(L, 40)
    >>> round(float(sparrot.perplexity(heat_kernel(L, t)).mean()), 4)
    40.0
    """
    L = as_laplacian(L)
    n = L.shape[0]
    target = as_positive(perplexity, "perplexity", "it is an effective number of points")
    if target <= 1:
        raise InvalidInputError(f"perplexity must be above 1, got {perplexity!r}: it counts points")
    if n <= _DENSE:
        rows, tol = _all_rows(L), _EXACT
    else:
        rows, tol = _some_rows(L, as_count(sample, "sample", n), random_state), _SAMPLED

    def excess(log_t: float) -> float:
        return float(np.log(row_perplexity(np.maximum(rows(np.exp(log_t)), 0)).mean() / target))

    low, high = _bracket(excess, L, target)
    return float(np.exp(brentq(excess, low, high, xtol=tol)))


def _all_rows(L: csr_array) -> Callable[[float], FloatArray]:
    """The heat kernel as a function of t, by the eigenvectors of `D^(1/2) L D^(-1/2)`."""
    root = np.exp(_log_measure(L) / 2)
    S = root[:, None] * L.toarray() / root
    values, V = eigh((S + S.T) / 2)
    return lambda t: (V * np.exp(-t * np.maximum(values, 0))) @ V.T * root / root[:, None]


def _some_rows(L: csr_array, sample: int, seed: int) -> Callable[[float], FloatArray]:
    chosen = np.random.default_rng(seed).choice(L.shape[0], sample, replace=False)
    unit = np.zeros((L.shape[0], sample))
    unit[chosen, np.arange(sample)] = 1
    return lambda t: (heat_operator(L, t, tol=1e-8).T @ unit).T


def _log_measure(L: csr_array) -> FloatArray:
    """log pi with `pi_i L_ij = pi_j L_ji`, by a tree in each component; 0 if L is symmetric."""
    log_pi = np.zeros(L.shape[0])
    if abs(L - L.T).max() <= _ROUNDING * abs(L.data).max(initial=0.0):
        return log_pi
    A = L.toarray()
    labels = connected_components(L, directed=False)[1]
    for root in np.unique(labels, return_index=True)[1]:
        order, before = breadth_first_order(L, root, directed=False)
        for i in order[1:]:
            log_pi[i] = log_pi[before[i]] + np.log(A[before[i], i] / A[i, before[i]])
    flow = np.exp(log_pi)[:, None] * A
    if abs(flow - flow.T).max() > 1e-8 * abs(flow).max():
        raise InvalidInputError(
            "L is neither symmetric nor the Laplacian of a random walk on a symmetric affinity; "
            "make it by sparrot.operators.laplacian(W)"
        )
    return log_pi


def _bracket(excess: Callable[[float], float], L: csr_array, target: float) -> tuple[float, float]:
    """Two log times about the target, a factor of two apart; the perplexity grows with time."""
    step = np.log(2.0)
    low = -np.log(max(float(L.diagonal().max(initial=0.0)), np.finfo(np.float64).tiny))
    while excess(low) > 0:
        low -= step
    before, now = -np.inf, excess(low)
    while now < 0:
        if now - before < _STALLED:
            raise InvalidInputError(
                f"the mean perplexity of the heat kernel does not pass {target * np.exp(now):.6g}, "
                f"and {target:g} was asked for; ask for less (the graph has {L.shape[0]} points in "
                f"{connected_components(L, directed=False)[0]} components)"
            )
        low += step
        before, now = now, excess(low)
    return low - step, low
