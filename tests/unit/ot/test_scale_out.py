"""Sets too large to look at every pair, and runs too long to lose."""

import logging
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import sparrot
from problems import half_squared, points
from sparrot.affinity._diagnostics import signs_of_poor_choice
from sparrot.cost import MatrixCost, PointCost, _metrics
from sparrot.engine import Run
from sparrot.ot import (
    Certificate,
    Options,
    Problem,
    QuadraticRegularizer,
    _approximate as approximate,
    _solve as solve,
)
from sparrot.ot._active_set import Ceilings
from sparrot.ot._approximate import ApproximateActiveSet, NeighborPool, sample_rows
from sparrot.ot._screening import PAIR_BYTES, screen


def few_neighbors():
    return KNeighborsTransformer(n_neighbors=6)


@pytest.mark.parametrize(
    ("name", "k", "most"),
    [("gaussian", 6, 0.25), ("gaussian", 15, 0.1), ("swiss-roll", 6, 0.1), ("digits", 6, 0.1)],
)
def test_approximate_rows_sum_to_one_and_are_nearly_the_exact_ones(name, k, most):
    X = points(name, 1500)
    exact = sparrot.qot(X, perplexity=12)
    neighbors = KNeighborsTransformer(n_neighbors=k)
    a = sparrot.qot(X, exact.relative_eps, search="approximate", neighbors=neighbors)
    assert a.certificate.marginal_error <= 1e-8
    assert not a.certificate.exact
    assert abs(a.matrix - exact.matrix).sum(axis=1).mean() < most
    assert abs(a.matrix - a.matrix.T).max() == 0


@pytest.mark.parametrize("k", [2, 6, 40])
def test_the_bound_on_missed_rows_is_above_the_truth(k):
    X = points("gaussian", 1800)
    a = sparrot.qot(X, search="approximate", neighbors=KNeighborsTransformer(n_neighbors=k))
    C = np.square(X[:, None] - X).sum(axis=2) / 2
    score = a.potential[:, None] + a.potential - C
    np.fill_diagonal(score, -np.inf)
    missed = ((score > 1e-9) & (a.matrix.toarray() == 0)).any(axis=1).mean()
    assert missed <= a.certificate.missed_rows <= missed + 0.05
    assert a.certificate.pairs_checked == 1000 * 1799 - 1000 * 999 // 2


@pytest.mark.parametrize("scale", [{"eps": 1.0}, {"n_neighbors": 15}])
def test_the_mass_that_was_missed_is_that_of_pairs_left_out(scale):
    X = points("gaussian", 900)  # of which all rows are checked
    graph = KNeighborsTransformer(n_neighbors=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparrot.errors.AffinityWarning)
        a = sparrot.qot(X, search="approximate", neighbors=graph, **scale)
    e = np.zeros(900) if a.row_eps is None else a.row_eps
    score = a.potential[:, None] + a.potential - half_squared(X)
    np.fill_diagonal(score, 0)
    full = np.maximum(score, 0) / (a.eps + (e[:, None] + e) / 2)
    excess = (full.sum(axis=1) - 1).max()
    assert excess > 1e-3
    assert a.certificate.missed_mass == pytest.approx(excess, rel=1e-6)
    exact = sparrot.qot(X, **scale)
    off = abs(a.matrix - exact.matrix).sum(axis=1).max()
    assert excess / 2 < off < 2.5 * excess


def test_a_pool_says_that_it_grows_and_may_be_stopped():
    def stop(progress):
        if progress.stage == "growing" and progress.n_pairs > 0:
            raise InterruptedTestError

    with pytest.raises(InterruptedTestError):
        sparrot.qot(
            points("gaussian", 1500),
            search="approximate",
            neighbors=few_neighbors(),
            progress=stop,
        )


def test_without_the_hollow_constraint_the_points_themselves_are_counted():
    X = points("gaussian", 1800)
    arguments = {"search": "approximate", "neighbors": few_neighbors()}
    checked = [
        sparrot.qot(X, 0.5, hollow=hollow, **arguments).certificate.pairs_checked
        for hollow in (True, False)
    ]
    assert checked[1] - checked[0] == 1000


