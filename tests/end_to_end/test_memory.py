import tracemalloc

import numpy as np
import pytest

import sparrot


def test_the_active_set_never_holds_an_n_by_n_array():
    n = 40_000
    X = np.random.default_rng(0).standard_normal((n, 8)).astype(np.float32)
    sparrot.qot(X[:3000], 0.1)  # compile before counting
    tracemalloc.start()
    a = sparrot.qot(X, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert a.solver == "active-set"
    assert a.certificate.exact
    assert peak < n * n / 4  # a quarter of a byte a pair: not even a bit mask and its copy


def test_the_streamed_entropic_plan_respects_its_budget():
    n = 2500
    X = np.random.default_rng(0).standard_normal((n, 8))
    sparrot.eot(X[:200], 0.02, drop=0.01)
    tracemalloc.start()
    a = sparrot.eot(X, 0.02, drop=0.01, tol=1e-4, max_memory=2.5e7)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert a.certificate.marginal_error <= 0.011
    assert peak < n * n * 8  # less than one dense matrix, the sparse result included


def test_the_active_set_with_a_floor_never_holds_an_n_by_n_array():
    n = 16_000
    X = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)
    X[::500] *= 20
    sparrot.qot(X[:3000], 0.03, min_neighbors=5)  # compile before counting
    tracemalloc.start()
    a = sparrot.qot(X, 0.03, min_neighbors=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert a.solver == "active-set"
    assert a.certificate.exact
    assert a.certificate.floor_violation <= 1e-8
    assert a.row_eps.any()
    assert peak < n * n  # a byte a pair: not even a mask


@pytest.mark.parametrize(
    "solves",
    [
        lambda X, more: sparrot.qot(X, perplexity=20, min_neighbors=5, **more),
        lambda X, more: sparrot.qot(X, n_neighbors=5, **more),
        lambda X, more: [*sparrot.qot_path(X, [0.02, 0.016, 0.013], min_neighbors=5, **more)],
    ],
    ids=["perplexity", "n_neighbors", "path"],
)
def test_a_few_outliers_do_not_make_candidates_of_all_pairs(solves):
    n = 1200
    X = np.random.default_rng(0).standard_normal((n, 5))
    X[:6] *= 200  # with multipliers of 1,000 eps and more, where most have none
    n_pairs = []
    more = {"solver": "active-set", "progress": lambda p: n_pairs.append(p.n_pairs or 0)}
    solves(X, more)
    assert 5 * n / 2 < max(n_pairs) < n * (n - 1) / 2 / 8
