"""One table of solvers and problems."""

from dataclasses import replace

import numpy as np
import pytest

import sparrot
from problems import CLOUDS, assert_optimal, half_squared, manufactured, points
from sparrot.cost import PointCost
from sparrot.engine import Run, _run
from sparrot.errors import NotConvergedError
from sparrot.ot import (
    METHODS,
    SOLVERS,
    EntropicRegularizer,
    EpsilonPath,
    Options,
    Problem,
    QuadraticRegularizer,
    TsallisRegularizer,
    _sinkhorn,
)
from sparrot.ot._active_set import ActiveSet, EqualPoints, many_equal
from sparrot.ot._floor import SparseFloorDual
from sparrot.ot._newton import Dual, DualState, newton
from sparrot.ot._path import Secant
from sparrot.ot._sinkhorn import EntropicDual
from sparrot.ot._solve import make_method


@pytest.mark.parametrize("solver", SOLVERS[1:])
@pytest.mark.parametrize("n", [5, 30, 300, 3000])
def test_manufactured_solutions_are_found(n, solver):
    if solver == "alternating" and n > 300:
        pytest.skip("linear convergence: the referee is for small problems")
    C, eps, P, _ = manufactured(n)
    a = sparrot.qot(C, eps / C.mean(), metric="precomputed", solver=solver)
    assert np.abs(a.matrix.toarray() - P).max() <= 1e-7
    assert a.certificate.marginal_error <= 1e-8
    assert a.certificate.violation == 0


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("solver", ["newton", "active-set"])
@pytest.mark.parametrize("name", CLOUDS)
def test_optimality_by_brute_force(name, solver, hollow):
    X = points(name)
    a = sparrot.qot(X, solver=solver, hollow=hollow)
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X), hollow=hollow)
    assert a.solver == solver


@pytest.mark.parametrize("eps", [1e-3, 1e-2, 0.1, 10.0, 100.0])
@pytest.mark.parametrize("solver", ["newton", "active-set"])
@pytest.mark.parametrize("name", ["gaussian", "swiss-roll", "cauchy", "two-clusters"])
def test_optimality_over_five_decades_of_eps(name, solver, eps):
    X = points(name, 250)
    a = sparrot.qot(X, eps, solver=solver)
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))


@pytest.mark.parametrize("name", ["two-clusters", "gaussian", "digits", "swiss-roll"])
def test_large_problems_are_optimal_by_brute_force(name):
    X = points(name, 4000 if name != "two-clusters" else 2000)
    a = sparrot.qot(X, solver="active-set")
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("name", ["gaussian", "spiral", "duplicates", "line"])
def test_all_solvers_agree(name, hollow):
    X = points(name, 150)
    plans = [
        sparrot.qot(X, solver=solver, hollow=hollow, tol=1e-9).matrix.toarray()
        for solver in SOLVERS[1:]
    ]
    assert np.abs(plans[0] - plans[1]).max() <= 1e-7
    assert np.abs(plans[0] - plans[2]).max() <= 1e-7


@pytest.mark.parametrize("solver", SOLVERS[1:])
class TestTinyProblems:
    def test_two_points_have_no_choice(self, solver):
        a = sparrot.qot([[0.0], [5.0]], solver=solver)
        assert a.matrix.toarray() == pytest.approx(np.array([[0, 1], [1, 0]]), abs=1e-8)

    @pytest.mark.parametrize("eps", [0.01, 1, 100])
    def test_three_points_have_no_choice(self, solver, eps):
        X = np.random.default_rng(0).standard_normal((3, 2))
        a = sparrot.qot(X, eps, solver=solver)
        assert a.matrix.toarray() == pytest.approx((1 - np.eye(3)) / 2, abs=1e-7)

    def test_a_regular_simplex_is_uniform(self, solver):
        a = sparrot.qot(np.eye(20), solver=solver)
        assert a.matrix.toarray() == pytest.approx((1 - np.eye(20)) / 19, abs=1e-8)

    @pytest.mark.parametrize("eps", [0.1, 1])
    def test_a_circle_is_circulant(self, solver, eps):
        t = 2 * np.pi * np.arange(40) / 40
        W = sparrot.qot(np.c_[np.cos(t), np.sin(t)], eps, solver=solver).matrix.toarray()
        for k in range(40):
            assert np.roll(W, (k, k), (0, 1)) == pytest.approx(W, abs=1e-7)


