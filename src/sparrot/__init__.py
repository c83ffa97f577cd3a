"""Sparse, density-adaptive, bistochastic affinity graphs by regularised optimal transport.

`sparrot.qot(X)` builds the affinity, `sparrot.QOT` is the scikit-learn estimator. Everything is
loaded on first use, so that `import sparrot` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparrot import datasets, errors, metrics
    from sparrot.affinity import QOT, Affinity, eot, perplexity, project, qot, qot_path, tsallis
    from sparrot.engine import Progress
    from sparrot.errors import (
        AffinityWarning,
        InvalidInputError,
        MissingExtraError,
        NotConvergedError,
        NotEnoughMemoryError,
        SparrotError,
    )
    from sparrot.transport import Certificate

__version__ = "0.1.0"

_HOME = {
    "Affinity": "affinity",
    "AffinityWarning": "errors",
    "Certificate": "transport",
    "InvalidInputError": "errors",
    "MissingExtraError": "errors",
    "NotConvergedError": "errors",
    "NotEnoughMemoryError": "errors",
    "Progress": "engine",
    "QOT": "affinity",
    "SparrotError": "errors",
    "eot": "affinity",
    "perplexity": "affinity",
    "project": "affinity",
    "qot": "affinity",
    "qot_path": "affinity",
    "tsallis": "affinity",
}
_ROOMS = ("datasets", "errors", "metrics")

__all__ = [
    "QOT",
    "Affinity",
    "AffinityWarning",
    "Certificate",
    "InvalidInputError",
    "MissingExtraError",
    "NotConvergedError",
    "NotEnoughMemoryError",
    "Progress",
    "SparrotError",
    "datasets",
    "eot",
    "errors",
    "metrics",
    "perplexity",
    "project",
    "qot",
    "qot_path",
    "tsallis",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _HOME:
        value = getattr(import_module(f"sparrot.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"sparrot.{name}")
    else:
        raise AttributeError(f"module 'sparrot' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
