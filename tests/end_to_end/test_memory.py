import tracemalloc

import numpy as np

import sparrot


def test_the_active_set_never_holds_an_n_by_n_array():
    n = 30_000
    X = np.random.default_rng(0).standard_normal((n, 8)).astype(np.float32)
    sparrot.qot(X[:3000], 0.1)  # compile before counting
    tracemalloc.start()
    a = sparrot.qot(X, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert a.solver == "active-set"
    assert a.certificate.exact
    assert peak < n * n / 4  # a quarter of a byte a pair: not even a bit mask and its copy
