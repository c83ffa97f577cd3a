import pickle
import subprocess
import sys

import numpy as np
import openTSNE
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sparrot
from problems import points
from sparrot.errors import InvalidInputError

QUICK = {"n_iter": 20, "early_exaggeration_iter": 20}


@pytest.mark.parametrize("make", [sparrot.qot, sparrot.eot, sparrot.knn, sparrot.gaussian])
def test_every_symmetric_affinity_serves_and_is_not_changed(make):
    X = points("gaussian", 80)
    a = make(X)
    before = a.matrix.copy()
    A = sparrot.tsne_affinities(a)
    assert isinstance(A, openTSNE.affinity.Affinities)
    assert isinstance(A.P, sp.csr_matrix)
    assert A.P.sum() == pytest.approx(1, rel=1e-12)
    assert abs(A.P - A.P.T).max() == 0
    assert A.n_samples == 80
    assert openTSNE.TSNE(initialization="random", **QUICK).fit(affinities=A).shape == (80, 2)
    assert abs(a.matrix - before).max() == 0


@pytest.mark.parametrize("kind", ["qot", "eot", "tsallis"])
def test_rows_of_new_points_follow_the_contract(kind):
    X = points("gaussian", 150)
    a = getattr(sparrot, kind)(X, perplexity=20)
    A = sparrot.tsne_affinities(a, X)
    new = X[:12] + 0.05
    model = sparrot.resume(a, X)
    P, neighbors, distances = A.to_new(new, return_distances=True)
    assert abs(P - model.transform(new)).max() == 0
    assert P.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert neighbors.shape == distances.shape
    assert (np.diff(distances, axis=1) >= 0).all()
    expected = np.linalg.norm(new[:, None] - X[neighbors], axis=2)
    assert distances == pytest.approx(expected, rel=1e-9)
    for target in (3, 5, 40):
        reached = sparrot.perplexity(A.to_new(new, perplexity=target)).mean()
        assert reached == pytest.approx(target, rel=0.02)


def test_new_points_land_among_their_own():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((60, 5)), rng.standard_normal((60, 5)) + 8])
    embedding = sparrot.tsne(X, eps=20.0, n_iter=100)
    again = sparrot.tsne(X, eps=20.0, n_iter=100)
    assert np.array_equal(embedding, again)
    placed = embedding.transform(np.array([X[:60].mean(axis=0), X[60:].mean(axis=0)]))
    centers = np.array([embedding[:60].mean(axis=0), embedding[60:].mean(axis=0)])
    distances = np.linalg.norm(placed[:, None] - centers, axis=2)
    assert distances.argmin(axis=1).tolist() == [0, 1]


def test_the_embedding_survives_a_pickle():
    X = points("gaussian", 80)
    first = sparrot.tsne(X, perplexity=10, **QUICK)
    embedding = pickle.loads(pickle.dumps(first))
    assert type(embedding.affinities) is type(first.affinities)
    assert (embedding.affinities.P != first.affinities.P).nnz == 0
    placed = (each.transform(X[:3] + 0.1, n_iter=5) for each in (first, embedding))
    assert np.array_equal(*placed)


def test_affinities_are_unpickled_where_opentsne_was_not_imported(tmp_path):
    X = points("gaussian", 60)
    A = sparrot.tsne_affinities(sparrot.qot(X), X)
    (tmp_path / "a.pickle").write_bytes(pickle.dumps(A))
    code = (
        "import pickle, sys; A = pickle.load(open(sys.argv[1], 'rb'));"
        "import openTSNE; assert isinstance(A, openTSNE.affinity.Affinities); print(A.n_samples)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.pickle")]
    assert subprocess.run(command, capture_output=True, check=True).stdout.strip() == b"60"


def test_costs_start_from_eigenvectors():
    C = np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))
    embedding = sparrot.tsne(C, metric="precomputed", perplexity=5, **QUICK)
    assert np.isfinite(embedding).all()


