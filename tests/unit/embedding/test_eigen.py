import numpy as np
import pytest
import scipy.sparse as sp

import sparrot
from sparrot.affinity.baselines import gaussian, knn
from sparrot.embedding import leading_eigenvectors
from sparrot.errors import InvalidInputError
from sparrot.metrics import mean_principal_angle
from sparrot.operators import symmetric_normalisation


def ring(n):
    return sp.csr_array(sp.eye_array(n, k=1) + sp.eye_array(n, k=-1)) + sp.csr_array(
        (np.ones(2), ([0, n - 1], [n - 1, 0])), shape=(n, n)
    )


@pytest.mark.parametrize("n", [50, 2500])
def test_the_spectrum_of_a_ring_is_cosines_in_pairs(n):
    values, vectors = leading_eigenvectors(ring(n), 5)
    assert values == pytest.approx(np.cos(2 * np.pi * np.array([0, 1, 1, 2, 2]) / n), abs=1e-9)
    assert vectors.T @ vectors == pytest.approx(np.eye(5), abs=1e-9)
    again = leading_eigenvectors(ring(n), 5)[1]
    assert np.array_equal(vectors, again)


def test_isolated_points_and_too_many_vectors_are_errors():
    with pytest.raises(InvalidInputError, match="point 2 has no positive affinity"):
        symmetric_normalisation(np.diag([1.0, 1.0, 0.0]))
    with pytest.raises(InvalidInputError, match=r"1\.\.4, got 5"):
        leading_eigenvectors(ring(5), 5)


def test_normalised_rows_of_a_bistochastic_matrix_are_unchanged():
    W = sparrot.qot(np.random.default_rng(0).standard_normal((50, 3))).matrix
    assert abs(symmetric_normalisation(W) - W).max() <= 1e-8


def test_principal_angles_between_known_planes():
    A = np.eye(5)[:, :2]
    B = A.copy()
    B[:, 1] = [0, np.cos(0.3), np.sin(0.3), 0, 0]
    assert mean_principal_angle(A, B) == pytest.approx(0.15)


def test_baselines_are_what_they_say():
    X = np.random.default_rng(0).standard_normal((40, 3))
    W = knn(X, 4).matrix
    assert (W != W.T).nnz == 0
    assert set(W.data) == {1.0}
    assert (W.sum(axis=1) >= 4).all()
    assert not W.diagonal().any()
    K = gaussian(X, 2.0).matrix
    C = ((X[:, None] - X) ** 2).sum(axis=2) / 2
    assert K == pytest.approx(np.exp(-C / C.mean() / 2.0), rel=1e-10)
