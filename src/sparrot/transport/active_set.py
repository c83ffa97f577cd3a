r"""The active set (the paper's Algorithm 2), steered by ceilings and started from few points.

**Ceilings.** For a vector r let :math:`S(r) = \{(i, j) : r_i + r_j > C_{ij}\}`. If the problem
restricted to S(r) has a solution u <= r, every pair outside has
:math:`u_i + u_j \le r_i + r_j \le C_{ij}`, so u solves the whole problem: the ceilings are the
certificate. If some potentials stick out, their ceilings are raised and only their rows are
screened again. The support is always exactly S(r), so that nothing needs to be merged.

**Few points first.** A random part of m points with the share m/n of eps has nearly the same
potentials. So the problem is solved for a few hundred points (dense), then for four times as many,
and so on; each solution gives the next its potentials, by the level of each point against the part
already solved, and their uncertainty. The last screening is then almost always the only one that
covers all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparrot.cost import Cost
from sparrot.engine import Progress, ProgressCallback, Threads, available_memory
from sparrot.errors import NotEnoughMemoryError
from sparrot.support import Pairs, Support, levels_against, screen
from sparrot.transport.dual import DenseDual, SparseDual
from sparrot.transport.newton import NewtonResult, newton
from sparrot.types import FloatArray, IntArray

_RATIO = 4  # each part is that many times larger than the one before
_DENSE = 1024  # the first part has at most that many points, and at least a quarter
_FEW = 4.0  # with fewer neighbours than that a part tells little about the whole
_LOOSE = 1e-3  # marginal error while ceilings may still move
_COARSE = 1e-2  # marginal error for parts
_MAX_ROUNDS = 200
_PAIR_BYTES = 80  # of one candidate pair at the peak, all copies counted


@dataclass(frozen=True, slots=True)
class Guess:
    """Potentials to start from, and how far off they may be."""

    u: FloatArray
    slack: FloatArray


@dataclass(slots=True)
class Budget:
    """What is left of `max_iter`, and the history so far."""

    left: int
    history: tuple[float, ...] = ()

    def spend(self, result: NewtonResult) -> None:
        """Count the steps of one run."""
        self.history += result.history
        self.left -= len(result.history)


class ActiveSet:
    """One problem on one set of points, with its ceilings and its support.

    Parameters
    ----------
    cost, eps : the problem; eps in the unit of the cost.
    hollow : whether the diagonal is forbidden.
    threads, progress : where to run, and whom to tell.
    """

    def __init__(
        self, cost: Cost, eps: float, hollow: bool, threads: Threads, progress: ProgressCallback
    ) -> None:
        self.cost = cost
        self.eps = eps
        self.hollow = hollow
        self.threads = threads
        self.progress = progress

    def solve(self, guess: Guess, tol: float, budget: Budget) -> tuple[NewtonResult, Support, bool]:
        """Raise ceilings until no potential sticks out; the flag says whether that was reached."""
        u, slack = guess.u, guess.slack.copy()
        r = u + slack
        pairs = self._with_loops(self._screen(r, None))
        aim = max(tol, _LOOSE)
        strikes = np.zeros(self.cost.n)
        for _ in range(_MAX_ROUNDS):
            support = Support.of(pairs, self.cost.n)
            result, over = self._newton(support, u, r, slack, aim, budget)
            if len(over) == 0 and aim > tol and result.error <= aim:
                aim = tol
                result, over = self._newton(support, result.u, r, slack, aim, budget)
            if len(over) == 0 or budget.left <= 0 or result.error > aim:
                break
            aim = max(tol, _LOOSE)
            u = np.minimum(result.u, r)
            strikes[over] += 1
            slack[over] *= 2.0 ** strikes[over]  # who sticks out again and again rises ever faster
            new_r = self._raise(u, r, slack, over)
            pairs = self._update(support.pairs, r, new_r, over)
            r = new_r
        return result, support, len(over) == 0

    def _newton(
        self,
        support: Support,
        u: FloatArray,
        r: FloatArray,
        slack: FloatArray,
        tol: float,
        budget: Budget,
    ) -> tuple[NewtonResult, IntArray]:
        """Solve on the support; also the rows whose potentials stick out of their ceilings."""
        # A ghost that took all the mass of its row would let it out by a tenth of its slack.
        dual = SparseDual(support, r, 10 * self.eps / slack, self.eps, self.threads)
        before = len(budget.history)

        def report(step: int, error: float) -> None:
            self.progress(Progress("newton", self.cost.n, before + step, 0, error))

        result = newton(dual, u, tol, budget.left, report)
        budget.spend(result)
        return result, np.flatnonzero(result.u > r).astype(np.int32)

    def _raise(self, u: FloatArray, r: FloatArray, slack: FloatArray, over: IntArray) -> FloatArray:
        """New ceilings: rows that stick out go above their level against all points.

        The other ceilings come down, to the potential and the slack of the row.
        """
        level = levels_against(self.cost, over, self.cost, u, self.eps, over, self.threads)[0]
        new_r = np.minimum(r, u + slack)
        new_r[over] = np.maximum(level, u[over]) + slack[over]
        return new_r

    def _update(self, pairs: Pairs, r: FloatArray, new_r: FloatArray, over: IntArray) -> Pairs:
        """From the pairs of S(r) to those of S(new_r), where only rows `over` were raised."""
        found = self._screen(new_r, over)
        kept = pairs.where(pairs.below(new_r) | (pairs.i == pairs.j))
        return Pairs.join([kept, found.where(~found.below(r))])

    def _with_loops(self, pairs: Pairs) -> Pairs:
        """Without the hollow constraint every point is a candidate for itself, at any ceiling."""
        if self.hollow:
            return pairs
        every = np.arange(self.cost.n, dtype=np.int32)
        return Pairs.join([pairs, Pairs(every, every, self.cost.diagonal())])

    def _screen(self, r: FloatArray, rows: IntArray | None) -> Pairs:
        n = self.cost.n
        limit = available_memory() / _PAIR_BYTES

        def report(done: int, total: int, found: int) -> None:
            if found > limit:
                raise NotEnoughMemoryError(
                    f"more than {found / n:.0f} candidate neighbours a point for {n} points at "
                    f"eps = {self.eps:.3g} times the mean cost do not fit in memory; "
                    "take a smaller eps (outliers inflate the mean cost)"
                )
            self.progress(Progress("screening", n, done, total))

        return screen(self.cost, r, self.threads, rows, report)


def active_set(
    cost: Cost,
    eps: float,
    hollow: bool,
    start: FloatArray | None,
    tol: float,
    budget: Budget,
    threads: Threads,
    progress: ProgressCallback,
) -> tuple[NewtonResult, Support, bool]:
    """Solve over all points of the cost, from potentials or from nothing.

    Returns Newton's last result, the support it was computed on, and whether every potential is
    below its ceiling (which makes the support all that matters).
    """
    guess = None if start is None else _guess_from_potential(cost, eps, start, threads)
    if guess is None:
        guess = _guess_from_parts(cost, eps, hollow, threads, progress)
    return ActiveSet(cost, eps, hollow, threads, progress).solve(guess, tol, budget)


def _guess_from_potential(
    cost: Cost, eps: float, u: FloatArray, threads: Threads, n_rows: int = 256
) -> Guess | None:
    """A warm start, judged by a few rows; None if it is worth nothing.

    Where all potentials are too high by some amount, all levels are too low by the same, and the
    mean of the two is right. What is left of their difference is the uncertainty.
    """
    rows = np.linspace(0, cost.n - 1, min(n_rows, cost.n)).astype(np.int32)
    level, neighbours = levels_against(cost, rows, cost, u, eps, rows, threads)
    shift = float(np.median(level - u[rows])) / 2
    mean_score = eps / float(neighbours.mean())
    uncertainty = float(np.median(np.abs(level - u[rows] - 2 * shift)))
    if uncertainty + abs(shift) > 4 * mean_score:
        return None
    return Guess(u + shift, np.full(cost.n, uncertainty + mean_score / 2))


def _guess_from_parts(
    cost: Cost, eps: float, hollow: bool, threads: Threads, progress: ProgressCallback
) -> Guess:
    """Solve ever larger random parts; the last gives every point its guess."""
    n = cost.n
    order = np.random.default_rng(0).permutation(n)
    sizes = [max(2, -(-n // _RATIO)), n]
    while sizes[0] > _DENSE:
        sizes.insert(0, -(-sizes[0] // _RATIO))
    index = np.sort(order[: sizes[0]]).astype(np.int32)
    part = cost.take(index)
    u, mass = _first_part(part, eps * part.n / n, hollow, threads)
    for size in sizes[1:]:
        next_index = np.sort(order[:size]).astype(np.int32)
        progress(Progress("extending", size, 0))
        guess = _extend(cost, next_index, index, part, u, mass, threads)
        if size == n:
            break
        part, index = cost.take(next_index), next_index
        mass = max(mass, eps * size / n)
        problem = ActiveSet(part, mass, hollow, threads, progress)
        u = problem.solve(guess, _COARSE, Budget(200))[0].u
    return guess


def _first_part(
    part: Cost, mass: float, hollow: bool, threads: Threads
) -> tuple[FloatArray, float]:
    """Potentials of the smallest part; its mass is raised until it has a few neighbours a row."""
    C = part.dense()
    if hollow:
        np.fill_diagonal(C, np.inf)
    u = part.shift.copy()
    while True:
        dual = DenseDual(C, mass, threads)
        result = newton(dual, u, _COARSE, 200)
        if result.state.diagonal.mean() >= min(_FEW, part.n / 2):
            return result.u, mass
        u, mass = result.u, 2 * mass


def _extend(
    cost: Cost,
    to: IntArray,
    index: IntArray,
    part: Cost,
    u: FloatArray,
    mass: float,
    threads: Threads,
) -> Guess:
    """Levels of the points `to` against a solved part.

    The level of a row with k neighbours in the part has a sampling error of the order of
    `(mass / k) / sqrt(k)`: the mean score divided by the square root of their number.
    """
    place = np.minimum(np.searchsorted(index, to), part.n - 1)
    twin = np.where(index[place] == to, place, -1)
    level, k = levels_against(cost, to, part, u, mass, twin, threads)
    slack = mass / k * np.minimum(1.0, 2.0 / np.sqrt(k))
    return Guess(level, slack)
