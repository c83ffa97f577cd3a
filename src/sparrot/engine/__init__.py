"""Where tiles and row blocks run, how much memory they may take, how they tell of their progress."""

from sparrot.engine._memory import available_memory, memory_budget, require_memory
from sparrot.engine._progress import Progress, ProgressCallback, as_progress, silent
from sparrot.engine._run import Run
from sparrot.engine._threads import Threads

__all__ = [
    "Progress",
    "ProgressCallback",
    "Run",
    "Threads",
    "as_progress",
    "available_memory",
    "memory_budget",
    "require_memory",
    "silent",
]
