import numpy as np
import pytest

import sparrot
from sparrot.errors import InvalidInputError
from sparrot.metrics import batch_mixing, mean_principal_angle, template_angle


def test_principal_angles_between_known_planes():
    A = np.eye(5)[:, :2]
    B = A.copy()
    B[:, 1] = [0, np.cos(0.3), np.sin(0.3), 0, 0]
    assert mean_principal_angle(A, B) == pytest.approx(0.15)


def test_the_template_is_in_any_basis_that_contains_the_indicators():
    labels = np.repeat([3, 1, 2], 20)
    U = np.eye(4)[labels][:, 1:]
    rng = np.random.default_rng(0)
    V = np.hstack([U @ rng.standard_normal((3, 3)), rng.standard_normal((60, 3))])
    assert template_angle(V, labels) == pytest.approx(0, abs=1e-7)
    assert template_angle(rng.standard_normal((60, 6)), labels) > 0.5
    with pytest.raises(InvalidInputError, match=r"clusters \(3\), got shape \(60, 2\)"):
        template_angle(V[:, :2], labels)


def test_mixing_is_one_for_batches_at_random_and_less_the_more_they_are_apart():
    rng = np.random.default_rng(0)
    X, batches = rng.standard_normal((600, 2)), rng.integers(0, 2, 600)
    scores = [
        batch_mixing(sparrot.qot(X + shift * batches[:, None], perplexity=30), batches)
        for shift in (0.0, 1.0, 4.0)
    ]
    assert scores[0] > 0.95
    assert scores[0] > scores[1] > scores[2]
    assert scores[2] < 0.1
    with pytest.raises(InvalidInputError, match="at least 2 batches"):
        batch_mixing(np.ones((3, 3)), [0, 0, 0])
