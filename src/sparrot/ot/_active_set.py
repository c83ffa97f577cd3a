r"""The active set (the paper's Algorithm 2), steered by ceilings.

For a vector r let :math:`S(r) = \{(i, j) : r_i + r_j > C_{ij}\}`. If the problem restricted to S(r)
has a solution u <= r, every pair outside has :math:`u_i + u_j \le r_i + r_j \le C_{ij}`, so u
solves the whole problem: the ceilings are the certificate. If some potentials stick out, their
ceilings are raised and only their rows are screened again. The support is always exactly S(r), so
that pairs are added and dropped without comparing lists.

First potentials come from few points: a random part of m points with the share m/n of the mass has
nearly the same potentials as all. So the problem is solved for a few hundred points (dense), then
for four times as many, and so on. Each solution gives every point its c-transform against the part,
with an uncertainty: the potentials from which the next part is solved, and a bound that keeps the
next c-transforms cheap. The last screening is then almost always the only one that covers all
pairs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot.cost import Cost
from sparrot.engine import Run
from sparrot.errors import NotEnoughMemoryError
from sparrot.ot._checkpoint import Checkpoint, State
from sparrot.ot._ctransform import FEW, Reference, c_transform, rough_c_transform
from sparrot.ot._dual import (
    CEILING_TOL,
    GATHERED_BYTES,
    DenseDual,
    RestrictedDual,
    SparseDual,
    like,
)
from sparrot.ot._floor import (
    SparseFloorDual,
    at_other_eps,
)
from sparrot.ot._newton import MAX_STEPS, ON_THE_WAY, ROUNDED, NewtonResult, newton
from sparrot.ot._problem import (
    AnyProblem,
    Certificate,
    Method,
    Options,
    PowerRegularizer,
    Problem,
    QuadraticRegularizer,
    Solution,
    SparseProblem,
    compressed,
    marginal_error,
    x_log_x,
)
from sparrot.ot._screening import (
    PAIR_BYTES,
    BlockPairs,
    ClientPairs,
    Pairs,
    screen,
    seconds_of_a_pass,
)

LOG = logging.getLogger("sparrot")
_MAX_ROUNDS = 200
_FASTEST_RISE = 8.0  # factor on a row's slack from one round to the next
_NEARLY_OUT = 0.05  # share of its slack within which a row rises with those that stick out
_WORTH_KEEPING = 0.7  # share of pairs that must stay to keep a support as it is
_POOR, _MOST_POWERS = 100.0, 8  # a marginal error that calls for masses 10 to 10^8 times larger
_SPARE = 2.0  # candidate pairs for each pair that carries mass

_SPARSE_ROWS = 6.0  # with fewer neighbors a row, start from larger masses
_RAISED = 10.0  # likewise if the mass of a part had to be raised that much

LARGEST_PART = 40_000  # points of a part, at most, where not all pairs are looked at
_RATIO = 4  # each part is that many times larger than the one before
_DENSE = 1024  # the first part has at most that many points,
_PART_NEIGHBORS = 4.0  # and its mass is raised until rows have so many neighbors
_ROUGH = 2048  # points of a part, at most, that all are held against in float32
_MOST_ROWS = 0.25  # the quantile of rows that must have two;
_LESS_RAISED = 2.0  # divides such a mass from one part to the next
_PART_STEPS = 200  # Newton steps for a part, at most
_SAME_EPS = 2  # divides the slack where only the floor is new: most rows move less
_WARM_ROWS = 64  # that judge a warm start

_ORDERED = 8192  # rows that get another order at once
_MANY_COPIES = 10.0  # of a point, on average, from which on equal points have one row
_COPIED_ROWS = 256  # at a time
_ENTRY_BYTES = 26  # of a matrix that is copied, and of which components are found

_PASSES = 2.5  # over all pairs, for one solve with everything that belongs to it, at most
_LONG = 10.0  # seconds that are worth a line in the log
FEWER_NEIGHBORS = (
    "take a smaller {eps}, or a {perplexity} instead (outliers inflate the mean cost that eps is "
    "relative to)"
)


@dataclass(frozen=True, slots=True)
class Guess:
    """Potentials to start from, how far off they may be, and the neighbors a row they imply.

    They are those of a problem with `raised` times the mass.
    """

    u: FloatArray
    slack: FloatArray
    n_neighbors: float
    raised: float = 1.0


@dataclass(slots=True)
class Budget:
    """What is left of `max_iter`, and the history so far."""

    left: int
    history: list[float] = field(default_factory=list)

    def spend(self, result: NewtonResult) -> None:
        """Count the steps of one run."""
        self.history.extend(result.history)
        self.left -= len(result.history)


class Pool(Protocol):
    """Answers for a pool of likely pairs what `screen` and `c_transform` answer for all."""

    def screen(
        self, r: FloatArray, rows: IntArray | None, report: Callable[[int, int, int], None]
    ) -> Pairs:
        """The pairs `i < j` of S(r) that touch one of the rows (all if None)."""

    def c_transform(
        self, rows: IntArray, reference: Reference, near: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """The c-transforms of some rows, and how many points each rests on."""


class SpatialMethod(Method[PowerRegularizer]):
    """What an exact and an approximate search share: they work on the points in spatial order."""

    solves = PowerRegularizer
    knows_floors = True
    knows_full_rows = False

    def __init__(self, problem: SparseProblem, options: Options, run: Run) -> None:
        self._given = problem
        self._order = problem.cost.order()
        if self._order is not None:
            floor, weights = (
                None if vector is None else vector[self._order]
                for vector in (problem.floor, problem.weights)
            )
            cost = problem.cost.take(self._order)
            problem = replace(problem, cost=cost, floor=floor, weights=weights)
        super().__init__(problem, options, run)

    def _in_order(self, start: FloatArray | None) -> FloatArray | None:
        """Potentials in spatial order."""
        return start if start is None or self._order is None else start[self._order]

    def _as_given(self, solution: Solution, budget: Budget, tol: float) -> Solution:
        """From spatial order back to the order of the points."""
        certificate, problem = solution.certificate, solution.problem
        u, e, plan = solution.u, solution.e, solution.plan
        if self._order is not None:
            place = np.argsort(self._order)
            plan = _reordered(plan, self._order, place, self._run)
            u, e = u[place], None if e is None else e[place]
        return Solution(
            problem=self._given.at(problem.regularizer.eps, problem.floor is not None),
            u=u,
            plan=plan,
            certificate=certificate,
            history=tuple(budget.history),
            converged=certificate.largest_error <= tol and certificate.violation < np.inf,
            method=self.name,
            e=e,
        )


def _reordered(plan: csr_array, order: IntArray, place: IntArray, run: Run) -> csr_array:
    """The plan of points that were taken in some order, of which `place` is the inverse."""
    order = order.astype(plan.indices.dtype)

    def part(rows: slice) -> csr_array:
        some = plan[place[rows]]
        some = csr_array((some.data, order[some.indices], some.indptr), shape=some.shape)
        some.sort_indices()
        return some

    blocks = [slice(k, k + _ORDERED) for k in range(0, len(place), _ORDERED)]
    parts = list(run.threads.map(part, blocks))
    indices = np.concatenate([some.indices for some in parts])
    data = np.concatenate([some.data for some in parts])
    return compressed(np.diff(plan.indptr)[place], indices, data, plan.shape[1])


class ActiveSet(SpatialMethod):
    """The method: ceilings on the potentials, and pairs below them that are kept for later."""

    name = "active-set"
    knows_weights = True

    def __init__(self, problem: SparseProblem, options: Options, run: Run) -> None:
        super().__init__(problem, options, run)
        log_estimate(self._problem, "exact", _PASSES, run)
        self._resumed: FloatArray | None = None
        self._last: Solution | None = None  # that converged, in spatial order
        path = options.checkpoint
        checkpoint = None if path is None else Checkpoint(path, self._problem)
        keep = None if checkpoint is None else checkpoint.save
        self._ceilings = Ceilings(self._problem, run, keep)
        state = None if checkpoint is None else checkpoint.load()
        if state is not None:
            LOG.info("going on from %s, with %d pairs", path, len(state.pairs))
            self._go_on_from(state)

    def _go_on_from(self, state: State) -> None:
        """Take what a checkpoint holds."""
        self._ceilings.resume(state)
        self._resumed = state.u
        if state.e is not None:
            self._ceilings.begin_with(state.e, state.eps)

    def take_multipliers(self, e: FloatArray, eps: float) -> bool:
        """As those of the last solution."""
        self._ceilings.begin_with(e if self._order is None else e[self._order], eps)
        return True

    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Solve the problem at one eps, from potentials if there are any, or without its floor."""
        problem, start = self._problem.at(eps, with_floor), self._in_order(start)
        budget = Budget(self._options.max_iter or MAX_STEPS)
        start, self._resumed = self._resumed if start is None else start, None
        guess: Guess | None = None
        if problem.floor is not None:
            guess = self._floor_guess(problem, start, budget)
        elif start is not None:
            guess = warm_start(problem, start, self._run, degrees=self._degrees())
        if guess is None:
            guess = self._cold_start(problem, budget.left)
        self._ceilings.make_room(guess.n_neighbors)
        found = self._ceilings.solve(problem, guess, ROUNDED * tol, budget)
        solution = self._as_given(found, budget, tol)
        if solution.converged:
            self._last = found
        else:
            self._forget_multipliers()
        return solution

    def _forget_multipliers(self) -> None:
        """Of a solve that failed: the next one starts from the last that did not."""
        last = self._last
        if last is None or last.e is None:
            self._ceilings.begin_with(np.zeros(self._problem.n), 0.0)
        else:
            self._ceilings.begin_with(last.e, last.problem.regularizer.eps)

    def _degrees(self) -> IntArray | None:
        """The neighbors of each row in the last solution, if there is one."""
        return None if self._last is None else np.diff(self._last.plan.indptr)

    def _floor_guess(
        self, problem: SparseProblem, start: FloatArray | None, budget: Budget
    ) -> Guess:
        """From the last solution with a floor, or from one without, found roughly if need be."""
        last = self._last
        e = self._ceilings.multipliers(problem.regularizer.eps)
        if start is not None and e is not None and (last is None or last.e is not None):
            guess = warm_start(problem, start, self._run, e)
            if guess is not None:
                return guess
        if last is None or last.e is not None:
            plain = replace(problem, floor=None)
            guess = None if start is None else warm_start(plain, start, self._run)
            guess = guess or self._cold_start(plain, budget.left)
            last = self._ceilings.solve(plain, guess, ON_THE_WAY, Budget(budget.left))
        return floor_start(problem, last)

    def _cold_start(self, problem: SparseProblem, max_steps: int) -> Guess:
        """A guess from parts; where neighbors are very few, by way of larger masses.

        On the way down the support only shrinks, so that this costs no further screening.
        """
        regularizer = problem.regularizer
        scale = regularizer.score(regularizer.mass)
        larger: list[float] = []
        while True:
            easier = problem.with_mass(larger[-1]) if larger else problem
            guess = first_potentials(easier, self._run)
            near = guess.n_neighbors >= _SPARSE_ROWS and guess.raised < _RAISED
            if near or len(larger) >= 10:
                break
            larger.append(float(regularizer.entry(scale * 10.0 ** (len(larger) + 1))))
        for mass in reversed(larger):
            easier = problem.with_mass(mass)
            found = self._ceilings.solve(easier, guess, ON_THE_WAY, Budget(max_steps))
            k = np.maximum(np.diff(found.plan.indptr), 1)
            guess = Guess(found.u, regularizer.score(mass / k), _SPARSE_ROWS)
        return guess


