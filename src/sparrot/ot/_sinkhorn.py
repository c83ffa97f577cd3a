r"""Symmetric entropic transport: Sinkhorn in the log domain, then Newton.

The plan is :math:`W_{ij} = \exp((u_i + u_j - C_{ij}) / \varepsilon)` with row sums one. With
:math:`f = u / \varepsilon` the damped symmetric iteration
:math:`f \leftarrow f - \tfrac12 \log (W 1)` comes close from anywhere, and Newton on the convex
dual :math:`\tfrac12 \sum_{ij} W_{ij} - \sum_i f_i`, whose Hessian is
:math:`\mathrm{diag}(W 1) + W`, finishes in a few steps where the iteration would need hundreds.

What costs time is a *pass*: exponentials over all pairs. It is made of tiles of the upper triangle,
each with the sums of its rows and of its columns, and nothing n x n is kept but what memory allows.
For search directions the plan is kept in float32: of tiles in which few entries are large these,
others whole. At the potentials f + x the plan is :math:`D W D` with
:math:`D = \mathrm{diag}(e^x)`, so that a direction need not be that of a quadratic model: what was
kept is scaled to row sums one, by products alone, and the next pass finds only the error of what
was rounded or left out. Entropies of rows come from what was kept, too, and the tangent of the
potentials along eps, by which the search for a perplexity goes from one eps to the next. What does
not fit into memory is computed again, to the same bits.

Few passes over all points are needed because a part of the points leads there. At the same eps, m
of n random points have plans with their share of the neighbors, and potentials that are higher by
:math:`\tfrac12 \log (n/m)`: so all points start from the entropic c-transform of a part,

.. math:: f_i = -\log \sum_{j \in \text{part}} \exp(f_j - C_{ij}/\varepsilon) - \tfrac12 \log (n/m),

and small eps is reached by way of larger ones in the smallest part only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from threading import local
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, hstack, issparse, triu, vstack

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.cost import Cost, Exponents
from sparrot.engine import Run
from sparrot.ot._newton import (
    EASY,
    ON_THE_WAY,
    Dual,
    DualState,
    NewtonResult,
    conjugate_gradients,
    newton,
)
from sparrot.ot._problem import (
    Certificate,
    EntropicRegularizer,
    Method,
    Options,
    Problem,
    Solution,
    compressed,
    marginal_error,
)

_MAX_STEPS = 500
_NEAR = 0.4  # Newton takes over once no log row sum exceeds this,
_NEWTON_CAN, _SLOW = 2.0, 0.7  # or once none exceeds 2 and a round no longer shrinks the largest to
# 0.7 of itself,
_WARM_UP = 30  # and after at most that many damped rounds
_FACTOR = 2.0  # from one eps to the next
_WITHOUT_A_PART = 1000  # points that come down from an easy eps themselves; more start from a part,
_RATIO = 4  # which is so many times smaller
_WARM_STEPS = 50  # that a warm start may take
_DIRECT, _MANY_DIRECTIONS = 2000, 8  # points at most, and directions at one eps, after which
# systems are solved by a Cholesky decomposition
_SINGULAR = (1e-14, 1e-11, 1e-8, 1e-5)  # added to its diagonal, until there is one
_LONGEST_SIDE = 512  # of a tile: with its like of another thread it stays in the cache
_TILE_BYTES = 64  # of an entry of a tile in work, all copies and threads counted
_PLAN_BYTES = 9  # of an entry of a dense plan, with some room for tiles
_COST_BYTES = 4  # of an entry of the costs, of which one triangle is kept,
_MANY_COORDINATES = 64  # of points from which on that is worth it
_SMALL = 1e-2  # mass that directions may leave out of a row, times the root of its error
_SPARSE = 0.2  # share of large entries below which rows are kept as sparse ones
_SHARE_FOR_DIRECTIONS = 4  # of the memory
_FARTHEST = 20.0  # log row sum from which scaling what was kept leads all the way
_SCALED_TOL = 1e-3  # error of that, as a share of the error so far
_SCALED_ENOUGH = 0.5  # share of the error that a scaled plan may have left
_SCALED_STEPS = 30  # at most: a pass may show other couples
_ROUNDING = float(np.finfo(np.float64).eps)
_TANGENT_ERROR = 1e-4  # the square of a precision of about 1 % of tangents
_TINY = 1e-300
_LOWEST = -1e300  # exponent, but for those of forbidden pairs

Tile = tuple[slice, slice, FloatArray]  # rows, columns, entries
Entries = tuple[IntArray, IntArray, Any]  # row, column, value
Piece = tuple[slice, slice, Any]  # rows, columns, entries in float32, dense or sparse
Strip = tuple[list[Piece], list[Entries]]  # pieces if there is room for all, and couples
Result = TypeVar("Result")


class Sinkhorn(Method[EntropicRegularizer]):
    """The method for entropic problems."""

    name = "sinkhorn"
    solves = EntropicRegularizer

    def __init__(self, problem: Problem[EntropicRegularizer], options: Options, run: Run) -> None:
        super().__init__(problem, options, run)
        if problem.regularizer.drop is None:
            run.require_memory(
                _PLAN_BYTES * problem.n**2,
                what=f"the dense plan of {problem.n} points",
                remedy="take {drop=1e-3}, for a sparse plan that is computed in tiles",
            )
        self._dual = EntropicDual(problem, run)
        # eps, u and u / eps of the last solution
        self._known: tuple[float, FloatArray, FloatArray] = 0.0, np.empty(0), np.empty(0)
        self._perplexities = np.empty(0)  # of the last one with a plan

    def solve(
        self, eps: float, start: FloatArray | None, tol: float, with_floor: bool = True
    ) -> Solution:
        """Solve the problem at one eps, from potentials if there are any."""
        solution = self._find(eps, start, 0.999 * tol)
        if solution.converged:
            self._perplexities = self.perplexities(solution)
        plan, error = self._plan(solution.u / eps)
        certificate = replace(solution.certificate, marginal_error=error)
        return replace(solution, plan=plan, certificate=certificate, converged=error <= tol)

    def rough(self, eps: float, start: FloatArray | None, tol: float) -> Solution:
        """The same without the plan, unless it did not converge."""
        solution = self._find(eps, start, tol)
        if solution.converged:
            return solution
        return replace(solution, plan=self._plan(solution.u / eps)[0])

    def _find(self, eps: float, start: FloatArray | None, tol: float) -> Solution:
        """The same without any plan."""
        problem, max_steps = self._problem.at(eps), self._options.max_iter or _MAX_STEPS
        result = None
        if start is not None:
            result = self._from(eps, start, tol, min(_WARM_STEPS, max_steps))
        if result is None or (result.error > tol and max_steps > _WARM_STEPS):
            result = self._from(eps, self.cold_start(eps), tol, max_steps)
        # Entries that are dropped are below one, and so their scores are negative.
        certificate = Certificate(result.error, 0.0, problem.n_pairs, exact=True)
        converged = result.error <= tol
        if converged:
            self._known = eps, eps * result.u, result.u
        return Solution(
            problem, eps * result.u, None, certificate, result.history, converged, self.name
        )

    def _scaled(self, u: FloatArray, eps: float) -> FloatArray:
        """The potential u / eps; that of the last solution to the last bit: its state is known."""
        known_eps, known_u, f = self._known
        return f if eps == known_eps and np.array_equal(u, known_u) else u / eps

    def _from(self, eps: float, u: FloatArray, tol: float, max_steps: int) -> NewtonResult:
        """The potential f at some eps, from u on."""
        self._dual.eps = eps
        f, before = _damped(self._dual, self._scaled(u, eps), max_steps)

        def report(step: int, error: float) -> None:
            n_steps = len(before) + step
            self._run.report(self.name, self._problem.n, n_steps, marginal_error=error)

        result = newton(self._dual, f, tol, max_steps - len(before), report)
        return replace(result, history=(*before, *result.history))

    def perplexities(self, solution: Solution) -> FloatArray:
        """Those of a rough solution too."""
        if solution.plan is not None:
            return self._perplexities
        self._dual.eps = eps = solution.problem.regularizer.eps
        return self._dual.perplexities(self._scaled(solution.u, eps))

    def tangent(self, solution: Solution) -> tuple[FloatArray, float]:
        """By two systems with the Hessian and logarithms of the plan, without another pass."""
        self._dual.eps = eps = solution.problem.regularizer.eps
        x, slope = self._dual.tangent(self._scaled(solution.u, eps))
        return eps * x, slope

    def cold_start(self, eps: float) -> FloatArray:
        """Potentials to start from: those of a part of the points, which start from larger eps."""
        n = self._problem.n
        if n > _WITHOUT_A_PART:
            index = np.sort(np.random.default_rng(0).permutation(n)[: n // _RATIO])
            part = type(self)(self._problem.part(index), self._options, self._run)
            f = part._from(eps, part.cold_start(eps), ON_THE_WAY, _MAX_STEPS).u
            return self.extended(index, eps * f, eps)
        top, u = self._known[:2] if self._known[0] > eps else (np.inf, np.zeros(n))
        before = u
        for larger in _way_down(eps, top):
            f = self._from(larger, 2 * u - before, ON_THE_WAY, _MAX_STEPS).u
            u, before = larger * f, u if u.any() else larger * f
            if self._dual.rounding(f, self._dual.state(f)) > 1:
                break  # no digits are left, nor will be at smaller eps
        return 2 * u - before

    def extended(self, index: IntArray, u: FloatArray, eps: float) -> FloatArray:
        """Potentials of all points from those of a part: their entropic c-transforms."""
        n, f = self._problem.n, np.zeros(self._problem.n)
        f[index] = u / eps
        self._dual.eps = eps
        return -eps * (self._dual.log_sums(f, np.arange(n), index) + np.log(n / len(index)) / 2)

    def _plan(self, f: FloatArray) -> tuple[Any, float]:
        """The plan, dense or without its smallest entries, and its marginal error as a whole.

        Without entries below drop / n no row loses more than `drop`.
        """
        drop = self._problem.regularizer.drop
        self._dual.forget()
        if drop is None:
            dense = self._dual.plan(f)
            return dense, marginal_error(dense)
        sparse, sums = self._dual.sparse_plan(f, drop / self._problem.n)
        return sparse, float(np.abs(sums - 1).max())


class EntropicDual(Dual[DualState]):
    """The dual of entropic transport in f = u / eps, evaluated by tiles of the upper triangle.

    Parameters
    ----------
    problem : the problem with any eps.
    run : resources.

    Attributes
    ----------
    eps : regularization, in the unit of the costs.
    """

    mass = 1.0

    def __init__(self, problem: Problem[EntropicRegularizer], run: Run) -> None:
        self.n = n = problem.n
        self.eps = problem.regularizer.eps
        self._cost, self._hollow, self._threads = problem.cost, problem.hollow, run.threads
        # What memory is free at the moment decides what is kept, and no bit of the result.
        allowed, budget = run.max_memory or np.inf, run.memory()
        self._side = int(np.clip(np.sqrt(allowed / _TILE_BYTES), 16, _LONGEST_SIDE))
        self._row_bytes = budget / _SHARE_FOR_DIRECTIONS / n
        self._blocks = [slice(k, min(k + self._side, n)) for k in range(0, n, self._side)]
        self._strips: list[list[Piece]] = []
        self._room: dict[int, Float32Array] = {}  # for the dense tiles of a strip, by its first row
        self._couples: Entries = np.empty(0, int), np.empty(0, int), np.empty(0)
        self._tried = 0.0, 0.0  # an eps, and directions there; those that lead nowhere count more
        self._last: tuple[FloatArray, float, DualState] | None = None
        self._error, self._least = 1.0, 0.0  # of the last state: its error, what directions keep
        self._scratch = local()
        self._tile_costs: TileCosts | None = None
        if problem.cost.n_products() > _MANY_COORDINATES * float(n) ** 2:
            fits = (_PLAN_BYTES + _COST_BYTES) * float(n) ** 2 <= budget
            self._tile_costs = TileCosts(self._cost, self._blocks if fits else [], run)

    @np.errstate(over="ignore")
    def state(self, f: FloatArray) -> DualState:
        """One pass; overflow makes the value infinite, and the step too long. The last is kept."""
        if self._last is None or self._last[0] is not f or self._last[1] != self.eps:
            sums = self._row_sums(f)
            self._error = min(1.0, float(np.abs(sums - 1).max()))
            value = float(sums.sum()) / 2 - float(f.sum())
            state = DualState(value, sums - 1, sums, lambda x: sums * x)  # not asked for
            self._last = f, self.eps, state
        return self._last[2]

    def _row_sums(self, f: FloatArray) -> FloatArray:
        """Those of the plan, of which is kept what directions need."""
        self._strips, self._least = [], _SMALL * self._error**0.5 / self.n
        sums, strips = self._pass(f, self._for_directions)
        self._strips = [kept for kept, _ in strips]
        found = zip(*(entries for _, couples in strips for entries in couples), strict=True)
        i, j, w = (np.concatenate(part) for part in found)
        self._couples = i, j, w
        return sums

    def can_scale(self, off: float) -> bool:
        """Whether a direction leads all the way, where the largest log row sum is off by that."""
        return not self._is_hard and off <= _FARTHEST

    @property
    def _is_hard(self) -> bool:
        """Whether points are few, and other directions did not lead there at this eps."""
        eps, tried = self._tried
        return self.n <= _DIRECT and eps == self.eps and tried > _MANY_DIRECTIONS

    def direction(self, f: FloatArray, state: DualState, delta: float) -> FloatArray:
        """To where the rows of what was kept of the plan have sums one.

        Where that is not found in a few steps, a Newton step is the safer one.
        """
        if self._is_hard:
            return _solved(self.plan(f), state.diagonal, -state.gradient)
        eps, tried = self._tried
        self._tried = self.eps, 1 + tried if eps == self.eps else 1
        scaled = self._scaled(f)
        here, error = np.zeros(self.n), self.error(state)
        tol = _SCALED_TOL * error
        found = newton(scaled, _damped(scaled, here)[0], tol, _SCALED_STEPS)
        if found.error <= _SCALED_ENOUGH * error:
            return found.u
        self._tried = self.eps, self._tried[1] + _MANY_DIRECTIONS / 2
        return super().direction(f, scaled.state(here), delta)

    def forget(self) -> None:
        """Free what directions keep."""
        self._last, self._strips, self._room = None, [], {}

    def plan(self, f: FloatArray) -> FloatArray:
        """The dense plan, symmetric to the last bit."""
        plan = np.empty((self.n, self.n))

        def copy(tiles: Iterable[Tile]) -> None:
            for rows, columns, W in tiles:
                plan[rows, columns] = W
                plan[columns, rows] = W.T

        self._pass(f, copy)
        return plan

    def sparse_plan(self, f: FloatArray, least: float) -> tuple[csr_array, FloatArray]:
        """The entries of the plan that are not below the least, and the row sums of all."""

        def large(tiles: Iterable[Tile]) -> csr_array:
            parts = []
            for rows, columns, W in tiles:
                if columns == rows:
                    W = np.triu(W)
                parts.append(_large(columns, W, least))
            return _assembled(parts, rows.stop - rows.start, self.n)

        sums, strips = self._pass(f, large)
        upper = csr_array(vstack(strips))
        return csr_array(upper + triu(upper, 1).T), sums

    def perplexities(self, f: FloatArray) -> FloatArray:
        """The exponential of the entropy of each row of the plan, scaled to sum one."""
        return self._scaled(f).perplexities()

    def tangent(self, f: FloatArray) -> tuple[FloatArray, float]:
        """How u / eps and the logarithm of the mean perplexity change with log eps."""
        return self._scaled(f).tangent()

    def _scaled(self, f: FloatArray) -> ScaledDual:
        """What is known of the plan."""
        sums = self.state(f).diagonal
        return ScaledDual(partial(self._product, f), sums, self._couples, self._least)

    def log_sums(self, f: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
        """For each of some rows `log sum_j exp(f_j - C_ij / eps)` over some columns."""
        write = self._cost.exponents(f, self.eps)
        out = np.empty(len(rows))

        def block(start: int, stop: int) -> None:
            own = rows[start:stop]
            top, total = np.full(len(own), _LOWEST), np.zeros(len(own))
            for first in range(0, len(columns), self._side):
                others = columns[first : first + self._side]
                T = self._buffer(len(own), len(others))
                write(own, others, T)
                if self._hollow:
                    T[own[:, None] == others] = -np.inf
                higher = np.maximum(top, T.max(axis=1))
                T -= higher[:, None]
                total = total * np.exp(top - higher) + np.exp(T, out=T).sum(axis=1)
                top = higher
            with np.errstate(divide="ignore"):  # of a row without any
                out[start:stop] = top + np.log(total) - f[own]

        self._threads.blocks(block, len(rows), self._side)
        return out

    def c_transform(self, f: FloatArray, rows: IntArray) -> FloatArray:
        """The f_i that gives row i a sum of one (asked for where a row has vanished)."""
        return -self.log_sums(f, rows, np.arange(self.n))

    def _sums(self) -> FloatArray:
        """Room for what each strip of tiles adds to the sum of each row."""
        return np.zeros((len(self._blocks), self.n))

    def _pass(
        self, f: FloatArray, use: Callable[[Iterable[Tile]], Result]
    ) -> tuple[FloatArray, list[Result]]:
        """The row sums of the plan, and what is made of each strip of its tiles."""
        write, sums = self._exponents(f), self._sums()

        def strip(k: int) -> Iterator[Tile]:
            for rows, columns, W in self._tiles(write, k):
                _add(sums[k], rows, columns, W)
                yield rows, columns, W

        strips = list(self._threads.map(lambda k: use(strip(k)), range(len(self._blocks))))
        return sums.sum(axis=0), strips

    def _exponents(self, f: FloatArray) -> Exponents:
        return (self._tile_costs or self._cost).exponents(f, self.eps)

    def _tiles(self, write: Exponents, k: int) -> Iterator[Tile]:
        """The plan in a strip of tiles, from the diagonal on; each is valid until the next."""
        rows = self._blocks[k]
        for columns in self._blocks[k:]:
            T = self._buffer(rows.stop - rows.start, columns.stop - columns.start)
            write(rows, columns, T)
            if columns == rows:
                T[:] = np.triu(T) + np.triu(T, 1).T  # symmetric to the last bit
                if self._hollow:
                    np.fill_diagonal(T, -np.inf)
            with np.errstate(over="ignore"):
                np.exp(T, out=T)
            yield rows, columns, T

    def _buffer(self, n_rows: int, n_columns: int, dtype: Any = np.float64) -> Any:
        """Memory of this thread, always the same: new memory takes longer than exponentials."""
        kept = self._scratch.__dict__
        if dtype not in kept:
            kept[dtype] = np.empty(self._side**2, dtype)
        return kept[dtype][: n_rows * n_columns].reshape(n_rows, n_columns)

    def _for_directions(self, tiles: Iterable[Tile]) -> Strip:
        """What a direction needs of a strip of the plan, if there is room, and its couples."""
        couples: list[Entries] = []
        pieces: list[Piece] = []
        n_bytes = 0
        for rows, columns, W in self._pieces(tiles, couples):
            n_bytes += 8 * W.nnz if issparse(W) else W.nbytes
            if n_bytes <= self._row_bytes * (rows.stop - rows.start):
                pieces.append((rows, columns, W if issparse(W) else self._copied(rows, columns, W)))
            else:
                pieces = []
        return pieces, couples

    def _copied(self, rows: slice, columns: slice, W: Float32Array) -> Float32Array:
        """A tile in the place of the last one of the same pairs: new memory takes longer."""
        first, n_rows = rows.start, len(W)
        if first not in self._room:
            self._room[first] = np.empty((n_rows, self.n - first), np.float32)
        place = self._room[first][:, columns.start - first : columns.stop - first]
        place[:] = W
        return place

    def _pieces(self, tiles: Iterable[Tile], couples: list[Entries]) -> Iterator[Piece]:
        """A strip as directions take it: dense tiles, valid until the next, and joined sparse ones.

        Its couples are added to the others.
        """
        run: list[csr_array] = []
        first = 0
        for rows, columns, W in tiles:
            tile, (i, j, w) = self._rounded(W, columns == rows)
            i, j = i + rows.start, j + columns.start
            upper = i < j
            couples.append((i[upper], j[upper], w[upper]))
            first = first if run else columns.start
            if issparse(tile) and columns != rows:
                run.append(tile)
                continue
            if run:
                yield rows, slice(first, columns.start), hstack(run, format="csr")
                run = []
            yield rows, columns, tile
        if run:
            yield rows, slice(first, columns.stop), hstack(run, format="csr")

    def _rounded(
        self, W: FloatArray, on_diagonal: bool
    ) -> tuple[Float32Array | csr_array, Entries]:
        """A tile as directions take it, without its couples, and these.

        It is in float32, and where few entries are large only these. Couples are the pairs that
        have more than half of their row and of their column. There the Hessian is nearly singular,
        and so they stay as they are. A point is no couple by itself.
        """
        n_rows, n_columns = W.shape
        rounded = self._buffer(n_rows, n_columns, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            rounded[:] = W
            i, j = np.arange(n_rows), rounded.argmax(axis=1)
            most = 2 * rounded[i, j] > rounded @ np.ones(n_columns, np.float32)
            if on_diagonal:
                most &= i != j
            i, j = i[most], j[most]
            most = 2 * rounded[i, j] > rounded[:, j].sum(axis=0)
        i, j = i[most], j[most]
        rounded[i, j] = 0
        couples = i, j, W[i, j]
        is_large = rounded >= self._least
        if np.count_nonzero(is_large) >= _SPARSE * W.size:
            return rounded, couples
        places = np.flatnonzero(is_large)
        i = places // n_columns
        j, w = places - i * n_columns, rounded.ravel()[places]
        return compressed(np.bincount(i, minlength=n_rows), j, w, n_columns), couples

    def _product(
        self, f: FloatArray, x: FloatArray, of: Callable[[Any], Any] | None = None
    ) -> FloatArray:
        """The product of the plan without its couples with x, in float32, by the last strips.

        Or that of a function of its entries.
        """
        sums = self._sums()
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)

        def add(k: int) -> None:
            for rows, columns, W in self._strips[k] or self._again(f, k):
                if of is not None:
                    W = _with_entries(W, of(W.data)) if issparse(W) else of(W)
                sums[k, rows] += W @ x[columns]
                if columns != rows:
                    sums[k, columns] += W.T @ x[rows]

        list(self._threads.map(add, range(len(self._blocks))))
        return sums.sum(axis=0)

    def _again(self, f: FloatArray, k: int) -> Iterator[Piece]:
        """The pieces of a strip that was not kept."""
        return self._pieces(self._tiles(self._exponents(f), k), [])


class ScaledDual(Dual[DualState]):
    r"""The dual in x of a plan :math:`e^{x_i} W_{ij} e^{x_j}`, of which W is known roughly.

    W is the sum of *couples*, pairs that may have all but a trace of the mass of both, and of the
    rest. A couple may move far, one up and the other down, until its traces balance: so couples are
    in float64, and no sum is a difference of large numbers. What is missing of the rest of row i is
    taken to change by :math:`e^{x_i}` alone.

    Parameters
    ----------
    rest : the product of the rest of W, as far as it is known, with a vector, to a few digits.
    sums : the row sums of all of W.
    couples : rows i < j and entries.
    least : entries that are not known are below this.
    """

    mass = 1.0

    def __init__(
        self, rest: Callable[..., FloatArray], sums: FloatArray, couples: Entries, least: float
    ) -> None:
        self._rest, self._sums, self._couples, self._least = rest, sums, couples, least
        self._rest_sums = np.maximum(sums - self._coupled(np.ones(len(sums))), 0)
        self._missing = np.maximum(self._rest_sums - rest(np.ones(len(sums))), 0)
        i, j, w = couples
        most = 2 * w > np.maximum(sums[i], sums[j])  # so that no row is in two
        self._blocks = i[most], j[most], w[most]

    def _coupled(self, y: FloatArray) -> FloatArray:
        """The product of the couples with y."""
        (i, j, w), n = self._couples, len(y)
        ends, partners, entries = np.r_[i, j], np.r_[j, i], np.r_[w, w]
        total: FloatArray = np.bincount(ends, entries * y[partners], n).astype(np.float64)
        return total

    def state(self, x: FloatArray) -> DualState:
        """Value, gradient and Hessian at x."""
        y = np.exp(x)
        others, coupled = self._others(x, y), self._coupled(y)
        sums = y * (coupled + others)
        value = float(y @ (coupled + others + self._missing)) / 2 - float(x.sum())

        def hessian(z: FloatArray) -> FloatArray:
            return sums * z + y * (self._coupled(y * z) + self._rest(y * z))

        return DualState(value, sums - 1, sums, hessian)

    def _others(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """The rest of each row, but for its own factor.

        Where a row is near its place, by how much those of others have moved: what is rounded is
        that alone. Where it is far, from scratch.
        """
        far = np.abs(x) > _NEAR
        if not far.any():
            return self._rest_sums + self._rest(np.expm1(x))
        near = self._rest_sums - self._rest(far.astype(float))
        near += self._rest(np.where(far, y, np.expm1(x)))
        return np.where(far, self._rest(y) + self._missing, near)

    def direction(self, x: FloatArray, state: DualState, delta: float) -> FloatArray:
        """The Newton step; what is nearly singular are blocks of couples, so it needs no delta."""
        return self._solved(x, state, -state.gradient, self.error(state))

    def _solved(self, x: FloatArray, state: DualState, r: FloatArray, error: float) -> FloatArray:
        """The solution of a system with the Hessian at x, preconditioned by blocks of couples."""
        d, y, (i, j, w) = state.diagonal, np.exp(x), self._blocks
        w = y[i] * w * y[j]
        determinant = np.maximum(d[i] * d[j] - w * w, _ROUNDING * d[i] * d[j])

        def precondition(r: FloatArray) -> FloatArray:
            z = r / d
            z[i] = (d[j] * r[i] - w * r[j]) / determinant
            z[j] = (d[i] * r[j] - w * r[i]) / determinant
            return z

        return conjugate_gradients(state.hessian, 0.0, precondition, r, error)

    def perplexities(self) -> FloatArray:
        """The exponential of the entropy of each row of W, scaled to sum one."""
        return np.exp(np.log(self._sums) - self._logarithms(np.ones_like(self._sums)) / self._sums)

    def tangent(self) -> tuple[FloatArray, float]:
        r"""How u / eps and the logarithm of the mean perplexity change with log eps.

        With :math:`T = \log W` and :math:`du = \varepsilon x` an entry changes by
        :math:`W_{ij} (x_i + x_j - T_{ij})`. Row sums do not change, so that
        :math:`(\mathrm{diag}(W 1) + W) x = (W \circ T) 1`, and the entropy of row i changes by
        :math:`\sum_j W_{ij} T_{ij} (T_{ij} - x_i - x_j)`.
        """
        ones = np.ones_like(self._sums)
        first, second = self._logarithms(ones), self._logarithms(ones, 2)
        x = self._solved(0 * ones, self.state(0 * ones), first, _TANGENT_ERROR)
        perplexities = np.exp(np.log(self._sums) - first / self._sums)
        change = second - x * first - self._logarithms(x)
        return x, float(perplexities @ change / perplexities.sum())

    def _logarithms(self, x: FloatArray, power: int = 1) -> FloatArray:
        """`sum_j W_ij (log W_ij)^power x_j`.

        The entries of a row that are not known have at most the logarithm of the least and on
        average at least that of their mean: it is taken half way between the two.
        """
        (i, j, w), n = self._couples, len(x)
        w = _with_logarithms(w, power)
        known = self._rest(x, partial(_with_logarithms, power=power))
        known += np.bincount(np.r_[i, j], np.r_[w * x[j], w * x[i]], n)
        level = np.log(np.maximum(self._missing / n, _TINY)) + np.log(max(self._least, _TINY))
        return known + self._missing * (level / 2) ** power * x.mean()

    def can_scale(self, off: float) -> bool:
        """There is no other way."""
        return False

    def c_transform(self, x: FloatArray, rows: IntArray) -> FloatArray:
        """The x_i that gives row i a sum of one: there is none, since only W = 0 has no sum."""
        return x[rows]


class TileCosts:
    """A cost by the tiles of its upper triangle, kept for the given blocks of rows."""

    def __init__(self, cost: Cost, blocks: list[slice], run: Run) -> None:
        pairs = [(rows, columns) for k, rows in enumerate(blocks) for columns in blocks[k:]]
        tiles = run.threads.map(lambda pair: cost.tile(*pair), pairs)
        self._cost = cost
        self._kept = {
            (rows.start, columns.start): C for (rows, columns), C in zip(pairs, tiles, strict=True)
        }

    def exponents(self, f: FloatArray, eps: float) -> Exponents:
        """As `Cost.exponents`, to the same bits whether a tile was kept or not."""

        def write(rows: Any, columns: Any, out: FloatArray) -> None:
            C = self._kept.get((rows.start, columns.start))
            np.multiply(self._cost.tile(rows, columns) if C is None else C, -1 / eps, out=out)
            out += f[columns]
            out += f[rows, None]

        return write


def _with_entries(W: csr_array, entries: Float32Array) -> csr_array:
    """Other entries in the same places."""
    return csr_array((entries, W.indices, W.indptr), shape=W.shape)


def _with_logarithms(w: Any, power: int) -> Any:
    """The product of w and a power of log w, and zero at zero."""
    return w * np.log(np.where(w > 0, w, 1)) ** power


def _solved(W: FloatArray, sums: FloatArray, r: FloatArray) -> FloatArray:
    """Solve `(diag(sums) + W) x = r`, with as little added to the diagonal as will do."""
    scale = np.sqrt(sums)
    H, r = W / scale / scale[:, None], r / scale
    for extra in _SINGULAR:
        np.fill_diagonal(H, 1 + extra + W.diagonal() / sums)
        try:
            return cho_solve(cho_factor(H), r) / scale
        except LinAlgError:
            continue
    return r / scale


def _way_down(eps: float, top: float) -> list[float]:
    """Larger eps, descending, from an easy one or from below a given one to one close to eps."""
    larger: list[float] = []
    while eps < EASY and _FACTOR * eps < top:
        eps *= _FACTOR
        larger.insert(0, eps)
    return larger


def _damped(
    dual: EntropicDual | ScaledDual, f: FloatArray, max_steps: int = _WARM_UP
) -> tuple[FloatArray, list[float]]:
    """The damped symmetric iteration, until Newton can take over."""
    history: list[float] = []
    before = np.inf
    for _ in range(min(_WARM_UP, max_steps)):
        sums = dual.state(f).diagonal
        lost = np.flatnonzero(~((sums > 0) & (sums < np.inf)))
        log_sums = np.log(np.where((sums > 0) & (sums < np.inf), sums, 1.0))
        if len(lost):
            log_sums[lost] = f[lost] - dual.c_transform(f, lost)
        off = float(np.abs(log_sums).max())
        if off <= _NEAR or _SLOW * before < off <= _NEWTON_CAN or dual.can_scale(off):
            break
        history.append(float(np.abs(sums - 1).max()))
        f, before = f - log_sums / 2, off
    return f, history


@np.errstate(over="ignore", invalid="ignore")  # what overflows is no better
def _add(sums: FloatArray, rows: slice, columns: slice, W: FloatArray) -> None:
    """Add a tile of a symmetric matrix to the sums of its rows."""
    sums[rows] += W @ np.ones(W.shape[1])
    if columns != rows:
        sums[columns] += np.ones(len(W)) @ W


def _large(columns: slice, W: Any, least: float) -> Entries:
    """The entries of a tile that are not below the least: row, column, value."""
    flat = np.flatnonzero(least <= W)
    i = (flat // W.shape[1]).astype(np.int32)
    j = (flat - i * np.int64(W.shape[1]) + columns.start).astype(np.int32)
    return i, j, W.ravel()[flat]


def _assembled(parts: list[Entries], n_rows: int, n: int) -> csr_array:
    """Rows of a sparse matrix from the entries of tiles, from left to right."""
    none = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    i, j, w = (np.concatenate(part) for part in zip(none, *parts, strict=True))
    order = np.argsort(i, kind="stable")  # columns stay ascending
    return compressed(np.bincount(i, minlength=n_rows), j[order], w[order], n)
