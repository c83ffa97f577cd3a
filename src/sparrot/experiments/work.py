"""Work in units: what is finished is stored, and is not done again.

A unit is a function of no arguments whose result JSON can hold. Its file appears whole or not at
all, in a folder named after the parameters and the code: others begin anew, and an interrupted run
goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from joblib import Parallel, cpu_count, delayed

from sparrot.errors import AffinityWarning
from sparrot.files import whole_file

_PACKAGE = Path(__file__).parents[1]
_TELLERS = ("plot", "report", "cli", "__main__.py")  # they show numbers, and make none

Unit = Callable[[], Any]
Report = Callable[[str, int, int], None]  # unit, done, total


def silent(unit: str, done: int, total: int) -> None:
    """Ignore a report: the callback of those who did not ask."""


def fingerprint(name: str, version: str, parameters: Any) -> str:
    """A short name for an experiment with these parameters, computed by this code.

    Examples
    --------
    >>> from sparrot.experiments.convergence import Parameters
    >>> a, b = (fingerprint("convergence", "1", Parameters(seed=k)) for k in (0, 1))
    >>> a == b, a.startswith("convergence-")
    (False, True)
    """
    said = json.dumps([name, version, code_digest(_PACKAGE), asdict(parameters)], sort_keys=True)
    return f"{name}-{sha256(said.encode()).hexdigest()[:12]}"


@cache
def code_digest(package: Path) -> str:
    """A digest of all code that numbers can come from: of every room that computes.

    Examples
    --------
    >>> len(code_digest(_PACKAGE))
    64
    """
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _TELLERS:
            digest.update(f"{name.as_posix()} ".encode() + sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Work:
    """Does units of work, each once.

    Attributes
    ----------
    folder : where finished units are stored; None keeps nothing.
    report : called after each unit.
    n_jobs : processes for units that may run side by side; None for one a core.

    Examples
    --------
    >>> Work().each({"one": lambda: 1, "two": lambda: (1, 2)})
    {'one': 1, 'two': [1, 2]}
    """

    folder: Path | None = None
    report: Report = silent
    n_jobs: int | None = 1

    def each(self, units: Mapping[str, Unit], *, alone: bool = False) -> dict[str, Any]:
        """The result of every unit, by name.

        With `alone` one runs after the other, whatever `n_jobs` says: for those that measure time.
        """
        found = {name: self._stored(name) for name in units}
        missing = [name for name, entry in found.items() if entry is None]
        done = len(units) - len(missing)
        for name, entry in self._finish({name: units[name] for name in missing}, alone):
            found[name] = entry
            done += 1
            self.report(name, done, len(units))
        return {name: entry["result"] for name, entry in found.items() if entry is not None}

    def _finish(
        self, units: Mapping[str, Unit], alone: bool
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        n_jobs = min(self.n_jobs or cpu_count(), len(units))
        if alone or n_jobs <= 1:
            for name, unit in units.items():
                yield name, _finished(unit, self._path(name))
            return
        tasks = (delayed(_finished)(unit, self._path(name)) for name, unit in units.items())
        results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
        yield from zip(units, results, strict=True)

    def _stored(self, name: str) -> dict[str, Any] | None:
        """What a file says; None if there is none, or none that can be read."""
        path = self._path(name)
        if path is None or not path.exists():
            return None
        try:
            entry = json.loads(path.read_text())
        except ValueError:  # no JSON, or no text: damaged since it was written
            return None
        return entry if isinstance(entry, dict) and "result" in entry else None

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name}.json"


def _finished(unit: Unit, path: Path | None) -> dict[str, Any]:
    start, cpu = time.perf_counter(), _cpu()
    with warnings.catch_warnings():
        # Experiments go where the graph is in pieces on purpose, and count what comes of it.
        warnings.simplefilter("ignore", AffinityWarning)
        result = unit()
    took = {"seconds": time.perf_counter() - start, "cpu": _cpu() - cpu}
    said = json.dumps(
        {key: round(value, 3) for key, value in took.items()} | {"result": result}, allow_nan=False
    )
    if path is not None:
        with whole_file(path) as temporary:
            temporary.write_text(said)
    entry: dict[str, Any] = json.loads(said)  # as it will be read next time
    return entry


def _cpu() -> float:
    """Seconds of all cores, of this process and of children that have ended."""
    return sum(os.times()[:4])
