"""Time and peak memory of one call, each in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any


def measured(function: Callable[..., Any], *arguments: Any) -> tuple[float, float, Any]:
    """Seconds, megabytes above the start, and the result of `function(*arguments)` here."""
    forget_peak()
    before = _peak()
    start = time.perf_counter()
    result = function(*arguments)
    seconds = time.perf_counter() - start
    return seconds, _peak() - before, result


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in a fresh interpreter."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:  # which may start processes of its own
        return pool.submit(function, *arguments).result()


def forget_peak() -> None:
    """Reset the peak of resident memory, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """Peak of resident memory in megabytes."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1e3
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
