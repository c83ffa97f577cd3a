"""Tiles on the workers of a Dask cluster.

`Cluster` is the second home of a pass, beside `Threads`: it has the same `tiles`, and nothing above
this room knows in which of the two a pass runs. The points stay in blocks of rows on the workers,
as `Rows`; a cost over them (`BlockedPoints`) has a block of itself for each. What is
small, such as the part of the points that the first potentials come from, stays with the client,
and so do the support and Newton on it, as long as they fit there; else a row block of the support
is a result that stays on the workers.

A pass is cut into tiles of two blocks, so that no worker needs all points. A task gets two blocks,
the vectors that belong to their rows, and a function of two `Side`s; it returns what the function
returns, or leaves it on the workers for a task that finishes a block of rows. Tiles that boxes rule
out are never sent.

The same bits as threads give come out for any number of workers. Float32 is a filter whose
survivors are decided on in float64, by costs that depend on the two points alone; so it does not
matter how tiles are cut. Where a float32 number itself counts, as in the first rough potentials,
and where blocks are summed up, the rows are cut at the same places as by threads. Results are taken
in the order of the tiles, however they come in.

A few tasks for each thread of the workers are in flight, no more: neither the scheduler nor the
client has to hold what nobody has asked for yet. All that a task needs is either with the scheduler
or can be computed again, so that a worker that dies takes nothing with it. A worker that comes late
gets its share of the next tasks.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from logging import CRITICAL, getLogger
from mmap import mmap
from pathlib import Path
from sys import getsizeof
from time import monotonic
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot.engine._threads import Side, Threads
from sparrot.errors import ClusterError, InvalidInputError, NotEnoughMemoryError, load_extra

ALIGNED = 4096  # rows: blocks are multiples of it, so that sums are made of the same pieces
_FEW, _FEW_BYTES = 16 * ALIGNED, 64e6  # rows, and bytes, that the client computes with by itself
_BLOCKS = 32  # that points are cut into, unless blocks were too large or too small
_SMALLEST, _LARGEST = 4 * ALIGNED, 16 * ALIGNED  # rows of a block,
_BLOCK_BYTES = 32e6  # and bytes, unless they are so few rows that sums are made of
_COPIES = 8  # of a block that a tile may need, all that is computed of it counted
_PROCESS = 3e8  # bytes of a worker without any points: the interpreter and its packages
_USABLE = 0.8  # of the memory of a worker: where more is in use, Dask starts no task there
_AHEAD = 4  # tasks in flight for each thread of a worker
_LITTLE = 1e6  # bytes that may go with tasks, rather than by a task of their own
_LOOK_AGAIN = 1.0  # seconds until threads are counted anew,
_PATIENCE, _LOOKS = 10.0, 3  # and how often, after so many, no worker may be able to start a task
_LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a cost on the workers.

    Attributes
    ----------
    start, stop : its rows.
    future : the cost between them.
    leaves : boxes around them, by which tiles are ruled out; None if there are none.
    """

    start: int
    stop: int
    future: Any
    leaves: Any


