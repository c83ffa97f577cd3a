"""Tiles and row blocks on the threads of this machine.

The work is cut the same way for any number of threads, each piece is computed by one thread with
single-threaded BLAS, and results come back in the order of the pieces. So no result depends on
the number of threads.

A pass over pairs of points is a function of two sides, some rows and some columns, and `tiles` runs
it for all of them. It must not matter to the function how many rows and columns it gets at once:
here these are a few rows and all columns.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from numbers import Integral
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

from sparrot._types import Float32Array, FloatArray, IntArray
from sparrot.errors import InvalidInputError

_MOST_JOBS = 2**31 - 1  # what an integer in C can hold
_BLOCK_ENTRIES = 4_000_000  # of a dense block in work, 32 MB
Piece = TypeVar("Piece")
Result = TypeVar("Result")


def row_blocks(n_rows: int, n_columns: int) -> list[slice]:
    """Slices of the rows of a dense matrix that is computed block by block, whatever the threads.

    Examples
    --------
    >>> row_blocks(2500, 4000)
    [slice(0, 1000, None), slice(1000, 2000, None), slice(2000, 2500, None)]
    """
    size = max(1, _BLOCK_ENTRIES // n_columns)
    return [slice(k, min(k + size, n_rows)) for k in range(0, n_rows, size)]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a tile: some rows of a cost, with numbers for each of them.

    Attributes
    ----------
    cost : the cost, of all points or of a block of them; or the points, for a pass that has none.
    rows : places in it, ascending; a right side has all of them.
    names : which of all points they are.
    ceiling, bound : ceilings on their potentials, and these rounded up, where a pass has any.
    values : further arrays that a pass needs, each with an entry for each row, or None.
    """

    cost: Any
    rows: IntArray
    names: IntArray
    ceiling: FloatArray | None = None
    bound: Float32Array | None = None
    values: tuple[Any, ...] = ()

    def __len__(self) -> int:
        """How many rows."""
        return len(self.rows)

    def __sizeof__(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.rows, self.names, self.ceiling, self.bound, *self.values)
        return sum(_bytes_of(array) for array in arrays if array is not None)

    def part(self, places: Any) -> Side:
        """Some of the rows."""
        ceiling, bound, *values = (
            None if array is None else array[places]
            for array in (self.ceiling, self.bound, *self.values)
        )
        return Side(self.cost, self.rows[places], self.names[places], ceiling, bound, tuple(values))

    def parts(self, size: int) -> list[Side]:
        """All rows, so many at a time."""
        return [self.part(slice(k, k + size)) for k in range(0, len(self), size)]


def _bytes_of(array: Any) -> int:
    """Bytes of an array, or of a sparse matrix."""
    n_bytes: int = array.nbytes if hasattr(array, "nbytes") else 12 * array.nnz
    return n_bytes


def _cores() -> int:
    """How many cores may be used; what joblib finds is kept, for it takes 0.1 ms to look."""
    affinity = getattr(os, "sched_getaffinity", lambda process: ())(0)
    return _cores_of(frozenset(affinity), os.environ.get("LOKY_MAX_CPU_COUNT"))


@cache
def _cores_of(affinity: frozenset[int], most: str | None) -> int:
    """The same for a process that may run on these, and for a variable that joblib reads."""
    return joblib.cpu_count()


@cache
def _blas() -> Any:
    """All BLAS libraries of this process; looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def _blas_libraries() -> list[Any]:
    return _blas().lib_controllers


class _SingleThreadedBlas:
    """Holds BLAS to one thread while anybody needs it.

    Most libraries have one setting for the process. As of threadpoolctl 3.8 only the thread that
    changed it first may change it again, and everybody else is ignored without a word. So a thread
    that does nothing else sets the limit and takes it back, and nobody can change it meanwhile. It
    waits for the next time: to start one takes longer than to solve a small problem.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limit = ExitStack()
        self._tasks: SimpleQueue[tuple[Callable[[], None], Future[None]]] = SimpleQueue()
        self._holder: Thread | None = None

    def acquire(self) -> None:
        with self._lock:
            if self._users == 0:
                try:
                    self._ask(self._hold).result()
                except BaseException:  # an interrupt finds it on its way
                    self._ask(self._limit.close)
                    raise
            self._users += 1

    def release(self) -> None:
        with self._lock:
            if self._users == 0:  # a fork counts from zero within a call
                return
            self._users -= 1
            if self._users == 0:
                self._ask(self._limit.close).result()

    def _ask(self, task: Callable[[], None]) -> Future[None]:
        """Let the thread do something; it starts when it is first asked."""
        if self._holder is None:
            holder = Thread(target=_serve, args=(self._tasks,), name="sparrot-blas", daemon=True)
            holder.start()
            self._holder = holder
        done: Future[None] = Future()
        self._tasks.put((task, done))
        return done

    def _hold(self) -> None:
        """Hold BLAS to one thread until the limit is closed."""
        blas = _blas()
        for library in blas.lib_controllers:  # as of threadpoolctl 3.8
            getattr(library, "clear_controlling_thread", lambda force: None)(force=True)
        self._limit.enter_context(blas.limit(limits=1))


