import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparrot
from problems import points
from sparrot.errors import InvalidInputError
from sparrot.spectral._estimator import is_affinity

SPECTRAL = (sparrot.Eigenmaps, sparrot.DiffusionMap, sparrot.SpectralClustering)


@parametrize_with_checks(
    [
        sparrot.Eigenmaps(),
        sparrot.Eigenmaps(affinity="eot", n_components=1),
        sparrot.DiffusionMap(),
        sparrot.DiffusionMap(affinity="gaussian", t=2, alpha=1.0),
        sparrot.SpectralClustering(2),
        sparrot.SpectralClustering(2, assign="cluster_qr"),
        sparrot.SpectralClustering(2, components="largest"),
        sparrot.Eigenmaps(components="largest"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("said", ["qot", "precomputed"])
def test_pipelines_end_in_an_embedding_and_transform_new_points(said):
    X = points("gaussian", 120)
    chain = make_pipeline(StandardScaler(), sparrot.QOT(), sparrot.Eigenmaps(affinity=said))
    Y = chain.fit_transform(X)
    direct = make_pipeline(StandardScaler(), sparrot.Eigenmaps(affinity=sparrot.QOT()))
    assert Y == pytest.approx(direct.fit_transform(X), abs=1e-10)
    new = X[:9] + 0.1
    assert chain.transform(new) == pytest.approx(direct.transform(new), abs=1e-8)
    again = pickle.loads(pickle.dumps(chain))
    assert np.array_equal(again.transform(new), chain.transform(new))


@pytest.mark.parametrize("maker", [sparrot.qot, sparrot.eot, sparrot.tsallis])
@pytest.mark.parametrize("estimator", SPECTRAL)
def test_an_affinity_is_known_when_it_is_passed_for_points(estimator, maker):
    a = maker(points("gaussian", 60), perplexity=10)
    named = estimator(3, affinity="precomputed").fit(a)
    for given in (a, a.matrix):
        model = estimator(3).fit(given)
        assert model.affinity_estimator_ is None
        assert np.array_equal(model.embedding_, named.embedding_)


def test_points_that_look_much_like_an_affinity_are_points():
    W = sparrot.qot(points("gaussian", 60), perplexity=10).matrix
    signed = W - sp.csr_array(2 * W * (W == W.max()))
    twice = sp.csr_array(2 * W)
    shifted = sp.csr_array(W[np.roll(np.arange(60), 1)])
    lazy = sp.csr_array((W + sp.eye_array(60)) / 2)
    for X in (signed, twice, shifted, lazy, W[:, :50], W[:50], np.eye(60)):
        assert not is_affinity(X)
    assert sparrot.Eigenmaps().fit(lazy).affinity_estimator_ is not None
    assert is_affinity(W)
    assert sparrot.Eigenmaps(affinity=sparrot.QOT()).fit(W).affinity_estimator_ is not None


def test_an_affinity_may_be_a_name_an_estimator_or_a_matrix():
    X = points("gaussian", 100)
    named = sparrot.Eigenmaps(affinity="knn").fit(X)
    given = sparrot.Eigenmaps(affinity=sparrot.KNN(15)).fit(X)
    matrix = sparrot.Eigenmaps(affinity="precomputed").fit(sparrot.knn(X, 15).matrix)
    assert np.array_equal(named.embedding_, given.embedding_)
    assert np.array_equal(named.embedding_, matrix.embedding_)
    assert not hasattr(named, "transform")
    assert hasattr(matrix, "transform")
    for wrong in ("nearest", 3, None, sparrot.QOT):
        with pytest.raises(InvalidInputError, match="affinity must be an estimator"):
            sparrot.Eigenmaps(affinity=wrong).fit(X)


def new_points(model, X):
    return (model.predict if hasattr(type(model), "predict") else model.transform)(X)


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_an_affinity_is_taken_as_it_is(estimator):
    X = np.random.default_rng(0).standard_normal((60, 3))
    a = sparrot.qot(X, perplexity=10)
    one = estimator(3, affinity="precomputed").fit(a)
    other = estimator(3, affinity="precomputed").fit(a.matrix)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    with pytest.raises(
        InvalidInputError, match="an affinity itself to fit, with affinity='precomputed'"
    ):
        estimator(3, affinity=a).fit(X)


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_rows_against_the_training_points_are_asked_for(estimator):
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = estimator(3, affinity="precomputed").fit(sparrot.qot(X, perplexity=10))
    with pytest.raises(InvalidInputError, match=r"rows of affinities .* to the 60 training points"):
        new_points(model, X)


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_why_new_points_have_no_place_is_said(estimator):
    model = estimator(3, affinity="knn")
    assert not hasattr(model, "transform")
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match=r"KNN gives no rows .* affinity='qot', 'eot' or"):
        new_points(model, np.eye(3))


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_one_problem_gets_one_warning(estimator):
    X = np.random.default_rng(0).standard_normal((60, 3))
    X[30:] += 100
    with pytest.warns(sparrot.AffinityWarning) as caught:
        estimator(3, affinity=sparrot.QOT(0.01), components="warn").fit(X)
    assert len(caught) == 1
