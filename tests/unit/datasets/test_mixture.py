import numpy as np
import pytest

from sparrot.datasets import make_mixture
from sparrot.errors import InvalidInputError


def test_means_lie_on_the_circle_and_spreads_are_those_asked_for():
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


def test_the_radius_scales_the_means_and_seeds_decide():
    assert make_mixture(5, 3, radius=1.5).clean == pytest.approx(1.5 * make_mixture(5, 3).clean)
    assert np.array_equal(make_mixture(5, 3).X, make_mixture(5, 3).X)
    assert not np.array_equal(make_mixture(5, 3).X, make_mixture(5, 3, random_state=1).X)
    with pytest.raises(InvalidInputError, match="d=1"):
        make_mixture(5, 1)
