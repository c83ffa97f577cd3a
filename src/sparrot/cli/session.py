"""One run of a command: what it says and where, how long it took, and how much memory."""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from argparse import Namespace
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from sparrot.cli.bar import Bar
from sparrot.cli.complaints import in_flags
from sparrot.errors import AffinityWarning

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class Session:
    """Results go to stdout; the bar, warnings and the log to stderr, a line each.

    Parameters
    ----------
    options : with `quiet`, `verbose` and `json` where the command has them.

    Attributes
    ----------
    bar : takes a `Progress`; drawn only where stderr is a terminal.
    warnings : what was warned of.
    """

    def __init__(self, options: Namespace) -> None:
        self.command: str = options.command
        self.quiet: bool = getattr(options, "quiet", False)
        self._json: bool = getattr(options, "json", False)
        self._level = _LEVELS[min(getattr(options, "verbose", 0), 2)]
        self.bar = Bar(sys.stderr, shown=sys.stderr.isatty() and not self.quiet)
        self.warnings: list[str] = []
        self._start = time.perf_counter()
        self._stack = ExitStack()

    def stage(self, name: str) -> None:
        """Say what is done now; from two seconds on the bar shows it."""
        self.bar.stage(name)

    def say(self, text: str) -> None:
        """Print a part of the result, unless quiet or all goes into JSON."""
        if not self.quiet and not self._json:
            self.bar.above(text, sys.stdout)

    def finish(self, facts: dict[str, Any], lines: dict[str, str]) -> None:
        """Tell the result: facts as JSON if that was asked for, else lines, or nothing if quiet."""
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
        self._stack.enter_context(self.bar)
        self._stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always", AffinityWarning)
        warnings.showwarning = self._show
        logger, handler = logging.getLogger("sparrot"), _Lines(self.bar)
        logger.addHandler(handler)
        self._stack.callback(logger.removeHandler, handler)
        self._stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR if self.quiet else self._level)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give them back."""
        self.close()

    def _show(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        """Warn; what another package will change is for its callers, and goes to the log."""
        if issubclass(category, (FutureWarning, DeprecationWarning, PendingDeprecationWarning)):
            logging.getLogger("sparrot").debug("%s: %s", category.__name__, message)
        else:
            self.warn(message)

    def warn(self, message: Warning | str) -> None:
        """Say a warning in one line, and remember it."""
        said = in_flags(" ".join(str(message).split()))
        self.warnings.append(said)
        if not self.quiet:
            self.bar.above(f"sparrot: warning: {said}")


class _Lines(logging.Handler):
    """The log, above the bar."""

    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar

    def emit(self, record: logging.LogRecord) -> None:
        self._bar.above(f"sparrot: {' '.join(record.getMessage().split())}")


def peak_memory() -> int | None:
    """Bytes that this process took at most, or None where the system does not tell."""
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
