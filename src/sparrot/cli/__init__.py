"""The command `sparrot`: files in, files out; everything is computed by the public functions."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import NoReturn

from sparrot.cli.complaints import Terminated, complain
from sparrot.cli.parser import parse
from sparrot.cli.session import Session


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, or what `complaints.EXIT_CODES` says."""
    options = parse(arguments)
    try:
        with _ended_in_order(), Session(options) as session:
            import_module(f"sparrot.cli.{options.command}").run(options, session)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader had enough, as in `sparrot ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        return complain(error, options)
    return 0


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """A request to end is an exception, so that half-written files go."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals arrive elsewhere
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough, and files are being cleared
    raise Terminated