def _serve(tasks: SimpleQueue[tuple[Callable[[], None], Future[None]]]) -> None:
    """Do one thing after the other, for good."""
    while True:
        task, done = tasks.get()
        try:
            done.set_result(task())
        except BaseException as error:  # whoever waits gets it
            done.set_exception(error)


def _limit_this_thread() -> list[tuple[Any, int]]:
    """Hold BLAS to one thread here, where each thread has a number of its own (OpenMP).

    Returns the libraries that needed it, and the numbers that they had.
    """
    numbers = [(library, library.get_num_threads()) for library in _blas_libraries()]
    changed = [(library, n) for library, n in numbers if n is not None and n > 1]
    for library, _ in changed:
        library.set_num_threads(1)
    return changed


_BLAS = _SingleThreadedBlas()
if hasattr(os, "register_at_fork"):  # a fork has no threads but one
    os.register_at_fork(after_in_child=_BLAS.__init__)  # type: ignore[misc]


class Threads:
    """A pool of `n_jobs` threads; a context manager that holds BLAS to one thread meanwhile.

    Parameters
    ----------
    n_jobs : number of threads; `None` for all cores, negative to count back from all cores
        (-1 is all of them, -2 all but one), as in joblib.

    Examples
    --------
    >>> from sparrot.engine import Threads
    >>> with Threads(2) as threads:
    ...     list(threads.map(abs, [-3, -2, -1]))
    [3, 2, 1]
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        whole = isinstance(n_jobs, Integral) and 0 < abs(int(n_jobs)) <= _MOST_JOBS
        if n_jobs is not None and not whole:
            raise InvalidInputError(
                f"must be a nonzero integer, got {str(n_jobs)[:40]}",
                parameter="n_jobs",
                value=n_jobs,
                remedy="leave it out for all cores",
            )
        self.n_jobs: int = _cores() if n_jobs is None else joblib.effective_n_jobs(n_jobs)
        self._pool: ThreadPoolExecutor | None = None
        self._limited: list[tuple[Any, int]] = []

    def __enter__(self) -> Threads:
        """Start the pool."""
        _BLAS.acquire()
        self._limited = _limit_this_thread()
        if self.n_jobs > 1:
            self._pool = ThreadPoolExecutor(self.n_jobs, "sparrot", _limit_this_thread)
        return self

    def __exit__(self, *raised: Any) -> None:
        """Stop the pool: pieces not begun are dropped, BLAS gets its threads back."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        for library, n in self._limited:
            library.set_num_threads(n)
        _BLAS.release()

    def map(self, function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
        """Yield `function(piece)` for every piece, in order; a few pieces run ahead."""
        if self._pool is None or len(pieces) < 2:
            return map(function, pieces)
        return self._map_ahead(self._pool, function, pieces)

    def tiles(
        self,
        function: Callable[[Side, Side], Result],
        left: Side,
        right: Side,
        size: int,
        finish: Callable[[Side, list[Result]], Any] | None = None,
        upper: bool = False,
    ) -> tuple[int, Iterator[Any]]:
        """Run a pass over the pairs of two sides: the number of its results, and these in order.

        There is one of `function(some rows, some columns)` for each tile; or with `finish` one for
        each group of rows, `finish(rows, what the function returned for them and each of the groups
        of columns)`. Tiles have at most `size` rows, or more where that is better. With `upper`
        both sides are the same, and columns before the rows may be left out.
        """
        if left.ceiling is not None:
            left.cost.prepare()
            right.cost.prepare()
        groups = left.parts(size)
        if finish is None:
            whole = partial(function, right=right)  # type: ignore[call-arg]
            return len(groups), self.map(whole, groups)
        return len(groups), self.map(lambda rows: finish(rows, [function(rows, right)]), groups)

    def share(self, function: Callable[[], None], most: int) -> None:
        """Call a function here, and meanwhile on other threads: on so many in all, at most.

        The calls share some work, and each returns when there is none left. So a thread that comes
        late, as it does when it was asleep, costs nothing, and nobody waits for it to return, nor
        hears of its errors. There are no more threads than cores: they may wait for each other.
        """
        if self._pool is not None:
            for _ in range(1, min(most, self.n_jobs, _cores())):
                self._pool.submit(function)
        function()

    def _map_ahead(
        self,
        pool: ThreadPoolExecutor,
        function: Callable[[Piece], Result],
        pieces: Sequence[Piece],
    ) -> Iterator[Result]:
        running: deque[Future[Result]] = deque()
        for piece in pieces:
            running.append(pool.submit(function, piece))
            if len(running) == 4 * self.n_jobs:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def blocks(
        self,
        function: Callable[[int, int], None],
        n: int,
        size: int,
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        """Call `function(start, stop)` over `range(n)` in blocks of a fixed size.

        `report(blocks done, blocks in all)` is called as it goes on, and may raise.
        """
        starts = range(0, n, size)
        if report is None and (self._pool is None or len(starts) < 2):
            for start in starts:
                function(start, min(start + size, n))
            return
        pieces = self.map(lambda start: function(start, min(start + size, n)), starts)
        for done, _ in enumerate(pieces, start=1):
            if report is not None:
                report(done, len(starts))
