import numpy as np
import pytest

import sparrot
from problems import path_graph, ring_graph
from sparrot.errors import InvalidInputError
from sparrot.spectral import (
    grounded_solver,
    harmonic_extension,
    laplace,
    laplacian,
    random_walk,
    smooth,
)

X = np.random.default_rng(0).standard_normal((80, 3))
W = sparrot.gaussian(X, 0.3).matrix
F = np.random.default_rng(1).standard_normal((80, 4))


@pytest.mark.parametrize("kind", ["random_walk", "symmetric", "combinatorial"])
def test_laplace_applies_the_laplacian(kind):
    L = laplacian(W, kind)
    assert laplace(W, F, kind=kind) == pytest.approx(L @ F, abs=1e-12)
    assert laplace(W, F[:, 0], kind=kind) == pytest.approx(L @ F[:, 0], abs=1e-12)


def test_laplace_on_a_circle_tends_to_the_second_derivative():
    errors = []
    for n in (50, 100):
        t = 2 * np.pi * np.arange(n) / n
        second = -laplace(ring_graph(n), np.sin(t)) * 2 / (2 * np.pi / n) ** 2
        errors.append(np.abs(second + np.sin(t)).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.01)  # second order


@pytest.mark.parametrize("lazy", [0.0, 0.3])
def test_smoothing_is_a_power_of_the_walk(lazy):
    P = random_walk(W, lazy=lazy).toarray()
    assert smooth(W, F, 5, lazy=lazy) == pytest.approx(np.linalg.matrix_power(P, 5) @ F, abs=1e-12)
    assert np.ptp(smooth(W, F, 3000), axis=0).max() < 1e-6  # all the way to constants


def test_smoothing_by_the_walk_of_magic_is_what_magic_does():
    M = sparrot.magic(X, t=3).matrix
    assert smooth(sparrot.magic(X, t=1), F, 3) == pytest.approx(M @ F, abs=1e-12)


def test_smoothing_takes_noise_away():
    spiral = sparrot.datasets.make_spiral(400, 50)
    signal = np.cos(spiral.t)
    noisy = signal + 0.5 * np.random.default_rng(0).standard_normal(400)
    smoothed = smooth(sparrot.qot(spiral.X), noisy, 2)
    assert np.std(smoothed - signal) < 0.5 * np.std(noisy - signal)


def test_the_harmonic_extension_is_linear_on_a_path_and_harmonic_everywhere():
    assert harmonic_extension(path_graph(11), [0, 10], [3.0, 8.0]) == pytest.approx(
        3 + 0.5 * np.arange(11)
    )
    known = np.zeros(80, dtype=bool)
    known[::9] = True
    f = harmonic_extension(W, known, F[known])
    assert np.array_equal(f[known], F[known])
    assert np.abs(laplace(W, f)[~known]).max() <= 1e-6
    assert f.min() >= F[known].min() - 1e-6
    assert f.max() <= F[known].max() + 1e-6


def test_all_known_is_what_is_given():
    assert np.array_equal(harmonic_extension(W, np.arange(80), F), F)


@pytest.mark.parametrize("narrow", [True, False])
def test_grounded_systems_are_solved_by_the_band_and_by_iteration(narrow, monkeypatch):
    if not narrow:
        monkeypatch.setattr("sparrot.spectral._signals._BAND_WORK", 0)
    L = laplacian(sparrot.knn(np.random.default_rng(0).random((200, 2)), 8), "combinatorial")
    grounded = np.zeros(200, dtype=bool)
    grounded[[3, 77]] = True
    b = np.random.default_rng(1).standard_normal((200, 2))
    x = grounded_solver(L, grounded)(b)
    assert not x[grounded].any()
    assert np.abs((L @ x - b)[~grounded]).max() <= 1e-10 * np.linalg.norm(b)


def test_user_errors_are_named():
    for known in ([], [0, 0], [80], [-1], [0.5], np.ones(79, dtype=bool)):
        with pytest.raises(InvalidInputError, match="known must be different indices"):
            harmonic_extension(W, known, np.zeros(len(known)))
    apart = np.kron(np.eye(2), np.ones((2, 2)))
    with pytest.raises(InvalidInputError, match=r"point 2 is not connected .* \(2 of 4 points"):
        harmonic_extension(apart, [0], [1.0])
    with pytest.raises(InvalidInputError, match=r"shape \(79, 4\)"):
        smooth(W, F[:79])
    with pytest.raises(InvalidInputError, match="not finite"):
        smooth(W, F * np.nan)
    with pytest.raises(InvalidInputError, match="t must be"):
        smooth(W, F, 0)