def test_results_do_not_depend_on_the_number_of_threads():
    X = points("gaussian", 5000)
    for solver, n in (("active-set", 5000), ("newton", 1000)):
        one, two = (sparrot.qot(X[:n], solver=solver, n_jobs=k) for k in (1, 2))
        assert np.array_equal(one.potential, two.potential)
        assert np.array_equal(one.matrix.indices, two.matrix.indices)
        assert np.array_equal(one.matrix.data, two.matrix.data)


@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_a_warm_start_takes_fewer_steps_to_the_same_plan(solver):
    X = points("gaussian", 1500)
    cold = sparrot.qot(X, 1.0, solver=solver)
    warm = sparrot.qot(X, 1.1, solver=solver, potential=cold.potential)
    fresh = sparrot.qot(X, 1.1, solver=solver)
    assert abs(warm.matrix - fresh.matrix).max() <= 1e-7
    again = sparrot.qot(X, 1.0, solver=solver, potential=cold.potential)
    assert again.n_iter <= 1 < cold.n_iter
    assert warm.n_iter <= fresh.n_iter


@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_a_poor_warm_start_does_no_harm(solver):
    X = points("swiss-roll", 600)
    for u in (np.zeros(600), np.full(600, 1e3), -np.full(600, 1e3)):
        a = sparrot.qot(X, solver=solver, potential=u)
        assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))


@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_non_convergence_is_an_error_that_keeps_the_result(solver):
    X = points("gaussian", 300)
    with pytest.raises(sparrot.NotConvergedError, match="raise max_iter or tol") as caught:
        sparrot.qot(X, solver=solver, max_iter=2)
    a = caught.value.result
    assert a.certificate.marginal_error > 1e-8
    assert np.isfinite(a.potential).all()
    assert a.n_iter == 2


def test_a_tolerance_below_rounding_is_refused_not_looped_over():
    with pytest.raises(sparrot.InvalidInputError, match="below the rounding of float64"):
        sparrot.qot(points("gaussian", 100), tol=1e-18)


