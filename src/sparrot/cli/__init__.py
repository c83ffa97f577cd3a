"""The command `sparrot`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparrot import __version__
from sparrot.errors import NotConvergedError, SparrotError
from sparrot.experiments.names import EXPERIMENTS

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
    _add_report(commands)
    _add_reproduce(commands)
    return parser


def _add_report(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="an interactive page about the affinity of a file of points",
        description="One HTML page that needs no network: the embedding, coloured by any column; "
        "a slider along eps; spectrum, neighbours, certificate and warnings.",
        epilog="example: sparrot report cells.h5ad --perplexity 30 -o report.html",
    )
    report.add_argument("path", type=Path, metavar="FILE", help="points: a .npy or .h5ad file")
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="PAGE",
        help="where the page goes (default: report.html)",
    )
    report.add_argument(
        "--array",
        metavar="NAME",
        help="which matrix of a .h5ad file: X, obsm/X_pca, layers/counts (default: obsm/X_pca "
        "where it is there, else X)",
    )
    scale = report.add_mutually_exclusive_group()
    scale.add_argument(
        "--eps", type=_number_or_word, help="relative to the mean cost, or connected"
    )
    scale.add_argument("--perplexity", type=float, help="mean effective number of neighbours")
    report.add_argument("--metric", default="sqeuclidean", help="the cost (default: sqeuclidean)")
    report.add_argument("--jobs", type=int, help="threads (default: all cores)")
    report.set_defaults(run=_report)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _add_reproduce(commands: Any) -> None:
    reproduce = commands.add_parser(
        "reproduce",
        help="an experiment of the paper: figure, numbers, and its claims with a verdict each",
        description="Runs an experiment of the paper, or all, and holds the paper's claims against "
        "the numbers. An interrupted run goes on where it stopped.",
        epilog="example: sparrot reproduce convergence --quick",
    )
    reproduce.add_argument(
        "name", metavar="NAME", choices=["all", *EXPERIMENTS], help=f"all, {', '.join(EXPERIMENTS)}"
    )
    reproduce.add_argument("--quick", action="store_true", help="a small version, for a first look")
    reproduce.add_argument(
        "--output",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help="where figures and numbers go (default: out)",
    )
    reproduce.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    reproduce.set_defaults(run=_reproduce)


def _reproduce(options: argparse.Namespace) -> None:
    from sparrot.cli.reproduce import reproduce

    reproduce(options.name, options.quick, options.output, options.jobs)


def _demo(options: argparse.Namespace) -> None:
    from sparrot.cli.demo import demo

    demo(options.output)


def _report(options: argparse.Namespace) -> None:
    from sparrot.cli.report import report

    report(
        options.path,
        options.output,
        options.array,
        eps=options.eps,
        perplexity=options.perplexity,
        metric=options.metric,
        n_jobs=options.jobs,
    )


def _complain(error: object, code: int) -> int:
    print(f"sparrot: {error}", file=sys.stderr)
    return code
