"""What must hold for every cost: the facts behind the robustness of the method."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sparrot
from problems import assert_floor_optimal, assert_optimal, effective, half_squared

clouds = st.builds(
    lambda n, p, seed, scale: scale * np.random.default_rng(seed).standard_normal((n, p)),
    n=st.integers(4, 60),
    p=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1e-6, 1.0, 1e5]),
)
relative_eps = st.floats(0.02, 50.0)
solvers = st.sampled_from(["newton", "active-set"])
seeds = st.integers(0, 2**32 - 1)
shares = st.floats(0.0, 0.9)  # of the way from two neighbors to all of them
common = settings(max_examples=40, deadline=None)


def plan(C, eps, solver="newton", k=None):
    """The plan for a cost, an absolute eps and a floor."""
    a = sparrot.project(-C / eps, solver=solver, tol=1e-10, min_neighbors=k)
    return a.matrix.toarray()


@common
@given(X=clouds, eps=relative_eps, solver=solvers)
def test_every_result_is_optimal(X, eps, solver):
    a = sparrot.qot(X, eps, solver=solver)
    assert_optimal(a.matrix, a.potential, a.eps, half_squared(X))


@common
@given(X=clouds, eps=relative_eps, seed=seeds, solver=solvers)
def test_a_shift_for_each_point_changes_nothing(X, eps, seed, solver):
    C = half_squared(X)
    s = C.mean() * np.random.default_rng(seed).exponential(size=len(X))
    moved = plan(C + s[:, None] + s, eps * C.mean(), solver)
    assert np.abs(moved - plan(C, eps * C.mean())).max() <= 1e-6


@common
@given(X=clouds, eps=relative_eps, factor=st.floats(1e-8, 1e8), solver=solvers)
def test_the_scale_of_the_data_changes_nothing(X, eps, factor, solver):
    a, b = sparrot.qot(X, eps, solver=solver), sparrot.qot(factor * X, eps, solver=solver)
    assert abs(a.matrix - b.matrix).max() <= 1e-6


@common
@given(X=clouds, eps=relative_eps, seed=seeds, size=st.floats(1e-3, 10.0))
def test_the_plan_is_a_contraction_of_the_cost(X, eps, seed, size):
    C = half_squared(X)
    E = np.random.default_rng(seed).standard_normal(C.shape)
    E = size * C.mean() * (E + E.T)
    np.fill_diagonal(E, 0)
    eps = eps * C.mean()
    change = np.linalg.norm(plan(C, eps) - plan(C + E, eps))
    assert change <= np.linalg.norm(E) / eps * (1 + 1e-6) + 1e-8 * len(X)


@common
@given(X=clouds, eps=relative_eps, seed=seeds)
def test_the_order_of_the_points_only_permutes_the_plan(X, eps, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    W = sparrot.qot(X, eps).matrix.toarray()
    V = sparrot.qot(X[order], eps, solver="active-set").matrix.toarray()
    assert np.abs(V - W[np.ix_(order, order)]).max() <= 1e-6


def floor(share, n):
    """A floor between two and all n - 1 others."""
    return 2 + share * (n - 3)


@common
@given(X=clouds, eps=relative_eps, share=shares, solver=solvers)
def test_every_result_with_a_floor_is_optimal(X, eps, share, solver):
    k = floor(share, len(X))
    a = sparrot.qot(X, eps, min_neighbors=k, solver=solver)
    assert_floor_optimal(a, half_squared(X), k)


@common
@given(X=clouds, eps=relative_eps, share=shares, seed=seeds, solver=solvers)
def test_with_a_floor_a_shift_for_each_point_changes_nothing(X, eps, share, seed, solver):
    C = half_squared(X)
    k = floor(share, len(X))
    s = C.mean() * np.random.default_rng(seed).exponential(size=len(X))
    moved = plan(C + s[:, None] + s, eps * C.mean(), solver, k)
    assert np.abs(moved - plan(C, eps * C.mean(), k=k)).max() <= 1e-6


@pytest.mark.parametrize(("most", "change"), [(1.0, 0.01), (10.0, 0.005), (100.0, 0.005)])
def test_a_shift_for_each_point_hardly_changes_the_rows_of_n_neighbors(most, change):
    rng = np.random.default_rng(0)
    C = half_squared(rng.standard_normal((300, 20)))
    s = most * C.mean() * rng.random(len(C))
    moved = C + s[:, None] + s
    np.fill_diagonal(moved, 0)
    a, b = (sparrot.qot(K, metric="precomputed", n_neighbors=15) for K in (C, moved))
    assert np.linalg.norm((b.matrix - a.matrix).toarray()) < change * np.linalg.norm(a.matrix.data)
    assert np.median(effective(b.matrix)) < 15.5
    again = sparrot.qot(moved, metric="precomputed", n_neighbors=15, potential=b)
    assert again.eps == pytest.approx(b.eps, rel=0.05)


@common
@given(X=clouds, eps=relative_eps, share=shares, seed=seeds, size=st.floats(1e-3, 10.0))
def test_with_a_floor_the_plan_is_a_contraction_of_the_cost(X, eps, share, seed, size):
    C = half_squared(X)
    k = floor(share, len(X))
    E = np.random.default_rng(seed).standard_normal(C.shape)
    E = size * C.mean() * (E + E.T)
    np.fill_diagonal(E, 0)
    eps = eps * C.mean()
    change = np.linalg.norm(plan(C, eps, k=k) - plan(C + E, eps, k=k))
    assert change <= np.linalg.norm(E) / eps * (1 + 1e-6) + 1e-8 * len(X)


@common
@given(X=clouds, eps=relative_eps, share=shares, seed=seeds, solver=solvers)
def test_no_row_is_below_its_floor(X, eps, share, seed, solver):
    low = 2 + np.random.default_rng(seed).random(len(X)) * share * (len(X) - 3)
    high = 2 + 1.1 * (low - 2)
    for k in (low, high):
        a = sparrot.qot(X, eps, min_neighbors=k, solver=solver)
        assert (effective(a.matrix) >= k * (1 - 1e-8)).all()


@common
@given(X=clouds, eps=relative_eps, share=shares, factor=st.floats(1e-8, 1e8), solver=solvers)
def test_with_a_floor_the_scale_of_the_costs_changes_nothing(X, eps, share, factor, solver):
    C = half_squared(X)
    arguments = {"metric": "precomputed", "min_neighbors": floor(share, len(X)), "solver": solver}
    a, b = (sparrot.qot(s * C, eps, tol=1e-10, **arguments) for s in (1.0, factor))
    assert abs(a.matrix - b.matrix).max() <= 1e-6
    assert b.eps / a.eps == pytest.approx(factor)


@common
@given(X=clouds, eps=relative_eps, seed=seeds, spread=st.floats(0.0, 3.0), solver=solvers)
def test_every_result_with_weights_is_optimal(X, eps, seed, spread, solver):
    w = np.exp(spread * np.random.default_rng(seed).standard_normal(len(X)))
    w = np.minimum(w, np.median(w) * len(w) / 4)  # so that there is a hollow plan
    a = sparrot.qot(X, eps, weights=w / w.mean(), solver=solver)
    certificate = a.check(X)
    assert certificate.marginal_error <= 1e-8
    assert certificate.violation <= 1e-12 * (half_squared(X).max() + np.abs(a.potential).max())
