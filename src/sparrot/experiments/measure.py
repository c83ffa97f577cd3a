"""Time and peak memory of one call, in a process of its own."""

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
