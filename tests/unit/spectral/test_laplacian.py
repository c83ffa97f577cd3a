import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import laplacian as scipy_laplacian

import sparrot
from sparrot.errors import InvalidInputError
from sparrot.spectral import laplacian


def weighted(n=12, seed=0):
    A = np.random.default_rng(seed).random((n, n))
    return np.triu(A, 1) + np.triu(A, 1).T


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_laplacians_are_those_of_scipy(form):
    W = weighted()
    L = laplacian(form(W), "symmetric")
    assert isinstance(L, csr_array)
    assert L.toarray() == pytest.approx(scipy_laplacian(W, normed=True), abs=1e-14)
    combinatorial = laplacian(form(W), "combinatorial").toarray()
    assert combinatorial == pytest.approx(scipy_laplacian(W), abs=1e-14)
    walk = laplacian(form(W)).toarray()
    assert walk == pytest.approx(combinatorial / W.sum(axis=1)[:, None], abs=1e-14)


@pytest.mark.parametrize("kind", ["random_walk", "symmetric", "combinatorial"])
def test_laplacians_are_positive_semidefinite_and_vanish_on_constants(kind):
    W = weighted()
    L = laplacian(W, kind).toarray()
    values = np.sort(np.linalg.eigvals(L).real)
    assert values[0] == pytest.approx(0, abs=1e-13)
    assert values[1] > 0
    constant = np.sqrt(W.sum(axis=1)) if kind == "symmetric" else np.ones(len(W))
    assert L @ constant == pytest.approx(0, abs=1e-13)


def test_symmetric_laplacians_are_symmetric_to_the_last_bit():
    L = laplacian(csr_array(weighted(50)), "symmetric")
    assert (L != L.T).nnz == 0


def test_laplacians_of_a_bistochastic_affinity_are_the_same():
    W = sparrot.qot(np.random.default_rng(0).standard_normal((60, 3)))
    kinds = [laplacian(W, kind) for kind in ("random_walk", "symmetric", "combinatorial")]
    for L in kinds[1:]:  # rows of W sum to one up to 1e-8
        assert abs(L - kinds[0]).max() <= 2e-8


def test_what_has_no_laplacian_is_refused():
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        laplacian(weighted(), "normalized")
    with pytest.raises(InvalidInputError, match="symmetric"):
        laplacian(np.triu(weighted()))
    with pytest.raises(InvalidInputError, match="negative"):
        laplacian(-weighted())
    with pytest.raises(InvalidInputError, match="point 2 has no positive affinity"):
        laplacian(np.diag([1.0, 1.0, 0.0]))
