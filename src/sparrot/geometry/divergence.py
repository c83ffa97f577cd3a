"""How far apart two measures on the same points are, by entropic transport."""

from __future__ import annotations

from typing import Any

from sparrot.affinity import transport
from sparrot.geometry.arguments import as_measure
from sparrot.types import FloatArray
from sparrot.validation import as_points, as_positive


def sinkhorn_divergence(a: Any, b: Any, C: Any, eps: float, *, tol: float = 1e-9) -> float:
    r"""The Sinkhorn divergence of two measures, for a given ground cost.

    .. math:: S(a, b) = T(a, b) - \tfrac12 T(a, a) - \tfrac12 T(b, b), \qquad
              T(a, b) = \min_{P 1 = a, P^\top 1 = b} \langle C, P \rangle
              + \varepsilon\, \mathrm{KL}(P \,|\, a b^\top)

    It is zero for equal measures, and positive for others where :math:`e^{-C / \varepsilon}` is
    positive definite, as it is for squared Euclidean distances (Feydy et al.). At the optimum T is
    linear in the potentials, :math:`T = \langle a, u \rangle + \langle b, v \rangle` up to
    entropies of a and b, which cancel.

    Parameters
    ----------
    a, b : (n,) nonnegative weights; scaled to sum to one.
    C : (n, n) symmetric costs between the points.
    eps : regularisation, in the units of C.
    tol : marginal error of the plans; the error of S is of the order of its square.

    Examples
    --------
    >>> import numpy as np
    >>> C = (np.arange(4.0)[:, None] - np.arange(4)) ** 2
    >>> a, b = np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1])
    >>> round(sinkhorn_divergence(a, b, C, 0.1), 3), abs(sinkhorn_divergence(a, a, C, 0.1)) < 1e-9
    (4.0, True)
    """
    C = as_points(C, "precomputed")
    eps = as_positive(eps, "eps", "it is in the units of C")
    a, b = as_measure(a, len(C), "a"), as_measure(b, len(C), "b")
    across = _dual_value(a, b, C, eps, tol)
    return across - (_dual_value(a, a, C, eps, tol) + _dual_value(b, b, C, eps, tol)) / 2


def _dual_value(a: FloatArray, b: FloatArray, C: FloatArray, eps: float, tol: float) -> float:
    plan = transport(a, b, C, eps, regulariser="entropic", tol=tol)
    here, there = a > 0, b > 0
    return float(a[here] @ plan.u[here] + b[there] @ plan.v[there])
