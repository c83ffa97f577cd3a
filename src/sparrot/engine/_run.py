"""What every step of a solve needs: where to run, how much memory to take, whom to tell.

Memory is asked for before a large allocation, not found missing after it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from sparrot.engine._dask import Cluster
from sparrot.engine._progress import Progress, ProgressCallback, as_progress
from sparrot.engine._threads import Side, Threads
from sparrot.errors import NotEnoughMemoryError

_MEMINFO, _STATUS = Path("/proc/meminfo"), Path("/proc/self/status")
_CGROUP = Path("/sys/fs/cgroup")
Result = TypeVar("Result")


class Run:
    """The resources of one call; a context manager.

    Parameters
    ----------
    n_jobs : number of threads, as for `Threads`.
    max_memory : bytes that may be taken; what is available if None.
    progress : True for a progress bar, or a function of a `Progress`; None for silence.
    engine : a `dask.distributed.Client` whose workers compute tiles; threads do if None.

    Attributes
    ----------
    threads : those of this machine.
    tiles : runs a pass over pairs, as `Threads.tiles`.

    Examples
    --------
    >>> with Run(2) as run:
    ...     list(run.threads.map(abs, [-3, -2, -1]))
    [3, 2, 1]
    """

    def __init__(
        self,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        progress: bool | ProgressCallback | None = None,
        engine: Any = None,
    ) -> None:
        self.threads = Threads(n_jobs)
        self._cluster = None if engine is None else Cluster(engine, self.threads)
        self.tiles = (self._cluster or self.threads).tiles
        self.max_memory = max_memory
        if progress is not None:
            as_progress(progress)  # raises if it cannot be used
        self._asked = progress
        self._progress: ProgressCallback | None = None
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        """Start the threads, and a progress bar if one was asked for."""
        with ExitStack() as entered:
            entered.enter_context(self.threads)
            if self._asked:
                self._progress = entered.enter_context(as_progress(self._asked))
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        """Take the progress bar away, and stop the threads."""
        self._entered.__exit__(*raised)

    def hold(self, X: Any) -> Any:
        """Points where tiles are computed: as they are, or in blocks on workers."""
        return X if self._cluster is None else self._cluster.hold(X)

    @property
    def has_workers(self) -> bool:
        """Whether there are any besides the threads."""
        return self._cluster is not None

    def holds(self, cost: Any) -> bool:
        """Whether the points of a cost are on the workers."""
        return self._cluster is not None and hasattr(cost, "blocks")

    def on_workers(
        self,
        name: str,
        function: Callable[..., Result],
        tasks: Sequence[Sequence[Any]],
        most: float = float("inf"),
    ) -> Iterator[Result]:
        """Yield what workers return as `function(*arguments)` for each of them, in order.

        At most so many are on their way at any time.
        """
        assert self._cluster is not None
        return self._cluster.each(name, function, tasks, most)

    def keep(
        self, name: str, function: Callable[..., Any], tasks: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """The same, but what is returned stays on the workers, for later tasks."""
        assert self._cluster is not None
        return self._cluster.submit_all(name, function, tasks)

    def keep_tiles(
        self, function: Callable[[Side, Side], Any], left: Side, right: Side, upper: bool
    ) -> tuple[int, Iterator[tuple[set[int], Any]]]:
        """As `tiles`, but results stay there; with each go the blocks that its points are in."""
        assert self._cluster is not None
        return self._cluster.keep_tiles(function, left, right, upper)

    def report(self, stage: str, n_points: int, done: int, total: int = 0, **more: Any) -> None:
        """Tell how far the work is; may raise."""
        if self._progress is not None:
            self._progress(Progress(stage, n_points, done, total, **more))

    def memory(self) -> float:
        """Bytes that may be taken."""
        return memory_budget(self.max_memory)

    def worker_memory(self) -> float:
        """Bytes that all workers may take together."""
        return float("inf") if self._cluster is None else self._cluster.memory()

    def require_memory(self, n_bytes: float, *, what: str, remedy: str | Sequence[str]) -> None:
        """Raise `NotEnoughMemoryError` if so much is not available, or is more than allowed."""
        require_memory(n_bytes, what=what, remedy=remedy, max_memory=self.max_memory)


def available_memory() -> float:
    """Bytes that this process may still take, or infinity where the system does not tell."""
    return min(_system_available(), _cgroup_available(), _process_available())


def require_memory(
    n_bytes: float, *, what: str, remedy: str | Sequence[str], max_memory: float | None = None
) -> None:
    """Raise `NotEnoughMemoryError` if `n_bytes` are not available, or are more than allowed."""
    available = memory_budget(max_memory)
    if n_bytes > available:
        raise NotEnoughMemoryError(
            f"{what} needs about {_size(n_bytes)}, and {_size(available)} are available",
            remedy=remedy,
        )


def memory_budget(max_memory: float | None) -> float:
    """Bytes that may be taken: what is available, but no more than the user allows."""
    available = available_memory()
    return available if max_memory is None else min(available, max_memory)


def peak_memory() -> int | None:
    """The most bytes that this process has held, or None where the system does not tell.

    Examples
    --------
    >>> peak_memory() is None or peak_memory() > 1e6
    True
    """
    most = _status("VmHWM")
    if most is not None:
        return most
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.3g} MB"


def _system_available() -> float:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return float("inf")
    for line in lines:
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    return float("inf")


def _cgroup_available() -> float:
    """What the container may still take; cached files do not count, they give way."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = float((_CGROUP / "memory.current").read_text())
        statistics = (_CGROUP / "memory.stat").read_text().splitlines()
    except OSError:
        return float("inf")
    if limit == "max":
        return float("inf")
    cached = sum(float(line.split()[1]) for line in statistics if line.startswith("inactive_file "))
    return max(0.0, float(limit) - used + cached)


def _process_available() -> float:
    """What `ulimit -v` leaves to this process."""
    used = _status("VmSize")
    if used is None:
        return float("inf")
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if limit == resource.RLIM_INFINITY else max(0.0, float(limit - used))


def _status(name: str) -> int | None:
    """Bytes that Linux tells of this process under some name."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None
