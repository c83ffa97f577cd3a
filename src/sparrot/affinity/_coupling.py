"""Regularized optimal transport between two measures, for any cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray
from sparrot._validation import as_array, as_choice, as_flag, as_max_iter, as_positive, as_tolerance
from sparrot.errors import InvalidInputError, NotConvergedError, counted
from sparrot.ot import Certificate, couple


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """A regularized transport plan.

    Attributes
    ----------
    matrix : the plan P: sparse if quadratic, dense if entropic.
    u, v : potentials, in the units of C; minus infinity where a weight is zero.
    eps : the regularization, in the units of C.
    certificate : `marginal_error` is the largest error of a marginal, relative to the largest
        weight.
    """

    matrix: Any
    u: FloatArray
    v: FloatArray
    eps: float
    certificate: Certificate


def transport(
    a: Any,
    b: Any,
    C: Any,
    eps: float,
    *,
    regularizer: str = "quadratic",
    hollow: bool = False,
    tol: float = 1e-8,
    max_iter: int | None = None,
) -> Coupling:
    r"""Regularized optimal transport of the measure a onto the measure b.

    .. math:: \min \langle C, P \rangle + \tfrac{\varepsilon}{2} |P|_F^2
              \quad\text{or}\quad
              \min \langle C, P \rangle + \varepsilon \sum_{ij} P_{ij} (\log P_{ij} - 1)

    over :math:`P \ge 0`, :math:`P 1 = a`, :math:`P^\top 1 = b`: the problems of POT's
    `smooth_ot_dual` and `sinkhorn` and of RegOT, with their `reg` for our eps.

    Parameters
    ----------
    a, b : nonnegative weights of n and m points with equal sums.
    C : (n, m) costs.
    eps : regularization in the units of C (not relative: the measures set their own scale).
    regularizer : `"quadratic"` or `"entropic"`.
    hollow : forbid the diagonal (n = m).
    tol : largest error of a marginal, relative to the largest weight.
    max_iter : limit on Newton steps.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> a, b = np.full(3, 1 / 3), np.full(4, 1 / 4)
    >>> C = np.abs(np.arange(3)[:, None] - np.arange(4)) / 1.0
    >>> P = sparrot.transport(a, b, C, eps=0.1).matrix
    >>> bool(np.allclose(P.sum(axis=1), a)), bool(np.allclose(P.sum(axis=0), b))
    (True, True)
    """
    C = as_array(C, "C").astype(np.float64)
    a, b = _weights(a, "a", C.shape[0]), _weights(b, "b", C.shape[1])
    eps = as_positive(eps, "eps", "it is in the units of C")
    entropic = as_choice(regularizer, "regularizer", ("quadratic", "entropic")) == "entropic"
    if abs(a.sum() - b.sum()) > 1e-6 * a.sum():
        raise InvalidInputError(
            f"a and b must have the same sum, got {a.sum():.9g} and {b.sum():.9g}",
            value=(a.sum(), b.sum()),
            remedy="scale one of them",
        )
    b *= a.sum() / b.sum()
    if as_flag(hollow, "hollow"):
        _forbid_diagonal(C, a, b)
    i, j = np.flatnonzero(a), np.flatnonzero(b)
    steps = as_max_iter(max_iter) or 1000
    u, v, plan, result = couple(
        C[np.ix_(i, j)], a[i], b[j], eps, entropic, 0.999 * as_tolerance(tol), steps
    )
    coupling = Coupling(
        matrix=_spread(plan, i, j, C.shape),
        u=_filled(u, i, len(a)),
        v=_filled(v, j, len(b)),
        eps=eps,
        certificate=Certificate(result.error, 0.0, C.size, exact=True),
    )
    if result.error > tol:
        raise NotConvergedError(
            f"the marginal error is {result.error:.2e} after "
            f"{counted(len(result.history), 'step')}",
            coupling,
            remedy=["raise {max_iter} or {tol}", "take a larger {eps}"],
        )
    return coupling


def _weights(a: Any, name: str, n: int) -> FloatArray:
    try:
        weights = np.array(a, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(1, np.nan)
    if weights.shape != (n,):
        raise InvalidInputError(
            f"must be {n} nonnegative weights, one for each "
            f"{'row' if name == 'a' else 'column'} of C, got shape {weights.shape}",
            parameter=name,
            value=weights.shape,
        )
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        raise InvalidInputError(
            f"must be nonnegative weights, but {name}[{bad[0]}] is {weights[bad[0]]:g}",
            parameter=name,
            value=weights[bad[0]],
        )
    if not weights.sum() > 0:
        raise InvalidInputError("must have a positive weight, got only zeros", parameter=name)
    return weights


def _forbid_diagonal(C: FloatArray, a: FloatArray, b: FloatArray) -> None:
    if C.shape[0] != C.shape[1]:
        raise InvalidInputError(
            f"needs a square C, got shape {C.shape}", parameter="hollow", value=True
        )
    heavy = np.flatnonzero(a + b > a.sum() * (1 + 1e-12))
    if len(heavy):
        raise InvalidInputError(
            f"leaves no solution: point {heavy[0]} holds {a[heavy[0]]:.3g} of a, and the others "
            "can take less",
            parameter="hollow",
            value=True,
            remedy=["lower its weight", "use {hollow=False}"],
        )
    np.fill_diagonal(C, np.inf)


def _spread(plan: Any, i: Any, j: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(plan, csr_array):
        entries = plan.tocoo()
        return csr_array((entries.data, (i[entries.row], j[entries.col])), shape=shape)
    full = np.zeros(shape)
    full[np.ix_(i, j)] = plan
    return full


def _filled(u: FloatArray, i: Any, n: int) -> FloatArray:
    full = np.full(n, -np.inf)
    full[i] = u
    return full
