"""The named affinities: functions, estimators, and their one result type."""

from sparrot.affinity._coupling import Coupling, transport
from sparrot.affinity._graphs import (
    KNN,
    MAGIC,
    Epanechnikov,
    Gaussian,
    GaussianL2,
    epanechnikov,
    gaussian,
    gaussian_l2,
    knn,
    magic,
)
from sparrot.affinity._neighbors import KNeighborsTransformer
from sparrot.affinity._registry import match
from sparrot.affinity._result import Affinity, perplexity
from sparrot.affinity._transport import (
    EOT,
    QOT,
    Tsallis,
    eot,
    project,
    qot,
    qot_path,
    resume,
    tsallis,
)

__all__ = [
    "EOT",
    "KNN",
    "MAGIC",
    "QOT",
    "Affinity",
    "Coupling",
    "Epanechnikov",
    "Gaussian",
    "GaussianL2",
    "KNeighborsTransformer",
    "Tsallis",
    "eot",
    "epanechnikov",
    "gaussian",
    "gaussian_l2",
    "knn",
    "magic",
    "match",
    "perplexity",
    "project",
    "qot",
    "qot_path",
    "resume",
    "transport",
    "tsallis",
]
