"""Arguments that all affinities share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparrot.engine import silent
from sparrot.errors import InvalidInputError
from sparrot.solvers import SEARCHES, SOLVERS, Options
from sparrot.validation import as_choice, as_max_iter, as_positive, as_tolerance


def as_options(
    solver: Any,
    tol: Any,
    max_iter: Any,
    max_memory: Any,
    progress: Any,
    search: Any = "exact",
    neighbours: Any = None,
    checkpoint: Any = None,
) -> Options:
    """How to solve."""
    if max_memory is not None:
        max_memory = as_positive(max_memory, "max_memory", "it is in bytes, such as 4e9")
    if progress is not None and not callable(progress):
        raise InvalidInputError(f"progress must be a function of a Progress, got {progress!r}")
    search = _as_search(search, neighbours)
    if search != "exact" and solver not in ("auto", "active-set"):
        raise InvalidInputError(
            f"solver={solver!r} looks at every pair, so search={search!r} has no meaning; use "
            "solver='active-set' or 'auto'"
        )
    if checkpoint is not None and (search != "exact" or solver not in ("auto", "active-set")):
        raise InvalidInputError(
            "checkpoint is for search='exact' with solver='active-set' or 'auto', got "
            f"search={search!r}, solver={solver!r}"
        )
    return Options(
        solver=as_choice(solver, "solver", SOLVERS),
        tol=as_tolerance(tol),
        max_iter=as_max_iter(max_iter),
        max_memory=max_memory,
        progress=progress or silent,
        search=search,
        neighbours=neighbours,
        checkpoint=None if checkpoint is None else Path(checkpoint),
    )


def _as_search(search: Any, neighbours: Any) -> str:
    if neighbours is not None and not hasattr(neighbours, "fit_transform"):
        raise InvalidInputError(
            "neighbours must be a transformer such as sklearn.neighbors.KNeighborsTransformer, got "
            f"{neighbours!r}"
        )
    if neighbours is not None and search == "exact":
        raise InvalidInputError(
            "neighbours is for search='approximate'; an exact search needs none"
        )
    return as_choice(search, "search", SEARCHES)


def as_public_metric(metric: Any) -> str:
    """The name of a metric; `"kernel"` is the affair of `project`."""
    if metric == "kernel" or not isinstance(metric, str):
        raise InvalidInputError(f"metric must be the name of a metric, got {metric!r}")
    return metric
