"""The order of the points, and the bounds that it makes possible."""

import numpy as np
import pytest

import sparrot
from problems import CLOUDS, assert_optimal, half_squared, points
from sparrot.cost import LEAF, MatrixCost, PointCost
from sparrot.engine import Threads
from sparrot.support import QUADRATIC, Part, levels_against, screen, simplex_levels


@pytest.mark.parametrize("name", CLOUDS)
def test_no_pair_of_two_leaves_is_cheaper_than_their_gap(name):
    X = points(name, 1500)
    cost = PointCost(np.ascontiguousarray(X))
    order = cost.order()
    if order is not None:
        assert np.array_equal(np.sort(order), np.arange(cost.n))
        cost = cost.take(order)
    C = cost.dense()
    for leaf in range(-(-cost.n // LEAF)):
        rows = C[leaf * LEAF : (leaf + 1) * LEAF]
        least = np.minimum.reduceat(rows.min(axis=0), np.arange(0, cost.n, LEAF))
        assert (cost.gaps(leaf, cost) <= least + 1e-12).all()


def test_a_roll_is_put_in_order_and_a_ball_of_many_dimensions_is_not():
    assert PointCost(np.random.default_rng(0).standard_normal((3000, 200))).order() is None
    as_given = PointCost(points("swiss-roll", 20000))
    ordered = as_given.take(as_given.order())
    for cost, most_are_apart in ((as_given, False), (ordered, True)):
        gaps = np.array([cost.gaps(leaf, cost) for leaf in range(-(-cost.n // LEAF))])
        assert (np.mean(gaps > 0.01) > 0.5) == most_are_apart


def test_a_matrix_rules_nothing_out():
    cost = MatrixCost(half_squared(points("gaussian", 300)))
    assert cost.order() is None
    assert (cost.gaps(0, cost) == -np.inf).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pruned_screening_finds_every_pair(n_jobs):
    X = points("swiss-roll", 2500)
    cost = PointCost(X).take(PointCost(X).order())
    r = 0.01 * np.random.default_rng(0).random(cost.n)
    with Threads(n_jobs) as threads:
        found = screen(cost, r, threads)
        rows = np.arange(100, 2400, 7, dtype=np.int32)
        some = screen(cost, r, threads, rows)
    expected = np.triu(cost.dense() < r[:, None] + r, 1)
    assert len(found) == expected.sum() > 1000
    assert expected[found.i, found.j].all()
    touched = np.isin(np.arange(cost.n), rows)
    assert len(some) == (expected & (touched[:, None] | touched)).sum()


def test_pruned_levels_are_those_against_all():
    X = points("swiss-roll", 4000)
    cost = PointCost(X).take(PointCost(X).order())
    index = np.arange(0, 4000, 2, dtype=np.int32)
    u = 0.002 * np.random.default_rng(0).random(len(index))
    part = Part(index, cost.take(index), u)
    rows = np.arange(1, 4000, 4, dtype=np.int32)
    near = np.zeros(len(rows))
    with Threads(2) as threads:
        level, _ = levels_against(cost, rows, part, QUADRATIC, 1e-3, near, True, threads)
    C = cost.dense()[np.ix_(rows, index)]
    assert level == pytest.approx(simplex_levels(u - C, 1e-3), abs=1e-12)


def test_ordered_points_come_back_in_their_own_order():
    X = points("swiss-roll", 2000)
    shuffle = np.random.default_rng(0).permutation(2000)
    a = sparrot.qot(X, perplexity=20)
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))
    b = sparrot.qot(X[shuffle], a.relative_eps)
    assert abs(b.matrix - a.matrix[shuffle][:, shuffle]).max() < 1e-6


def test_points_in_a_file_give_the_same_affinity(tmp_path):
    X = points("gaussian", 1700).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert abs(sparrot.qot(mapped).matrix - sparrot.qot(X).matrix).max() < 1e-7
