import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest

import sparrot
from problems import half_squared, points
from sparrot.cost import PointCost
from sparrot.engine import Run
from sparrot.ot import QuadraticRegularizer, screen
from sparrot.ot._dual import DenseDual, SparseDual
from sparrot.ot._newton import Dual, DualState, newton
from sparrot.ot._screening import Support


@pytest.fixture
def duals():
    X = points("gaussian", 80)
    cost = PointCost(X)
    C = half_squared(X) / cost.unit
    np.fill_diagonal(C, np.inf)
    r = np.full(80, 0.6)
    with Run(2) as run:
        support = Support.of(screen(cost, r, run), 80)
        ghosts = SparseDual(support, r, np.full(80, 5.0), QuadraticRegularizer(1.0), run)
        yield {"dense": DenseDual(C, QuadraticRegularizer(1.0), run), "sparse": ghosts}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_gradient_and_hessian_are_derivatives(duals, kind):
    dual = duals[kind]
    rng = np.random.default_rng(0)
    u, x = 0.45 + 0.3 * rng.random(80), rng.standard_normal(80)
    t = 1e-6
    state = dual.state(u)
    H_x = state.hessian(x)
    there, back = dual.state(u + t * x), dual.state(u - t * x)
    assert (there.value - back.value) / (2 * t) == pytest.approx(state.gradient @ x, rel=1e-6)
    # Few kinks lie within t: the difference quotient is the Hessian but for those.
    error = (there.gradient - back.gradient) / (2 * t) - H_x
    assert np.median(np.abs(error)) <= 1e-6


def test_below_the_ceilings_sparse_and_dense_are_the_same(duals):
    u = 0.3 + 0.3 * np.random.default_rng(0).random(80)
    dense, sparse = duals["dense"].state(u), duals["sparse"].state(u)
    assert sparse.value == pytest.approx(dense.value)
    assert sparse.gradient == pytest.approx(dense.gradient)
    assert np.array_equal(sparse.diagonal, dense.diagonal)


def test_ghosts_bound_an_infeasible_problem():
    X = points("gaussian", 80)
    cost = PointCost(X)
    r = np.full(80, 0.1)  # far too low: hardly a pair is left
    with Run(1) as run:
        support = Support.of(screen(cost, r, run), 80)
        dual = SparseDual(support, r, np.full(80, 10.0), QuadraticRegularizer(1.0), run)
        result = newton(dual, np.zeros(80), 1e-9, 100)
    assert result.error <= 1e-9
    assert (result.u <= 0.1 + 1 / 10 + 1e-9).all()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_lonely_rows_are_lifted(duals, kind):
    start = np.full(80, -50.0)
    result = newton(duals[kind], start, 1e-9, 100)
    assert result.error <= 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_that_is_far_along_an_all_but_bipartite_graph_is_reached(seed):
    n, k = 300, 149
    rng = np.random.default_rng(seed)
    C = rng.random((n, n))
    C = C + C.T
    C[:k, :k] += 50
    C[k:, k:] += 50
    np.fill_diagonal(C, 0)
    for start in (np.zeros(n), np.sort(C, axis=1)[:, 1] / 2):
        a = sparrot.qot(C, 1e-3, metric="precomputed", potential=start)
        assert a.certificate.marginal_error <= 1e-8
        assert a.n_iter < 120


def test_a_potential_that_is_no_number_is_below_no_ceiling(duals):
    u = np.zeros(80)
    u[3], u[5] = np.nan, 0.7
    assert duals["sparse"].over(u).tolist() == [3, 5]


def test_small_but_steady_progress_is_progress():
    # An odd number of points in pairs: which three are left moves along the line, step by step.
    C = half_squared(np.linspace(0, 1, 601)[:, None])
    a = sparrot.qot(C, "connected", metric="precomputed", solver="newton")
    assert a.certificate.marginal_error <= 1e-8


def test_a_dual_that_is_done_with_frees_its_support():
    cost, r = PointCost(points("gaussian", 80)), np.full(80, 0.6)
    with Run(1) as run:
        support = Support.of(screen(cost, r, run), 80)
        dual = SparseDual(support, r, np.full(80, 5.0), QuadraticRegularizer(1.0), run)
        newton(dual, np.zeros(80), 1e-9, 100)
        gone = weakref.ref(dual)
        gc.disable()  # a cycle would wait for it, and large arrays with it
        try:
            del dual
            assert gone() is None
        finally:
            gc.enable()


class Slow(Dual[DualState]):
    """|u|^2 / 2 by steps of a hundredth, with an error that says nothing until u is zero."""

    mass, many_steps = 1.0, 3

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def state(self, u):
        return DualState(float(u @ u) / 2, u, np.ones_like(u), lambda x: x)

    def error(self, state):
        return 0.0 if not state.gradient.any() else 0.9 if state.value < 2 else 0.5

    def direction(self, u, state, delta):
        return -0.01 * state.gradient

    def longest(self, u, step):
        return 1.0

    def c_transform(self, u, rows):
        raise AssertionError

    def restarted(self, u, tol, report):
        self.asked.append(u)
        return self.answer(u)


def test_restarts_are_from_the_lowest_point_and_to_lower_ones():
    start = np.full(4, 1.0)  # whose error is the smallest but one
    found = newton(dual := Slow(np.zeros_like), start, 1e-8, 50)
    assert found.error == 0
    assert len(found.history) == 3
    assert (dual.asked[0] < start).all()
    higher = newton(dual := Slow(lambda u: 2 * u), start, 1e-8, 20)
    assert len(higher.history) == 20
    assert len(dual.asked) == 6
    assert all((after < before).all() for before, after in pairwise(dual.asked))
