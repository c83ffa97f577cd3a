r"""Heat from a source, as a sum of positive terms: accurate however little of it arrives.

Heat after time t and heat after one implicit step of length t are both power series of the walk
:math:`P = D^{-1} W` with positive coefficients,

.. math:: e^{-t(I - P)} \propto \sum_k \frac{t^k}{k!} P^k, \qquad
          (I + t(I - P))^{-1} \propto \sum_k \Bigl( \frac{t}{1+t} \Bigr)^k P^k .

Their logarithm is wanted far from the source, where a method with a small *absolute* error
(conjugate gradients, Chebyshev) returns noise. Adding positive terms has a small relative error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from sparrot.errors import InvalidInputError
from sparrot.types import BoolArray, FloatArray

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
    >>> from sparrot.operators import random_walk
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