@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_progress_is_reported_and_may_interrupt(solver):
    X = points("gaussian", 300)
    reports = []
    sparrot.qot(X, solver=solver, progress=reports.append)
    stages = {report.stage for report in reports}
    assert ("newton" if solver == "active-set" else solver) in stages
    assert min(report.marginal_error for report in reports) <= 1e-8

    def interrupt(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sparrot.qot(X, solver=solver, progress=interrupt)


def test_a_method_says_which_problems_it_solves():
    X = points("gaussian", 60)
    for solver, a in ((s, sparrot.tsallis(X, 0.5, solver=s)) for s in ("newton", "active-set")):
        assert a.solver == solver
    with pytest.raises(sparrot.InvalidInputError, match="with this regularizer") as caught:
        sparrot.tsallis(X, 0.5, solver="alternating")
    assert caught.value.parameter == "solver"
    assert caught.value.remedy == "take solver='newton' or solver='active-set'"
    problem = Problem(PointCost(X), EntropicRegularizer(0.1))
    with Run(1) as run:
        assert EpsilonPath(problem, Options(), run).at(0.1).method == "sinkhorn"
        with pytest.raises(sparrot.InvalidInputError, match="'newton' does not solve"):
            EpsilonPath(problem, Options(method="newton"), run)


def test_where_no_solver_can_be_named_auto_is_the_remedy():
    K = np.exp(-half_squared(points("gaussian", 20)))
    with pytest.raises(sparrot.InvalidInputError, match="take solver='auto'"):
        sparrot.project(K, q=1, solver="newton")


def test_a_floor_of_zero_is_none_for_every_q():
    K = np.exp(-half_squared(points("gaussian", 20)))
    with_zero, without = sparrot.project(K, q=1, min_neighbors=0), sparrot.project(K, q=1)
    assert np.array_equal(with_zero.matrix, without.matrix)
    with pytest.raises(sparrot.InvalidInputError, match="is for q = 0 alone"):
        sparrot.project(K, q=1, min_neighbors=2)


def test_the_table_has_every_method_by_its_name():
    assert [method.name for method in METHODS.values()] == list(METHODS)
    assert set(SOLVERS) < {"auto", *METHODS}


@pytest.mark.parametrize("build", [sparrot.qot, sparrot.tsallis, sparrot.eot])
def test_an_eps_below_all_rounding_is_an_error_that_says_so_and_no_warning(build):
    for eps in (1e-30, 1e-300, 5e-324):
        with pytest.raises(sparrot.InvalidInputError, match="drowns in the rounding"):
            build(points("gaussian", 200), eps)


@pytest.mark.parametrize("build", [sparrot.qot, sparrot.tsallis, sparrot.eot])
def test_where_rounding_makes_the_error_no_more_than_a_few_steps_are_tried(build):
    with pytest.raises(sparrot.NotConvergedError, match="rounding alone makes") as caught:
        build(points("gaussian", 201), 1e-13)  # an odd number: not all of them in pairs
    assert caught.value.result.n_iter < 40
    assert "larger eps" in caught.value.remedy


def _half_equal(n, rng):
    X = rng.standard_normal((n, 5))
    X[: n // 2] = X[0]
    return X


def _tenth_twice(n, rng):
    X = rng.standard_normal((n, 5))
    X[: n // 10] = X[n // 10 : 2 * (n // 10)]
    return X


def _of_all_scales(n, rng):
    return rng.standard_normal((n, 5)) * 10 ** rng.uniform(-2, 2, size=(n, 1))


@pytest.mark.parametrize(
    ("points", "n", "scale"),
    [
        (_half_equal, 1800, {"eps": 1e-4}),
        (_tenth_twice, 1800, {"eps": 1e-4}),
        (_of_all_scales, 1800, {"eps": 1e-3}),
        (_of_all_scales, 600, {"perplexity": 30}),
    ],
)
def test_the_active_set_solves_points_that_repeat_or_differ_in_scale(points, n, scale):
    X = points(n, np.random.default_rng(0))
    a = sparrot.qot(X, **scale, solver="active-set")
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))
    assert a.n_iter < 150  # far points once took 458, in rounds that raised their ceilings


def test_the_active_set_solves_many_points_of_which_a_tenth_repeat():
    X = _tenth_twice(20_000, np.random.default_rng(0))
    a = sparrot.qot(X, 1e-4, solver="active-set")
    assert a.certificate.exact
    assert a.certificate.violation == 0
    assert abs(a.matrix.sum(axis=1) - 1).max() <= 1e-8
    rows = np.random.default_rng(1).choice(20_000, 50, replace=False)
    for i in rows:  # by hand, against all points
        W = np.maximum(a.potential[i] + a.potential - np.square(X - X[i]).sum(axis=1) / 2, 0)
        W[i] = 0
        assert abs(W / a.eps - a.matrix[[i]].toarray()[0]).max() <= 1e-6


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("eps", [1.0, 1e-2, 1e-4])
def test_equal_points_with_one_row_for_all_have_the_plan_of_dense_newton(hollow, eps):
    X = np.random.default_rng(0).standard_normal((300, 3))
    X[:150], X[150:153] = X[0], X[150]  # a large group, and a small one
    X = X[np.random.default_rng(1).permutation(300)]
    with Run() as run:
        problem = Problem(PointCost(X), QuadraticRegularizer(), hollow)
        assert isinstance(make_method(problem, Options("active-set"), run), EqualPoints)
    a = sparrot.qot(X, eps, hollow=hollow, solver="active-set")
    b = sparrot.qot(X, eps, hollow=hollow, solver="newton")
    assert abs(a.matrix - b.matrix).max() <= 2e-8  # each is right to 1e-8 a row
    assert (a.matrix != a.matrix.T).nnz == 0
    assert a.certificate.pairs_checked == b.certificate.pairs_checked
    checked = a.check(X)
    assert checked.marginal_error <= 1e-8
    assert checked.violation <= 1e-13


@pytest.mark.parametrize("seed", range(4))
def test_few_distinct_points_of_many_scales_have_their_plans_with_any_numbers_of_copies(seed):
    rng = np.random.default_rng(seed)
    distinct = rng.standard_normal((20, 3)) * 10 ** rng.uniform(-4, 0, size=(20, 1))
    X = np.repeat(distinct, np.clip(5 * rng.pareto(0.7, 20), 1, 150).astype(int), axis=0)
    a = sparrot.qot(X, 1e-3, solver="active-set")
    assert abs(a.matrix - sparrot.qot(X, 1e-3, solver="newton").matrix).max() <= 2e-8
    assert a.n_iter < 100


def test_equal_points_start_from_the_potential_of_another_eps():
    X = _half_equal(1800, np.random.default_rng(0))
    a = sparrot.qot(X, 0.1)
    b = sparrot.qot(X, 0.1, potential=a)
    assert b.n_iter < a.n_iter
    assert abs(a.matrix - b.matrix).max() <= 2e-8
    c = sparrot.qot(X, perplexity=500)
    assert c.perplexity == pytest.approx(500, rel=0.01)
    with Run() as run:
        method = make_method(Problem(PointCost(X), QuadraticRegularizer()), Options(), run)
        rough, whole = method.rough(0.1, None, 1e-8), method.solve(0.1, None, 1e-8)
        found = method.perplexities(rough)
    assert found == pytest.approx(sparrot.perplexity(whole.plan), rel=1e-7)
    assert_optimal(c.matrix, c.potential, c.eps, half_squared(X))


def test_the_best_iterate_of_a_search_among_equal_points_has_all_of_them():
    X = _half_equal(200, np.random.default_rng(0))
    with pytest.raises(NotConvergedError) as caught:
        sparrot.qot(X, perplexity=60, solver="active-set", max_iter=1)
    best = caught.value.result
    assert best.matrix.shape == (200, 200)
    assert best.check(X).marginal_error == pytest.approx(best.certificate.marginal_error)


def test_few_duplicates_or_floors_or_weights_or_a_checkpoint_leave_each_point_its_row(tmp_path):
    few = PointCost(_tenth_twice(300, np.random.default_rng(0)))
    many = PointCost(_half_equal(300, np.random.default_rng(0)))
    qot, ones = QuadraticRegularizer(), np.ones(300)
    assert many_equal(Problem(many, qot), Options()) is not None
    for problem in (
        Problem(few, qot), Problem(many, TsallisRegularizer()),
        Problem(many, qot, floor=ones), Problem(many, qot, weights=ones),
    ):  # fmt: skip
        assert many_equal(problem, Options()) is None
    assert many_equal(Problem(many, qot), Options(checkpoint=tmp_path / "run.npz")) is None


def test_a_matrix_of_equal_points_that_does_not_fit_is_refused_with_its_entries(monkeypatch):
    X = _half_equal(4000, np.random.default_rng(0))
    what = r"2,000 are equal .* 4,00\d,\d\d\d entries and needs .* drop duplicates"
    with pytest.raises(sparrot.NotEnoughMemoryError, match=what):
        sparrot.qot(X, 1e-3, max_memory=5e7)
    monkeypatch.setattr(ActiveSet, "solve", None)  # most points are equal: refused before that
    X[1999:2500] = X[0]
    with pytest.raises(sparrot.NotEnoughMemoryError, match=r"2,500 are equal .* 6,247,500 ent"):
        sparrot.qot(X, perplexity=2000, max_memory=5e7)


def test_floors_of_points_of_which_half_are_equal_take_few_rounds(monkeypatch):
    rounds = []
    solve = SparseFloorDual.solve
    monkeypatch.setattr(SparseFloorDual, "solve", lambda *a: rounds.append(1) or solve(*a))
    X = _half_equal(1600, np.random.default_rng(0))
    a = sparrot.qot(X, 1e-2, min_neighbors=5)
    assert a.check(X).largest_error <= 1e-8
    assert len(rounds) <= 10  # it was 25, with ceilings as near as those of equal points
    with pytest.raises(sparrot.NotEnoughMemoryError, match="799 of 1600") as caught:
        sparrot.qot(X, perplexity=500, min_neighbors=5, max_memory=1e7)
    assert caught.value.remedies[0] == "take a smaller {perplexity}"


def test_dense_newton_takes_over_where_the_active_set_gives_up(monkeypatch):
    monkeypatch.setattr(ActiveSet, "solve", _gives_up(ActiveSet.solve))
    X = np.random.default_rng(0).standard_normal((1600, 4))
    a = sparrot.qot(X)
    assert a.solver == "newton"
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))
    with pytest.raises(sparrot.NotConvergedError, match="take solver='newton'"):
        sparrot.qot(X, solver="active-set")


