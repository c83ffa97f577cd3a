"""The affinities as scikit-learn estimators."""

from sparrot.affinity.estimators.baselines import KNN, MAGIC, Epanechnikov, Gaussian, GaussianL2
from sparrot.affinity.estimators.neighbours import KNeighborsTransformer
from sparrot.affinity.estimators.transport import EOT, QOT, Tsallis, resume

__all__ = [
    "EOT",
    "KNN",
    "MAGIC",
    "QOT",
    "Epanechnikov",
    "Gaussian",
    "GaussianL2",
    "KNeighborsTransformer",
    "Tsallis",
    "resume",
]
