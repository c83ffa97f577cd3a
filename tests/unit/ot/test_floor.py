"""A floor on the effective number of neighbors of every row."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

import sparrot
from problems import (
    assert_floor_optimal,
    effective,
    half_squared,
    manufactured_floor,
    points,
)
from sparrot._files import digest
from sparrot._kernels import floor_transform_rows
from sparrot.affinity import _registry as registry
from sparrot.affinity._kinds import KINDS
from sparrot.cost import make_cost
from sparrot.engine import Run
from sparrot.ot import Certificate, Options, Problem, QuadraticRegularizer, _ctransform
from sparrot.ot._active_set import ActiveSet, Ceilings
from sparrot.ot._barrier import CentralPath
from sparrot.ot._ctransform import Reference
from sparrot.ot._dense import DenseNewton
from sparrot.ot._floor import (
    DenseFloorDual,
    FloorDual,
    PatchDual,
    SparseFloorDual,
    floor_certificate,
    transform_rows,
)
from sparrot.ot._newton import newton
from sparrot.ot._screening import Support


def outliers(n, p=5):
    """A Gaussian cloud of which one point in 25 is far out."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, p))
    X[:: n // (n // 25)] *= rng.uniform(5, 40, len(X[:: n // (n // 25)]))[:, None]
    return X


def far_clusters(n):
    rng = np.random.default_rng(4)
    return np.vstack([rng.standard_normal((n // 2, 4)), 60 + rng.standard_normal((n - n // 2, 4))])


CLOUDS = {
    "gaussian": points("gaussian", 150),
    "outliers": outliers(150),
    "duplicates": points("duplicates", 150),
    "cauchy": points("cauchy", 150),
    "two far clusters": far_clusters(150),
    "three far points": points("two-clusters", 150),
    "one far point": points("far-point", 150),
    "digits": points("digits", 150),
}
AGREE = {
    "gaussian": points("gaussian", 300),
    "swiss-roll": points("swiss-roll", 300),
    "digits": points("digits", 300),
    "outliers": outliers(300),
    "cauchy": points("cauchy", 300),
    "duplicates": points("duplicates", 300),
    "two far clusters": far_clusters(300),
}
SOLVERS = ("newton", "active-set")
FAR_PAIRS = np.array([[0.0, 0.0], [1.0, 0.0], [100.0, 0.0], [101.0, 0.0]])


# The optimum


@pytest.mark.parametrize(
    "arguments",
    [
        {"eps": 0.1, "min_neighbors": 5},
        {"eps": 1e-3, "min_neighbors": 3},
        {"eps": 0.02, "min_neighbors": 60},
        {"perplexity": 8, "min_neighbors": 6},
        {"n_neighbors": 15},
    ],
    ids=str,
)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", CLOUDS)
def test_every_result_is_optimal(name, solver, arguments):
    X = CLOUDS[name]
    k = arguments.get("min_neighbors", arguments.get("n_neighbors"))
    a = sparrot.qot(X, solver=solver, **arguments)
    assert_floor_optimal(a, half_squared(X), k)
    assert np.array_equal(a.min_neighbors, np.full(len(X), k))
    if "perplexity" in arguments:
        assert a.perplexity == pytest.approx(8, rel=0.01)
    if "eps" in arguments:
        assert a.relative_eps == pytest.approx(arguments["eps"], rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("metric", ["cosine", "manhattan", "euclidean"])
def test_every_metric_can_have_a_floor(metric, solver):
    X = points("gaussian", 120)
    C = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    a = sparrot.qot(X, 0.1, metric=metric, min_neighbors=5, solver=solver)
    assert_floor_optimal(a, (C + C.T) / 2, 5)
    b = sparrot.qot((C + C.T) / 2, 0.1, metric="precomputed", min_neighbors=5, solver=solver)
    assert abs(a.matrix - b.matrix).max() <= 1e-7


@pytest.mark.parametrize("solver", SOLVERS)
def test_each_point_may_have_a_floor_of_its_own(solver):
    X = outliers(150)
    k = np.random.default_rng(0).uniform(1, 40, 150)
    a = sparrot.qot(X, 0.01, min_neighbors=k, solver=solver)
    assert_floor_optimal(a, half_squared(X), k)
    assert np.array_equal(a.min_neighbors, k)


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_one_point_may_have_all_others_as_neighbors(solver):
    X = points("gaussian", 40)
    k = np.full(40, 3.0)
    k[7] = 39
    a = sparrot.qot(X, 0.1, min_neighbors=k, solver=solver)
    row = np.where(np.arange(40) == 7, 0, 1 / 39)
    # |W_i - 1/39|^2 = |W_i|^2 - 1/39 is as small as the floor is met: to 1e-8 of 1/39
    assert np.linalg.norm(a.matrix.toarray()[7] - row) <= np.sqrt(3e-8 / 39)
    model = sparrot.QOT(0.1, min_neighbors=k, solver=solver).fit(X)
    assert np.abs(model.transform(X[7:9]).toarray()[0] - row).max() <= 1e-9
    assert a.solver == "newton"


def test_all_others_as_neighbors_are_for_the_dense_solver_and_nothing_is_replaced_in_silence():
    X = points("gaussian", 40)
    with pytest.raises(sparrot.InvalidInputError, match="a floor of all other points") as caught:
        sparrot.qot(X, 0.1, min_neighbors=39, solver="active-set")
    assert (caught.value.parameter, caught.value.remedy) == ("solver", "take solver='newton'")
    with pytest.raises(sparrot.NotEnoughMemoryError, match="lower the largest min_neighbors"):
        sparrot.qot(X, 0.1, min_neighbors=39, max_memory=1e4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_self_loops_can_have_a_floor(solver):
    X = points("gaussian", 150)
    a = sparrot.qot(X, 0.1, hollow=False, min_neighbors=5, solver=solver)
    assert_floor_optimal(a, half_squared(X), 5, hollow=False)
    assert a.matrix.diagonal().max() > 0
    b = sparrot.qot(X, 0.1, hollow=False, min_neighbors=150)
    assert np.abs(b.matrix.toarray() - 1 / 150).max() <= 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n", "seed"), [(8, 0), (40, 1), (150, 2), (150, 3)])
def test_manufactured_solutions_are_found(n, seed, solver):
    C, eps, k, P = manufactured_floor(n, seed)
    a = sparrot.qot(C, eps / C.mean(), metric="precomputed", min_neighbors=k, solver=solver)
    assert np.abs(a.matrix.toarray() - P).max() <= 1e-6
    assert_floor_optimal(a, C, k)
    assert (a.row_eps[1::2] <= 1e-6 * eps).all()
    assert (a.row_eps[::2][k[::2] > 1] > 0).any()


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # as accurate as it can be
@pytest.mark.parametrize("eps", [1.0, 0.1])
@pytest.mark.parametrize("name", ["gaussian", "outliers", "cauchy"])
def test_a_general_convex_solver_agrees(name, eps):
    cp = pytest.importorskip("cvxpy")
    n = 30
    X = CLOUDS[name][:n]
    C = half_squared(X)
    k = np.linspace(2, 12, n)
    i, j = np.triu_indices(n, 1)
    x = cp.Variable(len(i), nonneg=True)  # the entries above the diagonal
    rows = [np.flatnonzero((i == row) | (j == row)) for row in range(n)]
    problem = cp.Problem(
        cp.Minimize((C[i, j] / C.mean()) @ x + eps * cp.sum_squares(x) / 2),
        [cp.sum(x[row]) == 1 for row in rows]
        + [cp.norm(x[row]) <= k[r] ** -0.5 for r, row in enumerate(rows)],
    )
    exact = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    problem.solve(solver=cp.CLARABEL, **exact)
    a = sparrot.qot(X, eps, min_neighbors=k, tol=1e-10)
    assert np.abs(x.value - a.matrix.toarray()[i, j]).max() <= 1e-6


@pytest.mark.parametrize("arguments", [{"eps": 0.1, "min_neighbors": 5}, {"n_neighbors": 15}])
@pytest.mark.parametrize("name", AGREE)
def test_dense_and_sparse_agree(name, arguments):
    X = AGREE[name]
    a, b = (sparrot.qot(X, solver=solver, tol=1e-10, **arguments) for solver in SOLVERS)
    assert (a.solver, b.solver) == SOLVERS
    assert a.relative_eps == b.relative_eps  # that of n_neighbors is found before either solves
    assert abs(a.matrix - b.matrix).max() <= 1e-7


# Small cases that are known


@pytest.mark.parametrize("solver", ["auto", "newton"])
@pytest.mark.parametrize("n", [2, 3, 4, 10, 60])
def test_as_many_neighbors_as_there_are_points_are_uniform(n, solver):
    X = np.random.default_rng(n).standard_normal((n, 3))
    uniform = (1 - np.eye(n)) / (n - 1)
    for a in (
        sparrot.qot(X, min_neighbors=n - 1, solver=solver),
        sparrot.qot(X, n_neighbors=n - 1, solver=solver),
        sparrot.project(X @ X.T, min_neighbors=n - 1, solver=solver),
    ):
        assert np.abs(a.matrix.toarray() - uniform).max() <= 1e-6
        assert a.certificate.exact


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", [1, 1.5, 1.99])
def test_three_points_leave_no_choice(k, solver):
    X = np.array([[0.0], [1.0], [5.0]])
    W = sparrot.qot(X, 0.1, min_neighbors=k, solver=solver).matrix.toarray()
    assert np.abs(W - (1 - np.eye(3)) / 2).max() <= 1e-7


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("eps", [1.0, 0.1, 0.001])
@pytest.mark.parametrize("k", [1.01, 2, 2.9])
def test_two_far_pairs_must_link(k, eps, solver):
    assert sparrot.qot(FAR_PAIRS, 0.001).n_connected_components == 2
    a = sparrot.qot(FAR_PAIRS, eps, min_neighbors=k, solver=solver)
    assert a.n_connected_components == 1
    assert_floor_optimal(a, half_squared(FAR_PAIRS), k)
    assert (effective(a.matrix) >= k * (1 - 1e-8)).all()


@pytest.mark.filterwarnings("ignore:the graph has 2 components")
@pytest.mark.parametrize(
    ("solver", "eps", "sizes", "k"),
    [
        ("newton", 1e-10, (24, 29), 26),
        ("newton", 1e-10, (10, 20, 20), 11),
        ("active-set", 1e-8, (24, 29), 26),
        ("active-set", 1e-10, (10, 20, 20), 11),
        ("active-set", 1e-10, (10, 20, 20), 12),
    ],
)
def test_a_cluster_of_fewer_points_than_a_floor_links_to_others_however_far(solver, eps, sizes, k):
    """Its potentials are ten decades above those of the other clusters."""
    n = sum(sizes)
    far = 1e6 * np.repeat(np.arange(len(sizes)), sizes)[:, None]
    X = np.random.default_rng(0).standard_normal((n, 6)) + far
    a = sparrot.qot(X, eps, min_neighbors=k, solver=solver)
    assert_floor_optimal(a, half_squared(X), k)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("seed", "k"), [(7, 2), (66, 2), (85, 2), (85, 3)])
def test_pairs_that_a_floor_hardly_parts_are_solved(seed, k, solver):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 20))
    K = 30 * rng.standard_normal((n, n))
    a = sparrot.project(K + K.T, min_neighbors=k, solver=solver)
    assert_floor_optimal(a, -K - K.T, k)


@pytest.mark.parametrize("solver", SOLVERS)
def test_four_points_are_as_computed_by_hand(solver):
    """Rows (a, b, c) with costs (0, 1, 2): symmetric, so that every row is the same problem.

    With u for all, d = eps + e and a > b > c > 0: (2u, 2u - 1, 2u - 2) / d sum to one, 6u - 3 = d,
    so the row is 1/3 + (1, 0, -1) / d and its squares sum to 1/3 + 2 / d^2.
    """
    C = np.array([[0.0, 0, 1, 2], [0, 0, 2, 1], [1, 2, 0, 0], [2, 1, 0, 0]])
    k = 2.5
    a = sparrot.qot(C, 1.0, metric="precomputed", min_neighbors=k, solver=solver)
    d = np.sqrt(2 / (1 / k - 1 / 3))
    assert a.row_eps.mean() == pytest.approx(d - C.mean(), rel=1e-6)  # each alone is not unique
    assert a.matrix.toarray()[0] == pytest.approx([0, 1 / 3 + 1 / d, 1 / 3, 1 / 3 - 1 / d])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["gaussian", "outliers", "two far clusters"])
def test_a_floor_of_one_is_no_floor(name, solver):
    X = CLOUDS[name]
    a, b = (sparrot.qot(X, 0.3, solver=solver, min_neighbors=k) for k in (1, None))
    assert abs(a.matrix - b.matrix).max() <= 1e-7
    assert_floor_optimal(a, half_squared(X), 1)
    assert not a.row_eps[effective(a.matrix) > 1 + 1e-6].any()  # a pair of weight one may have some
    assert b.row_eps is None
    assert b.min_neighbors is None


def test_a_floor_that_all_rows_meet_changes_nothing():
    X = points("gaussian", 200)
    plain = sparrot.qot(X)
    a = sparrot.qot(X, min_neighbors=0.99 * effective(plain.matrix).min())
    assert abs(a.matrix - plain.matrix).max() <= 1e-7
    assert not a.row_eps.any()


def test_outliers_no_longer_fall_off():
    X = outliers(500)
    assert sparrot.qot(X, perplexity=10).n_connected_components > 1
    a = sparrot.qot(X, perplexity=10, min_neighbors=5)
    assert a.n_connected_components == 1
    assert effective(a.matrix).min() >= 5 * (1 - 1e-8)


@pytest.mark.parametrize("name", ["gaussian", "outliers", "digits", "two far clusters"])
def test_k_means_k(name):
    X = CLOUDS[name]
    a = sparrot.qot(X, n_neighbors=10)
    k = effective(a.matrix)
    assert k.min() >= 10 * (1 - 1e-8)
    assert np.median(k) <= 10.01
    assert a.relative_eps > 0
    again = sparrot.qot(X, a.relative_eps, min_neighbors=10)
    assert abs(again.matrix - a.matrix).max() <= 1e-6


# The floor that is chosen for the user


@pytest.mark.parametrize(
    ("arguments", "floor"),
    [
        ({}, 5.0),
        ({"eps": 0.3}, 5.0),
        ({"perplexity": 30}, 5.0),
        ({"perplexity": 6}, 3.0),
        ({"perplexity": 1.5}, None),
        ({"eps": "connected"}, None),
    ],
)
def test_the_floor_goes_with_the_scale(arguments, floor):
    X = points("gaussian", 100)
    chosen = sparrot.qot(X, min_neighbors="auto", **arguments)
    by_hand = sparrot.qot(X, min_neighbors=floor, **arguments)
    assert (chosen.matrix != by_hand.matrix).nnz == 0
    found = chosen.min_neighbors
    assert (None if found is None else found.min()) == floor
    rows = sparrot.qot(X, n_neighbors=10, min_neighbors="auto")
    assert set(rows.min_neighbors) == {10.0}


@pytest.mark.parametrize("n", range(2, 13))
def test_the_floor_of_few_points_is_half_of_the_others(n):
    found = sparrot.qot(points("gaussian", n), min_neighbors="auto").min_neighbors
    if n < 4:
        assert found is None
    else:
        assert set(found) == {min(5, (n - 1) / 2)}


def test_functions_and_estimators_of_qot_have_no_floor_unless_asked():
    X = points("gaussian", 60)
    assert sparrot.qot(X).min_neighbors is None
    assert sparrot.QOT().fit(X).result_.min_neighbors is None
    assert sparrot.qot(X, min_neighbors=0).min_neighbors is None
    assert all(a.min_neighbors is None for a in sparrot.qot_path(X, [1.0, 0.3]))


@pytest.mark.parametrize("estimator", ["Eigenmaps", "DiffusionMap", "SpectralClustering"])
def test_spectral_estimators_give_qot_a_floor_where_they_build_it_by_name(estimator):
    X = outliers(150)
    make = getattr(sparrot, estimator)
    model = make(2).fit(X)
    assert model.affinity_estimator_.min_neighbors == "auto"
    assert effective(model.affinity_).min() >= 5 * (1 - 1e-8)
    plain = make(2, affinity=sparrot.QOT(), components="each").fit(X)
    assert effective(plain.affinity_).min() < 2


# Whatever else an affinity can do


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_path_has_the_same_floor_at_every_eps(solver):
    X = outliers(150)
    C = half_squared(X)
    grid = [1.0, 0.1, 0.01, 0.3]
    for eps, a in zip(grid, sparrot.qot_path(X, grid, min_neighbors=4, solver=solver), strict=True):
        assert_floor_optimal(a, C, 4)
        alone = sparrot.qot(X, eps, min_neighbors=4)
        assert abs(a.matrix - alone.matrix).max() <= 1e-6


def test_a_path_in_a_pool_of_neighbors_has_a_floor_too():
    X = points("spiral")
    options = {"search": "approximate", "neighbors": sparrot.KNeighborsTransformer(n_neighbors=150)}
    for a in sparrot.qot_path(X, [0.4, 0.1, 0.025], min_neighbors=5, **options):
        exact = sparrot.qot(X, a.relative_eps, min_neighbors=5)
        assert abs(a.matrix - exact.matrix).max() <= 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_projection_can_have_a_floor(solver):
    X = points("gaussian", 100)
    K = X @ X.T
    a = sparrot.project(K, min_neighbors=7, solver=solver)
    assert a.eps == pytest.approx(1)
    assert_floor_optimal(replace(a, eps=1.0), -K, 7)
    C = K.max() - K
    np.fill_diagonal(C, 0)
    b = sparrot.qot(C, 1 / C.mean(), metric="precomputed", min_neighbors=7)
    assert abs(a.matrix - b.matrix).max() <= 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_any_potential_to_start_from_gives_the_same(solver):
    X = outliers(400)
    arguments = {"eps": 0.05, "min_neighbors": 6, "solver": solver}
    a = sparrot.qot(X, **arguments)
    for start in (a.potential, np.full(400, 1e3), sparrot.qot(X, min_neighbors=20), a):
        b = sparrot.qot(X, potential=start, **arguments)
        assert abs(a.matrix - b.matrix).max() <= 1e-6


@pytest.mark.parametrize("arguments", [{"eps": 0.05, "min_neighbors": 6}, {"n_neighbors": 15}])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_result_to_start_from_saves_steps_for_it_has_the_multipliers(solver, arguments):
    X = outliers(400)
    a = sparrot.qot(X, solver=solver, **arguments)
    assert a.row_eps.any()
    assert a.n_iter >= 5
    again = sparrot.qot(X, solver=solver, potential=a, **arguments)
    assert again.n_iter <= 1
    assert again.n_solves == 1
    assert abs(a.matrix - again.matrix).max() <= 1e-6
    if "eps" in arguments:  # of another problem it is a start, too
        other = {"eps": 0.04, "min_neighbors": 6.5, "solver": solver}
        cold, warm = (sparrot.qot(X, potential=start, **other) for start in (None, a))
        assert abs(cold.matrix - warm.matrix).max() <= 1e-6
        # Near by, a step of Newton takes an error e to e^1.5 or so (conjugate gradients
        # stop at 0.3 of its root): 1e-7 to 1e-11, and the tolerance is 1e-8. From the potential
        # alone the multipliers have to be found first.
        near = {"eps": 0.05 * (1 - 1e-7), "min_neighbors": 6 * (1 + 1e-7), "solver": solver}
        warm, bare = (sparrot.qot(X, potential=start, **near) for start in (a, a.potential))
        assert warm.n_iter <= 1 < bare.n_iter


def test_a_result_that_is_no_start_is_refused():
    X = outliers(100)
    a = sparrot.qot(X, 0.1, min_neighbors=5)
    for start in (
        sparrot.knn(X, 5),
        sparrot.qot(X[:99], 0.1, min_neighbors=5),
        replace(a, row_eps=a.row_eps[:50]),
        replace(a, row_eps=np.full(100, np.nan)),
    ):
        with pytest.raises(sparrot.InvalidInputError, match="potential must be") as caught:
            sparrot.qot(X, 0.1, min_neighbors=5, potential=start)
        assert caught.value.parameter == "potential"


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_smallest_connected_eps_is_found_also_where_all_are_connected(solver):
    X = np.random.default_rng(0).standard_normal((300, 5))
    a = sparrot.qot(X, "connected", min_neighbors=5, solver=solver)
    assert a.n_connected_components == 1
    assert_floor_optimal(a, half_squared(X), 5)
    assert a.relative_eps < 0.05
    assert a.n_solves <= 8
    two = sparrot.qot(CLOUDS["two far clusters"], "connected", min_neighbors=5, solver=solver)
    assert two.n_connected_components == 1
    below = sparrot.qot(CLOUDS["two far clusters"], two.relative_eps / 1.03, min_neighbors=5)
    assert below.n_connected_components == 2


def test_a_perplexity_below_the_floor_cannot_be_had():
    message = "more than the mean floor of 20 neighbors, got 8"
    with pytest.raises(sparrot.InvalidInputError, match=message) as caught:
        sparrot.qot(points("gaussian", 150), perplexity=8, min_neighbors=20)
    assert caught.value.parameter == "perplexity"
    assert "min_neighbors" in str(caught.value)


@pytest.mark.parametrize("name", ["gaussian", "outliers", "duplicates", "two far clusters"])
def test_a_perplexity_just_above_the_floor_cannot_be_had_either(name):
    X = CLOUDS[name]
    least = sparrot.qot(X, n_neighbors=10).perplexity
    assert least > 11.4  # a row of 10 effective neighbors has a larger perplexity
    message = "perplexity cannot be had: the floor of 10 .* mean perplexity of .*, got 10.5"
    with pytest.raises(sparrot.InvalidInputError, match=message) as caught:
        sparrot.qot(X, perplexity=10.5, min_neighbors=10)
    assert (caught.value.parameter, caught.value.value) == ("perplexity", 10.5)
    said = float(re.search("mean perplexity of ([0-9.]+),", caught.value.problem)[1])
    assert said == pytest.approx(least, rel=0.01)
    enough = int(re.search(r"take perplexity=(\d+) or more", caught.value.remedy)[1])
    assert caught.value.remedy.startswith("take n_neighbors=10 alone, or lower min_neighbors, or")
    a = sparrot.qot(X, perplexity=enough, min_neighbors=10)  # so it helps
    assert a.perplexity == pytest.approx(enough, rel=0.01)
    assert enough <= least + 2
    each = np.where(np.arange(len(X)) % 2, 8.0, 12.0)
    with pytest.raises(sparrot.InvalidInputError, match="the floor of 10 effective") as caught:
        sparrot.qot(X, perplexity=10.5, min_neighbors=each)
    assert "n_neighbors=" not in caught.value.remedy.replace("min_neighbors=", "")


def test_an_approximate_search_meets_the_floor():
    X = points("gaussian", 900)[:, :6]
    neighbors = KNeighborsTransformer(n_neighbors=30)
    a = sparrot.qot(X, 0.1, min_neighbors=8, search="approximate", neighbors=neighbors)
    assert not a.certificate.exact
    assert a.certificate.marginal_error <= 1e-8
    assert effective(a.matrix).min() >= 8 * (1 - 1e-8)
    assert 0 < a.certificate.complementarity <= 1e-8
    exact = sparrot.qot(X, 0.1, min_neighbors=8)
    assert abs(a.matrix - exact.matrix).sum(axis=1).mean() < 0.05


@pytest.mark.parametrize("k", [15, 30])  # as many as the graph has for a row, and twice as many
def test_an_approximate_search_for_as_many_neighbors_of_every_row_misses_few_rows(k):
    X = np.random.default_rng(0).standard_normal((800, 5))
    X[:20] *= 10
    more = {"search": "approximate", "neighbors": KNeighborsTransformer(n_neighbors=15)}
    a = sparrot.qot(X, n_neighbors=k, **more)
    assert not a.certificate.exact
    assert a.certificate.missed_rows <= 0.02
    exact = sparrot.qot(X, n_neighbors=k)
    assert abs(a.matrix - exact.matrix).sum(axis=1).mean() < 1e-3
    again = sparrot.qot(X, n_neighbors=k, potential=a, **more)
    assert again.n_solves == 1 < a.n_solves  # it has the multipliers


@pytest.mark.parametrize("floors", [{False}, {True}, {False, True}])
def test_a_solve_that_is_no_more_than_a_start_may_fail(monkeypatch, floors):
    """Without a switch to the dense method, whose matrix of all pairs would stay."""
    solve = ActiveSet.solve

    def fail_on_the_way(self, eps, start, tol, with_floor=True):
        found = solve(self, eps, start, tol, with_floor)
        given_up = tol > 1e-3 and with_floor in floors
        return replace(found, converged=found.converged and not given_up)

    monkeypatch.setattr(ActiveSet, "solve", fail_on_the_way)
    X = outliers(600)
    a = sparrot.qot(X, n_neighbors=8)
    assert a.solver == "active-set"
    assert effective(a.matrix).min() >= 8 * (1 - 1e-8)


@pytest.mark.parametrize("floor_before", [False, True])
def test_nothing_of_a_solve_that_failed_is_a_start(monkeypatch, floor_before):
    """The next one starts as if it had not been: from the last solve that converged."""
    problem = Problem(make_cost(outliers(600), "sqeuclidean"), QuadraticRegularizer())
    problem = replace(problem, floor=np.full(600, 8.0))
    starts = []
    solve = Ceilings.solve

    def seen(self, problem, guess, tol, budget):
        starts.append((guess.u, self.multipliers(problem.regularizer.eps)))
        return solve(self, problem, guess, tol, budget)

    monkeypatch.setattr(Ceilings, "solve", seen)
    last = []
    for fails in (False, True):
        with Run(1) as run:
            method = ActiveSet(problem, Options(), run)
            before = method.solve(0.1, None, 1e-2, with_floor=floor_before)
            if fails:
                with monkeypatch.context() as few:
                    few.setattr("sparrot.ot._active_set.MAX_STEPS", 2)
                    assert not method.solve(0.02, before.u, 1e-8).converged
            assert method.solve(0.05, before.u, 1e-8).converged
        last.append(starts[-1])
    (u, e), (again, e_again) = last
    np.testing.assert_array_equal(again, u)
    np.testing.assert_equal(e_again, e)  # None without a floor before


@pytest.mark.parametrize("arguments", [{"eps": 0.05, "min_neighbors": 8}, {"n_neighbors": 15}])
@pytest.mark.parametrize(("solver", "n"), [("active-set", 1000), ("newton", 300)])
def test_the_number_of_threads_does_not_matter(solver, n, arguments):
    X = outliers(n)
    one, two, three = (sparrot.qot(X, n_jobs=m, solver=solver, **arguments) for m in (1, 2, 3))
    assert one.row_eps.any()
    for other in (two, three):
        assert one.potential.tobytes() == other.potential.tobytes()
        assert one.row_eps.tobytes() == other.row_eps.tobytes()
        assert one.matrix.data.tobytes() == other.matrix.data.tobytes()
        assert np.array_equal(one.matrix.indices, other.matrix.indices)


def test_the_order_of_the_points_only_permutes():
    X = outliers(300)
    k = np.linspace(2, 9, 300)
    order = np.random.default_rng(0).permutation(300)
    a = sparrot.qot(X, 0.05, min_neighbors=k)
    for solver in SOLVERS:
        b = sparrot.qot(X[order], 0.05, min_neighbors=k[order], solver=solver)
        assert np.array_equal(b.min_neighbors, k[order])
        assert abs(a.matrix[order][:, order] - b.matrix).max() <= 1e-6


def test_inputs_are_not_changed_and_results_are_read_only():
    X, k = outliers(100), np.full(100, 4.0)
    before = X.copy()
    a = sparrot.qot(X, 0.1, min_neighbors=k)
    assert np.array_equal(X, before)
    k[:] = 7
    assert (a.min_neighbors == 4).all()
    for vector in (a.row_eps, a.min_neighbors):
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 1


# Certificates


def test_the_certificate_is_what_a_check_finds():
    X = outliers(200)
    a = sparrot.qot(X, 0.1, min_neighbors=5)
    found = a.check(X)
    for certificate in (a.certificate, found):
        assert certificate.marginal_error <= 1e-8
        assert certificate.floor_violation <= 1e-8
        assert certificate.complementarity <= 1e-8
    assert found.violation <= 1e-10
    assert found.floor_violation == pytest.approx(a.certificate.floor_violation, abs=1e-12)


def test_a_check_sees_what_is_wrong():
    X = outliers(200)
    a = sparrot.qot(X, 0.1, min_neighbors=5)
    bound = np.flatnonzero(a.row_eps)
    assert 0 < len(bound) < 200
    less = a.row_eps.copy()
    less[bound[0]] = 0  # a multiplier that is not the one of the plan
    assert replace(a, row_eps=less).check(X).violation > 1e-3 * a.eps
    more = a.min_neighbors * 1.5  # a floor that is not met
    assert replace(a, min_neighbors=more).check(X).floor_violation > 0.1
    lower = a.min_neighbors * 0.8  # one that is not needed, with a multiplier all the same
    assert replace(a, min_neighbors=lower).check(X).complementarity > 0.1
    plain = sparrot.qot(X, 0.1)
    asked = replace(plain, row_eps=np.zeros(200), min_neighbors=a.min_neighbors)
    assert asked.check(X).floor_violation > 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_error_carries_what_was_found(solver):
    X = outliers(200)
    with pytest.raises(sparrot.NotConvergedError) as caught:
        sparrot.qot(X, 0.01, min_neighbors=8, max_iter=1, solver=solver)
    a = caught.value.result
    assert isinstance(a, sparrot.Affinity)
    assert a.row_eps.shape == (200,)
    assert np.array_equal(a.min_neighbors, np.full(200, 8))
    worst = max(
        a.certificate.marginal_error, a.certificate.floor_violation, a.certificate.complementarity
    )
    assert worst > 1e-8
    assert f"the largest error of a row, in its sum or floor, is {worst:.2e}" in str(caught.value)
    assert caught.value.remedy


# Files


def assert_same_floor(a, b):
    assert abs(a.matrix - b.matrix).max() == 0
    for name in ("potential", "row_eps", "min_neighbors"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.certificate == b.certificate


@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
def test_what_is_saved_is_loaded_and_resumed(tmp_path, suffix):
    if suffix == ".h5ad":
        pytest.importorskip("anndata")
    X = outliers(100)
    a = sparrot.qot(X, 0.1, min_neighbors=np.linspace(2, 6, 100))
    sparrot.save(a, tmp_path / f"a{suffix}")
    b = sparrot.load(tmp_path / f"a{suffix}")
    assert_same_floor(a, b)
    assert b.check(X).violation <= 1e-9
    with pytest.raises(ValueError, match="read-only"):
        b.row_eps[0] = 1
    model = sparrot.resume(b, X)
    expected = sparrot.QOT(0.1, min_neighbors=np.linspace(2, 6, 100)).fit(X)
    new = X[:20] + 0.1
    assert abs(model.transform(new) - expected.transform(new)).max() <= 1e-7
    assert abs(model.transform(X[5:9]) - a.matrix[5:9]).max() <= 1e-7
    with pytest.raises(sparrot.InvalidInputError, match="is not the data of this affinity"):
        sparrot.resume(b, X + np.arange(5) * X)


@pytest.mark.parametrize("name", ["row_eps", "min_neighbors"])
def test_a_vector_of_another_length_is_refused(tmp_path, name):
    a = sparrot.qot(outliers(100), 0.1, min_neighbors=3)
    sparrot.save(a, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        arrays = dict(file) | {name: np.ones(99)}
    del arrays["digest"]
    np.savez(tmp_path / "b.npz", digest=digest(arrays), **arrays)
    with pytest.raises(sparrot.InvalidInputError, match=name):
        sparrot.load(tmp_path / "b.npz")


def test_scanpy_holds_it_all(tmp_path):
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("scanpy")
    X = outliers(120)
    adata = anndata.AnnData(X.astype(np.float32))
    sparrot.sc.neighbors(adata, perplexity=10, min_neighbors=4, use_rep="X")
    a = sparrot.qot(adata.X, perplexity=10, min_neighbors=4)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    for b in (
        sparrot.sc.affinity(adata),
        sparrot.sc.affinity(again),
        sparrot.load(tmp_path / "cells.h5ad"),
    ):
        assert_same_floor(a, b)


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path):
    class InterruptedTestError(Exception):
        pass

    X = outliers(800)
    path = tmp_path / "run.npz"
    stages = []

    def stop_after_the_first_round(progress):
        if path.exists():
            raise InterruptedTestError

    arguments = {"eps": 0.1, "min_neighbors": 6, "checkpoint": path}
    with pytest.raises(InterruptedTestError):
        sparrot.qot(X, progress=stop_after_the_first_round, **arguments)
    a = sparrot.qot(X, progress=lambda progress: stages.append(progress.stage), **arguments)
    assert "extending" not in stages  # it did not begin again
    b = sparrot.qot(X, 0.1, min_neighbors=6)
    assert abs(a.matrix - b.matrix).max() <= 1e-6
    assert a.check(X).floor_violation <= 1e-8
    assert b.n_iter >= 5
    assert sparrot.qot(X, **arguments).n_iter <= 1  # it has the multipliers
    c = sparrot.qot(X, 0.1, checkpoint=path)  # without a floor: the pairs serve that too
    assert abs(c.matrix - sparrot.qot(X, 0.1).matrix).max() <= 1e-6


# New points


@pytest.mark.parametrize("name", ["gaussian", "outliers", "one far point", "two far clusters"])
def test_training_points_get_their_own_rows_back(name):
    X = CLOUDS[name]
    k = np.linspace(3, 9, len(X))
    model = sparrot.QOT(0.1, min_neighbors=k, tol=1e-10).fit(X)
    some = [3, 60, len(X) - 1]
    assert np.abs((model.transform(X[some]) - model.affinity_[some]).toarray()).max() <= 1e-6
    assert (model.transform(X) != model.affinity_).nnz == 0


@pytest.mark.parametrize("arguments", [{"eps": 0.1, "min_neighbors": 7}, {"n_neighbors": 7}])
def test_new_rows_sum_to_one_and_meet_their_floor(arguments):
    X = outliers(200)
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((50, 5)) * rng.choice([0.5, 1, 30, 1e3], (50, 1))
    model = clone(sparrot.QOT(**arguments)).fit(X)
    e, u, eps = model.result_.row_eps, model.potential_, model.eps_
    rows = model.transform(Y).toarray()
    assert rows.min() >= 0
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert effective(rows).min() >= 7 * (1 - 1e-8)
    # The row of (v, f): two entries of the support give both, all others must follow.
    C = cdist(Y, X, "sqeuclidean") / 2
    for w, c in zip(rows, C, strict=True):
        on = np.flatnonzero(w > 1e-9)
        system = np.stack([np.ones(len(on)), -w[on] / 2], axis=1)
        right = (eps + e[on] / 2) * w[on] - u[on] + c[on]
        (v, f), *_ = np.linalg.lstsq(system, right, rcond=None)
        rounding = 1e-9 * (c.max() + np.abs(u).max())
        assert np.abs(system @ (v, f) - right).max() <= rounding
        assert (v + u - c)[w == 0].max() <= rounding
        assert f >= -rounding
        assert f <= 1e-4 * eps or effective(w[None])[0] == pytest.approx(7, rel=1e-8)


def test_new_points_have_the_median_floor():
    X = points("gaussian", 100)
    k = np.where(np.arange(100) < 30, 2.0, 12.0)
    model = sparrot.QOT(0.01, min_neighbors=k).fit(X)
    rows = model.transform(X[:10] + 0.05)
    assert effective(rows) == pytest.approx(12, rel=1e-6)


def test_the_transform_of_a_row_is_the_least_change_that_meets_the_floor():
    rng = np.random.default_rng(0)
    S, e = rng.standard_normal((30, 12)), rng.exponential(size=12)
    k = rng.uniform(1, 5, 30)
    v, f = transform_rows(S, e, 0.05, k, np.zeros(30))
    W = np.maximum(v[:, None] + S, 0) / (0.05 + (f[:, None] + e) / 2)
    assert W.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (effective(W) >= k * (1 - 1e-9)).all()
    assert effective(W)[f > 0] == pytest.approx(k[f > 0], rel=1e-9)
    assert 0 < (f > 0).sum() < 30


@pytest.mark.parametrize("near", [0.0, 1.0, 1e3])
def test_the_compiled_transform_of_rows_is_the_dense_one(near):
    rng = np.random.default_rng(1)
    n, m = 40, 12
    S, e, k = rng.standard_normal((n, m)), rng.exponential(size=m), rng.uniform(1, 11, n)
    v, f, guess = np.empty(n), np.empty(n), np.full(n, near)
    columns, rows = np.tile(np.arange(m, dtype=np.int32), n), np.arange(n, dtype=np.int32)
    floor_transform_rows(
        np.arange(n + 1) * m, columns, -S.ravel(), np.zeros(m), e, 0.05, k, guess, 1e-12,
        rows, np.empty(m), np.empty(m), v, f,
    )  # fmt: skip
    V, F = transform_rows(S, e, 0.05, k, guess)
    assert 0 < (f == 0).sum() < n
    assert v == pytest.approx(V, rel=1e-9)
    assert f == pytest.approx(F, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("eps", [1e-5, 1e-8])
def test_the_transform_of_rows_brackets_a_floor_however_small_eps_is(eps):
    n, m = 10, 200
    S = np.random.default_rng(2).standard_normal((n, m))
    k, none = np.full(n, 1.01), np.zeros(n)
    v, f = transform_rows(S, np.zeros(m), eps, k, none)
    W = np.maximum(v[:, None] + S, 0) / (eps + f[:, None] / 2)
    assert effective(W) == pytest.approx(1.01, rel=1e-9)
    columns, rows = np.tile(np.arange(m, dtype=np.int32), n), np.arange(n, dtype=np.int32)
    V, F = np.empty(n), np.empty(n)
    floor_transform_rows(
        np.arange(n + 1) * m, columns, -S.ravel(), np.zeros(m), np.zeros(m), eps, k, none, 1e-12,
        rows, np.empty(m), np.empty(m), V, F,
    )  # fmt: skip
    assert f == pytest.approx(F, rel=1e-9)
    assert v == pytest.approx(V, rel=1e-9)


def test_rows_with_hardly_more_candidates_than_their_floor_do_not_ask_all_points(monkeypatch):
    """Over 15 points the transform with a floor of all but 15 is vast: most points are below it."""
    n, eps = 2000, 1e-3
    cost = make_cost(np.random.default_rng(0).standard_normal((n, 2)), "sqeuclidean")
    problem = Problem(cost, QuadraticRegularizer(eps), floor=np.full(n, 15 - 1e-6))
    rows, none = np.arange(0, n, 20, dtype=np.int32), np.zeros(n)
    every, k = np.arange(n, dtype=np.int32), problem.floor[rows]
    S = -cost.pairs(np.repeat(rows, n), np.tile(every, len(rows))).reshape(-1, n)
    S[np.arange(len(rows)), rows] = -np.inf
    nearest = np.sort(S)[:, :-17:-1]
    over_these, _ = transform_rows(nearest[:, :15], none[:15], eps, k, none[rows], 1e-12)
    assert np.median(over_these) > np.median(-S)
    asked = []
    candidates = _ctransform._candidates

    def counted(*arguments, **named):
        asked.append(candidates(*arguments, **named))
        return asked[-1]

    monkeypatch.setattr(_ctransform, "_candidates", counted)
    near = -nearest[:, 14:].mean(axis=1)
    with Run(1) as run:
        v, _ = _ctransform.c_transform(cost, rows, Reference.whole(problem, none, none), near, run)
    expected, _ = transform_rows(S, none, eps, k, none[rows], 1e-12)
    np.testing.assert_allclose(v, expected, rtol=1e-9)
    assert sum(len(found.i) for found in asked) < 0.1 * n * len(rows)


def test_a_row_of_fewer_points_than_its_floor_has_no_transform():
    S = np.array([[0.0, -1.0, -np.inf, -np.inf]])
    v, _ = transform_rows(S, np.zeros(4), 0.1, np.array([3.0]), np.zeros(1))
    assert v[0] == np.inf


@pytest.mark.parametrize("factor", [1.0, 1e10])
def test_a_floor_of_all_other_points_is_met_whatever_the_size_of_the_kernel(factor):
    K = np.exp(-half_squared(points("gaussian", 200)))
    a = sparrot.project(factor * K, min_neighbors=199)
    assert a.matrix.toarray() == pytest.approx((1 - np.eye(200)) / 199, abs=1e-8)
    assert a.certificate.largest_error <= 1e-8


def test_a_negative_multiplier_proves_nothing():
    cost, floor = make_cost(np.eye(3), "sqeuclidean"), np.full(3, 2.0)
    problem = Problem(cost, QuadraticRegularizer(), floor=floor)
    plan, good = csr_array((1 - np.eye(3)) / 2), Certificate(0.0, 0.0, 3, exact=True)
    e = np.ones(3)
    assert floor_certificate(good, problem, plan, e).complementarity <= 1e-15
    e[1] = -1e-3
    assert floor_certificate(good, problem, plan, e).complementarity == np.inf


def test_rows_of_equal_neighbors_do_without_the_solve_on_the_way(monkeypatch):
    solve = DenseNewton.solve

    def gives_up(self, eps, start, tol, with_floor=True):
        solution = solve(self, eps, start, tol, with_floor)
        return replace(solution, converged=solution.converged and tol < 1e-4)

    monkeypatch.setattr(DenseNewton, "solve", gives_up)
    a = sparrot.qot(points("gaussian", 60), n_neighbors=8)
    assert effective(a.matrix).min() >= 8 * (1 - 1e-7)


# What is refused


@pytest.mark.parametrize(
    ("arguments", "parameter", "message"),
    [
        ({"min_neighbors": 0.5}, "min_neighbors", "from 1 to 29.* got 0.5"),
        ({"min_neighbors": 30}, "min_neighbors", "from 1 to 29.* got 30"),
        ({"min_neighbors": -3}, "min_neighbors", "got -3"),
        ({"min_neighbors": np.nan}, "min_neighbors", "got nan"),
        ({"min_neighbors": np.inf}, "min_neighbors", "got inf"),
        ({"min_neighbors": "many"}, "min_neighbors", "number from 1 to 29, .* got 'many'; 5 is a"),
        ({"min_neighbors": True}, "min_neighbors", "must be a number from 1 to 29, .* got True"),
        ({"min_neighbors": False}, "min_neighbors", "must be a number from 1 to 29, .* got False"),
        ({"min_neighbors": np.bool_(False)}, "min_neighbors", "must be a number from 1 to 29"),
        ({"min_neighbors": 3j}, "min_neighbors", "must be a number .* got 3j"),
        ({"min_neighbors": 1e400}, "min_neighbors", "got inf; take min_neighbors=29 at most"),
        ({"min_neighbors": [[3], [4, 5]]}, "min_neighbors", "one for each of the 30 points"),
        ({"min_neighbors": ["a"] * 30}, "min_neighbors", "one for each of the 30 points"),
        ({"min_neighbors": np.ones(30, bool)}, "min_neighbors", "one for each of the 30 points"),
        ({"min_neighbors": [3] * 29 + [0.5]}, "min_neighbors", r"\[29\] is 0.5 .*; take 0 for"),
        ({"min_neighbors": [3] * 29 + [-1]}, "min_neighbors", r"\[29\] is -1 \(1 of 30"),
        ({"min_neighbors": [3] * 28 + [np.nan] * 2}, "min_neighbors", r"\[28\] is nan \(2 of 30"),
        ({"min_neighbors": sp.csr_array(np.eye(30))}, "min_neighbors", r"shape \(30, 30\)"),
        ({"min_neighbors": [3, 4]}, "min_neighbors", r"one for each of the 30 .* shape \(2,\)"),
        ({"min_neighbors": np.ones((30, 30))}, "min_neighbors", r"shape \(30, 30\)"),
        ({"min_neighbors": [3] * 29 + [40]}, "min_neighbors", "from 1 to 29"),
        ({"n_neighbors": 0}, "n_neighbors", "must be a number of at least 1, got 0; 15 is a good"),
        ({"n_neighbors": "many"}, "n_neighbors", "number of at least 1, got 'many'"),
        ({"n_neighbors": True}, "n_neighbors", "must be a number of at least 1, got True"),
        ({"n_neighbors": [5] * 30}, "n_neighbors", "got \\[5, 5.* each point take min_neighbors"),
        ({"n_neighbors": np.inf}, "n_neighbors", "got inf; take n_neighbors=29 at most"),
        (
            {"n_neighbors": 0.5},
            "n_neighbors",
            "n_neighbors must be a number of at least 1, got 0.5",
        ),
        ({"n_neighbors": 30}, "n_neighbors", "from 1 to 29.* got 30.*; take n_neighbors=29 at mo"),
        ({"n_neighbors": np.nan}, "n_neighbors", "n_neighbors must be a number .* got nan"),
        ({"n_neighbors": 5, "eps": 1.0}, "", "eps or n_neighbors, not both"),
        ({"n_neighbors": 5, "eps": "connected"}, "", "eps or n_neighbors, not both"),
        ({"n_neighbors": 5, "perplexity": 9}, "", "perplexity or n_neighbors, not both"),
        (
            {"n_neighbors": 5, "min_neighbors": 3},
            "n_neighbors",
            "itself a floor .*; give n_neighbors or min_neighbors, not both",
        ),
        ({"min_neighbors": 3, "solver": "alternating"}, "solver", "'alternating' does not solve"),
        ({"n_neighbors": 3, "solver": "alternating"}, "solver", "'alternating' does not solve"),
    ],
)
def test_wrong_arguments_are_named(arguments, parameter, message):
    X = points("gaussian", 30)
    with pytest.raises(sparrot.InvalidInputError, match=message) as caught:
        sparrot.qot(X, **arguments)
    assert caught.value.parameter == parameter
    assert caught.value.remedy
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.QOT(**arguments).fit(X)
    if "solver" in arguments:
        return
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.summarize(X, **arguments)
    if parameter == "min_neighbors":
        with pytest.raises(sparrot.InvalidInputError, match=message):
            sparrot.sc.neighbors(pytest.importorskip("anndata").AnnData(X), eps=1.0, **arguments)
        with pytest.raises(sparrot.InvalidInputError, match=message):
            sparrot.project(X @ X.T, **arguments)


@pytest.mark.parametrize("solver", SOLVERS)
def test_zero_among_floors_is_no_floor_for_that_point(solver):
    X = points("gaussian", 60)
    k = np.full(60, 8.0)
    k[::3] = 0
    a = sparrot.qot(X, 0.01, min_neighbors=k, solver=solver)
    assert np.array_equal(k, np.where(np.arange(60) % 3, 8, 0))
    assert not a.row_eps[::3].any()
    assert effective(a.matrix)[::3].min() < 7
    assert_floor_optimal(a, half_squared(X), np.maximum(k, 1))


@pytest.mark.parametrize(
    "work",
    [
        lambda X: sparrot.qot_path(X, [1.0, 0.1], n_neighbors=5),
        lambda X: sparrot.project(X @ X.T, n_neighbors=5),
    ],
    ids=["qot_path", "project"],
)
def test_neighbors_that_take_an_eps_of_their_own_are_refused_where_eps_is_given(work):
    with pytest.raises(
        sparrot.InvalidInputError, match="n_neighbors takes an eps of its"
    ) as caught:
        work(points("gaussian", 30))
    assert caught.value.parameter == "n_neighbors"
    assert caught.value.remedy == "give min_neighbors, a floor at any eps"


@pytest.mark.parametrize("name", ["min_neighbors", "n_neighbors"])
@pytest.mark.parametrize("function", ["eot", "tsallis", "EOT", "Tsallis"])
def test_other_plans_have_no_floor_and_say_who_has(function, name):
    refuses = getattr(sparrot, function)
    arguments = [points("gaussian", 30)] if function.islower() else []
    with pytest.raises(sparrot.InvalidInputError, match=r"for QOT alone.*sparrot\.qot") as caught:
        refuses(*arguments, **{name: 3})
    assert caught.value.parameter == name
    assert name not in inspect.signature(refuses).parameters


def test_paths_and_projections_refuse_them_too():
    X = points("gaussian", 30)
    with pytest.raises(sparrot.InvalidInputError, match=r"min_neighbors must be .* from 1 to 29"):
        sparrot.qot_path(X, [1.0], min_neighbors=30)
    with pytest.raises(sparrot.InvalidInputError, match=r"min_neighbors must be .* from 1 to 29"):
        sparrot.project(X @ X.T, min_neighbors=0.5)
    with pytest.raises(sparrot.InvalidInputError, match=r"min_neighbors must be .* from 1 to 30"):
        sparrot.qot(X, hollow=False, min_neighbors=31)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "qot"])
def test_other_kinds_have_no_floor_and_say_so(kind):
    X = points("gaussian", 30)
    for by_name in (registry.build, registry.fit):
        message = f"min_neighbors is no parameter of {kind}; it has"
        with pytest.raises(sparrot.InvalidInputError, match=message) as caught:
            by_name(X, kind, min_neighbors=3)
        assert (caught.value.parameter, caught.value.value) == ("min_neighbors", 3)
    build, estimator = KINDS[kind].function, KINDS[kind].estimator
    is_transport = kind in ("eot", "tsallis")
    error = sparrot.InvalidInputError if is_transport else TypeError
    message = "is for QOT alone" if is_transport else "unexpected keyword argument 'min_neighbors'"
    for work in (lambda: build(X, min_neighbors=3), lambda: estimator(min_neighbors=3)):
        with pytest.raises(error, match=message):
            work()


def test_the_matrix_is_sparse_and_of_the_usual_kind():
    a = sparrot.qot(outliers(200), 0.1, min_neighbors=5)
    assert isinstance(a.matrix, csr_array)
    assert a.matrix.dtype == np.float64
    assert a.matrix.has_sorted_indices


def _far_halves(rng):
    X = rng.standard_normal((300, 5))
    X[:150] += 1e4
    return X


@pytest.mark.parametrize(
    ("points", "k", "most"),
    [
        (lambda rng: np.eye(50), 3, 49),  # all distances are equal
        (lambda rng: np.repeat(rng.standard_normal((20, 5)), 40, axis=0), 15, 39),
        (lambda rng: np.vstack([np.zeros((400, 3)), np.ones((1, 3))]), 15, 400),
        (_far_halves, 15, 20),
        (lambda rng: np.exp(4 * rng.standard_normal((900, 5))), 15, 200),
        (lambda rng: np.stack(np.meshgrid(*2 * [np.arange(12.0)]), -1).reshape(-1, 2), 8, 9),
    ],
)
def test_the_row_wise_graph_is_found_where_rows_have_more_at_any_eps(points, k, most):
    X = points(np.random.default_rng(0))
    a = sparrot.qot(X, n_neighbors=k)
    assert_floor_optimal(a, half_squared(X), k)
    assert effective(a.matrix).max() <= most + 1e-6


def _lattice(m, slant=0.0):
    """m x m points of a square lattice, or of a triangular one where every other line is moved."""
    x, y = np.meshgrid(np.arange(float(m)), np.arange(float(m)))
    return np.stack([(x + slant * (y % 2)).ravel(), (y * np.sqrt(1 - slant**2)).ravel()], axis=1)


@pytest.mark.parametrize(
    ("X", "k"),
    [(np.arange(100.0)[:, None], 2), (_lattice(14), 4), (_lattice(12, 0.5), 6)],
    ids=["line", "square", "triangular"],
)
def test_lattices_with_as_many_neighbors_as_are_nearest_take_few_steps(X, k):
    """Rows of k equal weights are without slack, so that their multipliers are not unique."""
    a = sparrot.qot(X, n_neighbors=k)
    assert_floor_optimal(a, half_squared(X), k)
    assert a.n_iter <= 100


def _of_two_neighbors(n):
    """A problem with a floor of two on every row, and the support of all its pairs."""
    cost = make_cost(points("gaussian", n)[:, :3], "sqeuclidean")
    others = ~np.eye(n, dtype=bool)
    indptr, indices = np.arange(n + 1) * (n - 1), np.nonzero(others)[1].astype(np.int32)
    support = Support(indptr, indices, cost.dense()[others])
    return Problem(cost, QuadraticRegularizer(0.05), floor=np.full(n, 2.0)), support


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_of_two_neighbors_do_not_hold_each_other_up(seed):
    """Each resists hardly at all until a third joins: rough steps alone are 121 and 97."""
    X = np.random.default_rng(seed).standard_normal((3000, 5))
    a = sparrot.qot(X, n_neighbors=2)
    assert a.certificate.largest_error <= 1e-8
    assert a.n_iter <= 90


def test_few_rows_of_two_neighbors_are_solved_for_by_themselves(monkeypatch):
    """All others keep their potentials to the bit, and the result is optimal for all rows."""
    X, seen = np.random.default_rng(0).standard_normal((3000, 3)), []
    patched = SparseFloorDual.patched

    def watched(self, x, tol, *more):
        there = patched(self, x, tol, *more)
        if there is not x:
            moved = (x != there).any(axis=0)
            before, after = self.state(x).errors, self.state(there).errors
            seen.append((moved.mean(), (before > tol).mean(), after.max() <= tol))
        return there

    monkeypatch.setattr(SparseFloorDual, "patched", watched)
    a = sparrot.qot(X, n_neighbors=2)
    assert_floor_optimal(a, half_squared(X), 2)
    assert any(right for _, _, right in seen)
    for moved, off, _ in seen:
        assert 0 < off <= 0.2
        assert 0 < moved <= 0.2


def test_a_patch_moves_no_row_that_is_held():
    """Neither Newton's method nor the central path does; and free rows end at their optimum."""
    problem, support = _of_two_neighbors(n := 300)
    held = np.arange(n) >= 100
    rng = np.random.default_rng(0)
    x = np.stack([0.02 * rng.random(n), np.where(rng.random(n) < 0.5, 0.1 * rng.random(n), 0.0)])
    with Run() as run:
        given = support, np.full(n, 9.0), np.full(n, 40.0), problem, x[1], run
        dual, whole = PatchDual(*given, held), SparseFloorDual(*given)
        there = newton(dual, x, 1e-8, 500).u
        assert (there[:, held] == x[:, held]).all()
        assert whole.state(there).errors[~held].max() <= 1e-8
        assert whole.state(there).errors[held].max() > 0.1
        along, error = dual._path(x).follow(x, lambda x: dual.error(dual.state(x)), 1e-4)
        assert (along[:, held] == x[:, held]).all()
        assert error <= 1e-4


def test_a_patch_of_a_patch_moves_no_row_that_is_held(monkeypatch):
    """Few rows are off: they are solved for within the patch, others of which stay to the bit."""
    monkeypatch.setattr("sparrot.ot._floor._MANY_ROWS", 100)
    problem, support = _of_two_neighbors(n := 800)
    with Run() as run:
        given = support, np.full(n, 9.0), np.full(n, 40.0), problem, np.zeros(n), run
        x = newton(SparseFloorDual(*given), np.zeros((2, n)), 1e-10, 500).u
        off = np.arange(n) < 1
        x[0, off] += 1e-3
        held = np.arange(n) % 4 == 3
        x[0, 3] += 1e-3  # which is held
        patch = PatchDual(*given, held)
        there = patch.patched(x, 1e-8, 500, lambda step, error: None)
        moved = (there != x).any(axis=0)
        assert moved[off].all()
        assert not moved[held].any()
        assert 0 < moved.sum() < (~held).sum() / 2
        assert patch.state(there).value < patch.state(x).value


def test_a_patch_of_a_patch_is_smaller(monkeypatch):
    """Or patches whose tolerance is out of reach would have equal ones, without end."""
    monkeypatch.setattr("sparrot.ot._floor._MANY_ROWS", 100)
    problem, support = _of_two_neighbors(n := 800)
    with Run() as run:
        given = support, np.full(n, 9.0), np.full(n, 40.0), problem, np.zeros(n), run
        whole = SparseFloorDual(*given)
        x = newton(whole, np.zeros((2, n)), 1e-10, 500).u
        x[0, 0] += 1e-3
        there = whole.patched(x, 1e-8, 500, lambda step, error: None)
        moved = (there != x).any(axis=0)
        assert 0 < moved.mean() < 0.2  # of all rows, and all of those that are free next
        assert PatchDual(*given, ~moved).patched(x, 1e-8, 500, lambda step, error: None) is x


def test_a_central_path_that_led_nowhere_begins_anew():
    problem, _ = _of_two_neighbors(n := 300)
    with Run() as run, np.errstate(all="ignore"):
        dual = DenseFloorDual(problem.dense_cost(), problem, run)
        path = dual._path(np.zeros((2, n)))
        far = 1e6 * np.random.default_rng(0).standard_normal((2, n))
        path.follow(far, lambda x: dual.error(dual.state(x)), 1e-4)
        _, error = path.follow(np.zeros((2, n)), lambda x: dual.error(dual.state(x)), 1e-4)
        assert error <= 1e-4


def test_the_central_path_goes_on_where_it_was_left():
    problem, _ = _of_two_neighbors(n := 300)
    with Run() as run:
        dual = DenseFloorDual(problem.dense_cost(), problem, run)
        asked = []

        def error(x):
            asked.append(dual.error(dual.state(x)))
            return asked[-1]

        path = dual._path(np.zeros((2, n)))
        _, first = path.follow(np.zeros((2, n)), error, 1e-2)
        n_first = len(asked)
        _, last = path.follow(np.zeros((2, n)), error, 1e-5)
        assert last <= 1e-5 < first <= 1e-2
        assert asked[n_first + 1] <= first  # after that of the x that was given


@pytest.mark.parametrize("solver", SOLVERS)
def test_newton_goes_on_from_the_central_path(solver, monkeypatch):
    X, followed = points("gaussian", 500)[:, :4], []
    follow = CentralPath.follow

    def watched(self, x, error, enough):
        found = follow(self, x, error, enough)
        followed.append((error(x), found[1], enough))
        return found

    monkeypatch.setattr(CentralPath, "follow", watched)
    monkeypatch.setattr(FloorDual, "many_steps", 1)
    a = sparrot.qot(X, n_neighbors=2, solver=solver)
    assert_floor_optimal(a, half_squared(X), 2)
    assert followed
    for before, after, enough in followed:
        assert after <= max(enough, before / 10)


def test_the_central_path_leads_from_far_off_to_the_solution_with_ghosts():
    """Also where ceilings are so low that ghosts have to take some of the mass."""
    problem, support = _of_two_neighbors(n := 300)
    ceiling, stiffness = np.full(n, 0.05), np.full(n, 40.0)
    with Run() as run:
        dual = SparseFloorDual(support, ceiling, stiffness, problem, np.zeros(n), run)
        path = dual._path(np.zeros((2, n)))
        x, error = path.follow(np.zeros((2, n)), lambda x: dual.error(dual.state(x)), 1e-5)
        assert error == dual.error(dual.state(x)) <= 1e-5
        assert (x[0] > ceiling).any()  # ghosts
        assert (x[1] > 0).any()  # floors


def test_a_point_beyond_all_others_is_an_error_and_no_warning_of_numpy(recwarn):
    X = points("gaussian", 40)[:, :3]
    X[3] = 1e150
    with pytest.raises(sparrot.NotConvergedError, match="drop far points"):
        sparrot.qot(X, 1e-299, min_neighbors=5)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]
