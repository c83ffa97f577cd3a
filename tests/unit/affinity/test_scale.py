"""Choosing eps: perplexity, connectedness, matching, the path, and the warnings."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import sparrot
from problems import half_squared, points
from sparrot._eigensolver import _SOLVERS
from sparrot.errors import AffinityWarning
from sparrot.ot import EpsilonPath, Secant, _active_set as active_set, screen
from sparrot.ot._dense import DenseNewton

CLOUDS = ("gaussian", "spiral", "swiss-roll", "digits", "two-clusters")


def test_perplexity_of_known_rows_sparse_and_dense():
    W = np.array([[0.0, 1, 1, 1], [0, 0, 0, 5], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    assert sparrot.perplexity(W) == pytest.approx([3, 1, 2, 4])
    from scipy.sparse import csr_array

    assert sparrot.perplexity(csr_array(W)) == pytest.approx([3, 1, 2, 4])


@pytest.mark.parametrize("target", [8, 40])
@pytest.mark.parametrize("name", CLOUDS)
def test_perplexity_targets_are_met_to_one_percent(name, target):
    X = points(name)
    for build in (sparrot.qot, sparrot.eot):
        a = build(X, perplexity=target)
        assert sparrot.perplexity(a).mean() == pytest.approx(target, rel=0.01)
        assert a.certificate.marginal_error <= 1e-8
        assert 2 <= a.n_solves <= 20
    again = sparrot.qot(X, sparrot.qot(X, perplexity=target).relative_eps)
    assert sparrot.perplexity(again).mean() == pytest.approx(target, rel=0.01)


def test_parts_of_the_points_spare_solves_of_all():
    X = points("swiss-roll", 6000)
    a = sparrot.qot(X, perplexity=15)
    assert a.perplexity == pytest.approx(15, rel=0.01)
    assert a.n_solves <= 4  # from eps = 1, where a row has hundreds of neighbors, it takes more


def test_perplexity_works_for_the_q_family_and_the_active_set():
    X = points("gaussian", 600)
    a = sparrot.tsallis(X, q=0.5, perplexity=20)
    b = sparrot.qot(X, perplexity=20, solver="active-set")
    for c in (a, b):
        assert sparrot.perplexity(c).mean() == pytest.approx(20, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps": 1.0, "perplexity": 30}, "eps or perplexity, not both"),
        ({"perplexity": 400}, "less than 399"),
        ({"perplexity": 0}, "perplexity must be positive"),
        ({"perplexity": 1.0001}, "gives a mean perplexity of 1.0001"),
        ({"eps": "small"}, "'connected'"),
        ({"eps": 1e160}, "its square overflows; take eps=1e16"),
    ],
)
def test_impossible_wishes_are_refused(arguments, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.qot(points("gaussian"), **arguments)


@pytest.mark.parametrize("name", ["gaussian", "swiss-roll"])
def test_connected_is_the_smallest_eps_that_connects(name):
    X = points(name)
    a = sparrot.qot(X, "connected")
    assert a.n_connected_components == 1
    assert sparrot.qot(X, 0.95 * a.relative_eps).n_connected_components > 1


def test_a_graph_is_connected_where_outliers_make_all_typical_costs_tiny():
    pairs = [[1e5, 0], [1e5, 1], [-1e5, 0], [-1e5, 1]]
    X = np.vstack([points("gaussian", 396)[:, :2], pairs])
    a = sparrot.qot(X, "connected")  # the search starts at an eps of less than 1e-6
    assert a.n_connected_components == 1
    assert sparrot.qot(X, 0.95 * a.relative_eps).n_connected_components > 1


def test_a_perplexity_that_rough_solves_misjudge_is_met_all_the_same(monkeypatch):
    solve = DenseNewton.solve

    def misjudged(self, eps, start, tol, with_floor=True):
        return solve(self, 1.3 * eps if tol > 1e-6 else eps, start, tol, with_floor)

    monkeypatch.setattr(DenseNewton, "solve", misjudged)
    a = sparrot.qot(points("swiss-roll", 200), perplexity=8)
    assert abs(sparrot.perplexity(a.matrix).mean() / 8 - 1) <= 0.01


def test_what_a_search_needs_on_the_way_is_not_blamed_on_the_tolerance(monkeypatch):
    solve = DenseNewton.solve
    monkeypatch.setattr(DenseNewton, "solve", lambda *args: replace(solve(*args), converged=False))
    X = points("gaussian", 60)
    with pytest.raises(sparrot.NotConvergedError, match="perplexity of 20") as caught:
        sparrot.qot(X, perplexity=20)
    assert caught.value.remedy == "take a larger perplexity"
    with pytest.raises(sparrot.NotConvergedError) as caught:
        sparrot.qot(X, 1.0, search="auto")
    assert caught.value.remedies[0] == "raise {tol}"
    assert "larger {eps}" in caught.value.remedies[1]
    assert len(caught.value.remedies) == 2  # no neighbors: the search was exact


@pytest.mark.parametrize("kind", ["qot", "eot", "tsallis", "gaussian", "epanechnikov"])
def test_matching_gives_the_mean_perplexity_of_the_other(kind):
    X = points("spiral")
    a = sparrot.qot(X, 0.7)
    b = sparrot.match(X, kind, a)
    assert b.kind == kind
    assert sparrot.perplexity(b).mean() == pytest.approx(sparrot.perplexity(a).mean(), rel=0.01)


@pytest.mark.parametrize("solver", ["newton", "active-set"])
@pytest.mark.parametrize("grid", [[10, 1, 0.1, 0.01], [0.01, 0.1, 1, 10], [1, 10, 0.1]])
def test_the_path_equals_separate_solves(grid, solver):
    X = points("gaussian", 500)
    path = sparrot.qot_path(X, grid, solver=solver)
    for eps, a in zip(grid, path, strict=True):
        alone = sparrot.qot(X, eps, solver=solver)
        assert a.relative_eps == pytest.approx(eps)
        assert abs(a.matrix - alone.matrix).max() <= 1e-6
        assert a.certificate.marginal_error <= 1e-8
        assert a.certificate.exact
        assert a.n_solves == 1


def test_a_path_downwards_screens_all_pairs_once(monkeypatch):
    screened = []

    def counting(cost, r, run, rows, report):
        if cost.n == 3000:
            screened.append(3000 if rows is None else len(rows))
        return screen(cost, r, run, rows, report)

    monkeypatch.setattr(active_set, "screen", counting)
    X = points("gaussian", 3000)
    list(sparrot.qot_path(X, [4, 2, 1, 0.5], solver="active-set"))
    assert screened[0] == 3000
    assert sum(screened[1:]) <= 0.2 * 3000


@pytest.mark.parametrize("n", [60, 700])
def test_statistics_of_a_ring_are_known(n):
    t = 2 * np.pi * np.arange(n) / n
    a = sparrot.knn(np.c_[np.cos(t), np.sin(t)], 2)
    assert a.mean_neighbors == a.perplexity == pytest.approx(2)
    assert a.n_connected_components == 1
    assert a.spectral_gap == pytest.approx(1 - np.cos(2 * np.pi / n), abs=1e-7)


def values_on_the_way(root, function):
    values = []
    while not root.found:
        values.append(function(root.x))
        root.tell(values[-1])
    return values


def test_secant_steps_find_the_root_of_an_increasing_function():
    root = Secant(0.0, slope=0.7, precision=1e-3, what="value")
    values = values_on_the_way(root, lambda x: np.tanh(x - 3.3) + 0.01 * x)
    assert abs(values[-1]) <= 1e-3
    assert len(values) <= 30


def test_secant_steps_to_a_root_that_is_not_there_end():
    root = Secant(0.0, slope=0.7, precision=1e-3, what="value", parameter="to")
    with pytest.raises(sparrot.InvalidInputError, match="to is out of reach"):
        values_on_the_way(root, lambda x: 1.0 + np.exp(x))


def test_the_nearest_value_on_the_way_is_told_where_there_is_no_root():
    root = Secant(0.0, slope=0.7, precision=1e-3, what="value")
    with pytest.raises(sparrot.InvalidInputError, match=r"off by a factor 1\.11$|factor 1\.11;"):
        values_on_the_way(root, lambda x: 0.1 if x == 0 else 1.0 + np.exp(x))


def test_a_search_knows_when_smaller_eps_changes_nothing():
    root = Secant(0.0, slope=0.7, precision=1e-3, what="value")
    at_bottom = []
    for _ in range(3):
        root.tell(1.0 + np.exp(10 * root.x))
        at_bottom.append(root.at_bottom)
    assert at_bottom == [False, False, True]


def test_a_search_that_found_the_bottom_is_out_of_reach_where_a_solver_gives_up(monkeypatch):
    solve = EpsilonPath.at

    def give_up(path, eps, *arguments, **options):
        if eps < 1e-6:
            raise sparrot.NotConvergedError("too hard", None)
        return solve(path, eps, *arguments, **options)

    monkeypatch.setattr(EpsilonPath, "at", give_up)
    X = np.repeat(points("gaussian", 20)[:, :2], 6, axis=0)
    with pytest.raises(sparrot.InvalidInputError, match=r"of reach.*drop some points") as raised:
        sparrot.eot(X, perplexity=3, drop=1e-3)  # which equal points do not rule out
    assert raised.value.parameter == "perplexity"


def test_outliers_get_a_warning_that_names_them():
    X = points("gaussian")
    X[17] += 1e3
    with pytest.warns(
        sparrot.AffinityWarning, match=r"1 of 400 points \(row 17\).*ask for perplexity=30"
    ):
        sparrot.qot(X)


def test_perplexity_is_the_remedy_for_outliers():
    X = points("gaussian", 300)[:, :5]
    X[:3] += 1e4 * np.random.default_rng(0).standard_normal((3, 5))
    a = sparrot.qot(X, perplexity=20)
    assert a.perplexity == pytest.approx(20, rel=0.01)


def test_an_automatic_eps_is_the_mean_cost_unless_outliers_inflate_that():
    X = points("gaussian", 120)
    assert sparrot.qot(X, "auto").relative_eps == 1
    assert sparrot.tsallis(X, "auto", q=0.5).relative_eps == 1
    X[:5] *= 1e3
    costs = np.square(X[:, None] - X).sum(axis=2)[np.triu_indices(120, 1)] / 2
    assert sparrot.qot(X, "auto").eps == pytest.approx(np.median(costs), rel=1e-12)
    assert sparrot.qot(X, "auto").relative_eps < 1e-4
    with pytest.raises(sparrot.errors.InvalidInputError, match="eps='auto'"):
        sparrot.qot(X, "median")


def test_an_automatic_eps_does_not_depend_on_how_costs_are_given():
    X = points("gaussian", 1200)
    X[::300] *= 1e3
    C = cdist(X, X, "sqeuclidean") / 2
    of_points, of_costs = sparrot.qot(X, "auto"), sparrot.qot(C, "auto", metric="precomputed")
    assert of_points.eps == pytest.approx(of_costs.eps, rel=1e-9)


def test_a_graph_in_pieces_gets_a_warning_with_the_remedy():
    X = np.vstack([points("gaussian", 50), points("gaussian", 50) + 100])
    with pytest.warns(sparrot.AffinityWarning, match=r"2 components.*min_neighbors=5, or take"):
        a = sparrot.qot(X, 0.001)
    assert a.n_connected_components >= 2


def test_too_many_neighbors_are_refused_from_a_sample():
    X = points("gaussian", 3000)
    with pytest.raises(sparrot.NotEnoughMemoryError, match=r"neighbors a row.*perplexity"):
        sparrot.qot(X, 100.0, max_memory=2e7)
    assert sparrot.qot(X, 0.1, max_memory=1e9).certificate.exact


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"eps": 2.0}, r"take a smaller eps, or a perplexity"),
        ({"perplexity": 300}, r"; take a smaller perplexity$"),
        ({"n_neighbors": 300}, r"; take a smaller n_neighbors$"),
        ({"eps": "connected"}, r"; give perplexity=30 with min_neighbors=5 instead$"),
    ],
)
def test_too_many_neighbors_are_advised_on_in_terms_of_what_was_asked_for(arguments, remedy):
    with pytest.raises(sparrot.NotEnoughMemoryError, match=remedy):
        sparrot.qot(points("gaussian", 700), **arguments, solver="active-set", max_memory=1e6)


def test_a_perplexity_on_the_other_side_of_a_plateau_is_found():
    X = np.random.default_rng(0).standard_normal((80, 6))
    X[40:] += 100  # from eps = 1 far down, both clusters are complete: 39 neighbors
    assert sparrot.qot(X).perplexity == pytest.approx(39, abs=0.5)
    assert sparrot.qot(X, perplexity=10).perplexity == pytest.approx(10, rel=0.01)


def test_a_graph_in_pieces_has_no_spectral_gap_whatever_its_size():
    for n in (40, 900):
        t = 2 * np.pi * np.arange(n) / n
        ring = np.c_[np.cos(t), np.sin(t)]
        assert sparrot.knn(np.vstack([ring, ring + 10]), 2).spectral_gap == 0.0


def test_the_spectral_gap_of_a_complete_graph_exceeds_one():
    n = 600  # the second eigenvalue is negative
    W = np.ones((n, n)) - np.eye(n)
    found = replace(sparrot.knn(points("line", n), 2), matrix=W).spectral_gap
    assert found == pytest.approx(1 + 1 / (n - 1), abs=1e-8)


def test_a_spectral_gap_that_is_not_found_is_an_error_with_the_best_guess(monkeypatch):
    t = 2 * np.pi * np.arange(600) / 600
    a = sparrot.knn(np.c_[np.cos(t), np.sin(t)], 2)
    poor = np.full(1, 0.5), np.eye(600)[:, :1]
    monkeypatch.setitem(_SOLVERS, "arpack", lambda *arguments: poor)
    monkeypatch.setattr("sparrot._eigensolver._ladder", lambda *arguments: ("arpack",))
    with pytest.raises(sparrot.NotConvergedError, match="eigenpairs") as caught:
        a.spectral_gap  # noqa: B018
    assert caught.value.result == 0.5


def test_a_matrix_that_is_not_symmetric_has_no_spectral_gap():
    with pytest.raises(sparrot.InvalidInputError, match="must be symmetric"):
        sparrot.magic(points("gaussian", 60)).spectral_gap  # noqa: B018


def test_outliers_are_named_first_and_no_larger_eps_is_advised():
    X = points("gaussian", 200)[:, :5]
    X[7, 2] = 1e4
    X[8, 2] = 1e4 + 1
    with pytest.warns(sparrot.AffinityWarning) as caught:
        sparrot.qot(X, 1e-5)
    outliers, pieces = (str(w.message) for w in caught)
    assert "rows 7, 8" in outliers or "rows 8, 7" in outliers
    assert "components" in pieces
    assert "larger eps" not in pieces


def test_pieces_are_counted_in_words_that_agree():
    X = np.vstack([points("gaussian", 40), np.full((2, 30), 50.0) + np.eye(2, 30)])
    with pytest.warns(sparrot.AffinityWarning, match="40 points; 1 is an isolated pair. Spectral"):
        sparrot.qot(X, 0.1)


def test_an_enormous_outlier_is_named_where_no_eps_is_found():
    X = points("gaussian", 200)[:, :5]
    X[7, 2] = 1e10
    with pytest.raises(sparrot.NotConvergedError, match=r"perplexity of 20: .*\(row 7\)"):
        sparrot.qot(X, perplexity=20)


def test_an_enormous_outlier_is_no_hindrance_to_entropic_transport():
    X = points("gaussian", 200)[:, :5]
    X[7, 2] = 1e10
    a = sparrot.eot(X, perplexity=20)
    assert abs(a.perplexity / 20 - 1) < 0.01
    assert a.check(X).marginal_error <= 1e-8


@pytest.mark.parametrize("build", [sparrot.qot, sparrot.eot, sparrot.tsallis])
@pytest.mark.parametrize("distance", [1e3, 1e6, 1e8])
def test_clusters_may_be_as_far_apart_as_they_like(build, distance):
    X = points("gaussian", 80)[:, :3]
    X[40:] += distance
    assert abs(build(X, perplexity=8).perplexity / 8 - 1) < 0.01


def test_far_clusters_are_named_where_a_perplexity_cannot_be_had():
    X = np.zeros((60, 2))
    X[20:40, 0], X[40:, 1] = 1e3, 1e3  # within them all points are equal: 19 neighbors or many
    C = half_squared(X)
    with pytest.raises(sparrot.InvalidInputError, match="in 3 clusters of 20 to 20 points") as said:
        sparrot.qot(C, perplexity=5, metric="precomputed")
    assert said.value.parameter == "perplexity"


def test_duplicates_are_mentioned_where_no_eps_is_found():
    X = np.repeat(points("gaussian", 40), 5, axis=0)  # four others at no cost: no fewer neighbors
    with pytest.raises(sparrot.InvalidInputError, match="160 of 200 points are duplicates") as said:
        sparrot.eot(X, perplexity=2, drop=1e-3)  # of others, it is known before any eps is tried
    assert said.value.remedies[-1] == "take {perplexity=4}"
    assert sparrot.qot(X, perplexity=4).perplexity == pytest.approx(4, rel=0.01)


def test_matching_sets_the_scale_itself():
    X = points("gaussian", 60)
    a = sparrot.qot(X)
    given = {"eot": "perplexity", "qot": "n_neighbors", "tsallis": "eps", "gaussian": "bandwidth"}
    for kind, own in given.items():
        with pytest.raises(sparrot.InvalidInputError, match=f"{own} is set by match.*{own}$"):
            sparrot.match(X, kind, a, **{own: 3})
    with pytest.raises(sparrot.InvalidInputError, match="to must be the other affinity"):
        sparrot.match(X, "eot", 3)


def test_what_has_all_neighbors_at_both_ends_of_its_scale_is_not_matched():
    X = points("gaussian", 60)
    ends = [sparrot.gaussian_l2(X, bandwidth).perplexity for bandwidth in (1e-4, 1.0, 1e4)]
    assert ends[1] < min(ends[0], ends[2]) - 10
    with pytest.raises(sparrot.InvalidInputError, match="must be one of qot, eot, tsallis, gauss"):
        sparrot.match(X, "gaussian_l2", sparrot.qot(X))


@pytest.mark.parametrize(("n", "expected"), [(400, 30), (41, 20)])
def test_entropic_plans_have_a_scale_of_their_own(n, expected):
    X = points("gaussian", n)
    for a in (sparrot.eot(X), sparrot.EOT().fit(X).result_):
        assert a.perplexity == pytest.approx(expected, rel=0.01)
    assert sparrot.eot(X[:9]).relative_eps == pytest.approx(1.0)


def test_a_connected_graph_is_connected_also_where_rough_solves_are_by_their_error_alone():
    X = np.random.default_rng(1).standard_normal((70, 6))
    X[-1] = 1e3
    a = sparrot.eot(X, "connected", drop=1e-3)
    assert a.n_connected_components == 1
    assert sparrot.eot(X, a.relative_eps / 1.03, drop=1e-3, tol=1e-6).n_connected_components > 1


def test_connecting_outliers_by_very_many_neighbors_is_a_warning():
    X = np.random.default_rng(0).standard_normal((300, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparrot.qot(X, eps="connected")
    X[:2] *= 60
    with pytest.warns(AffinityWarning, match=r"to connect them takes eps = .* neighbors a row"):
        sparrot.qot(X, eps="connected")


def test_no_more_pairs_of_noisy_points_are_kept_than_are_needed_soon():
    X, n_pairs = sparrot.datasets.make_spiral(6000, 50).X, []

    def look(progress):
        if progress.stage == "screening" and progress.n_points == len(X):
            n_pairs.append(progress.n_pairs)

    W = sparrot.qot(X, perplexity=30, progress=look)
    assert W.certificate.exact
    assert 1 <= max(n_pairs) / (W.matrix.nnz / 2) < 2.5


def mostly_equal(n, m, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    X[:m] = X[0]
    return X[rng.permutation(n)]


@pytest.mark.parametrize(("m", "least"), [(2251, "2227"), (1137, "568.5")])
def test_fewer_neighbors_than_points_have_equals_are_refused_at_once(monkeypatch, m, least):
    monkeypatch.setattr(EpsilonPath, "at", None)  # nothing is solved
    X = mostly_equal(2274, m)
    what = rf"up to {m:,} of 2,274 points are equal.* of {least} or more .* got 3; drop duplicates"
    for build in (sparrot.qot, sparrot.tsallis, sparrot.eot):
        with pytest.raises(sparrot.InvalidInputError, match=what) as caught:
            build(X, perplexity=3)
        assert caught.value.parameter == "perplexity"
    with pytest.raises(sparrot.InvalidInputError, match=what):
        sparrot.qot(X, perplexity=3, min_neighbors=2)


@pytest.mark.parametrize(
    "sizes", [(21, 1), (30, 1), (3,), (8, 8, 8), (20, 20), (12, 5, 2)], ids=str
)
@pytest.mark.parametrize("hollow", [True, False])
def test_what_equal_points_are_refused_for_is_below_what_any_eps_gives(sizes, hollow):
    X = np.random.default_rng(0).standard_normal((len(sizes) + 3, 2))
    X = np.repeat(X, [*sizes, 1, 1, 1], axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AffinityWarning)
        found = [sparrot.qot(X, eps, hollow=hollow).perplexity for eps in (1e-4, 1e-2, 1.0, 100.0)]
    with pytest.raises(sparrot.InvalidInputError) as caught:
        sparrot.qot(X, perplexity=1.01, hollow=hollow)
    least = float(re.search("perplexity of ([0-9.]+) or more", str(caught.value))[1])
    assert least <= min(found) * (1 + 1e-3)  # it is rounded


@pytest.mark.parametrize("n", [40, 1600])
@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_points_of_which_all_but_one_are_equal_are_connected_by_an_eps_that_rounding_allows(
    n, solver
):
    X = np.vstack([np.zeros((n - 1, 2)), np.ones((1, 2))])
    a = sparrot.qot(X, "connected", solver=solver)
    assert a.n_connected_components == 1
    assert a.check(X).marginal_error <= 1e-8
