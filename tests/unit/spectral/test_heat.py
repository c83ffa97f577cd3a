import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import ive

import sparrot
from sparrot.spectral import heat_kernel, heat_operator, heat_time, laplacian
from sparrot.spectral._heat import chebyshev_coefficients

X = np.random.default_rng(0).random((200, 2))
LAPLACIANS = {
    "qot": laplacian(sparrot.qot(X, perplexity=12)),
    "walk": laplacian(sparrot.knn(X, 8)),
    "symmetric": laplacian(sparrot.knn(X, 8), "symmetric"),
    "combinatorial": laplacian(sparrot.knn(X, 8), "combinatorial"),
}


def ring(n):
    return np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)


@pytest.mark.parametrize("t", [0.1, 3.0, 50.0])
@pytest.mark.parametrize("name", LAPLACIANS)
def test_kernel_and_operators_match_expm(name, t):
    L = LAPLACIANS[name]
    expected = expm(-t * L.toarray())
    assert np.abs(heat_kernel(L, t) - expected).max() <= 1e-12
    for series, tol in (("chebyshev", 1e-8), ("taylor", 1e-12)):
        H = heat_operator(L, t, series=series)
        assert np.abs(H @ np.eye(200) - expected).max() <= tol
        assert np.abs(H.T @ np.eye(200) - expected.T).max() <= tol


@pytest.mark.parametrize("name", ["qot", "walk", "combinatorial"])
def test_rows_sum_to_one_and_are_positive(name):
    H = heat_kernel(LAPLACIANS[name], 5.0)
    assert H.min() >= 0
    assert np.abs(H.sum(axis=1) - 1).max() <= 1e-12
    for series in ("chebyshev", "taylor"):
        constant = heat_operator(LAPLACIANS[name], 5.0, series=series) @ np.ones(200)
        assert np.abs(constant - 1).max() <= 1e-12


def test_small_entries_have_relative_accuracy():
    # On a ring of n the walk wraps: H_0k = sum_m exp(-t) I_{k + nm}(t); the wraps are negligible.
    n, t = 200, 2.0
    expected = ive(np.arange(26), t)
    L = laplacian(ring(n))
    assert expected.min() < 1e-25
    assert heat_kernel(L, t)[0, :26] == pytest.approx(expected, rel=1e-10)
    column = heat_operator(L, t, series="taylor") @ np.eye(n)[0]
    assert column[:26] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("z", [0.01, 1.0, 50.0, 1e4])
def test_the_chebyshev_tail_is_below_its_bound_and_no_longer_than_it_must(z):
    a = chebyshev_coefficients(z, 1e-10)
    left_out = 2 * ive(np.arange(len(a), len(a) + 2000), z).sum()
    assert left_out <= 1e-10
    assert left_out + 2 * ive(len(a) - 1, z) > 0.5e-10 - 1e-15
    assert a.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("name", LAPLACIANS)
def test_the_heat_time_meets_its_perplexity(name):
    L = LAPLACIANS[name]
    t = heat_time(L, 60)
    assert sparrot.perplexity(heat_kernel(L, t)).mean() == pytest.approx(60, rel=1e-8)


def test_the_heat_time_of_many_points_is_near_that_of_all():
    # On a ring every row is the same, so that a sample of rows has no error.
    n = 2500
    t = heat_time(laplacian(ring(n)), 40, sample=3)
    row = heat_kernel(laplacian(ring(400)), t)[:1]  # 40 of 400 points do not feel the size either
    assert sparrot.perplexity(row).mean() == pytest.approx(40, rel=2e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda L, W: heat_kernel(W, 1.0), "pass sparrot.spectral.laplacian"),
        (lambda L, W: heat_kernel(L[:50], 1.0), "must be square"),
        (lambda L, W: heat_kernel(np.nan * L, 1.0), "not finite"),
        (lambda L, W: heat_kernel(L, -1), "t must be positive"),
        (lambda L, W: heat_operator(L, 1.0, tol=0), "tol must be positive"),
        (lambda L, W: heat_operator(L, 1.0, series="euler"), "series must be one of"),
        (lambda L, W: heat_time(L, 201), "does not pass 200"),
        (lambda L, W: heat_time(L, 1.0), "must be above 1"),
    ],
)
def test_bad_arguments_are_named(call, message):
    L = LAPLACIANS["qot"]
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call(L, np.eye(200) - L.toarray())


def test_a_walk_that_is_not_reversible_has_no_heat_time():
    P = np.roll(np.eye(6), 1, axis=0) * 0.9 + np.roll(np.eye(6), -1, axis=0) * 0.1
    with pytest.raises(sparrot.InvalidInputError, match="neither symmetric nor"):
        heat_time(np.eye(6) - P, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: sparrot.spectral.heat_kernel(a, 1.0),
        lambda a: sparrot.spectral.heat_operator(a, 1.0),
        lambda a: sparrot.spectral.heat_time(a, 5),
    ],
)
def test_an_affinity_is_no_laplacian(call):
    a = sparrot.qot(np.random.default_rng(0).standard_normal((20, 3)))
    with pytest.raises(sparrot.InvalidInputError, match=r"pass sparrot.spectral.laplacian\(W\)"):
        call(a)
