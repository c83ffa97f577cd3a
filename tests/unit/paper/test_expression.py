import numpy as np
import pytest
from scipy.sparse import csr_array

from sparrot.datasets import Cells
from sparrot.paper._expression import downsampled, expression, variable_genes


@pytest.fixture
def cells():
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.5, 2.0, 300) * np.where(np.arange(80)[:, None] < 40, 1, rng.random(300) * 3)
    X = rng.poisson(rates).astype(np.float32)
    X[5] = 0  # an empty cell
    return Cells(csr_array(X), np.arange(300), np.arange(80))


def test_genes_are_standardized_and_poor_cells_left_out(cells):
    X, kept = expression(cells, 50, min_genes=20)
    assert X.shape == (79, 50)
    assert kept.types.tolist() == [k for k in range(80) if k != 5]
    assert X.mean(axis=0) == pytest.approx(0, abs=1e-6)  # scanpy sums in single precision
    assert X.std(axis=0, ddof=1) == pytest.approx(1, abs=1e-5)


def test_log_normalized_expression_is_only_standardized(cells):
    logs = Cells(csr_array(np.log1p(cells.X.toarray())), cells.genes, cells.types, counts=False)
    X, kept = expression(logs, 50)
    assert X.shape == (80, 300)
    assert kept is logs


def test_variable_genes_keep_their_counts(cells):
    some = variable_genes(
        Cells(csr_array(np.tile(cells.X.toarray(), (1, 3))), np.arange(900), cells.types), 60
    )
    assert some.X.shape[1] == 60
    assert np.array_equal(
        some.X.toarray(), np.tile(cells.X.toarray(), (1, 3))[some.types][:, some.genes]
    )


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
