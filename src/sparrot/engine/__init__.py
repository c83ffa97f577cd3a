"""Where work runs, how much memory it may take, and how it tells of its progress."""

from sparrot.engine._dask import ALIGNED, Block, Rows, connected, is_dask_array, require_address
from sparrot.engine._progress import Progress, ProgressBar, ProgressCallback, as_progress, silent
from sparrot.engine._run import Run, available_memory, peak_memory, require_memory
from sparrot.engine._threads import Side, Threads, row_blocks

__all__ = [
    "ALIGNED",
    "Block",
    "Progress",
    "ProgressBar",
    "ProgressCallback",
    "Rows",
    "Run",
    "Side",
    "Threads",
    "as_progress",
    "available_memory",
    "connected",
    "is_dask_array",
    "peak_memory",
    "require_address",
    "require_memory",
    "row_blocks",
    "silent",
]
