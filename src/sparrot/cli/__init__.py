"""The command `sparrot`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sparrot import __version__
from sparrot.errors import NotConvergedError, SparrotError

_BAD_INPUT, _NOT_CONVERGED, _INTERRUPTED = 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, or 2 for bad input, 3 if not converged, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except NotConvergedError as error:
        return _complain(error, _NOT_CONVERGED)
    except SparrotError as error:
        return _complain(error, _BAD_INPUT)
    except OSError as error:
        where = f"cannot write to {error.filename!r}: {error.strerror}" if error.filename else error
        return _complain(where, _BAD_INPUT)
    except KeyboardInterrupt:
        return _complain("interrupted", _INTERRUPTED)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sparrot",
        description="Sparse bistochastic affinities by regularised optimal transport.",
    )
    parser.add_argument("--version", action="version", version=f"sparrot {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="recover a noisy spiral, against k-NN and Gaussian graphs",
        description="The paper's spiral in 250 dimensions: a table, and a figure.",
        epilog="example: sparrot demo --output out",
    )
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help="where the figure goes (default: out)",
    )
    demo.set_defaults(run=_demo)
    return parser


def _demo(options: argparse.Namespace) -> None:
    from sparrot.cli.demo import demo

    demo(options.output)


def _complain(error: object, code: int) -> int:
    print(f"sparrot: {error}", file=sys.stderr)
    return code
