"""sparrot for scanpy: call `neighbors` instead of `sc.pp.neighbors`; the tools work as before.

What each function reads and writes, where `{k}` is its `key_added` (or `neighbors_key`); without
one, `obsp["connectivities"]`, `obsp["distances"]`, `uns["neighbors"]` are the default graph, as in
scanpy:

=============  =====================================  =============================================
function       reads                                  writes
=============  =====================================  =============================================
``neighbors``  `X`, a layer or a key of `obsm`        `obsp["{k}_connectivities"]`,
                                                      `obsp["{k}_distances"]`,
                                                      `obs["{k}_potential"]`, `uns["{k}"]`
``affinity``   all that `neighbors` writes            nothing: returns a `sparrot.Affinity`
``diffmap``    `obsp["{k}_connectivities"]`           `obsm["X_diffmap"]`, `uns["diffmap_evals"]`
``tsne``       the same                               `obsm["X_tsne"]`, `uns["tsne"]`
``umap``       the same                               `obsm["X_umap"]`, `uns["umap"]`
=============  =====================================  =============================================

`sc.tl.leiden`, `louvain`, `paga`, `dpt`, `ingest` and h5ad files read what `neighbors` writes. For
diffusion maps use `sparrot.sc.diffmap`: `sc.tl.diffmap` runs as well, but asks for the eigenvalues
of largest size, and on a hollow graph some of these are negative. For UMAP use `sparrot.sc.umap`:
`sc.tl.umap` runs as well, but sets small weights of the graph to zero, for all that comes after.

All weighted degrees of the graph are one, so the modularity of Leiden and Louvain becomes the
constant Potts model. `resolution` means nearly what it does on a k-NN graph whose degrees are
nearly equal: start with 0.5 and 1.
"""

from sparrot.sc._neighbors import affinity, neighbors
from sparrot.sc._tools import diffmap, tsne, umap

__all__ = [
    "affinity",
    "diffmap",
    "neighbors",
    "tsne",
    "umap",
]
