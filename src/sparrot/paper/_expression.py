"""Counts of genes to points, preprocessed as in the authors' code, with scanpy.

Cells with fewer than 200 genes and genes in fewer than 3 cells are left out; counts are scaled to
10,000 a cell; log(1 + x); genes that are variable by scanpy's default thresholds are kept; each
gene is scaled to mean 0 and variance 1, and clipped at 10 deviations. This is done with all cells
of a set, before any are sampled.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from sparrot._types import FloatArray, IntArray
from sparrot.datasets import Cells
from sparrot.errors import load_extra

_READS = 1e4  # of a cell, after scaling
_CLIP = 10.0  # deviations


def expression(cells: Cells, *, min_genes: int = 200) -> tuple[FloatArray, Cells]:
    """Points, and the cells that are left.

    Parameters
    ----------
    cells : counts, or log-normalized expression, which is only standardized and clipped.
    min_genes : genes that a cell needs to be kept.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = csr_array(rng.poisson(rng.gamma(1, 1, 800), (50, 800)).astype(np.float32))
    >>> X, kept = expression(Cells(counts, np.arange(800), np.zeros(50)))
    >>> len(X), X.shape[1] < 800, bool(np.allclose(X.mean(axis=0), 0, atol=1e-2))
    (50, True, True)
    """
    if not cells.counts:
        return _standardized(cells.X), cells
    adata = _variable(cells, min_genes)
    return _standardized(adata.X), cells.take(np.asarray(adata.obs["row"], dtype=np.int64))


def kept_cells_and_genes(cells: Cells) -> tuple[IntArray, IntArray]:
    """The rows and the columns of counts that `expression` keeps."""
    adata = _variable(cells)
    rows, columns = adata.obs["row"], adata.var["column"]
    return np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)


def variable_genes(cells: Cells) -> Cells:
    """The counts of the genes and cells that `expression` keeps."""
    rows, genes = kept_cells_and_genes(cells)
    kept = cells.take(rows)
    return replace(kept, X=csr_array(kept.X[:, genes]), genes=np.asarray(kept.genes)[genes])


def points_of_counts(
    X: Any, genes: IntArray | None = None, *, standardized: bool = True
) -> FloatArray:
    """Points from counts whose genes are chosen already: scaled, logarithms, standardized.

    Parameters
    ----------
    X : counts.
    genes : the columns that become coordinates; all of them count as reads of a cell.
    standardized : False for the logarithms as they are.

    Examples
    --------
    >>> X = csr_array(np.random.default_rng(0).poisson(1.0, (20, 5)).astype(np.float32))
    >>> points_of_counts(X).shape, points_of_counts(X, np.array([0, 3])).shape
    ((20, 5), (20, 2))
    >>> bool((points_of_counts(X, standardized=False) >= 0).all())
    True
    """
    adata = load_extra("anndata", "scanpy").AnnData(csr_matrix(X, copy=True))
    _log_normalize(adata)
    logs = adata.X if genes is None else adata.X[:, genes]
    return _standardized(logs) if standardized else logs.toarray().astype(np.float64)


def _variable(cells: Cells, min_genes: int = 200) -> Any:
    """Log-normalized expression of the variable genes, with rows and columns of `cells`."""
    sc = load_extra("scanpy", "scanpy")
    adata = load_extra("anndata", "scanpy").AnnData(csr_matrix(cells.X, copy=True))
    adata.obs["row"], adata.var["column"] = np.arange(adata.n_obs), np.arange(adata.n_vars)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scanpy's, about its own future
        sc.pp.filter_cells(adata, min_genes=min_genes)
        sc.pp.filter_genes(adata, min_cells=3)
        _log_normalize(adata)
        sc.pp.highly_variable_genes(adata)
    return adata[:, adata.var["highly_variable"]]


def _log_normalize(adata: Any) -> None:
    sc = load_extra("scanpy", "scanpy")
    sc.pp.normalize_total(adata, target_sum=_READS)
    sc.pp.log1p(adata)


def _standardized(X: Any) -> FloatArray:
    sc = load_extra("scanpy", "scanpy")
    scaled = sc.pp.scale(np.asarray(X.todense(), dtype=np.float64))
    return np.ascontiguousarray(scaled.clip(-_CLIP, _CLIP))


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
