"""The problems of one data set along eps, and the eps that meets a wish.

Each solve starts from the potentials of those before it. Going down in eps, the active set needs no
screening at all: the ceilings of the larger problem still hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from sparrot.affinity.perplexity import perplexity
from sparrot.affinity.result import Affinity
from sparrot.errors import InvalidInputError, NotConvergedError
from sparrot.transport import Solution
from sparrot.types import FloatArray

_LOOSE = 1e-4  # marginal error while eps is not yet known
_PERPLEXITY = 0.003  # of the logarithm of the mean perplexity: well within 1 %
_CONNECTED = 1.02  # ratio between the smallest connected eps found and a disconnected one
_RANGE = (1e-7, 1e7)  # of relative eps
_MOST = 60  # solves in one search


class Problem(Protocol):
    """A regularised problem on fixed data, for any relative eps."""

    n: int

    def typical_eps(self) -> float:
        """A relative eps to begin a search with, whatever outliers do to the mean cost."""

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
        self._known = [*self._known[-1:], (float(np.log(eps)), solution.u)]
        return affinity

    def _predicted(self, log_eps: float) -> FloatArray | None:
        """Potentials on the line through the last two solutions, over log eps."""
        if not self._known:
            return self._start
        x, u = self._known[-1]
        if len(self._known) < 2 or self._known[0][0] == x:
            return u
        x0, u0 = self._known[0]
        return u + (u - u0) * float(np.clip((log_eps - x) / (x - x0), -1.5, 1.5))

    def perplexity(self, target: float) -> Affinity:
        """The affinity whose mean perplexity is the target, to 1 %."""
        if not 1 < target < self.problem.n - 1:
            raise InvalidInputError(
                f"perplexity must be between 1 and {self.problem.n - 1} (the number of other "
                f"points), got {target:g}"
            )

        start = float(np.log(self.problem.typical_eps()))

        def excess(log_eps: float) -> float:
            matrix = self.at(float(np.exp(log_eps)), _LOOSE).matrix
            return float(np.log(perplexity(matrix).mean() / target))

        log_eps = find_root(excess, start, slope=0.7, precision=_PERPLEXITY, what="perplexity")
        return self.at(float(np.exp(log_eps)))

    def connected(self) -> Affinity:
        """The affinity of the smallest eps, to 2 %, for which the graph is connected."""
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
            if not _RANGE[0] < eps < _RANGE[1]:
                raise InvalidInputError(
                    f"no eps between {_RANGE[0]:g} and {_RANGE[1]:g} is the smallest for which the "
                    "graph is connected; points that are equal, or far too far, make it so"
                )
        return self.at(high)


def find_root(
    excess: Callable[[float], float], x: float, slope: float, precision: float, what: str
) -> float:
    """Find x with `|excess(x)| <= precision` for an increasing function of log eps.

    Secant steps that must stay inside the bracket found so far, bisection where they do not.
    """
    low, high = np.log(_RANGE[0]), np.log(_RANGE[1])
    inside_low, inside_high = False, False
    previous: tuple[float, float] | None = None
    for _ in range(_MOST):
        y = excess(x)
        if abs(y) <= precision:
            return x
        if y < 0:
            low, inside_low = x, True
        else:
            high, inside_high = x, True
        if previous is not None and x != previous[0]:
            secant = (y - previous[1]) / (x - previous[0])
            slope = float(np.clip(secant, 0.05, 5.0)) if secant > 0 else slope
        previous = x, y
        x = x - y / slope
        if not low < x < high:
            if not (inside_low and inside_high) and not low < x < high:
                break
            x = (low + high) / 2
    raise InvalidInputError(
        f"no eps between {_RANGE[0]:g} and {_RANGE[1]:g} times the mean cost gives that {what}: "
        f"the nearest was off by a factor {np.exp(abs(y)):.2f}; ask for a value that is attained"
    )


def _complaint(affinity: Affinity) -> str:
    assert affinity.certificate is not None
    error, violation = affinity.certificate.marginal_error, affinity.certificate.violation
    what = f"the marginal error is {error:.2e}"
    if violation == np.inf:
        what += " and pairs outside the support could not be ruled out"
    remedy = "raise max_iter or tol"
    if affinity.kind != "projection":
        remedy += f", or take a larger eps (it is {affinity.relative_eps:.3g} x the mean cost)"
    return (
        f"{what} after {affinity.n_iter} steps of solver={affinity.solver!r}; {remedy}. "
        "The best iterate is in `.result` of this error"
    )
