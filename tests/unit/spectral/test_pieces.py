import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import adjusted_rand_score

import sparrot
from problems import blood_cells, path_graph, points, ring_graph
from sparrot.errors import AffinityWarning, InvalidInputError
from sparrot.metrics import nmi
from sparrot.spectral import eigenpairs
from sparrot.spectral._eigen import nearly_separate

SPECTRAL = (sparrot.Eigenmaps, sparrot.DiffusionMap, sparrot.SpectralClustering)
NAME_ONLY = "one piece in name only"
IF_LARGE = (  # of pieces that may be clusters, which are not to be joined by a thread
    "give every point at least 5 effective neighbors, with QOT by min_neighbors=5, or take a "
    "larger perplexity"
)
REMEDY = f"{IF_LARGE}, or eps='connected'"
THREAD = (
    "give every point at least 5 effective neighbors, with QOT by min_neighbors=5, or take a "
    "larger perplexity, or drop these points"
)
RAISE_IF_LARGE = "raise the floor, min_neighbors or n_neighbors, or take a larger perplexity"
RAISE = f"{RAISE_IF_LARGE}, or eps='connected'"
EACH = "take every piece by itself by components='each'"
LARGEST = "keep the largest piece alone by components='largest'"


def blob(n):
    """A graph of n points that the walk crosses in a step or two."""
    return sparrot.knn(points("gaussian", n), 20).matrix


def clique(m):
    """m points, each joined to all others."""
    return sp.csr_array(np.ones((m, m)) - np.eye(m))


def joined(one, other, weight):
    """Two graphs, and one edge from the last point of the one to the first of the other."""
    W = sp.lil_array(sp.block_diag([one, other]))
    i = one.shape[0]
    W[i - 1, i] = W[i, i - 1] = weight
    return sp.csr_array(W)


THIN = "take a smaller eps, or a perplexity well below 100"


@pytest.mark.parametrize(
    ("components", "remedy"),
    [
        ("warn", f"{THIN}, or if the pieces are clusters, {EACH}"),
        ("largest", f"{THIN}, or to keep them, {EACH}"),
        ("each", THIN),
    ],
)
def test_pieces_that_are_complete_graphs_want_fewer_neighbors(components, remedy):
    shifts = np.repeat([0.0, 100.0, -100.0], [100, 60, 30])[:, None]
    X = np.random.default_rng(0).standard_normal((190, 5)) + shifts
    (caught,) = warnings_of(lambda: sparrot.Eigenmaps(components=components).fit(X))
    assert "the pieces are nearly complete graphs" in caught.message.problem
    assert caught.message.remedy == remedy
    thin = sparrot.Eigenmaps(components=components, affinity=sparrot.QOT(perplexity=8))
    assert not any("complete" in str(said.message) for said in warnings_of(lambda: thin.fit(X)))
    (caught,) = warnings_of(lambda: sparrot.qot(X))
    assert caught.message.remedy == f"{THIN}, or if the pieces are clusters, look at each by itself"


@pytest.mark.parametrize("components", ["warn", "largest", "each"])
def test_pieces_of_equal_points_are_told_to_drop_duplicates(components):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    (caught,) = warnings_of(lambda: sparrot.Eigenmaps(components=components).fit(X))
    assert "all weights in a piece are the same, as those of equal points" in caught.message.problem
    assert caught.message.remedy.startswith("if these points are equal, drop the duplicates, or ")
    knn = sparrot.knn(X + np.random.default_rng(0).uniform(0, 0.1, X.shape), 49)
    model = sparrot.Eigenmaps(components=components, affinity="precomputed")
    (caught,) = warnings_of(lambda: model.fit(knn))  # all of whose weights are 1
    assert "the pieces are nearly complete graphs" in caught.message.problem
    assert "equal" not in str(caught.message)


def test_pairs_and_triples_are_no_complete_graphs_that_want_fewer_neighbors():
    for m in (2, 3, 6):
        W = sp.csr_array(sp.block_diag([clique(m)] * 20))
        (caught,) = warnings_of(lambda W=W: eigenpairs(W, 3))
        assert IF_LARGE in caught.message.remedy


def test_a_cluster_of_two_points_that_hang_by_more_than_a_thread_is_told():
    W = joined(blob(400), clique(2), 0.02)
    model = sparrot.SpectralClustering(3, affinity="precomputed", random_state=0)
    (caught,) = warnings_of(lambda: model.fit(W))
    assert "1 cluster of 3 has 2 of 402 points" in caught.message.problem
    assert caught.message.value.tolist() == [400, 401]
    assert caught.message.remedy == THREAD
    assert sorted(np.bincount(model.labels_))[0] == 2


