"""How long work reports its progress, and the bar that shows it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import Event, RLock, Thread
from typing import Any, TextIO

from sparrot.errors import InvalidInputError

DELAY = 2.0  # seconds of work that need no bar
_INTERVAL = 0.1  # seconds between drawings
_LINE_INTERVAL = 10.0  # seconds between lines, in a file
_WITH_BAR, _TEXT_ONLY = "{desc} |{bar}| {elapsed}", "{desc}, {elapsed}"


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a running solve.

    Attributes
    ----------
    stage : what is being done: `"newton"`, `"screening"`, `"extending"`, `"growing"`,
        `"alternating"`, `"sinkhorn"`.
    n_points : size of the problem being worked on (the active set begins with smaller ones).
    done, total : how much of the stage is done; `total` is 0 where the end is not known.
    marginal_error : the last known `max_i |(W1)_i - 1|`, or infinity.
    n_pairs : candidate pairs kept so far, where a solver keeps a list of them; else 0.
    """

    stage: str
    n_points: int
    done: int
    total: int = 0
    marginal_error: float = float("inf")
    n_pairs: int = 0


ProgressCallback = Callable[[Progress], None]


def silent(report: Progress) -> None:
    """Ignore a report: the callback where nobody asked for one."""


def as_progress(progress: Any) -> AbstractContextManager[ProgressCallback]:
    """The callback that an argument `progress` asks for, within a `with` statement.

    Parameters
    ----------
    progress : None or False for silence, True for a bar, or a function of a `Progress`.

    Returns
    -------
    context manager
        Its value is the callback. Leaving it takes the bar away, also when an error is raised; a
        function of the caller's own is left alone, so what got its callback from another function
        may pass it through `as_progress` again.

    Examples
    --------
    >>> reports = []
    >>> with as_progress(reports.append) as report:
    ...     report(Progress("newton", n_points=100, done=1))
    >>> reports[0].stage
    'newton'
    """
    if progress is None or progress is False:
        return nullcontext(silent)
    if progress is True:
        return ProgressBar()
    if callable(progress):
        return nullcontext(progress)
    raise InvalidInputError(
        f"must be True, False, None or a function of a Progress, got {progress!r}",
        parameter="progress",
        value=progress,
        remedy="take {progress=True} for a bar",
    )


class ProgressBar:
    """A progress bar on stderr, or a widget in a notebook, by tqdm; in a file, a line now and then.

    It is a callback for `progress=` and a context manager. Work that takes less than `delay` leaves
    no trace, and no bar stays behind when work ends or fails.

    Parameters
    ----------
    delay : seconds before anything is drawn.
    disable : draw nothing at all.
    file : where to draw; stderr by default.

    Examples
    --------
    >>> with ProgressBar() as bar:
    ...     bar(Progress("screening", n_points=5000, done=5, total=20))
    """

    def __init__(
        self, *, delay: float = DELAY, disable: bool = False, file: TextIO | None = None
    ) -> None:
        self._delay, self._disable, self._file = delay, disable, file
        self._lock, self._over = RLock(), Event()
        self._ticker: Thread | None = None
        self._bar: Any = None
        self._part, self._drawn = 0.0, False
        self._last: Progress | None = None
        self._passes = 0

    def __call__(self, report: Progress) -> None:
        """Take a report: the callback of a solve."""
        with self._lock:
            if self._last is None or report.n_points != self._last.n_points:
                self._passes = 0  # another problem: a solve begins with fewer points
            self._passes += begins_pass(self._last, report)
            self._last = report
            self._set(describe(report, self._passes), report.done, report.total)
            if self._bar is not None and self._ticker is None:
                self._draw()

    def stage(self, name: str, done: int = 0, total: int = 0) -> None:
        """Show what is done now, and how long it takes, until the next report or stage."""
        with self._lock:
            self._last, self._passes = None, 0
            self._set(name, done, total)
            if self._bar is not None and self._ticker is None:
                self._ticker = Thread(target=self._tick, daemon=True)
                self._ticker.start()

    def write(self, text: str, file: TextIO | None = None) -> None:
        """Print a line, on stderr by default, above the bar if there is one."""
        file = file or sys.stderr
        with self._lock:
            if self._drawn:
                self._bar.write(text, file=file)
            else:
                file.write(f"{text}\n")
            file.flush()

    def close(self) -> None:
        """Take the bar away; reports that come later are ignored."""
        self._end(failed=False)

    def __enter__(self) -> ProgressBar:
        """The bar; nothing is drawn before the first report or stage."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Take the bar away; in a notebook that of a failed solve stays, in red."""
        self._end(failed=error is not None)

    def _set(self, text: str, done: int, total: int) -> None:
        """What the next drawing shows."""
        if self._disable or self._over.is_set():
            return
        if self._bar is None:
            self._bar = self._new_bar()
        self._bar.bar_format = _WITH_BAR if total else _TEXT_ONLY
        self._bar.set_description_str(text, refresh=False)
        self._part = done / total if total else 0.0

    def _new_bar(self) -> Any:
        if self._file is None and not (sys.stderr.isatty() or "ipykernel" in sys.modules):
            return _Lines(self._delay)
        return _kind_of_bar()(
            total=1.0,  # the part of a stage, for stages differ in their totals
            file=self._file,
            leave=False,
            delay=self._delay,
            mininterval=_INTERVAL,
            miniters=0,
            dynamic_ncols=True,
        )

    def _draw(self) -> None:
        """Draw, unless it is too early or the bar was drawn just now."""
        self._drawn = bool(self._bar.update(self._part - self._bar.n)) or self._drawn

    def _tick(self) -> None:
        """Draw again and again, so that the seconds go on while nothing reports.

        Then nobody else draws: an interruption, which comes to the main thread, must not find it
        in the middle of a drawing, where tqdm would keep its lock and this thread wait for it.
        """
        while not self._over.wait(_INTERVAL):
            with self._lock:
                self._draw()

    def _end(self, failed: bool) -> None:
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
            self._ticker = None
        with self._lock:
            if self._bar is not None:
                self._bar.n = self._bar.n if failed else self._bar.total
                self._bar.close()
            self._bar, self._drawn = None, False


