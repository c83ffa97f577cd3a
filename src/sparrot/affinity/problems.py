"""The regularised problems behind the affinities, for any relative eps."""

from __future__ import annotations

from sparrot.affinity.result import Affinity
from sparrot.cost import MatrixCost, PointCost
from sparrot.engine import Threads
from sparrot.support import QUADRATIC, Link, tsallis_link
from sparrot.transport import Certificate, Options, Solution, Solver, marginal_error
from sparrot.types import FloatArray


class TransportProblem:
    r"""Quadratic (q = 0) or Tsallis (0 < q < 1) regularisation, on sparse supports.

    The solver's potential v has entries that vanish with the score, so it is the user's u plus
    :math:`\varepsilon / (2 (1 - q))`; QOT is stated in v itself.
    """

    def __init__(
        self,
        cost: PointCost | MatrixCost,
        metric: str,
        hollow: bool,
        options: Options,
        threads: Threads,
        q: float | None = None,
    ) -> None:
        self.n = cost.n
        self.threads = threads
        self._cost = cost
        self._metric = metric
        self._hollow = hollow
        self._q = q
        self._solver = Solver(cost, hollow, options, threads)

    def solve(self, eps: float, start: FloatArray | None, tol: float | None) -> Solution:
        """Solve for one relative eps."""
        link, mass = self._regulariser(eps)
        return self._solver.solve(link, mass, start, tol)

    def affinity(self, solution: Solution, eps: float) -> Affinity:
        """From units of the mean cost to the units of the data."""
        unit = self._cost.unit
        shift = 0.0 if self._q is None else eps / (2 * (1 - self._q))
        potential = unit * (solution.u - shift)
        potential.flags.writeable = False
        kind = "qot" if self._q is None else "tsallis"
        return Affinity(
            kind="projection" if self._metric == "kernel" else kind,
            matrix=solution.plan,
            mean_cost=self._cost.mean(),
            metric=self._metric,
            potential=potential,
            eps=unit * eps,
            q=self._q or 0.0,
            certificate=Certificate(
                marginal_error=marginal_error(solution.plan),
                violation=unit * solution.violation,
                pairs_checked=solution.pairs_checked,
                exact=solution.pairs_checked > 0,
            ),
            history=solution.history,
            hollow=self._hollow,
            solver=self._solver.name,
        )

    def _regulariser(self, eps: float) -> tuple[Link, float]:
        return (QUADRATIC, eps) if self._q is None else (tsallis_link(eps, self._q), 1.0)
