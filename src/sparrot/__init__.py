"""Sparse, density-adaptive, bistochastic affinity graphs by regularised optimal transport.

`sparrot.qot(X)` builds the affinity, `sparrot.QOT` is the scikit-learn estimator. Everything is
loaded on first use, so that `import sparrot` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparrot import datasets, embedding, errors, geometry, metrics, operators, plot, report, sc
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
        resume,
        transport,
        tsallis,
    )
    from sparrot.embedding import (
        DiffusionMap,
        Eigenmaps,
        SpectralClustering,
        Spectrum,
        Summary,
        eigenpairs,
        summarise,
    )
    from sparrot.engine import Progress
    from sparrot.errors import (
        AffinityWarning,
        InvalidInputError,
        MissingDataError,
        MissingExtraError,
        NotConvergedError,
        NotEnoughMemoryError,
        SparrotError,
    )
    from sparrot.interop import (
        UMAPLayout,
        load,
        read_points,
        save,
        tsne,
        tsne_affinities,
        umap_layout,
    )
    from sparrot.solvers import Certificate

__version__ = "0.1.0"

_HOME = {
    "Affinity": "affinity",
    "AffinityWarning": "errors",
    "Certificate": "solvers",
    "Coupling": "affinity",
    "DiffusionMap": "embedding",
    "EOT": "affinity",
    "Eigenmaps": "embedding",
    "Epanechnikov": "affinity",
    "Gaussian": "affinity",
    "GaussianL2": "affinity",
    "InvalidInputError": "errors",
    "KNN": "affinity",
    "KNeighborsTransformer": "affinity",
    "MAGIC": "affinity",
    "MissingDataError": "errors",
    "MissingExtraError": "errors",
    "NotConvergedError": "errors",
    "NotEnoughMemoryError": "errors",
    "Progress": "engine",
    "QOT": "affinity",
    "SparrotError": "errors",
    "SpectralClustering": "embedding",
    "Spectrum": "embedding",
    "Summary": "embedding",
    "Tsallis": "affinity",
    "eigenpairs": "embedding",
    "UMAPLayout": "interop",
    "eot": "affinity",
    "epanechnikov": "affinity",
    "first_order": "affinity",
    "gaussian": "affinity",
    "gaussian_l2": "affinity",
    "knn": "affinity",
    "load": "interop",
    "magic": "affinity",
    "match": "affinity",
    "perplexity": "affinity",
    "project": "affinity",
    "qot": "affinity",
    "qot_path": "affinity",
    "read_points": "interop",
    "resume": "affinity",
    "save": "interop",
    "summarise": "embedding",
    "transport": "affinity",
    "tsallis": "affinity",
    "tsne": "interop",
    "tsne_affinities": "interop",
    "umap_layout": "interop",
}
_ROOMS = (
    "datasets",
    "embedding",
    "errors",
    "geometry",
    "metrics",
    "operators",
    "plot",
    "report",
    "sc",
)

__all__ = [
    "EOT",
    "KNN",
    "MAGIC",
    "QOT",
    "Affinity",
    "AffinityWarning",
    "Certificate",
    "Coupling",
    "DiffusionMap",
    "Eigenmaps",
    "Epanechnikov",
    "Gaussian",
    "GaussianL2",
    "InvalidInputError",
    "KNeighborsTransformer",
    "MissingDataError",
    "MissingExtraError",
    "NotConvergedError",
    "NotEnoughMemoryError",
    "Progress",
    "SparrotError",
    "SpectralClustering",
    "Spectrum",
    "Summary",
    "Tsallis",
    "UMAPLayout",
    "datasets",
    "eigenpairs",
    "embedding",
    "eot",
    "epanechnikov",
    "errors",
    "first_order",
    "gaussian",
    "gaussian_l2",
    "geometry",
    "knn",
    "load",
    "magic",
    "match",
    "metrics",
    "operators",
    "perplexity",
    "plot",
    "project",
    "qot",
    "qot_path",
    "read_points",
    "report",
    "resume",
    "save",
    "sc",
    "summarise",
    "transport",
    "tsallis",
    "tsne",
    "tsne_affinities",
    "umap_layout",
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
