r"""Heat from a source, as a sum of positive terms: accurate however little of it arrives.

Heat after time t and heat after one implicit step of length t are both power series of the walk
:math:`P = D^{-1} W` with positive coefficients,

.. math:: e^{-t(I - P)} \propto \sum_k \frac{t^k}{k!} P^k, \qquad
          (I + t(I - P))^{-1} \propto \sum_k \Bigl( \frac{t}{1+t} \Bigr)^k P^k .

Their logarithm is wanted far from the source, where a method with a small *absolute* error
(conjugate gradients, Chebyshev) returns noise. Adding positive terms has a small relative error.

Diffusion distance and commute time: Euclidean distances of a Gram matrix G of the walk,

.. math:: d(i, j)^2 = G_{ii} + G_{jj} - 2 G_{ij},

with :math:`G = D^{-1/2} e^{-2 t L} D^{-1/2}` (L the symmetric Laplacian) for the diffusion
distance, and :math:`G = \mathrm{vol}\, (D - W)^+` for the square root of the commute time.

Only the columns of G for the sources and the diagonal entries for the targets are computed, in
blocks: memory is linear in n. Time is that of one column of G for each source and each target, so
for many points name the targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sparrot._types import BoolArray, FloatArray, IntArray
from sparrot._validation import as_affinity, as_positive
from sparrot.errors import InvalidInputError
from sparrot.geometry._arguments import as_indices, shaped_as
from sparrot.spectral import grounded_solver, heat_operator, laplacian
from sparrot.spectral._operators import degrees

_TERM = 1e-10  # of the sum, at which a term ends the series
_MOST_TERMS = 100_000
_LARGE, _SMALL = 1e200, 1e-290  # where the sum is scaled down; below that, digits are lost

Ratio = Callable[[int], float]


def euler_ratio(t: float) -> Ratio:
    """From one term of the implicit step to the next."""
    return lambda k: t / (1 + t)


def heat_ratio(t: float) -> Ratio:
    """From one term of the exponential to the next."""
    return lambda k: t / k


def minus_log_heat(
    P: csr_array, source: int, reached: BoolArray, ratio: Ratio, gauge: FloatArray | None = None
) -> FloatArray:
    """`-log(u / u_source)`; infinite where no heat can go, or so little that float64 loses it.

    A gauge w, a rough idea of the result, widens the range: the series is that of `u exp(w)`.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.spectral import random_walk
    >>> P = random_walk(np.diag(np.ones(2), 1) + np.diag(np.ones(2), -1))
    >>> minus_log_heat(P, 0, np.ones(3, bool), euler_ratio(1.0)).round(4)
    array([0.    , 1.2528, 1.9459])
    """
    w = np.zeros(P.shape[0]) if gauge is None else gauge
    i = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    Q = csr_array((P.data * np.exp(w[i] - w[P.indices]), P.indices, P.indptr), shape=P.shape)
    term = np.zeros(P.shape[0])
    term[source] = 1.0
    total = term.copy()
    k = 1
    while not _finished(term[reached], total[reached], ratio(k)):
        term = ratio(k) * (Q @ term)
        total += term
        if total.max() > _LARGE:
            term, total = term / _LARGE, total / _LARGE
        k += 1
        if k > _MOST_TERMS:
            raise InvalidInputError(
                f"heat needs more than {_MOST_TERMS} terms to settle at this t; take a smaller "
                "one, or None to have it chosen"
            )
    kept = total > _SMALL * total.max()
    with np.errstate(divide="ignore"):
        return np.where(kept, np.log(total[source]) - np.log(total) + w - w[source], np.inf)


def _finished(term: FloatArray, total: FloatArray, ratio: float) -> bool:
    """Whether what is left of the series is small everywhere, or has vanished."""
    small = (term <= _TERM * (1 - ratio) * total) & (total > 0)
    return ratio < 1 and bool(small.all() or not term.any())


_BLOCK = 256  # columns at a time

Columns = Callable[[FloatArray], FloatArray]


def diffusion_distances(W: Any, sources: Any, t: float, *, targets: Any = None) -> FloatArray:
    r"""How differently heat spreads from two points in time t.

    .. math:: d_t(i, j)^2 = \sum_k \bigl( H_t(i, k) - H_t(j, k) \bigr)^2 / D_{kk},
              \qquad H_t = e^{-t (I - D^{-1} W)}

    Time is continuous, as for `heat_kernel`: the powers :math:`P^t` of Coifman and Lafon would keep
    the negative eigenvalues that a hollow affinity has.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    sources : an index, or a list of them.
    t : time, in steps of the walk.
    targets : the points to measure to; all if None.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> diffusion_distances(path, 0, 1.0).round(4)
    array([0.    , 0.2832, 0.5597, 0.709 ])
    """
    W = csr_array(as_affinity(W))
    t = as_positive(t, "t", "it counts steps of the walk; heat_time finds one for a perplexity")
    root = np.sqrt(degrees(W))[:, None]
    H = heat_operator(laplacian(W, "symmetric"), 2 * t, tol=1e-14)
    squares = _gram_distances(lambda unit: (H @ (unit / root)) / root, W.shape[0], sources, targets)
    return shaped_as(sources, np.sqrt(np.maximum(squares, 0)))


def commute_times(W: Any, sources: Any, *, targets: Any = None) -> FloatArray:
    r"""Mean number of steps of the walk from one point to another and back.

    :math:`\mathrm{vol}\,(e_i - e_j)^\top (D - W)^+ (e_i - e_j)` with vol the sum of all degrees of
    the component, which is vol times the effective resistance; infinite between components. Over
    many points it tends to :math:`\mathrm{vol}\,(1/D_{ii} + 1/D_{jj})` and forgets the geometry
    (von Luxburg, Radl and Hein): for distances along a manifold see `geodesic_distances`.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    sources : an index, or a list of them.
    targets : the points to measure to; all if None.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> commute_times(path, 0).round(6)
    array([ 0.,  6., 12., 18.])
    """
    W = csr_array(as_affinity(W))
    n = W.shape[0]
    labels = connected_components(W, directed=False)[1]
    grounded = np.zeros(n, dtype=bool)
    grounded[np.unique(labels, return_index=True)[1]] = True
    solve = grounded_solver(laplacian(W, "combinatorial"), grounded)
    resistance = _gram_distances(solve, n, sources, targets)
    volume = np.bincount(labels, degrees(W))[labels]
    i, j = as_indices(sources, n), _targets(targets, n)
    together = labels[i][:, None] == labels[j]
    times = np.where(together, volume[i][:, None] * np.maximum(resistance, 0), np.inf)
    return shaped_as(sources, times)


def _gram_distances(gram: Columns, n: int, sources: Any, targets: Any) -> FloatArray:
    """Squared distances from sources to targets, of the Gram matrix that `gram` applies."""
    i, j = as_indices(sources, n), _targets(targets, n)
    columns = np.concatenate([gram(_units(n, part)) for part in _blocks(i)], axis=1)
    own = columns[i, np.arange(len(i))]
    squares = own[:, None] + _diagonal(gram, n, j) - 2 * columns[j].T
    squares[i[:, None] == j] = 0
    return squares


def _diagonal(gram: Columns, n: int, points: IntArray) -> FloatArray:
    parts = [gram(_units(n, part))[part, np.arange(len(part))] for part in _blocks(points)]
    return np.concatenate(parts)


def _targets(targets: Any, n: int) -> IntArray:
    return np.arange(n) if targets is None else as_indices(targets, n, "targets")


def _blocks(points: IntArray) -> list[IntArray]:
    return [points[k : k + _BLOCK] for k in range(0, len(points), _BLOCK)]


def _units(n: int, points: IntArray) -> FloatArray:
    unit = np.zeros((n, len(points)))
    unit[points, np.arange(len(points))] = 1
    return unit
