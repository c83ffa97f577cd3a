"""Points with weights: the problem of a measure, whatever way the measure is written down."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import sparrot
from problems import half_squared, points
from sparrot.cost import PointCost, make_cost
from sparrot.engine import Run
from sparrot.ot import Problem, QuadraticRegularizer, TsallisRegularizer, screen
from sparrot.ot._ctransform import transform_scores
from sparrot.ot._dual import DenseDual, SparseDual
from sparrot.ot._newton import newton
from sparrot.ot._screening import Pairs, Support


def some_weights(n, seed=0, spread=1.0):
    return np.exp(spread * np.random.default_rng(seed).standard_normal(n))


def assert_weighted_optimal(a, C, w, *, hollow=True, tol=1e-8):
    """The optimality conditions, by brute force over all entries; densities err as scores do."""
    A, u = a.matrix.toarray(), a.potential
    rounding = 64 * np.finfo(np.float64).eps * (np.abs(C).max() + np.abs(u).max())
    score = u[:, None] + u - C
    if hollow:
        np.fill_diagonal(score, -np.inf)
    assert A.min() >= 0
    assert np.array_equal(A, A.T)
    assert np.abs(A.sum(axis=1) / w - 1).max() <= tol
    assert np.abs(a.eps * A / np.outer(w, w) - np.maximum(score, 0)).max() <= 2 * rounding


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("solver", ["newton", "active-set"])
@pytest.mark.parametrize("name", ["gaussian", "spiral", "cauchy", "line"])
def test_optimality_by_brute_force(name, solver, hollow):
    X = points(name, 120)
    w = some_weights(len(X))
    for eps in (0.05, 1.0):
        a = sparrot.qot(X, eps, weights=w, solver=solver, hollow=hollow)
        assert_weighted_optimal(a, half_squared(X), w, hollow=hollow)
        assert a.relative_eps == pytest.approx(eps)
        certificate = a.check(X)
        assert certificate.marginal_error <= 1e-8
        assert certificate.violation <= 1e-12 * half_squared(X).max()


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_the_active_set_is_optimal_on_many_points_with_very_uneven_weights(spread):
    X, w = points("gaussian", 2500)[:, :8], some_weights(2500, 1, spread)
    a = sparrot.qot(X, 0.5, weights=w / w.mean())
    assert a.solver == "active-set"
    assert a.certificate.exact
    assert_weighted_optimal(a, half_squared(X), w / w.mean())


def test_a_point_may_weigh_nearly_as_much_as_all_others():
    X = points("gaussian", 1600)[:, :4]
    w = np.r_[0.9 * 1599, np.ones(1599)]
    for solver in ("newton", "active-set"):
        a = sparrot.qot(X, 1.0, weights=w, solver=solver)
        assert_weighted_optimal(a, half_squared(X), w)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_few_points_with_uneven_weights_are_solved_by_all_that_solve_many(n):
    X = points("gaussian", n)[:, :2]
    for seed in range(20):
        w = some_weights(n, seed, 2.0)
        w = np.minimum(w, 0.95 * (w.sum() - w.max()))
        for eps in (0.1, 40.0):
            a, b = (
                sparrot.qot(X, eps, weights=w / w.mean(), solver=solver)
                for solver in ("newton", "active-set")
            )
            assert abs(a.matrix - b.matrix).max() <= 1e-6


def cvxpy_plan(C, w, eps, hollow):
    """The stated problem, by a solver of quadratic programs."""
    cp = pytest.importorskip("cvxpy")
    n = len(C)
    A = cp.Variable((n, n), nonneg=True)
    scaled = cp.multiply(A, 1 / np.sqrt(np.outer(w, w)))
    constraints = [A == A.T, cp.sum(A, axis=1) == w] + ([cp.diag(A) == 0] if hollow else [])
    objective = cp.Minimize(cp.sum(cp.multiply(C, A)) + eps / 2 * cp.sum_squares(scaled))
    cp.Problem(objective, constraints).solve(solver="CLARABEL")
    return A.value


@pytest.mark.parametrize("hollow", [True, False])
def test_a_quadratic_program_finds_the_same_plan(hollow):
    X = points("gaussian", 14)[:, :2]
    C, w = half_squared(X), some_weights(14)
    a = sparrot.qot(X, 0.7, weights=w, hollow=hollow)
    assert np.abs(a.matrix.toarray() - cvxpy_plan(C, w, a.eps, hollow)).max() <= 1e-5


def test_a_quadratic_program_finds_the_same_plan_between_two_measures():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(3)
    a, b, C = rng.random(9), rng.random(12), rng.random((9, 12))
    b *= a.sum() / b.sum()
    P = cp.Variable(C.shape, nonneg=True)
    density = cp.multiply(P, 1 / np.sqrt(np.outer(a, b)))
    objective = cp.Minimize(cp.sum(cp.multiply(C, P)) + 0.15 * cp.sum_squares(density))
    cp.Problem(objective, [cp.sum(P, axis=1) == a, cp.sum(P, axis=0) == b]).solve(solver="CLARABEL")
    ours = sparrot.transport(a, b, C, 0.3, reference="product").matrix.toarray()
    assert np.abs(ours - P.value).max() <= 1e-5


def copies(w):
    """Which point each of its copies belongs to, as a matrix of zeros and ones."""
    return np.repeat(np.eye(len(w)), w.astype(int), axis=0)


@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_a_weight_is_the_same_as_so_many_equal_points(solver):
    X = points("gaussian", 60)[:, :3]
    w = np.random.default_rng(0).integers(1, 6, 60).astype(float)
    S = copies(w)
    fine = sparrot.qot(S @ X, 0.3, hollow=False, solver=solver)
    coarse = sparrot.qot(X, 0.3, weights=w, hollow=False, solver=solver)
    assert coarse.eps == pytest.approx(fine.eps)
    assert coarse.mean_cost == pytest.approx(fine.mean_cost)
    assert np.abs(S.T @ fine.matrix.toarray() @ S - coarse.matrix.toarray()).max() <= 1e-6
    # A random walk among the copies, and its lumping: the same eigenvalues, but for zeros.
    walk = np.linalg.eigvalsh(fine.matrix.toarray())
    lumped = np.linalg.eigvalsh(coarse.matrix.toarray() / np.sqrt(np.outer(w, w)))
    assert np.abs(np.sort(walk[np.abs(walk) > 1e-6]) - lumped[np.abs(lumped) > 1e-6]).max() <= 1e-6


def test_hollow_weights_are_equal_points_without_affinity_to_each_other():
    X = points("gaussian", 50)[:, :3]
    w = np.random.default_rng(1).integers(1, 4, 50).astype(float)
    S = copies(w)
    C = half_squared(S @ X)
    eps, wall = 0.3 * C.mean(), 1e3 * C.max() * (S @ S.T)
    fine = sparrot.project(-(C + wall) / eps).matrix.toarray()
    coarse = sparrot.qot(X, 0.3, weights=w)
    assert coarse.eps == pytest.approx(eps)
    assert np.abs(S.T @ fine @ S - coarse.matrix.toarray()).max() <= 1e-6


def test_a_point_of_a_measure_may_be_cut_in_two_under_the_product_and_under_no_other():
    rng = np.random.default_rng(0)
    a, b, C = rng.random(8), rng.random(11), rng.random((8, 11))
    b *= a.sum() / b.sum()
    cut = np.r_[a[:4], 0.3 * a[4], 0.7 * a[4], a[5:]]
    rows = np.r_[:5, 4:8]
    for reference, same in (("product", True), ("counting", False)):
        whole, parts = (
            sparrot.transport(m, b, D, 3.0, reference=reference).matrix.toarray()
            for m, D in ((a, C), (cut, C[rows]))
        )
        joined = np.vstack([parts[:4], parts[4] + parts[5], parts[6:]])
        assert (np.abs(joined - whole).max() <= 1e-7) == same
        assert np.allclose(parts[4] / 0.3, parts[5] / 0.7, atol=1e-7) == same


@pytest.mark.parametrize("hollow", [True, False])
def test_weights_are_transport_of_the_measure_onto_itself(hollow):
    X = points("spiral", 90)
    C, w = half_squared(X), some_weights(90)
    a = sparrot.qot(X, 0.5, weights=w, hollow=hollow)
    P = sparrot.transport(w, w, C, a.eps, reference="product", hollow=hollow)
    assert np.abs(P.matrix.toarray() - a.matrix.toarray()).max() <= 1e-6
    score = np.maximum(P.u[:, None] + P.v - C, 0)
    if hollow:
        np.fill_diagonal(score, 0)
    assert np.allclose(P.matrix.toarray(), np.outer(w, w) * score / a.eps, atol=1e-12)


def test_entropic_plans_know_no_reference_but_in_their_potentials():
    rng = np.random.default_rng(0)
    a, b, C = rng.random(8), rng.random(11), rng.random((8, 11))
    b *= a.sum() / b.sum()
    plain, product = (
        sparrot.transport(a, b, C, 0.2, regularizer="entropic", reference=reference)
        for reference in ("counting", "product")
    )
    assert np.abs(plain.matrix - product.matrix).max() <= 1e-12
    density = np.exp((product.u[:, None] + product.v - C) / 0.2)
    assert np.allclose(product.matrix, np.outer(a, b) * density)


@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_equal_weights_are_none_and_a_common_factor_is_one_of_eps(solver):
    X, w = points("gaussian", 100), some_weights(100)
    plain = sparrot.qot(X, 0.5, solver=solver)
    ones = sparrot.qot(X, 0.5, weights=np.ones(100), solver=solver)
    assert abs(plain.matrix - ones.matrix).max() <= 1e-7
    a, b = (sparrot.qot(X, t * 0.5, weights=t * w, solver=solver) for t in (1.0, 1e-3))
    assert np.abs(a.potential - b.potential).max() <= 1e-6 * a.mean_cost
    assert abs(a.matrix - 1e3 * b.matrix).max() <= 1e-6


def test_a_shift_for_each_point_changes_nothing():
    X, w = points("gaussian", 60), some_weights(60)
    C = half_squared(X)
    s = C.mean() * np.random.default_rng(0).exponential(size=60)
    eps = 0.4 * C.mean()
    plain, moved = (
        sparrot.transport(w, w, D, eps, reference="product", hollow=True).matrix
        for D in (C, C + s[:, None] + s)
    )
    assert abs(plain - moved).max() <= 1e-6


def test_results_do_not_depend_on_the_number_of_threads():
    X, w = points("gaussian", 2000)[:, :6], some_weights(2000)
    one, two = (sparrot.qot(X, 0.2, weights=w, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.potential, two.potential)
    assert np.array_equal(one.matrix.data, two.matrix.data)


def test_a_perplexity_is_met():
    X, w = points("gaussian", 500)[:, :5], some_weights(500)
    a = sparrot.qot(X, perplexity=15, weights=w / w.sum())
    assert sparrot.perplexity(a.matrix).mean() == pytest.approx(15, rel=0.01)


def test_a_check_sees_wrong_weights_and_wrong_entries():
    X, w = points("gaussian", 60), some_weights(60)
    a = sparrot.qot(X, 0.5, weights=w)
    other = w.copy()
    other[7] *= 1.01
    assert replace(a, weights=other).check(X).marginal_error >= 0.009
    assert replace(a, weights=other).check(X).violation > 1e-6 * a.eps
    assert replace(a, weights=None).check(X).largest_error > 0.1
    W = a.matrix.copy()
    W.data[5] *= 1 + 1e-6
    assert replace(a, matrix=W).check(X).violation > 1e-9 * a.eps / w.max() ** 2
    for bad in (np.nan, 0.0, -1.0):
        other[7] = bad
        assert replace(a, weights=other).check(X).violation == np.inf


@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
def test_weights_are_kept_in_files(tmp_path, suffix):
    X, w = points("gaussian", 40), some_weights(40)
    a = sparrot.qot(X, 0.5, weights=w)
    sparrot.save(a, tmp_path / f"a{suffix}")
    b = sparrot.load(tmp_path / f"a{suffix}")
    assert np.array_equal(b.weights, w)
    assert b.certificate == a.certificate
    assert b.check(X).largest_error <= 1e-8


def test_leading_eigenvectors_are_those_of_the_copies():
    X = points("gaussian", 80)[:, :2]
    w = np.random.default_rng(0).integers(1, 5, 80).astype(float)
    fine = sparrot.qot(copies(w) @ X, 2.0, hollow=False)
    coarse = sparrot.qot(X, 2.0, weights=w, hollow=False)
    few, many = sparrot.eigenpairs(coarse, 4), sparrot.eigenpairs(fine, 4)
    assert few.values == pytest.approx(many.values, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": np.ones(3)}, "must be 20 weights, one per point"),
        ({"weights": np.full(20, 1e308)}, "got the sum inf; divide them by the largest"),
        ({"weights": np.r_[0.0, np.ones(19)]}, "weights must be positive, but that of point 0"),
        ({"weights": np.r_[-1.0, np.ones(19)]}, r"weights\[0\] is -1"),
        ({"weights": np.r_[20.0, np.ones(19)]}, "leave no solution without self-loops: point 0"),
        ({"weights": np.ones(20), "min_neighbors": 3}, "floor"),
        ({"weights": np.ones(20), "n_neighbors": 5}, "floor"),
        ({"weights": np.ones(20), "solver": "alternating"}, "'alternating' does not solve"),
        ({"weights": np.ones(20), "search": "approximate"}, "points of equal weights"),
    ],
)
def test_what_cannot_be_is_named(arguments, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.qot(points("gaussian", 20), **arguments)


def test_a_point_of_more_than_half_the_weight_needs_itself():
    w = np.r_[20.0, np.ones(19)]
    a = sparrot.qot(points("gaussian", 20), weights=w, hollow=False)
    assert a.matrix[0, 0] >= 1.0
    with pytest.raises(sparrot.InvalidInputError, match="has no rows for new points"):
        sparrot.resume(a, points("gaussian", 20))


@pytest.fixture
def duals():
    X, w = points("gaussian", 80), some_weights(80)
    cost = PointCost(X)
    C = half_squared(X) / cost.unit
    np.fill_diagonal(C, np.inf)
    r = np.full(80, 0.6)
    with Run(2) as run:
        support = Support.of(screen(cost, r, run), 80)
        linear = QuadraticRegularizer(1.0)
        yield {
            "dense": DenseDual(C, linear, run, w),
            "power": DenseDual(C, TsallisRegularizer(1.0, q=0.5), run, w),
            "sparse": SparseDual(support, r, np.full(80, 5.0), linear, run, w),
            "copies": _dual_of_copies(cost, r, run),
        }


def _dual_of_copies(cost, r, run):
    w = np.where(np.arange(80) % 3, 1.0, 4.0)
    problem = Problem(cost, QuadraticRegularizer(1.0), weights=w, copies=True)
    own = problem.loops
    support = Support.of(Pairs.join([screen(cost, r, run), Pairs(own, own, 0.0 * own)]), 80)
    itself = np.where(w > 1, 1.0, 0.0)
    return SparseDual(support, r, np.full(80, 5.0), problem.regularizer, run, w, itself)


@pytest.mark.parametrize("kind", ["dense", "power", "sparse", "copies"])
def test_gradient_and_hessian_are_derivatives(duals, kind):
    dual = duals[kind]
    rng = np.random.default_rng(0)
    x, y = 0.45 + 0.3 * rng.random(80), rng.standard_normal(80)
    t = 1e-6
    state = dual.state(x)
    slope, product = state.gradient @ y, state.hessian(y)
    there, back = dual.state(x + t * y), dual.state(x - t * y)
    assert (there.value - back.value) / (2 * t) == pytest.approx(slope, rel=1e-5)
    error = (there.gradient - back.gradient) / (2 * t) - product
    assert np.median(np.abs(error)) <= 1e-5


@pytest.mark.parametrize("kind", ["dense", "power", "sparse", "copies"])
def test_lonely_rows_are_lifted(duals, kind):
    result = newton(duals[kind], np.full(80, -50.0), 1e-9, 200)
    assert result.error <= 1e-9


def test_a_block_of_scores_has_one_transform_compiled_or_not():
    rng = np.random.default_rng(0)
    S, w = rng.standard_normal((700, 1500)), some_weights(1500)
    compiled = transform_scores(S, QuadraticRegularizer(2.0), weights=w)
    plain = transform_scores(S, QuadraticRegularizer(), 2.0, w)
    assert np.abs(compiled - plain).max() <= 1e-12
    rows = (np.maximum(compiled[:, None] + S, 0) * w).sum(axis=1)
    assert np.abs(rows - 2).max() <= 1e-11


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "manhattan"])
def test_the_mean_cost_under_weights_is_that_of_the_copies(metric):
    X = points("gaussian", 300)
    w = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    one, many = make_cost(X, metric), make_cost(copies(w) @ X, metric)
    assert one.unit * one.mean_under(w) == pytest.approx(many.unit, rel=1e-12)
    assert csr_array(copies(w)).sum() == w.sum()
