"""The neighbors transformer against scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn import neighbors
from sklearn.manifold import Isomap
from sklearn.neighbors.tests import test_graph, test_neighbors, test_neighbors_pipeline
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparrot
from problems import CLOUDS, half_squared, points
from sparrot.affinity._neighbors import nearest, nearest_in, nearest_of_new, nearest_others
from sparrot.cost import MatrixCost, PointCost
from sparrot.engine import Run


@parametrize_with_checks([sparrot.KNeighborsTransformer()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("n", [200, 1600])
def test_graph_is_that_of_scikit_learn(mode, metric, n):
    X = points("gaussian", n)
    new = X[:50] + 0.1
    arguments = {"mode": mode, "metric": metric, "n_neighbors": 6}
    ours = sparrot.KNeighborsTransformer(**arguments)
    theirs = neighbors.KNeighborsTransformer(**arguments, algorithm="brute")
    A, B = ours.fit_transform(X), theirs.fit_transform(X)
    assert np.array_equal(A.indptr, B.indptr)
    # The product under scikit-learn's square root may leave 1e-7 on its diagonal.
    np.testing.assert_allclose(A.toarray(), B.toarray(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        ours.transform(new).toarray(), theirs.transform(new).toarray(), rtol=1e-6, atol=1e-6
    )


def test_equals_come_in_the_order_of_their_indices():
    rng = np.random.default_rng(0)
    Y, X = (rng.integers(0, 4, (n, 3)).astype(float) for n in (300, 40))
    k = 11
    indices, distances = nearest_of_new(X, Y, k, "sqeuclidean")
    D = cdist(X, Y, "sqeuclidean")
    assert np.array_equal(indices, np.argsort(D, axis=1, kind="stable")[:, :k])
    assert np.array_equal(distances, np.sort(D, axis=1)[:, :k])
    assert nearest_of_new(X, Y[:1], 1, "sqeuclidean")[0].tolist() == [[0]] * 40


@pytest.mark.parametrize(
    ("name", "distance"), [*((name, "euclidean") for name in CLOUDS), ("gaussian", "cosine")]
)
def test_neighbors_of_new_points_near_and_far_are_those_of_a_full_sort(name, distance):
    Y = points(name, 1700)
    rng = np.random.default_rng(0)
    X = Y[rng.permutation(len(Y))[:60]] + Y.std() * rng.standard_normal((60, Y.shape[1]))
    X[:20] = Y[:20]  # old ones
    X[-20:] *= 10.0 ** rng.uniform(1, 30, (20, 1))  # far ones
    indices, distances = nearest_of_new(X, Y, 7, distance, n_jobs=2)
    D = cdist(X, Y, distance)
    rounding = 1e-12 * D.max(axis=1, keepdims=True)
    assert (np.abs(np.take_along_axis(D, indices, axis=1) - distances) <= rounding).all()
    assert (np.abs(np.sort(D, axis=1)[:, :7] - distances) <= rounding).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    again = nearest_of_new(X, Y, 7, distance, n_jobs=1)
    assert np.array_equal(again[0], indices)
    assert np.array_equal(again[1], distances)


def test_equals_among_many_come_in_the_order_of_their_indices():
    rng = np.random.default_rng(0)
    Y, X = (rng.integers(0, 6, (n, 3)).astype(float) for n in (2000, 40))
    indices, distances = nearest_of_new(X, Y, 11, "sqeuclidean")
    D = cdist(X, Y, "sqeuclidean")
    assert np.array_equal(indices, np.argsort(D, axis=1, kind="stable")[:, :11])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :11], rtol=1e-12)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_transform_changes_nothing(mode):
    frame = pd.DataFrame(points("gaussian", 50)[:, :5], columns=list("abcde"))
    model = sparrot.KNeighborsTransformer(mode=mode).fit(frame)
    before = dict(model.__dict__)
    A = model.transform(frame)
    model.transform(frame[:3] + 0.1)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[name] is before[name] for name in before)
    assert model.feature_names_in_.tolist() == list("abcde")
    assert (A != model.fit_transform(frame)).nnz == 0


def test_it_serves_a_pipeline_that_needs_a_graph():
    X = points("swiss-roll", 300)
    model = make_pipeline(
        sparrot.KNeighborsTransformer(n_neighbors=8), Isomap(metric="precomputed", n_neighbors=8)
    )
    assert model.fit_transform(X).shape == (300, 2)


OF_SCIKIT_LEARN = [
    (module, name, {})
    for module in (test_graph, test_neighbors_pipeline)
    for name in dir(module)
    if name.startswith("test_") and name != "test_graph_feature_names_out"
] + [
    (test_graph, "test_graph_feature_names_out", {"Klass": sparrot.KNeighborsTransformer}),
    (test_neighbors, "test_pipeline_with_nearest_neighbors_transformer", {}),
    (
        test_neighbors,
        "test_nan_euclidean_support",
        {"Estimator": sparrot.KNeighborsTransformer, "params": {"n_neighbors": 2}},
    ),
]


@pytest.mark.filterwarnings("ignore:Array is not symmetric")  # which theirs is not, either
@pytest.mark.parametrize(
    ("module", "name", "arguments"), OF_SCIKIT_LEARN, ids=[name for _, name, _ in OF_SCIKIT_LEARN]
)
def test_tests_of_scikit_learn_pass_with_it(monkeypatch, module, name, arguments):
    place = neighbors if module is test_neighbors else module
    monkeypatch.setattr(place, "KNeighborsTransformer", sparrot.KNeighborsTransformer)
    getattr(module, name)(**arguments)


@pytest.mark.parametrize(
    "metric",
    [
        {"p": 1},
        {"p": 3},
        {"metric": "seuclidean", "metric_params": {"V": np.arange(1.0, 6.0)}},
        {"metric": lambda x, y: np.abs(x - y).max()},
        {"algorithm": "kd_tree", "leaf_size": 5},
    ],
)
def test_all_arguments_of_scikit_learn_mean_what_they_mean_there(metric):
    X = points("gaussian", 60)[:, :5]
    ours, theirs = (
        module.KNeighborsTransformer(n_neighbors=4, **metric).fit(X)
        for module in (sparrot, neighbors)
    )
    for Y in (X, X[:9] + 0.1):
        A, B = ours.transform(Y), theirs.transform(Y)
        assert np.array_equal(A.indices, B.indices)
        np.testing.assert_allclose(A.data, B.data, rtol=1e-12, atol=1e-12)


def test_sparse_points_stay_sparse_where_scikit_learn_searches(monkeypatch):
    X, made_dense = csr_array(points("gaussian", 60)), []
    monkeypatch.setattr("sparrot.affinity._neighbors.as_array", made_dense.append)
    ours = sparrot.KNeighborsTransformer(metric="manhattan").fit_transform(X)
    assert made_dense == []
    theirs = neighbors.KNeighborsTransformer(metric="manhattan").fit_transform(X)
    assert (ours != theirs).nnz == 0


def test_too_many_neighbors_are_refused():
    with pytest.raises(sparrot.InvalidInputError, match="from 1 to 4, got 5"):
        sparrot.KNeighborsTransformer(n_neighbors=5).fit(np.eye(5))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("n", [420, 2100])
def test_points_with_few_neighbors_in_a_graph_have_those_of_a_full_search(n, distance):
    X = np.array(np.meshgrid(np.arange(20), np.arange(n // 20))).reshape(2, -1).T / 3 + 0.1
    nothing = csr_array((n, n))
    indices, distances = nearest_others(X, 8, distance)
    i, d = nearest_in(nothing, X, 8, distance)
    assert np.array_equal(i, indices)
    assert np.array_equal(d, distances)
    half = csr_array(np.ones((n // 2, 1)) * np.ones(n))  # the first half know all
    half.resize((n, n))
    i, d = nearest_in(half, X, 8, distance)
    assert np.array_equal(i, indices)
    assert np.array_equal(d, distances)


def by_full_sort(X, k):
    C = half_squared(X)
    np.fill_diagonal(C, np.inf)
    order = np.argsort(C, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(C, order, axis=1)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("n", [300, 1700])
def test_neighbors_are_those_of_a_full_sort(name, n):
    X = points(name, n)
    cost = PointCost(X)
    with Run(2) as run:
        indices, costs = nearest(cost, 7, run)
    _, expected = by_full_sort(X, 7)
    assert indices.shape == costs.shape == (len(X), 7)
    assert (indices != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == 7 for row in indices)
    rounding = 1e-13 * (half_squared(X).max() + 1e-300)
    np.testing.assert_allclose(costs * cost.unit, expected, rtol=1e-9, atol=rounding)
    assert (np.diff(costs, axis=1) >= 0).all()


def test_threads_and_kind_of_cost_do_not_matter():
    X = points("digits", 1600)
    with Run(1) as one, Run(2) as two:
        expected = nearest(PointCost(X), 12, one)
        np.testing.assert_array_equal(nearest(PointCost(X), 12, two)[0], expected[0])
        matrix = nearest(MatrixCost(half_squared(X)), 12, two)
    np.testing.assert_allclose(matrix[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("n", [900, 1800])
def test_integer_points_come_in_the_order_of_a_full_sort(n):
    X = np.random.default_rng(0).integers(0, 5, (n, 3)).astype(float)
    C = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(C, np.inf)
    with Run(2) as run:
        indices, _ = nearest(PointCost(X), 6, run)
    np.testing.assert_array_equal(indices, np.argsort(C, axis=1, kind="stable")[:, :6])


def test_equal_distances_come_in_the_order_of_the_points():
    X = np.zeros((1800, 3))
    X[1000:] = 1.0
    with Run(2) as run:
        indices, costs = nearest(PointCost(X), 4, run)
    np.testing.assert_array_equal(indices[5], [0, 1, 2, 3])
    np.testing.assert_array_equal(indices[1001], [1000, 1002, 1003, 1004])
    assert (costs == 0).all()


@pytest.mark.parametrize("wrong", [{"metric": np.ones(2)}, {"p": None}, {"p": 10**400}])
def test_what_scikit_learn_refuses_by_any_error_is_invalid_input(wrong):
    with pytest.raises(sparrot.InvalidInputError, match="scikit-learn refuses it"):
        sparrot.KNeighborsTransformer(**wrong).fit(np.eye(9)).transform(np.eye(9))