class EqualPoints(Method[PowerRegularizer]):
    r"""The active set of QOT for points of which many are equal: one row stands for all of these.

    The solution is unique, and does not change where equal points are exchanged: they have the same
    potential and the same row. With :math:`w_i` copies of the i-th point, u is optimal exactly when

    .. math:: (w_i - 1) [2 u_i]_+ + \sum_{j \ne i} w_j [u_i + u_j - C_{ij}]_+ = \varepsilon

    (:math:`w_i` in the place of :math:`w_i - 1` if points may have affinity to themselves).

    Parameters
    ----------
    problem, options, run : as for every method.
    first : for each point the first that equals it.
    """

    name = ActiveSet.name
    solves = PowerRegularizer

    def __init__(self, problem: Problem[Any], options: Options, run: Run, first: IntArray) -> None:
        super().__init__(problem, options, run)
        index, self._of, counts = np.unique(first, return_inverse=True, return_counts=True)
        self._index, self._counts = index, counts
        self._members = np.argsort(self._of, kind="stable").astype(np.int32)
        most = int(counts.max())
        if 2 * most > problem.n:  # the others have too little mass: all of these are neighbors
            self._require_memory(most * (most - problem.hollow))
        cost, weights = problem.cost.take(index), counts.astype(np.float64)
        distinct = replace(problem, cost=cost, weights=weights, copies=True)
        self._method = ActiveSet(distinct, options, run)

    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Solve for the distinct points, and copy their potentials and rows."""
        return self._with_all_rows(self._find(eps, start, tol), tol)

    def rough(self, eps: float, start: FloatArray | None, tol: float) -> Solution:
        """The same with the plan of the distinct points, unless it did not converge."""
        found = self._find(eps, start, tol)
        return found if found.converged else self._with_all_rows(found, tol)

    def _find(self, eps: float, start: FloatArray | None, tol: float) -> Solution:
        """The same with the plan of the distinct points: what is between copies is summed."""
        found = self._method.solve(eps, None if start is None else start[self._index], tol)
        problem, exact = self._problem.at(eps), found.certificate.exact
        certificate = replace(found.certificate, pairs_checked=problem.n_pairs if exact else 0)
        return replace(found, problem=problem, u=found.u[self._of], certificate=certificate)

    def _with_all_rows(self, found: Solution, tol: float) -> Solution:
        """A solution with the plan of all points in the place of that of the distinct ones."""
        plan = self._copied(found.plan)
        certificate = replace(found.certificate, marginal_error=marginal_error(plan))
        converged = found.converged and certificate.marginal_error <= tol
        return replace(found, plan=plan, certificate=certificate, converged=converged)

    def perplexities(self, solution: Solution) -> FloatArray:
        """Those of all points, also by the plan of the distinct ones."""
        plan, w = solution.plan, self._counts
        if plan.shape[0] == self._problem.n:
            return super().perplexities(solution)
        row, among = self._entries(plan)
        p = plan.data / w[row]
        entropy = np.bincount(row, p * np.log(among) - x_log_x(p), len(w))
        return np.exp(entropy)[self._of]

    def _entries(self, plan: csr_array) -> tuple[IntArray, IntArray]:
        """The row of each entry of a plan of distinct points, and among how many it is shared."""
        row = np.repeat(np.arange(len(self._counts)), np.diff(plan.indptr))
        loop = self._problem.hollow & (plan.indices == row)
        return row, self._counts[plan.indices] - loop

    def _copied(self, plan: csr_array) -> csr_array:
        """The plan of all points: each row as often, and each entry shared by as many columns."""
        w, n = self._counts, self._problem.n
        row, among = self._entries(plan)
        shared = like(plan, plan.data / (w[row] * among))
        counts = np.bincount(row, among, len(w)).astype(np.int64)[self._of]
        self._require_memory(int(counts.sum()))
        ends = np.cumsum(counts)
        indices, data = np.empty(ends[-1], np.int32), np.empty(ends[-1])
        for start in range(0, n, _COPIED_ROWS):
            distinct, of = np.unique(self._of[start : start + _COPIED_ROWS], return_inverse=True)
            rows = self._with_all_columns(shared[distinct])[of]
            own = np.repeat(np.arange(start, start + len(of)), np.diff(rows.indptr))
            kept = rows.indices != own if self._problem.hollow else slice(None)
            place = slice(ends[start] - counts[start], ends[start + len(of) - 1])
            indices[place], data[place] = rows.indices[kept], rows.data[kept]
        return compressed(counts, indices, data, n)

    def _with_all_columns(self, rows: csr_array) -> csr_array:
        """Rows of distinct points, with a column for each copy of a column."""
        each = self._counts[rows.indices]
        ends, before = np.cumsum(each), np.cumsum(self._counts) - self._counts
        first = before[rows.indices] - (ends - each)
        columns = self._members[np.arange(each.sum()) + np.repeat(first, each)]
        counts = np.diff(np.append(0, ends)[rows.indptr])
        wide = compressed(counts, columns, np.repeat(rows.data, each), self._problem.n)
        wide.sort_indices()
        return wide

    def _require_memory(self, n_entries: int) -> None:
        n, most = self._problem.n, int(self._counts.max())
        self._run.require_memory(
            n_entries * _ENTRY_BYTES,
            what=f"an affinity of {n:,} points, of which {most:,} are equal and neighbors of each "
            f"other, has {n_entries:,} entries and",
            remedy="drop duplicates, and pass their numbers as {weights} with {hollow=False}",
        )


def many_equal(problem: AnyProblem, options: Options) -> IntArray | None:
    """For each point the first that equals it; None unless `EqualPoints` is the faster method.

    It is where points have many copies on average.
    """
    plain = problem.floor is None and problem.weights is None and options.checkpoint is None
    is_qot = isinstance(problem.regularizer, QuadraticRegularizer)
    first = problem.cost.first_equal() if plain and is_qot else None
    if first is None or np.square(np.bincount(first)).sum() <= _MANY_COPIES * problem.n:
        return None
    return first


class Ceilings:
    """Ceilings on the potentials and the support that they span, kept from solve to solve.

    Parameters
    ----------
    problem : the problem with any eps.
    run : resources.
    keep : called with what a later run can go on from, after every round.
    pool : where to look for pairs and for c-transforms, in the place of all pairs.
    """

    def __init__(
        self,
        problem: SparseProblem,
        run: Run,
        keep: Callable[[State], None] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._cost = problem.cost
        self._run = run
        own = problem.loops  # candidates at any ceiling
        self._loops = Pairs(own, own, self._cost.diagonal()[own])
        self._keep = keep
        self._c_transform = (
            partial(c_transform, self._cost, run=run) if pool is None else pool.c_transform
        )
        self._r = np.full(self._cost.n, -np.inf)
        self._e, self._eps = np.zeros(self._cost.n), 0.0
        self._error = np.inf
        find = partial(screen, self._cost, run=run) if pool is None else pool.screen
        self._pairs: ClientPairs | BlockPairs = ClientPairs(
            self._cost.n, self._loops, find, run.threads
        )
        self._may_leave = pool is None and run.holds(self._cost)

    def make_room(self, n_neighbors: float) -> None:
        """Leave pairs on the workers if they will not fit here; raise if they fit nowhere."""
        n = self._cost.n
        n_bytes = _SPARE * n_neighbors * n / 2 * PAIR_BYTES
        what = f"about {n_neighbors:.0f} neighbors a row of {n} points"
        if n_bytes <= self._run.memory():
            return
        if not self._may_leave:
            self._run.require_memory(n_bytes, what=what, remedy=_fewer_pairs(self._cost))
            return
        available = self._run.worker_memory()
        if n_bytes > available:
            raise NotEnoughMemoryError(
                f"{what} need about {n_bytes / 1e9:.3g} GB, more than the client may take, and its "
                f"workers have {available / 1e9:.3g} GB together",
                remedy=["give the cluster more workers", *_fewer_pairs(self._cost)],
            )
        result = n_neighbors * n * GATHERED_BYTES
        if result > self._run.memory():
            what = f"a matrix of {what} on the client"
            self._run.require_memory(result, what=what, remedy=_fewer_pairs(self._cost))
        if isinstance(self._pairs, ClientPairs):
            self._leave_on_workers(self._r)

    def _leave_on_workers(
        self,
        r: FloatArray,
        report: Callable[[int, int, int], None] = lambda done, total, found: None,
    ) -> None:
        """Go on with pairs in blocks of rows on the workers; those below r are found anew."""
        LOG.info("candidate pairs do not fit on the client: they stay on the workers")
        pairs = self._pairs = BlockPairs(self._cost, self._loops, self._run)
        if np.isfinite(r).any():
            pairs.replace(pairs.kept(r, None)[1], pairs.find(r, None, report))

    def solve(self, problem: SparseProblem, guess: Guess, tol: float, budget: Budget) -> Solution:
        """Raise ceilings until no potential sticks out, or the budget is spent."""
        u, slack = guess.u, guess.slack.copy()
        if problem.floor is not None:
            known = self.multipliers(problem.regularizer.eps)
            self.begin_with(self._e if known is None else known, problem.regularizer.eps)
        strikes = np.zeros(self._cost.n)
        # Ceilings that were screened already may stay, also somewhat off what they should be.
        high_enough = self._r >= u + slack / 4
        self._move(np.where(high_enough, np.minimum(self._r, u + 1.5 * slack), u + slack))
        rounds = 0
        while True:
            rounds += 1
            dual = self._dual(problem, slack)
            if rounds == 1 and isinstance(dual, SparseDual):
                u = self._come_down(problem, dual, u, slack, budget)
            for aim in sorted({tol, *(max(tol, rough) for rough in dual.rough)}, reverse=True):
                result = dual.solve(u, aim, budget.left, self._reporter(budget))
                budget.spend(result)
                u, over = result.u, dual.over(result.u)
                self._e = self._e if dual.e is None else dual.e
                if len(over) or result.error > max(aim, CEILING_TOL):
                    break
            if self._keep is not None:
                self._keep(self._state(result.u, dual.e))
            lost = result.error > max(aim, CEILING_TOL) or not np.isfinite(result.u).all()
            if len(over) == 0 or lost or budget.left <= 0 or rounds == _MAX_ROUNDS:
                return self._solution(problem, dual, result, len(over) == 0, tol)
            u = np.minimum(result.u, self._r)
            # Those that are about to stick out rise at once, which saves a round of few rows.
            over = np.union1d(over, np.flatnonzero(u > self._r - _NEARLY_OUT * slack))
            over = over.astype(np.int32)
            near = dual.transform_over(u, over)
            del dual  # and its arrays, before there is another
            strikes[over] += 1  # who sticks out again and again rises ever faster
            slack[over] *= np.minimum(2.0 ** strikes[over], _FASTEST_RISE)
            # Rows that stick out go above their c-transforms, others come down, but not while rows
            # only come near a solution. A transform over the support that is little above the old
            # ceiling is good enough, for pairs outside have smaller scores than that; where it is
            # far above, or vast for want of pairs, all points are asked.
            v = np.fmin(near, self._r[over] + _FASTEST_RISE * slack[over])
            far = ~(near <= (self._r + slack / 2)[over])
            if far.any():
                whole = Reference.whole(problem, u, self._e)
                v[far], _ = self._c_transform(over[far], whole, v[far])
            r = np.minimum(self._r, u + slack) if result.history else self._r.copy()
            r[over] = np.maximum(v, u[over]) + slack[over]
            self._move(r)

    def _come_down(
        self,
        problem: SparseProblem,
        dual: SparseDual,
        u: FloatArray,
        slack: FloatArray,
        budget: Budget,
    ) -> FloatArray:
        """Where potentials are poor, better ones by way of larger masses on the same support.

        Newton starts well where row sums are wrong by a few times the mass, and comes down from
        there in few steps. Ghosts are no stiffer on the way: they take what does not fit into the
        support.
        """
        error = dual.error(dual.state(u))
        if not _POOR < error < np.inf:
            return u
        g = problem.regularizer
        for power in range(min(int(np.log10(error)), _MOST_POWERS), 0, -1):
            easier = problem.with_mass(float(g.entry(g.score(g.mass) * 10.0**power)))
            as_stiff = slack * easier.regularizer.mass / g.mass
            result = self._dual(easier, as_stiff).solve(
                u, ON_THE_WAY, budget.left, self._reporter(budget)
            )
            budget.spend(result)
            u = result.u
        return u

    def begin_with(self, e: FloatArray, eps: float) -> None:
        """Take multipliers of a solution at `eps` for the last ones."""
        self._e, self._eps = e, eps

    def multipliers(self, eps: float) -> FloatArray | None:
        """The last multipliers, for another eps; None if there were none."""
        return at_other_eps(self._e, self._eps, eps) if self._eps else None

    def resume(self, state: State) -> None:
        """Go on from ceilings and pairs that were found for the same points."""
        assert isinstance(self._pairs, ClientPairs)
        self._r = state.r
        self._pairs.replace(state.pairs, None)

    def _state(self, u: FloatArray, e: FloatArray | None) -> State:
        """What a later run can go on from; of pairs on the workers it finds them anew."""
        if isinstance(self._pairs, ClientPairs):
            return State(u, self._r, self._pairs.pairs, e, self._eps)
        none = np.zeros(0, np.int32)
        nothing = Pairs(none, none, np.zeros(0))
        return State(u, np.full(len(u), -np.inf), nothing, e, self._eps)

    def _dual(self, problem: SparseProblem, slack: FloatArray) -> RestrictedDual:
        """The problem restricted to the support, which is built if need be."""
        support = self._pairs.support()
        # A ghost that took all the mass of its row would let it out by a tenth of its slack.
        if problem.floor is not None:
            return SparseFloorDual(support, self._r, 10 / slack, problem, self._e, self._run)
        g, weights, itself = problem.regularizer, problem.weights, None
        if problem.copies and problem.hollow:
            itself = np.bincount(problem.loops, minlength=problem.n).astype(np.float64)
        stiffness = 10 * g.mass / slack
        return SparseDual(support, self._r, stiffness, g, self._run, weights, itself)

    def _reporter(self, budget: Budget) -> Callable[[int, float], None]:
        """Tells of the progress of Newton, whose steps are counted from those before it on."""
        before = len(budget.history)

        def report(step: int, error: float) -> None:
            self._error = error
            self._run.report(
                "newton", self._cost.n, before + step,
                marginal_error=error, n_pairs=len(self._pairs),
            )  # fmt: skip

        return report

    def _solution(
        self,
        problem: SparseProblem,
        dual: RestrictedDual,
        result: NewtonResult,
        certified: bool,
        tol: float,
    ) -> Solution:
        """Ceilings that hold are the certificate; where one does not, the violation is unknown."""
        plan = dual.plan(result.u)
        certificate = Certificate(
            marginal_error=marginal_error(plan, problem.weights),
            violation=0.0 if certified else np.inf,
            pairs_checked=problem.n_pairs if certified else 0,
            exact=certified,
        )
        certificate = dual.certify(certificate, plan)
        converged = certified and certificate.largest_error <= tol
        return Solution(problem, result.u, plan, certificate, result.history, converged, e=dual.e)

    def _move(self, r: FloatArray) -> None:
        """Go from S(old r) to S(r): screen the rows that rise, drop the pairs that fall out.

        Where nothing rises and little would fall out, the old ceilings are as good.
        """
        pairs: Any = self._pairs  # of either kind
        n = self._cost.n
        rising = np.flatnonzero(r > self._r).astype(np.int32)
        if len(rising) == 0 and pairs.count_below(r) > _WORTH_KEEPING * len(pairs):
            return
        limit = self._run.memory() / PAIR_BYTES if isinstance(pairs, ClientPairs) else np.inf
        rows = None if 2 * len(rising) > n else rising
        n_kept, kept = pairs.kept(r, rows)

        def report(done: int, total: int, found: int) -> None:
            if n_kept + found > limit:
                raise NotEnoughMemoryError(
                    f"{n_kept + found:,} candidate pairs of {n} points, found in {done} of {total} "
                    "tiles, are more than fit in memory",
                    remedy=_fewer_pairs(self._cost),
                )
            more = {"marginal_error": self._error, "n_pairs": n_kept + found}
            self._run.report("screening", n, done, total, **more)

        try:
            found = pairs.find(r, rows=rows, report=report) if len(rising) else None
            pairs.replace(kept, found)
            too_many = False
        except NotEnoughMemoryError:
            too_many = limit < np.inf and self._may_leave
            if not too_many:
                raise
        if too_many:  # these are gone by now
            del pairs, kept
            limit = np.inf
            self._leave_on_workers(r, report)
        self._r = r


def first_potentials(problem: SparseProblem, run: Run, largest: float = np.inf) -> Guess:
    """Solve ever larger random parts; each gives every point its c-transform, the last the guess.

    `largest` bounds the number of points of a part.
    """
    n, cost = problem.n, problem.cost
    mass = problem.regularizer.mass
    every: IntArray = np.arange(n, dtype=np.int32)
    if problem.copies and problem.weights is not None:
        every = np.repeat(every, problem.weights.astype(np.int64))
    order = every[np.random.default_rng(0).permutation(len(every))]
    sizes = part_sizes(len(every), _DENSE, largest)
    reference = _first_part(problem, np.sort(order[: sizes[0]]), run)

    def report(done: int, total: int) -> None:
        run.report("extending", n, done, total)

    report(0, 0)
    if len(sizes) > 1 and sizes[1] <= _ROUGH:  # a smaller one tells less of all points
        index, counts = np.unique(order[: sizes[1]], return_counts=True)
        known = replace(reference, index=np.searchsorted(index, reference.index))
        estimates = rough_c_transform(cost.take(index), known, run)
        reference, _ = _next_part(problem, index, counts, reference, estimates, run)
        sizes = sizes[1:]
    u, k, spread = rough_c_transform(cost, reference, run)
    for size in sizes[1:]:
        slack = _uncertainty(k, reference.problem.regularizer, spread)
        index, counts = np.unique(order[:size], return_counts=True)
        estimates = u[index], k[index], spread[index]
        reference, degrees = _next_part(problem, index, counts, reference, estimates, run)
        others = np.setdiff1d(np.arange(n, dtype=np.int32), index, assume_unique=True)
        near, before = (u + slack)[others], u.copy()
        u[others], k[others] = c_transform(cost, others, reference, near, run, report)
        u[index], k[index] = reference.u, degrees
        spread = np.minimum(spread, np.abs(u - before))  # the next part moves a row less
    regularizer, m = reference.problem.regularizer, reference.problem.n
    share = mass * reference.problem.total / problem.total
    raised = regularizer.mass / share  # with that much more mass than its share
    slack = _uncertainty(k, regularizer, spread)
    return Guess(u, slack, float(k.mean()) * n / m / raised, raised)


def _next_part(
    problem: SparseProblem,
    index: IntArray,
    copies: IntArray,
    last: Reference,
    estimates: tuple[FloatArray, IntArray, FloatArray],
    run: Run,
) -> tuple[Reference, IntArray]:
    """A larger part, solved, and the neighbors of its rows.

    `index` are its points, each as often as `copies` says, `last` is the part before, against which
    `estimates` of its potentials are, as `rough_c_transform` returns them.
    """
    u, k, spread = estimates
    slack = _uncertainty(k, last.problem.regularizer, spread)
    part = problem.part(index)
    if problem.copies:
        part = replace(part, weights=copies.astype(np.float64), copies=True)
    guess = Guess(u, slack, float(k.mean()) * part.total / last.problem.total)
    least = last.problem.regularizer.mass / _LESS_RAISED
    share = problem.regularizer.mass * part.total / problem.total
    part = part.with_mass(max(least, share))
    found = Ceilings(part, run).solve(part, guess, ON_THE_WAY, Budget(_PART_STEPS))
    return Reference(part, index, found.u), np.diff(found.plan.indptr)


def warm_start(
    problem: SparseProblem,
    u: FloatArray,
    run: Run,
    e: FloatArray | None = None,
    degrees: IntArray | None = None,
) -> Guess | None:
    """Potentials of another solution, judged by a few rows; None if they are worth nothing.

    Where all potentials are too high by some amount, all c-transforms are too low by the same, and
    the mean of the two is right. What is left of their difference, in units of the mean score of a
    row, is the uncertainty. `degrees` are the neighbors of each row, if they are known.
    """
    g = problem.regularizer
    rows = np.linspace(0, problem.n - 1, min(_WARM_ROWS, problem.n)).astype(np.int32)
    near = u[rows] + g.score(g.mass)
    v, n_neighbors = c_transform(problem.cost, rows, Reference.whole(problem, u, e), near, run)
    shift = float(np.median(v - u[rows])) / 2
    more = np.ones(problem.n)
    if e is not None:  # scores grow with what the row adds to eps, or else a typical partner
        more += e / g.mass
        more = np.maximum(more, np.exp(np.log(more).mean()))  # which outliers hardly change
    k = n_neighbors.mean() if degrees is None else degrees
    scale = g.score(g.mass / np.maximum(k, 1.0)) * more
    off = np.abs(v - u[rows] - 2 * shift) / scale[rows]
    uncertainty = float(np.median(off))
    if not uncertainty + abs(shift) / np.median(scale) <= 4:  # also where these are not numbers
        return None
    return Guess(u + shift, (uncertainty + 0.5) * scale, float(n_neighbors.mean()))


def floor_start(problem: SparseProblem, solution: Solution) -> Guess:
    """From the solution without a floor, at this eps or another: its potentials are near enough."""
    degrees, mass = np.diff(solution.plan.indptr), solution.problem.regularizer.mass
    slack = mass / np.maximum(degrees, 1) / (_SAME_EPS if mass == problem.regularizer.mass else 1)
    return Guess(solution.u, slack, float(degrees.mean()))


def part_sizes(n: int, enough: int, largest: float = np.inf) -> list[int]:
    """A quarter of n points, a quarter of that, and so on down to `enough`, ascending.

    Examples
    --------
    >>> part_sizes(100_000, 4000), part_sizes(100_000, 4000, 10_000), part_sizes(9, 4000)
    ([1563, 6250, 25000], [1563, 6250], [3])
    """
    sizes = [max(2, -(-n // _RATIO))]
    while sizes[0] > enough:
        sizes.insert(0, -(-sizes[0] // _RATIO))
    return [size for size in sizes if size <= max(largest, sizes[0])]


def _first_part(problem: SparseProblem, index: IntArray, run: Run) -> Reference:
    """The smallest part, solved; its mass is raised until its rows have a few neighbors.

    Where Newton does not get there (rows of very different scales), the way is down from a mass
    that is easy.
    """
    part = problem.part(index)
    part = part.with_mass(problem.regularizer.mass * part.total / problem.total)
    C = part.dense_cost()
    u = part.cost.shift.copy()
    for _ in range(100):
        dual = DenseDual(C, part.regularizer, run, part.weights)
        found = newton(dual, u, ON_THE_WAY, _PART_STEPS)
        if found.error > ON_THE_WAY:
            return _down_to_few(part, C, index, run)
        u = found.u
        if _enough(dual, u):
            break
        part = part.with_mass(2 * part.regularizer.mass)
    return Reference(part, index, u)


def _down_to_few(part: SparseProblem, C: FloatArray, index: IntArray, run: Run) -> Reference:
    """From an easy mass down to that of the part, or until rows would have too few neighbors."""
    regularizer = part.regularizer
    least = float(regularizer.score(regularizer.mass))
    u, reference = part.cost.shift.copy(), None
    for score in np.geomspace(max(1.0, least), least, 2 + int(np.log2(max(1.0, 1 / least)))):
        part = part.with_mass(float(regularizer.entry(score)))
        dual = DenseDual(C, part.regularizer, run, part.weights)
        u = newton(dual, u, ON_THE_WAY, _PART_STEPS).u
        if reference is not None and not _enough(dual, u):
            break
        reference = Reference(part, index, u)
    assert reference is not None
    return reference


def _enough(dual: DenseDual, u: FloatArray) -> bool:
    """Whether rows have a few neighbors on average, and most of them more than one."""
    degrees, n = np.diff(dual.scores(u).indptr), len(u)
    return bool(
        degrees.mean() >= min(_PART_NEIGHBORS, n / 2)
        and np.quantile(degrees, _MOST_ROWS) >= min(2, n - 1)
    )


def _uncertainty(k: IntArray, regularizer: PowerRegularizer, spread: FloatArray) -> FloatArray:
    """How far off c-transforms over k neighbors may be.

    The sampling error is of the order of the mean score divided by the root of their number. Where
    they are few, as for far points, it is that of the nearest scores themselves, however large
    these are beside eps.
    """
    few, k = k <= FEW, np.maximum(k, 1)
    slack: FloatArray = regularizer.score(regularizer.mass / k) * np.minimum(1, 2 / np.sqrt(k))
    return np.where(few, np.maximum(slack, spread), slack)


def _fewer_pairs(cost: Cost) -> list[str]:
    """What makes candidate pairs fewer; equal points are neighbors of each other at any eps."""
    equal = cost.duplicates()
    return [FEWER_NEIGHBORS, *([f"drop some points first: {equal}"] if equal else [])]


def log_estimate(problem: SparseProblem, search: str, passes: float, run: Run) -> None:
    """Log an estimate before what may be a long run: bounds may rule out much of it."""
    if problem.cost.points is None or problem.n <= 30_000:
        return
    seconds = passes * seconds_of_a_pass(problem.cost, run)
    if seconds > _LONG:
        LOG.info(
            "%s search of %d points: about %.0f s for one solve, or less",
            search, problem.n, seconds,
        )  # fmt: skip
