"""A progress bar: one line of a terminal, drawn by its own thread if there is time for it.

The thread also draws while nothing reports, so that reading a large file or an eigenproblem shows
as well as a solve. Whoever prints meanwhile goes through `above`.
"""

from __future__ import annotations

import shutil
import time
from threading import Event, Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from sparrot.engine import Progress

PATIENCE = 2.0  # seconds without a bar
_INTERVAL = 0.1
_WIDTH = 10
_CLEAR = "\r\x1b[K"


class Bar:
    """Shows the stage and the last `Progress` on a stream.

    Parameters
    ----------
    stream : where to draw, a terminal.
    shown : whether to draw at all.
    patience : seconds before the first drawing.
    """

    def __init__(self, stream: TextIO, shown: bool, patience: float = PATIENCE) -> None:
        self._stream, self._shown, self._patience = stream, shown, patience
        self._lock, self._over = Lock(), Event()
        self._thread: Thread | None = None
        self._start = time.perf_counter()
        self._stage = ""
        self._last: Progress | None = None
        self._passes = 0
        self._drawn = False

    def stage(self, name: str) -> None:
        """Say what is done now; the first call starts the clock."""
        with self._lock:
            self._stage, self._last, self._passes = name, None, 0
        if self._shown and self._thread is None:
            self._thread = Thread(target=self._draw_until_over, daemon=True)
            self._thread.start()

    def __call__(self, report: Progress) -> None:
        """Take a report: the callback of a solve."""
        with self._lock:
            if self._last is None or report.n_points != self._last.n_points:
                self._passes = 0  # another problem: the solve begins with fewer points
            self._passes += begins_pass(self._last, report)
            self._last = report

    def above(self, line: str, stream: TextIO | None = None) -> None:
        """Print a line, there or to another stream, and let the bar go on below it."""
        with self._lock:
            self._wipe()
            print(line, file=stream or self._stream, flush=True)

    def __enter__(self) -> Bar:
        """The bar; nothing is drawn before the first stage."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._wipe()

    def _draw_until_over(self) -> None:
        wait = self._patience
        while not self._over.wait(wait):
            wait = _INTERVAL
            with self._lock:
                seconds = time.perf_counter() - self._start
                said = describe(self._stage, self._last, self._passes, seconds)
                room = max(20, shutil.get_terminal_size().columns - 1)
                self._stream.write(_CLEAR + said[:room])
                self._stream.flush()
                self._drawn = True

    def _wipe(self) -> None:
        if self._drawn:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._drawn = False


def begins_pass(last: Progress | None, report: Progress) -> bool:
    """Whether a report is the first of a pass over the pairs.

    Examples
    --------
    >>> from sparrot import Progress
    >>> begins_pass(None, Progress("newton", 100, 1))
    False
    >>> begins_pass(Progress("screening", 100, 4, 4), Progress("screening", 100, 1, 4))
    True
    """
    if report.stage != "screening":
        return False
    return last is None or last.stage != "screening" or report.done <= last.done


def describe(stage: str, report: Progress | None, passes: int, seconds: float) -> str:
    """The text of the bar: the last report, or the stage if there is none.

    Examples
    --------
    >>> from sparrot import Progress
    >>> describe("affinity", Progress("screening", 5000, 5, 20, 3e-4, 81000), 2, 7.2)
    'screening pass 2 [##........] 5/20 tiles, 81,000 pairs, residual 3e-04, 7 s'
    >>> describe("affinity", Progress("newton", 5000, 4, 0, 3e-4), 2, 7.2)
    'newton on 5,000 points, step 4, residual 3e-04, 7 s'
    >>> describe("reading a.npy", None, 0, 2.4)
    'reading a.npy, 2 s'
    """
    if report is None:
        return f"{stage}, {seconds:.0f} s"
    if report.stage == "screening":
        said = f"screening pass {passes} {_gauge(report)} tiles"
    else:
        said = f"{report.stage} on {report.n_points:,} points"
        said += f", step {report.done}" if report.done else ""
    said += f", {report.n_pairs:,} pairs" if report.n_pairs else ""
    error = report.marginal_error
    said += f", residual {error:.0e}" if error < float("inf") else ""
    return f"{said}, {seconds:.0f} s"


def _gauge(report: Progress) -> str:
    full = _WIDTH * report.done // max(1, report.total)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {report.done}/{report.total}"
