r"""The q-family of divergences, which leads from squared distances, q = 0, to entropy, q = 1.

QOT, `tsallis` and EOT are the bistochastic matrices of the smallest loss, or divergence, for
q = 0, 0 < q < 1 and q = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import kl_div

from sparrot._types import FloatArray
from sparrot._validation import as_finite, as_real
from sparrot.errors import InvalidInputError


def exp_q(x: Any, q: float) -> FloatArray:
    r"""The q-exponential, :math:`[1 + (1 - q) x]_+^{1/(1-q)}`, and :math:`e^x` at q = 1.

    Parameters
    ----------
    x : numbers of any shape.
    q : 0 <= q <= 1.

    Examples
    --------
    >>> exp_q([-2.0, 0.0, 1.0], 0), exp_q([-2.0, 0.0, 1.0], 0.5)
    (array([0., 1., 2.]), array([0.  , 1.  , 2.25]))
    >>> float(exp_q(1.0, 1).round(4))
    2.7183
    """
    x, q = as_finite(x, None, "x"), as_q(q)
    with np.errstate(over="ignore", divide="ignore"):
        if q == 1:
            return np.asarray(np.exp(x))
        return np.asarray(np.exp(np.log1p(np.maximum((1 - q) * x, -1.0)) / (1 - q)))


def log_q(x: Any, q: float) -> FloatArray:
    r"""The q-logarithm, :math:`(x^{1-q} - 1) / (1 - q)`, and :math:`\log x` at q = 1.

    The inverse of `exp_q`, but for the negative numbers that this sends to zero.

    Parameters
    ----------
    x : nonnegative numbers of any shape.
    q : 0 <= q <= 1.

    Examples
    --------
    >>> log_q([0.0, 1.0, 4.0], 0), log_q([0.0, 1.0, 4.0], 0.5)
    (array([-1.,  0.,  3.]), array([-2.,  0.,  2.]))
    """
    x, q = _as_nonnegative(x, "x"), as_q(q)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.log(x) if q == 1 else np.expm1((1 - q) * np.log(x)) / (1 - q))


def bregman_divergence(A: Any, B: Any, q: float) -> float:
    r"""The divergence :math:`\Phi_q(A \mid B)` between matrices, of which the q-family is made.

    It is that of Bregman for :math:`\phi_q(x) = (x \log_q x - x) / (2 - q)`, whose derivative is
    :math:`\log_q`:

    .. math:: \Phi_q(A \mid B) = \frac{1}{2 - q} \sum_{ij} \bigl[ A_{ij} \log_q A_{ij} -
              A_{ij} \log_q B_{ij} - A_{ij} B_{ij}^{1-q} + B_{ij}^{2-q} \bigr],

    half the squared Frobenius distance at q = 0, and the divergence of Kullback and Leibler at
    q = 1. Over bistochastic matrices A it is least at :math:`\exp_q(\log_q B_{ij} + u_i + u_j)`,
    which `sparrot.project` finds.

    Parameters
    ----------
    A, B : nonnegative numbers of one shape (at q = 0 of any sign).
    q : 0 <= q <= 1.

    Examples
    --------
    >>> bregman_divergence([[1.0, 0.0]], [[0.5, 0.5]], 0)
    0.25
    >>> round(bregman_divergence([[1.0, 0.0]], [[0.5, 0.5]], 1), 6)  # the logarithm of two
    0.693147
    """
    q = as_q(q)
    A, B = (
        as_finite(M, None, name) if q == 0 else _as_nonnegative(M, name)
        for M, name in ((A, "A"), (B, "B"))
    )
    _require_one_shape(A, B, "A", "B")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if q == 0:
            return float(np.square(A - B).sum() / 2)
        if q == 1:
            return float(kl_div(A, B).sum())
        each = A * log_q(A, q) - A * log_q(B, q) - A * B ** (1 - q) + B ** (2 - q)
    return _finite_sum(np.maximum(each, 0) / (2 - q))  # each is zero or more, but for rounding


def fenchel_young_loss(Y: Any, A: Any, q: float) -> float:
    r"""The dual divergence :math:`\Phi_q^\star(Y, \nabla \phi_q(A))`, as in the paper.

    With the conjugate :math:`\phi_q^\star(y) = \exp_q(y)^{2-q} / (2 - q)` of :math:`\phi_q` (see
    `bregman_divergence`) it is

    .. math:: \sum_{ij} \phi_q^\star(Y_{ij}) + \phi_q(A_{ij}) - A_{ij} Y_{ij} \ge 0,

    the gap in the inequality of Fenchel and Young: zero if and only if
    :math:`A = \exp_q(Y)`. As a function of A, :math:`\varepsilon` times the loss of
    :math:`Y = -C / \varepsilon` is :math:`\langle C, A \rangle + \varepsilon \sum \phi_q(A_{ij})`
    plus a constant. So transport, for every q, is the bistochastic matrix of the smallest loss: QOT
    at q = 0, `tsallis` between, EOT at q = 1. Where all of Y is above :math:`-1 / (1 - q)` that is
    the projection of the kernel :math:`\exp_q(-C / \varepsilon)` under :math:`\Phi_q`. The kernel
    is zero elsewhere, and has forgotten the costs; the loss has not.

    Parameters
    ----------
    Y : numbers of any sign, such as `-C / eps`.
    A : nonnegative numbers of the same shape.
    q : 0 <= q <= 1.

    Examples
    --------
    >>> Y = np.array([[0.0, -0.5], [-3.0, 1.0]])
    >>> [round(fenchel_young_loss(Y, exp_q(Y, q), q), 6) for q in (0, 0.5, 1)]
    [0.0, 0.0, 0.0]
    >>> fenchel_young_loss(Y, np.ones((2, 2)), 0)
    3.125
    """
    q = as_q(q)
    Y, A = as_finite(Y, None, "Y"), _as_nonnegative(A, "A")
    _require_one_shape(Y, A, "Y", "A")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        conjugate = exp_q(Y, q) ** (2 - q) / (2 - q)
        entropy = (np.where(A > 0, A * log_q(np.where(A > 0, A, 1.0), q), 0.0) - A) / (2 - q)
        each = conjugate + entropy - A * Y
    return _finite_sum(np.maximum(each, 0))


def as_q(q: Any) -> float:
    """A place in the family that leads from QOT, 0, to EOT, 1."""
    if not 0 <= as_real(q) <= 1:
        raise InvalidInputError(
            f"must be in [0, 1], got {q!r}",
            parameter="q",
            value=q,
            remedy="0 is QOT and 1 is EOT",
        )
    return float(q)


def _as_nonnegative(x: Any, name: str) -> FloatArray:
    x = as_finite(x, None, name)
    if (x < 0).any():
        raise InvalidInputError(
            f"must not be negative, got {x.min():.3g}",
            parameter=name,
            value=float(x.min()),
            remedy="clip at zero",
        )
    return x


def _require_one_shape(A: FloatArray, B: FloatArray, name: str, other: str) -> None:
    if A.shape != B.shape:
        raise InvalidInputError(
            f"and {other} must have one shape, got {A.shape} and {B.shape}",
            parameter=name,
            value=A.shape,
            remedy="pass arrays of one shape",
        )


def _finite_sum(each: FloatArray) -> float:
    """The sum; infinite where a term overflows, or is the difference of two that do."""
    total = float(each.sum())
    return float("inf") if np.isnan(total) else total
