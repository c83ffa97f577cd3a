"""How much memory there is, asked before a large allocation rather than after."""

from __future__ import annotations

from pathlib import Path

from sparrot.errors import NotEnoughMemoryError

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes that this process may still take, or infinity where the system does not tell."""
    return min(_system_available(), _cgroup_available())


def require_memory(n_bytes: float, *, what: str, remedy: str) -> None:
    """Raise `NotEnoughMemoryError` if `n_bytes` are not to be had."""
    available = available_memory()
    if n_bytes > available:
        raise NotEnoughMemoryError(
            f"{what} needs about {n_bytes / 1e9:.1f} GB, "
            f"and {available / 1e9:.1f} GB are available; {remedy}"
        )


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
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = (_CGROUP / "memory.current").read_text().strip()
    except OSError:
        return float("inf")
    return float("inf") if limit == "max" else float(limit) - float(used)
