"""Work in units that are stored when they are finished, and how to measure one.

A unit is a function of no arguments whose result JSON can hold. Its file is written whole or not at
all, in a folder named after the parameters and the code: an interrupted run continues where it
stopped, and other parameters or other code start anew.
"""

from __future__ import annotations

import ast
import contextlib
import json
import multiprocessing
import os
import re
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
from sparrot.engine import peak_memory
from sparrot.errors import AffinityWarning

_PACKAGE = Path(__file__).parents[1]
_NOT_COMPUTING = ("plot/", "report/", "cli/", "__main__.py", "paper/_figures.py")
_DRAWING = re.compile(r"_?draw(_|$)")  # names of functions
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

Unit = Callable[[], Any]
Report = Callable[[str, int, int], None]  # unit, done, total


def silent(unit: str, done: int, total: int) -> None:
    """Ignore a report."""


@dataclass(frozen=True, slots=True)
class Work:
    """Runs units of work, each once.

    Attributes
    ----------
    folder : where finished units are stored; None stores nothing.
    report : called after each unit with its name, how many are done, and how many there are.
    n_jobs : processes for units that may run in parallel; None for one per core.

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

        With `alone` they run one after the other, whatever `n_jobs` is: for units that measure
        time.
        """
        found = {name: self._stored(name) for name in units}
        missing = {name: units[name] for name, entry in found.items() if entry is None}
        done = len(units) - len(missing)
        for name, entry in self._finish(missing, alone):
            found[name] = entry
            done += 1
            self.report(name, done, len(units))
        return {name: entry["result"] for name, entry in found.items() if entry is not None}

    def _finish(
        self, units: Mapping[str, Unit], alone: bool
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        from joblib import Parallel, cpu_count, delayed

        n_jobs = min(self.n_jobs or cpu_count(), len(units))
        if alone or n_jobs <= 1:
            for name, unit in units.items():
                yield name, _finished(unit, self._path(name))
            return
        tasks = (delayed(_finished)(unit, self._path(name)) for name, unit in units.items())
        with warnings.catch_warnings():
            # Joblib replaces a process whose memory has grown; were its warning an error, it would
            # end the thread that does so, and the run would never end.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
            yield from zip(units, results, strict=True)

    def _stored(self, name: str) -> dict[str, Any] | None:
        """The contents of a unit's file; None if there is none that can be read."""
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
    """Run a unit and store its result with the time it took."""
    start, cpu = time.perf_counter(), _cpu_seconds()
    with warnings.catch_warnings():
        # Some parameters leave the graph in pieces on purpose, and the numbers show what follows.
        warnings.simplefilter("ignore", AffinityWarning)
        result = unit()
    entry = {
        "seconds": round(time.perf_counter() - start, 3),
        "cpu": round(_cpu_seconds() - cpu, 3),
        "result": result,
    }
    text = json.dumps(entry, allow_nan=False)
    if path is not None:
        with whole_file(path) as temporary:
            temporary.write_text(text)
    stored: dict[str, Any] = json.loads(text)  # as it will be read next time: tuples are lists
    return stored


def _cpu_seconds() -> float:
    """Seconds of all cores, of this process and of children that have ended."""
    return sum(os.times()[:4])


def fingerprint(name: str, version: str, parameters: Any) -> str:
    """A short name for the results of an experiment: by its parameters, and by the code.

    Examples
    --------
    >>> from sparrot.paper.convergence import Parameters
    >>> a, b = (fingerprint("convergence", "1", Parameters(n_seeds=k)) for k in (1, 2))
    >>> a == b, a.startswith("convergence-")
    (False, True)
    """
    key = json.dumps([name, version, code_digest(), asdict(parameters)], sort_keys=True)
    return f"{name}-{sha256(key.encode()).hexdigest()[:12]}"


@cache
def code_digest(package: Path = _PACKAGE) -> str:
    """A digest of all code of a package that numbers can depend on; not of texts, nor drawings.

    Examples
    --------
    >>> len(code_digest())
    64
    """
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith(_NOT_COMPUTING):
            code = _computing(path.read_bytes(), draws=name.startswith("paper/"))
            digest.update(f"{name} ".encode() + sha256(code).digest())
    return digest.hexdigest()


def _computing(code: bytes, draws: bool) -> bytes:
    """A module without its docstrings and, if it draws, its functions `draw` and `_draw_...`."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    tree.body = [
        node
        for node in tree.body
        if not (draws and isinstance(node, ast.FunctionDef) and _DRAWING.match(node.name))
    ]
    return ast.dump(tree).encode()


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in a fresh interpreter."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def measured(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, peak of memory in bytes above that at the start, and the result of a call.

    Examples
    --------
    >>> seconds, peak, result = measured(lambda: 1 + 1)
    >>> seconds >= 0, peak >= 0, result
    (True, True, 2)
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak, where Linux can
    before = peak_memory()
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    return seconds, float((peak_memory() or 0) - (before or 0)), result
