r"""The active set (the paper's Algorithm 2), steered by ceilings.

For a vector r let :math:`S(r) = \{(i, j) : r_i + r_j > C_{ij}\}`. If the problem restricted to S(r)
has a solution u <= r, every pair outside has :math:`u_i + u_j \le r_i + r_j \le C_{ij}`, so u
solves the whole problem: the ceilings are the certificate. If some potentials stick out, their
ceilings are raised and only their rows are screened again. The support is always exactly S(r), so
that pairs are added and dropped without comparing lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot.engine import Progress, ProgressCallback, Threads, memory_budget, require_memory
from sparrot.errors import NotEnoughMemoryError
from sparrot.ot._dual import SparseDual
from sparrot.ot._link import Link
from sparrot.ot._newton import NewtonResult, newton
from sparrot.ot._pairs import PAIR_BYTES, Pairs, Support
from sparrot.ot._search import Search

LOOSE = 1e-3  # marginal error while ceilings may still move
_MAX_ROUNDS = 200
_FASTEST_RISE = 8.0  # factor on a row's slack from one round to the next
_WORTH_KEEPING = 0.7  # share of pairs that must stay to keep a support as it is
_SPARE = 2.0  # candidate pairs for each pair that carries mass
FEWER_NEIGHBOURS = (
    "take a smaller eps, or a perplexity instead (outliers inflate the mean cost that eps is "
    "relative to)"
)


@dataclass(frozen=True, slots=True)
class Guess:
    """Potentials to start from, how far off they may be, and the neighbors a row they imply."""

    u: FloatArray
    slack: FloatArray
    n_neighbors: float


@dataclass(slots=True)
class Budget:
    """What is left of `max_iter`, and the history so far."""

    left: int
    history: list[float] = field(default_factory=list)

    def spend(self, result: NewtonResult) -> None:
        """Count the steps of one run."""
        self.history.extend(result.history)
        self.left -= len(result.history)


@dataclass(frozen=True, slots=True)
class Restricted:
    """The solution on a support; `certified` if no potential sticks out of its ceiling."""

    u: FloatArray
    plan: csr_array
    certified: bool


@dataclass(frozen=True, slots=True)
class State:
    """What an active set has found: potentials, ceilings, and the pairs below them."""

    u: FloatArray
    r: FloatArray
    pairs: Pairs


class ActiveSet:
    """A set of points with ceilings and the support that they span, kept from solve to solve.

    Parameters
    ----------
    search : where to look for pairs.
    hollow : whether the diagonal is forbidden.
    threads, progress : where to run, and whom to tell.
    max_memory : bytes that the support may take; what is available if None.
    keep : called with what a later run can go on from, after every round.
    """

    def __init__(
        self,
        search: Search,
        hollow: bool,
        threads: Threads,
        progress: ProgressCallback,
        max_memory: float | None = None,
        keep: Callable[[State], None] | None = None,
    ) -> None:
        self.search = search
        self.cost = search.cost
        self.hollow = hollow
        self.threads = threads
        self.progress = progress
        self.max_memory = max_memory
        self._keep = keep
        self._r = np.full(self.cost.n, -np.inf)
        self._error = np.inf
        self._pairs = self._loops()
        self._support: Support | None = None

    def solve(
        self, link: Link, mass: float, guess: Guess, tol: float, budget: Budget
    ) -> Restricted:
        """Raise ceilings until no potential sticks out, or the budget is spent."""
        u, slack = guess.u, guess.slack.copy()
        strikes = np.zeros(self.cost.n)
        # Ceilings that were screened already may stay, also somewhat off what they should be.
        high_enough = self._r >= u + slack / 4
        self._move(np.where(high_enough, np.minimum(self._r, u + 1.5 * slack), u + slack))
        rounds = 0
        while True:
            rounds += 1
            dual = self._dual(slack, link, mass)
            result, over = self._newton(dual, u, max(tol, LOOSE), budget)
            if len(over) == 0 and tol < LOOSE and result.error <= LOOSE:
                result, over = self._newton(dual, result.u, tol, budget)
            if self._keep is not None:
                self._keep(State(result.u, self._r, self._pairs))
            stuck = budget.left <= 0 or result.error > max(tol, LOOSE) or rounds == _MAX_ROUNDS
            if len(over) == 0 or stuck:
                return Restricted(result.u, dual.plan(result.u), len(over) == 0)
            del dual  # and its support, before there is another
            u = np.minimum(result.u, self._r)
            strikes[over] += 1  # who sticks out again and again rises ever faster
            slack[over] *= np.minimum(2.0 ** strikes[over], _FASTEST_RISE)
            self._move(self._raised(link, mass, u, slack, over))

    def _dual(self, slack: FloatArray, link: Link, mass: float) -> SparseDual:
        """The problem restricted to the support, which is built if need be."""
        if self._support is None:
            self._support = Support.of(self._pairs, self.cost.n)
            self._pairs = self._support.pairs  # the same, in order
        # A ghost that took all the mass of its row would let it out by a tenth of its slack.
        return SparseDual(self._support, self._r, 10 * mass / slack, link, mass, self.threads)

    def _newton(
        self, dual: SparseDual, u: FloatArray, tol: float, budget: Budget
    ) -> tuple[NewtonResult, IntArray]:
        """Solve on the support; also the rows whose potentials stick out of their ceilings."""
        before = len(budget.history)

        def report(step: int, error: float) -> None:
            self._error = error
            n, n_pairs = self.cost.n, len(self._pairs)
            self.progress(Progress("newton", n, before + step, 0, error, n_pairs))

        result = newton(dual, u, tol, budget.left, report)
        budget.spend(result)
        return result, np.flatnonzero(result.u > self._r).astype(np.int32)

    def _raised(
        self, link: Link, mass: float, u: FloatArray, slack: FloatArray, over: IntArray
    ) -> FloatArray:
        """New ceilings: rows that stick out go above their level against all points.

        The other ceilings come down, to the potential and the slack of the row.
        """
        assert self._support is not None
        near = self._support.levels(over, u, link, mass, self.threads)
        near = np.where(np.isfinite(near), near, u[over] + slack[over])
        level = self.search.levels(over, u, link, mass, near)
        r = np.minimum(self._r, u + slack)
        r[over] = np.maximum(level, u[over]) + slack[over]
        return r

    def _move(self, r: FloatArray) -> None:
        """Go from S(old r) to S(r): screen the rows that rise, drop the pairs that fall out.

        Where nothing rises and little would fall out, the old ceilings are as good.
        """
        rising = np.flatnonzero(r > self._r).astype(np.int32)
        worth_keeping = self._pairs.below(r).sum() > _WORTH_KEEPING * len(self._pairs)
        if len(rising) == 0 and worth_keeping:
            return
        self._support = None
        if 2 * len(rising) > self.cost.n:
            self._pairs = Pairs.join([self._loops(), self._screen(r, None)])
        else:
            pairs = self._pairs
            risen = np.zeros(self.cost.n, bool)
            risen[rising] = True
            loops = pairs.i == pairs.j
            kept = pairs.where((pairs.below(r) & ~risen[pairs.i] & ~risen[pairs.j]) | loops)
            self._pairs = Pairs.join([kept, self._screen(r, rising)]) if len(rising) else kept
        self._r = r

    def _loops(self) -> Pairs:
        """Without the hollow constraint every point is a candidate for itself, at any ceiling."""
        own = np.arange(0 if self.hollow else self.cost.n, dtype=np.int32)
        return Pairs(own, own, self.cost.diagonal()[: len(own)])

    def _screen(self, r: FloatArray, rows: IntArray | None) -> Pairs:
        n = self.cost.n
        limit = memory_budget(self.max_memory) / PAIR_BYTES

        def report(done: int, total: int, found: int) -> None:
            if found > limit:
                raise NotEnoughMemoryError(
                    f"{found:,} candidate pairs of {n} points, found in {done} of {total} tiles, "
                    f"are more than fit in memory; {FEWER_NEIGHBOURS}"
                )
            self.progress(Progress("screening", n, done, total, self._error, found))

        return self.search.pairs(r, rows, report)

    def resume(self, state: State) -> None:
        """Go on from ceilings and pairs that were found for the same points."""
        self._r, self._pairs, self._support = state.r, state.pairs, None

    def require_memory(self, neighbors: float) -> None:
        """Refuse a problem with too many neighbors a row before it begins."""
        pairs = neighbors * self.cost.n / 2
        require_memory(
            _SPARE * pairs * PAIR_BYTES,
            what=f"about {neighbors:.0f} neighbors a row of {self.cost.n} points",
            remedy=FEWER_NEIGHBOURS,
            max_memory=self.max_memory,
        )
