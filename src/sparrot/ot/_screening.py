r"""Screening: which pairs of points may carry mass?

For ceilings r on the potentials the support is :math:`S(r) = \{(i, j) : r_i + r_j > C_{ij}\}`. As
long as the potentials stay below the ceilings, no other pair can carry mass. One pass over tiles, a
group of rows against some columns each, finds S(r): boxes around the rows rule out columns,
products in float32 with a margin for their rounding pick candidates, exact costs in float64 decide.

The pairs are in the memory of this process (`ClientPairs`), as a symmetric matrix of costs the
`Support` that a dual is restricted to; or both are in blocks of rows on the workers of a cluster
(`BlockPairs`), where these are more than fit here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, csr_matrix

from sparrot._types import BoolArray, Float32Array, FloatArray, IntArray
from sparrot.cost import LEAF, Cost, as_slice
from sparrot.engine import Run, Side, Threads

PAIR_BYTES = 145  # of one candidate pair at the peak, with a floor, all copies counted
TILE_ROWS = 2 * LEAF  # rows of a tile, at most
_FAR_COLUMNS = 8192  # that are brought about another center at once
_NEARLY_ALL = 0.85  # share of columns from which on all are taken
_ROWS, _MIRRORED = 4096, 4  # of a block of a support, at least; and blocks, at most
_STAYING = 1 << 18  # pairs that are looked at together
_WAITING = 1 << 20  # pairs that wait for their exact costs, at most, besides those of a tile


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs `i <= j`, each at most once, with their exact costs."""

    i: IntArray
    j: IntArray
    cost: FloatArray

    def __len__(self) -> int:
        """How many."""
        return len(self.i)

    def __sizeof__(self) -> int:
        """Bytes, by which Dask knows what its workers hold."""
        return self.i.nbytes + self.j.nbytes + self.cost.nbytes

    def where(self, keep: BoolArray | slice) -> Pairs:
        """Those for which `keep` is true, or that are in it."""
        return Pairs(self.i[keep], self.j[keep], self.cost[keep])

    def below(self, r: FloatArray) -> BoolArray:
        """For each pair, whether `C_ij < r_i + r_j`."""
        under: BoolArray = self.cost < r[self.i] + r[self.j]
        return under

    def entries_of(self, matrix: csr_array) -> FloatArray:
        """The entries of a sparse matrix at the pairs, zero where it has none."""
        if len(self) == 0:  # SciPy would return a matrix
            return np.zeros(0)
        return np.asarray(csr_matrix(matrix)[self.i, self.j], dtype=np.float64).ravel()

    @staticmethod
    def join(parts: list[Pairs]) -> Pairs:
        """All pairs of several disjoint lists."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        return Pairs(
            np.concatenate([part.i for part in parts]),
            np.concatenate([part.j for part in parts]),
            np.concatenate([part.cost for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Support:
    """A set of pairs as a symmetric CSR matrix of costs, rows ascending."""

    indptr: IntArray
    indices: IntArray
    cost: FloatArray

    @staticmethod
    def of(pairs: Pairs, n: int, threads: Threads | None = None) -> Support:
        """Sort the pairs into both triangles: by rows in linear time, then within each row."""
        from sparrot._kernels import mirror_rows

        upper = coo_array((pairs.cost, (pairs.i, pairs.j)), shape=(n, n)).tocsr()
        up, columns = upper.indptr.astype(np.int64), upper.indices.astype(np.int32, copy=False)
        loops = pairs.i[pairs.i == pairs.j]
        mirrored = np.bincount(columns, minlength=n) - np.bincount(loops, minlength=n)
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(mirrored + np.diff(up), out=indptr[1:])
        indices, cost = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
        rows = partial(
            mirror_rows, up, columns, upper.data, indptr, indptr[:-1].copy(), indices, cost
        )
        (threads or Threads(1)).blocks(rows, n, max(_ROWS, -(-n // _MIRRORED)))
        return Support(indptr, indices, cost)

    def __sizeof__(self) -> int:
        """Bytes, by which Dask knows what its workers hold."""
        return self.indptr.nbytes + self.indices.nbytes + self.cost.nbytes

    @property
    def counts(self) -> IntArray:
        """The pairs of each row."""
        return np.diff(self.indptr)


@dataclass(frozen=True, slots=True)
class SupportBlock(Support):
    """Some rows of a support, on a worker.

    Attributes
    ----------
    names : the points that it is about: those of its rows first, then those of other columns. The
        indices are places among them; each row is in the order of the points.
    """

    names: IntArray

    def is_upper(self) -> BoolArray:
        """For each entry whether its column is not before its row: each pair counts once."""
        upper: BoolArray = self.names[self.indices] >= np.repeat(
            self.names[: len(self.counts)], self.counts
        )
        return upper

    def below(self, r: FloatArray) -> BoolArray:
        """For each entry whether `C_ij < r_i + r_j`, with ceilings of the points by name."""
        under: BoolArray = (
            self.cost < np.repeat(r[: len(self.counts)], self.counts) + r[self.indices]
        )
        return under


class SupportInBlocks:
    """A support whose rows are on the workers of a cluster, in blocks; the client has no pair.

    Parameters
    ----------
    blocks : the `SupportBlock`s, as futures.
    names, counts : those of each block.
    """

    def __init__(self, blocks: list[Any], names: list[IntArray], counts: list[IntArray]) -> None:
        self.blocks = blocks
        self.names = names
        self.counts: IntArray = np.concatenate(counts)
        self.starts = np.cumsum([0, *map(len, counts)])


class ClientPairs:
    """The candidate pairs of ceilings, in the memory of this process.

    Parameters
    ----------
    n : number of points.
    loops : points with themselves, which are candidates at any ceiling.
    find : finds the pairs below ceilings, as `screen`.
    threads : those that compute.
    """

    def __init__(self, n: int, loops: Pairs, find: Callable[..., Pairs], threads: Threads) -> None:
        self._n = n
        self._threads = threads
        self._loops = loops
        self.find = find
        self.pairs = loops
        self._support: Support | None = None

    def __len__(self) -> int:
        """How many."""
        return len(self.pairs)

    def count_below(self, r: FloatArray) -> int:
        """How many would stay below other ceilings."""
        return int(self.pairs.below(r).sum())

    def kept(self, r: FloatArray, rows: IntArray | None) -> tuple[int, Pairs]:
        """Those that stay below other ceilings, of which some rows, or all (None), have risen.

        Pairs of rows that have risen are not among them; loops are. And how many they are.
        """
        if rows is None:
            return len(self._loops), self._loops
        risen = np.zeros(self._n, bool)
        risen[rows] = True

        def staying(start: int) -> Pairs:
            some = self.pairs.where(slice(start, start + _STAYING))
            others = some.below(r) & ~risen[some.i] & ~risen[some.j]
            return some.where(others | (some.i == some.j))

        starts = range(0, max(len(self), 1), _STAYING)
        kept = Pairs.join(list(self._threads.map(staying, starts)))
        return len(kept), kept

    def replace(self, kept: Pairs, found: Pairs | None) -> None:
        """Go on with pairs that were kept, and those that were found for rows that have risen."""
        self.pairs = kept if found is None else Pairs.join([kept, found])
        self._support = None

    def support(self) -> Support:
        """Both triangles, built when it is first asked for."""
        if self._support is None:
            self._support = Support.of(self.pairs, self._n, self._threads)
        return self._support


class BlockPairs:
    """The same in blocks of rows on the workers of a cluster; no pair comes to the client.

    Parameters
    ----------
    cost : the costs, whose points are there.
    loops : points with themselves, ascending, which are candidates at any ceiling.
    run : resources.
    """

    def __init__(self, cost: Any, loops: Pairs, run: Run) -> None:
        self._cost = cost
        self._loops = loops
        self._run = run
        self._support: SupportInBlocks | None = None
        self._n_pairs = len(loops)

    def __len__(self) -> int:
        """How many."""
        return self._n_pairs

    def count_below(self, r: FloatArray) -> int:
        """How many would stay below other ceilings."""
        known = self.support()
        tasks = [(block, r[a]) for block, a in zip(known.blocks, known.names, strict=True)]
        return sum(self._run.on_workers("below", _count_below, tasks))

    def kept(self, r: FloatArray, rows: IntArray | None) -> tuple[int, list[Any]]:
        """Each block, with ceilings of its points and which of them have risen."""
        if rows is None:
            return len(self), [(None, None, None) for _ in self._cost.blocks]
        known = self.support()
        return len(self), [
            (block, r[names], np.isin(names, rows))
            for block, names in zip(known.blocks, known.names, strict=True)
        ]

    def find(
        self, r: FloatArray, rows: IntArray | None, report: Callable[[int, int, int], None]
    ) -> list[tuple[set[int], Any]]:
        """As `screen`: but what tiles find stays on the workers, and is not counted yet."""
        left, right = screened_sides(self._cost, r, rows)
        total, tiles = self._run.keep_tiles(pairs_of_tile, left, right, rows is None)
        found = []
        for done, tile in enumerate(tiles, start=1):
            found.append(tile)
            report(done, total, 0)
        return found

    def replace(self, kept: list[Any], found: list[tuple[set[int], Any]] | None) -> None:
        """As that of `ClientPairs`: a task for each block joins what is in its rows."""
        n, tasks = self._cost.n, []
        for k, part in enumerate(self._cost.blocks):
            own = slice(*np.searchsorted(self._loops.i, [part.start, part.stop]))
            loops = self._loops.i[own], self._loops.cost[own]
            new = [tile for touched, tile in found or () if k in touched]
            tasks.append((part.start, part.stop, n, *loops, new, *kept[k]))
        blocks = self._run.keep("support", _join_block, tasks)
        described = self._run.on_workers("describe", _describe_block, [(one,) for one in blocks])
        names, counts, n_pairs = zip(*described, strict=True)
        self._support, self._n_pairs = SupportInBlocks(blocks, [*names], [*counts]), sum(n_pairs)

    def support(self) -> SupportInBlocks:
        """Both triangles."""
        assert self._support is not None
        return self._support


def _count_below(block: SupportBlock, r: FloatArray) -> int:
    return int((block.below(r) & block.is_upper()).sum())


def _describe_block(block: SupportBlock) -> tuple[IntArray, IntArray, int]:
    """The names of a block, the pairs of each row, and the number of those not counted before."""
    return block.names, block.counts, int(block.is_upper().sum())


def _join_block(
    start: int,
    stop: int,
    n: int,
    loops: IntArray,
    of_loops: FloatArray,
    tiles: list[Pairs],
    old: SupportBlock | None,
    r: FloatArray | None,
    risen: BoolArray | None,
) -> SupportBlock:
    """Rows of a support: what tiles found of them, and what stays of the rows as they were."""
    rows, columns, costs = [loops - np.int32(start)], [loops], [of_loops]
    if old is not None and r is not None and risen is not None:
        i = np.repeat(np.arange(stop - start, dtype=np.int32), old.counts)
        stays = old.below(r) & ~risen[i] & ~risen[old.indices] & (i != old.indices)
        rows.append(i[stays])
        columns.append(old.names[old.indices[stays]])
        costs.append(old.cost[stays])
    for pairs in tiles:
        for here, there in ((pairs.i, pairs.j), (pairs.j, pairs.i)):
            ours = (here >= start) & (here < stop)
            rows.append(here[ours] - np.int32(start))
            columns.append(there[ours])
            costs.append(pairs.cost[ours])
    place = np.concatenate(rows), np.concatenate(columns)
    matrix = coo_array((np.concatenate(costs), place), shape=(stop - start, n)).tocsr()
    matrix.sort_indices()
    j, within = matrix.indices, (matrix.indices >= start) & (matrix.indices < stop)
    others = np.unique(j[~within])
    places = np.where(within, j - start, stop - start + np.searchsorted(others, j))
    names = np.concatenate([np.arange(start, stop), others]).astype(np.int32)
    return SupportBlock(matrix.indptr.astype(np.int64), places.astype(np.int32), matrix.data, names)


def longest_row(indptr: IntArray, rows: IntArray) -> int:
    """The most entries that one of some rows has.

    Examples
    --------
    >>> longest_row(np.array([0, 4, 5, 7]), np.array([1, 2]))
    2
    """
    return int((indptr[rows + 1] - indptr[rows]).max(initial=0))


def screen(
    cost: Cost,
    r: FloatArray,
    run: Run,
    rows: IntArray | None = None,
    report: Callable[[int, int, int], None] = lambda done, total, found: None,
) -> Pairs:
    """The pairs `i < j` of S(r); with `rows` (ascending), only those that touch one of the rows.

    `report(tiles done, tiles in all, pairs found)` is called as the pass goes on, and may raise.
    """
    left, right = screened_sides(cost, r, rows)
    total, tiles = run.tiles(pairs_of_tile, left, right, TILE_ROWS, upper=rows is None)
    none = np.zeros(0, np.int32)
    found = [Pairs(none, none, np.zeros(0))]
    n_found = 0
    for done, pairs in enumerate(tiles, start=1):
        found.append(pairs)
        n_found += len(pairs)
        report(done, total, n_found)
    return Pairs.join(found)


def screened_sides(cost: Cost, r: FloatArray, rows: IntArray | None) -> tuple[Side, Side]:
    """The sides of a screening pass: some rows (all if None), and all points."""
    every: IntArray = np.arange(cost.n, dtype=np.int32)
    among = None
    if rows is not None:
        among = np.zeros(cost.n, bool)
        among[rows] = True
    right = Side(cost, every, every, r, rounded_up(cost, r), (among,))
    return right if rows is None else right.part(rows), right


def pairs_of_tile(left: Side, right: Side) -> Pairs:
    """The pairs of S(r) between some rows and some columns, each pair of two rows once."""
    among = right.values[0]
    found: list[Pairs] = []
    waiting: list[tuple[IntArray, IntArray]] = []
    n_waiting = 0

    def exact() -> Pairs:
        i, j = joined(waiting)
        x, y = left.names[i], right.names[j]
        keep = x < y if among is None else (x < y) | ((x > y) & ~among[j])
        i, j, x, y = i[keep], j[keep], x[keep], y[keep]
        C = left.cost.pairs(left.rows[i], j, right.cost)
        below = C < left.ceiling[i] + right.ceiling[j]  # type: ignore[index]
        return Pairs(np.minimum(x, y), np.maximum(x, y), C).where(below)

    for i, j in hits(left, right, upper=among is None):
        waiting.append((i, j))
        n_waiting += len(i)
        if n_waiting > _WAITING:
            found.append(exact())
            waiting, n_waiting = [], 0
    return Pairs.join([*found, exact()])


def joined(parts: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Several lists of pairs as one."""
    none = np.zeros(0, np.int32)
    i, j = (
        np.concatenate([none, *side]) for side in (zip(*parts, strict=True) if parts else ((), ()))
    )
    return i, j


