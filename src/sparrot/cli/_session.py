"""One run of a command: what it prints and where, how long it took, and how much memory."""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from argparse import Namespace
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from sparrot.cli._errors import in_flags, in_one_line
from sparrot.errors import AffinityWarning

if TYPE_CHECKING:
    from sparrot.engine import ProgressBar

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class Session:
    """Results go to stdout; the progress bar, warnings and the log to stderr, a line each.

    Parameters
    ----------
    options : with `quiet`, `verbose` and `json` where the command has them.

    Attributes
    ----------
    warnings : the warnings so far.
    """

    def __init__(self, options: Namespace) -> None:
        self.command: str = options.command
        self.quiet: bool = getattr(options, "quiet", False)
        self.warnings: list[str] = []
        self._json: bool = getattr(options, "json", False)
        self._level = _LEVELS[min(getattr(options, "verbose", 0), 2)]
        self._spell = in_flags(options.parser)
        self._start = time.perf_counter()
        self._stack = ExitStack()

    @cached_property
    def bar(self) -> ProgressBar:
        """The progress bar, drawn only where stderr is a terminal; a callback for `progress=`."""
        from sparrot.engine import ProgressBar

        shown = sys.stderr.isatty() and not self.quiet
        return self._stack.enter_context(ProgressBar(disable=not shown))

    def stage(self, name: str, done: int = 0, total: int = 0) -> None:
        """Show what is done now, if it takes more than two seconds."""
        self.bar.stage(name, done, total)

    def say(self, text: str) -> None:
        """Print a part of the result, unless quiet or all goes into JSON."""
        if not self.quiet and not self._json:
            self.print(text, sys.stdout)

    def warn(self, message: Warning | str) -> None:
        """Print a warning in one line, and keep it."""
        text = in_one_line(message, self._spell)
        self.warnings.append(text)
        if not self.quiet:
            self.print(f"sparrot: warning: {text}", sys.stderr)

    def finish(self, facts: dict[str, Any], lines: dict[str, str]) -> None:
        """Print the summary: facts as JSON if asked for, else lines; nothing if quiet."""
        seconds, memory = time.perf_counter() - self._start, peak_memory()
        self.close()
        if self._json:
            facts = {"command": self.command} | facts | {"warnings": self.warnings}
            facts |= {"seconds": seconds, "peak_memory": memory, "exit_code": 0}
            print(json.dumps(_finite(facts), indent=2, allow_nan=False))
        elif not self.quiet:
            took = f"{seconds:.1f} s" + (f", peak memory {memory / 1e6:,.0f} MB" if memory else "")
            for name, text in (lines | {"took": took}).items():
                print(f"{name:<12}{text}")

    def close(self) -> None:
        """Take the bar away, and give warnings and the log back."""
        self._stack.close()

    def __enter__(self) -> Session:
        """Take over warnings and the log."""
        self._stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always", AffinityWarning)
        warnings.showwarning = self._show_warning
        logger, handler = logging.getLogger("sparrot"), _LogLines(self)
        logger.addHandler(handler)
        self._stack.callback(logger.removeHandler, handler)
        self._stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR if self.quiet else self._level)
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        self.close()

    def _show_warning(
        self, message: Warning | str, category: type[Warning], *_: Any, **__: Any
    ) -> None:
        """Warn; changes that other packages announce to their callers only go to the log."""
        if issubclass(category, (FutureWarning, DeprecationWarning, PendingDeprecationWarning)):
            logging.getLogger("sparrot").debug("%s: %s", category.__name__, message)
        else:
            self.warn(message)

    def print(self, text: str, file: TextIO) -> None:
        """Print above the bar, if there is one."""
        if "bar" in vars(self):
            self.bar.write(text, file)
        else:
            print(text, file=file, flush=True)


class _LogLines(logging.Handler):
    """The log, a line each."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        line = " ".join(record.getMessage().split())
        self._session.print(f"sparrot: {line}", sys.stderr)


def peak_memory() -> int | None:
    """The most bytes that this process has held, or None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
