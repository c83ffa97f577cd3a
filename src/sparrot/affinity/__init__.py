"""The named affinities: functions, estimators, and their one result type."""

from sparrot.affinity.baselines import epanechnikov, gaussian, gaussian_l2, knn, magic
from sparrot.affinity.eot import eot, tsallis
from sparrot.affinity.estimators import (
    EOT,
    KNN,
    MAGIC,
    QOT,
    Epanechnikov,
    Gaussian,
    GaussianL2,
    KNeighborsTransformer,
    Tsallis,
    resume,
)
from sparrot.affinity.first_order import first_order
from sparrot.affinity.match import match
from sparrot.affinity.perplexity import perplexity
from sparrot.affinity.qot import project, qot, qot_path
from sparrot.affinity.result import Affinity
from sparrot.affinity.transport import Coupling, transport

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
    "first_order",
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