def warnings_of(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [w for w in caught if isinstance(w.message, AffinityWarning)]


@pytest.mark.parametrize("estimator", SPECTRAL)
@pytest.mark.parametrize("m", [2, 3])
def test_few_points_that_hang_by_a_thread_are_named_once_with_the_remedy(estimator, m):
    W = joined(blob(400), clique(m), 1e-4)
    model = estimator(3, affinity="precomputed")
    (caught,) = warnings_of(lambda: model.fit(W))
    said = caught.message
    assert NAME_ONLY in said.problem
    assert f"belongs to {m} of {400 + m} points (400, 401" in said.problem
    assert said.value.tolist() == [*range(400, 400 + m)]
    assert said.remedy.startswith(THREAD)
    assert "components='largest'" in said.remedy
    assert "{" not in str(said)
    assert caught.filename == __file__
    at_once = model.fit_transform if hasattr(model, "fit_transform") else model.fit_predict
    assert [w.filename for w in warnings_of(lambda: at_once(W))] == [__file__]


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_the_far_pair_of_points_that_the_smallest_connecting_eps_joins_is_named(estimator):
    X = points("gaussian", 300)
    X = np.vstack([X, X.mean(axis=0) + 2, X.mean(axis=0) + 2.1])
    model = estimator(2, affinity=sparrot.QOT("connected"))
    (caught,) = warnings_of(lambda: model.fit(X))
    assert caught.message.value.tolist() == [300, 301]
    model.set_params(affinity=sparrot.QOT(perplexity=60))
    told = warnings_of(lambda: model.fit(X))
    assert all("1 cluster of 2 has 2 of 302 points" in w.message.problem for w in told)
    assert len(told) == (estimator is sparrot.SpectralClustering)  # it is a cluster all the same


@pytest.mark.parametrize("estimator", SPECTRAL)
@pytest.mark.parametrize(
    "W",
    [
        joined(blob(300), blob(200), 1e-4),  # clusters are what is sought
        joined(blob(400), path_graph(2), 0.01),  # a loose end, but not that loose
        ring_graph(800),  # slow, and nowhere in particular
        joined(path_graph(500), path_graph(300), 1e-6),
    ],
    ids=["two-blobs", "loose-end", "ring", "path"],
)
def test_slow_functions_of_many_points_are_no_reason_to_warn(estimator, W):
    assert eigenpairs(W, 2).values[1] > 0.99
    told = warnings_of(lambda: estimator(3, affinity="precomputed").fit(W))
    assert not [w for w in told if "may be outliers" not in w.message.problem]  # small clusters


def test_a_share_of_a_hundredth_decides():
    for m, warned in ((9, True), (30, False)):
        W = joined(blob(1000), clique(m), 1e-4)
        caught = warnings_of(lambda W=W: sparrot.Eigenmaps(2, affinity="precomputed").fit(W))
        assert [len(w.message.value) for w in caught] == [m] * warned


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_two_points_are_few_among_sixty(estimator):
    W = joined(blob(60), path_graph(2), 1e-4)
    (caught,) = warnings_of(lambda: estimator(3, affinity="precomputed").fit(W))
    assert caught.message.value.tolist() == [60, 61]


@pytest.mark.parametrize(
    ("n", "floor", "m", "warned"),
    [
        (200, 5, 8, True),  # 6 points are the smallest piece
        (200, 5, 13, False),
        (100, 5, 8, False),  # a twelfth of all points
        (300, None, 3, True),
        (300, None, 6, False),
        (700, 15, 25, True),  # 16 are the smallest
        (700, 15, 40, False),
    ],
)
def test_what_is_few_depends_on_the_smallest_piece_that_there_can_be(n, floor, m, warned):
    W = joined(blob(n), clique(m), 1e-4)
    pairs = eigenpairs(W, 3, components="each")
    found, where = nearly_separate(pairs.values, pairs.vectors, pairs.nontrivial, floor)
    assert (found, where.tolist()) == ((1, [*range(n, n + m)]) if warned else (0, []))


def test_a_clump_of_far_points_that_takes_the_place_of_a_cluster_is_told():
    X = np.vstack([blobs_with_outliers(0)[0][:200], 200 + points("gaussian", 8)[:, :2]])
    model = sparrot.SpectralClustering(3)
    (caught,) = warnings_of(lambda: model.fit(X))
    assert caught.message.value.tolist() == [*range(200, 208)]
    assert "belongs to 8 of 208 points" in caught.message.problem
    assert "the graph is in pieces" in caught.message.problem
    assert 8 in np.bincount(model.labels_)
    model.set_params(components="largest")
    (outside,) = warnings_of(lambda: model.fit(X))  # the remedy
    assert outside.message.value.tolist() == [*range(200, 208)]
    assert nmi(np.arange(200) % 3, model.labels_[:200]) > 0.95


@pytest.mark.parametrize(
    ("X", "k"),
    [
        (load_iris().data, 3),
        (load_digits().data[:300], 10),
        (sparrot.datasets.make_mixture(60, 20).X, 3),
        (sparrot.datasets.make_spiral(200, 20).X, 4),
    ],
    ids=["iris", "digits", "mixture", "spiral"],
)
def test_clusters_of_small_data_are_no_reason_to_warn(X, k):
    for model in (
        sparrot.SpectralClustering(k),
        sparrot.SpectralClustering(k, affinity=sparrot.QOT(n_neighbors=15)),
        sparrot.Eigenmaps(k, components="each"),
    ):
        assert not warnings_of(lambda model=model: model.fit(X))


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_points_that_hang_from_the_largest_component_keep_their_numbers(estimator):
    W = sp.block_diag([ring_graph(4), joined(blob(300), path_graph(2), 1e-4)], format="csr")
    model = estimator(3, affinity="precomputed", components="largest")
    outside, loose = warnings_of(lambda: model.fit(W))
    assert outside.message.value.tolist() == [0, 1, 2, 3]
    assert loose.message.value.tolist() == [304, 305]


def test_points_of_all_components_are_in_one_warning_if_each_is_mapped():
    loose = joined(blob(300), path_graph(2), 1e-4)
    W = sp.block_diag([loose, loose], format="csr")
    model = sparrot.Eigenmaps(2, affinity="precomputed", components="each")
    (caught,) = warnings_of(lambda: model.fit(W))
    assert caught.message.value.tolist() == [300, 301, 602, 603]


def test_eigenpairs_warn_only_where_they_are_asked_to():
    W = joined(blob(400), path_graph(2), 1e-4)
    with pytest.warns(AffinityWarning, match=NAME_ONLY):
        pairs = eigenpairs(W, 3)
    for components in ("each", "largest", "error"):
        assert not warnings_of(lambda c=components: eigenpairs(W, 3, components=c))
    # A pair has (1 - m/n) of the mass of its vector, the other points the rest.
    assert pairs.participation[1] == pytest.approx(2, rel=0.02)
    assert eigenpairs(ring_graph(50), 2).participation[0] == pytest.approx(50)


def test_purified_blood_cells_that_hang_by_a_thread_are_found_and_leave():
    cells = blood_cells(2500)
    if cells is None:
        pytest.skip("no data folder")
    X, types = cells
    model = sparrot.SpectralClustering(5, affinity=sparrot.QOT("connected"))
    (caught,) = warnings_of(lambda: model.fit(X))
    loose = caught.message.value
    assert NAME_ONLY in caught.message.problem
    assert len(loose) < 25
    sizes = np.bincount(model.labels_)
    assert sizes.min() < 25  # what the warning is about:
    assert set(np.flatnonzero(model.labels_ == sizes.argmin())) <= set(loose)
    assert adjusted_rand_score(types, model.labels_) == pytest.approx(0.69, abs=0.01)
    # The remedy: drop them, and what falls off then.
    rest = np.setdiff1d(np.arange(len(X)), loose)
    model.set_params(affinity=sparrot.QOT(model.affinity_estimator_.eps_), components="largest")
    labels = model.fit(X[rest]).labels_
    kept = labels >= 0
    assert kept.mean() > 0.99
    assert np.bincount(labels[kept]).min() > 25
    assert nmi(types[rest][kept], labels[kept]) > 0.9
    # Enough neighbors for everyone, and there is nothing to say.
    model.set_params(affinity=sparrot.QOT(perplexity=15), components="each")
    assert not warnings_of(lambda: model.fit(X))
    assert adjusted_rand_score(types, model.labels_) == pytest.approx(0.95, abs=0.01)


def falls_apart():
    """A cloud, and twelve points of which QOT without a floor makes pairs."""
    X = points("gaussian", 112)[:, :4]
    X[100:] = 20 * np.repeat(np.eye(6, 4) + np.arange(6)[:, None], 2, axis=0) + 0.1 * X[100:]
    return X


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_pieces_are_announced_once_by_who_takes_them_in_hand(estimator):
    X = falls_apart()
    model = estimator(2, affinity=sparrot.QOT(perplexity=8), components="warn")
    (caught,) = warnings_of(lambda: model.fit(X))
    assert caught.filename == __file__
    assert "the graph has 7 components, the largest of 100 points; 6 are" in caught.message.problem
    assert REMEDY in caught.message.remedy
    assert caught.message.remedy.endswith(f"{LARGEST}, or {EACH}")
    model.set_params(components="largest")
    (caught,) = warnings_of(lambda: model.fit(X))
    assert "12 of 112 points are outside the largest of 7" in caught.message.problem
    assert caught.message.remedy == f"to keep them, {REMEDY}, or {EACH}"
    model.set_params(components="error")
    with pytest.raises(InvalidInputError, match="the graph has 7 components") as raised:
        assert not warnings_of(lambda: model.fit(X))
    assert REMEDY in raised.value.remedy
    # an affinity by itself speaks, also after all this
    (caught,) = warnings_of(lambda: sparrot.qot(X, perplexity=8))
    assert "the graph has 7 components" in caught.message.problem
    assert caught.message.remedy == f"if the data is one piece, {REMEDY}"


def test_maps_of_each_piece_are_silent_and_too_few_clusters_are_not():
    X = falls_apart()
    qot = sparrot.QOT(perplexity=8)
    for estimator in (sparrot.Eigenmaps, sparrot.DiffusionMap):
        model = estimator(2, affinity=qot, components="each")
        assert not warnings_of(lambda m=model: m.fit(X))
    model = sparrot.SpectralClustering(3, affinity=qot)
    (caught,) = warnings_of(lambda: model.fit(X))
    assert "7 components, more than clusters (3): 8 of 112 points" in caught.message.problem
    assert len(caught.message.value) == 8
    assert REMEDY in caught.message.remedy


def test_other_warnings_of_the_affinity_are_not_lost_with_those_of_pieces():
    X = points("gaussian", 200)[:, :5]
    X[7, 2], X[8, 2] = 1e4, 1e4 + 1
    model = sparrot.Eigenmaps(2, affinity=sparrot.QOT(1e-5), components="largest")
    outliers, outside = warnings_of(lambda: model.fit(X))
    assert "rows 7, 8" in outliers.message.problem or "rows 8, 7" in outliers.message.problem
    assert "outside the largest" in outside.message.problem


def test_clusters_far_apart_are_first_told_to_be_taken_one_by_one():
    X = np.vstack([points("gaussian", 60), points("gaussian", 40) + 100])
    qot = sparrot.QOT(perplexity=10)
    if_one = f"if the data is one piece, {IF_LARGE}"
    (caught,) = warnings_of(lambda: sparrot.qot(X, perplexity=10))
    clusters = "if the pieces are clusters, "
    assert caught.message.remedy == f"{clusters}look at each by itself, or {if_one}"
    (caught,) = warnings_of(lambda: sparrot.Eigenmaps(2, affinity=qot).fit(X))
    assert caught.message.remedy == f"{clusters}{EACH}, or {if_one}, or {LARGEST}"
    (caught,) = warnings_of(lambda: sparrot.Eigenmaps(2, affinity=qot, components="largest").fit(X))
    assert caught.message.remedy == f"to keep them, {EACH}, or {IF_LARGE}"
    W = sp.block_diag([blob(60), blob(50), blob(40)], format="csr")
    (caught,) = warnings_of(lambda: sparrot.SpectralClustering(2, affinity="precomputed").fit(W))
    more = f"{clusters}take a larger n_clusters"
    assert caught.message.remedy == f"{more}, or {if_one}, or {LARGEST}"


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_the_log_tells_the_floor_of_an_affinity_by_its_name(estimator, caplog):
    X = points("gaussian", 60)
    with caplog.at_level(logging.INFO, logger="sparrot"):
        estimator(2).fit(X)
        assert "every point has at least 5 effective neighbors, the default" in caplog.text
        caplog.clear()
        estimator(2, affinity=sparrot.QOT(min_neighbors=5)).fit(X)  # known
        estimator(2, affinity="eot").fit(X)
    assert "effective neighbors" not in caplog.text


def test_who_has_a_floor_is_told_to_raise_it():
    X = np.vstack([points("gaussian", 60), points("gaussian", 40) + 100])
    floor = sparrot.QOT(0.001, min_neighbors=5)
    fitted = floor.fit
    (caught,) = warnings_of(lambda: fitted(X))
    assert caught.message.remedy.endswith(f"if the data is one piece, {RAISE_IF_LARGE}")
    for work in (
        lambda: sparrot.Eigenmaps(2, affinity=floor).fit(X),
        lambda: sparrot.Eigenmaps(2).fit(floor.result_),
        lambda: eigenpairs(floor.result_, 3),
    ):
        (caught,) = warnings_of(work)
        assert RAISE_IF_LARGE in caught.message.remedy
    (caught,) = warnings_of(lambda: sparrot.Eigenmaps(2).fit(floor.affinity_))  # who can know?
    assert IF_LARGE in caught.message.remedy
    with pytest.raises(InvalidInputError, match="multiscale map of a graph in pieces") as raised:
        sparrot.DiffusionMap(2, t="multiscale", affinity=floor).fit(X)
    assert raised.value.remedy.startswith(RAISE)


PIECES = sp.block_diag([ring_graph(4), blob(80), ring_graph(3)], format="csr")
KEPT = np.arange(87)[4:84]


@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
def test_the_largest_component_is_clustered_as_if_alone_and_the_others_get_minus_one(assign):
    two = sp.block_diag([ring_graph(4), joined(blob(50), blob(30), 1.0), ring_graph(3)])
    model = sparrot.SpectralClustering(
        2, affinity="precomputed", assign=assign, components="largest"
    )
    with pytest.warns(
        AffinityWarning, match=r"7 of 87 points are outside the largest of 3 .* the label -1"
    ):
        model.fit(two)
    alone = sparrot.SpectralClustering(2, affinity="precomputed", assign=assign)
    assert np.array_equal(model.labels_[KEPT], alone.fit_predict(sp.csr_array(two)[4:84, 4:84]))
    assert np.bincount(model.labels_ + 1).tolist() in ([7, 50, 30], [7, 30, 50])
    assert np.array_equal(np.isnan(model.embedding_).any(axis=1), model.labels_ < 0)
    assert np.array_equal(model.component_labels_ > 0, model.labels_ < 0)
    assert np.array_equal(model.predict(sp.csr_array(two)), model.labels_)
    rows = np.zeros((3, 87))
    rows[0, [0, 10]] = 0.9, 0.1  # what leads out does not count
    rows[1, 0] = 1.0
    assert model.predict(rows).tolist() == [model.labels_[10], -1, -1]


@pytest.mark.parametrize("estimator", [sparrot.Eigenmaps, sparrot.DiffusionMap])
def test_the_largest_component_is_mapped_as_if_alone_and_the_others_get_nan(estimator):
    model = estimator(3, affinity="precomputed", components="largest")
    with pytest.warns(AffinityWarning, match=r"7 of 87 points are outside .* NaN for coord") as got:
        Y = model.fit_transform(PIECES)
    assert got[0].message.value.tolist() == [0, 1, 2, 3, 84, 85, 86]
    alone = estimator(3, affinity="precomputed").fit_transform(PIECES[4:84, 4:84])
    assert np.array_equal(Y[KEPT], alone)
    assert np.isnan(np.delete(Y, KEPT, axis=0)).all()
    again = model.transform(PIECES)
    assert again[KEPT] == pytest.approx(alone, abs=1e-9)
    assert np.isnan(np.delete(again, KEPT, axis=0)).all()


@pytest.mark.parametrize("estimator", SPECTRAL)
def test_new_points_beside_another_component_are_nowhere(estimator):
    X = points("gaussian", 90)
    X[:20] += 100
    model = estimator(2, affinity=sparrot.QOT(perplexity=10), components="largest").fit(X)
    new = X[15:25] + 0.1
    if estimator is sparrot.SpectralClustering:
        missing = model.predict(new) == -1
    else:
        missing = np.isnan(model.transform(new)).all(axis=1)
    assert missing.tolist() == [True] * 5 + [False] * 5


def test_clusters_of_a_graph_in_pieces_are_announced_or_refused_on_demand():
    W = sp.block_diag([blob(60), blob(40)], format="csr")
    model = sparrot.SpectralClustering(2, affinity="precomputed")
    assert not warnings_of(lambda: model.fit(W))
    silent = model.labels_
    with pytest.warns(AffinityWarning, match="the graph has 2 components, the largest of 60"):
        loud = model.set_params(components="warn").fit(W).labels_
    assert np.array_equal(silent, loud)
    with pytest.raises(InvalidInputError, match="2 components"):
        model.set_params(components="error").fit(W)
    with pytest.raises(InvalidInputError, match="components must be one of"):
        model.set_params(components="all").fit(W)
    assert not warnings_of(lambda: model.set_params(components="largest").fit(blob(60)))


def test_small_components_are_announced_if_nobody_has_and_small_clusters_are_not():
    W = sp.block_diag([blob(400), ring_graph(3), path_graph(2)], format="csr")
    model = sparrot.SpectralClustering(3, affinity="precomputed")
    (caught,) = warnings_of(lambda: model.fit(W))
    assert "belong to 5 of 405 points" in caught.message.problem
    assert "the graph is in pieces" in caught.message.problem
    assert "keep the largest piece alone by components='largest'" in caught.message.remedy
    assert len(warnings_of(lambda: model.set_params(components="warn").fit(W))) == 1
    many = sp.block_diag([ring_graph(3)] * 120 + [ring_graph(5)] * 20, format="csr")
    model = sparrot.SpectralClustering(140, affinity="precomputed")
    assert not warnings_of(lambda: model.fit(many))


def test_points_that_make_no_difference_to_the_clusters_are_not_announced():
    three = joined(joined(blob(200), blob(200), 1e-6), blob(200), 1e-6)
    W = joined(three, path_graph(2), 1e-4)
    model = sparrot.SpectralClustering(3, affinity="precomputed")
    assert not warnings_of(lambda: model.fit(W))
    assert len(warnings_of(lambda: model.set_params(n_clusters=4).fit(W))) == 1


def test_more_than_the_largest_component_has_is_refused_by_name():
    with pytest.raises(InvalidInputError, match=r"n_components must be .* from 1 to 78, got 79"):
        sparrot.Eigenmaps(79, affinity="precomputed", components="largest").fit(PIECES)
    with pytest.raises(InvalidInputError, match=r"n_clusters must be .* from 1 to 79, got 80"):
        sparrot.SpectralClustering(80, affinity="precomputed", components="largest").fit(PIECES)


def blobs_with_outliers(m):
    """400 points of three blobs in the plane, and m far ones."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 3
    X = 6 * np.array([[0, 0], [1, 0], [0, 1]])[labels] + rng.standard_normal((400, 2))
    far = rng.standard_normal((m, 2))
    return np.vstack([X, 1e3 * far / np.linalg.norm(far, axis=1)[:, None]]), labels


@pytest.mark.parametrize("m", [3, 8])
def test_far_outliers_do_not_take_over_clusters_or_coordinates(m):
    X, labels = blobs_with_outliers(m)
    for estimator in SPECTRAL:
        model = estimator(3 if estimator is sparrot.SpectralClustering else 2)
        assert not warnings_of(lambda model=model: model.fit(X))
        if estimator is sparrot.SpectralClustering:
            assert nmi(labels, model.labels_[:400]) > 0.95
        else:  # of mean square one, in proportion
            squares = np.square(model.embedding_)
            assert (squares[400:].sum(axis=0) < 0.1 * squares.sum(axis=0)).all()


@pytest.mark.parametrize("m", [3, 8])
def test_who_asks_for_an_eps_that_outliers_inflate_is_told_what_to_take_instead(m):
    X, labels = blobs_with_outliers(m)
    model = sparrot.SpectralClustering(3, affinity=sparrot.QOT(1.0, min_neighbors=5))
    caught = warnings_of(lambda: model.fit(X))[0]
    assert f" of {400 + m} points (rows 40" in caught.message.problem
    assert "of the mean cost, so that eps = 1 x mean cost" in caught.message.problem
    instead = "sparrot.QOT(perplexity=30, min_neighbors=5)"
    assert f"take affinity={instead}" in caught.message.remedy
    model.set_params(affinity=sparrot.QOT(perplexity=30, min_neighbors=5))
    assert not warnings_of(lambda: model.fit(X))
    assert nmi(labels, model.labels_[:400]) > 0.95
    (alone,) = warnings_of(lambda: sparrot.qot(X, min_neighbors=5))
    assert "perplexity=30 or eps='auto' instead" in alone.message.remedy
    assert instead not in alone.message.remedy
