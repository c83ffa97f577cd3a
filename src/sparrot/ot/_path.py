"""The problems of one data set along eps, and which eps gives the neighbors that were asked for.

Each solve starts from the potentials of those before it. Going down in eps, the active set screens
hardly anything again: the ceilings of the larger problem still hold for most rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sparrot._types import FloatArray, IntArray
from sparrot.cost import Cost
from sparrot.engine import Run
from sparrot.errors import InvalidInputError, NotConvergedError, NotEnoughMemoryError, counted
from sparrot.ot._active_set import FEWER_NEIGHBORS, LARGEST_PART, part_sizes
from sparrot.ot._newton import MAX_STEPS, NO_DIGITS
from sparrot.ot._problem import (
    AnyProblem,
    Options,
    Solution,
    SparseProblem,
    is_connected,
    perplexities,
)
from sparrot.ot._solve import dense_instead, make_method

PERPLEXITY = 30.0  # where nothing else is said, but for QOT itself
MIN_NEIGHBORS = 5.0  # of every row, wherever a floor is chosen for the user
_SHARE_OF_MEAN = 0.5  # such a floor is at most this share of the mean number of neighbors
_FEWEST_FOR_PERPLEXITY = 10  # with fewer there may be no eps for a given perplexity
PERPLEXITY_PRECISION = 0.003  # of the logarithm of the mean perplexity: well within 1 %
_PERPLEXITY_ERROR = 0.01  # of the mean perplexity of a result, at most
_ROUGH_TOL = 1e-4  # marginal error of solves while eps is not yet known
_ENTROPIC_ROUGH_TOL = 1e-2  # the same where a small error changes no row by much
_FLOOR_TOL = 1e-2  # error of solves on the way to one with a floor on every row
_BY_EPS_ALONE = 0.005  # share of a perplexity that is due to eps where floors make the rest
_TIES = 1e-9  # relative difference below which costs count as equal
_TYPICAL_ROWS, _ROWS_AT_ONCE = 64, 4  # rows from which the eps of a typical row is found
_SHARE_OF_ROWS = 0.05  # with `n_neighbors`, eps as a share of that of a typical row,
_SHARE_OF_PAIRS = 0.5  # for two neighbors, where rows are all but singular,
_SHARE_ON_THE_WAY = 0.3  # and on the way to such small eps,
_FAR_BELOW_ROWS = 0.5  # where it is lowered if a typical row of the solution has that share of it,
_MOST_ON_THE_WAY = 6  # so often at most,
_FALLING = 0.9  # and while rows have that share of the neighbors that they had before
_PILOT_PRECISION = 0.03  # of the logarithm of the mean perplexity of a part of the points
_SMALLEST_PART = 4000  # points of the smallest part, at most; fewer points need no pilot
_PART_RATIO = 4  # an entropic pilot has n / 4 points
_SHARE_OF_NEIGHBORS = 0.5  # and aims at this share of the neighbors
_FEWEST_OF_PART = 5.0  # but at no fewer than these
_FEWEST_WITH_PARTS = 1000  # points up to which there is no such pilot
_MIXED = 0.35  # deviation of perplexities beside their mean where rows are of several kinds
_ABOVE = 0.05  # added to the log eps of a pilot, so that the first solve is above the target
_MOST_OF_MEDIAN = 3.0  # times the median cost: a larger mean is due to outliers
_CONNECTED = 1.02  # ratio between the smallest connected eps found and a disconnected one
_RANGE = (1e-9, 1e7)  # of relative eps, the first for a typical cost
_LEAST_SHARE = 1e-12  # below that the costs of typical points drown in the rounding of the others
_NEAREST_OF, _NEAREST_AMONG = 16, 512  # points whose nearest cost says how small eps may get
_TINY = 1e-12  # relative eps that deserves a look at the nearest costs
_VAST = 1e100  # relative eps whose square, summed over pairs, is far from overflow
_FLATTEST, _STEEPEST = 0.05, 5.0  # slopes of a search; one that is known may be steeper
_STRIDE = 3.0  # longest step of a search, in log eps,
_ENTROPIC_STRIDE = 1.4  # and where too small an eps is much harder than a larger one
_END_OF_PLATEAUS = np.log(1e5)  # relative eps beyond this factor: flat there is flat for good
_SMALLEST_CONNECTED = 1e-6  # relative eps below which no disconnected graph is looked for
_MAX_SOLVES = 60  # in one search
_FITS_DENSE = 10_000  # points whose n x n matrix fits into most memories
_NEAR_ROUNDING = 1e3  # times the rounding of row sums: errors below that cannot fall further


@dataclass(frozen=True, slots=True)
class Scale:
    """What the user wants: a relative eps, a mean perplexity, a number of effective neighbors of
    every row, or (nothing of these) the smallest connected eps.

    A robust eps is relative to the median cost where the mean is more than three times as large,
    which is the work of outliers.
    """

    eps: float | None = None
    perplexity: float | None = None
    n_neighbors: float | None = None
    robust: bool = False

    @classmethod
    def default(cls, n: int) -> Self:
        """A perplexity of 30; of few points half the number of the others, of very few eps is 1.

        Examples
        --------
        >>> Scale.default(1000).perplexity, Scale.default(41).perplexity, Scale.default(5).eps
        (30.0, 20.0, 1.0)
        """
        return (
            cls(perplexity=min(PERPLEXITY, (n - 1) / 2))
            if n >= _FEWEST_FOR_PERPLEXITY
            else cls(eps=1.0)
        )

    def relative_eps(self, cost: Cost) -> float | None:
        """The eps that was asked for, relative to the mean cost; None if it is to be found.

        Examples
        --------
        >>> from sparrot.cost import make_cost
        >>> X = np.linspace(0, 1, 199)[:, None]
        >>> far = np.concatenate([X, [[1e3]]])
        >>> Scale(eps=1.0, robust=True).relative_eps(make_cost(X, "sqeuclidean"))
        1.0
        >>> round(Scale(eps=1.0, robust=True).relative_eps(make_cost(far, "sqeuclidean")), 6)
        9e-06
        """
        if self.eps is None or not self.robust:
            return self.eps
        median = cost.median()
        return self.eps * median if _MOST_OF_MEDIAN * median < 1 else self.eps

    def floor(self, n: int) -> float | None:
        """The floor on the effective neighbors of every row of n points that goes with this scale.

        It is 5, or half of what rows have on average, or half of the other points, where that is
        less. None for a number of neighbors of every row, which is a floor itself, and for the
        smallest connected eps, since a floor may connect the graph at any eps.

        Examples
        --------
        >>> Scale(eps=1.0).floor(1000), Scale(perplexity=8).floor(1000), Scale(eps=1.0).floor(7)
        (5.0, 4.0, 3.0)
        >>> Scale(n_neighbors=15).floor(1000), Scale().floor(1000), Scale(eps=1.0).floor(3)
        (None, None, None)
        """
        if self.eps is None and self.perplexity is None:
            return None
        typical = n - 1 if self.perplexity is None else min(self.perplexity, n - 1)
        floor = min(MIN_NEIGHBORS, _SHARE_OF_MEAN * typical)
        return floor if floor > 1 else None


@dataclass(frozen=True, slots=True)
class Start:
    """Where to start, in units of the mean cost: a potential and, of a solution with a floor at
    `eps`, its multipliers.
    """

    u: FloatArray
    e: FloatArray | None = None
    eps: float = 0.0


@contextmanager
def _too_many_for_memory(remedy: str) -> Iterator[None]:
    """Let an error that neighbors are too many advise on what the user asked for."""
    try:
        yield
    except NotEnoughMemoryError as error:
        remedies = [remedy if other == FEWER_NEIGHBORS else other for other in error.remedies]
        raise NotEnoughMemoryError(error.problem, remedy=remedies) from error


class EpsilonPath:
    """Solves a problem for one eps after the other, each from a prediction.

    Parameters
    ----------
    problem : the problem with any eps.
    options : how to solve.
    run : resources.
    start : where the first solve starts.

    Examples
    --------
    >>> from sparrot.cost import make_cost
    >>> from sparrot.ot import Problem, QuadraticRegularizer
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> with Run() as run:
    ...     problem = Problem(make_cost(X, "sqeuclidean"), QuadraticRegularizer())
    ...     solution = EpsilonPath(problem, Options(), run).at(1.0)
    >>> solution.converged, solution.certificate.exact, solution.method
    (True, True, 'newton')
    """

    def __init__(
        self, problem: AnyProblem, options: Options, run: Run, start: Start | None = None
    ) -> None:
        self._problem = problem
        self._options = options
        self._run = run
        self._start = None if start is None else start.u
        self._method = make_method(problem, options, run)
        self._has_multipliers, self._typical = False, np.inf
        if start is not None and start.e is not None:
            self._has_multipliers = self._method.take_multipliers(start.e, start.eps)
            self._typical = start.eps + float(np.median(start.e))
        self._known: list[tuple[float, FloatArray]] = []
        self._tangent: FloatArray | None = None  # of the last solve, to u over log eps
        self._plan: Any = None  # of the last solve
        self.n_solves = 0

    def at(
        self,
        eps: float,
        tol: float | None = None,
        with_floor: bool = True,
        with_plan: bool = True,
        eps_is_given: bool = True,
        or_dense: bool = True,
    ) -> Solution:
        """The solution at one relative eps, and perhaps without the floor of the problem.

        One that is needed only on the way may lack its plan, and one that is no more than a start
        does without the dense method where an active set gives up. Raises `NotConvergedError` with
        the best iterate if need be, which advises a larger eps if the user may choose it.
        """
        if eps < _TINY and eps < NO_DIGITS * self._near_eps():
            raise InvalidInputError(
                f"is {eps:.3g} x the mean cost, and drowns in the rounding of the nearest costs",
                parameter="eps",
                value=eps,
                remedy=["take a larger one", "give {perplexity=30} instead"],
            )
        if eps > _VAST:
            raise InvalidInputError(
                f"is {eps:.3g} x the mean cost, and its square overflows",
                parameter="eps",
                value=eps,
                remedy="take {eps=1e16}, beside which no cost makes a difference",
            )
        start = self._predicted(np.log(eps))
        tol = self._options.tol if tol is None else tol
        if with_plan:
            solution = self._method.solve(eps, start, tol, with_floor)
        else:
            solution = self._method.rough(eps, start, tol)
        if or_dense and not solution.converged:
            dense = dense_instead(self._method, self._problem, self._options, self._run)
            if dense is not None:
                self._method = dense
                solution = dense.solve(eps, None, tol, with_floor)
        self.n_solves += 1
        if not solution.converged:
            raise _not_converged(solution, self._options, tol, eps_is_given)
        self._known = [*self._known[-2:], (float(np.log(eps)), solution.u)]
        self._tangent = None
        self._plan = solution.plan
        return solution

    def _predicted(self, log_eps: float) -> FloatArray | None:
        """Potentials on the parabola (or line) through the last solutions, over log eps."""
        if not self._known:
            return self._start
        if self._tangent is not None:
            x, u = self._known[-1]
            return u + (log_eps - x) * self._tangent
        nodes = [x for x, _ in self._known]
        spread = max(nodes) - min(nodes)
        if spread == 0 or abs(log_eps - nodes[-1]) > spread or len(set(nodes)) < len(nodes):
            return self._known[-1][1]  # too far to extrapolate
        weights = [np.prod([(log_eps - y) / (x - y) for y in nodes if y != x]) for x in nodes]
        return np.asarray(sum(w * u for w, (_, u) in zip(weights, self._known, strict=True)))

    @_too_many_for_memory("take a smaller {perplexity}")
    def with_perplexity(self, target: float) -> Solution:
        """The solution whose mean perplexity is the target, to 1 %."""
        most = self._most_neighbors()
        if not 1 < target < most:
            raise InvalidInputError(
                f"must be more than 1 and less than {most} (as many neighbors as there can be), "
                f"got {target:g}",
                parameter="perplexity",
                value=target,
                remedy=f"take {{perplexity={min(PERPLEXITY, most / 2):g}}}" if most > 2 else (),
            )
        self._refuse_equal_points(target)
        floor = self._problem.floor
        if floor is not None and target <= floor.mean():
            raise InvalidInputError(
                f"must be more than the mean floor of {floor.mean():g} neighbors, got {target:g}",
                parameter="perplexity",
                value=target,
                remedy=["raise it", "lower {min_neighbors}", "take {n_neighbors} alone"],
            )
        try:
            return self._found(target, *self._pilot(target))
        except OutOfReachError as error:
            attained = f"{target * np.exp(error.nearest):.3g}"
            others = [f"take {{perplexity={attained}}}"] if 1 < float(attained) < most else []
            raise InvalidInputError(
                error.problem, parameter="perplexity", value=target,
                remedy=[*self._outliers_to_drop(), *self._clusters_to_part(), *others],
            ) from error  # fmt: skip
        except NotConvergedError as error:
            raise NotConvergedError(
                f"on the way to a mean perplexity of {target:g}: {error.problem}",
                error.result,
                remedy=[
                    *error.remedies,
                    *self._outliers_to_drop(),
                    "take a larger {perplexity}",
                ],
            ) from error

    def _refuse_equal_points(self, target: float) -> None:
        """Raise if points are equal, and so many of them that no eps gives rows so few neighbors.

        By symmetry m equal points have the same affinity to each other, of which there are m - 1
        in a row, and each other point has the same affinity to all m. No row sums to more than one:
        so a row of them has no entry of more than `1 / (m - 1)`, and a perplexity of m - 1 at least
        (m if points may have affinity to themselves).
        """
        problem, cost = self._problem, self._problem.cost
        floor = problem.floor
        symmetric = problem.weights is None and (floor is None or np.ptp(floor) == 0)
        whole = (
            self._options.search == "exact" and getattr(problem.regularizer, "drop", None) is None
        )
        first = cost.first_equal() if symmetric and whole else None
        if first is None:
            return
        m, n = np.bincount(first), problem.n
        least = float(m @ np.maximum(m - problem.hollow, 1)) / n
        if target < (1 - _PERPLEXITY_ERROR) * least:
            raise InvalidInputError(
                f"is out of reach: equal points have the same neighbors, and up to {m.max():,} of "
                f"{n:,} points are equal, which makes a mean perplexity of {least:.4g} or more at "
                f"any eps, got {target:g}",
                parameter="perplexity",
                value=target,
                remedy=["drop duplicates", "ask for more neighbors than that"],
            )

    def _found(self, target: float, log_eps: float, slope: float) -> Solution:
        """The solution with that perplexity, from a logarithm of eps to begin with.

        Solves that are rough are enough to find its eps, almost always; a result is never rougher.
        """
        precise = min(self._options.tol, _ROUGH_TOL)
        for tol in (self._rough_tol, precise):
            log_eps, slope = self._reach(target, log_eps, slope, PERPLEXITY_PRECISION, tol)
            solution = self.at(float(np.exp(log_eps)), precise, eps_is_given=False)
            found = float(self._method.perplexities(solution).mean())
            if abs(found / target - 1) <= _PERPLEXITY_ERROR:
                return solution
        raise NotConvergedError(
            f"it is {found:.4g} of rows whose sums are right to {precise:.0e}",
            solution,
            remedy="lower {tol}",
        )

    @_too_many_for_memory("take a smaller {n_neighbors}")
    def with_neighbors(self, k: float) -> Solution:
        """The solution in which every row has k effective neighbors, and hardly any has more.

        The problem has a floor of k on every row. Its eps is a small share of the eps at which a
        typical row by itself would have k neighbors: so small that it hardly gives any row more
        than its floor, and large enough for the problem to be well conditioned. The way leads over
        larger eps, and first over the problem without a floor.
        """
        eps = self._eps_of_rows(k)
        share = float(np.interp(k, [2, 3], [_SHARE_OF_PAIRS, _SHARE_OF_ROWS]))
        if not self._has_multipliers:
            with suppress(NotConvergedError):  # a start is good, but no more than that
                self._start = self.at(eps, _FLOOR_TOL, with_floor=False, or_dense=False).u
            self._known = []  # says nothing of problems with a floor
        if share < _SHARE_ON_THE_WAY and not (
            self._has_multipliers and self._typical > _FAR_BELOW_ROWS * eps
        ):
            eps = self._on_the_way(eps)
        try:
            return self.at(share * eps, eps_is_given=False)
        except NotConvergedError as error:
            raise NotConvergedError(
                error.problem,
                error.result,
                remedy=[
                    *error.remedies,
                    "take a larger {n_neighbors}",
                    "take {perplexity} with {min_neighbors}",
                ],
            ) from error

    def _on_the_way(self, eps: float) -> float:
        """Solve at a larger eps first; the eps of a typical row, as far as that says it is another.

        Numbers that are added to all costs of a point change the eps of rows by themselves, and
        nothing else. So where rows of the solution have a far smaller one, theirs counts; unless
        they have more neighbors than their floor however small it is, as equal points do.
        """
        lower, fewest = eps, np.inf
        with suppress(NotConvergedError):
            for _ in range(_MOST_ON_THE_WAY):
                way = self.at(_SHARE_ON_THE_WAY * lower, _FLOOR_TOL, or_dense=False)
                more = float(np.median(way.e)) if way.e is not None else 0.0
                typical = _SHARE_ON_THE_WAY * lower + more
                if typical > _FAR_BELOW_ROWS * lower:
                    return lower
                neighbors = float(np.median(self._method.perplexities(way)))
                if neighbors > _FALLING * fewest:
                    break
                lower, fewest = typical, neighbors
        return eps

    def _eps_of_rows(self, k: float) -> float:
        """The median, over some rows, of the eps at which the row alone has k neighbors."""
        n, cost = self._problem.n, self._problem.cost
        every = np.arange(n, dtype=np.int32)
        rows = np.linspace(0, n - 1, min(_TYPICAL_ROWS, n)).astype(np.int32)
        found = []
        for some in np.split(rows, range(_ROWS_AT_ONCE, len(rows), _ROWS_AT_ONCE)):
            C = cost.pairs(np.repeat(some, n), np.tile(every, len(some))).reshape(-1, n)
            others = every != some[:, None] if self._problem.hollow else np.full(C.shape, True)
            found += [_eps_of_row(c[other], k) for c, other in zip(C, others, strict=True)]
        typical = float(np.median(found))
        return typical if 0 < typical < np.inf else self._typical_eps()

    @_too_many_for_memory("give {perplexity=30} with {min_neighbors=5} instead")
    def connected(self) -> Solution:
        """The solution at an eps for which the graph is connected, but no longer 2 % below it.

        Where connectedness is not monotone in eps there may be other such values. A floor may keep
        the graph connected at any eps: then eps is small beside what the floors of most rows add.
        So may points of which all but one are equal: then it is no smaller than rounding allows.
        """
        low, high = 0.0, np.inf
        eps = self._typical_eps()
        for _ in range(_MAX_SOLVES):
            rough = self.at(eps, _ROUGH_TOL)
            if is_connected(rough.plan):
                high = eps
            else:
                low = eps
            if high <= _CONNECTED * low or (high == eps and _floors_rule(rough)):
                break
            if high == np.inf:
                eps = 4 * low
            elif low > 0:
                eps = float(np.sqrt(low * high))
            else:  # connected however small, perhaps: so are two or three points
                least = max(_SMALLEST_CONNECTED, self._least_eps(rough))
                if high / 4 < least:
                    high = max(high, least)
                    break
                eps = high / 4
            _require_in_range(eps)
        return self._connected_from(high)

    def _least_eps(self, solution: Solution) -> float:
        """The eps below which the rounding of potentials such as these is an error of `tol`."""
        if solution.e is not None:
            return 0.0  # floors add to eps where potentials are large
        degrees = np.diff(csr_array(solution.plan).indptr)
        rounding = 4 * np.finfo(np.float64).eps * float((degrees * np.abs(solution.u)).max())
        return rounding / self._options.tol

    def _connected_from(self, high: float) -> Solution:
        """The same from an eps at which rough solves are connected, if only by their error."""
        solution, low, factor = self.at(high), 0.0, _CONNECTED
        while not is_connected(solution.plan):
            low, high, factor = high, high * factor, factor * factor
            _require_in_range(high)
            solution = self.at(high)
        while low and high > _CONNECTED * low * (1 + 1e-9):
            middle = float(np.sqrt(low * high))
            between = self.at(middle)
            if is_connected(between.plan):
                high, solution = middle, between
            else:
                low = middle
        return solution

    @property
    def _rough_tol(self) -> float:
        return _ENTROPIC_ROUGH_TOL if self._problem.regularizer.q == 1 else _ROUGH_TOL

    def _most_neighbors(self) -> int:
        return self._problem.n - self._problem.hollow

    def _typical_eps(self) -> float:
        """The median share of the mean cost, relative to the mean share: 1 but for outliers."""
        typical = self._problem.n * np.median(self._problem.cost.shares())
        return float(np.clip(typical, _LEAST_SHARE, 1.0))

    def _near_eps(self) -> float:
        """The median cost of a point and its nearest that differs, of a sample of points."""
        cost = self._problem.cost
        rows, columns = _spread(cost.n, _NEAREST_OF), _spread(cost.n, _NEAREST_AMONG)
        i, j = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        C = np.where(i == j, 0.0, cost.pairs(i, j)).reshape(len(rows), -1)
        nearest = np.where(C > 0, C, np.inf).min(axis=1)
        nearest = nearest[np.isfinite(nearest)]
        return float(np.median(nearest)) if len(nearest) else 1.0

    def _outliers_to_drop(self) -> list[str]:
        """Outliers and duplicates, which may put a perplexity out of reach, as remedies."""
        cost = self._problem.cost
        found = filter(None, (cost.outliers(), cost.duplicates()))
        return [f"drop some points first: {what}" for what in found]

    def _clusters_to_part(self) -> list[str]:
        """Far clusters, between and within which no eps serves, as a remedy."""
        if self._plan is None or self._plan.shape[0] < self._problem.n:
            return []  # or it is of distinct points, in the place of all
        labels = connected_components(csr_array(self._plan), directed=False)[1]
        sizes = np.sort(np.bincount(labels))[::-1]
        if len(sizes) < 2:
            return []
        return [
            f"build the affinity of each cluster by itself: the points are in {len(sizes)} clusters"
            f" of {sizes[-1]} to {sizes[0]} points, so far apart that no eps serves between and "
            "within them"
        ]

    def _reach(
        self, target: float, start: float, slope: float, precision: float, tol: float | None = None
    ) -> tuple[float, float]:
        """The logarithm of the eps with that perplexity, and the slope of its logarithm there."""
        center = float(np.log(min(self._typical_eps(), self._near_eps())))
        stride = _ENTROPIC_STRIDE if self._problem.regularizer.q == 1 else _STRIDE
        what = f"a mean perplexity of {target:g}"
        root = Secant(start, slope, precision, what, center, stride)
        while not root.found:
            try:
                rough = self.at(
                    float(np.exp(root.x)), tol or self._rough_tol,
                    with_plan=False, eps_is_given=False, or_dense=not root.at_bottom,
                )  # fmt: skip
            except NotConvergedError:
                if root.at_bottom:
                    raise root.out_of_reach(root.x) from None
                raise
            found = float(self._method.perplexities(rough).mean())
            if found > (1 + _BY_EPS_ALONE) * target and _floors_rule(rough):
                raise self._floors_exceed(found, target)
            off = float(np.log(found / target))
            tangent = self._method.tangent(rough) if abs(off) > precision else None
            if tangent is None:
                root.tell(off)
            else:
                self._tangent, slope = tangent
                root.tell(off, slope)
        return root.x, root.slope

    def _floors_exceed(self, found: float, target: float) -> InvalidInputError:
        """The error of a perplexity that floors exceed at any eps."""
        assert self._problem.floor is not None
        least, enough = float(self._problem.floor.mean()), int(np.ceil((1 + _ABOVE) * found))
        rows = [f"take {{n_neighbors={least:g}}} alone"] if np.ptp(self._problem.floor) == 0 else []
        return InvalidInputError(
            f"cannot be had: the floor of {least:.3g} effective neighbors already gives a mean "
            f"perplexity of {found:.3g}, got {target:g}",
            parameter="perplexity",
            value=target,
            remedy=[*rows, "lower {min_neighbors}", f"take {{perplexity={enough}}} or more"],
        )

    def _pilot(self, target: float) -> tuple[float, float]:
        r"""A logarithm of eps to begin with, and the slope of log perplexity there.

        At a fixed number of neighbors :math:`\varepsilon \propto N^{-2/d}` on a manifold of
        dimension d. So the eps of random parts of the points, each four times larger than the last,
        leads to the eps of all of them, at a small part of the price; where noise or density make
        rows of several kinds, it does so by the neighbors that they lack. What comes out is a
        little too large on purpose: from above, the pairs that were found serve to the end.
        """
        n = self._problem.n
        slope, known = 0.7, []
        if self._problem.regularizer.q == 1:
            return self._entropic_pilot(target, float(np.log(self._typical_eps())), slope)
        order = np.random.default_rng(0).permutation(n)
        exact = replace(self._options, search="exact", neighbors=None, checkpoint=None)
        largest = np.inf if self._options.search == "exact" else LARGEST_PART
        sizes = part_sizes(n, _SMALLEST_PART, largest) if n > _SMALLEST_PART else []
        few = self._problem.part(np.sort(order[: sizes[0]])) if sizes else self._problem
        log_eps = float(np.log(EpsilonPath(few, exact, self._run)._eps_of_rows(target)))
        for size in sizes:
            part = self._problem.part(np.sort(order[:size]))
            path = EpsilonPath(part, exact, self._run)
            if not 1 < target < path._most_neighbors():
                continue
            try:
                log_eps, slope = path._reach(target, log_eps, slope, _PILOT_PRECISION)
            except (InvalidInputError, NotConvergedError):
                continue  # all points may well have what few have not
            known.append((float(np.log(size)), log_eps))
            log_eps = _extrapolated(known, float(np.log(4 * size)))
            found = perplexities(path._plan)
            mixed = found.std() > _MIXED * found.mean()  # which bends the line through the eps
            if mixed and target >= _PART_RATIO * _FEWEST_OF_PART:
                with suppress(InvalidInputError, NotConvergedError):
                    log_eps = path._of_more_points(known[-1][1], log_eps, slope)
        if not known:
            return log_eps, slope
        if 4 * sizes[-1] < n:
            log_eps = _extrapolated(known, float(np.log(n)))
        return log_eps + _ABOVE, slope

    def _of_more_points(self, log_eps: float, guess: float, slope: float) -> float:
        """The logarithm of the eps of four times as many points, from these alone.

        These points with a quarter of the mass have about the same potentials as all, and about a
        quarter of the neighbors of each row; a quarter of these points tells how nearly so. And
        less mass is the same as less eps.
        """
        problem = cast("SparseProblem", self._problem)
        g, n = problem.regularizer, problem.n
        less = float(np.log(g.score(g.mass / _PART_RATIO) / g.score(g.mass)))
        index = np.sort(np.random.default_rng(0).permutation(n)[: n // _PART_RATIO])
        quarter = EpsilonPath(problem.part(index), self._options, self._run)
        rough = quarter.at(float(np.exp(log_eps + less)), _ROUGH_TOL)
        fewer = float(quarter._method.perplexities(rough).mean())
        return self._reach(fewer, guess + less, slope, _PILOT_PRECISION)[0] - less

    def _entropic_pilot(self, target: float, log_eps: float, slope: float) -> tuple[float, float]:
        """The same for entropic plans, of which a part has fewer neighbors at the same eps.

        All points start from the potentials of the part.
        """
        n = self._problem.n
        index = np.sort(np.random.default_rng(0).permutation(n)[: n // _PART_RATIO])
        fewer = max(target * _SHARE_OF_NEIGHBORS, min(target, _FEWEST_OF_PART))
        if n <= _FEWEST_WITH_PARTS or not fewer < len(index) / 2:
            return log_eps, slope
        part = EpsilonPath(self._problem.part(index), self._options, self._run)
        try:
            log_eps, slope = part._reach(fewer, *part._pilot(fewer), _PILOT_PRECISION)
            if self._start is None:
                u = part._known[-1][1]
                self._start = self._method.extended(index, u, float(np.exp(log_eps)))
        except (InvalidInputError, NotConvergedError):
            pass  # all points may well have what few have not
        return log_eps, slope


def _eps_of_row(c: FloatArray, k: float) -> float:
    r"""The largest eps at which :math:`w_j = [v - c_j]_+ / \varepsilon` has k neighbors.

    Its sum is one, and their effective number is :math:`1/|w|^2`. If the nearest alone, at one and
    the same cost, are more than k, the largest at which no others join them; infinite if there are
    no others. A k of all or nearly all counts as nine tenths of them.

    Examples
    --------
    >>> round(_eps_of_row(np.array([0.0, 1.0, 5.0]), 1.8), 5)  # w = 2/3, 1/3
    3.0
    >>> _eps_of_row(np.array([0.0, 0.0, 0.0, 1.0]), 2), _eps_of_row(np.ones(4), 2)
    (3.0, inf)
    """
    k = min(k, 0.9 * len(c)) * (1 + _TIES)
    nearest = float(c.min())
    c = np.sort(c) - nearest
    m, sums, squares = np.arange(1, len(c) + 1), np.cumsum(c), np.cumsum(c * c)
    equal = int(np.count_nonzero(c <= _TIES * nearest))
    if equal == len(c):
        return float(np.inf)
    if equal >= k:
        return float(equal * c[equal])

    def effective(v: FloatArray, m: IntArray) -> FloatArray:
        """The effective neighbors among the m nearest."""
        second = m * v * v - 2 * v * sums[m - 1] + squares[m - 1]
        return np.divide((m * v - sums[m - 1]) ** 2, second, out=np.ones(len(m)), where=second > 0)

    reached = effective(c[1:], m[:-1]) >= k  # where the next neighbor comes in
    own = int(np.argmax(reached)) + 1 if reached.any() else len(c)
    low, high = c[own - 1], c[own] if reached.any() else c[-1] * len(c) * 10
    for _ in range(60):
        middle = (low + high) / 2
        enough = effective(np.array([middle]), np.array([own]))[0] >= k
        low, high = (low, middle) if enough else (middle, high)
    return float(own * high - sums[own - 1])


def _spread(n: int, most: int) -> IntArray:
    """Evenly spaced indices of n points, at most `most` of them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _require_in_range(eps: float) -> None:
    if eps > _RANGE[1]:
        raise InvalidInputError(
            f"the graph is not connected at any eps up to {_RANGE[1]:g} times the mean cost; some "
            "points are too far from the others",
            remedy="drop them",
        )


