"""Errors for those who type flags: one line that names flags, and an exit code."""

from __future__ import annotations

import json
import sys
import traceback
from argparse import ArgumentParser, Namespace
from pathlib import Path

from sparrot.errors import NotConvergedError, SparrotError, Spell, Worded

FAULT, BAD_INPUT, NOT_CONVERGED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143
EXIT_CODES = (
    "0 fine, 2 bad input, 3 not converged, 130 interrupted, 143 terminated; "
    "1 is a fault of sparrot itself"
)

_QUOTES = "'\""


class Terminated(KeyboardInterrupt):
    """Somebody asked this process to terminate."""


def in_flags(parser: ArgumentParser) -> Spell:
    """How a command spells an argument of Python: as the flag whose `dest` has its name.

    What the command has no flag for is None, and so is the value None, which on the command line
    means to leave the flag out.

    Examples
    --------
    >>> parser = ArgumentParser()
    >>> _ = parser.add_argument("-j", "--jobs", dest="n_jobs")
    >>> spell = in_flags(parser)
    >>> spell("n_jobs", ""), spell("n_jobs", "'many'"), spell("n_jobs", "None"), spell("solver", "")
    ('--jobs', '--jobs many', None, None)
    """
    flags = {
        action.dest: max(action.option_strings, key=len, default=str(action.metavar))
        for action in parser._actions
    }

    def spell(name: str, value: str) -> str | None:
        if name not in flags or value == "None":
            return None
        return f"{flags[name]} {value.strip(_QUOTES)}".rstrip()

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
    if isinstance(error, Terminated):
        return TERMINATED, "terminated; no file was left half written"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted; no file was left half written"
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
    if code in (INTERRUPTED, TERMINATED):
        text += _saved(getattr(options, "checkpoint", None))
    if getattr(options, "verbose", 0) >= 2:
        traceback.print_exception(error)
    print(f"sparrot: {text}", file=sys.stderr)
    if getattr(options, "json", False):
        print(json.dumps({"command": options.command, "error": text, "exit_code": code}))
    return code


def _saved(checkpoint: Path | None) -> str:
    """What an interruption did not destroy."""
    if checkpoint is None:
        return ""
    if not checkpoint.exists():
        return f"; nothing had been saved in {checkpoint} yet"
    return f"; {checkpoint} holds what was found, and the same command goes on from it"
