"""C-transforms, and which pairs may carry mass."""

import numpy as np
import pytest
from scipy.optimize import brentq

from problems import half_squared, points
from sparrot.cost import MatrixCost, PointCost, _points as cost_of_points
from sparrot.engine import Run
from sparrot.ot import (
    Problem,
    QuadraticRegularizer,
    _screening,
    screen,
    transform_scores,
)
from sparrot.ot._ctransform import Reference, c_transform, rough_c_transform
from sparrot.ot._screening import ClientPairs, Pairs, Support, _describe_block, _join_block


def solve_by_bisection(s, mass):
    return brentq(lambda v: np.maximum(v + s, 0).sum() - mass, -s.max(), mass - s.max() + 1)


@pytest.mark.parametrize("mass", [1e-3, 0.3, 1.0, 50.0, 1e4])
def test_dense_c_transforms_solve_their_equation(mass):
    S = np.random.default_rng(0).standard_normal((20, 700))
    S[3, 5] = -np.inf
    v = transform_scores(S, QuadraticRegularizer(mass), mass)
    assert np.maximum(S + v[:, None], 0).sum(axis=1) == pytest.approx(mass, rel=1e-12)
    assert v[0] == pytest.approx(solve_by_bisection(S[0], mass), abs=1e-9)


@pytest.mark.parametrize("near", [-100.0, 0.0, 0.2, 100.0, np.inf])
@pytest.mark.parametrize("mass", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", [PointCost, MatrixCost])
def test_c_transforms_against_a_part_solve_their_equation_whatever_the_guess(kind, mass, near):
    X = points("gaussian", 1500)
    cost = kind(X if kind is PointCost else half_squared(X))
    index = np.arange(0, 1500, 3, dtype=np.int32)
    u = np.random.default_rng(0).random(len(index))
    rows = np.array([0, 1, 2, 3, 900], dtype=np.int32)
    C = half_squared(X)[np.ix_(rows, index)] / cost.unit
    guess = np.full(len(rows), near)
    part, quadratic = cost.take(index), QuadraticRegularizer(mass)
    with Run(2) as run:
        fat = Reference(Problem(part, quadratic, hollow=False), index, u)
        v, _ = c_transform(cost, rows, fat, guess, run)
        assert v == pytest.approx(transform_scores(u - C, quadratic), abs=1e-12)
        hollow = Reference(Problem(part, quadratic), index, u)
        v, counts = c_transform(cost, rows, hollow, guess, run)
    C[[0, 3, 4], [0, 1, 300]] = np.inf  # the points themselves
    assert v == pytest.approx(transform_scores(u - C, quadratic), abs=1e-12)
    assert np.array_equal(counts, (v[:, None] + u - C > 0).sum(axis=1))


@pytest.mark.parametrize("kind", [PointCost, MatrixCost])
def test_rough_c_transforms_are_good_to_single_precision(kind):
    X = points("gaussian", 1500)
    cost = kind(X if kind is PointCost else half_squared(X))
    index = np.arange(0, 1500, 3, dtype=np.int32)
    u = np.random.default_rng(0).random(len(index))
    with Run(2) as run:
        reference = Reference(Problem(cost.take(index), QuadraticRegularizer(1.0)), index, u)
        v, counts, _ = rough_c_transform(cost, reference, run)
    C = half_squared(X)[:, index] / cost.unit
    C[index, np.arange(len(index))] = np.inf
    assert v == pytest.approx(transform_scores(u - C, QuadraticRegularizer(1.0)), abs=1e-5)
    assert counts.mean() == pytest.approx((v[:, None] + u - C > 0).sum(axis=1).mean(), rel=0.01)


def test_rows_of_few_neighbors_have_the_spread_of_their_nearest_scores():
    X = points("gaussian", 400) * 10 ** np.linspace(-1, 1, 400)[:, None]
    cost = PointCost(X)
    index = np.arange(0, 400, 2, dtype=np.int32)
    u = np.zeros(len(index))
    with Run(2) as run:
        reference = Reference(Problem(cost.take(index), QuadraticRegularizer(0.01)), index, u)
        _, counts, spread = rough_c_transform(cost, reference, run)
    C = half_squared(X)[:, index] / cost.unit
    C[index, np.arange(len(index))] = np.inf
    nearest, few = np.sort(C, axis=1)[:, :4], counts <= 2
    assert 50 < few.sum() < 350
    assert spread[few] == pytest.approx((nearest[:, 3] - nearest[:, 0])[few], abs=1e-4)
    assert not spread[~few].any()


@pytest.mark.parametrize("mass", [1e-12, 1e-2, 1.0, 1e3])
def test_transforms_of_many_scores_at_once_are_those_of_few(mass):
    S = np.random.default_rng(0).standard_normal((2000, 300))
    S[::7, ::3] = -np.inf
    g = QuadraticRegularizer(mass)
    few = np.concatenate([transform_scores(S[k : k + 100], g) for k in range(0, 2000, 100)])
    assert transform_scores(S, g) == pytest.approx(few, rel=1e-12, abs=1e-12)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(PointCost, "tile_columns", 128)
    monkeypatch.setattr(cost_of_points, "_PANEL_BYTES", 1)  # of one panel at a time


def pairs_by_brute_force(X, unit, r):
    C = half_squared(X) / unit
    i, j = np.nonzero(np.triu(C < r[:, None] + r, 1))
    return set(zip(i.tolist(), j.tolist(), strict=True))


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", ["gaussian", "duplicates", "cauchy", "two-clusters"])
def test_screening_finds_exactly_the_pairs_below_the_ceilings(name, n_jobs):
    X = np.ascontiguousarray(points(name, 300))
    cost = PointCost(X)
    r = 0.5 * np.random.default_rng(1).random(cost.n)
    with Run(n_jobs) as run:
        found = screen(cost, r, run)
    assert (found.i < found.j).all()
    expected = pairs_by_brute_force(X, cost.unit, r)
    assert len(found) == len(expected) > 0
    assert set(zip(found.i.tolist(), found.j.tolist(), strict=True)) == expected


@pytest.mark.usefixtures("small_tiles")
def test_screening_some_rows_finds_their_pairs_once():
    X = points("gaussian", 300)
    cost = PointCost(X)
    r = np.full(cost.n, 0.4)
    rows = np.array([0, 5, 6, 150, 299], dtype=np.int32)
    with Run(2) as run:
        found = screen(cost, r, run, rows)
    every = pairs_by_brute_force(X, cost.unit, r)
    touching = {(i, j) for i, j in every if i in rows or j in rows}
    assert len(found) == len(touching)
    assert set(zip(found.i.tolist(), found.j.tolist(), strict=True)) == touching


def test_screening_reports_and_may_be_stopped():
    cost = PointCost(points("gaussian", 300))

    def stop(done, total, found):
        raise KeyboardInterrupt

    with Run(2) as run, pytest.raises(KeyboardInterrupt):
        screen(cost, np.ones(300), run, report=stop)


def test_pairs_are_kept_and_sorted_alike_in_any_number_of_blocks(monkeypatch):
    n, rng = 40, np.random.default_rng(0)
    i, j = np.triu_indices(n)
    some = rng.permutation(len(i))[:300]
    pairs = Pairs(i[some].astype(np.int32), j[some].astype(np.int32), rng.random(300))
    monkeypatch.setattr(_screening, "_ROWS", 7)
    monkeypatch.setattr(_screening, "_STAYING", 11)
    with Run(2) as run:
        support = Support.of(pairs, n, run.threads)
        known = ClientPairs(n, pairs, screen, run.threads)
        r, risen = rng.random(n) / 2, np.array([3, 17])
        kept = known.kept(r, risen)[1]
    C = np.zeros((n, n))
    C[pairs.i, pairs.j] = C[pairs.j, pairs.i] = pairs.cost
    rows, columns = np.nonzero(C)
    assert np.array_equal(np.repeat(np.arange(n), support.counts), rows)
    assert np.array_equal(support.indices, columns)
    assert np.array_equal(support.cost, C[rows, columns])
    free = ~np.isin(pairs.i, risen) & ~np.isin(pairs.j, risen) & pairs.below(r)
    assert np.array_equal(kept.cost, pairs.cost[free | (pairs.i == pairs.j)])


def test_a_support_is_the_symmetric_matrix_of_its_pairs():
    i = np.array([2, 0, 1, 0, 3], dtype=np.int32)
    j = np.array([3, 2, 1, 1, 3], dtype=np.int32)
    cost = np.array([0.0, 2.0, 3.0, 4.0, 5.0])  # a cost of zero is an entry like any other
    support = Support.of(Pairs(i, j, cost), 4)
    assert support.indptr.tolist() == [0, 2, 4, 6, 8]
    assert support.indices.tolist() == [1, 2, 0, 1, 0, 3, 2, 3]
    assert support.cost.tolist() == [4, 2, 4, 3, 2, 0, 0, 5]
    assert support.counts.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("hollow", [True, False])
def test_blocks_of_a_support_are_its_rows(hollow):
    rng, n = np.random.default_rng(0), 60
    i, j = (side.astype(np.int32) for side in np.triu_indices(n, 1))
    every, r = Pairs(i, j, rng.random(len(i))), rng.random(n)
    higher = np.where(np.arange(n) % 7 == 0, r + 0.2, r - 0.1)
    risen, before, now = higher > r, every.where(every.below(r)), every.where(every.below(higher))
    own = np.arange(0 if hollow else n, dtype=np.int32)
    loops = Pairs(own, own, rng.random(len(own)))
    expected, n_pairs = Support.of(Pairs.join([now, loops]), n), 0
    for start, stop in ((0, 25), (25, n)):
        place = start, stop, n, loops.i[start:stop], loops.cost[start:stop]
        old = _join_block(*place, [before], None, None, None)
        found = [now.where(risen[now.i] | risen[now.j])]
        new = _join_block(*place, found, old, higher[old.names], risen[old.names])
        entries = slice(expected.indptr[start], expected.indptr[stop])
        assert new.counts.tolist() == expected.counts[start:stop].tolist()
        assert new.names[new.indices].tolist() == expected.indices[entries].tolist()
        assert new.cost.tolist() == expected.cost[entries].tolist()
        n_pairs += _describe_block(new)[2]
    assert n_pairs == len(now) + len(loops)
