"""Sparse, density-adaptive, bistochastic affinity graphs by regularised optimal transport.

`sparrot.qot(X)` builds the affinity, `sparrot.QOT` is the scikit-learn estimator. Everything is
loaded on first use, so that `import sparrot` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparrot import datasets, embedding, errors, metrics, plot, report
    from sparrot.affinity import (
        EOT,
        KNN,
        MAGIC,
        QOT,
        Affinity,
        Coupling,
        Epanechnikov,
        Gaussian,
        GaussianL2,
        KNeighborsTransformer,
        Tsallis,
        eot,
        epanechnikov,
        first_order,
        gaussian,
        gaussian_l2,
        knn,
        magic,
        match,
        perplexity,
        project,
        qot,
        qot_path,
        transport,
        tsallis,
    )
    from sparrot.embedding import Summary, summarise
    from sparrot.engine import Progress
    from sparrot.errors import (
        AffinityWarning,
        InvalidInputError,
        MissingExtraError,
        NotConvergedError,
        NotEnoughMemoryError,
        SparrotError,
    )
    from sparrot.solvers import Certificate

__version__ = "0.1.0"

_HOME = {
    "Affinity": "affinity",
    "AffinityWarning": "errors",
    "Certificate": "solvers",
    "Coupling": "affinity",
    "EOT": "affinity",
    "Epanechnikov": "affinity",
    "Gaussian": "affinity",
    "GaussianL2": "affinity",
    "InvalidInputError": "errors",
    "KNN": "affinity",
    "KNeighborsTransformer": "affinity",
    "MAGIC": "affinity",
    "MissingExtraError": "errors",
    "NotConvergedError": "errors",
    "NotEnoughMemoryError": "errors",
    "Progress": "engine",
    "QOT": "affinity",
    "SparrotError": "errors",
    "Summary": "embedding",
    "Tsallis": "affinity",
    "eot": "affinity",
    "epanechnikov": "affinity",
    "first_order": "affinity",
    "gaussian": "affinity",
    "gaussian_l2": "affinity",
    "knn": "affinity",
    "magic": "affinity",
    "match": "affinity",
    "perplexity": "affinity",
    "project": "affinity",
    "qot": "affinity",
    "qot_path": "affinity",
    "summarise": "embedding",
    "transport": "affinity",
    "tsallis": "affinity",
}
_ROOMS = ("datasets", "embedding", "errors", "metrics", "plot", "report")

__all__ = [
    "EOT",
    "KNN",
    "MAGIC",
    "QOT",
    "Affinity",
    "AffinityWarning",
    "Certificate",
    "Coupling",
    "Epanechnikov",
    "Gaussian",
    "GaussianL2",
    "InvalidInputError",
    "KNeighborsTransformer",
    "MissingExtraError",
    "NotConvergedError",
    "NotEnoughMemoryError",
    "Progress",
    "SparrotError",
    "Summary",
    "Tsallis",
    "datasets",
    "embedding",
    "eot",
    "epanechnikov",
    "errors",
    "first_order",
    "gaussian",
    "gaussian_l2",
    "knn",
    "magic",
    "match",
    "metrics",
    "perplexity",
    "plot",
    "project",
    "qot",
    "qot_path",
    "report",
    "summarise",
    "transport",
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
