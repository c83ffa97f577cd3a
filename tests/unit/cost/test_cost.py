import pickle

import numpy as np
import pytest

import sparrot
from problems import CLOUDS, half_squared, points
from sparrot.cost import MatrixCost, PointCost, costs_to, make_cost
from sparrot.errors import InvalidInputError
from sparrot.ot import EntropicRegularizer, Problem, QuadraticRegularizer


def costs(X):
    C = half_squared(X)
    return {"points": PointCost(X), "matrix": MatrixCost(C)}


@pytest.mark.parametrize("kind", ["points", "matrix"])
@pytest.mark.parametrize("name", CLOUDS)
def test_unit_is_the_mean_over_all_pairs_and_dense_costs_are_exact(name, kind):
    X = np.asarray(points(name, 120), dtype=np.float64)
    C = half_squared(X)
    cost = costs(X)[kind]
    assert cost.unit == pytest.approx(C.mean(), rel=1e-12)
    D = cost.dense()
    assert np.array_equal(D, D.T)
    assert np.abs(D * cost.unit - C).max() <= 1e-13 * C.max()


@pytest.mark.parametrize("kind", ["points", "matrix"])
@pytest.mark.parametrize("name", ["gaussian", "duplicates", "two-clusters", "shifted"])
def test_pairs_are_exact_and_symmetric_to_the_last_bit(name, kind):
    X = np.ascontiguousarray(points(name, 120), dtype=np.float64)
    cost = costs(X)[kind]
    i, j = np.triu_indices(len(X), 1)
    i, j = i.astype(np.int32), j.astype(np.int32)
    assert np.array_equal(cost.pairs(i, j), cost.pairs(j, i))
    assert cost.pairs(i, j) * cost.unit == pytest.approx(half_squared(X)[i, j], rel=1e-13)


@pytest.mark.parametrize("kind", ["points", "matrix"])
@pytest.mark.parametrize("name", CLOUDS)
def test_the_margin_covers_the_rounding_of_float32_tiles(name, kind):
    X = np.ascontiguousarray(points(name, 150), dtype=np.float64)
    cost = costs(X)[kind]
    r = np.random.default_rng(0).random(cost.n)
    a = r - cost.shift
    G = np.empty((cost.n, cost.n), np.float32)
    cost.products(slice(None), cost, slice(None), G)
    bound = a + cost.margin(a)
    exact = r[:, None] + r - half_squared(X) / cost.unit
    assert (G.astype(np.float64) + bound[:, None] + bound >= exact).all()
    # and it is a margin, not a flood: no more than a thousandth of the scale of the row
    scale = cost.shift[:, None] + cost.shift + half_squared(X).max() / cost.unit + 2
    assert (G + bound[:, None] + bound - exact <= 1e-3 * scale).all()


@pytest.mark.parametrize("kind", ["points", "matrix"])
def test_a_part_has_the_costs_of_the_whole(kind):
    X = points("gaussian", 60)
    cost = costs(X)[kind]
    index = np.array([3, 17, 18, 40], dtype=np.int32)
    part = cost.take(index)
    assert part.dense() == pytest.approx(cost.dense()[np.ix_(index, index)], abs=1e-14)
    G = np.empty((cost.n, 4), np.float32)
    cost.products(slice(None), part, slice(None), G)
    H = np.empty((cost.n, cost.n), np.float32)
    cost.products(slice(None), cost, slice(None), H)
    assert G == pytest.approx(H[:, index], abs=1e-5)


def test_cosine_is_one_minus_cosine():
    X = points("gaussian", 50)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cost = make_cost(X, "cosine")
    assert cost.dense() * cost.unit == pytest.approx(1 - unit @ unit.T, abs=1e-14)
    assert costs_to(X, "cosine")(X[:5]) == pytest.approx(1 - unit[:5] @ unit.T, abs=1e-14)


