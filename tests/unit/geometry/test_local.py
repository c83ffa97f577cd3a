import numpy as np
import pytest

import sparrot
from problems import half_squared
from sparrot.datasets import make_sphere
from sparrot.geometry import intrinsic_dimension, local_covariance, mahalanobis_lengths


def test_traces_of_local_covariances_sum_to_the_cost_of_the_plan():
    X = np.random.default_rng(0).standard_normal((150, 4))
    W = sparrot.qot(X, 0.5)
    total = np.trace(local_covariance(X, W), axis1=1, axis2=2).sum()
    assert total == pytest.approx(2 * (W.matrix * half_squared(X)).sum(), rel=1e-7)


def test_a_local_covariance_is_its_formula():
    X = np.random.default_rng(0).standard_normal((60, 3))
    W = sparrot.knn(X, 6)
    i = 17
    weights = W.matrix.toarray()[i] / W.matrix.toarray()[i].sum()
    expected = sum(w * np.outer(x - X[i], x - X[i]) for w, x in zip(weights, X, strict=True))
    assert local_covariance(X, W)[i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_dimension_of_a_flat_cube_is_known_up_to_its_edges(d):
    X = np.random.default_rng(0).random((800, d)) @ np.eye(d, d + 3)
    local = intrinsic_dimension(X, sparrot.qot(X, perplexity=15))
    assert 1 / np.mean(1 / local) == pytest.approx(d, rel=0.05)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_dimension_of_a_sphere(d):
    X = make_sphere(1000, d)
    local = intrinsic_dimension(X, sparrot.qot(X, perplexity=10))
    assert 1 / np.mean(1 / local) == pytest.approx(d, rel=0.1)  # curvature counts a little


def test_a_point_with_one_neighbor_has_no_dimension():
    X = np.arange(6.0)[:, None] ** 2
    local = intrinsic_dimension(X, np.kron(np.eye(3), [[0.0, 1], [1, 0]]))
    assert np.isnan(local).all()


def test_noise_across_the_manifold_does_not_count():
    rng = np.random.default_rng(0)
    X = np.c_[np.linspace(0, 10, 300), 1e-3 * rng.standard_normal((300, 5))]
    W = sparrot.qot(X, perplexity=10)
    noisy, clean = mahalanobis_lengths(X, W, 1), mahalanobis_lengths(X[:, :1], W, 1)
    assert abs(noisy - clean).max() <= 1e-2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, W: local_covariance(X[:9], W), "the 50 points of the affinity"),
        (lambda X, W: mahalanobis_lengths(X, W, 3), "dimension must be an integer from 1 to 2"),
        (lambda X, W: intrinsic_dimension(X, W.matrix[:5]), "square matrix"),
        (lambda X, W: intrinsic_dimension(X, np.zeros((50, 50))), "no positive affinity"),
    ],
)
def test_bad_arguments_are_named(call, message):
    X = np.random.default_rng(0).random((50, 2))
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call(X, sparrot.qot(X))
