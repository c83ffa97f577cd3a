r"""How far apart two measures on the same points are, by entropic transport.

Paths between measures on the points: entropic Wasserstein barycenters.

The heat kernel H stands for :math:`e^{-d^2 / \varepsilon}`, with d the distance along the manifold,
so no distances are needed (Solomon et al., convolutional Wasserstein distances). The barycenter of
measures :math:`\mu_i` with weights :math:`\alpha_i` has :math:`\mu = \prod_i d_i^{\alpha_i}` with

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
from sparrot._validation import as_array, as_max_iter, as_points, as_positive, as_tolerance
from sparrot.errors import InvalidInputError, NotConvergedError
from sparrot.geometry._arguments import as_measure

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


_TRUSTED = 1e-200  # of the largest term: below that a row is summed again by logarithms
_OPERATOR = 1e-8  # what an operator with an absolute error resolves
_FAINTEST = 1e-290  # and one with a relative error
_ASYMMETRY = 1e-6  # of the largest entry

LogKernel = Callable[[FloatArray], FloatArray]


def barycenter(
    kernel: Any, measures: Any, weights: Any, *, tol: float = 1e-6, max_iter: int | None = None
) -> FloatArray:
    """The entropic Wasserstein barycenter of some measures, blurred by the kernel as it is.

    Parameters
    ----------
    kernel : (n, n) symmetric positive kernel: `heat_kernel(L, t)`, or for many points
        `heat_operator(L, t, series="taylor")`.
    measures : (k, n) nonnegative weights of the points, one row a measure; scaled to sum to one.
    weights : (k,) nonnegative, scaled to sum to one.
    tol : how far (in total variation) the k plans may disagree about the barycenter.
    max_iter : limit on iterations, 10,000 if None.

    Returns
    -------
    (n,) weights that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.spectral import heat_kernel, laplacian
    >>> path = np.diag(np.ones(40), 1) + np.diag(np.ones(40), -1)
    >>> H = heat_kernel(laplacian(path, "combinatorial"), 8.0)
    >>> int(barycenter(H, np.eye(41)[[12, 28]], [0.5, 0.5]).argmax())
    20
    """
    log_kernel, n = _log_kernel(kernel)
    rows = np.atleast_2d(np.asarray(measures))
    mu = np.stack([as_measure(row, n, f"measure {k}") for k, row in enumerate(rows)])
    alpha = as_measure(weights, len(mu), "weights", each="measure")
    return _solve(log_kernel, mu, alpha, np.zeros_like(mu), tol, max_iter)[0]


def interpolate(
    kernel: Any, mu: Any, nu: Any, weights: Any, *, tol: float = 1e-6, max_iter: int | None = None
) -> FloatArray:
    """A path from one measure to another: barycenters with weights (1 - s, s).

    Each starts from the one before. The kernel blurs: the ends are `H mu` and `H nu`.

    Parameters
    ----------
    kernel : (n, n) symmetric positive kernel: `heat_kernel(L, t)`, or for many points
        `heat_operator(L, t, series="taylor")`.
    mu, nu : (n,) nonnegative weights of the points; scaled to sum to one.
    weights : the numbers s in [0, 1], or how many, evenly spaced.
    tol, max_iter : as for `barycenter`.

    Returns
    -------
    (len(weights), n) measures, one a row.

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
    ends = np.stack([as_measure(mu, n, "mu"), as_measure(nu, n, "nu")])
    log_v = np.zeros_like(ends)
    path = []
    for s in _as_path(weights):
        alpha = np.array([1 - s, s])
        log_v = log_v - alpha @ log_v  # the iteration keeps this mean, and it has to be zero
        measure, log_v = _solve(log_kernel, ends, alpha, log_v, tol, max_iter)
        path.append(measure)
    return np.array(path)


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
        f"the plans disagree about the barycenter by {error:.2e} after {steps} iterations; raise "
        "max_iter or tol, or take a kernel of a longer time. The last iterate is in `.result`",
        measure,
    )


def _log_kernel(kernel: Any) -> tuple[LogKernel, int]:
    """The map from rows log v to rows log(H v), and the number of points."""
    if hasattr(kernel, "potential") and hasattr(kernel, "matrix"):
        raise InvalidInputError(
            "a heat kernel is needed, and this is an affinity W; pass heat_kernel(laplacian(W), t) "
            "of sparrot.spectral"
        )
    if isinstance(kernel, LinearOperator):
        if kernel.shape[0] != kernel.shape[1]:
            raise InvalidInputError(f"the kernel must be square, got shape {kernel.shape}")
        return lambda log_v: _operator_logs(kernel, log_v), kernel.shape[0]
    H = _as_kernel(kernel)
    log_H = np.log(H)
    return lambda log_v: np.stack([_dense_logs(H, log_H, row) for row in log_v]), len(H)


def _as_kernel(kernel: Any) -> FloatArray:
    """A dense, symmetric, positive matrix; symmetric up to the marginal error of an affinity."""
    H = np.asarray(as_array(kernel, "the kernel"), dtype=np.float64)
    if H.shape[0] != H.shape[1]:
        raise InvalidInputError(f"the kernel must be square, got shape {H.shape}")
    asymmetry = float(np.abs(H - H.T).max())
    if asymmetry > _ASYMMETRY * np.abs(H).max():
        raise InvalidInputError(
            f"the kernel must be symmetric, but it differs from its transpose by {asymmetry:.3g}; "
            "take the heat kernel of a bistochastic affinity, or of laplacian(W, 'combinatorial')"
        )
    if not (H > 0).all():
        raise InvalidInputError(
            f"the kernel must be positive, but {np.count_nonzero(~(H > 0))} entries are not: "
            "mass cannot go everywhere; take the heat kernel of a connected graph, at a larger t"
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
    top = log_v.max(axis=1, keepdims=True)
    v = np.exp(log_v - top)
    product = (kernel @ v.T).T
    resolved = _FAINTEST if getattr(kernel, "entrywise", False) else _OPERATOR
    if (product <= resolved * np.linalg.norm(v, axis=1, keepdims=True)).any():
        raise InvalidInputError(
            "less heat arrives at some points than the operator resolves; take "
            "heat_operator(L, t, series='taylor'), the dense heat_kernel, or a larger t"
        )
    return np.log(product) + top


def _as_path(weights: Any) -> FloatArray:
    """Numbers in [0, 1], given or evenly spaced."""
    if isinstance(weights, Integral) and not isinstance(weights, bool) and int(weights) >= 2:
        return np.linspace(0, 1, int(weights))
    try:
        path = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        path = np.empty(0)
    if path.ndim != 1 or not len(path) or not ((path >= 0) & (path <= 1)).all():
        raise InvalidInputError(
            f"weights must be numbers from 0 to 1, or how many of them (2 or more), got {weights!r}"
        )
    return path
