"""Operators -> eigenpairs, coordinates, clusters, layouts."""

from sparrot.embedding.clustering import SpectralClustering, suggest_clusters
from sparrot.embedding.eigen import Spectrum, eigenpairs
from sparrot.embedding.layout import mds_layout
from sparrot.embedding.maps import DiffusionMap, Eigenmaps
from sparrot.embedding.summary import Step, Summary, summarise

__all__ = [
    "DiffusionMap",
    "Eigenmaps",
    "SpectralClustering",
    "Spectrum",
    "Step",
    "Summary",
    "eigenpairs",
    "mds_layout",
    "suggest_clusters",
    "summarise",
]