def _floors_rule(solution: Solution) -> bool:
    """Whether eps hardly matters beside the floors, as in `EpsilonPath.with_neighbors`."""
    e, eps = solution.e, solution.problem.regularizer.eps
    return e is not None and bool(np.median(e) >= eps / _SHARE_OF_ROWS)


def _extrapolated(known: list[tuple[float, float]], log_n: float) -> float:
    """On the line through the last two (log n, log eps), no steeper than in one dimension."""
    (x, y), slope = known[-1], 0.0
    if len(known) > 1:
        slope = float(np.clip((y - known[-2][1]) / (x - known[-2][0]), -2.0, 0.0))
    return y + slope * (log_n - x)


class OutOfReachError(InvalidInputError):
    """No eps gives what was asked for; the nearest value was off by `nearest` in its logarithm."""

    nearest: float = np.inf


class Secant:
    """Secant steps to the root of an increasing function; `x` is where to evaluate it next.

    Steps are no longer than a stride; once the root is bracketed they must stay
    inside the bracket, and where they do not it is halved. A function that is flat for a while
    (clusters that are each complete, and not yet linked) is crossed at full stride, unless eps is
    already extreme. `at_bottom` says whether the last step down found it so: equal points keep all
    their neighbors however small eps is, and no solver can follow it for ever.

    Parameters
    ----------
    x, slope : where to begin, and about how steep the function is there.
    precision : of its value at the root.
    what : what the root gives, for the error if there is none.
    center : logarithm of a typical cost (at most 0); the search goes down to 1e-9 times that cost.
    stride : the longest step.
    parameter : what was asked for, for the error.

    Examples
    --------
    >>> root = Secant(0.0, 1.0, 1e-3, "nothing")
    >>> while not root.found:
    ...     root.tell(root.x**3 + root.x - 2)
    >>> abs(root.x - 1) <= 1e-3
    True
    """

    def __init__(
        self,
        x: float,
        slope: float,
        precision: float,
        what: str,
        center: float = 0.0,
        stride: float = _STRIDE,
        *,
        parameter: str = "perplexity",
    ) -> None:
        self.x, self.slope = x, slope
        self.found = self.at_bottom = False
        self._nearest = np.inf  # the value of least size so far
        self._precision = precision
        self._what, self._parameter = what, parameter
        self._center, self._stride = center, stride
        self._low, self._high = float(np.log(_RANGE[0])) + center, float(np.log(_RANGE[1]))
        self._bracket = [-np.inf, np.inf]
        self._before: tuple[float, float] | None = None
        self._steps = 0

    def tell(self, y: float, slope: float | None = None) -> None:
        """Take the value at `x`, and the slope if it is known; go on unless it is the root.

        Raises `OutOfReachError` if there is nowhere to go.
        """
        self._steps += 1
        self._nearest = min(y, self._nearest, key=abs)
        self.found = abs(y) <= self._precision
        if self.found:
            return
        x = self.x
        self._bracket[int(y > 0)] = x
        if self._before is not None:
            dx, dy = x - self._before[0], y - self._before[1]
            is_extreme = not self._center - _END_OF_PLATEAUS <= x <= _END_OF_PLATEAUS
            is_flat = abs(dx) > 1 and abs(dy) < self._precision
            self.at_bottom = is_flat and y > 0 and x < self._center
            if is_extreme and is_flat:
                raise self.out_of_reach(self._low)
            if dx * dy > 0 and slope is None:
                slope = min(dy / dx, _STEEPEST)
        if slope is not None:
            self.slope = max(slope, _FLATTEST)
        self._before = x, y
        step = np.clip(-y / self.slope, -self._stride, self._stride)
        self.x = float(np.clip(x + step, self._low, self._high))
        if np.isfinite(self._bracket).all() and not self._bracket[0] < self.x < self._bracket[1]:
            self.x = sum(self._bracket) / 2
        if self.x == x or self._steps == _MAX_SOLVES:
            raise self.out_of_reach(self._low)

    def out_of_reach(self, low: float) -> OutOfReachError:
        """The error of a value that nothing above `low` gives."""
        factor = np.exp(abs(self._nearest))
        error = OutOfReachError(
            f"is out of reach: nothing between {np.exp(low):.1g} and {_RANGE[1]:g} times the "
            f"mean cost gives {self._what}; the nearest was off by a factor {factor:.2f}",
            parameter=self._parameter,
            remedy="ask for a value that is attained",
        )
        error.nearest = self._nearest
        return error


