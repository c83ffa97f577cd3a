"""How to solve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparrot.engine import ProgressCallback, silent

SOLVERS = ("auto", "newton", "active-set", "alternating")
SEARCHES = ("exact", "approximate", "auto")


@dataclass(frozen=True, slots=True)
class Options:
    """How to solve: what does not change the answer (but for an approximate search)."""

    solver: str = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    max_memory: float | None = None
    progress: ProgressCallback = silent
    search: str = "exact"
    neighbors: Any = None
    checkpoint: Path | None = None
