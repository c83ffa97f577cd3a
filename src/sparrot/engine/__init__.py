"""Where tiles and row blocks run, and how they tell of their progress."""

from sparrot.engine.memory import available_memory, memory_budget, require_memory
from sparrot.engine.progress import Progress, ProgressCallback, silent
from sparrot.engine.threads import Threads

__all__ = [
    "Progress",
    "ProgressCallback",
    "Threads",
    "available_memory",
    "memory_budget",
    "require_memory",
    "silent",
]
