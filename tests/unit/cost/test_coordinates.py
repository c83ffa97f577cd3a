"""Few coordinates as a filter: never wrong, and taken only where they are worth it."""

import tracemalloc

import numpy as np
import pytest

import sparrot
from problems import CLOUDS, assert_optimal, half_squared, points
from sparrot.cost import PointCost, make_cost
from sparrot.cost._points import _sample, filter_directions, leading_directions, with_rest
from sparrot.engine import Run
from sparrot.ot import screen


def low_rank(n, p=120, k=10, noise=0.02, seed=0):
    """Points near a plane of k dimensions in p."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) / np.sqrt(k)
    return X + noise * rng.standard_normal((n, p))


def clusters(n, p=300):
    """Clusters apart in few dimensions, with equal noise in all."""
    rng = np.random.default_rng(0)
    centers = np.zeros((4, p))
    centers[:, :4] = 40 * np.eye(4)
    return centers[rng.integers(4, size=n)] + rng.standard_normal((n, p))


def chosen(X):
    center = X.mean(axis=0)
    return filter_directions(X, center, leading_directions(X, center)[0])


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("name", CLOUDS)
def test_products_of_few_coordinates_are_never_below_those_of_all(name, k):
    X = points(name, 400).astype(np.float64)
    z = X - X.mean(axis=0)
    V, shares = leading_directions(X, X.mean(axis=0))
    assert V.T @ V == pytest.approx(np.eye(V.shape[1]), abs=1e-10)
    assert 0.99 < shares.sum() < 1 + 1e-9
    y = with_rest(z @ V[:, :k], np.square(z).sum(axis=1))
    scale = np.square(z).sum(axis=1).max()
    assert (y @ y.T - z @ z.T).min() > -1e-12 * scale
    assert np.square(y).sum(axis=1) == pytest.approx(np.square(z).sum(axis=1), rel=1e-12)


def test_a_plane_in_many_dimensions_needs_few_coordinates():
    V = chosen(low_rank(3000))
    assert V is not None
    assert 10 <= V.shape[1] <= 24


@pytest.mark.parametrize(
    "make", [clusters, lambda n: np.random.default_rng(0).normal(size=(n, 200))]
)
def test_where_no_few_directions_tell_neighbors_all_coordinates_are_used(make):
    assert chosen(make(3000)) is None


def test_more_dimensions_than_points_have_directions_too():
    X = low_rank(500, p=2000)
    V, _ = leading_directions(X, X.mean(axis=0))
    assert V.T @ V == pytest.approx(np.eye(V.shape[1]), abs=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_filtered_screening_finds_every_pair(n_jobs, dtype):
    X = low_rank(2000).astype(dtype)
    cost = PointCost(X)
    assert cost._z.few().shape[1] < 30
    r = 0.2 * np.random.default_rng(0).random(cost.n)
    with Run(n_jobs) as run:
        found = screen(cost, r, run)
    expected = np.triu(half_squared(X) / cost.unit < r[:, None] + r, 1)
    assert len(found) == expected.sum() > 1000
    assert expected[found.i, found.j].all()


@pytest.mark.parametrize(("m", "n", "p"), [(1, 1, 1), (3, 70, 2), (37, 31, 7), (200, 333, 50)])
def test_tiles_of_any_shape_list_the_entries_above_a_limit(m, n, p):
    rng = np.random.default_rng(m)
    X = rng.standard_normal((400, p)).astype(np.float32)
    cost = PointCost(X)
    cost.prepare()
    rows, columns = (np.sort(rng.permutation(400)[:k]).astype(np.int32) for k in (m, n))
    t, b = (rng.standard_normal(k).astype(np.float32) for k in (m, n))
    i, j = cost.above(rows, t, cost, columns, b)
    z = (X - X.mean(axis=0, dtype=np.float64)) / np.sqrt(cost.unit)
    over = z[rows] @ z[columns].T + b - t[:, None]
    found = np.zeros((m, n), bool)
    found[i, j] = True
    rounding = 1e-6 * (p + 2) * (1 + np.abs(over).max())
    assert len(i) == found.sum()
    assert found[over > rounding].all()
    assert not found[over < -rounding].any()
    order = np.argsort(i, kind="stable")
    assert ((np.diff(i[order]) > 0) | (np.diff(j[order]) > 0)).all()


def test_an_affinity_by_a_filter_is_optimal():
    X = low_rank(2500)
    a = sparrot.qot(X, perplexity=20)
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))


def test_points_in_a_file_keep_only_the_coordinates_of_the_filter(tmp_path):
    X = low_rank(2000).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    cost = PointCost(np.load(tmp_path / "X.npy", mmap_mode="r"))
    tile = np.empty((100, 50), np.float32)
    cost.products(slice(0, 100), cost, slice(50), tile)
    cost.prepare()
    rows, columns = np.arange(100, dtype=np.int32), np.arange(50, dtype=np.int32)
    cost.above(rows, np.zeros(100, np.float32), cost, columns, np.zeros(50, np.float32))
    assert cost._z._z is None
    assert cost._few.shape[1] < 30


@pytest.mark.parametrize("n", [10, 1500, 2047, 3071, 100_000])
def test_samples_are_spread_over_all_points_and_differ(n):
    X = np.arange(float(n))[:, None]
    one, other = _sample(X, 0).ravel(), _sample(X, 1).ravel()
    assert len(one) == len(other) == min(1024, n // 2)
    assert not set(one) & set(other)
    for sample in (one, other):
        assert sample.min() <= n / 1000 + 1
        assert sample.max() >= n - n / 1000 - 2


def test_points_in_a_file_are_not_copied_as_a_whole(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(50_000, 60)).astype("f4"))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    tracemalloc.start()
    make_cost(X, "sqeuclidean")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 4
