"""Counts of genes to points, preprocessed as in the paper (Luecken and Theis 2019), by scanpy.

Cells and genes with little expression are left out; counts are scaled to the median total of a
cell; log(1 + x); the most variable genes are kept; each gene is scaled to mean 0 and variance 1.
Nothing is clipped: the paper does not say that it is.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from sparrot._extras import load_extra
from sparrot._types import FloatArray, IntArray
from sparrot.datasets import Cells


def expression(
    cells: Cells, n_genes: int = 2000, *, min_genes: int = 200, min_cells: int = 3
) -> tuple[FloatArray, Cells]:
    """Points, and the cells that are left.

    Parameters
    ----------
    cells : counts, or log-normalized expression, which is only standardized.
    n_genes : how many of the most variable genes are kept.
    min_genes, min_cells : genes that a cell needs, and cells that a gene needs, to be kept.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = csr_array(rng.poisson(1.0, (50, 30)).astype(np.float32))
    >>> X, kept = expression(Cells(counts, np.arange(30), np.zeros(50)), 10, min_genes=1)
    >>> len(X), X.shape[1] >= 10, bool(np.allclose(X.mean(axis=0), 0, atol=1e-6))  # ties stay
    (50, True, True)
    """
    if cells.counts:
        adata = _variable(cells, n_genes, min_genes, min_cells)
        cells = cells.take(np.asarray(adata.obs["row"], dtype=np.int64))
        X = adata.X
    else:
        X = cells.X
    sc = load_extra("scanpy", "scanpy")
    scaled = sc.pp.scale(np.asarray(X.todense(), dtype=np.float64))
    return np.ascontiguousarray(scaled), cells


def variable_genes(cells: Cells, n_genes: int = 2000) -> Cells:
    """The counts of the genes and cells that `expression` keeps."""
    adata = _variable(cells, n_genes, min_genes=200, min_cells=3)
    genes = np.asarray(adata.var["column"], dtype=np.int64)
    kept = cells.take(np.asarray(adata.obs["row"], dtype=np.int64))
    return replace(kept, X=csr_array(kept.X[:, genes]), genes=np.asarray(kept.genes)[genes])


def _variable(cells: Cells, n_genes: int, min_genes: int, min_cells: int) -> Any:
    """Log-normalized expression of the most variable genes, with rows and columns of `cells`."""
    sc = load_extra("scanpy", "scanpy")
    adata = load_extra("anndata", "scanpy").AnnData(csr_matrix(cells.X))
    adata.obs["row"], adata.var["column"] = np.arange(adata.n_obs), np.arange(adata.n_vars)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scanpy's, about its own future
        sc.pp.filter_cells(adata, min_genes=min_genes)
        sc.pp.filter_genes(adata, min_cells=min_cells)
        sc.pp.normalize_total(adata)
        sc.pp.log1p(adata)
        sc.pp.highly_variable_genes(adata, n_top_genes=min(n_genes, adata.n_vars))
    return adata[:, adata.var["highly_variable"]]


def downsampled(X: Any, reads: IntArray, rng: np.random.Generator) -> csr_array:
    r"""Counts :math:`\tilde X_i \sim \mathrm{Multinomial}(X_i / \sum_j X_{ij}, n_i)` for each cell.

    Examples
    --------
    >>> X = csr_array(np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]]))
    >>> Y = downsampled(X, np.array([5, 7]), np.random.default_rng(0))
    >>> Y.sum(axis=1).tolist(), float(Y[0, 1]), float(Y[1, 2])
    ([5.0, 7.0], 0.0, 0.0)
    """
    X = csr_array(X, dtype=np.float64, copy=True)
    X.eliminate_zeros()
    drawn = X.copy()
    for i, n in enumerate(reads):
        own = slice(X.indptr[i], X.indptr[i + 1])
        drawn.data[own] = rng.multinomial(int(n), X.data[own] / X.data[own].sum())
    drawn.eliminate_zeros()
    return drawn.astype(np.float32)
