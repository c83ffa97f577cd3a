"""What a command prints, and where: results, progress, warnings, the log, errors; exit codes."""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import sys
import time
import traceback
import warnings
from argparse import ArgumentParser, Namespace
from ast import literal_eval
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from shutil import get_terminal_size
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from sparrot.cli._options import OTHER_NAMES
from sparrot.errors import AffinityWarning, NotConvergedError, SparrotError, Spell, Worded

if TYPE_CHECKING:
    from sparrot.engine import ProgressBar

FAULT, BAD_INPUT, NOT_CONVERGED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143
EXIT_CODES = (
    "0 fine, 2 bad input, 3 not converged, 130 interrupted, 143 terminated,\n"
    "1 a fault of sparrot itself"
)

_ENDED = {
    INTERRUPTED: "interrupted; no half-written file is left",
    TERMINATED: "terminated; no half-written file is left",
}
_FLAGS = {"True": "yes", "False": "no"}
_OF_AN_AFFINITY = "--min-neighbors", "--neighbors", "--perplexity", "--eps"
_QUOTES = ("'", '"')
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
        self.stored = False  # whether the affinity was made before
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

    def worded(self, message: BaseException | str) -> str:
        """The text of an error or a warning in one line, as this command words it."""
        return in_one_line(message, self._spell)

    def warn(self, message: Warning | str) -> None:
        """Print a warning in one line, and keep it."""
        text = self.worded(message)
        if self.stored and any(option in text for option in _OF_AN_AFFINITY):
            text += " (options of an affinity are for making it anew, by `sparrot affinity`)"
        self.warnings.append(text)
        if not self.quiet:
            self.print(f"sparrot: warning: {text}", sys.stderr)

    def finish(self, facts: dict[str, Any], lines: dict[str, str]) -> None:
        """Print the summary: facts as JSON if asked for, else lines; nothing if quiet."""
        from sparrot.engine import peak_memory

        seconds, memory = time.perf_counter() - self._start, peak_memory()
        self.close()
        if self._json:
            facts = {"command": self.command} | facts | {"warnings": self.warnings}
            facts |= {"seconds": seconds, "peak_memory": memory, "exit_code": 0}
            print(json.dumps(_finite(facts), indent=2, allow_nan=False))
        elif not self.quiet:
            took = f"{seconds:.1f} s" + (f", peak memory {memory / 1e6:,.0f} MB" if memory else "")
            for name, text in (lines | {"took": took}).items():
                print(f"{name:<12}{text}".rstrip())

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


def _finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def in_flags(parser: ArgumentParser) -> Spell:
    """How a command spells an argument of Python: as the flag whose `dest` (or other) name it is.

    What the command has no flag for is None, and so is the value None, which on the command line
    means to leave the flag out, and any value of a flag that is not `suggested`. Text is quoted
    where the shell needs that.

    Examples
    --------
    >>> parser = ArgumentParser()
    >>> _ = parser.add_argument("-j", "--jobs", dest="n_jobs")
    >>> spell = in_flags(parser)
    >>> spell("n_jobs", ""), spell("n_jobs", "'many'"), spell("n_jobs", "None"), spell("solver", "")
    ('--jobs', '--jobs many', None, None)
    >>> spell("n_jobs", "'so many'"), spell("n_jobs", "''")
    ("--jobs 'so many'", "--jobs ''")
    """
    flags = {
        action.dest: next(
            (flag for flag in action.option_strings if flag.startswith("--")), str(action.metavar)
        )
        for action in parser._actions
    }
    for name, other in OTHER_NAMES.items():
        if name in flags:
            flags.setdefault(other, flags[name])
    silent = {action.dest for action in parser._actions if not getattr(action, "suggested", True)}

    def spell(name: str, value: str) -> str | None:
        if name not in flags or value == "None" or (value and name in silent):
            return None
        text = shlex.quote(literal_eval(value)) if value.startswith(_QUOTES) else value
        return f"{flags[name]} {_FLAGS.get(text, text)}".rstrip()

    return spell


def in_one_line(message: BaseException | str, spell: Spell) -> str:
    """The text of an error or a warning, with flags for arguments where it knows its parts.

    Examples
    --------
    >>> in_one_line("one\\n  two", lambda name, value: None)
    'one two'
    """
    text = message.worded(spell) if isinstance(message, Worded) else str(message)
    return " ".join(text.split())


def judge(error: BaseException, spell: Spell) -> tuple[int, str]:
    """The exit code of an error, and the line to print."""
    text = in_one_line(error, spell) or type(error).__name__
    if isinstance(error, NotConvergedError):
        return NOT_CONVERGED, text
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, _ENDED[INTERRUPTED]
    if isinstance(error, (SparrotError, MemoryError)):
        return BAD_INPUT, text
    if isinstance(error, OSError):
        return BAD_INPUT, f"{error.filename}: {error.strerror}" if error.filename else text
    return FAULT, (
        f"{type(error).__name__}: {text}; this is a fault of sparrot: please report it with the "
        "output of the same command with -vv"
    )


def complain(error: BaseException, options: Namespace) -> int:
    """Print an error on stderr, after the traceback with -vv; with --json also on stdout."""
    code, text = judge(error, in_flags(options.parser))
    if code == INTERRUPTED:
        text += _saved(options)
    if getattr(options, "verbose", 0) >= 2:
        traceback.print_exception(error)
    print(f"sparrot: {text}", file=sys.stderr)
    if getattr(options, "json", False):
        print(_in_json(text, code, options))
    return code


def _in_json(text: str, code: int, options: Namespace) -> str:
    return json.dumps({"command": options.command, "error": text, "exit_code": code})


def end_process(number: int, frame: FrameType | None, options: Namespace | None) -> NoReturn:
    """End this process at a signal, wherever it is, and leave nothing half written.

    An exception would not do: it is lost where a destructor or a library discards it. A second
    signal ends the process without further ado.

    Parameters
    ----------
    number : of the signal.
    frame : what was running.
    options : of the command, as soon as they are known.
    """
    for either in (signal.SIGINT, signal.SIGTERM):
        signal.signal(either, signal.SIG_DFL)
    code = 128 + number
    for child in _loaded("multiprocessing", "active_children")() or ():
        child.terminate()
    _loaded("multiprocessing.util", "_run_finalizers")()  # or semaphores are left, with a warning
    _loaded("sparrot._files", "remove_open_files")()
    text = _ENDED[code] + _saved(options)
    lines = [f"sparrot: {text}\n"]
    if getattr(options, "verbose", 0) >= 2:
        lines = [*traceback.format_stack(frame), *lines]
    if os.isatty(2):  # over the progress bar
        lines.insert(0, f"\r{' ' * (get_terminal_size().columns - 1)}\r")
    with suppress(OSError):  # not print, in the middle of which we may be
        os.write(2, "".join(lines).encode())
        if options is not None and getattr(options, "json", False):
            os.write(1, f"{_in_json(text, code, options)}\n".encode())
    os._exit(code)


def _loaded(module: str, name: str) -> Callable[[], Any]:
    """A function of a module, or one that does nothing if that is not loaded, or only in part."""
    return getattr(sys.modules.get(module), name, lambda: None)


def _saved(options: Namespace | None) -> str:
    """What an interruption did not destroy."""
    checkpoint: Path | None = getattr(options, "checkpoint", None)
    if checkpoint is None:
        return ""
    if not checkpoint.exists():
        return f"; nothing had been saved in {checkpoint} yet"
    return f"; {checkpoint} holds what was found, and the same command goes on from it"
