import tracemalloc

import numpy as np
import pytest

import sparrot
from sparrot.ot._dense import BYTES, BYTES_WITH_A_FLOOR
from sparrot.ot._screening import PAIR_BYTES


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


@pytest.mark.parametrize(
    "arguments", [{"eps": 0.03, "min_neighbors": 5}, {"n_neighbors": 15}], ids=["min", "n"]
)
def test_the_active_set_with_a_floor_never_holds_an_n_by_n_array(arguments):
    n = 8_000
    X = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)
    X[::500] *= 20
    sparrot.qot(X[:3000], **arguments)  # compile before counting
    tracemalloc.start()
    a = sparrot.qot(X, **arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert a.solver == "active-set"
    assert a.certificate.exact
    assert a.certificate.floor_violation <= 1e-8
    assert a.row_eps.any()
    assert peak < n * n  # a byte a pair: not even a mask


@pytest.mark.parametrize(
    ("arguments", "share"),  # of what must be free, for any plan, that is taken at the least
    [
        ({"eps": 1e4}, 0.9),
        ({"eps": 0.01, "min_neighbors": 5}, 0.2),
        ({"eps": 0.01, "min_neighbors": 500}, 0.9),
    ],
)
def test_the_dense_solver_takes_no_more_than_must_be_free(arguments, share):
    n = 600
    X = np.random.default_rng(0).standard_normal((n, 5))
    sparrot.qot(X[:50], **arguments | {"min_neighbors": 20}, solver="newton")  # what it loads once
    tracemalloc.start()
    sparrot.qot(X, **arguments, solver="newton")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    announced = (BYTES_WITH_A_FLOOR if "min_neighbors" in arguments else BYTES) * n * n
    assert share * announced < peak <= announced


def test_a_candidate_pair_takes_no_more_than_is_counted_for_it():
    n = 2000
    X = np.random.default_rng(0).standard_normal((n, 5))
    sparrot.qot(X[:600], 0.3, min_neighbors=50, solver="active-set")  # compile before counting
    n_pairs = []
    more = {"solver": "active-set", "progress": lambda p: n_pairs.append(p.n_pairs or 0)}
    tracemalloc.start()
    sparrot.qot(X, 0.3, min_neighbors=150, **more)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(n_pairs) > 150 * n  # so that all else is small beside them
    assert PAIR_BYTES / 2 < peak / max(n_pairs) <= PAIR_BYTES


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