class Cluster:
    """The workers of a Dask cluster, and the threads of the client.

    Parameters
    ----------
    client : a `dask.distributed.Client`.
    threads : those of the client, for what is not worth sending.
    """

    def __init__(self, client: Any, threads: Threads) -> None:
        self._client = as_client(client)
        self.threads = threads
        self._n_threads, self._counted_at = 1, -np.inf

    def hold(self, X: Any) -> Any:
        """Points for the workers; few points come to the client, for its threads.

        X is an array, a Dask array, or the path of a .npy file or a .zarr folder that the workers
        can read; an array that is mapped from a whole .npy file is read by them as well.
        """
        rows = self._rows(X)
        if len(rows) <= rows.few:
            return rows[np.arange(len(rows))]
        self._require_memory(rows)
        return rows

    def _rows(self, X: Any) -> Rows:
        """The rows, wherever they are."""
        path = X if isinstance(X, Path) else mapped_file(X)
        if path is not None and path.suffix not in (".npy", ".zarr"):
            raise InvalidInputError(
                f"is the file {str(path)!r}, and workers read .npy files and .zarr folders",
                parameter="X",
                value=path,
                remedy="save the points by {numpy.save}",
            )
        if path is not None and path.suffix == ".npy":
            return FileRows.of(self, path)
        if path is not None:
            with in_one_sentence():
                load_extra("zarr", "dask")
                X = load_extra("dask.array", "dask").from_zarr(str(path.absolute()))
        return ChunkRows.of(self, X) if is_dask_array(X) else ArrayRows(self, X)

    def tiles(
        self,
        function: Callable[[Side, Side], Result],
        left: Side,
        right: Side,
        size: int,
        finish: Callable[[Side, list[Result]], Any] | None = None,
        upper: bool = False,
    ) -> tuple[int, Iterator[Any]]:
        """As `Threads.tiles`, for costs in blocks; the rows of a tile are those of a block."""
        if not (_is_held(left.cost) or _is_held(right.cost)):
            return self.threads.tiles(function, left, right, size, finish)
        columns, groups = self._groups(left, right, upper)
        name = _name_of(function)
        if finish is None:
            tiles = [(a, b) for a, others in groups for b in others]
            _count_uses(tiles)
            return len(tiles), self.ordered(partial(self._tiles, name, function, None), tiles)
        whole = [(a, others or columns[:1]) for a, others in groups]
        _count_uses([(a, b) for a, others in whole for b in others])
        each = max(len(others) for _, others in whole)
        return len(whole), self.ordered(partial(self._whole, name, function, finish), whole, each)

    def keep_tiles(
        self, function: Callable[[Side, Side], Any], left: Side, right: Side, upper: bool
    ) -> tuple[int, Iterator[tuple[set[int], Any]]]:
        """The same, but results stay on the workers: with each go the blocks its points are in."""
        _, groups = self._groups(left, right, upper)
        tiles = [(a, b) for a, others in groups for b in others]
        _count_uses(tiles)
        starts = [block.start for block in right.cost.blocks]
        touched = {
            piece: {*(np.searchsorted(starts, piece.side.names, side="right") - 1).tolist()}
            for piece in dict.fromkeys(piece for tile in tiles for piece in tile)
        }
        start = partial(self._tiles, _name_of(function), function, None)
        kept = self.ordered(start, tiles, kept=True)
        blocks = [touched[a] | touched[b] for a, b in tiles]
        return len(tiles), zip(blocks, kept, strict=True)

    def _groups(
        self, left: Side, right: Side, upper: bool
    ) -> tuple[list[_Piece], list[tuple[_Piece, list[_Piece]]]]:
        """The columns by pieces, and for each piece of the rows those that it may meet."""
        columns = self._pieces(right)
        rows = columns if upper else self._pieces(left, gather=True)
        return columns, [
            (a, [b for b in columns if not (upper and b.place < a.place) and a.may_meet(b)])
            for a in rows
        ]

    def _tiles(self, name: str, function: Any, finish: Any, tiles: list[Any]) -> list[Any]:
        """The tasks of some tiles; with `finish` each is all that there is of its rows."""
        self._send(list(dict.fromkeys(piece for tile in tiles for piece in tile)))
        arguments = [(function, finish, *a.futures, *b.futures) for a, b in tiles]
        return self.submit_all(name, _run_tile, arguments)

    def _whole(self, name: str, function: Any, finish: Any, rows: list[Any]) -> list[Any]:
        """The tasks of some blocks of rows: their tiles, and those that finish the blocks."""
        if all(len(others) == 1 for _, others in rows):
            return self._tiles(name, function, finish, [(a, b) for a, (b,) in rows])
        tiles = iter(
            self._tiles(name, function, None, [(a, b) for a, others in rows for b in others])
        )
        arguments = [(finish, a.futures[1], list(islice(tiles, len(others)))) for a, others in rows]
        return self.submit_all(f"{name}-finish", _run_finish, arguments)

    def _send(self, pieces: list[_Piece]) -> None:
        """Send what the client has of some pieces; what is small, or used once, goes with tasks."""
        new = [piece for piece in pieces if not piece.futures]
        for piece in new:
            piece.futures = piece.side.cost, replace(piece.side, cost=None)
        for place, name in enumerate(("part", "vectors")):
            large = [piece for piece in new if piece.is_worth_sending(place)]
            sent = self.submit_all(name, _as_is, [(piece.futures[place],) for piece in large])
            for piece, future in zip(large, sent, strict=True):
                cost, vectors = piece.futures
                piece.futures = (future, vectors) if place == 0 else (cost, future)

    def _pieces(self, side: Side, gather: bool = False) -> list[_Piece]:
        """A side by the blocks of its cost; few rows of many blocks as one, if asked."""
        cost = side.cost
        if gather and _is_held(cost) and len(side) <= cost.blocks[0].stop:
            cost = cost.gathered(side.rows)
            side = replace(side, cost=cost, rows=np.arange(len(side), dtype=np.int32))
        if not _is_held(cost):
            if side.ceiling is None:
                return [_Piece(0, side, None)]
            cost.prepare()
            return [_Piece(0, side, cost.leaves())]
        starts = [block.start for block in cost.blocks]
        cuts = np.searchsorted(side.rows, [*starts, cost.blocks[-1].stop])
        pieces = []
        for k, block in enumerate(cost.blocks):
            part = side.part(slice(cuts[k], cuts[k + 1]))
            part = replace(part, cost=block.future, rows=part.rows - np.int32(block.start))
            if len(part):
                pieces.append(_Piece(k, part, block.leaves))
        return pieces

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A task of its own, shown on the dashboard under that name."""
        return self.submit_all(name, function, [arguments])[0]

    def each(
        self,
        name: str,
        function: Callable[..., Any],
        tasks: Sequence[Sequence[Any]],
        most: float = np.inf,
    ) -> Iterator[Any]:
        """Yield what `function(*arguments)` returns for each of them, in order.

        At most so many are in flight, where they carry much.
        """
        return self.ordered(partial(self.submit_all, name, function), tasks, most=most)

    def submit_all(
        self, name: str, function: Callable[..., Any], tasks: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """A task `function(*arguments)` for each of them, all in one message to the scheduler."""
        if not tasks:
            return []
        keys = [f"sparrot-{name}-{uuid4().hex}" for _ in tasks]
        with load_extra("dask", "dask").config.set({_LARGE_GRAPH: "1 TiB"}), in_one_sentence():
            columns = [list(column) for column in zip(*tasks, strict=True)]
            futures: list[Any] = self._client.map(function, *columns, key=keys, pure=False)
        return futures

    def compute(self, delayed: list[Any]) -> list[Any]:
        """The futures of what was put off so far."""
        with in_one_sentence():
            futures: list[Any] = self._client.compute(delayed)
        return futures

    def result(self, future: Any) -> Any:
        """What a task returns, or one sentence about the cluster."""
        return self._gather([future])[0]

    def _gather(self, futures: list[Any]) -> list[Any]:
        self._wait(futures)
        with in_one_sentence():
            found: list[Any] = self._client.gather(futures)
        return found

    def ordered(
        self,
        start: Callable[[list[Any]], list[Any]],
        pieces: Sequence[Any],
        each: int = 1,
        most: float = np.inf,
        kept: bool = False,
    ) -> Iterator[Any]:
        """Yield the results of tasks in the order of the pieces that they are for.

        `start` gets some of the pieces and returns a task for each, which needs `each` tasks at
        most. Few of them are in flight at any time. If they are kept, it is the tasks that are
        yielded, each when it is done.
        """
        running: deque[Any] = deque()
        rest = iter(pieces)
        try:
            while True:
                ahead = int(min(most, max(2, -(-_AHEAD * self._count_threads() // each))))
                if 2 * len(running) <= ahead:
                    running.extend(start(list(islice(rest, ahead - len(running)))))
                if not running:
                    return
                ready = [running.popleft()]
                while running and running[0].done():
                    ready.append(running.popleft())
                yield from self._done(ready) if kept else self._gather(ready)
        finally:
            if running:
                with in_one_sentence():
                    self._client.cancel(list(running))

    def _done(self, futures: list[Any]) -> list[Any]:
        """Tasks that are done; raises what one of them raised."""
        self._wait(futures)
        self._gather([future for future in futures if future.status != "finished"])
        return futures

    def _wait(self, futures: list[Any]) -> None:
        """Wait until they are done; raise where no worker has the memory to begin with any."""
        stuck = 0
        while not all(future.done() for future in futures):
            with in_one_sentence(), suppress(TimeoutError):
                load_extra("distributed", "dask").wait(futures, timeout=_PATIENCE)
                return
            workers = self._workers().values()
            stuck = stuck + 1 if workers and all(map(_is_stuck, workers)) else 0
            if stuck == _LOOKS:
                raise NotEnoughMemoryError(
                    "the memory of all workers is full, and Dask has paused them",
                    remedy=["give the workers more memory", "give them fewer threads"],
                )

    def memory(self) -> float:
        """Bytes that all workers may take together, infinite where they have no limit."""
        limits = [float(worker["memory_limit"] or np.inf) for worker in self._workers().values()]
        return sum(_USABLE * limit - _PROCESS for limit in limits)

    def _workers(self) -> dict[str, Any]:
        """What the scheduler knows of each worker; of all, whatever the version of Dask."""
        with in_one_sentence():
            known: dict[str, Any] = self._client.sync(self._client.scheduler.identity)["workers"]
        return known

    def _count_threads(self) -> int:
        """Threads of all workers, counted now and then: some may come late."""
        if monotonic() - self._counted_at > _LOOK_AGAIN:
            with in_one_sentence():
                self._n_threads = sum(self._client.nthreads().values())
            self._counted_at = monotonic()
        return self._n_threads

    def _require_memory(self, rows: Rows) -> None:
        """Raise where a worker could not hold the blocks of a tile: it would be killed for it."""
        tile = _COPIES * rows.block * rows.shape[1] * 8.0
        for address, worker in self._workers().items():
            limit, total = worker["memory_limit"], tile * worker["nthreads"] + _PROCESS
            if limit and total > _USABLE * limit:
                raise NotEnoughMemoryError(
                    f"tiles of {rows.block} x {rows.shape[1]} points need about {total / 1e9:.2g} "
                    f"GB on the worker {address}, and of its {limit / 1e9:.2g} GB Dask uses "
                    f"{100 * _USABLE:.0f} %",
                    remedy=["give the workers more memory", "give them fewer threads"],
                )


class _Piece:
    """The part of a side that is in one block, or all of it if its cost is not in blocks.

    Parameters
    ----------
    place : of the block among others.
    side : the part; its cost is the future of one, or a cost that is with the client.
    leaves : boxes around the points of the block, if there are any.
    """

    def __init__(self, place: int, side: Side, leaves: Any) -> None:
        self.place = place
        self.side = side
        self._leaves = leaves
        self._ceilings = (
            None
            if leaves is None or side.ceiling is None
            else leaves.ceilings(side.rows, side.ceiling)
        )
        self.uses = 0  # tiles that it is in
        self.futures: tuple[Any, ...] = ()  # or what goes with tasks: the cost, and the vectors

    def may_meet(self, other: _Piece) -> bool:
        """Whether boxes leave any pair of the two."""
        if self._ceilings is None or other._ceilings is None:
            return True
        met: bool = self._leaves.may_meet(self._ceilings, other._leaves, other._ceilings)
        return met

    def is_worth_sending(self, place: int) -> bool:
        """Whether the cost (or the vectors) would travel much, if it went with every tile."""
        what = self.futures[place]
        return not hasattr(what, "key") and self.uses > 1 and self.uses * getsizeof(what) > _LITTLE


def _count_uses(tiles: list[tuple[_Piece, _Piece]]) -> None:
    for piece, uses in Counter(piece for tile in tiles for piece in tile).items():
        piece.uses = uses


class Rows:
    """The rows of a matrix, for the workers of a cluster.

    Attributes
    ----------
    shape, dtype : those of the matrix.
    block : rows of a block.
    few : rows, at most, that are not worth sending.
    """

    shape: tuple[int, int]
    dtype: Any

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def __len__(self) -> int:
        """How many rows."""
        return self.shape[0]

    @property
    def block(self) -> int:
        """Rows of a block, which do not depend on the cluster."""
        n, p = self.shape
        rows = np.clip(-(-n // (_BLOCKS * ALIGNED)) * ALIGNED, _SMALLEST, _LARGEST)
        return min(int(rows), _aligned(_BLOCK_BYTES, p))

    @property
    def few(self) -> int:
        """Rows, at most, that the client computes with by itself."""
        return min(_FEW, _aligned(_FEW_BYTES, self.shape[1]))

    def cuts(self) -> list[slice]:
        """All rows by blocks; the last one may be larger, so that none is tiny."""
        cuts = list(range(0, max(self.block, len(self) - self.block + 1), self.block))
        return [slice(a, b) for a, b in zip(cuts, [*cuts[1:], len(self)], strict=True)]

    @cached_property
    def blocks(self) -> list[Block]:
        """The points themselves on the workers, as a side of tiles that needs no cost."""
        return [
            Block(cut.start, cut.stop, self.submit("points", _as_is, cut), None)
            for cut in self.cuts()
        ]

    def gathered(self, index: IntArray) -> PointArray:
        """Some rows, as a side of tiles that is with the client."""
        return self[index]

    def extent(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest entry of every column."""
        low, high = zip(*self.each("extent", _extent), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)

    def __getitem__(self, index: IntArray) -> PointArray:
        """Some rows, brought to the client."""
        raise NotImplementedError

    def take(self, index: IntArray) -> Self:
        """Some rows, on the workers."""
        raise NotImplementedError

    def each(self, name: str, function: Callable[..., Any], *vectors: Any) -> list[Any]:
        """What a function returns for every `ALIGNED` rows, and as many entries of the vectors."""
        raise NotImplementedError

    def submit(self, name: str, function: Callable[..., Any], rows: slice, *more: Any) -> Any:
        """The task `function(some rows, *more)`."""
        raise NotImplementedError

    def mapped(self, function: Callable[[PointArray], PointArray]) -> Self:
        """The same rows, each changed by a function to one of float64."""
        raise NotImplementedError


