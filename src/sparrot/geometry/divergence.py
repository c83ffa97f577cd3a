"""How far apart two measures on the same points are, by entropic transport."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from sparrot.errors import NotConvergedError
from sparrot.geometry.arguments import as_measure
from sparrot.types import FloatArray
from sparrot.validation import as_max_iter, as_points, as_positive, as_tolerance

_ROUNDS = 3  # of soft minima at each eps on the way down
_LARGE = 1e50  # scalings beyond that go into the potentials


def sinkhorn_divergence(
    a: Any, b: Any, C: Any, eps: float, *, tol: float = 1e-9, max_iter: int | None = None
) -> float:
    r"""The Sinkhorn divergence of two measures, for a given ground cost.

    .. math:: S(a, b) = T(a, b) - \tfrac12 T(a, a) - \tfrac12 T(b, b), \qquad
              T(a, b) = \min_{P 1 = a, P^\top 1 = b} \langle C, P \rangle
              + \varepsilon\, \mathrm{KL}(P \,|\, a b^\top)

    It is zero for equal measures, and positive for others where :math:`e^{-C / \varepsilon}` is
    positive definite, as it is for squared Euclidean distances (Feydy et al.). The plan is
    :math:`P_{ij} = a_i b_j e^{(f_i + g_j - C_{ij}) / \varepsilon}`, and at the optimum
    :math:`T = \langle a, f \rangle + \langle b, g \rangle`. The potentials do not grow as
    weights vanish, so that tails of 1e-300 do no harm.

    Parameters
    ----------
    a, b : (n,) nonnegative weights; scaled to sum to one.
    C : (n, n) symmetric costs between the points.
    eps : regularisation, in the units of C.
    tol : largest total error of the marginals of a plan.
    max_iter : limit on iterations for each plan, 100,000 if None.

    Examples
    --------
    >>> import numpy as np
    >>> C = (np.arange(4.0)[:, None] - np.arange(4)) ** 2
    >>> a, b = np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1])
    >>> round(sinkhorn_divergence(a, b, C, 0.1), 3), abs(sinkhorn_divergence(a, a, C, 0.1)) < 1e-9
    (4.0, True)
    """
    C = np.asarray(as_points(C, "precomputed"), dtype=np.float64)
    eps = as_positive(eps, "eps", "it is in the units of C")
    tol, steps = as_tolerance(tol), as_max_iter(max_iter) or 100_000
    a, b = as_measure(a, len(C), "a"), as_measure(b, len(C), "b")
    own = _transport(a, a, C, eps, tol, steps) + _transport(b, b, C, eps, tol, steps)
    return _transport(a, b, C, eps, tol, steps) - own / 2


def _transport(
    a: FloatArray, b: FloatArray, C: FloatArray, eps: float, tol: float, max_iter: int
) -> float:
    """The value T(a, b): Sinkhorn's scalings, taken up into the potentials when they grow large."""
    here, there = a > 0, b > 0
    a, b, C = a[here], b[there], C[np.ix_(here, there)]
    f, g = _soft_minima(a, b, C, eps)
    K, u, v = np.exp((f[:, None] + g - C) / eps), np.ones(len(a)), np.ones(len(b))
    for _ in range(max_iter):
        sums = K @ (b * v)
        error = float(a @ np.abs(u * sums - 1))
        if error <= tol:
            return float(a @ (f + eps * np.log(u)) + b @ (g + eps * np.log(v)))
        u = 1 / sums
        v = 1 / (K.T @ (a * u))
        if max(u.max(), v.max()) > _LARGE:
            f, g = f + eps * np.log(u), g + eps * np.log(v)
            K, u, v = np.exp((f[:, None] + g - C) / eps), np.ones(len(a)), np.ones(len(b))
    raise NotConvergedError(
        f"the marginal error is {error:.2e} after {max_iter} iterations; raise max_iter or tol, or "
        "take a larger eps. The potentials are in `.result`",
        (f + eps * np.log(u), g + eps * np.log(v)),
    )


def _soft_minima(
    a: FloatArray, b: FloatArray, C: FloatArray, eps: float
) -> tuple[FloatArray, FloatArray]:
    """Potentials near the optimum, in the log domain, with eps falling to where it is."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    level = max(float(np.ptp(C)), eps)
    while True:
        for _ in range(_ROUNDS):
            f = -level * logsumexp((g - C) / level + np.log(b), axis=1)
            g = -level * logsumexp((f - C.T) / level + np.log(a), axis=1)
        if level == eps:
            return f, g
        level = max(level / 2, eps)