def test_a_pool_grows_by_neighbors_of_neighbors():
    X = points("swiss-roll", 1600)
    graph = KNeighborsTransformer(n_neighbors=4).fit_transform(X)
    with Run(2) as run:
        pool = NeighborPool(PointCost(X), graph, run)
        r = np.full(1600, 0.01)
        plan = abs(graph + graph.T).tocsr()
        before = {*zip(pool.pairs.i.tolist(), pool.pairs.j.tolist(), strict=True)}
        new = pool.grow(plan, r)
        after = {*zip(pool.pairs.i.tolist(), pool.pairs.j.tolist(), strict=True)}
        again = pool.grow(plan, r)
    A = plan.toarray() > 0
    shared = np.triu(A @ A, 1) & (PointCost(X).dense() < 0.02)
    expected = {*zip(*(x.tolist() for x in np.nonzero(shared)), strict=True)} - before
    assert after - before == expected
    assert new == len(expected) > 100
    assert again == 0


def test_auto_is_exact_for_few_points_and_says_so(caplog):
    with caplog.at_level(logging.INFO, "sparrot"):
        a = sparrot.qot(points("gaussian", 1600), search="auto")
    assert a.certificate.exact
    assert "search='auto' is exact here: n^2 p = 7.7e+07" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": "quick"}, "search must be one of exact, approximate, auto, got 'quick'"),
        ({"neighbors": few_neighbors()}, "neighbors is for search='approximate'"),
        ({"search": "approximate", "neighbors": 7}, "must be a transformer"),
        (
            {"search": "approximate", "metric": "manhattan"},
            "is for squared Euclidean costs, those of the metrics sqeuclidean and cosine",
        ),
        ({"search": "approximate", "solver": "newton"}, "looks at every pair"),
        ({"search": "approximate", "checkpoint": "a"}, "checkpoint is for an exact search"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.qot(points("gaussian", 100), **arguments)


class CityBlockCost(MatrixCost):
    """A cost that has points, and is not squared Euclidean."""

    def __init__(self, X):
        super().__init__(cdist(X, X, "cityblock"))
        self.points = X


def test_an_approximate_search_is_refused_for_other_costs_of_points(monkeypatch):
    X = points("gaussian", 300)
    costs_to = lambda Y: lambda X: cdist(X, Y, "cityblock")  # noqa: E731
    toy = _metrics._Metric(CityBlockCost, costs_to)
    monkeypatch.setitem(_metrics._METRICS, "toy", toy)
    monkeypatch.setattr(solve, "_TOO_MANY_PRODUCTS", 0.0)
    for neighbors in (None, few_neighbors()):
        with pytest.raises(sparrot.InvalidInputError, match="is for squared Euclidean costs"):
            sparrot.qot(X, 0.1, metric="toy", search="approximate", neighbors=neighbors)
    a = sparrot.qot(X, 0.1, metric="toy", search="auto", solver="active-set")
    assert a.certificate.exact
    b = sparrot.qot(X, 0.1, metric="manhattan")
    assert np.allclose(a.matrix.toarray(), b.matrix.toarray(), atol=1e-7)


def test_the_estimator_passes_the_search_on():
    X = points("gaussian", 1600)
    model = sparrot.QOT(search="approximate", neighbors=few_neighbors()).fit(X)
    assert not model.certificate_.exact


class InterruptedTestError(Exception):
    pass


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path):
    X = points("digits", 2500)
    path = tmp_path / "run.npz"
    stages = []

    def stop_after_the_first_round(progress):
        if path.exists():
            raise InterruptedTestError

    with pytest.raises(InterruptedTestError):
        sparrot.qot(X, checkpoint=path, progress=stop_after_the_first_round)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    a = sparrot.qot(X, checkpoint=path, progress=lambda progress: stages.append(progress.stage))
    assert "extending" not in stages  # it did not begin again
    assert a.certificate.exact
    assert abs(a.matrix - sparrot.qot(X).matrix).max() < 1e-6
    b = sparrot.qot(X, 0.5, checkpoint=path)  # the pairs serve another eps
    assert abs(b.matrix - sparrot.qot(X, 0.5).matrix).max() < 1e-6


@pytest.mark.parametrize(
    ("first", "then"),
    [({"hollow": False}, {"hollow": True}), ({"hollow": True}, {"hollow": False})],
)
def test_a_checkpoint_of_another_constraint_is_refused(tmp_path, first, then):
    X = points("gaussian", 1600)
    sparrot.qot(X, checkpoint=tmp_path / "a.npz", **first)
    with pytest.raises(sparrot.InvalidInputError, match="another value of hollow"):
        sparrot.qot(X, checkpoint=tmp_path / "a.npz", **then)


def test_a_checkpoint_of_another_matrix_of_costs_is_refused(tmp_path):
    C = np.random.default_rng(0).integers(1, 50, (1600, 1600)).astype(float)
    C = C + C.T
    sparrot.qot(C, metric="precomputed", checkpoint=tmp_path / "a.npz")
    with pytest.raises(sparrot.InvalidInputError, match="belongs to other points"):
        sparrot.qot(C[::-1, ::-1] + 0.0, metric="precomputed", checkpoint=tmp_path / "a.npz")


