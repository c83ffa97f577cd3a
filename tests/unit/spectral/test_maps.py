import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import sparrot
from problems import path_graph, points, ring_graph
from sparrot.errors import InvalidInputError

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


def test_outputs_have_names():
    model = sparrot.DiffusionMap(2).set_output(transform="pandas")
    frame = model.fit_transform(points("gaussian", 50))
    assert frame.columns.tolist() == ["diffusionmap0", "diffusionmap1"]


PIECES = sp.block_diag([path_graph(30), ring_graph(20), path_graph(2)], format="csr")


def test_each_component_is_embedded_as_if_alone():
    model = sparrot.DiffusionMap(2, affinity="precomputed", components="each", t="multiscale")
    Y = model.fit_transform(PIECES)
    alone = sparrot.DiffusionMap(2, affinity="precomputed", t="multiscale")
    assert Y[:30] == pytest.approx(alone.fit_transform(path_graph(30)))
    assert Y[30:50] == pytest.approx(alone.fit_transform(ring_graph(20)))
    assert not Y[50:].any()
    assert model.transform(PIECES)[:50] == pytest.approx(Y[:50])


def test_the_largest_component_is_embedded():
    Y = sparrot.Eigenmaps(2, affinity="precomputed", components="largest").fit_transform(PIECES)
    waves = np.sqrt(2) * np.cos(np.pi * np.arange(30) / 29)  # but the ends have half the degree
    assert np.abs(Y[:30, 0]) == pytest.approx(np.abs(waves), abs=1e-9)
    assert np.isnan(Y[30:]).all()


def test_what_cannot_be_mapped_is_refused():
    with pytest.raises(InvalidInputError, match="graph in pieces is infinite"):
        sparrot.DiffusionMap(affinity="precomputed", t="multiscale").fit(PIECES)
    for t in (-1, 0.5, "all", True):
        with pytest.raises(InvalidInputError, match="t must be a number of steps"):
            sparrot.DiffusionMap(t=t).fit(points("gaussian", 30))
    for n, remedy in {3: "give at least 4 points, or take n_components=1", 2: "give at"}.items():
        with pytest.raises(InvalidInputError, match=f"^{n} points are too few for 2 .*{remedy}"):
            sparrot.Eigenmaps().fit(points("gaussian", n))
    with pytest.raises(InvalidInputError, match="n_components must be"):
        sparrot.Eigenmaps(30).fit(points("gaussian", 30))
    with pytest.raises(InvalidInputError, match="must be nonnegative numbers"):
        sparrot.Eigenmaps(affinity="precomputed").fit(ring_graph(9)).transform(-np.ones((1, 9)))
