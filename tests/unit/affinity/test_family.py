"""EOT, the q-family, baselines, the general problem: optimality, limits, bad input."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

import sparrot
from problems import assert_optimal, half_squared, points
from sparrot.datasets import make_spiral


def exp_q(x, q):
    return np.exp(x) if q == 1 else np.maximum(1 + (1 - q) * x, 0) ** (1 / (1 - q))


def assert_plan(a, C, q, hollow=True, tol=1e-8):
    """Recompute the plan from its potential, by hand."""
    expected = exp_q((a.potential[:, None] + a.potential - C) / a.eps, q)
    if hollow:
        np.fill_diagonal(expected, 0)
    W = a.matrix.toarray() if issparse(a.matrix) else a.matrix
    assert np.abs(W.sum(axis=1) - 1).max() <= tol
    assert np.array_equal(W, W.T)
    assert np.abs(W - expected).max() <= 1e-9


@pytest.fixture(scope="module")
def mixture():
    rng = np.random.default_rng(0)
    centers = 1.5 * np.array([[1.0, 0], [-0.5, 0.87], [-0.5, -0.87]])
    X = np.zeros((300, 50))
    for k, sigma in enumerate((0.1, 0.4, 1.0)):
        X[100 * k : 100 * (k + 1)] = sigma * rng.standard_normal((100, 50)) / np.sqrt(50)
        X[100 * k : 100 * (k + 1), :2] += centers[k]
    return X


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("eps", [1e-3, 1e-2, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("data", ["spiral", "mixture"])
def test_entropic_rows_sum_to_one_over_the_whole_range(data, eps, hollow, mixture):
    X = mixture if data == "mixture" else make_spiral(300, 100).X
    a = sparrot.eot(X, eps, hollow=hollow)
    assert_plan(a, half_squared(X), 1.0, hollow)
    assert a.check(X).violation <= 1e-10 * a.mean_cost
    assert a.kind == "eot"


def test_streamed_entropic_plan_is_the_dense_one():
    X = make_spiral(400, 50).X
    dense = sparrot.eot(X, 0.05).matrix
    sparse = sparrot.eot(X, 0.05, drop=1e-3)
    streamed = sparrot.eot(X, 0.05, drop=1e-3, max_memory=1e5)
    assert issparse(streamed.matrix)
    assert np.abs(streamed.matrix.toarray() - sparse.matrix.toarray()).max() <= 1e-8
    assert np.abs(dense - sparse.matrix.toarray()).max() <= 1e-3 / 400
    assert sparse.certificate.marginal_error <= 1e-3
    assert sparse.certificate.violation == 0  # no pair that was left out has a positive score
    assert sparse.drop == 1e-3
    with pytest.raises(sparrot.NotEnoughMemoryError, match="take drop=1e-3, for a sparse plan"):
        sparrot.eot(X, 0.05, max_memory=1e5)


@pytest.mark.parametrize("hollow", [True, False])
def test_an_entropic_plan_of_a_perplexity_is_optimal_also_by_way_of_a_part(hollow):
    X = points("gaussian", 1100)
    a = sparrot.eot(X, perplexity=20, hollow=hollow)
    assert_plan(a, half_squared(X), 1.0, hollow)
    assert sparrot.perplexity(a.matrix).mean() == pytest.approx(20, rel=0.01)
    tiny = sparrot.eot(X, a.eps / a.mean_cost, hollow=hollow, drop=1e-6, max_memory=2e6)
    assert np.abs(tiny.matrix.toarray() - a.matrix).max() <= 1e-6 / 1100 + 1e-8  # as of both tols


@pytest.mark.parametrize("solver", ["newton", "active-set"])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.9])
def test_the_q_family_is_optimal(q, solver):
    X = points("gaussian", 300)
    a = sparrot.tsallis(X, 0.3, q, solver=solver)
    assert_plan(a, half_squared(X), q)
    assert a.check(X).violation <= 1e-9 * a.mean_cost
    assert a.certificate.violation == 0


def test_the_q_family_begins_at_qot_and_ends_at_eot():
    X = make_spiral(300, 100).X
    first = sparrot.tsallis(X, 0.5, 0.0)
    assert abs(first.matrix - sparrot.qot(X, 0.5).matrix).max() <= 1e-7
    assert first.potential + first.eps / 2 == pytest.approx(sparrot.qot(X, 0.5).potential, abs=1e-7)
    last = sparrot.eot(X, 0.1).matrix
    errors = [
        np.abs(sparrot.tsallis(X, 0.1, q).matrix.toarray() - last).max() for q in (0.99, 0.999)
    ]
    assert errors[1] <= 0.02 * last.max()
    assert errors[1] == pytest.approx(errors[0] / 10, rel=0.2)  # first order in 1 - q


@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_points_are_connected_at_any_eps(n):
    X = np.arange(float(n))[:, None] ** 2
    assert sparrot.qot(X, "connected").n_connected_components == 1


def test_components_count_every_positive_entry():
    X = points("gaussian", 100)
    a = sparrot.gaussian(X, 0.01)
    assert (a.matrix > 0).all()
    assert a.n_connected_components == 1


@pytest.mark.parametrize("build", [sparrot.eot, sparrot.tsallis])
def test_all_of_the_family_does_not_depend_on_the_number_of_threads(build):
    X = points("gaussian", 1600)
    one, two = (build(X, 0.1, n_jobs=k).matrix for k in (1, 2))
    assert abs(one - two).max() == 0


def test_fat_variants_may_have_loops():
    X = points("gaussian", 100)
    for a in (sparrot.eot(X, 0.1, hollow=False), sparrot.tsallis(X, 0.1, 0.5, hollow=False)):
        assert a.matrix.diagonal().min() > 0
        assert a.certificate.marginal_error <= 1e-8


@pytest.mark.parametrize("regularizer", ["quadratic", "entropic"])
@pytest.mark.parametrize("eps", [0.01, 1.0, 100.0])
def test_general_transport_meets_its_optimality_conditions(eps, regularizer):
    rng = np.random.default_rng(0)
    a, b = rng.random(30), rng.random(50)
    a[3] = 0
    a, b = a / a.sum(), b / b.sum()
    C = rng.random((30, 50))
    plan = sparrot.transport(a, b, C, eps, regularizer=regularizer)
    P = plan.matrix.toarray() if issparse(plan.matrix) else plan.matrix
    assert np.abs(P.sum(axis=1) - a).max() <= 1e-8 * b.max()
    assert np.abs(P.sum(axis=0) - b).max() <= 1e-8 * b.max()
    score = plan.u[:, None] + plan.v - C
    expected = np.exp(score / eps) if regularizer == "entropic" else np.maximum(score, 0) / eps
    assert np.abs(P - expected).max() <= 1e-9
    assert not P[3].any()


@pytest.mark.parametrize("regularizer", ["quadratic", "entropic"])
def test_mass_and_offset_of_the_cost_do_no_harm(regularizer):
    rng = np.random.default_rng(1)
    a, b, C = rng.random(20), rng.random(30), rng.random((20, 30))
    b *= a.sum() / b.sum()
    plain = sparrot.transport(a, b, C, 0.1, regularizer=regularizer).matrix
    moved = sparrot.transport(a, b, C + 1e4, 0.1, regularizer=regularizer).matrix
    assert abs(plain - moved).max() <= 1e-7
    eps = 0.1 if regularizer == "entropic" else 1e5
    light = sparrot.transport(1e-6 * a, 1e-6 * b, C, eps, regularizer=regularizer).matrix
    assert abs(1e6 * light - plain).max() <= 1e-7


def test_hollow_transport_of_uniform_weights_is_the_qot_affinity():
    C = half_squared(points("gaussian", 80))
    ones = np.ones(80)
    W = sparrot.qot(C, metric="precomputed").matrix.toarray()
    P = sparrot.transport(ones, ones, C, C.mean(), hollow=True).matrix.toarray()
    assert np.abs(P - W).max() <= 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": [0.5, 0.6]}, "same sum"),
        ({"a": [1.5, -0.5]}, r"a\[1\] is -0.5"),
        ({"a": [1.0]}, "2 weights, one per row of C"),
        ({"eps": 0}, "eps must be positive"),
        ({"regularizer": "none"}, "quadratic, entropic"),
        ({"hollow": True}, "square"),
        ({"C": np.ones((2, 2)), "b": [0.9, 0.1], "a": [0.9, 0.1], "hollow": True}, "no solution"),
    ],
)
def test_bad_measures_are_named(change, message):
    given = {"a": [0.5, 0.5], "b": [0.2, 0.3, 0.5], "C": np.ones((2, 3)), "eps": 1.0} | change
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.transport(given.pop("a"), given.pop("b"), given.pop("C"), **given)


def test_knn_is_scikit_learns_or_any_transformers():
    X = points("gaussian", 200)
    graph = csr_array(kneighbors_graph(X, 7))
    expected = graph.maximum(graph.T)
    assert (sparrot.knn(X, 7).matrix != expected).nnz == 0
    transformer = KNeighborsTransformer(n_neighbors=7, mode="distance")
    assert (sparrot.knn(X, 7, neighbors=transformer).matrix != expected).nnz == 0
    with pytest.raises(sparrot.InvalidInputError, match="only 7 neighbors"):
        sparrot.knn(X, 20, neighbors=KNeighborsTransformer(n_neighbors=7))


def test_kernels_are_their_formulas():
    X = points("gaussian", 100)
    C = half_squared(X) / half_squared(X).mean()
    K = sparrot.epanechnikov(X, eps=0.5).matrix.toarray()
    assert pytest.approx(np.maximum(1 - C / 0.5 ** (2 / 3), 0), abs=1e-12) == K
    a = sparrot.gaussian_l2(X, 0.7)
    assert_optimal(a.matrix, a.potential, 1.0, -np.exp(-C / 0.7))


def test_the_first_order_kernel_tends_to_qot_on_a_circle():
    errors = []
    for n in (200, 800):
        t = 2 * np.pi * np.arange(n) / n
        X = np.c_[np.cos(t), np.sin(t)]
        W = sparrot.qot(X, 1.0).matrix
        K = sparrot.first_order(X, 1.0, dimension=1, volume=2 * np.pi).matrix
        errors.append(abs(K - W).max() / W.max())
    assert errors[1] < errors[0] < 0.1


@pytest.mark.parametrize("build", [sparrot.knn, sparrot.magic])
def test_few_points_have_all_others_for_neighbors_and_a_warning(build):
    X = points("gaussian", 4)
    with pytest.warns(sparrot.AffinityWarning, match="^n_neighbors is 5 of 4 points") as caught:
        a = build(X, n_neighbors=5)
    assert (a.matrix != build(X, 3).matrix).nnz == 0
    assert caught[0].message.remedy == "take n_neighbors=2 or fewer"
    with pytest.warns(sparrot.AffinityWarning, match="each has all 2 others") as caught:
        build(X[:3], n_neighbors=5)
    assert caught[0].message.remedy == ""  # one neighbor of each makes no graph


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: sparrot.knn(X, 0), "n_neighbors must be an integer from 1 on, got 0"),
        (lambda X: sparrot.gaussian(X, -1), "bandwidth must be positive"),
        (lambda X: sparrot.tsallis(X, 1.0, 1.0), "q must be in \\[0, 1\\), got 1.0"),
        (
            lambda X: sparrot.tsallis(X, 1.0, 0.5, solver="alternating"),
            "take solver='newton' or solver='active-set'",
        ),
        (lambda X: sparrot.eot(X, drop=0), "drop must be positive"),
        (lambda X: sparrot.eot(X, drop=5.0), "drop must be below 1"),
        (lambda X: sparrot.eot(X, "connected"), "pass drop=1e-3 as well"),
        (lambda X: sparrot.magic(X, t=0), "t must be an integer"),
        (lambda X: sparrot.knn(X).check(X), "a knn affinity solves no problem"),
        (lambda X: sparrot.match(X, "knn", np.eye(3)), "kind must be one of"),
        (lambda X: sparrot.perplexity(-np.eye(3)), "W must not be negative"),
        (lambda X: sparrot.perplexity(np.diag([1.0, 0.0])), "no positive entry in row 1"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call(points("gaussian", 30))


def test_kernels_of_compact_support_are_the_same_however_they_are_found():
    X = points("gaussian", 1600)
    C = half_squared(X)
    h = 0.5 * sparrot.epanechnikov(X, 0.5).mean_cost
    np.testing.assert_allclose(
        sparrot.epanechnikov(X, 0.5).matrix.toarray(), np.maximum(1 - C / h, 0), atol=1e-12
    )
    np.testing.assert_allclose(
        sparrot.epanechnikov(X[:1500], 0.5).matrix.toarray(),
        np.maximum(1 - C[:1500, :1500] / (0.5 * sparrot.qot(X[:1500]).mean_cost), 0),
        atol=1e-12,
    )


def test_a_kernel_is_no_metric():
    with pytest.raises(sparrot.InvalidInputError, match="metric must be the name of a metric"):
        sparrot.gaussian(np.eye(4), metric="kernel")
