"""The long version of the hostile tests: thousands of cases, bounded in time.

    python tests/hostile/fuzz.py                    # FUZZ_SECONDS=600, FUZZ_SEED=0
    python tests/hostile/fuzz.py geometries:165     # one case again, with its traceback

Cases run in processes of their own, so that a crash or a hang is one failed case. The table says
how many of each kind were tried and how they ended; each failure has a name that runs it again. The
exit code is 1 if there is one.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock, Thread

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]
os.environ.setdefault("MPLBACKEND", "agg")
LIMIT = 180.0  # seconds after which a case hangs
ENDS = ("answered", "refused", "gave up", "wrong", "other errors", "hangs", "crashes")
GOOD = ENDS[:3]


def _inputs(seed: int) -> str:
    from hostile import inputs

    cases = list(inputs.all_cases())
    case = cases[seed % len(cases)]
    try:
        return inputs.run(*case)
    except BaseException as error:
        error.add_note(f"{case[0]}({case[1]}={case[2]})")
        raise
    finally:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


def _geometries(seed: int) -> str:
    from hostile import geometries

    return geometries.run(seed)


def _many_points(seed: int) -> str:
    from hostile import geometries

    return geometries.run(seed, geometries.MANY)


def _formats(seed: int) -> str:
    from hostile import formats

    names = list(formats.FILES)
    return formats.run(names[seed % len(names)], seed)


def _disk(seed: int) -> str:
    from hostile import processes
    from sparrot.cli._output import AFFINITIES

    suffixes = list(AFFINITIES)
    with tempfile.TemporaryDirectory() as folder:
        room = 37 * (seed // len(suffixes)) ** 2 % 60_000
        return processes.full_disk(Path(folder), suffixes[seed % len(suffixes)], room)


def _kills(seed: int) -> str:
    from hostile import processes

    with tempfile.TemporaryDirectory() as folder:
        return processes.killed(Path(folder), 0.1 * (seed % 37))


def _signals(seed: int) -> str:
    from hostile import processes

    with tempfile.TemporaryDirectory() as folder:
        number = (signal.SIGINT, signal.SIGTERM)[seed % 2]
        return processes.interrupted(Path(folder), number, 0.06 * (seed % 41))


def _threads(seed: int) -> str:
    from hostile import processes

    return processes.same_bits(seed)


# Each kind of case, and how many of it in a round.
AREAS: dict[str, tuple[Callable[[int], str], int]] = {
    "inputs": (_inputs, 60),
    "geometries": (_geometries, 40),
    "many-points": (_many_points, 4),
    "formats": (_formats, 60),
    "disk": (_disk, 8),
    "kills": (_kills, 1),
    "signals": (_signals, 2),
    "threads": (_threads, 2),
}


def cases(seed: int) -> Iterator[tuple[str, int]]:
    """All areas in turn, for ever."""
    for k in count():
        for area, (_, share) in AREAS.items():
            for i in range(share):
                yield area, seed + k * share + i


class Worker:
    """A process that runs one case after the other."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def run(self, area: str, seed: int) -> tuple[str, str]:
        """How a case ended, and what there is to say."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{area}:{seed}\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], LIMIT)[0]:
            self.stop()
            self._start()
            return "hangs", f"more than {LIMIT:g} s"
        answer = self._process.stdout.readline()
        if not answer:
            code = self._process.wait()
            self._close()
            self._start()
            return "crashes", f"exit code {code}"
        end, words = json.loads(answer)
        return end, words

    def stop(self) -> None:
        """End it, and what it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def one(area: str, seed: int) -> tuple[str, str]:
    """Run one case here."""
    try:
        end = AREAS[area][0](seed)
    except AssertionError as error:
        return "wrong", _words(error)
    except Exception as error:
        return "other errors", _words(error)
    return (end if end in GOOD else "answered"), ""


def _words(error: BaseException) -> str:
    notes = " ".join(getattr(error, "__notes__", ()))
    return f"{notes} {type(error).__name__}: {' '.join(str(error).split())[:200]}".strip()


def work() -> None:
    """Run the cases that are named on standard input; answers go where it was on its own."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may write there
    for line in sys.stdin:
        area, _, seed = line.strip().partition(":")
        answers.write(json.dumps(one(area, int(seed))) + "\n")
        answers.flush()


def fuzz(seconds: float, seed: int, n_workers: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Run cases for so long; what became of them, and the failures."""
    stop_at, lock, queue = time.monotonic() + seconds, Lock(), cases(seed)
    ends: dict[str, Counter[str]] = {area: Counter() for area in AREAS}
    failures: list[str] = []

    def loop() -> None:
        worker = Worker()
        while time.monotonic() < stop_at:
            with lock:
                area, number = next(queue)
            end, words = worker.run(area, number)
            with lock:
                ends[area][end] += 1
                if end not in GOOD:
                    failures.append(f"{area}:{number} {end}: {words}")
                    print(failures[-1], flush=True)  # noqa: T201
        worker.stop()

    threads = [Thread(target=loop) for _ in range(n_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends, failures


def table(ends: dict[str, Counter[str]]) -> str:
    """The table of what became of the cases, as the guide has it."""
    total = sum(ends.values(), Counter())
    rows = [["cases", "tried", *ENDS], ["---", *["---:"] * (1 + len(ENDS))]]
    for area, found in [*((f"`{area}`", found) for area, found in ends.items()), ("all", total)]:
        rows.append([area, *(f"{n:,}" for n in (found.total(), *(found[end] for end in ENDS)))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> int:
    """The program."""
    if sys.argv[1:] == ["--worker"]:
        work()
        return 0
    if sys.argv[1:]:
        for case in sys.argv[1:]:
            area, _, seed = case.partition(":")
            try:
                print(case, AREAS[area][0](int(seed)))  # noqa: T201
            except Exception:
                traceback.print_exc()
                return 1
        return 0
    seconds = float(os.environ.get("FUZZ_SECONDS", "600"))
    seed = int(os.environ.get("FUZZ_SEED", "0"))
    ends, failures = fuzz(seconds, seed, max(1, min(4, os.cpu_count() or 1)))
    print(table(ends))  # noqa: T201
    print(f"seed {seed}, {seconds:g} s, {len(failures)} failures")  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
