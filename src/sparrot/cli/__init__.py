"""The command `sparrot`: files in, files out; everything is computed by the public functions."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from sparrot.cli.parser import make_parser
from sparrot.cli.session import Session
from sparrot.errors import NotConvergedError, SparrotError

_BAD_INPUT, _NOT_CONVERGED, _INTERRUPTED = 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, or 2 for bad input, 3 if not converged, 130 if interrupted."""
    options = make_parser().parse_args(arguments)
    try:
        with Session(options) as session:
            import_module(f"sparrot.cli.{options.command}").run(options, session)
        sys.stdout.flush()
    except NotConvergedError as error:
        return _complain(error, _NOT_CONVERGED, options)
    except (SparrotError, MemoryError) as error:
        return _complain(error, _BAD_INPUT, options)
    except BrokenPipeError:  # the reader had enough, as in `sparrot ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        where = f"{error.filename}: {error.strerror}" if error.filename else error
        return _complain(where, _BAD_INPUT, options)
    except KeyboardInterrupt:
        return _complain("interrupted; no file was left half written", _INTERRUPTED, options)
    return 0


def _complain(error: object, code: int, options: Namespace) -> int:
    """One line on stderr; for programs, the same on stdout."""
    said = " ".join(str(error).split()) or type(error).__name__
    print(f"sparrot: {said}", file=sys.stderr)
    if getattr(options, "json", False):
        print(json.dumps({"command": options.command, "error": said, "exit_code": code}))
    return code
