import numpy as np
import pytest

from sparrot.datasets import make_mixture, make_sphere, make_spiral, make_torus
from sparrot.errors import InvalidInputError


def test_means_of_the_mixture_lie_on_the_circle_and_spreads_are_those_asked_for():
    m = make_mixture(2000, 50)
    assert np.linalg.norm(m.clean, axis=1) == pytest.approx(1)
    assert m.clean[0] == pytest.approx([0, 1])
    assert m.clean[2000] == pytest.approx([np.sin(2 * np.pi / 3), -0.5])
    for c, sigma in enumerate((0.3, 0.6, 1.0)):
        noise = m.X[m.labels == c]
        noise = noise - np.pad(m.clean[m.labels == c], ((0, 0), (0, 48)))
        # 1e5 numbers: the deviation errs by sigma / sqrt(2e5), the mean by sigma / sqrt(1e5)
        assert noise.std() == pytest.approx(sigma, abs=5 * sigma / np.sqrt(2e5))
        assert noise.mean() == pytest.approx(0, abs=5 * sigma / np.sqrt(1e5))


def test_the_radius_of_the_mixture_scales_the_means_and_seeds_decide():
    assert make_mixture(5, 3, radius=1.5).clean == pytest.approx(1.5 * make_mixture(5, 3).clean)
    assert np.array_equal(make_mixture(5, 3).X, make_mixture(5, 3).X)
    assert not np.array_equal(make_mixture(5, 3).X, make_mixture(5, 3, random_state=1).X)
    with pytest.raises(InvalidInputError, match="d must be an integer of at least 2, got 1"):
        make_mixture(5, 1)


def test_points_of_the_spiral_are_evenly_spaced_and_scaled():
    s = make_spiral(1000, 250)
    steps = np.linalg.norm(s.clean - np.roll(s.clean, 1, axis=0), axis=1)
    assert steps.max() / steps.min() <= 1.01  # chords of equal arcs
    squares = ((s.X[:, None, :20] - s.X[None, :, :20]) ** 2).sum()  # first columns, then the rest
    for k in range(20, 250, 20):
        squares += ((s.X[:, None, k : k + 20] - s.X[None, :, k : k + 20]) ** 2).sum()
    assert squares / 1000**2 == pytest.approx(1)


def test_noise_of_the_spiral_follows_the_angle():
    s = make_spiral(500, 100, noise=(0.1, 1.25))
    assert s.noise.min() == pytest.approx(0.1, abs=1e-3)
    assert s.noise.max() == pytest.approx(1.35, abs=1e-3)
    assert s.noise == pytest.approx(0.1 + 1.25 * (1 + np.cos(6 * s.t)) / 2)


def test_seeds_of_the_spiral_decide_and_bad_sizes_are_refused():
    assert np.array_equal(make_spiral(50, 5).X, make_spiral(50, 5).X)
    assert not np.array_equal(make_spiral(50, 5).X, make_spiral(50, 5, random_state=1).X)
    with pytest.raises(InvalidInputError, match="d must be an integer of at least 3, got 2"):
        make_spiral(50, 2)


def test_the_torus_is_sampled_uniformly_in_area():
    torus = make_torus(20_000)
    on_the_tube = (np.hypot(*torus.X.T[:2]) - 1) ** 2 + torus.X[:, 2] ** 2
    assert on_the_tube == pytest.approx(0.25)
    # E cos(theta) = r / (2R) = 1/4; four standard errors of a mean with variance below 1/2.
    assert np.cos(torus.theta).mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.5 / 20_000))
    assert torus.area == pytest.approx(2 * np.pi**2)


def test_normals_and_curvature_of_the_torus():
    torus = make_torus(50, radii=(3.0, 1.0))
    center = 3 * np.c_[np.cos(torus.phi), np.sin(torus.phi), np.zeros(50)]
    assert torus.normal == pytest.approx(torus.X - center)
    outer = make_torus(1, radii=(3.0, 1.0), first=(0.0, 0.0))
    assert outer.curvature[0] == pytest.approx([-(1 + 1 / 4), 0, 0])


def test_spheres_are_unit_and_centered():
    for d in (1, 2, 5):
        X = make_sphere(5000, d)
        assert X.shape == (5000, d + 1)
        assert np.linalg.norm(X, axis=1) == pytest.approx(1)
        assert np.abs(X.mean(axis=0)).max() <= 4 / np.sqrt(5000)
    assert np.array_equal(make_sphere(10), make_sphere(10))


def test_bad_shapes_are_named():
    with pytest.raises(InvalidInputError, match="R > r > 0"):
        make_torus(10, radii=(1.0, 2.0))
    with pytest.raises(InvalidInputError, match="n must be an integer"):
        make_sphere(0)
