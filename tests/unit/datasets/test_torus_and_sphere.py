import numpy as np
import pytest

import sparrot
from sparrot.datasets import make_sphere, make_torus


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


def test_spheres_are_unit_and_centred():
    for d in (1, 2, 5):
        X = make_sphere(5000, d)
        assert X.shape == (5000, d + 1)
        assert np.linalg.norm(X, axis=1) == pytest.approx(1)
        assert np.abs(X.mean(axis=0)).max() <= 4 / np.sqrt(5000)
    assert np.array_equal(make_sphere(10), make_sphere(10))


def test_bad_shapes_are_named():
    with pytest.raises(sparrot.InvalidInputError, match="R > r > 0"):
        make_torus(10, radii=(1.0, 2.0))
    with pytest.raises(sparrot.InvalidInputError, match="n must be an integer"):
        make_sphere(0)
