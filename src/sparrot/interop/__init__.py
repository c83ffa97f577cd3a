"""Affinities in the hands of other packages, and in files."""

from sparrot.interop.opentsne import tsne, tsne_affinities
from sparrot.interop.points import read_points
from sparrot.interop.store import load, save
from sparrot.interop.umap import UMAPLayout, umap_layout

__all__ = [
    "UMAPLayout",
    "load",
    "read_points",
    "save",
    "tsne",
    "tsne_affinities",
    "umap_layout",
]
