"""Work in units: what is finished is stored, and is not done again.

A unit is a function of no arguments whose result JSON can hold. Its file appears whole or not at
all, in a folder named after the parameters and the code: others begin anew, and an interrupted run
goes on where it stopped.

Time and peak memory of one call, in a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from sparrot._files import whole_file
from sparrot.errors import AffinityWarning

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
        from joblib import Parallel, cpu_count, delayed  # not needed to list the experiments

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


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in a fresh interpreter."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def measured(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, bytes above those held at the start, and the result of a call here.

    Examples
    --------
    >>> seconds, peak, result = measured(lambda: 1 + 1)
    >>> seconds >= 0, peak >= 0, result
    (True, True, 2)
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak, where Linux can
    before = _peak()
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    return seconds, _peak() - before, result


def _peak() -> float:
    """Peak of resident memory in bytes."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024.0 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
