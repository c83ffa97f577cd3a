import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.manifold import SpectralEmbedding
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparrot
from problems import points
from sparrot.errors import InvalidInputError


def expected_failures(estimator):
    """Kernels and graphs have no rows for the new points of this check, and say so."""
    if isinstance(estimator, (sparrot.QOT, sparrot.EOT, sparrot.Tsallis)):
        return {}
    return {"check_fit_idempotent": "there are no rows for new points"}


@parametrize_with_checks(
    [
        sparrot.QOT(),
        sparrot.QOT(metric="precomputed"),
        sparrot.EOT(),
        sparrot.Tsallis(),
        sparrot.KNN(n_neighbors=1),
        sparrot.Gaussian(),
        sparrot.Epanechnikov(),
        sparrot.GaussianL2(),
        sparrot.MAGIC(n_neighbors=1),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_attributes_are_those_of_the_function():
    X = points("gaussian", 200)
    model, a = sparrot.QOT(eps=0.5).fit(X), sparrot.qot(X, 0.5)
    assert (model.affinity_ != a.matrix).nnz == 0
    assert np.array_equal(model.potential_, a.potential)
    assert model.eps_ == a.eps
    assert model.certificate_ == a.certificate
    assert model.n_iter_ == a.n_iter


def test_clone_pickle_and_pipeline():
    X = points("gaussian", 120)
    model = make_pipeline(StandardScaler(), clone(sparrot.QOT(eps=2.0))).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert (model.transform(X[:7] + 0.1) != again.transform(X[:7] + 0.1)).nnz == 0
    assert model[-1].get_feature_names_out()[:2].tolist() == ["qot0", "qot1"]


def test_scikit_learn_accepts_the_matrix_as_it_is():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 3)), rng.standard_normal((40, 3)) + 6])
    W = sparrot.QOT(eps=20.0).fit_transform(X)
    labels = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(W)
    assert len(set(labels[:40])) == len(set(labels[40:])) == 1
    assert labels[0] != labels[-1]
    assert SpectralEmbedding(2, affinity="precomputed", random_state=0).fit_transform(W).shape


@pytest.mark.parametrize(
    "model",
    [sparrot.QOT(), sparrot.EOT(0.1), sparrot.Tsallis(0.1, q=0.0), sparrot.Tsallis(0.3, q=0.7)],
)
def test_new_rows_of_training_points_are_their_own(model):
    X = points("gaussian", 100)
    W = model.fit(X).affinity_
    rows = model.transform(X[[3, 50]])
    difference = rows - W[[3, 50]]
    assert (
        np.abs(difference.toarray() if hasattr(difference, "toarray") else difference).max() < 1e-7
    )
    assert model.transform(X[:50] + 0.1).sum(axis=1) == pytest.approx(1, abs=1e-9)
    far = model.transform(np.full((1, 30), 1e8))
    assert float(far.sum()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("X", [[[1.0, np.nan]] * 3, [[1.0, 2.0]]])
def test_bad_input_is_an_error(X):
    with pytest.raises(ValueError, match=r"NaN|minimum of 2"):
        sparrot.QOT().fit(X)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("build", [sparrot.qot, sparrot.eot, sparrot.tsallis])
def test_only_the_points_of_an_affinity_resume_it(build, metric):
    X = np.random.default_rng(0).standard_normal((80, 4))
    a = build(X, 0.3, metric=metric)
    assert sparrot.resume(a, X).transform(X).shape == (80, 80)
    assert sparrot.resume(a, X.astype(np.float32)).n_features_in_ == 4
    for other in (X[::-1], X + np.arange(80)[:, None], np.ones((80, 4))):
        with pytest.raises(sparrot.InvalidInputError, match="X is not the data of this affinity"):
            sparrot.resume(a, other)


BASELINES = [
    sparrot.KNN(5),
    sparrot.Gaussian(),
    sparrot.Epanechnikov(),
    sparrot.GaussianL2(),
    sparrot.MAGIC(),
]


@pytest.mark.parametrize("estimator", BASELINES)
def test_baselines_have_rows_of_their_training_points_and_of_no_others(estimator):
    X = points("gaussian", 60)
    model = clone(estimator).fit(X)
    W = sp.csr_array(model.affinity_).toarray()
    for rows in (slice(None), [7, 3], [5]):
        assert np.array_equal(sp.csr_array(model.transform(X[rows])).toarray(), W[rows])
    with pytest.raises(
        InvalidInputError, match=r"row \(1\) that is no training point, .* only; QOT"
    ):
        model.transform(X[:3] + np.array([[0], [1], [0]]))


@pytest.mark.parametrize("estimator", [sparrot.KNN(5), sparrot.Gaussian(), sparrot.GaussianL2()])
def test_baselines_stand_in_a_pipeline(estimator):
    X = points("gaussian", 60)
    chain = make_pipeline(StandardScaler(), estimator, sparrot.Eigenmaps(affinity="precomputed"))
    direct = sparrot.Eigenmaps(affinity=estimator).fit_transform(StandardScaler().fit_transform(X))
    assert np.array_equal(chain.fit_transform(X), direct)
    assert chain.transform(X[:5]) == pytest.approx(direct[:5], abs=1e-6)


def test_there_is_no_data_frame_of_a_sparse_matrix():
    X = points("gaussian", 60)
    with pytest.raises(ValueError, match="sparse"):
        sparrot.QOT().set_output(transform="pandas").fit_transform(X)
    assert sparrot.EOT().set_output(transform="pandas").fit_transform(X).shape == (60, 60)
