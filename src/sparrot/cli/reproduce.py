"""`sparrot reproduce`: experiments of the paper, their figures, numbers and claims."""

from __future__ import annotations

import csv
import json
import logging
import textwrap
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparrot import __version__
from sparrot._files import whole_file
from sparrot.cli._options import add_command, add_folder, add_jobs, add_verbosity
from sparrot.cli._session import Session
from sparrot.errors import MissingDataError, MissingExtraError, load_extra
from sparrot.paper import EXPERIMENTS, Claim, Experiment, Numbers, find_experiment

if TYPE_CHECKING:
    from sparrot.paper import Report

_SMALL = " (quick: a small version, its verdicts are not the paper's)"
_FIGURES = {"png": {"dpi": 150}, "pdf": {}}
_COLUMNS = {"claim": 40, "paper": 16, "ours": 34, "verdict": 13}  # and their widths
LOG = logging.getLogger(__name__)


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "reproduce",
        "an experiment of the paper: figure, numbers, and a verdict on each claim",
        "Runs an experiment of the paper, or all, and checks the paper's claims against\n"
        "its numbers. An interrupted run of the same code continues where it stopped.",
        "convergence --quick",
        "all --quick --output out",
    )
    parser.add_argument(
        "name", metavar="NAME", choices=["all", *EXPERIMENTS], help=f"all, {', '.join(EXPERIMENTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a small version, for a first look")
    add_folder(parser, "figures and numbers go")
    add_jobs(parser, "processes (default: one per core)")
    add_verbosity(parser)


def run(options: Namespace, session: Session) -> None:
    """Run one experiment, or all that can be run here; what cannot is named at the end."""
    load_extra("matplotlib", "plot").use("Agg")
    options.output.mkdir(parents=True, exist_ok=True)  # fail before the work, not after it
    done: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name in EXPERIMENTS if options.name == "all" else (options.name,):
        try:
            done[name] = _reproduce(find_experiment(name), options, session)
        except (MissingDataError, MissingExtraError) as error:
            if options.name != "all":
                raise
            skipped[name] = str(error)
    verdicts = [claim["holds"] for entry in done.values() for claim in entry["claims"]]
    held, failed = verdicts.count(True), verdicts.count(False)
    rest = len(verdicts) - held - failed
    lines = {"claims": f"{held} of {held + failed} hold; {rest} not tested"}
    lines |= {f"skipped {name}": f" {reason}" for name, reason in skipped.items()}
    facts = {"quick": options.quick, "hold": held, "do_not_hold": failed, "not_tested": rest}
    session.finish(facts | {"experiments": done, "skipped": skipped}, lines)


def _reproduce(experiment: Experiment, options: Namespace, session: Session) -> dict[str, Any]:
    from sparrot.paper import Work, fingerprint

    quick, folder = options.quick, options.output
    parameters = experiment.quick if quick else experiment.full
    stem = f"{experiment.name}-quick" if quick else experiment.name
    start = time.perf_counter()
    session.stage(experiment.name)
    units = folder / ".units" / fingerprint(experiment.name, __version__, parameters)
    work = Work(units, _reporter(experiment.name, session), options.n_jobs)
    numbers = experiment.run(parameters, work)
    claims = experiment.claims(numbers)
    seconds = time.perf_counter() - start
    written = [*_write_numbers(experiment, parameters, numbers, claims, folder, stem)]
    written += _draw(experiment, numbers, folder, stem)
    session.say(f"{experiment.title}{_SMALL if quick else ''}\n")
    session.say("\n".join(table(claims)))
    session.say(f"\n{seconds:.0f} s; written to {folder}: {', '.join(written)}\n")
    records = [_record(claim) for claim in claims]
    return {"claims": records, "written": [str(folder / name) for name in written]}


def _reporter(name: str, session: Session) -> Report:
    """Show finished units in the bar and the log."""

    def report(unit: str, done: int, total: int) -> None:
        session.stage(f"{name}: {done} of {total} units", done, total)
        LOG.info("%s: %d of %d units (%s)", name, done, total, unit)

    return report


def _write_numbers(
    experiment: Experiment,
    parameters: Any,
    numbers: Numbers,
    claims: Sequence[Claim],
    folder: Path,
    stem: str,
) -> Iterator[str]:
    """One JSON file with all there is, and each table in it as CSV too."""
    from sparrot.paper import code_digest

    content = {
        "experiment": experiment.name,
        "title": experiment.title,
        "version": __version__,
        "code": code_digest(),
        "parameters": asdict(parameters),
        "claims": [_record(claim) for claim in claims],
        "numbers": numbers,
    }
    with whole_file(folder / f"{stem}.json") as path:
        path.write_text(json.dumps(content, allow_nan=False))
    yield f"{stem}.json"
    for key, rows in numbers.items():
        if is_table(rows):
            with whole_file(folder / f"{stem}-{key}.csv") as path, path.open("w") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
            yield f"{stem}-{key}.csv"


def is_table(value: Any) -> bool:
    """Whether a value is a list of flat records.

    Examples
    --------
    >>> is_table([{"n": 1}]), is_table([{"n": [1]}]), is_table([])
    (True, False, False)
    """
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) for row in value)
        and not any(isinstance(entry, (list, dict)) for row in value for entry in row.values())
    )


def _record(claim: Claim) -> dict[str, Any]:
    return asdict(claim) | {"verdict": claim.verdict}


def _draw(experiment: Experiment, numbers: Numbers, folder: Path, stem: str) -> Iterator[str]:
    for suffix, figure in experiment.draw(numbers).items():
        for kind, options in _FIGURES.items():
            file = f"{stem}-{suffix}.{kind}" if suffix else f"{stem}.{kind}"
            with whole_file(folder / file) as path:
                figure.savefig(path, **options)
            yield file
        load_extra("matplotlib.pyplot", "plot").close(figure)


def table(claims: Sequence[Claim]) -> Iterator[str]:
    """The lines of the table claim | paper | ours | verdict, with the criterion below each row."""
    yield from _row(tuple(_COLUMNS))
    yield "-+-".join("-" * width for width in _COLUMNS.values())
    for claim in claims:
        yield from _row((f'"{claim.sentence}"', claim.paper, claim.ours, claim.verdict))
        note = f"counts as: {claim.criterion}" + (f"; note: {claim.reason}" if claim.reason else "")
        yield from textwrap.wrap(note, 110, initial_indent="  ", subsequent_indent="  ")
        yield ""


def _row(cells: Sequence[str]) -> Iterator[str]:
    """The lines of one row, its cells wrapped to the widths of the columns."""
    widths = _COLUMNS.values()
    wrapped = [textwrap.wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for lines in zip_longest(*wrapped, fillvalue=""):
        padded = (line.ljust(width) for line, width in zip(lines, widths, strict=True))
        yield " | ".join(padded).rstrip()
