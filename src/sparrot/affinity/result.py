"""The result of every affinity: a matrix that can defend itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot.cost import cost_block
from sparrot.errors import InvalidInputError
from sparrot.transport import Certificate, marginal_error
from sparrot.types import FloatArray
from sparrot.validation import as_points

_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Affinity:
    """A sparse symmetric affinity with its dual potential and its certificate.

    Attributes
    ----------
    matrix : (n, n) `scipy.sparse.csr_array`, float64: `W_ij = [u_i + u_j - C_ij]_+ / eps`.
    potential : (n,) array u, in the units of the cost C of the data as given.
    eps : the regularisation in the same units; `eps / mean_cost` is the relative one.
    mean_cost : `N^-2 sum_ij C_ij`.
    certificate : marginal error and violation: why this is the optimum.
    n_iter : Newton steps (or rounds of alternating projections) that it took.
    history : the marginal error before each of them.
    hollow : whether the diagonal was constrained to zero.
    metric : the cost: the name that was asked for, or `"kernel"` for `project`.
    solver : the solver that ran.
    """

    matrix: csr_array
    potential: FloatArray
    eps: float
    mean_cost: float
    certificate: Certificate
    n_iter: int
    history: tuple[float, ...] = field(repr=False)
    hollow: bool
    metric: str
    solver: str

    @property
    def neighbours(self) -> float:
        """Mean number of nonzero entries a row."""
        return float(self.matrix.nnz / self.matrix.shape[0])

    def check(self, X: Any) -> Certificate:
        """Recompute the certificate by brute force over all pairs, from the data alone.

        Costs O(n^2 p) time and, in tiles, little memory. `X` is what the affinity was made from.
        Unlike the solver's own certificate, the violation here is a computed number: the largest
        of `|[u_i + u_j - C_ij]_+ - eps W_ij|` over *all* pairs, so that a wrong entry would show
        as well as a missing one. Rounding leaves about 1e-14 of the largest cost.

        Examples
        --------
        >>> import numpy as np, sparrot
        >>> X = np.random.default_rng(0).standard_normal((50, 3))
        >>> sparrot.qot(X).check(X).violation < 1e-12
        True
        """
        X = as_points(X, self.metric)
        n = self.matrix.shape[0]
        if len(X) != n:
            raise InvalidInputError(f"X must be the {n} rows that were fitted, got {len(X)}")
        size = max(1, _BLOCK_ENTRIES // n)
        worst = max(self._discrepancy(X, slice(k, min(k + size, n))) for k in range(0, n, size))
        n_pairs = n * (n - 1) // 2 if self.hollow else n * (n + 1) // 2
        return Certificate(marginal_error(self.matrix), worst, n_pairs, exact=True)

    def _discrepancy(self, X: Any, rows: slice) -> float:
        score = (self.potential[rows, None] + self.potential) - cost_block(X[rows], X, self.metric)
        np.maximum(score, 0, out=score)
        if self.hollow:
            own = np.arange(rows.start, rows.stop)
            score[own - rows.start, own] = 0
        return float(np.abs(score - self.eps * self.matrix[rows].toarray()).max())

    def __repr__(self) -> str:
        """One line with what matters."""
        c = self.certificate
        return (
            f"<Affinity: {self.matrix.shape[0]} points, {self.neighbours:.1f} neighbours a row, "
            f"eps = {self.eps / self.mean_cost:.3g} x mean cost, "
            f"marginal error {c.marginal_error:.1e}, violation {c.violation:.1e}>"
        )
