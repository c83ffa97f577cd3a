r"""First potentials for the active set, from few points or from another solution.

A random part of m points with the share m/n of the mass has nearly the same potentials as all.
So the problem is solved for a few hundred points (dense), then for four times as many, and so on;
each solution gives the next its potentials, by the level of each point against the part already
solved, and their uncertainty. The last screening is then almost always the only one that covers all
pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparrot.cost import Cost
from sparrot.engine import Progress, ProgressCallback, Threads
from sparrot.solvers.active_set import ActiveSet, Budget, Guess
from sparrot.solvers.dual import DenseDual
from sparrot.solvers.newton import newton
from sparrot.solvers.search import EveryPair
from sparrot.support import Link, levels_against
from sparrot.types import FloatArray, IntArray

_RATIO = 4  # each part is that many times larger than the one before
_DENSE = 1024  # the first part has at most that many points
_FEW = 4.0  # with fewer neighbours than that a part tells little about the whole
_COARSE = 1e-2  # marginal error for parts
_STEPS = 200  # Newton steps for a part, at most
_SAMPLE = 64  # rows that judge a warm start


def guess_from_parts(
    cost: Cost,
    link: Link,
    mass: float,
    hollow: bool,
    threads: Threads,
    progress: ProgressCallback,
) -> Guess:
    """Solve ever larger random parts; the last gives every point its guess."""
    n = cost.n
    order = np.random.default_rng(0).permutation(n)
    sizes = [max(2, -(-n // _RATIO)), n]
    while sizes[0] > _DENSE:
        sizes.insert(0, -(-sizes[0] // _RATIO))
    index = np.sort(order[: sizes[0]]).astype(np.int32)
    part = cost.take(index)
    u, part_mass = _first_part(part, link, mass * part.n / n, hollow, threads)
    for size in sizes[1:-1]:
        to = np.sort(order[:size]).astype(np.int32)
        progress(Progress("extending", size, 0))
        guess = _extend(cost, to, index, part, u, link, part_mass, threads)
        part, index = cost.take(to), to
        part_mass = max(part_mass, mass * size / n)
        problem = ActiveSet(EveryPair(part, hollow, threads), hollow, threads, progress)
        u = problem.solve(link, part_mass, guess, _COARSE, Budget(_STEPS)).u
    progress(Progress("extending", n, 0))
    every = np.arange(n, dtype=np.int32)
    guess = _extend(cost, every, index, part, u, link, part_mass, threads)
    raised = part_mass / (mass * part.n / n)  # with that much more mass than its share
    return replace(guess, neighbours=guess.neighbours / raised)


def guess_from_potential(
    cost: Cost, link: Link, mass: float, hollow: bool, u: FloatArray, threads: Threads
) -> Guess | None:
    """A warm start, judged by a few rows; None if it is worth nothing.

    Where all potentials are too high by some amount, all levels are too low by the same, and the
    mean of the two is right. What is left of their difference is the uncertainty.
    """
    rows = np.linspace(0, cost.n - 1, min(_SAMPLE, cost.n)).astype(np.int32)
    twin = rows if hollow else np.full(len(rows), -1)
    level, neighbours = levels_against(cost, rows, cost, u, link, mass, twin, threads)
    shift = float(np.median(level - u[rows])) / 2
    scale = float(link.score(np.array(mass / max(neighbours.mean(), 1.0))))
    uncertainty = float(np.median(np.abs(level - u[rows] - 2 * shift)))
    if not uncertainty + abs(shift) <= 4 * scale:  # also where these are not numbers
        return None
    slack = np.full(cost.n, uncertainty + scale / 2)
    return Guess(u + shift, slack, float(neighbours.mean()))


def _first_part(
    part: Cost, link: Link, mass: float, hollow: bool, threads: Threads
) -> tuple[FloatArray, float]:
    """Potentials of the smallest part; its mass is raised until it has a few neighbours a row."""
    C = part.dense()
    if hollow:
        np.fill_diagonal(C, np.inf)
    u = part.shift.copy()
    for _ in range(100):
        dual = DenseDual(C, link, mass, threads)
        u = newton(dual, u, _COARSE, _STEPS).u
        if dual.scores(u).nnz >= min(_FEW, part.n / 2) * part.n:
            break
        mass *= 2
    return u, mass


def _extend(
    cost: Cost,
    to: IntArray,
    index: IntArray,
    part: Cost,
    u: FloatArray,
    link: Link,
    mass: float,
    threads: Threads,
) -> Guess:
    """Levels of the points `to` against a solved part.

    The level of a row with k neighbours in the part has a sampling error of the order of the mean
    score divided by the square root of their number.
    """
    place = np.minimum(np.searchsorted(index, to), part.n - 1)
    twin = np.where(index[place] == to, place, -1)
    level, k = levels_against(cost, to, part, u, link, mass, twin, threads)
    slack = link.score(mass / k) * np.minimum(1.0, 2.0 / np.sqrt(k))
    return Guess(level, slack, float(k.mean()) * len(to) / part.n)
