"""What can be asked on the command line. Each command is a module of this name with a `run`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import NoReturn

from sparrot import __version__
from sparrot.cli import parser_paper, parser_points
from sparrot.cli.complaints import BAD_INPUT, EXIT_CODES


class Parser(ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where the remedy is."""
        raise WrongUsageError(self.prog, f"{message}; see {self.prog} --help")


class WrongUsageError(Exception):
    """What was typed is no command: which program says so, and what."""


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    """What was asked; what a command does not know is its own complaint, and the end."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options, unknown = make_parser().parse_known_args(typed)
        if unknown:
            options.complain(f"unrecognized arguments: {' '.join(unknown)}")
    except WrongUsageError as wrong:
        program, said = wrong.args
        print(f"{program}: {said}", file=sys.stderr)
        if "--json" in typed:
            command = program.partition(" ")[2] or None
            print(json.dumps({"command": command, "error": said, "exit_code": BAD_INPUT}))
        sys.exit(BAD_INPUT)
    return options


def make_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(
        prog="sparrot",
        description="Sparse bistochastic affinities by regularized optimal transport.",
        epilog=f"exit codes: {EXIT_CODES}\n"
        "examples:\n  sparrot demo\n  sparrot affinity cells.h5ad --array obsm/X_pca "
        "--perplexity 30 -o affinity.npz\n"
        "  sparrot cluster affinity.npz --clusters 5 -o labels.csv",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sparrot {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        parser_points.affinity,
        parser_points.embed,
        parser_points.cluster,
        parser_points.path,
        parser_points.tsne,
        parser_points.report,
        parser_points.info,
        parser_paper.reproduce,
        parser_paper.demo,
        parser_paper.completion,
    ):
        add(commands)
    return parser