class ArrayRows(Rows):
    """Rows of an array that the client has.

    Parameters
    ----------
    cluster : where they go.
    X : the array.
    index : which of its rows, and in which order; None for all.
    """

    def __init__(self, cluster: Cluster, X: PointArray, index: IntArray | None = None) -> None:
        super().__init__(cluster)
        self._X, self._index = X, index
        self.shape, self.dtype = (len(X) if index is None else len(index), X.shape[1]), X.dtype

    def __getitem__(self, index: Any) -> PointArray:
        """Some rows."""
        rows: PointArray = self._X[_among(self._index, index)]
        return rows

    def take(self, index: IntArray) -> ArrayRows:
        """Some rows."""
        return ArrayRows(self.cluster, self._X, _among(self._index, index))

    def each(self, name: str, function: Callable[..., Any], *vectors: Any) -> list[Any]:
        """By the threads of the client, which has the rows."""
        cuts = [slice(k, k + ALIGNED) for k in range(0, len(self), ALIGNED)]
        some = self.cluster.threads.map(
            lambda cut: function(self[cut], *(vector[cut] for vector in vectors)), cuts
        )
        return list(some)

    def submit(self, name: str, function: Callable[..., Any], rows: slice, *more: Any) -> Any:
        """The rows travel with the task."""
        return self.cluster.submit(name, function, self[rows], *more)

    def mapped(self, function: Callable[[PointArray], PointArray]) -> ArrayRows:
        """Changed here."""
        return ArrayRows(self.cluster, function(self._X), self._index)


