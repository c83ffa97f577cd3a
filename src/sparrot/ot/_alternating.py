r"""Alternating projections (after Zass and Shashua), as a referee for the other solvers.

Project -C / eps in turn onto the affine set {A = A', A1 = 1, diag A = 0} and onto the matrices
without negative entries. Plain alternation ends in *some* common point; Dykstra's correction ends
in the projection. With it the iterates keep the form :math:`[a_i + a_j - C_{ij}/\varepsilon]_+`:
each round adds to a the multiplier of the affine projection, so that no correction need be stored.

With row deficits :math:`d = 1 - W 1` that multiplier solves :math:`(n - 2) b_i + \sum_j b_j = d_i`
(hollow) or :math:`n b_i + \sum_j b_j = d_i` (fat). Convergence is linear, and slow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparrot._types import FloatArray


def alternating(
    C: FloatArray,
    eps: float,
    u: FloatArray,
    hollow: bool,
    tol: float,
    max_iter: int,
    report: Callable[[int, float], None],
) -> tuple[FloatArray, tuple[float, ...]]:
    """Dykstra's alternating projections on a dense cost matrix, from the potential u.

    Returns the potential and the marginal error before each round.
    """
    n = len(C)
    own = n - 2 if hollow else n
    history: list[float] = []
    while True:
        P = (u[:, None] + u) - C
        np.maximum(P, 0, out=P)
        deficit = eps - P.sum(axis=1)
        error = float(np.abs(deficit).max()) / eps
        report(len(history), error)
        if error <= tol or len(history) >= max_iter:
            return u, tuple(history)
        history.append(error)
        # For n = 2 only the sum of the two multipliers counts.
        u = u + (deficit / 2 if own == 0 else (deficit - deficit.sum() / (own + n)) / own)
