"""The neighbors transformer against scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn import neighbors
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparrot
from problems import points
from sparrot.affinity._neighbors import nearest_in, nearest_of_new, nearest_others


@parametrize_with_checks([sparrot.KNeighborsTransformer(n_neighbors=2)])
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
