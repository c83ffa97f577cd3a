"""How much memory there is, asked before a large allocation rather than after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sparrot.errors import NotEnoughMemoryError

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes that this process may still take, or infinity where the system does not tell."""
    return min(_system_available(), _cgroup_available())


def require_memory(
    n_bytes: float, *, what: str, remedy: str | Sequence[str], max_memory: float | None = None
) -> None:
    """Raise `NotEnoughMemoryError` if `n_bytes` are not to be had, or are more than allowed."""
    available = memory_budget(max_memory)
    if n_bytes > available:
        raise NotEnoughMemoryError(
            f"{what} needs about {_size(n_bytes)}, and {_size(available)} are available",
            remedy=remedy,
        )


def memory_budget(max_memory: float | None) -> float:
    """Bytes that may be taken: what is available, but no more than the user allows."""
    available = available_memory()
    return available if max_memory is None else min(available, max_memory)


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.3g} MB"


def _system_available() -> float:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return float("inf")
    for line in lines:
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    return float("inf")


def _cgroup_available() -> float:
    """What the container may still take; cached files do not count, they give way."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = float((_CGROUP / "memory.current").read_text())
        statistics = (_CGROUP / "memory.stat").read_text().splitlines()
    except OSError:
        return float("inf")
    if limit == "max":
        return float("inf")
    cached = sum(float(line.split()[1]) for line in statistics if line.startswith("inactive_file "))
    return max(0.0, float(limit) - used + cached)
