import numpy as np
import pytest
import scipy.sparse as sp

import sparrot
from problems import points, ring_graph
from sparrot._eigensolver import _SOLVERS, EigenPairs, _better, _ladder, leading_eigenpairs
from sparrot.engine import Run
from sparrot.spectral import symmetric_normalization


@pytest.fixture
def run():
    with Run() as run:
        yield run


FORMS = {"sparse": sp.csr_array, "dense": lambda S: S.toarray()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", _SOLVERS)
def test_every_solver_leaves_out_known_vectors(solver, form, run):
    S = symmetric_normalization(sparrot.knn(points("gaussian", 600), 10))
    every, V = np.linalg.eigh(S.toarray())
    known = V[:, [-1]]
    pairs = leading_eigenpairs(FORMS[form](S), 3, run, solver=solver, known=known)
    assert pairs.solver == solver
    assert pairs.values == pytest.approx(every[[-2, -3, -4]], abs=1e-12)
    assert pairs.residuals.max() <= 1e-8
    assert S @ pairs.vectors == pytest.approx(pairs.vectors * pairs.values, abs=1e-7)
    assert np.abs(known.T @ pairs.vectors).max() <= 1e-7


@pytest.mark.parametrize("solver", ["auto", *_SOLVERS])
def test_a_known_vector_is_left_out_where_all_other_eigenvalues_are_negative(solver, run):
    n = 600
    complete = (np.ones((n, n)) - np.eye(n)) / (n - 1)
    pairs = leading_eigenpairs(complete, 1, run, solver=solver, known=np.full((n, 1), n**-0.5))
    assert pairs.values[0] == pytest.approx(-1 / (n - 1), abs=1e-12)


def test_the_ladder_goes_on_until_the_residuals_are_met(monkeypatch, run):
    S = symmetric_normalization(sparrot.knn(points("gaussian", 2100), 10))
    poor = np.full(3, 0.5), np.eye(2100)[:, :3]
    monkeypatch.setitem(_SOLVERS, "chebyshev", lambda *arguments: poor)
    monkeypatch.setitem(_SOLVERS, "lobpcg", lambda *arguments: pytest.fail("too far"))
    pairs = leading_eigenpairs(S, 3, run)
    assert pairs.solver == "arpack"
    assert pairs.values[0] == pytest.approx(1)


def test_the_ladder_begins_with_the_fastest_solver_that_misses_nothing():
    assert _ladder(500, 1, "auto") == _ladder(1000, 3, "auto") == ("dense",)
    assert _ladder(2100, 3, "auto") == ("chebyshev", "arpack", "lobpcg", "dense")
    assert _ladder(2100, 1, "auto") == ("arpack", "chebyshev", "lobpcg", "dense")
    assert _ladder(10**5, 3, "auto") == ("chebyshev", "arpack", "lobpcg")
    assert _ladder(2100, 3, "lobpcg") == ("lobpcg",)
    assert _ladder(60, 5, "lobpcg") == ("dense",)


def test_small_residuals_do_not_excuse_a_missing_pair():
    V = np.eye(4)[:, :2]
    best = EigenPairs(np.array([1.0, 0.9]), V, np.full(2, 1e-6), "a")
    assert not _better(EigenPairs(np.array([1.0, 0.8]), V, np.full(2, 1e-12), "b"), best, 1e-8)
    assert _better(EigenPairs(np.array([1.0, 0.9]), V, np.full(2, 1e-12), "b"), best, 1e-8)


def test_where_arpack_gives_up_the_others_go_on(monkeypatch, run):
    n = 1200  # ARPACK may not restart, and has not converged by then
    monkeypatch.setattr("sparrot._eigensolver._RESTARTS", 1)
    S = symmetric_normalization(ring_graph(n))
    pairs = leading_eigenpairs(S, 1, run, known=np.full((n, 1), n**-0.5))
    assert pairs.solver == "chebyshev"
    assert pairs.values[0] == pytest.approx(np.cos(2 * np.pi / n), abs=1e-12)