def test_small_problems_have_checkpoints_too(tmp_path):
    assert (
        sparrot.qot(points("gaussian", 100), checkpoint=tmp_path / "a.npz").solver == "active-set"
    )
    assert (tmp_path / "a.npz").exists()


@pytest.mark.parametrize("seed", range(4))
def test_an_approximate_plan_holds_every_pair_of_its_pool(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((900, 8))
    X[:9] *= 5
    options = Options(search="approximate", neighbors=KNeighborsTransformer(n_neighbors=3))
    problem = Problem(PointCost(X), QuadraticRegularizer(0.1))
    with Run(2) as run:
        method = ApproximateActiveSet(problem, options, run)
        found = method.solve(0.1, None, 1e-8)
        sample = sample_rows(found, np.random.default_rng(0), run)
    pairs = method._pool.pairs
    i, j = method._order[pairs.i], method._order[pairs.j]  # the pool is in spatial order
    score = found.u[i] + found.u[j] - pairs.cost
    assert (np.asarray(found.plan[i, j]).ravel() > 0)[score > 1e-12].all()
    C = PointCost(X).dense()
    missed = np.triu(found.u[:, None] + found.u - C, 1) * (found.plan.toarray() == 0)
    assert sample.marginal_error == found.certificate.marginal_error
    assert sample.violation == pytest.approx(
        max(missed.max(), 0.0), abs=1e-9
    )  # all rows are checked


def test_rows_without_any_neighbor_in_the_graph_are_found_all_the_same():
    X = points("gaussian", 1600)
    X[5] *= 3
    radius = RadiusNeighborsTransformer(radius=5.5)
    a = sparrot.qot(X, search="approximate", neighbors=radius)
    assert a.certificate.marginal_error <= 1e-8


def test_a_search_that_misses_much_is_said_in_a_warning():
    X = points("gaussian", 200)
    a = sparrot.qot(X)
    unknown = Certificate(1e-9, 0.5, 100, exact=False, missed_rows=0.07, missed_mass=np.inf)
    signs = signs_of_poor_choice(replace(a, certificate=unknown), PointCost(X), given_eps=True)
    assert "may have left out pairs of up to 7% of the rows, 14 of 200; give" in str(signs[0])
    assert "inf" not in str(unknown)
    assert signs_of_poor_choice(a, PointCost(X), given_eps=True) == ()


def test_a_search_that_misses_much_of_one_row_is_said_too(caplog):
    a = sparrot.qot(X := points("gaussian", 200))
    few = Certificate(1e-9, 0.5, 100, exact=False, missed_rows=0.004, missed_mass=0.62)
    signs = signs_of_poor_choice(replace(a, certificate=few), PointCost(X), given_eps=True)
    assert "of up to 0.4% of the rows, 1 of 200; of those that were checked" in str(signs[0])
    assert "the worst lacks pairs of 0.62 times its mass" in str(signs[0])
    little = replace(a, certificate=replace(few, missed_mass=0.05))
    with caplog.at_level(logging.INFO):
        assert signs_of_poor_choice(little, PointCost(X), given_eps=True) == ()
    assert "the worst lacks pairs of 0.05 times its mass" in caplog.text


def test_rows_that_a_poor_graph_leaves_out_are_warned_of_though_they_are_few():
    X = points("swiss-roll", 1500)
    with pytest.warns(sparrot.errors.AffinityWarning, match="the worst lacks pairs of"):
        a = sparrot.qot(
            X, n_neighbors=15, search="approximate", neighbors=KNeighborsTransformer(n_neighbors=3)
        )
    assert a.certificate.missed_rows < 0.1 < a.certificate.missed_mass


@pytest.mark.parametrize("name", ["swiss-roll", "digits"])
@pytest.mark.parametrize(
    "scale", [{"n_neighbors": 15}, {"perplexity": 30, "min_neighbors": "auto"}]
)
def test_the_search_of_pynndescent_is_no_cause_for_a_warning(name, scale):
    pynndescent = pytest.importorskip("pynndescent")
    graph = pynndescent.PyNNDescentTransformer(n_neighbors=30, random_state=0)  # our default
    with warnings.catch_warnings():
        warnings.simplefilter("error", sparrot.errors.AffinityWarning)
        a = sparrot.qot(points(name, 1500), search="approximate", neighbors=graph, **scale)
    assert not a.certificate.exact
    assert a.certificate.missed_mass < 0.1


def test_a_checkpoint_of_other_points_or_no_checkpoint_at_all_is_refused(tmp_path):
    X = points("gaussian", 1600)
    sparrot.qot(X, checkpoint=tmp_path / "a.npz")
    with pytest.raises(sparrot.InvalidInputError, match="belongs to other points"):
        sparrot.qot(X + np.eye(1600, 30), checkpoint=tmp_path / "a.npz")
    half = (tmp_path / "a.npz").read_bytes()[:1000]
    (tmp_path / "b.npz").write_bytes(half)
    with pytest.raises(sparrot.InvalidInputError, match="is not a checkpoint of this version"):
        sparrot.qot(X, checkpoint=tmp_path / "b.npz")
    assert (tmp_path / "b.npz").read_bytes() == half


def test_more_points_than_an_exact_search_is_for_need_a_graph(monkeypatch):
    monkeypatch.setattr(solve, "_TOO_MANY_PRODUCTS", 1e7)
    monkeypatch.setattr(approximate, "load_extra", lambda *names: pytest.fail(f"asked for {names}"))
    for search in ("approximate", "auto"):
        with pytest.raises(pytest.fail.Exception, match=r"asked for .'pynndescent', 'approximate'"):
            sparrot.qot(points("gaussian", 1600), search=search)


def test_few_points_are_searched_exactly_unless_neighbors_are_given(caplog):
    caplog.set_level("INFO", logger="sparrot")
    a = sparrot.qot(points("gaussian", 1600), search="approximate")
    assert a.certificate.exact
    assert "search='approximate' is exact here: n^2 p = 7.7e+07" in caplog.text


def test_a_path_may_be_approximate_too():
    X = points("swiss-roll", 1700)
    path = sparrot.qot_path(X, [0.05, 0.02], search="approximate", neighbors=few_neighbors())
    for a, eps in zip(path, [0.05, 0.02], strict=True):
        assert not a.certificate.exact
        assert a.certificate.marginal_error <= 1e-8
        assert abs(a.matrix - sparrot.qot(X, eps).matrix).sum() < 0.01 * len(X)


def share_of_rows_with_a_missed_pair(a, X):
    scores = a.potential[:, None] + a.potential - half_squared(X)
    np.fill_diagonal(scores, -1)
    missed = (scores > 1e-9 * a.eps) & (a.matrix.toarray() == 0)
    return missed.any(axis=1).mean()


def test_bounds_on_missed_rows_hold_along_a_path_and_for_a_perplexity():
    X = np.random.default_rng(0).standard_normal((3000, 12))
    arguments = {"search": "approximate", "neighbors": KNeighborsTransformer(n_neighbors=2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparrot.AffinityWarning)
        found = list(sparrot.qot_path(X, [0.1, 0.098, 0.096, 0.094], **arguments))
        found.append(sparrot.qot(X, perplexity=15, **arguments))
    for a in found:
        share = share_of_rows_with_a_missed_pair(a, X)
        assert 0 < share <= a.certificate.missed_rows < 2 * share + 0.01
        assert a.certificate.violation > 0


def test_a_pool_that_does_not_fit_in_memory_is_refused():
    X = points("swiss-roll", 3000)
    with pytest.raises(sparrot.NotEnoughMemoryError, match="pairs of 3000 points"):
        sparrot.qot(X, 1.0, search="approximate", neighbors=few_neighbors(), max_memory=5e6)


def test_pairs_that_are_kept_count_among_those_that_must_fit_in_memory():
    n = 400
    cost, r = PointCost(points("gaussian", n)), np.full(n, 0.3)
    with Run() as run:
        ceilings = Ceilings(Problem(cost, QuadraticRegularizer()), run)
        ceilings._move(r)
        n_kept = len(ceilings._pairs)
        higher = np.where(np.arange(n) < 3, 0.6, r)
        n_found = len(screen(cost, higher, run, np.arange(3, dtype=np.int32)))
        assert 2 < n_found < n_kept  # alone they would fit
        run.max_memory = PAIR_BYTES * n_kept
        with pytest.raises(sparrot.NotEnoughMemoryError, match="candidate pairs of 400 points"):
            ceilings._move(higher)


def test_huge_potentials_are_a_poor_start_but_no_error():
    X = points("gaussian", 1600)
    a = sparrot.qot(X, 0.5, potential=np.full(1600, 1e300))
    assert abs(a.matrix - sparrot.qot(X, 0.5).matrix).max() < 1e-7


def test_rounding_is_named_where_it_keeps_newton_from_its_aim():
    X = np.random.default_rng(0).random((200, 2))
    with pytest.raises(sparrot.NotConvergedError, match="rounding alone makes"):
        sparrot.qot(X, 1e-13)