class FileRows(Rows):
    """Rows of a file that the workers read.

    Parameters
    ----------
    cluster : who reads it.
    path : the file.
    shape, dtype : those of what is in it.
    index : which of its rows, and in which order; None for all.
    change : what is done to the rows that were read.
    """

    def __init__(
        self,
        cluster: Cluster,
        path: Path,
        shape: tuple[int, int],
        dtype: Any,
        index: IntArray | None = None,
        change: Callable[[PointArray], PointArray] | None = None,
    ) -> None:
        super().__init__(cluster)
        self._path, self._index, self._change = path, index, change
        self.shape, self.dtype = (shape[0] if index is None else len(index), shape[1]), dtype

    @classmethod
    def of(cls, cluster: Cluster, path: Path) -> FileRows:
        """All rows of a file; raises if no worker can read it."""
        path = path.absolute()
        shape, dtype = cluster.result(cluster.submit("file", _describe, path))
        if len(shape) != 2 or shape[0] < 2 or dtype not in (np.float32, np.float64):
            raise InvalidInputError(
                f"{path} holds an array of shape {shape} and type {dtype}",
                parameter="X",
                value=path,
                remedy="save a matrix of float32 or float64, one row per point",
            )
        return cls(cluster, path, shape, dtype)

    def __getitem__(self, index: Any) -> PointArray:
        """Some rows, read by a worker."""
        return self.cluster.result(self.submit("rows", _as_is, index))

    def take(self, index: IntArray) -> FileRows:
        """Some rows."""
        places = _among(self._index, index)
        return FileRows(self.cluster, self._path, self.shape, self.dtype, places, self._change)

    def each(self, name: str, function: Callable[..., Any], *vectors: Any) -> list[Any]:
        """By tasks of a block each."""
        tasks = [
            (*self._read(partial(_each, function), rows), *(vector[rows] for vector in vectors))
            for rows in self.cuts()
        ]
        return [one for several in self.cluster.each(name, _read_and, tasks) for one in several]

    def submit(self, name: str, function: Callable[..., Any], rows: Any, *more: Any) -> Any:
        """A worker reads the rows."""
        return self.cluster.submit(name, _read_and, *self._read(function, rows), *more)

    def _read(self, function: Any, rows: Any) -> tuple[Any, ...]:
        return function, self._path, self._change, _among(self._index, rows)

    def mapped(self, function: Callable[[PointArray], PointArray]) -> FileRows:
        """Changed by the workers, as they read."""
        real = np.dtype(np.float64)
        return FileRows(self.cluster, self._path, self.shape, real, self._index, function)


