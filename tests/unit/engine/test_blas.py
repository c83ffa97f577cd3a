"""BLAS has one thread while sparrot works, whoever calls it, and its own number afterward."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest

from sparrot.engine import Threads, _threads

SETTING = """
    import threading
    import numpy as np, scipy.linalg
    from threadpoolctl import threadpool_info, threadpool_limits
    from sparrot.engine import Threads

    def blas():
        return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}

    def in_thread(work):
        found = []
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start(); thread.join()
        return found[0]

    def inside():
        with Threads(2) as threads:
            return blas() | set().union(*threads.map(lambda _: blas(), range(8)))

    assert blas() == {2}, blas()
"""


def run(script):
    """Run a script in a process of its own, in which BLAS has two threads."""
    code = textwrap.dedent(SETTING) + textwrap.dedent(script)
    numbers = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "2")
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=numbers | path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_limit_holds_in_every_thread_and_is_gone_after():
    run("""
        assert inside() == {1}
        assert blas() == {2}
        for _ in range(5):
            assert in_thread(inside) == {1}
            assert in_thread(blas) == blas() == {2}
        assert inside() == {1}
        assert blas() == {2}
    """)


def test_calls_may_overlap_and_end_in_any_order():
    run("""
        first, second = Threads(1), Threads(1)
        in_thread(first.__enter__)
        in_thread(second.__enter__)
        in_thread(lambda: first.__exit__(None, None, None))
        assert blas() == in_thread(blas) == {1}
        in_thread(lambda: second.__exit__(None, None, None))
        assert blas() == in_thread(blas) == {2}
    """)


def test_a_limit_of_others_does_not_keep_ours_out_and_comes_back():
    run("""
        limit = threadpool_limits(2)  # of the main thread, that never gives it back
        assert inside() == {1}
        assert in_thread(inside) == {1}
        assert blas() == {2}
        with threadpool_limits(1):
            assert in_thread(inside) == {1}
            assert blas() == {1}
        assert blas() == {2}
    """)


def test_a_limit_of_others_within_a_call_changes_nothing():
    run("""
        def with_others():
            with Threads(1):
                with threadpool_limits(2):
                    pass
                return blas() | in_thread(blas)
        assert with_others() == {1}
        assert in_thread(with_others) == {1}
        assert blas() == {2}
    """)


@pytest.mark.posix
def test_a_forked_process_begins_anew():
    run("""
        import os
        with Threads(1):
            child = os.fork()
            if not child:
                with Threads(1):
                    first = blas()
        if not child:
            with Threads(1):
                os._exit((first, blas()) != ({1}, {1}))
        assert os.waitpid(child, 0)[1] == 0
        assert blas() == {2}
    """)


def test_calls_work_to_the_end_of_the_process_and_beyond_that_of_the_main_thread():
    done = run("""
        import atexit, time
        import sparrot
        X = np.random.default_rng(0).standard_normal((300, 2))
        sparrot.qot(X, n_jobs=1)
        def late():
            time.sleep(0.5)
            print(len(sparrot.qot(X, n_jobs=1).potential), "in a thread")
        threading.Thread(target=late).start()
        atexit.register(lambda: print(len(sparrot.qot(X, n_jobs=1).potential), "at exit"))
    """)
    assert done.stdout.splitlines() == ["300 in a thread", "300 at exit"], done.stderr


@pytest.mark.posix
def test_an_interrupt_while_the_limit_is_set_leaves_none():
    run("""
        import os, signal, time
        from sparrot.engine import _threads
        hold = _threads._SingleThreadedBlas._hold
        def slowly(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
            hold(self)
        _threads._SingleThreadedBlas._hold = slowly
        try:
            inside()
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("no interrupt")
        _threads._BLAS._ask(lambda: None).result()  # after what is on its way
        assert blas() == {2}
        _threads._SingleThreadedBlas._hold = hold
        assert inside() == {1}
        assert blas() == {2}
    """)


def test_calls_from_many_threads_have_the_bits_of_serial_calls():
    run("""
        from concurrent.futures import ThreadPoolExecutor
        import sparrot
        # More than 10,000 points: from there on OpenBLAS cuts sums in parts, one for each thread.
        X = np.random.default_rng(0).standard_normal((10_100, 1))
        def potential(_):
            return sparrot.qot(X, eps=0.01, tol=1e-2, n_jobs=1).potential
        serial = potential(0)
        with ThreadPoolExecutor(2) as pool:
            for u in pool.map(potential, range(2)):
                assert np.array_equal(u, serial), abs(u - serial).max()
        assert blas() == {2}
    """)


def test_transport_of_two_measures_has_one_thread_of_blas():
    run("""
        import sparrot
        from sparrot.ot import _measures
        solve, found = _measures._solve, []
        _measures._solve = lambda *given: found.append(blas()) or solve(*given)
        rng = np.random.default_rng(0)
        C, a = rng.random((100, 300)), np.full(100, 1 / 100)
        b = np.full(300, 1 / 300)
        def bits():
            return sparrot.transport(a, b, C, 0.5, regularizer="entropic").u
        own = bits()
        with threadpool_limits(1):
            assert np.array_equal(bits(), own)
        assert found == [{1}, {1}], found
        assert blas() == {2}
    """)


class PerThread:
    """A BLAS that has a number of threads for each thread, as with OpenMP."""

    def __init__(self):
        self._own = threading.local()

    def get_num_threads(self):
        return getattr(self._own, "n", 4)

    def set_num_threads(self, n):
        self._own.n = n


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_where_each_thread_has_a_limit_of_its_own_each_gets_it(n_jobs, monkeypatch):
    blas = PerThread()
    monkeypatch.setattr(_threads, "_blas_libraries", lambda: [blas])
    with Threads(n_jobs) as threads:
        found = {blas.get_num_threads(), *threads.map(lambda _: blas.get_num_threads(), range(9))}
    assert found == {1}
    assert blas.get_num_threads() == 4
