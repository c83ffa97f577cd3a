"""The neighbours transformer against scikit-learn's."""

import numpy as np
import pytest
from sklearn import neighbors
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparrot
from problems import points


@parametrize_with_checks([sparrot.KNeighborsTransformer(n_neighbors=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
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


def test_it_serves_a_pipeline_that_needs_a_graph():
    X = points("swiss-roll", 300)
    model = make_pipeline(
        sparrot.KNeighborsTransformer(n_neighbors=8), Isomap(metric="precomputed", n_neighbors=8)
    )
    assert model.fit_transform(X).shape == (300, 2)


def test_too_many_neighbours_are_refused():
    with pytest.raises(sparrot.InvalidInputError, match="from 1 to 4, got 5"):
        sparrot.KNeighborsTransformer(n_neighbors=5).fit(np.eye(5))