def _gives_up(solve):
    def solved(*args, **kwargs):
        return replace(solve(*args, **kwargs), converged=False)

    return solved


@pytest.mark.parametrize("d", [3, 80])  # costs of 80 coordinates are kept where they fit
@pytest.mark.parametrize("eps", [0.1, 1.0])  # tiles with few large entries, and with many
def test_free_memory_does_not_change_a_bit_of_entropic_transport(monkeypatch, d, eps):
    X = np.random.default_rng(0).standard_normal((600, d))
    made, rounded = [], EntropicDual._rounded
    monkeypatch.setattr(
        EntropicDual, "_rounded", lambda self, W, own: made.append(W.shape) or rounded(self, W, own)
    )
    found = []
    for free in (1e12, 2e5):  # the latter less than a third of the plan in float32
        monkeypatch.setattr(_run, "available_memory", lambda free=free: free)
        found.append((sparrot.eot(X, eps, drop=1e-3), len(made)))
    (much, n_made), (little, n_made_in_all) = found
    assert n_made_in_all > 2 * n_made  # tiles that were not kept are made again
    assert np.array_equal(much.potential, little.potential)
    assert np.array_equal(much.matrix.data, little.matrix.data)


def test_a_failure_of_entropic_transport_makes_its_dense_plan_once(monkeypatch):
    made, plan = [], EntropicDual.plan
    monkeypatch.setattr(EntropicDual, "plan", lambda self, f: made.append(1) or plan(self, f))
    with pytest.raises(NotConvergedError) as raised:
        sparrot.eot(points("gaussian", 60), 0.01, max_iter=1)
    assert made == [1]
    assert raised.value.result.matrix.shape == (60, 60)


