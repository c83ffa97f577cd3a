import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparrot
from problems import path_graph, points, ring_graph
from sparrot.errors import InvalidInputError
from sparrot.layout import mds_layout
from sparrot.spectral._maps import is_affinity

SPECTRAL = (sparrot.Eigenmaps, sparrot.DiffusionMap, sparrot.SpectralClustering)


@parametrize_with_checks(
    [
        sparrot.Eigenmaps(),
        sparrot.Eigenmaps(affinity="eot", n_components=1),
        sparrot.DiffusionMap(),
        sparrot.DiffusionMap(affinity="gaussian", t=2, alpha=1.0),
        sparrot.SpectralClustering(2),
        sparrot.SpectralClustering(2, assign="cluster_qr"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


MODELS = [
    sparrot.Eigenmaps(3),
    sparrot.Eigenmaps(3, affinity="eot"),
    sparrot.Eigenmaps(3, affinity=sparrot.Tsallis(0.3)),
    sparrot.DiffusionMap(3),
    sparrot.DiffusionMap(3, t=0),
    sparrot.DiffusionMap(3, t=5, affinity=sparrot.QOT(perplexity=20)),
    sparrot.DiffusionMap(3, t="multiscale"),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_training_points_keep_their_coordinates(model):
    X = points("swiss-roll", 300)
    Y = clone(model).fit_transform(X)
    model = clone(model).fit(X)
    # Rows of W are right up to 1e-8, times sqrt(n) for a function of mean square one, over lambda.
    tolerance = 1e-6 * np.abs(Y).max() / np.abs(model.eigenvalues_).min()
    assert np.abs(model.transform(X) - Y).max() <= tolerance
    assert np.abs(model.transform(X[40:60]) - Y[40:60]).max() <= tolerance


def test_new_points_fall_between_their_neighbors():
    t = 2 * np.pi * np.arange(200) / 200
    X = np.c_[np.cos(t), np.sin(t)]
    model = sparrot.Eigenmaps(affinity=sparrot.QOT(perplexity=10)).fit(X)
    new = t + np.pi / 200
    Y = model.transform(np.c_[np.cos(new), np.sin(new)])
    between = (model.embedding_ + np.roll(model.embedding_, -1, axis=0)) / 2
    step = np.linalg.norm(model.embedding_[1] - model.embedding_[0])
    assert np.linalg.norm(Y - between, axis=1).max() < step / 10


def test_a_diffusion_map_is_eigenmaps_times_powers_of_the_eigenvalues():
    X = points("gaussian", 150)
    model = sparrot.Eigenmaps(4).fit(X)
    lam = model.eigenvalues_
    for t, factor in ((0, lam**0), (3, lam**3), ("multiscale", lam / (1 - lam))):
        Y = sparrot.DiffusionMap(4, t=t).fit_transform(X)
        assert Y == pytest.approx(model.embedding_ * factor, abs=1e-12)


def test_distances_of_the_whole_map_are_diffusion_distances():
    X = points("gaussian", 40)
    W = sparrot.gaussian(X, 0.5).matrix
    Y = sparrot.DiffusionMap(38, t=2, affinity="precomputed").fit_transform(W)
    P = np.linalg.matrix_power(sparrot.spectral.random_walk(W).toarray(), 2)
    measure = W.sum(axis=1) / W.sum()
    direct = (np.square(P[:, None] - P) / measure).sum(axis=2)
    mapped = np.square(Y[:, None] - Y).sum(axis=2)
    smallest = np.linalg.eigvalsh(sparrot.spectral.symmetric_normalization(W).toarray())[0]
    assert mapped == pytest.approx(direct, abs=4 * smallest**4 / measure.min() + 1e-9)


def test_alpha_makes_no_difference_to_a_bistochastic_affinity():
    X = points("gaussian", 100)
    plain, free = (sparrot.DiffusionMap(2, alpha=a).fit_transform(X) for a in (0.0, 1.0))
    assert plain == pytest.approx(free, abs=1e-5)


@pytest.mark.parametrize("said", ["qot", "precomputed"])
def test_pipelines_end_in_an_embedding_and_transform_new_points(said):
    X = points("gaussian", 120)
    chain = make_pipeline(StandardScaler(), sparrot.QOT(), sparrot.Eigenmaps(affinity=said))
    Y = chain.fit_transform(X)
    direct = make_pipeline(StandardScaler(), sparrot.Eigenmaps())
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


def test_outputs_have_names():
    model = sparrot.DiffusionMap(2).set_output(transform="pandas")
    frame = model.fit_transform(points("gaussian", 50))
    assert frame.columns.tolist() == ["diffusionmap0", "diffusionmap1"]


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


PIECES = sp.block_diag([path_graph(30), ring_graph(20), path_graph(2)], format="csr")


def test_each_component_is_embedded_as_if_alone():
    model = sparrot.DiffusionMap(2, affinity="precomputed", components="each", t="multiscale")
    Y = model.fit_transform(PIECES)
    alone = sparrot.DiffusionMap(2, affinity="precomputed", t="multiscale")
    assert Y[:30] == pytest.approx(alone.fit_transform(path_graph(30)))
    assert Y[30:50] == pytest.approx(alone.fit_transform(ring_graph(20)))
    assert not Y[50:].any()
    assert model.transform(PIECES)[:50] == pytest.approx(Y[:50])


def test_the_largest_component_is_embedded_and_the_others_are_nowhere():
    model = sparrot.Eigenmaps(2, affinity="precomputed", components="largest")
    Y = model.fit_transform(PIECES)
    assert np.isnan(Y[30:]).all()
    assert np.abs(np.corrcoef(Y[:30, 0], np.cos(np.pi * np.arange(30) / 29))[0, 1]) > 1 - 1e-9
    again = model.transform(PIECES)
    assert again[:30] == pytest.approx(Y[:30])
    assert np.isnan(again[30:]).all()


def test_what_cannot_be_mapped_is_refused():
    with pytest.raises(InvalidInputError, match="graph in pieces is infinite"):
        sparrot.DiffusionMap(affinity="precomputed", t="multiscale").fit(PIECES)
    for t in (-1, 0.5, "all", True):
        with pytest.raises(InvalidInputError, match="t must be a number of steps"):
            sparrot.DiffusionMap(t=t).fit(points("gaussian", 30))
    with pytest.raises(InvalidInputError, match="n_components must be"):
        sparrot.Eigenmaps(30).fit(points("gaussian", 30))
    with pytest.raises(InvalidInputError, match="must be nonnegative numbers"):
        sparrot.Eigenmaps(affinity="precomputed").fit(ring_graph(9)).transform(-np.ones((1, 9)))


def test_layouts_keep_distances_that_can_be_kept():
    flat = np.random.default_rng(0).standard_normal((40, 2))
    rotated = flat @ np.linalg.qr(np.random.default_rng(1).standard_normal((6, 2)))[0].T
    Z = mds_layout(rotated)
    distances = np.linalg.norm(flat[:, None] - flat, axis=2)
    assert np.linalg.norm(Z[:, None] - Z, axis=2) == pytest.approx(distances, abs=1e-6)
    assert np.array_equal(Z, mds_layout(rotated))


def new_points(model, X):
    return (model.predict if hasattr(type(model), "predict") else model.transform)(X)


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_an_affinity_is_taken_as_it_is(estimator):
    X = np.random.default_rng(0).standard_normal((60, 3))
    a = sparrot.qot(X, perplexity=10)
    one = estimator(3, affinity="precomputed").fit(a)
    other = estimator(3, affinity="precomputed").fit(a.matrix)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    with pytest.raises(InvalidInputError, match="goes into fit, with affinity='precomputed'"):
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
        estimator(3, affinity=sparrot.QOT(0.01)).fit(X)
    assert len(caught) == 1