def test_other_metrics_are_distances():
    X = points("gaussian", 50)
    D = np.abs(X[:, None] - X).sum(axis=2)
    cost = make_cost(X, "manhattan")
    assert cost.dense() * cost.unit == pytest.approx(D, rel=1e-12)


@pytest.mark.parametrize(
    ("X", "metric", "message"),
    [
        (np.ones((5, 2)), "sqeuclidean", "all points are equal"),
        (np.array([[1e200, 0], [0, 1e200]]), "sqeuclidean", "finite, got inf.*rescale"),
        (np.full((5, 2), 0.1), "sqeuclidean", "all points are equal"),
        (1e-158 * np.eye(9), "sqeuclidean", "squares underflow"),
        (-np.ones((4, 4)), "precomputed", "sparrot.project"),
        (np.vstack([np.eye(3), np.zeros((1, 3))]), "cosine", "row 3 is"),
        (np.eye(3), "manhatten", "metric 'manhatten' is not known; take one of"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_costs_without_a_scale_are_refused(X, metric, message):
    with pytest.raises(InvalidInputError, match=message):
        make_cost(X, metric)


EVERY_AFFINITY = [
    sparrot.qot, sparrot.eot, sparrot.tsallis, sparrot.knn, sparrot.gaussian, sparrot.epanechnikov,
    sparrot.gaussian_l2, sparrot.magic,
]  # fmt: skip


@pytest.mark.parametrize("build", EVERY_AFFINITY, ids=lambda build: build.__name__)
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e200])
def test_equal_points_are_one_error_in_every_affinity(build, value):
    with pytest.raises(InvalidInputError, match=r"^all points are equal"):
        build(np.full((20, 300), value))


@pytest.mark.parametrize("size", [1e155, 1e300, 1e-160, 1e-300])
def test_the_cosine_of_huge_and_tiny_points_is_that_of_others(size):
    X = np.random.default_rng(0).standard_normal((30, 3))
    a, b = sparrot.qot(X, metric="cosine"), sparrot.qot(size * X, metric="cosine")
    assert abs(a.matrix - b.matrix).max() < 1e-12
    assert b.check(size * X).violation < 1e-12
    new = sparrot.QOT(metric="cosine").fit(X).transform(size * X[:3] + size * 0.1)
    assert np.abs(new.sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize("build", [sparrot.qot, sparrot.eot, sparrot.tsallis])
def test_an_eps_or_a_potential_that_overflows_is_an_error(build):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(InvalidInputError, match="eps or the potential is infinite"):
        build(1e150 * X, 1e12)
    C = np.square(X[:, None] - X).sum(axis=2)
    with pytest.raises(InvalidInputError, match="sum of all costs is infinite"):
        build(C / C.max() * 1e308, 1.0, metric="precomputed")
    a = build(1e300 * C, 1.0, metric="precomputed")
    assert np.abs(a.matrix.sum(axis=1) - 1).max() <= 1e-8


def test_a_kernel_beside_which_one_is_rounding_is_refused():
    K = np.random.default_rng(0).standard_normal((20, 20))
    with pytest.raises(InvalidInputError, match=r"K has entries up to .* divide it"):
        sparrot.project(1e100 * (K + K.T))


@pytest.mark.parametrize("regularizer", [QuadraticRegularizer(0.3), EntropicRegularizer(0.3)])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "manhattan"])
def test_costs_and_problems_are_the_same_after_a_pickle(metric, regularizer):
    X = points("gaussian", 40)
    problem = Problem(make_cost(X, metric), regularizer, floor=np.full(40, 3.0))
    other = pickle.loads(pickle.dumps(problem))
    i = np.arange(20, dtype=np.int32)
    assert np.array_equal(other.cost.pairs(i, i + 20), problem.cost.pairs(i, i + 20))
    assert other.cost.fingerprint() == problem.cost.fingerprint()
    assert other.regularizer == regularizer
    assert np.array_equal(other.floor, problem.floor)