class ChunkRows(Rows):
    """Rows in blocks that are on the workers already.

    Parameters
    ----------
    cluster : where they are.
    futures : the blocks, as `cuts` has them.
    shape, dtype : those of all rows.
    """

    def __init__(
        self, cluster: Cluster, futures: list[Any], shape: tuple[int, int], dtype: Any
    ) -> None:
        super().__init__(cluster)
        self._futures = futures
        self.shape, self.dtype = shape, dtype

    @classmethod
    def of(cls, cluster: Cluster, X: Any) -> ChunkRows:
        """The rows of a Dask array, computed by the workers and cut into blocks."""
        if X.ndim != 2 or X.dtype.kind not in "fiub" or not all(n >= 1 for n in X.shape):
            raise InvalidInputError(
                f"is a Dask array of shape {X.shape} and type {X.dtype}",
                parameter="X",
                value=X.shape,
                remedy=["pass a matrix of numbers", "call its compute_chunk_sizes() first"],
            )
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        rows = cls(cluster, [], (int(X.shape[0]), int(X.shape[1])), dtype)
        sizes = tuple(cut.stop - cut.start for cut in rows.cuts())
        blocks = X.astype(dtype).rechunk((sizes, (rows.shape[1],))).to_delayed().ravel()
        rows._futures = cluster.compute(list(blocks))
        return rows

    def __getitem__(self, index: Any) -> PointArray:
        """Some rows, in the order that is asked for."""
        out = np.empty((len(index), self.shape[1]), self.dtype)
        places, tasks = self._pieces(index)
        for place, rows in zip(places, self.cluster.each("pick", _pick, tasks), strict=True):
            out[place] = rows
        return out

    def _pieces(self, index: IntArray) -> tuple[list[IntArray], list[Any]]:
        """For each block that has some of the rows: their places, and what picks them."""
        starts = [cut.start for cut in self.cuts()]
        block = np.searchsorted(starts, index, side="right") - 1
        places = [np.flatnonzero(block == k) for k in np.unique(block)]
        return places, [
            (self._futures[k], index[place] - starts[k])
            for k, place in zip(np.unique(block), places, strict=True)
        ]

    def take(self, index: IntArray) -> ChunkRows:
        """Some rows, which go from worker to worker."""
        taken = ChunkRows(self.cluster, [], (len(index), self.shape[1]), self.dtype)

        def start(cuts: list[slice]) -> list[Any]:
            return [self._taken(index[cut]) for cut in cuts]

        each = 1 + len(self._futures)
        taken._futures.extend(self.cluster.ordered(start, taken.cuts(), each, kept=True))
        return taken

    def _taken(self, index: IntArray) -> Any:
        """The task that makes a block of some rows, picked from the blocks that have them."""
        places, tasks = self._pieces(index)
        picked = self.cluster.submit_all("pick", _pick, tasks)
        return self.cluster.submit("block", _assemble, places, picked)

    def each(self, name: str, function: Callable[..., Any], *vectors: Any) -> list[Any]:
        """By tasks of a block each."""
        tasks = [
            (function, future, *(vector[cut] for vector in vectors))
            for cut, future in zip(self.cuts(), self._futures, strict=True)
        ]
        return [one for several in self.cluster.each(name, _each, tasks) for one in several]

    def submit(self, name: str, function: Callable[..., Any], rows: slice, *more: Any) -> Any:
        """Where the block is."""
        future = self._futures[[cut.start for cut in self.cuts()].index(rows.start)]
        return self.cluster.submit(name, function, future, *more)

    def mapped(self, function: Callable[[PointArray], PointArray]) -> ChunkRows:
        """Changed by the workers."""
        futures = [self.cluster.submit("change", function, future) for future in self._futures]
        return ChunkRows(self.cluster, futures, self.shape, np.dtype(np.float64))


