"""What a solver returns, and the two numbers that vouch for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray


@dataclass(frozen=True, slots=True)
class Certificate:
    """Why the plan is optimal, or by how much it is not.

    The plan `W_ij = [u_i + u_j - C_ij]_+ / eps` solves the problem if and only if every row sums to
    one and no pair that was left out has a positive score. (A duality gap would say no more: for
    any u it equals `2 u'(W1 - 1)`.)

    Attributes
    ----------
    marginal_error : `max_i |(W1)_i - 1|`.
    violation : `max [u_i + u_j - C_ij]_+` over the pairs left out, in the units of C; infinite
        where it is not known, as for a result that did not converge.
    pairs_checked : how many pairs `i < j` (and, without the hollow constraint, points with
        themselves) are vouched for.
    exact : whether that is all of them, by a search that misses none.
    missed_rows : for an approximate search, an upper bound at 95 % confidence on the share of rows
        of which a pair with a positive score was left out, from random rows checked against all
        points; `violation` is then the largest such score in these rows.
    """

    marginal_error: float
    violation: float
    pairs_checked: int
    exact: bool
    missed_rows: float = 0.0


@dataclass(frozen=True, slots=True)
class Solution:
    """A potential and its plan, in units of the mean cost.

    Attributes
    ----------
    u : the potential.
    plan : the matrix `g([u_i + u_j - C_ij]_+) / mass`.
    violation, pairs_checked, missed_rows : as in `Certificate`.
    history : the marginal error before each Newton step (or round of alternating projections).
    converged : whether the marginal error met the tolerance and, unless the search was approximate,
        no pair is violated.
    """

    u: FloatArray
    plan: csr_array
    violation: float
    pairs_checked: int
    history: tuple[float, ...]
    converged: bool
    missed_rows: float = 0.0


def marginal_error(plan: csr_array) -> float:
    """`max_i |(W1)_i - 1|`, or infinity where that is not a number."""
    sums = plan.sum(axis=1)
    return float(np.abs(sums - 1).max()) if np.isfinite(sums).all() else float("inf")