def _counted(monkeypatch, name, n):
    """How often a method of the entropic dual is called, in passes over all pairs of n points."""
    calls, method = [], getattr(EntropicDual, name)

    def counted(self, *args):
        calls.append((self.n / n) ** 2)
        return method(self, *args)

    monkeypatch.setattr(EntropicDual, name, counted)
    return calls


def test_an_entropic_plan_takes_few_passes(monkeypatch):
    X = points("gaussian", 1200)
    passes = _counted(monkeypatch, "_pass", 1200)
    sparrot.eot(X, perplexity=30)
    assert sum(passes) <= 10


@pytest.fixture
def entropic():
    """A function of eps: a solution whose row sums are right to 1e-10, and its method."""
    X = np.random.default_rng(0).standard_normal((700, 10))
    X[:20] = X[20:40] + 0.01  # couples
    with Run() as run:

        def solved(eps):
            method = make_method(Problem(PointCost(X), EntropicRegularizer(eps)), Options(), run)
            return method.rough(eps, None, 1e-10), method

        yield solved


@pytest.mark.parametrize("eps", [0.01, 0.03, 0.3])  # sparse tiles, both, dense tiles
def test_entropies_of_rows_are_those_of_the_dense_plan(entropic, eps):
    solution, method = entropic(eps)
    found = method.perplexities(solution)
    exact = sparrot.perplexity(method._plan(solution.u / eps)[0])
    # Rows lack at most 1e-3 of their mass m: its entropy, between m log(n / 1e-3) and m log(n / m),
    # is taken half way and off by at most 1e-3 / (2 e).
    assert found == pytest.approx(exact, rel=2e-4)


