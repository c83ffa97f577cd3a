r"""Semismooth Newton on the dual (the paper's Algorithm 1).

Each step solves :math:`(D + A + \delta I) \Delta u = -F` by conjugate gradients, preconditioned by
the diagonal and only as precisely as the step deserves, and is then made longer or shorter by a
line search. Where components of the support are all but bipartite, D + A is all but singular, and
steps are far too long: after such a step :math:`\delta` grows, after a good one it falls again, and
after ten steps without progress it is reset, for the solution may really be far.

A row in which no score is positive has no Hessian. It is lifted half way to its c-transform, the v
with :math:`\sum_j g([v + u_j - C_{ij}]_+) = m`. This never increases Phi: in the problem with two
potentials, of which ours is the diagonal, the c-transform is the exact minimum over the second
potential, and Phi of the mean is at most the mean of the two mirrored values.

All duals go this way: of QOT and its family, over all pairs or a support, with a floor on rows
(`sparrot.ot._floor`), of entropic transport, of two measures. Each is a `Dual`, which says what its
error is, how its Newton system is solved, and how far a step may go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from sparrot._types import FloatArray, IntArray

MAX_STEPS = 2000  # of a solver, where nothing else is asked for
ROUNDED = 1 - 1e-6  # of the tolerance: the sums of the finished plan are rounded once more
EASY = 0.1  # relative eps above which Newton starts well from anywhere
NO_DIGITS = 2.0**-60  # eps over the costs that matter below which no entry has a digit
ON_THE_WAY = 1e-2  # marginal error of easier problems that lead to the one that is asked for
LEAST_DELTA = 1e-6  # added to the diagonal, as a share of its mean
_TOO_LONG = 1 / 8  # a step was too long if the line search cut it to less than this
_DELTA_UP, _DELTA_DOWN = 10.0, 0.1  # factors on delta after such a step, and after others
_SHORT_STEPS = 10  # steps without progress after which delta is small again
_ARMIJO = 1e-4
_GOOD_GAIN = 0.25  # share of the gain at the first slope: a parabola ends with half
_FLAT = 0.7  # share of the slope of Phi that may be left at the end of a step
_SHORTEST, _LONGEST = 2.0**-30, 2.0**30
_MAX_CG = 2000
_BETTER, _PATIENCE = 0.9, 100  # share to which the error must fall, and steps that it may take
_HOPELESS = 5  # steps that it may take where rounding alone makes as large an error


@dataclass(frozen=True, slots=True)
class DualState:
    """The dual at one potential.

    Attributes
    ----------
    value : Phi(u).
    gradient : F(u).
    diagonal : D.
    hessian : the map `x -> (D + A) x`; valid until the dual is evaluated elsewhere.
    """

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    hessian: Callable[[FloatArray], FloatArray]


S = TypeVar("S", bound=DualState)


class Dual(ABC, Generic[S]):
    """What Newton's method asks of a dual problem in u.

    There is one column of u for each point: u may have more rows than that of the potentials.

    Attributes
    ----------
    mass : what the marginal error is relative to.
    weight : the weight of each point: gradient and diagonal are in proportion to it, and so is what
        is added to the diagonal.
    most_delta : the largest delta, as a share of the diagonal.
    many_steps : after so many steps, each time, there may be a better place to go on from.
    """

    mass: float
    weight: FloatArray | float = 1.0
    most_delta = 1e-2
    many_steps: float = np.inf

    @abstractmethod
    def state(self, u: FloatArray) -> S:
        """Value, gradient and Hessian at u."""

    @abstractmethod
    def c_transform(self, u: FloatArray, rows: IntArray) -> FloatArray:
        """For some points, the columns that solve their own equations, all others held."""

    def error(self, state: S) -> float:
        """By how much the worst point is off."""
        return float(np.abs(state.gradient / self.weight).max()) / self.mass

    def rounding(self, u: FloatArray, state: S) -> float:
        """The error that the rounding of `u_i + u_j - C_ij` alone can make."""
        off = np.abs(state.diagonal * u / self.weight).max()
        return float(4 * np.finfo(np.float64).eps * off / self.mass)

    def first_delta(self, state: S) -> float:
        """The delta to begin with."""
        return LEAST_DELTA

    def direction(self, u: FloatArray, state: S, delta: float) -> FloatArray:
        """The Newton step, or another that leads downhill."""
        extra = delta * float((state.diagonal / self.weight).mean()) * self.weight
        diagonal = state.diagonal + extra
        return conjugate_gradients(
            state.hessian, extra, lambda r: r / diagonal, -state.gradient, self.error(state)
        )

    def restarted(
        self, u: FloatArray, tol: float, report: Callable[[float], None]
    ) -> FloatArray | None:
        """Where to go on from after many steps, or many without progress, if anywhere.

        `report(error)` is called on the way there.
        """
        return None

    def longest(self, u: FloatArray, step: FloatArray) -> float:
        """How many times a step, at least once, may be taken at all."""
        return np.inf


@dataclass(frozen=True, slots=True)
class NewtonResult:
    """The best iterate, its marginal error (NaN if none was computed), and those on the way."""

    u: FloatArray
    error: float
    history: tuple[float, ...]


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows is no better
def newton(
    dual: Dual[S],
    u: FloatArray,
    tol: float,
    max_iter: int,
    report: Callable[[int, float], None] = lambda step, error: None,
) -> NewtonResult:
    """Minimize the dual from u until its error is at most `tol`, or `max_iter` steps are done.

    `report(steps done, error)` is called before each step, and may raise.
    """
    state = dual.state(u)
    best, least = u, np.inf
    history: list[float] = []
    delta, stuck = dual.first_delta(state), False
    progressed, good = 0, np.full(2, np.inf)  # the last step that was better by a good part
    restarted = np.inf  # the least error at the last restart from there: it would go the same way
    late = dual.many_steps  # when to look for a better place to go on from
    while True:
        error = dual.error(state)
        errors = np.array([error, np.abs(state.gradient).sum()])  # of the worst point, and of all
        if (errors < _BETTER * good).any():
            progressed, good = len(history), np.where(errors < _BETTER * good, errors, good)
        if error < least:
            best, least = u, error
        report(len(history), error)
        if error <= tol or len(history) >= max_iter or not np.isfinite(error):
            break
        hopeless = stuck or len(history) > progressed + _patience(dual, u, state, least)
        if hopeless or len(history) >= late:
            again = None
            if not hopeless or least < _BETTER * restarted:
                here = best if hopeless else u
                again = dual.restarted(here, tol, partial(report, len(history)))
            if again is None and hopeless:
                break
            late = len(history) + dual.many_steps
            if again is not None:
                there = dual.state(again)
                if hopeless:
                    restarted, delta, stuck = least, dual.first_delta(there), False
                if hopeless or _is_better(dual, u, state, there) or dual.error(there) < least:
                    u, state, progressed = again, there, len(history)
                    continue
            state = dual.state(u)  # whose Hessian is that of the last evaluation
        history.append(error)
        lonely = np.flatnonzero(state.diagonal == 0)
        if len(lonely):
            u = half_way(u, lonely, dual.c_transform(u, lonely))
            state = dual.state(u)
            continue
        if len(history) > progressed + _SHORT_STEPS:
            delta = dual.first_delta(state)
        step = dual.direction(u, state, delta)
        found = _line_search(dual, u, state, step, _BETTER * least)
        if found is None:  # rounding, or far off: no step of any length improves
            stuck = True
            continue
        u, state, length = found
        if length < _TOO_LONG:
            delta = min(delta * _DELTA_UP, dual.most_delta)
        elif length >= 1:
            delta = max(delta * _DELTA_DOWN, LEAST_DELTA)
    return NewtonResult(best, least, tuple(history))


def _patience(dual: Dual[S], u: FloatArray, state: S, least: float) -> int:
    return _HOPELESS if least < dual.rounding(u, state) else _PATIENCE


def half_way(u: FloatArray, rows: IntArray, v: FloatArray) -> FloatArray:
    """Some points half way to their c-transforms v."""
    u = u.copy()
    u[..., rows] = (u[..., rows] + v) / 2
    return u


def conjugate_gradients(
    hessian: Callable[[FloatArray], FloatArray],
    extra: FloatArray | float,
    precondition: Callable[[FloatArray], FloatArray],
    r: FloatArray,
    error: float,
) -> FloatArray:
    """Solve `(H + extra) x = r`, the more precisely the smaller the error is already.

    What the preconditioner makes zero stays zero. After so many turns it is what it is.
    """
    x = np.zeros_like(r)
    z = precondition(r)
    p = z.copy()
    rz = float(np.vdot(r, z))
    target = min(0.1, 0.3 * error**0.5) ** 2 * rz
    for _ in range(_MAX_CG):
        if not rz > target:  # also where it underflows
            break
        Hp = hessian(p) + extra * p
        alpha = rz / float(np.vdot(p, Hp))
        x += alpha * p
        r = r - alpha * Hp
        z = precondition(r)
        rz, previous = float(np.vdot(r, z)), rz
        p = z + (rz / previous) * p
    return x


def _is_better(dual: Dual[S], u: FloatArray, state: S, there: S) -> bool:
    """Whether Phi is lower than at u, clearly or with a smaller error."""
    gain = state.value - there.value
    return gain > _rounding(dual, u, state) or (gain > 0 and dual.error(there) < dual.error(state))


def _rounding(dual: Dual[S], u: FloatArray, state: S) -> float:
    """Of Phi: two values that differ by less are equal."""
    size = dual.mass * float((dual.weight * np.abs(u)).sum())
    return 1e-14 * (abs(state.value) + size)


def _line_search(
    dual: Dual[S], u: FloatArray, state: S, step: FloatArray, good: float
) -> tuple[FloatArray, S, float] | None:
    """Find a length t for which Phi falls enough along the step and most of its slope is gone.

    A whole step whose error is less than `good` needs no search. Otherwise lengths are doubled and
    bisected: Phi is convex, so as long as its slope at t is not positive it has only fallen up to
    there. Past the minimum Armijo's rule must hold, unless Phi is flat to its last digit; where it
    has fallen well, the slope does not matter.
    """
    slope = float(np.vdot(state.gradient, step))
    rounding = _rounding(dual, u, state)
    longest = min(dual.longest(u, step), _LONGEST)
    low, high, t = 0.0, np.inf, 1.0
    while high - low >= _SHORTEST:
        there = u + t * step
        trial = dual.state(there)
        if t == 1 and dual.error(trial) < good:
            return there, trial, t
        slope_there = float(np.vdot(trial.gradient, step))
        flat = abs(slope_there) <= _FLAT * -slope
        if slope_there <= 0:
            low = t
            if flat or (high == np.inf and 2 * t > longest):
                return there, trial, t
        else:
            high = t
            gain = state.value - trial.value
            if gain >= -_GOOD_GAIN * t * slope:
                return there, trial, t
            if flat and (abs(gain) <= rounding or gain >= -_ARMIJO * t * slope):
                return there, trial, t
        t = 2 * low if high == np.inf else (low + high) / 2
    if low == 0:
        return None
    there = u + low * step  # where the slope jumps: Phi has fallen up to there
    return there, dual.state(there), low