def _not_converged(
    solution: Solution, options: Options, tol: float, eps_is_given: bool
) -> NotConvergedError:
    """What is wrong with the best iterate at this tolerance, and what applies to it."""
    error, violation = solution.certificate.largest_error, solution.certificate.violation
    regularizer = solution.problem.regularizer
    what = (
        "marginal error" if solution.e is None else "largest error of a row, in its sum or floor,"
    )
    problem = (
        f"the {what} is {error:.2e} after {counted(len(solution.history), 'step')} of the solver "
        f"{solution.method!r}"
    )
    if violation == np.inf:
        problem += ", and pairs outside the support could not be ruled out"
    height = float(np.abs(solution.u - regularizer.shift).max() / regularizer.eps)
    rounding = 4 * np.finfo(np.float64).eps * height  # of u_i + u_j - C_ij, over eps
    limits = ["{tol}"] if tol == options.tol else []
    if rounding > tol or error < _NEAR_ROUNDING * rounding:
        problem += (
            f"; rounding alone makes {rounding:.0e} of it, for u is as large as {height:.0e} eps"
        )
        enough = tol / (_NEAR_ROUNDING * rounding)
        remedy = [
            "drop far points"
            if solution.problem.cost.is_relative
            else f"multiply {{K}} by {enough:.0e}, or less"
        ]
    else:
        remedy = []
        if len(solution.history) >= (options.max_iter or MAX_STEPS):
            limits.insert(0, "{max_iter}")
        if solution.method == "active-set" and solution.problem.n <= _FITS_DENSE:
            remedy.append("take {solver='newton'}")
        if solution.method == "approximate-active-set":
            remedy.append("give an approximate search more {neighbors}")
    if limits:
        remedy.append(f"raise {' or '.join(limits)}")
    if eps_is_given and solution.problem.cost.is_relative:
        remedy.append(f"take a larger {{eps}} (it is {regularizer.eps:.3g} x the mean cost)")
    return NotConvergedError(problem, solution, remedy=remedy)
