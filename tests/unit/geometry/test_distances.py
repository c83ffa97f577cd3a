import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse.csgraph import dijkstra

import sparrot
from sparrot.datasets import make_sphere, make_spiral
from sparrot.geometry import (
    commute_times,
    diffusion_distances,
    geodesic_distances,
    mahalanobis_lengths,
)
from sparrot.spectral import laplacian

N = 600
SPIRAL = make_spiral(N, 250)
ORDER = np.arange(N)
STEP = np.linalg.norm(np.diff(SPIRAL.clean, axis=0), axis=1).mean()
CLEAN = sparrot.qot(SPIRAL.clean, perplexity=15)
NOISY = sparrot.qot(SPIRAL.X, 0.5)
SQUARE = np.random.default_rng(0).random((120, 2))
AFFINITIES = {"qot": sparrot.qot(SQUARE, perplexity=12), "knn": sparrot.knn(SQUARE, 8)}


def arc(source):
    away = np.abs(ORDER - source)
    return STEP * np.minimum(away, N - away)


def correlation(x, y):
    return np.corrcoef(x, y)[0, 1]


@pytest.mark.parametrize("source", [0, 250])
@pytest.mark.parametrize(
    ("method", "X"), [("heat", None), ("heat", 1), ("varadhan", None), ("graph", 1)]
)
def test_distances_on_the_clean_spiral_are_arc_lengths(method, X, source):
    d = geodesic_distances(CLEAN, source, method=method, X=X and SPIRAL.clean)
    assert d[source] == 0
    assert correlation(d, arc(source)) > 0.999


@pytest.mark.parametrize("method", ["heat", "varadhan"])
def test_distances_from_the_affinity_alone_survive_noise_in_many_dimensions(method):
    d = geodesic_distances(NOISY, 0, method=method)
    assert correlation(d, arc(0)) > 0.99


def test_the_unit_is_a_step_of_the_walk():
    d = geodesic_distances(CLEAN, 0)
    W = CLEAN.matrix.tocoo()
    squares = np.bincount(W.row, W.data * (d[W.col] - d[W.row]) ** 2)
    away = np.minimum(ORDER, N - ORDER)
    smooth = (away > 20) & (away < N // 2 - 20)  # not at the source, nor opposite to it
    assert squares[smooth] == pytest.approx(1, abs=0.02)


def test_with_points_the_unit_is_theirs():
    d = geodesic_distances(CLEAN, 0, X=SPIRAL.clean)
    away = arc(0)
    slope = np.polyfit(away, d, 1)[0]
    assert slope == pytest.approx(1, abs=0.03)  # chords of a neighborhood are shorter than arcs


def test_distances_on_the_sphere_are_great_circles_on_all_methods():
    X = make_sphere(1500)
    W = sparrot.qot(X, perplexity=20)
    angle = np.arccos(np.clip(X @ X[0], -1, 1))
    for method, points in (("heat", None), ("heat", X), ("varadhan", None), ("graph", X)):
        d = geodesic_distances(W, 0, method=method, X=points)
        assert correlation(d, angle) > 0.99


def test_mahalanobis_lengths_add_up_to_arc_lengths_in_steps():
    lengths = mahalanobis_lengths(SPIRAL.clean, CLEAN, 1)
    assert abs(lengths - lengths.T).max() == 0
    d = dijkstra(lengths, indices=0)
    steps = geodesic_distances(CLEAN, 0)
    assert correlation(d, arc(0)) > 0.999
    assert np.polyfit(steps, d, 1)[0] == pytest.approx(1, abs=0.1)


def test_heat_that_underflows_is_counted_from_hops():
    n = 3000
    path = np.diag(np.ones(n - 1), 1)
    d = geodesic_distances(path + path.T, 0)  # exp(-0.7 n) is far below the smallest float
    assert np.abs(d - np.arange(n))[: n - 10].max() <= 2


def test_several_sources_other_components_and_duplicates():
    line, pair = np.c_[np.arange(30) / 10, np.zeros(30)], [[9.0, 9.0], [9.0, 9.1]]
    X = np.vstack([line, line[:1], pair])
    W = sparrot.knn(X[:31], 4).matrix.toarray()
    both = np.zeros((33, 33))
    both[:31, :31] = W
    both[31, 32] = both[32, 31] = 1
    for method, points in (("heat", None), ("varadhan", None), ("graph", X)):
        d = geodesic_distances(both, [3, 32], method=method, X=points)
        assert d.shape == (2, 33)
        assert np.isinf(d[0, 31:]).all()
        assert np.isinf(d[1, :31]).all()
        assert np.isfinite(d[0, :31]).all()
        assert np.array_equal(d[0], geodesic_distances(both, 3, method=method, X=points))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sources": N}, "from 0 to 599"),
        ({"sources": 0.5}, "from 0 to 599"),
        ({"sources": []}, "from 0 to 599"),
        ({"method": "dijkstra"}, "method must be one of"),
        ({"method": "graph"}, "needs the points"),
        ({"method": "varadhan", "X": SPIRAL.X}, "leave X out"),
        ({"X": SPIRAL.X[:5]}, "the 600 points"),
        ({"t": 0}, "t must be positive"),
        ({"method": "varadhan", "t": 1e-6}, "take a larger t"),
    ],
)
def test_bad_arguments_of_geodesic_distances_are_named(given, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        geodesic_distances(CLEAN, **{"sources": 0} | given)


def test_an_asymmetric_or_negative_affinity_is_refused():
    with pytest.raises(sparrot.InvalidInputError, match="must be symmetric"):
        geodesic_distances(np.triu(np.ones((5, 5)), 1), 0)
    with pytest.raises(sparrot.InvalidInputError, match="must not be negative"):
        geodesic_distances(-np.ones((5, 5)), 0)


@pytest.mark.parametrize("sources", [-1, [0, -1], 40, 1.5, []])
def test_sources_are_indices_of_points(sources):
    a = sparrot.qot(np.random.default_rng(0).random((40, 2)))
    with pytest.raises(sparrot.InvalidInputError, match=r"sources must be .* from 0 to 39"):
        sparrot.geometry.geodesic_distances(a, sources)


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
def test_bad_arguments_of_distances_of_the_walk_are_named(call, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call(AFFINITIES["qot"])
