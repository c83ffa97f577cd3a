"""How long work tells where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a running solve.

    Attributes
    ----------
    stage : what is being done: `"newton"`, `"screening"`, `"extending"`, `"growing"`,
        `"alternating"`.
    n_points : size of the problem being worked on (the active set begins with smaller ones).
    done, total : how much of the stage is done; `total` is 0 where the end is not known.
    marginal_error : the last known `max_i |(W1)_i - 1|`, or infinity.
    n_pairs : candidate pairs kept so far, where a solver keeps a list of them; else 0.
    """

    stage: str
    n_points: int
    done: int
    total: int = 0
    marginal_error: float = float("inf")
    n_pairs: int = 0


ProgressCallback = Callable[[Progress], None]


def silent(report: Progress) -> None:
    """Ignore a report: the callback of those who did not ask."""


def as_progress(progress: bool | ProgressCallback | None) -> ProgressCallback:
    """The callback for what was asked for."""
    return progress if callable(progress) else silent
