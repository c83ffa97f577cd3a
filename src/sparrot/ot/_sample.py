"""What an approximate search missed: estimated from random rows, checked against all points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import beta

from sparrot._types import FloatArray
from sparrot.cost import Cost
from sparrot.engine import Threads
from sparrot.ot._pairs import entries_at
from sparrot.ot._screening import screen

_ROUNDING = 1e-14  # of a score, relative to what it is the difference of
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Sample:
    """What a random sample of rows, checked against all points, says about a support.

    Attributes
    ----------
    rows : how many were checked.
    violation : the largest score of a pair that is not in the plan.
    share : upper confidence bound (95 %, Clopper and Pearson) on the share of rows with one.
    """

    rows: int
    violation: float
    share: float


def sampled(
    cost: Cost,
    u: FloatArray,
    plan: csr_array,
    n_rows: int,
    rng: np.random.Generator,
    threads: Threads,
) -> Sample:
    """Check random rows of a plan against all points."""
    n_rows = min(n_rows, cost.n)
    rows = np.sort(rng.permutation(cost.n)[:n_rows]).astype(np.int32)
    found = screen(cost, u, threads, rows)
    scores = u[found.i] + u[found.j] - found.cost
    clear = scores > _ROUNDING * (np.abs(u[found.i]) + np.abs(u[found.j]) + found.cost)
    out = clear & (entries_at(plan, found) == 0)
    missed, scores = found.where(out), scores[out]
    touched = np.isin(rows, np.concatenate([missed.i, missed.j])).sum()
    share = 1.0 if touched == n_rows else beta.ppf(_CONFIDENCE, touched + 1, n_rows - touched)
    return Sample(n_rows, float(scores.max(initial=0.0)), float(share))
