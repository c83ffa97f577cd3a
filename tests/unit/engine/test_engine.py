import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import sparrot
from sparrot.engine import Threads, available_memory, require_memory
from sparrot.errors import InvalidInputError, NotEnoughMemoryError

STATM = Path("/proc/self/statm")


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_pieces(n_jobs):
    with Threads(n_jobs) as threads:
        assert list(threads.map(lambda k: k * k, range(100))) == [k * k for k in range(100)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_run_covers_every_row_once(n_jobs):
    seen = []
    with Threads(n_jobs) as threads:
        threads.blocks(lambda start, stop: seen.extend(range(start, stop)), 103, 10)
    assert sorted(seen) == list(range(103))


@pytest.mark.parametrize(
    ("n_jobs", "most", "cores", "calls"),
    [(1, 3, 4, 1), (3, 2, 4, 2), (2, 8, 4, 2), (2, 0, 4, 1), (4, 8, 3, 3)],
)
def test_work_is_shared_by_this_thread_and_some_others(n_jobs, most, cores, calls, monkeypatch):
    monkeypatch.setattr("sparrot.engine._threads._cores", lambda: cores)
    called = []
    with Threads(n_jobs) as threads:
        threads.share(lambda: called.append(threading.current_thread()), most)
        assert threading.current_thread() in called  # whoever else has come by now
    assert len(called) <= calls
    ready = threading.Barrier(calls)
    with Threads(n_jobs) as threads:
        threads.share(lambda: ready.wait(10) and None, most)  # all are there at once


def test_blas_has_one_thread_inside_and_its_own_number_after():
    def blas_threads():
        return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]

    before = blas_threads()
    with Threads(2):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_an_error_in_a_piece_reaches_the_caller_and_leaves_no_thread():
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), Threads(2) as threads:
        list(threads.map(lambda k: 1 // k, [3, 2, 1, 0]))
    assert threading.active_count() == before


def test_zero_jobs_are_refused():
    with pytest.raises(InvalidInputError, match="n_jobs must be a nonzero integer"):
        Threads(0)


def test_memory_is_asked_for_before_it_is_taken():
    assert available_memory() > 0
    require_memory(1, what="a byte", remedy="none")
    with pytest.raises(NotEnoughMemoryError, match=r"needs about .* GB.*; buy more"):
        require_memory(1e18, what="too much", remedy="buy more")
    with pytest.raises(NotEnoughMemoryError, match=r"needs about 2 MB, and 0.5 MB are available"):
        require_memory(2e6, what="little", remedy="allow more", max_memory=5e5)


@pytest.mark.skipif(not STATM.exists(), reason="only Linux tells of it")
def test_a_limit_of_the_process_counts_as_memory():
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = 4096 * int(STATM.read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000, before[1]))
    try:
        assert 0 < available_memory() <= 300_000_000
        with pytest.raises(NotEnoughMemoryError, match=r"newton.* needs about"):
            sparrot.qot(np.random.default_rng(0).standard_normal((8000, 2)), 0.1, solver="newton")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
