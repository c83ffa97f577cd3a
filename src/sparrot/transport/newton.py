r"""Semismooth Newton on the dual (the paper's Algorithm 1).

Each step solves :math:`(D + A + \delta I) \Delta u = -F` by conjugate gradients, preconditioned by
the diagonal and only as precisely as the step deserves, and goes as far as Armijo's rule allows.

A row in which no score is positive has no Hessian. It is lifted half way to its level, the v with
:math:`\sum_j [v + u_j - C_{ij}]_+ = \varepsilon`. This never increases Phi: in the problem with two
potentials, of which ours is the diagonal, the level is the exact minimum over the second potential,
and Phi of the mean is at most the mean of the two mirrored values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparrot.transport.dual import Dual, DualState
from sparrot.types import FloatArray

_DELTA = 1e-5  # added to the diagonal: the Hessian is singular on bipartite components
_ARMIJO = 1e-4
_SHORTEST_STEP = 2.0**-30
_MAX_CG = 500


@dataclass(frozen=True, slots=True)
class NewtonResult:
    """The last iterate, its marginal error, and the errors on the way."""

    u: FloatArray
    state: DualState
    error: float
    history: tuple[float, ...]


def newton(
    dual: Dual,
    u: FloatArray,
    tol: float,
    max_iter: int,
    report: Callable[[int, float], None] = lambda step, error: None,
) -> NewtonResult:
    """Minimise the dual from u until `max_i |F_i| <= tol eps`, or `max_iter` steps are done.

    `report(steps done, marginal error)` is called before each step, and may raise.
    """
    state = dual.state(u)
    history: list[float] = []
    while True:
        error = float(np.abs(state.gradient).max()) / dual.eps
        report(len(history), error)
        if error <= tol or len(history) >= max_iter:
            return NewtonResult(u, state, error, tuple(history))
        history.append(error)
        lonely = np.flatnonzero(state.diagonal == 0)
        if len(lonely):
            u = u.copy()
            u[lonely] += (dual.levels(u, lonely) - u[lonely]) / 2
            state = dual.state(u)
            continue
        step = _direction(state, forcing=min(0.1, 0.3 * error**0.5))
        new_u, state = _search(dual, u, state, step)
        if new_u is u:  # rounding: no step, however short, improves the objective
            return NewtonResult(u, state, error, tuple(history))
        u = new_u


def _direction(state: DualState, forcing: float) -> FloatArray:
    """Conjugate gradients on the Newton system, until the residual has fallen by `forcing`."""
    diagonal = state.diagonal + _DELTA
    x = np.zeros_like(diagonal)
    r = -state.gradient
    z = r / diagonal
    p = z.copy()
    rz = float(r @ z)
    target = forcing**2 * rz
    for _ in range(_MAX_CG):
        Hp = diagonal * p + state.adjacency(p)
        alpha = rz / float(p @ Hp)
        x += alpha * p
        r -= alpha * Hp
        z = r / diagonal
        rz, previous = float(r @ z), rz
        if rz <= target:
            break
        p = z + (rz / previous) * p
    return x


def _search(
    dual: Dual, u: FloatArray, state: DualState, step: FloatArray
) -> tuple[FloatArray, DualState]:
    """Halve the step until the objective falls enough; return u itself if it never does.

    Close to the solution the objective is flat to the last digit and a comparison says nothing;
    there a step is taken if it makes the gradient smaller.
    """
    slope = float(state.gradient @ step)
    rounding = 1e-14 * (abs(state.value) + dual.eps * float(np.abs(u).sum()))
    size = float(np.abs(state.gradient).max())
    t = 1.0
    while t >= _SHORTEST_STEP:
        trial = dual.state(u + t * step)
        gain = state.value - trial.value
        if gain >= -_ARMIJO * t * slope and gain > rounding:
            return u + t * step, trial
        if abs(gain) <= rounding and float(np.abs(trial.gradient).max()) < size:
            return u + t * step, trial
        t /= 2
    return u, dual.state(u)
