import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian as scipy_laplacian

import sparrot
from sparrot.errors import InvalidInputError
from sparrot.spectral import alpha_normalization, laplacian, random_walk, symmetric_normalization


def weighted(n=12):
    A = np.random.default_rng(0).random((n, n))
    return A + A.T


def hollow(n=12):
    A = np.random.default_rng(0).random((n, n))
    return np.triu(A, 1) + np.triu(A, 1).T


def test_isolated_points_are_errors():
    with pytest.raises(InvalidInputError, match="point 2 has no positive affinity"):
        symmetric_normalization(np.diag([1.0, 1.0, 0.0]))


def test_a_bistochastic_matrix_is_unchanged_by_every_normalization():
    W = sparrot.qot(np.random.default_rng(0).standard_normal((50, 3))).matrix
    for normalized in (symmetric_normalization(W), alpha_normalization(W), random_walk(W)):
        assert abs(normalized - W).max() <= 3e-8  # rows sum to one up to 1e-8


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("lazy", [0.0, 0.5])
def test_rows_of_the_walk_sum_to_one_and_half_lazy_ones_have_no_negative_eigenvalues(form, lazy):
    P = random_walk(form(weighted()), lazy=lazy)
    assert isinstance(P, sp.csr_array)
    assert P.sum(axis=1) == pytest.approx(1)
    values = np.linalg.eigvals(P.toarray()).real
    assert values.min() >= -1 + 2 * lazy - 1e-12
    assert values.max() == pytest.approx(1)


def test_a_walk_may_be_directed():
    P = random_walk(np.array([[0.0, 2.0], [1.0, 1.0]]))
    assert P.toarray().tolist() == [[0, 1], [0.5, 0.5]]


def test_alpha_takes_out_the_density_of_the_points():
    """Points of uneven density on a circle: with alpha = 1 the walk does not drift."""
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    t = t + 0.5 * np.sin(t)
    X = np.c_[np.cos(t), np.sin(t)]
    K = sparrot.gaussian(X, 0.005).matrix
    drift = [np.abs(np.angle(random_walk(A) @ np.exp(1j * t) / np.exp(1j * t))).max()
             for A in (K, alpha_normalization(K, 1.0))]  # fmt: skip
    assert drift[1] < 0.1 * drift[0]


def test_inputs_are_left_alone_and_checked():
    W = sp.csr_array(weighted())
    before = W.toarray()
    random_walk(W)
    alpha_normalization(W)
    symmetric_normalization(W)
    assert np.array_equal(W.toarray(), before)
    with pytest.raises(InvalidInputError, match="alpha must be from 0 to 1") as raised:
        alpha_normalization(W, 2)
    assert (raised.value.parameter, raised.value.value) == ("alpha", 2)
    with pytest.raises(InvalidInputError, match="lazy must be a probability"):
        random_walk(W, lazy=1)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_laplacians_are_those_of_scipy(form):
    W = hollow()
    L = laplacian(form(W), "symmetric")
    assert isinstance(L, sp.csr_array)
    assert L.toarray() == pytest.approx(scipy_laplacian(W, normed=True), abs=1e-14)
    combinatorial = laplacian(form(W), "combinatorial").toarray()
    assert combinatorial == pytest.approx(scipy_laplacian(W), abs=1e-14)
    walk = laplacian(form(W)).toarray()
    assert walk == pytest.approx(combinatorial / W.sum(axis=1)[:, None], abs=1e-14)


@pytest.mark.parametrize("kind", ["random_walk", "symmetric", "combinatorial"])
def test_laplacians_are_positive_semidefinite_and_vanish_on_constants(kind):
    W = hollow()
    L = laplacian(W, kind).toarray()
    values = np.sort(np.linalg.eigvals(L).real)
    assert values[0] == pytest.approx(0, abs=1e-13)
    assert values[1] > 0
    constant = np.sqrt(W.sum(axis=1)) if kind == "symmetric" else np.ones(len(W))
    assert L @ constant == pytest.approx(0, abs=1e-13)


def test_symmetric_laplacians_are_symmetric_to_the_last_bit():
    L = laplacian(sp.csr_array(hollow(50)), "symmetric")
    assert (L != L.T).nnz == 0


def test_laplacians_of_a_bistochastic_affinity_are_the_same():
    W = sparrot.qot(np.random.default_rng(0).standard_normal((60, 3)))
    kinds = [laplacian(W, kind) for kind in ("random_walk", "symmetric", "combinatorial")]
    for L in kinds[1:]:  # rows of W sum to one up to 1e-8
        assert abs(L - kinds[0]).max() <= 2e-8


def test_what_has_no_laplacian_is_refused():
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        laplacian(hollow(), "normalized")
    with pytest.raises(InvalidInputError, match="symmetric"):
        laplacian(np.triu(hollow()))
    with pytest.raises(InvalidInputError, match="negative"):
        laplacian(-hollow())
    with pytest.raises(InvalidInputError, match="point 2 has no positive affinity"):
        laplacian(np.diag([1.0, 1.0, 0.0]))
