"""The order of the points, and the bounds that it makes possible."""

import warnings

import numpy as np
import pytest

import sparrot
from problems import CLOUDS, assert_optimal, half_squared, points
from sparrot.cost import LEAF, MatrixCost, PointCost
from sparrot.engine import Run, Side
from sparrot.errors import AffinityWarning
from sparrot.ot import Problem, QuadraticRegularizer, screen, transform_scores
from sparrot.ot._ctransform import Reference, c_transform
from sparrot.ot._screening import hits, joined, rounded_up


def in_order(X):
    cost = PointCost(np.ascontiguousarray(X))
    order = cost.order()
    if order is None:
        return cost
    assert np.array_equal(np.sort(order), np.arange(cost.n))
    return cost.take(order)


def within_each_group(cost, r):
    """For groups of rows, the columns that are not ruled out, and those with a pair in S(r)."""
    in_reach = cost.dense() < r[:, None] + r
    for start in range(0, cost.n, 2 * LEAF):
        rows = np.arange(start, min(start + 2 * LEAF, cost.n), dtype=np.int32)
        cost.prepare()
        yield cost.within(rows, r[rows], cost, r), np.flatnonzero(in_reach[rows].any(axis=0))


@pytest.mark.parametrize("reach", [1e-4, 1e-2, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CLOUDS)
def test_boxes_rule_out_no_pair_in_reach(name, dtype, reach):
    cost = in_order(points(name, 1500).astype(dtype))
    r = reach * np.random.default_rng(0).random(cost.n)
    for columns, needed in within_each_group(cost, r):
        assert (np.diff(columns) > 0).all()
        assert np.isin(needed, columns).all()


def test_a_pair_just_in_reach_of_a_far_center_is_kept():
    """Rounded coordinates may be farther apart than the points; the bound allows for it."""
    x = np.random.default_rng(0).standard_normal((2 * LEAF, 3))
    x[:, 0] += 3000
    step = np.array([0, 1e-3, 0])
    X = np.vstack([x, x + step, -x, -x - step])
    cost = PointCost(X)
    C = cost.dense()
    for margin in (1 + 1e-9, 1.1):
        r = margin * (C + np.diag(np.full(cost.n, np.inf))).min(axis=1) / 2
        for columns, needed in within_each_group(cost, r):
            assert len(needed) > 0
            assert np.isin(needed, columns).all()


def test_squares_that_underflow_rule_nothing_out():
    X = np.repeat([[-0.5], [0.5]], 2 * LEAF, axis=0) * np.ones(10)
    far = np.zeros((2, 10))
    far[:, 0] = -8e23, 8e23
    cost = PointCost(np.vstack([X, far]))
    C = float(cost.pairs(np.array([0]), np.array([2 * LEAF]))[0])
    assert 0 < C < 1e-44
    r = np.full(cost.n, 1.05 * C / 2)
    cost.prepare()
    columns = cost.within(np.arange(2 * LEAF, dtype=np.int32), r[: 2 * LEAF], cost, r)
    assert np.isin(np.arange(2 * LEAF, 4 * LEAF), columns).all()


@pytest.mark.parametrize("p", [200, 1024])
def test_a_rest_that_is_all_rounding_rules_nothing_out(p):
    """The last of few coordinates is the root of a difference of equal numbers."""
    X = np.random.default_rng(0).standard_normal((1500, 1)) * np.ones(p)
    cost = in_order(X)
    C = cost.dense() + np.diag(np.full(cost.n, np.inf))
    r = (1 + 1e-12) * C.min(axis=1) / 2
    for columns, needed in within_each_group(cost, r):
        assert np.isin(needed, columns).all()


def test_columns_before_the_first_are_left_out():
    cost = in_order(points("swiss-roll", 1500))
    rows, r = np.arange(LEAF, dtype=np.int32), np.full(1500, 0.05)
    cost.prepare()
    columns = cost.within(rows, r[rows], cost, r)
    assert 300 < len(columns) < 1200
    assert np.array_equal(cost.within(rows, r[rows], cost, r, 300), columns[columns >= 300])


def test_a_roll_is_put_in_order_and_a_ball_of_many_dimensions_is_not():
    assert PointCost(np.random.default_rng(0).standard_normal((3000, 200))).order() is None
    X = points("swiss-roll", 4000)
    for cost, most_are_apart in ((PointCost(X), False), (in_order(X), True)):
        share = [
            len(columns) / cost.n for columns, _ in within_each_group(cost, np.full(4000, 0.005))
        ]
        assert (np.mean(share) < 0.5) == most_are_apart


def test_a_matrix_rules_nothing_out():
    cost = MatrixCost(half_squared(points("gaussian", 300)))
    assert cost.order() is None
    r = np.full(300, -np.inf)
    assert np.array_equal(cost.within(np.arange(5), r[:5], cost, r, 100), np.arange(100, 300))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pruned_screening_finds_every_pair(n_jobs):
    X = points("swiss-roll", 2500)
    cost = PointCost(X).take(PointCost(X).order())
    r = 0.01 * np.random.default_rng(0).random(cost.n)
    with Run(n_jobs) as run:
        found = screen(cost, r, run)
        rows = np.arange(100, 2400, 7, dtype=np.int32)
        some = screen(cost, r, run, rows)
    expected = np.triu(cost.dense() < r[:, None] + r, 1)
    assert len(found) == expected.sum() > 1000
    assert expected[found.i, found.j].all()
    touched = np.isin(np.arange(cost.n), rows)
    assert len(some) == (expected & (touched[:, None] | touched)).sum()


def far_clusters(gap, n=2000):
    """Four clusters of different sizes, so many widths apart."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(n) ** 2 * 4 // n**2)
    return rng.standard_normal((n, 5)) + gap * np.eye(5)[labels]


@pytest.mark.parametrize("gap", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("ordered", [True, False])
def test_in_far_clusters_float32_rules_out_as_much_as_in_near_ones(gap, ordered):
    X = far_clusters(gap)
    X[:3] *= 2  # far from all clusters
    cost = PointCost(X)
    cost = cost.take(cost.order()) if ordered else cost
    cost.prepare()
    r = np.random.default_rng(1).random(cost.n) / cost.unit
    every = np.arange(cost.n, dtype=np.int32)
    side = Side(cost, every, every, r, rounded_up(cost, r))
    i, j = joined(list(hits(side, side)))
    expected = cost.dense() < r[:, None] + r
    found = np.zeros_like(expected)
    found[i, j] = True
    assert found[expected].all()
    assert cost.n < expected.sum() <= len(i) < 1.01 * expected.sum()


@pytest.mark.parametrize("perplexity", [10, 30])
def test_far_clusters_have_the_plans_of_near_ones(perplexity):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AffinityWarning)  # of pieces
        near, far = (sparrot.qot(far_clusters(gap), perplexity=perplexity) for gap in (1e3, 1e6))
    assert far.certificate.exact
    assert far.perplexity == pytest.approx(perplexity, rel=0.01)
    assert far.eps == pytest.approx(near.eps, rel=0.02)


def test_pruned_c_transforms_are_those_against_all():
    X = points("swiss-roll", 4000)
    cost = PointCost(X).take(PointCost(X).order())
    index = np.arange(0, 4000, 2, dtype=np.int32)
    u = 0.002 * np.random.default_rng(0).random(len(index))
    reference = Reference(Problem(cost.take(index), QuadraticRegularizer(1e-3)), index, u)
    rows = np.arange(1, 4000, 4, dtype=np.int32)
    near = np.zeros(len(rows))
    with Run(2) as run:
        v, _ = c_transform(cost, rows, reference, near, run)
    C = cost.dense()[np.ix_(rows, index)]
    assert v == pytest.approx(transform_scores(u - C, QuadraticRegularizer(1e-3)), abs=1e-12)


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
