"""Few coordinates as a filter: never wrong, and taken only where they are worth it."""

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import sparrot
from problems import CLOUDS, assert_optimal, half_squared, points
from sparrot import _kernels
from sparrot.cost import PointCost, make_cost
from sparrot.cost._points import (
    Bytes,
    Step,
    _sample,
    cheapest_filter,
    leading_directions,
    with_rest,
)
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
    return cheapest_filter(X, center, leading_directions(X, center)[0])[0]


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


@pytest.mark.parametrize("sample", [1, 20, 400])
@pytest.mark.parametrize("name", CLOUDS)
def test_products_of_bytes_with_their_margins_are_never_below_those_of_coordinates(name, sample):
    X = points(name, 400).astype(np.float64)
    y = (X - X.mean(axis=0)).astype(np.float32).astype(np.float64)
    step = Step.of(y[:sample])  # others may be far out
    q, margin = step.rounded(y)
    assert np.abs(q).max() <= 127
    bound = step.size**2 * (q @ q.T) + margin[:, None] + margin
    assert (bound - y @ y.T).min() > -1e-12 * np.square(y).sum(axis=1).max()


def test_bytes_of_points_like_the_sample_have_small_margins():
    y = np.random.default_rng(0).standard_normal((2000, 100)) / 10
    _, margin = Step.of(y[:1000]).rounded(y)
    assert np.median(margin) < 0.02
    assert margin.max() < 0.2


@pytest.mark.parametrize("k", [1, 4, 50, 8192])
def test_limits_and_starts_of_bytes_lose_no_pair_however_large_they_are(k):
    rng = np.random.default_rng(k)
    y = rng.standard_normal((64, k)).astype(np.float32)
    y[:8] *= 1e5  # and these are cut off
    some = Bytes(y, Step.of(y[8:]))
    every = np.arange(64, dtype=np.int32)
    extreme = np.float32([-np.inf, -1e30, -1e3, 0, 1e3, 1e30, np.inf, -k, k, np.nan])
    t, b = rng.choice(extreme, 64), rng.choice(extreme, 64)
    signed = some.signed.view(np.int8).astype(np.int64)
    unsigned = some.unsigned.view(np.uint8).astype(np.int64)
    starts, limits = some.starts(every, b, 70), some.limits(every, t)
    sums = signed @ unsigned.T + starts[:64]
    assert np.abs(sums).max() < 2**31
    with np.errstate(invalid="ignore"):  # the difference of two infinities
        above = y.astype(np.float64) @ y.T + b > t[:, None]
    assert (sums > limits[:, None])[above].all()
    beyond = signed @ unsigned[:6].T + starts[64:]
    assert np.abs(beyond).max() < 2**31
    assert not (beyond > limits[:, None]).any()


@pytest.mark.skipif(not _kernels.HAS_BYTES, reason="the processor has no products of bytes")
@pytest.mark.parametrize("more", [{}, {"min_neighbors": 3}])
def test_results_are_the_same_bits_with_and_without_bytes(more, monkeypatch):
    X = np.random.default_rng(0).standard_normal((4000, 61)) * np.linspace(3, 0.1, 61)
    found = []
    for has_bytes in (True, False):
        monkeypatch.setattr(_kernels, "HAS_BYTES", has_bytes)
        found.append(sparrot.qot(X, 0.3, **more))
    with_bytes, without = found
    assert (with_bytes.potential == without.potential).all()
    assert (with_bytes.matrix != without.matrix).nnz == 0
    assert with_bytes.certificate == without.certificate


@pytest.mark.parametrize("setting", ["NUMBA_CPU_NAME=generic", "NUMBA_ENABLE_AVX=0"])
def test_numba_may_compile_for_a_processor_without_bytes(setting, tmp_path):
    name, value = setting.split("=")
    code = "import numpy as np, sparrot; sparrot.qot(np.random.default_rng(0).random((2500, 61)))"
    environment = {**os.environ, name: value, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.mark.skipif(not _kernels.HAS_BYTES, reason="the processor has no products of bytes")
def test_tiles_by_bytes_are_those_by_float32(monkeypatch):
    X = np.random.default_rng(0).standard_normal((3000, 61))
    rows, columns = np.arange(5, 700, dtype=np.int32), np.arange(0, 3000, 2, dtype=np.int32)
    t, b = np.full(len(rows), 0.3, np.float32), np.zeros(len(columns), np.float32)
    found = []
    for has_bytes in (True, False):
        monkeypatch.setattr(_kernels, "HAS_BYTES", has_bytes)
        cost = PointCost(X)
        cost.prepare()
        assert (cost._bytes is not None) == has_bytes
        i, j = cost.above(rows, t, cost, columns, b)
        found.append(set(zip(i.tolist(), j.tolist(), strict=True)))
    z = (X - X.mean(axis=0)) / np.sqrt(cost.unit)
    over = z[rows] @ z[columns].T - 0.3
    clear = {(i, j) for i, j in found[0] ^ found[1] if abs(over[i, j]) > 1e-5}
    assert not clear
    assert len(found[0]) > 1000


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
