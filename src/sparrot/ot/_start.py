"""First potentials for the active set, from few points or from another solution.

A random part of m points with the share m/n of the mass has nearly the same potentials as all.
So the problem is solved for a few hundred points (dense), then for four times as many, and so on.
Each solution gives every point a level against the part, with its uncertainty: the potentials from
which the next part is solved, and a bound that keeps the next levels cheap. The last screening is
then almost always the only one that covers all pairs.
"""

from __future__ import annotations

import numpy as np

from sparrot._types import FloatArray, IntArray
from sparrot.cost import Cost
from sparrot.engine import Progress, ProgressCallback, Threads
from sparrot.ot._active_set import ActiveSet, Budget, Guess
from sparrot.ot._ctransform import Part, first_levels, levels_against
from sparrot.ot._dual import DenseDual
from sparrot.ot._link import Link
from sparrot.ot._newton import newton
from sparrot.ot._search import EveryPair

_RATIO = 4  # each part is that many times larger than the one before
_DENSE = 1024  # the first part has at most that many points
_FEW = 4.0  # with fewer neighbors than that a part tells little about the whole
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
    max_memory: float | None = None,
    largest: float = np.inf,
) -> Guess:
    """Solve ever larger random parts; each gives every point its level, the last is the guess.

    `max_memory` bounds the bytes that the support of a part may take, `largest` its points.
    """
    n = cost.n
    order = np.random.default_rng(0).permutation(n)
    sizes = _sizes(n, largest)
    part, mass_of_part = _first_part(cost, _some(order, sizes[0]), link, mass, hollow, threads)

    def report(done: int, total: int) -> None:
        progress(Progress("extending", n, done, total))

    report(0, 0)
    level, k = first_levels(cost, part, link, mass_of_part, threads)
    for size in sizes[1:]:
        slack = _uncertainty(k, link, mass_of_part)
        mass_of_part = max(mass_of_part, mass * size / n)
        index = _some(order, size)
        guess = Guess(level[index], slack[index], float(k.mean()) * size / part.cost.n)
        search = EveryPair(cost.take(index), hollow, threads)
        problem = ActiveSet(search, hollow, threads, progress, max_memory)
        found = problem.solve(link, mass_of_part, guess, _COARSE, Budget(_STEPS))
        part = Part(index, problem.cost, found.u)
        others = np.setdiff1d(np.arange(n, dtype=np.int32), index, assume_unique=True)
        near = (level + slack)[others]
        level[others], k[others] = levels_against(
            cost, others, part, link, mass_of_part, near, True, threads, report
        )
        level[index], k[index] = found.u, np.diff(found.plan.indptr)
    raised = mass_of_part / (mass * part.cost.n / n)  # with that much more mass than its share
    neighbors = float(k.mean()) * n / part.cost.n / raised
    return Guess(level, _uncertainty(k, link, mass_of_part), neighbors)


def guess_from_potential(
    cost: Cost, link: Link, mass: float, hollow: bool, u: FloatArray, threads: Threads
) -> Guess | None:
    """A warm start, judged by a few rows; None if it is worth nothing.

    Where all potentials are too high by some amount, all levels are too low by the same, and the
    mean of the two is right. What is left of their difference is the uncertainty.
    """
    rows = np.linspace(0, cost.n - 1, min(_SAMPLE, cost.n)).astype(np.int32)
    near = u[rows] + float(link.score(np.array(mass)))
    level, neighbors = levels_against(
        cost, rows, Part.whole(cost, u), link, mass, near, hollow, threads
    )
    shift = float(np.median(level - u[rows])) / 2
    scale = float(link.score(np.array(mass / max(neighbors.mean(), 1.0))))
    uncertainty = float(np.median(np.abs(level - u[rows] - 2 * shift)))
    if not uncertainty + abs(shift) <= 4 * scale:  # also where these are not numbers
        return None
    slack = np.full(cost.n, uncertainty + scale / 2)
    return Guess(u + shift, slack, float(neighbors.mean()))


def _sizes(n: int, largest: float) -> list[int]:
    """A quarter of n points, a quarter of that, and so on, ascending; the first is dense."""
    sizes = [max(2, -(-n // _RATIO))]
    while sizes[0] > _DENSE:
        sizes.insert(0, -(-sizes[0] // _RATIO))
    return [size for size in sizes if size <= max(largest, sizes[0])]


def _some(order: IntArray, size: int) -> IntArray:
    """The first points of an order, ascending."""
    return np.sort(order[:size]).astype(np.int32)


def _first_part(
    cost: Cost, index: IntArray, link: Link, mass: float, hollow: bool, threads: Threads
) -> tuple[Part, float]:
    """The smallest part, solved; its mass is raised until it has a few neighbors a row."""
    part = cost.take(index)
    mass = mass * part.n / cost.n
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
    return Part(index, part, u), mass


def _uncertainty(k: IntArray, link: Link, mass: float) -> FloatArray:
    """How far off levels over k neighbors may be.

    The sampling error is of the order of the mean score divided by the root of their number.
    """
    k = np.maximum(k, 1)
    return link.score(mass / k) * np.minimum(1.0, 2.0 / np.sqrt(k))
