"""`sparrot reproduce`: experiments of the paper, their figures, numbers and claims."""

from __future__ import annotations

import csv
import json
import sys
import textwrap
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from sparrot import __version__
from sparrot.cli.session import Session
from sparrot.errors import MissingDataError, MissingExtraError
from sparrot.experiments.frame import Claim, Experiment, Numbers, find_experiment, module_of
from sparrot.experiments.names import EXPERIMENTS
from sparrot.experiments.work import Work, fingerprint
from sparrot.extras import load_extra
from sparrot.files import whole_file

_COLUMNS = {"claim": 40, "paper": 16, "ours": 34, "verdict": 13}
_SMALL = " (quick: a small version, its verdicts are not the paper's)"
_FIGURES = {"png": {"dpi": 150}, "pdf": {}}


def run(options: Namespace, session: Session) -> None:
    """Run what was named."""
    reproduce(options.name, options.quick, options.output, options.jobs)


def reproduce(name: str, quick: bool, folder: Path, n_jobs: int | None) -> None:
    """Run one experiment or all of them."""
    load_extra("matplotlib", "plot").use("Agg")
    folder.mkdir(parents=True, exist_ok=True)  # fail before the work, not after it
    if name == "all":
        _reproduce_all(quick, folder, n_jobs)
    else:
        _reproduce_one(find_experiment(name), quick, folder, n_jobs)


def _reproduce_all(quick: bool, folder: Path, n_jobs: int | None) -> None:
    """All that can be run here; what cannot is named at the end."""
    claims: list[Claim] = []
    skipped: dict[str, str] = {}
    for name in EXPERIMENTS:
        try:
            claims += _reproduce_one(find_experiment(name), quick, folder, n_jobs)
        except (MissingDataError, MissingExtraError) as error:
            skipped[name] = str(error)
    held, failed = (sum(c.holds is v for c in claims) for v in (True, False))
    print(f"{held} of {held + failed} claims hold; {len(claims) - held - failed} not tested.")
    for name, reason in skipped.items():
        print(f"skipped: {name}: {reason}")


def _reproduce_one(
    experiment: Experiment, quick: bool, folder: Path, n_jobs: int | None
) -> Sequence[Claim]:
    parameters = experiment.quick if quick else experiment.full
    stem = f"{experiment.name}-quick" if quick else experiment.name
    start = time.perf_counter()
    units = folder / ".units" / fingerprint(experiment.name, __version__, parameters)
    work = Work(units, _progress(experiment.name), n_jobs)
    numbers = experiment.run(parameters, work)
    claims = experiment.claims(numbers)
    seconds = time.perf_counter() - start
    written = [*_write_numbers(experiment, parameters, numbers, claims, folder, stem)]
    written += _draw(experiment.name, numbers, folder, stem)
    print(f"{experiment.title}{_SMALL if quick else ''}\n")
    print("\n".join(table(claims)))
    print(f"\n{seconds:.0f} s; written to {folder}: {', '.join(written)}\n")
    return claims


def _write_numbers(
    experiment: Experiment,
    parameters: Any,
    numbers: Numbers,
    claims: Sequence[Claim],
    folder: Path,
    stem: str,
) -> Iterator[str]:
    """One JSON file with all there is, and each table in it as CSV too."""
    said = {
        "experiment": experiment.name,
        "title": experiment.title,
        "version": __version__,
        "parameters": asdict(parameters),
        "claims": [asdict(claim) | {"verdict": claim.verdict} for claim in claims],
        "numbers": numbers,
    }
    with whole_file(folder / f"{stem}.json") as path:
        path.write_text(json.dumps(said, allow_nan=False))
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


def _draw(name: str, numbers: Numbers, folder: Path, stem: str) -> Iterator[str]:
    for suffix, figure in import_module(module_of(name, "plot.paper")).draw(numbers).items():
        for kind, options in _FIGURES.items():
            file = f"{stem}-{suffix}.{kind}" if suffix else f"{stem}.{kind}"
            with whole_file(folder / file) as path:
                figure.savefig(path, **options)
            yield file


def table(claims: Sequence[Claim]) -> Iterator[str]:
    """The lines of the table claim | paper | ours | verdict."""
    yield from _row(dict(zip(_COLUMNS, _COLUMNS, strict=True)))
    yield "-+-".join("-" * width for width in _COLUMNS.values())
    for claim in claims:
        sentence = f'"{claim.sentence}"'
        yield from _row(
            {
                "claim": sentence,
                "paper": claim.paper,
                "ours": claim.ours,
                "verdict": claim.verdict,
            }
        )
        note = f"counts as: {claim.criterion}" + (f"; note: {claim.reason}" if claim.reason else "")
        yield from textwrap.wrap(note, 110, initial_indent="  ", subsequent_indent="  ")
        yield ""


def _row(cells: dict[str, str]) -> Iterator[str]:
    wrapped = [textwrap.wrap(cells[key], width) or [""] for key, width in _COLUMNS.items()]
    for k in range(max(map(len, wrapped))):
        lines = [lines[k] if k < len(lines) else "" for lines in wrapped]
        padded = [line.ljust(width) for line, width in zip(lines, _COLUMNS.values(), strict=True)]
        yield " | ".join(padded).rstrip()


def _progress(name: str) -> Any:
    """Reports to the terminal; to a file, a line every ten seconds at most."""
    start = last = time.perf_counter()
    terminal = sys.stderr.isatty()

    def report(unit: str, done: int, total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        if not terminal and now - last < 10 and done < total:
            return
        last = now
        said = f"{name}: {done} of {total} ({unit}), {now - start:.0f} s"
        end = "\n" if done == total or not terminal else ""
        print(f"\r\x1b[K{said}" if terminal else said, end=end, file=sys.stderr, flush=True)

    return report
