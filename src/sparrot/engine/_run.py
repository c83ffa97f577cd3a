"""What every step of a solve needs: where to run, how much memory to take, whom to tell."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from sparrot.engine._memory import memory_budget, require_memory
from sparrot.engine._progress import Progress, ProgressCallback, as_progress
from sparrot.engine._threads import Threads


class Run:
    """The resources of one call; a context manager.

    Parameters
    ----------
    n_jobs : number of threads, as for `Threads`.
    max_memory : bytes that may be taken; what is available if None.
    progress : True for a progress bar, or a function of a `Progress`; None for silence.

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
    ) -> None:
        self.threads = Threads(n_jobs)
        self.max_memory = max_memory
        self._report = as_progress(progress)

    def __enter__(self) -> Self:
        """Start the threads."""
        self.threads.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the threads, and take a progress bar away."""
        self.threads.__exit__(kind, error, trace)

    def report(self, stage: str, n_points: int, done: int, total: int = 0, **more: Any) -> None:
        """Tell how far the work is; may raise."""
        self._report(Progress(stage, n_points, done, total, **more))

    def memory(self) -> float:
        """Bytes that may be taken."""
        return memory_budget(self.max_memory)

    def require_memory(self, n_bytes: float, *, what: str, remedy: str | Sequence[str]) -> None:
        """Raise `NotEnoughMemoryError` if so much is not to be had, or is more than allowed."""
        require_memory(n_bytes, what=what, remedy=remedy, max_memory=self.max_memory)
