"""sparrot for scanpy: replace `sc.pp.neighbors`, and all that comes after works as before.

`sc.tl.leiden`, `louvain`, `paga`, `dpt`, `ingest` and h5ad files read what `neighbors` writes. For
diffusion maps take `sparrot.sc.diffmap`: `sc.tl.diffmap` runs as well, but asks for the eigenvalues
of largest size, and on a hollow graph some of these are negative. For UMAP take `sparrot.sc.umap`:
`sc.tl.umap` runs as well, but sets small weights of the graph to zero, for all that comes after.

All weighted degrees of the graph are one, so the modularity of Leiden and Louvain becomes the
constant Potts model: `resolution` then has another meaning and must be chosen anew.
"""

from sparrot.sc._functions import affinity, diffmap, neighbors, tsne, umap

__all__ = [
    "affinity",
    "diffmap",
    "neighbors",
    "tsne",
    "umap",
]