def hits(left: Side, right: Side, upper: bool = False) -> Iterator[tuple[IntArray, IntArray]]:
    """The pairs that may have `r_i + r_j > C_ij`, by float32: their places on both sides.

    Columns of a row come in ascending order. With `upper` some that are before the row are missing.
    """
    assert left.ceiling is not None
    for start in range(0, len(left), TILE_ROWS):
        group = left.part(slice(start, start + TILE_ROWS))
        places: IntArray = np.arange(start, start + len(group), dtype=np.int32)
        first = max(0, int(left.names[start] - right.names[0])) // LEAF * LEAF if upper else 0
        for cluster, center in left.cost.clusters(group.rows, group.ceiling):
            some, own = group.part(cluster), places[cluster]
            columns = left.cost.within(some.rows, some.ceiling, right.cost, right.ceiling, first)
            if center is not None:
                some = about(some, center)
                for k in range(0, len(columns), _FAR_COLUMNS):
                    there = about(right.part(columns[k : k + _FAR_COLUMNS]), center)
                    for i, j in _hits_of_tiles(some, there, there.rows):
                        yield own[i], columns[k + j]
                continue
            if len(columns) > _NEARLY_ALL * (len(right) - first):  # what is in a row needs no copy
                columns = right.rows[first:]
            for i, j in _hits_of_tiles(some, right, columns):
                yield own[i], j


