"""The command `sparrot`: reads files, calls the library, writes files and prints a summary.

To add a command, write a module here with `add_parser(commands)` and `run(options, session)`, and
add its name to `COMMANDS`. All of these modules are loaded for `--help`, and whenever a shell
completes a word; so they import what needs numpy inside the functions that use it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

from sparrot import __version__
from sparrot.cli._session import BAD_INPUT, EXIT_CODES, Session, complain, end_process
from sparrot.io import require_file

COMMANDS = (
    "affinity",
    "embed",
    "cluster",
    "path",
    "tsne",
    "report",
    "info",
    "reproduce",
    "demo",
    "completion",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, or what `EXIT_CODES` explains.

    Without arguments it is the command line of this process, which signals then end at once.
    """
    options: Namespace | None = None
    for number in (signal.SIGINT, signal.SIGTERM) if arguments is None else ():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: end_process(number, frame, options))
    options = parse(arguments)
    try:
        with Session(options) as session:
            _require_input(options)
            import_module(f"sparrot.cli.{options.command}").run(options, session)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader had enough, as in `sparrot ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        return complain(error, options)
    return 0


def _require_input(options: Namespace) -> None:
    """Raise if the file that is to be read is missing, before what can read it is loaded."""
    if "path" in options:
        require_file(options.path)


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    """The options that were typed; wrong usage is one line on stderr, and the end."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    parser = make_parser()
    if "_ARGCOMPLETE" in os.environ:  # set by the script of `sparrot completion` in a shell
        import argcomplete

        argcomplete.autocomplete(parser, always_complete_options=False)
    try:
        options, unknown = parser.parse_known_args(typed)
        if unknown:
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    except WrongUsageError as wrong:
        program, message = wrong.args
        print(f"{program}: {message}", file=sys.stderr)
        if "--json" in typed:
            command = program.partition(" ")[2] or None
            print(json.dumps({"command": command, "error": message, "exit_code": BAD_INPUT}))
        sys.exit(BAD_INPUT)
    return options


def make_parser() -> ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="sparrot",
        description="Sparse bistochastic affinities by regularized optimal transport.",
        epilog=f"exit codes: {EXIT_CODES}\n\n"
        "examples:\n  sparrot demo\n  sparrot affinity cells.h5ad --array obsm/X_pca "
        "--perplexity 30 -o affinity.npz\n"
        "  sparrot cluster affinity.npz --clusters 5 -o labels.csv",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sparrot {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"sparrot.cli.{name}").add_parser(commands)
    return parser


class _Parser(ArgumentParser):
    """Complains in one line, which `parse` prints, with what may have been meant."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"(?:invalid choice: '|unrecognized arguments: )([^'\s=]+)", message)
        known = {
            str(word).lstrip("-"): word
            for action in self._actions
            for word in (*action.option_strings, *(action.choices or ()))
        }
        for action in self._actions:  # also by what the argument is called in Python
            for flag in action.option_strings[-1:]:
                known.setdefault(action.dest.replace("_", "-"), flag)
        near = get_close_matches(wrong[1].lstrip("-"), known, 1, 0.7) if wrong else []
        meant = f"; did you mean {known[near[0]]}?" if near else ""
        raise WrongUsageError(self.prog, f"{message}{meant}; see {self.prog} --help")


class WrongUsageError(Exception):
    """What was typed cannot be parsed: the program and command, and the message."""
