import numpy as np
import pytest
from scipy.linalg import expm

import sparrot
from sparrot.geometry import commute_times, diffusion_distances
from sparrot.spectral import laplacian

X = np.random.default_rng(0).random((120, 2))
AFFINITIES = {"qot": sparrot.qot(X, perplexity=12), "knn": sparrot.knn(X, 8)}


@pytest.mark.parametrize("name", AFFINITIES)
def test_commute_times_are_those_of_the_pseudo_inverse(name):
    W = AFFINITIES[name].matrix.toarray()
    G = np.linalg.pinv(np.diag(W.sum(axis=1)) - W)
    expected = W.sum() * (np.diag(G)[:, None] + np.diag(G) - 2 * G)
    given = commute_times(AFFINITIES[name], np.arange(120))
    assert given == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert np.array_equal(commute_times(W, 5), commute_times(W, [5])[0])
    assert commute_times(W, 5, targets=[7, 9]) == pytest.approx(expected[5, [7, 9]], rel=1e-8)


@pytest.mark.parametrize("name", AFFINITIES)
def test_diffusion_distances_are_those_of_the_rows_of_the_heat_kernel(name):
    W = AFFINITIES[name]
    degree = W.matrix.sum(axis=1)
    H = expm(-3.0 * laplacian(W).toarray())
    rows = H / np.sqrt(degree)
    expected = np.linalg.norm(rows[[4, 8]][:, None] - rows, axis=2)
    # A distance is a root of a difference of entries, each with an error of about 1e-14.
    assert diffusion_distances(W, [4, 8], 3.0) == pytest.approx(expected, abs=1e-6)
    assert diffusion_distances(W, 4, 3.0, targets=[8]) == pytest.approx(expected[0, 8], abs=1e-6)


def test_points_of_other_components_are_never_reached():
    W = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    times = commute_times(W, [0, 3])
    assert np.isinf(times[0, 3:]).all()
    assert np.isinf(times[1, :3]).all()
    assert times[0, 1] == pytest.approx(4.0)  # a triangle: 6 degrees times 2/3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda W: commute_times(W, -1), "sources must be"),
        (lambda W: commute_times(W, 0, targets=[120]), "targets must be"),
        (lambda W: diffusion_distances(W, 0, 0), "t must be positive"),
        (lambda W: commute_times(np.triu(W.matrix.toarray()), 0), "must be symmetric"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call(AFFINITIES["qot"])