def about(side: Side, center: FloatArray) -> Side:
    """The same points, of which products are those about another center."""
    cost = side.cost.about(center, side.rows)
    every = np.arange(len(side), dtype=np.int32)
    bound = None if side.ceiling is None else rounded_up(cost, side.ceiling)
    return Side(cost, every, side.names, side.ceiling, bound, side.values)


def _hits_of_tiles(
    left: Side, right: Side, columns: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    assert left.bound is not None
    assert right.bound is not None
    for k in range(0, len(columns), left.cost.tile_columns):
        some = columns[k : k + left.cost.tile_columns]
        b = right.bound[as_slice(some)]
        i, j = left.cost.above(left.rows, -left.bound, right.cost, some, b)
        yield i, some[j]


def rounded_up(cost: Cost, r: FloatArray, rows: IntArray | slice = slice(None)) -> Float32Array:
    """Bounds in float32: `r_i + r_j > C_ij` only if the bounds of i and j add up to `> -G_ij`."""
    a = r - cost.shift[rows]
    a = a + cost.margin(a, rows)
    with np.errstate(over="ignore"):  # too large is infinite
        return np.nextafter(a.astype(np.float32), np.float32(np.inf))


def seconds_of_a_pass(cost: Cost, run: Run) -> float:
    """About how long one pass over all pairs takes, if no tile is ruled out."""
    cost.prepare()
    rows, columns = min(LEAF, cost.n), min(cost.tile_columns, cost.n)
    i, j = np.arange(rows, dtype=np.int32), np.arange(columns, dtype=np.int32)
    b, nothing = np.zeros(columns, np.float32), np.full(rows, np.inf, np.float32)
    took = []
    for _ in range(3):
        start = time.perf_counter()
        cost.above(i, nothing, cost, j, b)
        took.append(time.perf_counter() - start)
    return min(took) * cost.n**2 / (2 * rows * columns * run.threads.n_jobs)
