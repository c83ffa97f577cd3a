import numpy as np
import pytest

from sparrot.datasets import make_spiral
from sparrot.errors import InvalidInputError


def test_points_are_evenly_spaced_along_the_curve_and_scaled():
    s = make_spiral(1000, 250)
    steps = np.linalg.norm(s.clean - np.roll(s.clean, 1, axis=0), axis=1)
    assert steps.max() / steps.min() <= 1.01  # chords of equal arcs
    squares = ((s.X[:, None, :20] - s.X[None, :, :20]) ** 2).sum()  # first columns, then the rest
    for k in range(20, 250, 20):
        squares += ((s.X[:, None, k : k + 20] - s.X[None, :, k : k + 20]) ** 2).sum()
    assert squares / 1000**2 == pytest.approx(1)


def test_noise_follows_the_angle():
    s = make_spiral(500, 100, noise=(0.1, 1.25))
    assert s.noise.min() == pytest.approx(0.1, abs=1e-3)
    assert s.noise.max() == pytest.approx(1.35, abs=1e-3)
    assert s.noise == pytest.approx(0.1 + 1.25 * (1 + np.cos(6 * s.t)) / 2)


def test_seeds_decide_and_bad_sizes_are_refused():
    assert np.array_equal(make_spiral(50, 5).X, make_spiral(50, 5).X)
    assert not np.array_equal(make_spiral(50, 5).X, make_spiral(50, 5, random_state=1).X)
    with pytest.raises(InvalidInputError, match="d=2"):
        make_spiral(50, 2)