@pytest.mark.parametrize("eps", [0.01, 0.03, 0.3])
def test_row_sums_hardly_change_along_the_tangent_and_perplexities_by_its_slope(entropic, eps):
    solution, method = entropic(eps)
    du, slope = method.tangent(solution)
    h = 0.01
    dual, method._dual.eps = method._dual, eps * np.exp(h)
    here, along = (dual.error(dual.state(u / dual.eps)) for u in (solution.u, solution.u + h * du))
    assert along < 0.1 * here
    (low, by), (high, other) = entropic(eps * np.exp(-h)), entropic(eps * np.exp(h))
    few, many = by.perplexities(low).mean(), other.perplexities(high).mean()
    assert slope == pytest.approx(np.log(many / few) / (2 * h), rel=0.02)


def test_a_known_slope_takes_the_place_of_a_difference():
    root = Secant(0.0, 1.0, 1e-6, "nothing")
    root.tell(-4.0, 2.0)  # of 2 x - 4
    assert root.x == 2.0


def test_couples_do_not_make_entropic_transport_slow(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    X = np.concatenate([X, X + 0.3 * rng.standard_normal(X.shape)])
    products = _counted(monkeypatch, "_product", len(X))
    W = sparrot.eot(X, 0.02).matrix
    assert np.median(W.max(axis=1)) > 0.99  # the Hessian has eigenvalues below 0.01 of the largest
    assert len(products) < 400  # without their blocks it takes thousands


@pytest.mark.parametrize("eps", [3e-3, 1e-3, 3e-4])
def test_entropic_plans_that_are_nearly_matchings_are_found_in_few_steps(eps):
    X = np.random.default_rng(0).standard_normal((500, 50))
    assert sparrot.eot(X, eps).n_iter <= 40  # rounding decides: 4 to 27 have been seen


def test_entropic_plans_of_points_of_many_scales_are_found_directly(monkeypatch):
    solved, directly = [], _sinkhorn._solved
    monkeypatch.setattr(_sinkhorn, "_solved", lambda *a: solved.append(1) or directly(*a))
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 7)) * 10 ** rng.uniform(-2, 2, (300, 1))
    a = sparrot.eot(X, perplexity=2.5)  # conjugate gradients alone take minutes
    assert solved
    assert a.check(X).marginal_error <= 1e-8
    assert abs(a.perplexity / 2.5 - 1) < 0.01


@pytest.mark.parametrize("trace", [1e-3, 1e-12, 0.0])
def test_a_system_of_couples_is_solved_as_well_as_it_can_be(trace):
    W = np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]) + trace * (1 - np.eye(4))
    sums, r = W.sum(axis=1), np.array([1e-3, 1e-3, -2e-3, -2e-3])
    x = _sinkhorn._solved(W, sums, r)
    assert sums * x + W @ x == pytest.approx(r, abs=1e-8)


def test_kernels_of_any_size_are_projected_by_way_of_easier_ones():
    # Far clusters, of which the projection prefers the far pairs: from zero Newton is lost.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) + 1e3 * rng.integers(0, 3, (80, 1))
    a = sparrot.project(half_squared(X), solver="newton")
    assert a.certificate.marginal_error <= 1e-8
    assert a.n_iter < 40


class _Slow(Dual):
    """Two points whose gradients fall by 2 % a step; that of the first is 1 for many steps."""

    mass, weight = 1.0, np.array([1.0, 1e4])

    def state(self, u):
        near = np.array([abs(u[0]) <= 1, True])
        value = np.where(near, u**2 / 2, np.abs(u) - 0.5).sum()
        return DualState(value, np.where(near, u, np.sign(u)), np.ones(2), lambda x: x)

    def c_transform(self, u, rows):
        raise AssertionError("no point is without entries")

    def direction(self, u, state, delta):
        return -0.02 * state.gradient

    def longest(self, u, step):
        return 1.0


def test_the_worst_point_may_wait_while_all_others_gain():
    u = np.array([4.0, 1e3])  # the error is 1 for 150 steps, the mean falls meanwhile
    found = newton(_Slow(), u, 1e-3, 2000)
    assert sum(error == 1 for error in found.history) >= 150
    assert found.error <= 1e-3


def test_where_no_point_gains_newton_gives_up():
    found = newton(_Slow(), np.array([40.0, 0.0]), 1e-3, 2000)
    assert 100 <= len(found.history) < 200
    assert found.error == 1
