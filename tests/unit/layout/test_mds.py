import numpy as np
import pytest

from sparrot.layout import mds_layout


def test_layouts_keep_distances_that_can_be_kept():
    flat = np.random.default_rng(0).standard_normal((40, 2))
    rotated = flat @ np.linalg.qr(np.random.default_rng(1).standard_normal((6, 2)))[0].T
    Z = mds_layout(rotated)
    distances = np.linalg.norm(flat[:, None] - flat, axis=2)
    assert np.linalg.norm(Z[:, None] - Z, axis=2) == pytest.approx(distances, abs=1e-6)
    assert np.array_equal(Z, mds_layout(rotated))
