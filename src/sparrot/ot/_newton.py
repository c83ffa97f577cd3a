r"""Semismooth Newton on the dual (the paper's Algorithm 1).

Each step solves :math:`(D + A + \delta I) \Delta u = -F` by conjugate gradients, preconditioned by
the diagonal and only as precisely as the step deserves, and is then made longer or shorter by a
line search. Where components of the support are all but bipartite, D + A is all but singular, and
steps are far too long: after such a step :math:`\delta` grows, after a good one it falls again, and
where the answer itself is that far, so that nothing is gained by short steps, it is small again.

A row in which no score is positive has no Hessian. It is lifted half way to its c-transform, the v
with :math:`\sum_j g([v + u_j - C_{ij}]_+) = m`. This never increases Phi: in the problem with two
potentials, of which ours is the diagonal, the c-transform is the exact minimum over the second
potential, and Phi of the mean is at most the mean of the two mirrored values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparrot._types import FloatArray, IntArray

MAX_STEPS = 2000  # of a solver, where nothing else is asked for
ROUNDED = 1 - 1e-6  # of the tolerance: the sums of the finished plan are rounded once more
EASY = 0.1  # relative eps above which Newton starts well from anywhere
NO_DIGITS = 2.0**-60  # eps over the costs that matter below which no entry has a digit
ON_THE_WAY = 1e-2  # marginal error of easier problems that lead to the one that is asked for
LEAST_DELTA, _MOST_DELTA = 1e-6, 1e-2  # added to the diagonal, as a share of its mean
_TOO_LONG = 1 / 8  # steps that were cut to less make delta larger,
_DELTA_UP, _DELTA_DOWN = 1e3, 0.1  # by such factors,
_SHORT_STEPS = 10  # for so many steps without progress
ARMIJO = 1e-4
SHORTEST, _LONGEST = 2.0**-30, 2.0**30
_MAX_CG = 2000
_BETTER, _PATIENCE = 0.9, 100  # the error must fall to that share within so many steps,
_HOPELESS = 5  # or so many where rounding alone makes as large an error


@dataclass(frozen=True, slots=True)
class DualState:
    """The dual at one potential.

    Attributes
    ----------
    value : Phi(u).
    gradient : F(u).
    diagonal : D.
    adjacency : the map `x -> A x`; valid until the dual is evaluated elsewhere.
    """

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    adjacency: Callable[[FloatArray], FloatArray]


class Dual(Protocol):
    """What Newton's method asks of a dual problem."""

    @property
    def mass(self) -> float:
        """What the marginal error is relative to."""

    def state(self, u: FloatArray) -> DualState:
        """Value, gradient and Hessian at u."""

    def c_transform(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """For some rows, the v that solves `sum_j g([v + u_j - C_ij]_+) = mass`."""


@dataclass(frozen=True, slots=True)
class NewtonResult:
    """The best iterate, its marginal error, and the errors on the way."""

    u: FloatArray
    error: float
    history: tuple[float, ...]


@np.errstate(over="ignore", invalid="ignore")  # what overflows is no better
def newton(
    dual: Dual,
    u: FloatArray,
    tol: float,
    max_iter: int,
    report: Callable[[int, float], None] = lambda step, error: None,
) -> NewtonResult:
    """Minimize the dual from u until `max_i |F_i| <= tol m`, or `max_iter` steps are done.

    `report(steps done, marginal error)` is called before each step, and may raise.
    """
    state = dual.state(u)
    best, least = u, np.inf
    history: list[float] = []
    delta = LEAST_DELTA
    progressed = 0  # the step at which the error was last better by a good part
    while True:
        error = _error(dual, state)
        if error < _BETTER * least:
            progressed = len(history)
        if error < least:
            best, least = u, error
        report(len(history), error)
        patience = _HOPELESS if least < rounding(dual, u, state) else _PATIENCE
        if error <= tol or len(history) >= max_iter or len(history) > progressed + patience:
            break
        if not np.isfinite(error):  # nothing leads back from there
            break
        history.append(error)
        lonely = np.flatnonzero(state.diagonal == 0)
        if len(lonely):
            u = u.copy()
            u[lonely] += (dual.c_transform(u, lonely) - u[lonely]) / 2
            state = dual.state(u)
            continue
        if len(history) > progressed + _SHORT_STEPS:
            delta = LEAST_DELTA
        step = _direction(state, error, delta)
        found = _line_search(dual, u, state, step)
        if found is None:  # rounding: no step of any length improves
            break
        u, state, length = found
        delta = adapted(delta, length)
    return NewtonResult(best, least, tuple(history))


def _error(dual: Dual, state: DualState) -> float:
    return float(np.abs(state.gradient).max()) / dual.mass


def rounding(dual: Dual, u: FloatArray, state: DualState) -> float:
    """The marginal error that the rounding of the potentials alone can make."""
    return float(np.finfo(np.float64).eps * np.abs(state.diagonal * u).max() / dual.mass)


def adapted(delta: float, length: float, most: float = _MOST_DELTA) -> float:
    """The next delta, after a step that was taken at some part of its length."""
    if length < _TOO_LONG:
        return min(delta * _DELTA_UP, most)
    return max(delta * _DELTA_DOWN, LEAST_DELTA) if length >= 1 else delta


def _direction(state: DualState, error: float, delta: float) -> FloatArray:
    """Conjugate gradients on the Newton system; the smaller the error, the more precisely."""
    forcing = min(0.1, 0.3 * error**0.5)
    diagonal = state.diagonal + delta * float(state.diagonal.mean())
    x = np.zeros_like(diagonal)
    r = -state.gradient
    z = r / diagonal
    p = z.copy()
    rz = float(r @ z)
    target = forcing**2 * rz
    for _ in range(_MAX_CG):
        if not rz > target:  # also where it underflows
            break
        Hp = diagonal * p + state.adjacency(p)
        alpha = rz / float(p @ Hp)
        x += alpha * p
        r -= alpha * Hp
        z = r / diagonal
        rz, previous = float(r @ z), rz
        p = z + (rz / previous) * p
    return x


def _line_search(
    dual: Dual, u: FloatArray, state: DualState, step: FloatArray
) -> tuple[FloatArray, DualState, float] | None:
    """Find a length t for which Phi falls enough along the step.

    Phi is convex, so as long as its slope at t is not positive it has only fallen up to there:
    such a step is good, and is doubled while most of the slope is left. A step that went past the
    minimum is halved until Armijo's rule holds or, where Phi is flat to its last digit, until the
    slope is half of what it was.
    """
    slope = float(state.gradient @ step)
    rounding = 1e-14 * (abs(state.value) + dual.mass * float(np.abs(u).sum()))
    t = 1.0
    while t >= SHORTEST:
        there = u + t * step
        trial = dual.state(there)
        slope_there = float(trial.gradient @ step)
        if slope_there <= 0:
            while slope_there < slope / 2 and t < _LONGEST:
                further = u + 2 * t * step
                longer = dual.state(further)
                slope_there = float(longer.gradient @ step)
                if slope_there > 0:
                    return there, dual.state(there), t
                there, trial, t = further, longer, 2 * t
            return there, trial, t
        gain = state.value - trial.value
        if gain >= max(-ARMIJO * t * slope, rounding):
            return there, trial, t
        if abs(gain) <= rounding and slope_there <= -slope / 2:
            return there, trial, t
        t /= 2
    return None
