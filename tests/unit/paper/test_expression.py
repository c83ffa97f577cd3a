from dataclasses import replace

import anndata
import numpy as np
import pytest
import scanpy as sc
from scipy.sparse import csr_array, csr_matrix

from sparrot.datasets import Cells
from sparrot.paper._expression import downsampled, expression, points_of_counts, variable_genes


@pytest.fixture
def cells():
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.5, 1.5, 1500) * np.where(
        np.arange(80)[:, None] < 40, 1, rng.random(1500) * 3
    )
    X = rng.poisson(rates).astype(np.float32)
    X[5] = 0  # an empty cell
    return Cells(csr_array(X), np.arange(1500), np.arange(80))


def test_the_steps_are_those_of_the_authors(cells):
    """10,000 counts a cell, scanpy's default thresholds for genes, clipped at 10 deviations."""
    adata = anndata.AnnData(csr_matrix(cells.X))
    sc.pp.filter_cells(adata, min_genes=200)
    sc.pp.filter_genes(adata, min_cells=3)
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    sc.pp.highly_variable_genes(adata, min_mean=0.0125, max_mean=3, min_disp=0.5)
    adata = adata[:, adata.var.highly_variable].copy()
    adata.X = adata.X.toarray()
    sc.pp.scale(adata, max_value=10)
    X, kept = expression(cells)
    assert X.shape == adata.shape
    assert 50 < X.shape[1] < 1500
    assert np.abs(X - adata.X).max() < 1e-3  # in single precision there
    assert kept.types.tolist() == [k for k in range(80) if k != 5]


def test_values_are_clipped_and_counts_are_not_changed(cells):
    X = np.repeat(cells.X.toarray(), 4, axis=0)
    X[:, 7] = 0
    X[3, 7] = 50  # once standardized, 17 deviations
    many = replace(cells, X=csr_array(X), types=np.arange(320))
    before = many.X.copy()
    assert np.abs(points_of_counts(many.X[many.X.sum(axis=1) > 0])).max() == 10
    assert np.abs(expression(many)[0]).max() <= 10
    assert (many.X != before).nnz == 0


def test_log_normalized_expression_is_only_standardized(cells):
    logs = Cells(csr_array(np.log1p(cells.X.toarray())), cells.genes, cells.types, counts=False)
    X, kept = expression(logs)
    assert X.shape == (80, 1500)
    assert kept is logs


def test_variable_genes_keep_their_counts(cells):
    some = variable_genes(cells)
    assert some.X.shape[1] == expression(cells)[0].shape[1]
    assert np.array_equal(some.X.toarray(), cells.X.toarray()[some.types][:, some.genes])


def test_counts_of_chosen_genes_lose_no_gene(cells):
    X = cells.X[[k for k in range(80) if k != 5]].toarray()
    X[:, 3] = 0  # lost by the reads that were drawn
    Y = points_of_counts(csr_array(X))
    assert Y.shape == X.shape
    assert not Y[:, 3].any()
    logs = np.log1p(1e4 * X / X.sum(axis=1, keepdims=True))
    expected = (logs - logs.mean(axis=0)) / np.where(logs.std(axis=0) > 0, logs.std(0, ddof=1), 1)
    assert np.abs(Y - expected.clip(-10, 10)).max() < 1e-3


def test_downsampling_keeps_proportions(cells):
    rows = np.flatnonzero(cells.X.sum(axis=1) > 0)
    X = cells.X[rows].toarray().astype(float)
    n = 100_000
    Y = downsampled(X, np.full(len(rows), n), np.random.default_rng(0)).toarray()
    p = X / X.sum(axis=1, keepdims=True)
    assert np.array_equal(Y.sum(axis=1), np.full(len(rows), n))
    # entries are binomial: six deviations, plus one read for the rarest
    assert (np.abs(Y - n * p) <= 6 * np.sqrt(n * p * (1 - p)) + 1).all()
    assert np.array_equal(Y > 0, (Y > 0) & (X > 0))


def test_what_reads_are_drawn_from_is_not_changed():
    parts = np.array([1.0, 0, 3, 2, 2]), np.array([0, 1, 2, 0, 1]), np.array([0, 3, 5])
    X = csr_array(parts, shape=(2, 3))
    assert X.nnz == 5  # one is a stored zero
    downsampled(X, np.array([5, 7]), np.random.default_rng(0))
    for now, before in zip((X.data, X.indices, X.indptr), parts, strict=True):
        assert np.array_equal(now, before)
