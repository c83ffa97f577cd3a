import numpy as np
import pytest

import sparrot
from sparrot.geometry import barycenter, interpolate, sinkhorn_divergence
from sparrot.spectral import heat_kernel, heat_operator, laplacian

N = 200
ANGLE = 2 * np.pi * np.arange(N) / N
CIRCLE = np.c_[np.cos(ANGLE), np.sin(ANGLE)]
L = laplacian(sparrot.qot(CIRCLE, perplexity=12))
H = heat_kernel(L, 40.0)


def bump(center, width=5.0):
    away = np.abs(np.arange(N) - center)
    return np.exp(-((np.minimum(away, N - away) / width) ** 2) / 2)


def mean_angle(measure):
    return np.angle(measure @ np.exp(1j * ANGLE)) % (2 * np.pi)


def test_the_barycenter_of_two_bumps_moves_along_the_circle():
    path = interpolate(H, bump(20), bump(80), 7)
    assert path.shape == (7, N)
    assert path.sum(axis=1) == pytest.approx(1)
    assert path.min() >= 0
    where = np.array([mean_angle(p) for p in path]) * N / (2 * np.pi)
    assert where == pytest.approx(np.linspace(20, 80, 7), abs=1)  # to a point of the grid
    # It stays one bump, where the mixture of the ends has two.
    held = [abs(p @ np.exp(1j * ANGLE)) for p in path]
    mixed = abs((path[0] + path[-1]) @ np.exp(1j * ANGLE)) / 2
    assert mixed < 0.6 * held[0]
    assert min(held) > 0.9 * held[0]


def test_the_ends_are_the_measures_blurred():
    ends = interpolate(H, bump(20), bump(80), [0.0, 1.0])
    for end, center in zip(ends, (20, 80), strict=True):
        assert end == pytest.approx(H @ bump(center) / bump(center).sum(), abs=1e-8)


def test_an_operator_gives_the_same_path():
    dense = interpolate(H, bump(20), bump(80), 3)
    sparse = interpolate(heat_operator(L, 40.0, series="taylor"), bump(20), bump(80), 3)
    assert np.abs(dense - sparse).max() <= 1e-10
    with pytest.raises(sparrot.InvalidInputError, match="series='taylor'"):
        interpolate(heat_operator(L, 5.0), bump(20), bump(80), 3)


def test_a_path_is_made_of_barycenters():
    path = interpolate(H, bump(20), bump(80), [0.3, 0.6])
    for s, measure in zip((0.3, 0.6), path, strict=True):
        alone = barycenter(H, [bump(20), bump(80)], [1 - s, s])
        assert np.abs(measure - alone).sum() <= 1e-4


def test_the_barycenter_of_three_is_symmetric_in_them():
    centers = [20, 40, 60]
    mean = barycenter(H, [bump(c) for c in centers], [1, 1, 1])
    swapped = barycenter(H, [bump(c) for c in centers[::-1]], [1, 1, 1])
    assert np.abs(mean - swapped).max() <= 1e-12
    assert mean_angle(mean) == pytest.approx(ANGLE[40], abs=1e-3)


def test_a_short_time_does_not_underflow():
    sharp = heat_kernel(L, 1.0)
    assert sharp.min() < 1e-20
    path = interpolate(sharp, bump(20), bump(80), [0.5], tol=1e-3)
    assert mean_angle(path[0]) == pytest.approx(ANGLE[50], abs=0.02)


def test_the_divergence_is_zero_iff_the_measures_are_equal():
    C = np.square(CIRCLE[:, None] - CIRCLE).sum(axis=2)
    a, b = bump(20), bump(21)
    assert abs(sinkhorn_divergence(a, a, C, 0.1)) <= 1e-9
    near, far = (sinkhorn_divergence(a, other, C, 0.1) for other in (b, bump(80)))
    assert 1e-5 < near < far
    assert sinkhorn_divergence(b, a, C, 0.1) == pytest.approx(near, abs=1e-9)
    assert sinkhorn_divergence(3 * a, b, C, 0.1) == pytest.approx(near, abs=1e-9)


def test_the_divergence_of_measures_with_long_tails():
    C = np.square(CIRCLE[:, None] - CIRCLE).sum(axis=2)
    a, b = bump(20, 3.0), bump(80, 3.0)
    assert 0 < a.min() < 1e-200
    cut = sinkhorn_divergence(np.where(a > 1e-12, a, 0), np.where(b > 1e-12, b, 0), C, 0.05)
    assert sinkhorn_divergence(a, b, C, 0.05) == pytest.approx(cut, abs=1e-8)
    with pytest.raises(sparrot.NotConvergedError, match="larger eps"):
        sinkhorn_divergence(a, b, C, 0.05, tol=1e-14, max_iter=1)


def test_the_divergence_of_two_points_is_their_cost():
    C = np.array([[0.0, 2.5], [2.5, 0.0]])
    assert sinkhorn_divergence([1, 0], [0, 1], C, 0.7) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: interpolate(H, a, a[:5], 3), "nu must be 200 weights"),
        (lambda a: interpolate(H, -a, a, 3), "nonnegative"),
        (lambda a: interpolate(H, 0 * a, a, 3), "must not all be zero"),
        (lambda a: interpolate(H, a, a, [0.5, 1.5]), "numbers from 0 to 1"),
        (lambda a: interpolate(H, a, a, 1), "numbers from 0 to 1"),
        (lambda a: interpolate(np.eye(N), a, a, 3), "must be positive"),
        (lambda a: interpolate(np.triu(H) + 1e-3, a, a, 3), "must be symmetric"),
        (lambda a: interpolate(H[:5], a, a, 3), "must be square"),
        (lambda a: barycenter(H, [a, a], [1, -1]), "weights must be nonnegative"),
        (lambda a: sinkhorn_divergence(a, a, H[:5], 1.0), "square"),
        (lambda a: sinkhorn_divergence(a, a, np.eye(N), 0), "eps must be positive"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call(bump(20))


def test_a_barycenter_that_does_not_converge_is_an_error_with_the_result():
    with pytest.raises(sparrot.NotConvergedError, match="after 1 iteration;") as caught:
        barycenter(H, [bump(20), bump(80)], [1, 1], tol=1e-12, max_iter=1)
    assert caught.value.result.sum() == pytest.approx(1)


def test_an_affinity_is_no_heat_kernel():
    a, ends = sparrot.qot(CIRCLE), np.eye(len(CIRCLE))[:2]
    for call in (lambda: interpolate(a, *ends, 3), lambda: barycenter(a, ends, [1, 1])):
        with pytest.raises(sparrot.InvalidInputError, match=r"pass heat_kernel\(laplacian\(W\), t"):
            call()


def test_weights_may_be_counted_by_any_integer_and_are_one_a_measure():
    H, ends = np.exp(-np.square(CIRCLE[:, None] - CIRCLE).sum(axis=2)), np.eye(len(CIRCLE))[:2]
    np.testing.assert_array_equal(interpolate(H, *ends, np.int64(3)), interpolate(H, *ends, 3))
    with pytest.raises(
        sparrot.InvalidInputError, match="weights must be 2 weights, one per measure"
    ):
        barycenter(H, ends, [1, 1, 1])
    with pytest.raises(sparrot.InvalidInputError, match="numbers from 0 to 1"):
        interpolate(H, *ends, "three")
