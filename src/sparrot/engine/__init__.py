"""Where tiles and row blocks run, and how they tell of their progress."""

from sparrot.engine._memory import available_memory, memory_budget, require_memory
from sparrot.engine._progress import (
    Progress,
    ProgressBar,
    ProgressCallback,
    as_progress,
    silent,
)
from sparrot.engine._threads import Threads

__all__ = [
    "Progress",
    "ProgressBar",
    "ProgressCallback",
    "Threads",
    "as_progress",
    "available_memory",
    "memory_budget",
    "require_memory",
    "silent",
]
