r"""Measures on the points: paths between them along the manifold, and how far apart they are.

A path is made of entropic Wasserstein barycenters. The heat kernel H stands for
:math:`e^{-d^2 / \varepsilon}`, with d the distance along the manifold, so that no distances are
needed (Solomon et al., convolutional Wasserstein distances). The barycenter of measures
:math:`\mu_i` with weights :math:`\alpha_i` is :math:`\mu = \prod_i d_i^{\alpha_i}` with

.. math:: w_i = \mu_i / (H v_i), \qquad d_i = v_i \odot H w_i, \qquad
          v_i \leftarrow v_i \odot \mu / d_i

repeated until all :math:`d_i` agree. Everything is kept as logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator
from scipy.special import logsumexp

from sparrot._types import FloatArray
from sparrot._validation import (
    as_array,
    as_count,
    as_finite,
    as_floats,
    as_max_iter,
    as_points,
    as_positive,
    as_real,
    as_tolerance,
    as_weights,
)
from sparrot.errors import InvalidInputError, NotConvergedError, counted
from sparrot.ot import require_digits

_TRUSTED = 1e-200  # smaller products, relative to the largest, are summed again by logarithms
_ABSOLUTE, _RELATIVE = 1e-8, 1e-290  # least products that operators with such an error resolve
_ASYMMETRY = 1e-6  # of a kernel, relative to its largest entry
_ROUNDS = 3  # of soft minima at each eps on the way down
_LARGE = 1e50  # larger scalings are absorbed into the potentials

LogKernel = Callable[[FloatArray], FloatArray]


def interpolate(
    kernel: Any, mu: Any, nu: Any, weights: Any, *, tol: float = 1e-6, max_iter: int | None = None
) -> FloatArray:
    """Displacement interpolation: the path from one measure to another along the manifold.

    It is made of barycenters with weights (1 - s, s), and each starts from the one before. The
    kernel blurs: the ends are `H mu` and `H nu`.

    Parameters
    ----------
    kernel : (n, n) symmetric positive kernel: `heat_kernel(L, t)`, or for many points
        `heat_operator(L, t, series="taylor")`.
    mu, nu : (n,) nonnegative weights of the points; scaled to sum to one.
    weights : the numbers s in [0, 1], or how many, evenly spaced.
    tol, max_iter : as for `barycenter`.

    Returns
    -------
    (len(weights), n) measures, one per row.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.spectral import heat_kernel, laplacian
    >>> path = np.diag(np.ones(40), 1) + np.diag(np.ones(40), -1)
    >>> H = heat_kernel(laplacian(path, "combinatorial"), 8.0)
    >>> interpolate(H, np.eye(41)[12], np.eye(41)[28], 5).argmax(axis=1)
    array([12, 16, 20, 24, 28])
    """
    log_kernel, n = _log_kernel(kernel)
    ends = np.stack([_as_measure(mu, n, "mu"), _as_measure(nu, n, "nu")])
    log_v = np.zeros_like(ends)
    path = []
    for s in _as_path(weights):
        alpha = np.array([1 - s, s])
        log_v = log_v - alpha @ log_v  # the iteration keeps this mean, and it has to be zero
        measure, log_v = _solve(log_kernel, ends, alpha, log_v, tol, max_iter)
        path.append(measure)
    return np.array(path)


def barycenter(
    kernel: Any, measures: Any, weights: Any, *, tol: float = 1e-6, max_iter: int | None = None
) -> FloatArray:
    """The entropic Wasserstein barycenter of some measures; the kernel blurs it.

    Parameters
    ----------
    kernel : as for `interpolate`.
    measures : (k, n) nonnegative weights of the points, one row per measure; scaled to sum to one.
    weights : (k,) nonnegative, scaled to sum to one.
    tol : how far (in total variation) the k plans may disagree about the barycenter.
    max_iter : limit on iterations, 10,000 if None.

    Returns
    -------
    (n,) weights that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> H = np.exp(-((np.arange(41)[:, None] - np.arange(41)) ** 2) / 16)
    >>> int(barycenter(H, np.eye(41)[[12, 28]], [0.5, 0.5]).argmax())
    20
    """
    log_kernel, n = _log_kernel(kernel)
    rows = np.atleast_2d(as_finite(measures, None, "measures"))
    if rows.ndim != 2 or not len(rows):
        raise InvalidInputError(
            f"must be rows of weights, got shape {rows.shape}",
            parameter="measures",
            value=rows.shape,
        )
    mu = np.stack([_as_measure(row, n, f"measures[{k}]") for k, row in enumerate(rows)])
    alpha = _as_measure(weights, len(mu), "weights", each="measure")
    return _solve(log_kernel, mu, alpha, np.zeros_like(mu), tol, max_iter)[0]


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
    eps : regularization, in the units of C.
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
    a, b = _as_measure(a, len(C), "a"), _as_measure(b, len(C), "b")
    require_digits(eps, C)
    own = _transport(a, a, C, eps, tol, steps) + _transport(b, b, C, eps, tol, steps)
    return _transport(a, b, C, eps, tol, steps) - own / 2


def _as_measure(a: Any, n: int, name: str, each: str = "point") -> FloatArray:
    """Nonnegative weights of n points (or of n of what `each` names), scaled to sum to one."""
    weights = as_weights(a, n, name, each)
    return weights / weights.sum()


def _as_path(weights: Any) -> FloatArray:
    """Numbers in [0, 1], given or evenly spaced."""
    if isinstance(weights, Integral) and as_real(weights) >= 2:
        return np.linspace(0, 1, as_count(weights, "weights", 10**6))
    path = as_floats(weights)
    if path.ndim != 1 or not len(path) or not ((path >= 0) & (path <= 1)).all():
        raise InvalidInputError(
            f"must be numbers from 0 to 1, or how many of them (2 or more), got {weights!r}",
            parameter="weights",
            value=weights,
        )
    return path


def _solve(
    log_kernel: LogKernel,
    mu: FloatArray,
    alpha: FloatArray,
    log_v: FloatArray,
    tol: float,
    max_iter: int | None,
) -> tuple[FloatArray, FloatArray]:
    """The barycenter, and the log v at which it was found."""
    tol, steps = as_tolerance(tol), as_max_iter(max_iter) or 10_000
    with np.errstate(divide="ignore"):
        log_mu = np.log(mu)
    for _ in range(steps):
        log_w = log_mu - log_kernel(log_v)
        log_d = log_v + log_kernel(log_w)
        mean = alpha @ log_d
        mean -= logsumexp(mean)
        measure = np.exp(mean)
        error = float(alpha @ np.abs(np.exp(log_d) - measure).sum(axis=1)) / 2
        if error <= tol:
            return measure, log_v
        log_v = log_v + mean - log_d
    raise NotConvergedError(
        f"the plans disagree about the barycenter by {error:.2e} after "
        f"{counted(steps, 'iteration')}",
        measure,
        remedy=["raise {max_iter}", "raise {tol}", "take a kernel of a longer time"],
    )


def _log_kernel(kernel: Any) -> tuple[LogKernel, int]:
    """The map from rows log v to rows log(H v), and the number of points."""
    if hasattr(kernel, "potential") and hasattr(kernel, "matrix"):
        raise InvalidInputError(
            "is an affinity W, not a heat kernel",
            parameter="kernel",
            remedy="pass {heat_kernel(laplacian(W), t)} of sparrot.spectral",
        )
    if isinstance(kernel, LinearOperator):
        if kernel.shape[0] != kernel.shape[1]:
            raise InvalidInputError(f"must be square, got shape {kernel.shape}", parameter="kernel")
        return lambda log_v: _operator_logs(kernel, log_v), kernel.shape[0]
    H = _as_kernel(kernel)
    log_H = np.log(H)
    return lambda log_v: np.stack([_dense_logs(H, log_H, row) for row in log_v]), len(H)


def _as_kernel(kernel: Any) -> FloatArray:
    """A dense, symmetric, positive matrix; symmetric up to the marginal error of an affinity."""
    H = np.asarray(as_array(kernel, "kernel"), dtype=np.float64)
    if H.shape[0] != H.shape[1]:
        raise InvalidInputError(f"must be square, got shape {H.shape}", parameter="kernel")
    asymmetry = float(np.abs(H - H.T).max())
    if asymmetry > _ASYMMETRY * np.abs(H).max():
        raise InvalidInputError(
            f"must be symmetric, but it differs from its transpose by {asymmetry:.3g}",
            parameter="kernel",
            remedy=[
                "take the heat kernel of a bistochastic affinity",
                "take that of {laplacian(W, 'combinatorial')}",
            ],
        )
    if not (H > 0).all():
        raise InvalidInputError(
            f"must be positive, but {np.count_nonzero(~(H > 0))} entries are not: mass cannot go "
            "everywhere",
            parameter="kernel",
            remedy="take the heat kernel of a connected graph, at a larger t",
        )
    return (H + H.T) / 2


def _dense_logs(H: FloatArray, log_H: FloatArray, log_v: FloatArray) -> FloatArray:
    """log(H v): by a product, and by logarithms for the rows in which it would underflow."""
    top = log_v.max()
    product = H @ np.exp(log_v - top)
    faint = product < _TRUSTED
    out = np.log(np.where(faint, 1.0, product)) + top
    if faint.any():
        out[faint] = logsumexp(log_H[faint] + log_v, axis=1)
    return out


def _operator_logs(kernel: LinearOperator, log_v: FloatArray) -> FloatArray:
    """log(H v) for each row, by products with the operator."""
    top = log_v.max(axis=1, keepdims=True)
    v = np.exp(log_v - top)
    product = (kernel @ v.T).T
    resolved = _RELATIVE if getattr(kernel, "entrywise", False) else _ABSOLUTE
    if (product <= resolved * np.linalg.norm(v, axis=1, keepdims=True)).any():
        raise InvalidInputError(
            "less heat arrives at some points than the operator resolves",
            remedy=[
                "take {heat_operator(L, t, series='taylor')}",
                "take the dense {heat_kernel}",
                "take a larger t",
            ],
        )
    return np.log(product) + top


def _transport(
    a: FloatArray, b: FloatArray, C: FloatArray, eps: float, tol: float, max_iter: int
) -> float:
    """The value T(a, b), by Sinkhorn's scalings; the potentials absorb those that grow large."""
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
        f"the marginal error of the potentials is {error:.2e} after "
        f"{counted(max_iter, 'iteration')}",
        (f + eps * np.log(u), g + eps * np.log(v)),
        remedy=["raise {max_iter}", "raise {tol}", "take a larger {eps}"],
    )


def _soft_minima(
    a: FloatArray, b: FloatArray, C: FloatArray, eps: float
) -> tuple[FloatArray, FloatArray]:
    """Potentials near the optimum, in the log domain, with eps falling to the given one."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    level = max(float(np.ptp(C)), eps)
    while True:
        for _ in range(_ROUNDS):
            f = -level * logsumexp((g - C) / level + np.log(b), axis=1)
            g = -level * logsumexp((f - C.T) / level + np.log(a), axis=1)
        if level == eps:
            return f, g
        level = max(level / 2, eps)
