"""What can be asked on the command line. Each command is a module of this name with a `run`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import NoReturn

from sparrot import __version__
from sparrot.cli import parser_paper, parser_points
from sparrot.cli.complaints import EXIT_CODES


class Parser(ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2, and say where the remedy is."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    """What was asked; what a command does not know is its own complaint."""
    options, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        options.complain(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def make_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(
        prog="sparrot",
        description="Sparse bistochastic affinities by regularised optimal transport.",
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
