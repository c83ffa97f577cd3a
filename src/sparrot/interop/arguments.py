"""What the functions for scanpy take, checked before anything is computed."""

from __future__ import annotations

import logging
from numbers import Integral
from typing import Any

from sparrot.affinity.nearest import cost_named
from sparrot.errors import InvalidInputError
from sparrot.interop.annotated import as_anndata
from sparrot.interop.nearest import NEIGHBOURS
from sparrot.validation import as_count, as_flag

_log = logging.getLogger(__name__)
_OF_SCANPY = {  # what sc.pp.neighbors takes, and a word on what to do here
    "random_state": "nothing in it is random, its result is deterministic; leave it out",
    "method": "kind= chooses the affinity, 'qot', 'eot' or 'tsallis'; leave it out",
    "knn": "a cell has as many neighbours as the data says, perplexity= on average; leave it out",
    "transformer": "it searches exactly; leave it out, or pass search='approximate' and the "
    "transformer by neighbours=",
    "metric_kwds": "compute the distances yourself, and pass them to sparrot.qot by "
    "metric='precomputed'; sparrot.save puts the affinity into an .h5ad file",
}


def own(adata: Any, copy: Any) -> Any:
    """The AnnData to write into: itself, or a copy in memory."""
    adata, backed = as_anndata(adata), getattr(adata, "isbacked", False)
    if as_flag(copy, "copy"):
        return adata.to_memory() if backed else adata.copy()
    if backed and adata.is_view:
        raise InvalidInputError(
            "adata is a view of a file on disk, and nothing can be written to it; call "
            ".to_memory() first, or pass copy=True"
        )
    return adata


def as_seed(random_state: Any) -> int:
    """An integer."""
    if not isinstance(random_state, Integral) or isinstance(random_state, bool):
        raise InvalidInputError(
            f"random_state must be an integer, which a file can hold, got {random_state!r}"
        )
    return int(random_state)


def as_neighbours(n_neighbors: Any, n: int) -> int:
    """How many neighbours to keep distances to, the cell itself counted."""
    if n_neighbors == 1:
        raise InvalidInputError("n_neighbors counts the cell itself, so it must be at least 2")
    if n_neighbors is not None:
        return as_count(n_neighbors, "n_neighbors", n)
    if n < NEIGHBOURS:
        _log.warning("there are only %d cells: n_neighbors is %d, not %d", n, n, NEIGHBOURS)
    return min(n, NEIGHBOURS)


def say_if_alone(n_neighbors: Any, perplexity: Any, eps: Any) -> None:
    """Log that the number of neighbours is not the scale of the graph, if nothing else is given."""
    if n_neighbors is not None and perplexity is None and eps is None:
        _log.warning(
            "n_neighbors=%s only affects the distances, and not the graph; use perplexity= for its "
            "effective number of neighbours",
            n_neighbors,
        )


def require_known(options: dict[str, Any]) -> None:
    """Refuse what the other functions take, or scanpy, and this one cannot."""
    for name in options:
        if name in _OF_SCANPY:
            raise InvalidInputError(f"sparrot.sc.neighbors takes no {name}: {_OF_SCANPY[name]}")
    if not as_flag(options.get("hollow", True), "hollow"):
        raise InvalidInputError(
            "hollow=False gives cells an affinity to themselves, and a graph of scanpy has none; "
            "leave it out, or keep such an affinity with sparrot.save"
        )


def as_cost(metric: Any) -> str:
    """The cost that belongs to a distance of scanpy."""
    if metric in ("precomputed", "kernel"):
        raise InvalidInputError(
            f"sparrot.sc.neighbors starts from points, not from metric={metric!r}; put the matrix "
            "of sparrot.qot into the file with sparrot.save"
        )
    return cost_named(str(metric))
