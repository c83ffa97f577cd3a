import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.manifold import SpectralEmbedding
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparrot
from problems import points


@parametrize_with_checks(
    [
        sparrot.QOT(),
        sparrot.QOT(metric="precomputed"),
        sparrot.EOT(),
        sparrot.Tsallis(),
        sparrot.KNN(),
        sparrot.Gaussian(),
        sparrot.Epanechnikov(),
        sparrot.GaussianL2(),
        sparrot.MAGIC(),
    ]
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


def test_a_sparse_entropic_affinity_is_resumed_with_what_it_dropped():
    X = np.random.default_rng(0).standard_normal((80, 4))
    a = sparrot.eot(X, 0.05, drop=0.5)
    assert abs(a.matrix.sum(axis=1) - 1).max() > 1e-3
    model = sparrot.resume(a, X)
    assert model.drop == 0.5
    assert (abs(model.transform(X[:9]) - a.matrix[:9]) > 1e-7).nnz == 0
    with pytest.raises(sparrot.InvalidInputError, match="X is not the data of this affinity"):
        sparrot.resume(a, X[::-1])


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
def test_baselines_have_rows_of_their_training_points_and_of_new_ones(estimator):
    X = points("gaussian", 60)
    model = clone(estimator).fit(X)
    W = sp.csr_array(model.affinity_).toarray()
    for rows in (slice(None), [7, 3], [5]):
        assert np.array_equal(sp.csr_array(model.transform(X[rows])).toarray(), W[rows])
    new = X[:3] + 0.1 * X[3:6]
    alone = sp.csr_array(model.transform(new)).toarray()
    mixed = sp.csr_array(model.transform(np.vstack([X[9:10], new, X[4:5]]))).toarray()
    assert np.allclose(mixed[1:4], alone, rtol=1e-12, atol=0)
    assert np.array_equal(mixed[[0, 4]], W[[9, 4]])


def test_rows_of_new_points_are_what_the_baselines_say_they_are():
    X = points("gaussian", 60)
    new = X[:3] + 0.1
    D = cdist(new, X)
    C, unit = D**2 / 2, sparrot.gaussian(X).mean_cost
    assert np.allclose(sparrot.Gaussian(0.5).fit(X).transform(new), np.exp(-C / (0.5 * unit)))
    rows = sparrot.Epanechnikov(0.7).fit(X).transform(new).toarray()
    assert np.allclose(rows, np.maximum(1 - C / (0.7 * unit), 0))
    rows = sparrot.KNN(5).fit(X).transform(new).toarray()
    assert np.array_equal(rows, np.argsort(np.argsort(C, axis=1), axis=1) < 5)
    model = sparrot.GaussianL2(0.5).fit(X)
    rows, u = model.transform(new).toarray(), model.result_.potential
    shift = np.exp(-C / (0.5 * unit)) + u - rows  # one number in each row, where it has weights
    assert np.allclose(rows.sum(axis=1), 1)
    assert all(np.ptp(s[w > 0]) < 1e-12 for s, w in zip(shift, rows, strict=True))
    model = sparrot.MAGIC(4, max_neighbors=7).fit(X)
    near = np.argsort(D, axis=1)[:, :7]
    d = np.take_along_axis(D, near, axis=1)
    weights = np.exp(-d / d[:, 3:4])
    weights /= weights.sum(axis=1, keepdims=True)
    expected = np.einsum("ik,ikj->ij", weights, model.affinity_.toarray()[near])
    assert np.allclose(model.transform(new).toarray(), expected)


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


@pytest.mark.parametrize("size", [1e155, 1e300])
def test_magic_has_rows_for_points_so_far_off_that_distances_overflow(size):
    X = np.random.default_rng(0).standard_normal((40, 3))
    rows = sparrot.MAGIC().fit(X).transform(size * X[:2])
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