def test_what_cannot_be_is_refused():
    X = points("gaussian", 60)
    with pytest.raises(InvalidInputError, match="no rows for new points"):
        sparrot.tsne_affinities(sparrot.qot(X)).to_new(X)
    with pytest.raises(InvalidInputError, match="must be the 60 rows"):
        sparrot.tsne_affinities(sparrot.qot(X), X[:9])
    with pytest.raises(InvalidInputError, match="must be symmetric"):
        sparrot.tsne_affinities(sparrot.magic(X))
    with pytest.raises(InvalidInputError, match=r"TSNE does not take this.*n_itre"):
        sparrot.tsne(X, n_itre=3)
    with pytest.raises(InvalidInputError, match="kind must be one of qot, eot, tsallis, got 'knn'"):
        sparrot.tsne(X, kind="knn")


@pytest.mark.parametrize("drop", [None, 1e-2])
def test_a_resumed_entropic_estimator_drops_as_the_first_did(drop):
    X = points("gaussian", 100)
    model = sparrot.EOT(0.1, drop=drop).fit(X)
    rows = sparrot.resume(model.result_, X).transform(X[:5] + 0.1)
    assert abs(rows - model.transform(X[:5] + 0.1)).max() == 0


def test_a_fitted_estimator_knows_its_points():
    X = points("gaussian", 60)
    model = sparrot.QOT(perplexity=10).fit(X)
    new = X[:3] + 0.1
    rows = [sparrot.tsne_affinities(model, given).to_new(new) for given in (None, X)]
    assert abs(rows[0] - rows[1]).max() == 0
    with pytest.raises(InvalidInputError, match="not the data that this QOT was fitted to"):
        sparrot.tsne_affinities(model, X[::-1])


@pytest.mark.parametrize("estimator", [sparrot.KNN(), sparrot.Gaussian(), sparrot.Eigenmaps()])
def test_whatever_has_an_affinity_serves(estimator):
    X = points("gaussian", 60)
    with pytest.raises(NotFittedError):
        sparrot.tsne_affinities(estimator)
    model = clone(estimator).fit(X)
    A = sparrot.tsne_affinities(model)
    W = model.affinity_
    assert A.P.toarray() == pytest.approx(sp.csr_array(W).toarray() / W.sum(), abs=1e-15)
    assert (sparrot.tsne_affinities(model, X).P != A.P).nnz == 0


def test_an_estimator_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        sparrot.tsne_affinities(sparrot.QOT())


@pytest.mark.parametrize("make", [sparrot.knn, lambda X: sparrot.qot(X).matrix])
def test_points_without_rows_for_new_ones_do_no_harm(make):
    X = points("gaussian", 60)
    A = sparrot.tsne_affinities(make(X), X)
    assert A.P.sum() == pytest.approx(1)
    with pytest.raises(InvalidInputError, match="an affinity of qot, eot or tsallis and its"):
        A.to_new(X[:2])
    with pytest.raises(InvalidInputError, match="the 60 rows of the affinity, got 9"):
        sparrot.tsne_affinities(make(X), X[:9])


def test_every_point_has_five_neighbors_unless_it_is_switched_off():
    X = points("gaussian", 150)
    X[:5] *= 20
    for floor, least in (("auto", 5.0), (7, 7.0), (None, None), (0, None)):
        model = sparrot.tsne(X, perplexity=15, min_neighbors=floor, **QUICK).affinities.model
        W = sparrot.qot(X, perplexity=15, min_neighbors=least).matrix
        assert (model.affinity_ != W).nnz == 0
    assert sparrot.tsne(X, kind="eot", perplexity=15, **QUICK).shape == (150, 2)
    model = sparrot.tsne(X, n_neighbors=9, **QUICK).affinities.model
    assert (model.affinity_ != sparrot.qot(X, n_neighbors=9).matrix).nnz == 0
    for floor in ("min_neighbors", "n_neighbors"):
        with pytest.raises(InvalidInputError, match=f"{floor} is no parameter of eot; it has eps"):
            sparrot.tsne(X, kind="eot", **{floor: 5})
