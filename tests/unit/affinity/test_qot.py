import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import sparrot
from problems import assert_optimal, half_squared, points


def test_the_matrix_is_what_the_documentation_says():
    X = points("gaussian", 300)
    a = sparrot.qot(X)
    assert isinstance(a.matrix, sp.csr_array)
    assert a.matrix.dtype == np.float64
    assert a.matrix.indices.dtype == a.matrix.indptr.dtype == np.int32
    assert a.matrix.has_sorted_indices
    assert a.eps == pytest.approx(half_squared(X).mean())
    assert a.mean_cost == pytest.approx(a.eps)
    assert a.certificate == sparrot.Certificate(
        a.certificate.marginal_error, 0.0, 300 * 299 // 2, True
    )
    assert a.mean_neighbors == a.matrix.nnz / 300
    assert "300 points" in repr(a)
    assert len(a.history) == a.n_iter


@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_any_form_of_the_same_points_gives_the_same_plan(solver):
    X = points("gaussian", 200).round(2)
    expected = sparrot.qot(X, solver=solver).matrix
    read_only = X.copy()
    read_only.flags.writeable = False
    for form in (np.asfortranarray(X), read_only, X.tolist(), sp.csr_array(X), sp.coo_matrix(X)):
        assert abs(sparrot.qot(form, solver=solver).matrix - expected).max() <= 1e-9
    single = sparrot.qot(X.astype(np.float32), solver=solver)
    assert abs(single.matrix - expected).max() <= 1e-4
    assert_optimal(single.matrix, single.potential, single.eps, half_squared(X.astype(np.float32)))
    whole = np.arange(60).reshape(20, 3) ** 2 % 17
    assert sparrot.qot(whole, solver=solver).certificate.marginal_error <= 1e-8


@pytest.mark.parametrize("solver", ["newton", "active-set", "alternating"])
def test_inputs_are_never_modified(solver):
    X = points("gaussian", 100)
    C = half_squared(X)
    u = np.ones(100)
    before = X.copy(), C.copy(), u.copy()
    sparrot.qot(X, solver=solver, potential=u)
    sparrot.qot(C, metric="precomputed", solver=solver)
    sparrot.project(C, solver=solver)
    for array, copy in zip((X, C, u), before, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "manhattan", "precomputed"])
@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_metrics(metric, solver):
    X = points("gaussian", 200)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    C = {
        "cosine": half_squared(unit),
        "euclidean": np.sqrt(2 * half_squared(X)),
        "manhattan": np.abs(X[:, None] - X).sum(axis=2),
        "precomputed": half_squared(X),
    }[metric]
    a = sparrot.qot(C if metric == "precomputed" else X, metric=metric, solver=solver)
    assert_optimal(a.matrix, a.potential, a.eps, C)
    assert a.eps == pytest.approx(C.mean())


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("solver", ["newton", "active-set", "alternating"])
def test_projection_of_a_kernel(solver, hollow):
    rng = np.random.default_rng(0)
    K = rng.standard_normal((60, 60))
    K = K + K.T
    a = sparrot.project(K, solver=solver, hollow=hollow)
    assert a.eps == 1
    assert_optimal(a.matrix, a.potential, 1.0, -K, hollow=hollow)
    assert a.check(K).violation <= 1e-12
    # The projection is nearer to K than any other bistochastic matrix of the kind.
    W = a.matrix.toarray()
    off = ~np.eye(60, dtype=bool) if hollow else np.ones((60, 60), bool)
    for seed in range(10):
        cycle = np.random.default_rng(seed).permutation(60)
        Q = np.zeros((60, 60))
        Q[cycle, np.roll(cycle, 1)] = Q[np.roll(cycle, 1), cycle] = 0.5
        for other in (Q, 0.99 * W + 0.01 * Q):
            assert np.linalg.norm((W - K)[off]) < np.linalg.norm((other - K)[off])


def test_check_sees_a_wrong_entry_and_a_missing_one():
    X = points("gaussian", 100)
    a = sparrot.qot(X)
    assert a.check(X).violation <= 1e-12
    largest = a.matrix.data.argmax()
    for change in (0.0, 2.0):
        W = a.matrix.copy()
        W.data[largest] *= change
        broken = replace(a, matrix=W)
        assert broken.check(X).violation >= 0.99 * a.eps * a.matrix.data[largest]
        assert broken.check(X).marginal_error > 1e-3
    with pytest.raises(sparrot.InvalidInputError, match="100 rows"):
        a.check(X[:50])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[1.0, np.nan], [0, 1]]}, "NaN at row 0, column 1.*drop or impute"),
        ({"X": [[1.0, 2], [0, -np.inf]]}, "inf at row 1, column 1"),
        ({"X": [[1.0, 2.0]]}, "at least 2 rows, got shape \\(1, 2\\)"),
        ({"X": np.ones(5)}, "[Rr]eshape"),
        ({"X": np.ones((3, 2, 2))}, "dim"),
        ({"X": np.ones((5, 2))}, "all points are equal"),
        ({"X": [["a", "b"], ["c", "d"]]}, "could not convert|dtype"),
        ({"eps": -1}, "eps must be positive and finite, got -1; .* 1.0 is a good start"),
        ({"eps": 0}, "eps must be positive"),
        ({"eps": np.nan}, "eps must be positive"),
        ({"eps": "big"}, "eps must be positive"),
        ({"tol": 0}, "tol must be positive"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"solver": "simplex"}, "solver must be one of auto, newton"),
        ({"metric": "precomputed"}, "X must be a square matrix"),
        ({"X": [[0, 1.0], [2, 0]], "metric": "precomputed"}, "symmetric.*\\(0, 1\\)"),
        ({"metric": "no-such"}, "metric 'no-such' is not known; (?!.*nan_euclidean)"),
        (
            {"X": [[1.0, np.nan], [0, 1]], "metric": "nan_euclidean"},
            "^metric is 'nan_euclidean', .*; impute .*sparrot.KNeighborsTransformer",
        ),
        ({"potential": np.zeros(3)}, "potential must be 31 finite numbers"),
        ({"n_jobs": 0}, "n_jobs must be a nonzero integer"),
    ],
)
def test_bad_input_is_named_with_its_remedy(arguments, message):
    given = {"X": points("gaussian", 31)} | arguments
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.qot(given.pop("X"), **given)


def test_a_dense_path_that_does_not_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr("sparrot.engine._run._system_available", lambda: 1e6)
    X = points("gaussian", 1000)
    with pytest.raises(
        sparrot.NotEnoughMemoryError, match="use solver='active-set', which needs no n x n"
    ):
        sparrot.qot(X, solver="newton")
    with pytest.raises(sparrot.NotEnoughMemoryError, match="take a smaller eps"):
        sparrot.qot(X, 100.0, solver="active-set")


def test_results_are_frozen_and_pickle():
    a = sparrot.qot(points("gaussian", 50))
    with pytest.raises(AttributeError):
        a.eps = 2.0
    b = pickle.loads(pickle.dumps(a))
    assert (a.matrix != b.matrix).nnz == 0
    error = pickle.loads(pickle.dumps(sparrot.NotConvergedError("why", b)))
    assert error.result.eps == a.eps


def test_nothing_warns_on_ordinary_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparrot.qot(points("gaussian", 2500))