@cache
def _kind_of_bar() -> Any:
    """A bar of tqdm with a lock for threads.

    Its own lock is for processes too, and needs one more of these from Python 3.14 on, which
    complains of the lock where a program is interrupted.
    """
    from tqdm.auto import tqdm

    return type("Bar", (tqdm,), {"_lock": RLock()})


class _Lines:
    """The text of a bar as a line on stderr now and then, where stderr is no terminal."""

    total = 1.0

    def __init__(self, delay: float) -> None:
        self.n, self.bar_format = 0.0, ""
        self._text, self._next = "", time.monotonic() + delay

    def set_description_str(self, text: str, refresh: bool) -> None:
        self._text = text

    def update(self, part: float) -> bool:
        """Write the text if it is time to; False, as there is no bar to write above."""
        if time.monotonic() >= self._next:
            sys.stderr.write(f"sparrot: {self._text}\n")
            sys.stderr.flush()
            self._next = time.monotonic() + _LINE_INTERVAL
        return False

    def close(self) -> None:
        """Nothing is to be taken away."""


def begins_pass(last: Progress | None, report: Progress) -> bool:
    """Whether a report is the first of a pass over the pairs.

    Examples
    --------
    >>> begins_pass(None, Progress("newton", 100, 1))
    False
    >>> begins_pass(Progress("screening", 100, 4, 4), Progress("screening", 100, 1, 4))
    True
    """
    if report.stage != "screening":
        return False
    return last is None or last.stage != "screening" or report.done <= last.done


def describe(report: Progress, passes: int) -> str:
    """A report in words.

    Examples
    --------
    >>> describe(Progress("screening", 5000, 5, 20, 3e-4, 81000), passes=2)
    'screening pass 2, 5/20 tiles, 81,000 pairs, marginal error 3e-04'
    >>> describe(Progress("newton", 5000, 4, 0, 3e-4), passes=2)
    'newton on 5,000 points, step 4, marginal error 3e-04'
    """
    if report.stage == "screening":
        text = f"screening pass {passes}, {report.done}/{report.total} tiles"
    else:
        text = f"{report.stage} on {report.n_points:,} points"
        of_all = f"/{report.total}" if report.total else ""
        text += f", step {report.done}{of_all}" if report.done else ""
    text += f", {report.n_pairs:,} pairs" if report.n_pairs else ""
    if report.marginal_error < float("inf"):
        text += f", marginal error {report.marginal_error:.0e}"
    return text
