r"""The exponential of a Laplacian, applied to vectors, by two series.

**Chebyshev**: few products, and a bound on the absolute error. For eigenvalues in [0, b], with
:math:`y = 1 - 2 \lambda / b` in [-1, 1] and :math:`z = t b / 2`,

.. math:: e^{-t \lambda} = e^{-z} e^{z y} = \sum_{k \ge 0} a_k T_k(y),
          \qquad a_0 = e^{-z} I_0(z), \quad a_k = 2 e^{-z} I_k(z),

with Bessel functions I_k. The coefficients are positive and sum to one, and :math:`|T_k| \le 1`, so
what is cut off is at most the sum of the coefficients that are left out.

**Taylor**: more products, but of nonnegative numbers only, so that the error is relative to each
entry: :math:`e^{-tL} = e^{-tm} \sum_k (t (mI - L))^k / k!` with :math:`m = \max_i L_{ii}`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.special import ive

from sparrot.types import FloatArray

_STEP = 64.0  # of the Taylor series, in mean jumps of the walk


def heat_coefficients(z: float, tol: float) -> FloatArray:
    r"""The fewest coefficients a_0, ..., a_K whose tail is at most tol, scaled to sum to one.

    They are the law of :math:`|X|`, where X is a sum of Poisson jumps by one with variance z, so
    Bernstein's inequality :math:`P(|X| > K) \le 2 \exp(-K^2 / (2 (z + K/3)))` says how far to look.

    Examples
    --------
    >>> a = heat_coefficients(50.0, 1e-10)
    >>> len(a), round(float(a.sum()), 12)
    (49, 1.0)
    """
    level = np.log(4 / tol)
    far = int(np.ceil(level / 3 + np.sqrt((level / 3) ** 2 + 2 * z * level)))
    a = 2 * ive(np.arange(far + 1), z)
    a[0] /= 2
    tail = a[::-1].cumsum()[::-1]
    kept = a[: max(1, int(np.count_nonzero(tail > tol / 2)))]
    return kept / kept.sum()


def chebyshev_sum(L: csr_array, b: float, a: FloatArray, x: FloatArray) -> FloatArray:
    """The vector or vectors `sum_k a_k T_k(1 - 2 L / b) x`, by the recurrence of T_k."""
    before, now = x, x - (2 / b) * (L @ x)
    total = a[0] * before
    for a_k in a[1:]:
        total += a_k * now
        before, now = now, 2 * (now - (2 / b) * (L @ now)) - before
    return total


def taylor_sum(L: csr_array, m: float, t: float, x: FloatArray) -> FloatArray:
    """The vector or vectors `exp(-t L) x` for nonnegative x, in steps that do not underflow."""
    A = csr_array(m * eye_array(L.shape[0]) - L)
    A.data = np.maximum(A.data, 0)
    steps = max(1, int(np.ceil(t * m / _STEP)))
    tau = t / steps
    n_terms = int(tau * m + 12 * np.sqrt(tau * m) + 40)  # a Poisson tail of less than 1e-16
    for _ in range(steps):
        term = total = np.exp(-tau * m) * x
        for k in range(1, n_terms):
            term = (tau / k) * (A @ term)
            total = total + term
        x = total
    return x
