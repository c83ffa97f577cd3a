"""The problems of one data set along eps, and the eps that meets a wish.

Each solve starts from the potentials of those before it. Going down in eps, the active set screens
hardly anything again: the ceilings of the larger problem still hold for most rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from sparrot._types import FloatArray, IntArray
from sparrot.affinity._result import Affinity, perplexity
from sparrot.errors import InvalidInputError, NotConvergedError
from sparrot.ot import Solution

_LOOSE = 1e-4  # marginal error while eps is not yet known
PERPLEXITY_PRECISION = 0.003  # of the logarithm of the mean perplexity: well within 1 %
_PILOT_PRECISION = 0.03  # of the same for a part of the points
_SMALLEST_PART = 4000  # points of the smallest part, at most
_ABOVE = 0.05  # by which to begin too large, in log eps
_CONNECTED = 1.02  # ratio between the smallest connected eps found and a disconnected one
_RANGE = (1e-9, 1e7)  # of relative eps, the first for a typical cost
_STRIDE = 3.0  # longest step of a search, in log eps
_END_OF_PLATEAUS = np.log(1e5)  # relative eps beyond this factor: flat there is flat for good
_SMALLEST_CONNECTED = 1e-6  # relative eps below which nobody needs to look
_MOST = 60  # solves in one search
_AT_THE_FLOOR = 1e3  # times the rounding of row sums: no further down from there


class Problem(Protocol):
    """A regularized problem on fixed data, for any relative eps."""

    n: int
    largest_part: int  # of its points that it is worth solving first
    most_neighbors: int

    def part(self, index: IntArray) -> Problem:
        """The same problem on some of the points."""

    def typical_eps(self) -> float:
        """A relative eps to begin a search with, whatever outliers do to the mean cost."""

    def remarks(self) -> str:
        """What may keep a search from its aim: outliers by their rows, duplicates; "" if none."""

    def solve(self, eps: float, start: FloatArray | None, tol: float | None) -> Solution:
        """Solve for one eps; None stands for a cold start and for the tolerance asked for."""

    def affinity(self, solution: Solution, eps: float) -> Affinity:
        """In the units of the data."""


class Along:
    """Solves a problem for one eps after the other, each from a prediction.

    Parameters
    ----------
    problem : what to solve.
    start : potential for the first solve, in units of the mean cost.
    """

    def __init__(self, problem: Problem, start: FloatArray | None = None) -> None:
        self.problem = problem
        self.n_solves = 0
        self._start = start
        self._known: list[tuple[float, FloatArray]] = []

    def at(self, eps: float, tol: float | None = None) -> Affinity:
        """The affinity at one relative eps; raises `NotConvergedError` with it if need be."""
        solution = self.problem.solve(eps, self._predicted(np.log(eps)), tol)
        self.n_solves += 1
        affinity = replace(self.problem.affinity(solution, eps), n_solves=self.n_solves)
        if not solution.converged:
            raise NotConvergedError(_complaint(affinity), affinity)
        self._known = [*self._known[-2:], (float(np.log(eps)), solution.u)]
        return affinity

    def _predicted(self, log_eps: float) -> FloatArray | None:
        """Potentials on the parabola (or line) through the last solutions, over log eps."""
        if not self._known:
            return self._start
        nodes = [x for x, _ in self._known]
        spread = max(nodes) - min(nodes)
        if spread == 0 or abs(log_eps - nodes[-1]) > spread or len(set(nodes)) < len(nodes):
            return self._known[-1][1]  # too far to extrapolate
        weights = [np.prod([(log_eps - y) / (x - y) for y in nodes if y != x]) for x in nodes]
        return np.asarray(sum(w * u for w, (_, u) in zip(weights, self._known, strict=True)))

    def perplexity(self, target: float) -> Affinity:
        """The affinity whose mean perplexity is the target, to 1 %."""
        most = self.problem.most_neighbors
        if not 1 < target < most:
            raise InvalidInputError(
                f"perplexity must be more than 1 and less than {most} (as many neighbors as there "
                f"can be), got {target:g}"
            )

        log_eps, slope = _pilot(self.problem, target)
        try:
            log_eps, _ = self._search(target, log_eps, slope, PERPLEXITY_PRECISION)
            return self.at(float(np.exp(log_eps)))
        except InvalidInputError as error:
            raise InvalidInputError(f"{error}{self._remarks()}") from error
        except NotConvergedError as error:
            said = f"on the way to a mean perplexity of {target:g}: {error}{self._remarks()}"
            raise NotConvergedError(said, error.result) from error

    def _remarks(self) -> str:
        remarks = self.problem.remarks()
        return f". Note that {remarks}: drop these first" if remarks else ""

    def _search(
        self, target: float, start: float, slope: float, precision: float
    ) -> tuple[float, float]:
        """The logarithm of the eps with that perplexity, and the slope of its logarithm there."""

        def excess(log_eps: float) -> float:
            matrix = self.at(float(np.exp(log_eps)), _LOOSE).matrix
            return float(np.log(perplexity(matrix).mean() / target))

        center = float(np.log(self.problem.typical_eps()))
        what = f"a mean perplexity of {target:g}"
        return find_root(excess, start, slope, precision, what, center)

    def connected(self) -> Affinity:
        """An eps for which the graph is connected, but no longer 2 % below it.

        Where connectedness is not monotone in eps there may be other such values.
        """
        low, high = 0.0, np.inf
        eps = self.problem.typical_eps()
        for _ in range(_MOST):
            if self.at(eps, _LOOSE).components == 1:
                high = eps
            else:
                low = eps
            if high <= _CONNECTED * low:
                break
            if high == np.inf:
                eps = 4 * low
            elif low == 0:
                eps = high / 4
            else:
                eps = float(np.sqrt(low * high))
            if eps < _SMALLEST_CONNECTED:
                break  # connected however small: so are two or three points
            if eps > _RANGE[1]:
                raise InvalidInputError(
                    f"the graph is not connected at any eps up to {_RANGE[1]:g} times the mean "
                    "cost; some points are too far from the others, drop them"
                )
        for _ in range(_MOST):
            affinity = self.at(high)
            if affinity.components == 1:
                break
            high *= _CONNECTED  # the loose solves were connected by less than their error
        return affinity


def _pilot(problem: Problem, target: float) -> tuple[float, float]:
    r"""A logarithm of eps to begin with, and the slope of log perplexity there.

    At a fixed number of neighbors :math:`\varepsilon \propto N^{-2/d}` on a manifold of dimension
    d. So the eps of random parts of the points, each four times larger than the last, leads to the
    eps of all of them, at a small part of the price. What comes out is a little too large on
    purpose: from above, the pairs that were found serve to the end.
    """
    log_eps, slope, known = float(np.log(problem.typical_eps())), 0.7, []
    order = np.random.default_rng(0).permutation(problem.n)
    for size in _part_sizes(problem):
        along = Along(problem.part(np.sort(order[:size])))
        if not 1 < target < along.problem.most_neighbors:
            continue
        try:
            log_eps, slope = along._search(target, log_eps, slope, _PILOT_PRECISION)
        except (InvalidInputError, NotConvergedError):  # all points may well have what few have not
            continue
        known.append((float(np.log(size)), log_eps))
        log_eps = _extrapolated(known, float(np.log(4 * size)))
    if not known:
        return log_eps, slope
    return _extrapolated(known, float(np.log(problem.n))) + _ABOVE, slope


def _part_sizes(problem: Problem) -> list[int]:
    """Quarters of quarters of the points, ascending, as far as they are worth solving."""
    size, sizes = problem.n, list[int]()
    while size > _SMALLEST_PART:
        size //= 4
        sizes.insert(0, size)
    return [size for size in sizes if size <= problem.largest_part]


def _extrapolated(known: list[tuple[float, float]], log_n: float) -> float:
    """On the line through the last two (log n, log eps), no steeper than in one dimension."""
    (x, y), slope = known[-1], 0.0
    if len(known) > 1:
        slope = float(np.clip((y - known[-2][1]) / (x - known[-2][0]), -2.0, 0.0))
    return y + slope * (log_n - x)


def find_root(
    excess: Callable[[float], float],
    x: float,
    slope: float,
    precision: float,
    what: str,
    center: float = 0.0,
) -> tuple[float, float]:
    """Find x with `|excess(x)| <= precision` for an increasing function; also its slope there.

    Secant steps, no longer than a factor of twenty in eps; once the root is bracketed they must
    stay inside the bracket, and where they do not it is halved. A function that is flat for a while
    (clusters that are each complete, and not yet linked) is crossed at full stride, unless eps is
    already extreme. `center` <= 0 is the logarithm of a typical cost: from there on eps is small.
    """
    low, high = float(np.log(_RANGE[0])) + center, float(np.log(_RANGE[1]))
    bracket = [-np.inf, np.inf]
    before: tuple[float, float] | None = None
    y = np.inf
    for _ in range(_MOST):
        y = excess(x)
        if abs(y) <= precision:
            return x, slope
        bracket[int(y > 0)] = x
        flat = before is not None and abs(x - before[0]) > 1 and abs(y - before[1]) < precision
        if flat and not center - _END_OF_PLATEAUS <= x <= _END_OF_PLATEAUS:
            break  # this is as near as it gets
        if before is not None and (y - before[1]) * (x - before[0]) > 0:
            slope = float(np.clip((y - before[1]) / (x - before[0]), 0.05, 5.0))
        before = x, y
        following = float(np.clip(x + np.clip(-y / slope, -_STRIDE, _STRIDE), low, high))
        if np.isfinite(bracket).all() and not bracket[0] < following < bracket[1]:
            following = sum(bracket) / 2
        if following == x:
            break
        x = following
    raise InvalidInputError(
        f"nothing between {np.exp(low):.1g} and {_RANGE[1]:g} times the mean cost gives {what}: "
        f"the nearest was off by a factor {np.exp(abs(y)):.2f}; ask for a value that is attained"
    )


def _height(affinity: Affinity) -> float:
    """The largest potential, in units of eps."""
    assert affinity.potential is not None
    return float(np.abs(affinity.potential).max() / affinity.eps)


def _complaint(affinity: Affinity) -> str:
    assert affinity.certificate is not None
    error, violation = affinity.certificate.marginal_error, affinity.certificate.violation
    what = f"the marginal error is {error:.2e}"
    if violation == np.inf:
        what += " and pairs outside the support could not be ruled out"
    remedy = "raise max_iter or tol, or give an approximate search more neighbors"
    if affinity.certificate.exact or affinity.solver != "active-set":
        remedy = "raise max_iter or tol"
    height = _height(affinity)
    floor = 4 * np.finfo(np.float64).eps * height  # rounding of u_i + u_j - C_ij, over eps
    if error < _AT_THE_FLOOR * floor:
        remedy = (
            f"rounding alone makes {floor:.0e} of it (potentials are as large as {height:.0e} "
            "eps): drop far points, or raise tol"
        )
    if affinity.metric != "kernel":
        remedy += f", or take a larger eps (it is {affinity.relative_eps:.3g} x the mean cost)"
    return (
        f"{what} after {affinity.n_iter} steps of solver={affinity.solver!r}; {remedy}. "
        "The best iterate is in `.result` of this error"
    )
