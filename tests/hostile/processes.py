"""Processes that are killed, interrupted or out of disk: the old file stays, or a whole new one.

Each case runs the command line in a process of its own.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

import sparrot
from sparrot.cli import main

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
N = 3000


@cache
def points(n: int = N) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, 5))


@contextmanager
def room_for(n_bytes: int) -> Iterator[None]:
    """No file may be longer than that: as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def start(*arguments: object, code: str | None = None, **options: object) -> subprocess.Popen[str]:
    """The command line, or a program, in a process of its own."""
    program = ["-m", "sparrot"] if code is None else ["-c", code]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,  # type: ignore[call-overload]
    )


def full_disk(folder: Path, suffix: str, room: int) -> str:
    """Write an affinity where there is room for so many bytes: all of it, or nothing."""
    source, target = folder / "points.npy", folder / "results" / f"a{suffix}"
    np.save(source, points()[:60])
    target.parent.mkdir(exist_ok=True)
    target.write_text("old")
    if suffix == ".h5ad":
        target.unlink()  # what is there is added to
    with room_for(room), _silence():
        code = main(["affinity", str(source), "-o", str(target), "-q"])
    assert not list(target.parent.glob(".*")), "a leftover"
    if code == 0:
        assert target.stat().st_size <= room
        if suffix == ".npz":
            assert sparrot.load(target).matrix.shape == (60, 60)
        return "written"
    assert code == 2, f"exit code {code}"
    assert suffix == ".h5ad" or target.read_text() == "old", "the old file is gone"
    assert suffix != ".h5ad" or not target.exists(), "half a file"
    return "refused"


@contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w") as nowhere:
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = nowhere, nowhere
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


RESUMED = """
import sys, numpy as np, sparrot
from pathlib import Path
folder = Path(sys.argv[1])
X = np.load(folder / "points.npy")
a = sparrot.qot(X, 0.05, solver="active-set", checkpoint=folder / "held")
np.save(folder / "found.npy", a.potential)
"""


@cache
def known_plan() -> object:
    return sparrot.qot(points(), 0.05, solver="active-set").matrix


def killed(folder: Path, seconds: float) -> str:
    """Kill a run with a checkpoint, and go on from what it left: the plan is the same."""
    np.save(folder / "points.npy", points())
    with start(folder, code=RESUMED) as running:
        time.sleep(seconds)
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=60)
    W = sparrot.qot(points(), 0.05, solver="active-set", checkpoint=folder / "held").matrix
    assert abs(W - known_plan()).max() < 1e-6, "another plan"
    names = {path.name for path in folder.iterdir()}
    assert names <= {"points.npy", "held", "found.npy"}, f"leftovers: {names}"
    return "killed" if running.returncode == -signal.SIGKILL else "done before"


def interrupted(folder: Path, number: signal.Signals, seconds: float) -> str:
    """Interrupt the command line: it ends soon, by its own code, with a whole file or none."""
    source, target = folder / "points.npy", folder / "results" / "a.npz"
    np.save(source, points())
    with start("affinity", source, "-o", target, "-q") as running:
        time.sleep(seconds)
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
    # Python takes a while to begin, and has its own way to end until then.
    assert running.returncode in (0, 1, CODES[number], -number), f"{running.returncode}: {said}"
    if running.returncode == 0:
        assert sparrot.load(target).matrix.shape == (N, N)
        return "done before"
    left = list(target.parent.iterdir()) if target.parent.exists() else []
    assert left in ([], [target]), "a leftover"
    if left:  # it was done, but not yet gone
        assert sparrot.load(target).matrix.shape == (N, N)
    return "interrupted"


def same_bits(seed: int) -> str:
    """Calls from many threads, with any number of jobs, have the bits of a serial call."""
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng([11, seed])
    X = rng.standard_normal((int(rng.integers(50, 1900)), int(rng.integers(1, 12))))
    calls: dict[str, Callable[[int], sparrot.Affinity]] = {
        "qot": lambda jobs: sparrot.qot(X, 0.3, n_jobs=jobs),
        "active set": lambda jobs: sparrot.qot(X, 0.3, solver="active-set", n_jobs=jobs),
        "floor": lambda jobs: sparrot.qot(X[:600], 0.1, min_neighbors=4, n_jobs=jobs),
        "eot": lambda jobs: sparrot.eot(X[:600], 0.3, n_jobs=jobs),
        "tsallis": lambda jobs: sparrot.tsallis(X[:900], 0.3, n_jobs=jobs),
    }
    call = calls[str(rng.choice(list(calls)))]
    known = call(1)
    jobs = [int(k) for k in rng.integers(1, 5, 4)]
    with ThreadPoolExecutor(len(jobs)) as pool:
        for a in pool.map(call, jobs):
            assert a.potential.tobytes() == known.potential.tobytes(), "other bits"
            assert (a.matrix != known.matrix).sum() == 0, "another matrix"
    return "same bits"