def is_dask_array(X: Any) -> bool:
    """Whether it is a Dask array, found out without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "rechunk")


def mapped_file(X: Any) -> Path | None:
    """The .npy file that an array is mapped from as a whole; None if there is none."""
    if not isinstance(X, np.ndarray):
        return None
    base: Any = X
    last = X
    while isinstance(base, np.ndarray):
        last, base = base, base.base
    if not isinstance(base, mmap) or not isinstance(last, np.memmap) or last.filename is None:
        return None
    path = Path(last.filename)
    whole = last.shape == X.shape and last.dtype == X.dtype and last.ctypes.data == X.ctypes.data
    return path if whole and path.suffix == ".npy" else None


def as_client(client: Any) -> Any:
    """A `dask.distributed.Client` that is connected, perhaps to an address that was given."""
    distributed = load_extra("distributed", "dask")
    if isinstance(client, str) and "://" in client:
        with in_one_sentence():
            client = distributed.get_client(client)
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InvalidInputError(
            f"must be a dask.distributed.Client that waits for results, got {client!r}",
            parameter="engine",
            value=client,
            remedy="pass {engine=Client(address)}, or None for the threads of this machine",
        )
    if client.status != "running":
        raise ClusterError(
            f"the client is {client.status}", parameter="engine", remedy="connect it again"
        )
    return client


def require_address(address: str) -> int:
    """How many processes `local:N` means, 0 for the address of a scheduler; raise for the rest.

    Examples
    --------
    >>> require_address("local:2"), require_address("tcp://host:8786")
    (2, 0)
    """
    kind, _, number = address.partition(":")
    local = int(number) if kind == "local" and number.isdecimal() else 0
    if not local and "://" not in address:
        raise InvalidInputError(
            "must be the address of a scheduler, such as tcp://host:8786, or local:4, got "
            f"{address!r}",
            parameter="engine",
            value=address,
            remedy="take local:2 for two processes of this machine",
        )
    return local


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of `local:N`, N processes of this machine.

    For a command, which tells by itself what ends it: Dask logs nothing less than a disaster.
    """
    if address is None:
        yield None
        return
    local = require_address(address)
    distributed = load_extra("distributed", "dask")
    for name in ("distributed", "distributed.client"):
        getLogger(name).setLevel(CRITICAL)
    with ExitStack() as opened:
        with in_one_sentence():
            cluster = address
            if local:
                cluster = opened.enter_context(
                    distributed.LocalCluster(
                        n_workers=local,
                        threads_per_worker=1,
                        silence_logs=CRITICAL,
                        dashboard_address=None,
                        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # any free port
                    )
                )
            client = opened.enter_context(distributed.Client(cluster))
        yield client


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Turn what Dask raises when a cluster fails into one sentence."""
    distributed = load_extra("distributed", "dask")
    try:
        yield
    except distributed.KilledWorker as error:
        raise ClusterError(
            f"the last of several workers that died of one task was {error.last_worker.address}; "
            "it may have run out of memory",
            remedy=["see its log", "give the workers more memory"],
        ) from error
    except (CancelledError, TimeoutError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise InvalidInputError(
                f"{error.filename} cannot be read by a worker ({error.strerror})",
                parameter="X",
                value=error.filename,
                remedy="put it where all workers can read it",
            ) from error
        why = " ".join(str(error).split()) or type(error).__name__
        if "scheduler-connection-lost" in why:  # which Dask says of every task
            why = "the connection to the scheduler is lost"
        raise ClusterError(
            f"the cluster is gone ({why})",
            remedy=["start it again", "with {checkpoint} a later call goes on from here"],
        ) from error


def _aligned(n_bytes: float, p: int) -> int:
    """Rows of so many bytes in all, but no fewer than sums are made of."""
    return ALIGNED * max(1, int(n_bytes / (8 * p * ALIGNED)))


def _among(places: IntArray | None, index: Any) -> Any:
    """Where some of the rows are that have these places, or each its own if None."""
    return index if places is None else places[index]


def _is_held(cost: Any) -> bool:
    """Whether a cost is in blocks on the workers."""
    return hasattr(cost, "blocks")


def _is_stuck(worker: dict[str, Any]) -> bool:
    """Whether a worker is paused and runs no task that may free memory."""
    running: int = worker["metrics"].get("task_counts", {}).get("executing", 0)
    return worker["status"] == "paused" and not running


def _name_of(function: Any) -> str:
    """The name of a pass on the dashboard."""
    name: str = getattr(function, "func", function).__name__
    return name.strip("_").replace("_", "-")


def _as_is(thing: Any) -> Any:
    return thing


def _run_tile(function: Any, finish: Any, a: Any, rows: Side, b: Any, columns: Side) -> Any:
    """The work of a task, with single-threaded BLAS as everywhere."""
    with Threads(1):
        if rows.ceiling is not None:  # what was prepared on another worker did not travel
            a.prepare()
            b.prepare()
        found = function(replace(rows, cost=a), replace(columns, cost=b))
        return found if finish is None else finish(rows, [found])


def _run_finish(finish: Any, rows: Side, tiles: list[Any]) -> Any:
    with Threads(1):
        return finish(rows, tiles)


def _extent(X: PointArray) -> tuple[Any, Any]:
    return X.min(axis=0), X.max(axis=0)


def _each(function: Any, X: PointArray, *vectors: Any) -> list[Any]:
    cuts = [slice(k, k + ALIGNED) for k in range(0, len(X), ALIGNED)]
    return [function(X[cut], *(vector[cut] for vector in vectors)) for cut in cuts]


def _pick(X: PointArray, places: IntArray) -> PointArray:
    rows: PointArray = X[places]
    return rows


def _assemble(places: list[IntArray], parts: list[PointArray]) -> PointArray:
    X = np.empty((sum(map(len, places)), parts[0].shape[1]), parts[0].dtype)
    for place, part in zip(places, parts, strict=True):
        X[place] = part
    return X


def _describe(path: Path) -> tuple[tuple[int, ...], Any]:
    X = np.load(path, mmap_mode="r")
    return X.shape, X.dtype


def _read_rows(path: Path, places: Any) -> PointArray:
    """Some rows of a file, without its pages around them: those would count as memory in use."""
    mapped = np.load(path, mmap_mode="r")
    if not mapped.flags.c_contiguous:
        return np.array(mapped[places])
    index = np.arange(len(mapped))[places]
    X = np.empty((len(index), mapped.shape[1]), mapped.dtype)
    with path.open("rb", buffering=0) as file:
        for row, place in zip(X, index.tolist(), strict=True):
            file.seek(mapped.offset + place * row.nbytes)
            if file.readinto(row) != row.nbytes:
                raise OSError(f"{path} ends before its row {place}")
    return X


def _read_and(function: Any, path: Path, change: Any, places: Any, *more: Any) -> Any:
    X = _read_rows(path, places)
    with Threads(1):
        return function(X if change is None else change(X), *more)
