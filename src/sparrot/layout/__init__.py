"""Affinity -> coordinates in the plane: t-SNE, UMAP and multidimensional scaling."""

from sparrot.layout._mds import mds_layout
from sparrot.layout._tsne import tsne, tsne_affinities
from sparrot.layout._umap import UMAPLayout, umap_layout

__all__ = [
    "UMAPLayout",
    "mds_layout",
    "tsne",
    "tsne_affinities",
    "umap_layout",
]
