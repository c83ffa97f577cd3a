from threading import Event, current_thread, main_thread

import numpy as np
import pytest
import scipy.sparse as sp

import sparrot
from problems import points, ring_graph
from sparrot._eigensolver import (
    _SOLVERS,
    EigenPairs,
    _aligned,
    _better,
    _breadth_first,
    _Filter,
    _full,
    _KrylovSpace,
    _ladder,
    _random,
    _Rows,
    leading_eigenpairs,
)
from sparrot._kernels import three_term_rows
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
    monkeypatch.setitem(_SOLVERS, "lanczos", lambda *arguments: poor)
    monkeypatch.setitem(_SOLVERS, "lobpcg", lambda *arguments: pytest.fail("too far"))
    pairs = leading_eigenpairs(S, 3, run)
    assert pairs.solver == "arpack"
    assert pairs.values[0] == pytest.approx(1)


def test_the_block_method_takes_over_where_both_krylov_spaces_fail(monkeypatch, run):
    S = symmetric_normalization(sparrot.knn(points("gaussian", 2100), 10))
    poor = np.full(3, 0.5), np.eye(2100)[:, :3]
    for name in ("lanczos", "arpack"):
        monkeypatch.setitem(_SOLVERS, name, lambda *arguments: poor)
    monkeypatch.setitem(_SOLVERS, "dense", lambda *arguments: pytest.fail("too far"))
    pairs = leading_eigenpairs(S, 3, run)
    assert pairs.solver == "lobpcg"
    assert pairs.values == pytest.approx(np.linalg.eigvalsh(S.toarray())[:-4:-1], abs=1e-10)


def test_the_ladder_begins_with_the_fastest_solver_that_misses_nothing():
    assert _ladder(500, 1, "auto") == _ladder(900, 3, "auto") == ("dense",)
    assert _ladder(1000, 3, "auto", sparse=False) == ("dense",)
    assert _ladder(1000, 3, "auto") == ("lanczos", "dense")
    assert _ladder(2100, 3, "auto") == ("lanczos", "arpack", "lobpcg", "dense")
    assert _ladder(10**5, 1, "auto") == ("lanczos", "arpack", "lobpcg")
    assert _ladder(2100, 3, "lobpcg") == ("lobpcg",)
    assert _ladder(60, 5, "lobpcg") == ("dense",)


def test_pairs_that_arpack_leaves_out_without_a_word_are_not_missing(monkeypatch, run):
    def few(*args, **kwargs):
        return [part[..., :2] for part in sp.linalg.eigsh(*args, **kwargs)]

    monkeypatch.setattr("sparrot._eigensolver.eigsh", few)
    S = np.diag(np.linspace(0, 1, 60))
    pairs = leading_eigenpairs(S, 4, run, solver="arpack")
    assert pairs.vectors.shape == (60, 4)
    assert pairs.residuals.max() > 1e-8  # which the caller looks at


def test_small_residuals_do_not_excuse_a_missing_pair():
    V = np.eye(4)[:, :2]
    best = EigenPairs(np.array([1.0, 0.9]), V, np.full(2, 1e-6), "a")
    assert not _better(EigenPairs(np.array([1.0, 0.8]), V, np.full(2, 1e-12), "b"), best, 1e-8)
    assert _better(EigenPairs(np.array([1.0, 0.9]), V, np.full(2, 1e-12), "b"), best, 1e-8)


def test_where_krylov_spaces_give_up_the_others_go_on(monkeypatch, run):
    n = 1200  # they may not restart, and have not converged by then
    monkeypatch.setattr("sparrot._eigensolver._RESTARTS", 1)
    S = symmetric_normalization(ring_graph(n))
    pairs = leading_eigenpairs(S, 1, run, known=np.full((n, 1), n**-0.5))
    assert pairs.solver in ("lobpcg", "dense")
    assert pairs.values[0] == pytest.approx(np.cos(2 * np.pi / n), abs=1e-12)


def test_a_filter_lifts_about_as_many_eigenvalues_as_it_is_asked_for(run):
    S = symmetric_normalization(sparrot.knn(points("gaussian", 2100), 10))
    every = np.linalg.eigvalsh(S.toarray())
    rows = _Rows(S, run)
    space = _KrylovSpace(rows, _random(2100, 4, 0), 60)
    while not space.is_full:
        space.append()
    values, Q, _ = space.ritz()
    found = _Filter.above(values, np.square(Q[:4]).sum(axis=0) * 2100 / 4, 60, 0.0, rows.work)
    assert 40 <= (every > found.c).sum() <= 90
    assert 1 < found.degree <= 40
    lifted = np.polynomial.chebyshev.Chebyshev.basis(found.degree)(found.scaled(every))
    assert np.abs(lifted[every <= found.c]).max() <= 1 + 1e-9


@pytest.mark.parametrize("degree", [1, 2, 5, 6])
def test_a_filter_is_a_chebyshev_polynomial_of_the_matrix(degree, run):
    S = symmetric_normalization(sparrot.knn(points("gaussian", 300), 10))
    every, V = np.linalg.eigh(S.toarray())
    rows, filter = _Rows(S, run), _Filter(0.4, degree)
    lifted = np.polynomial.chebyshev.Chebyshev.basis(degree)(filter.scaled(every))
    X, filtered = np.eye(300, 4), np.empty((300, 4))
    filtered[rows.order] = filter.apply(rows, X[rows.order], np.zeros_like(X))
    assert filtered == pytest.approx((V * lifted) @ V[:4].T, abs=1e-10)


@pytest.mark.parametrize("first", [0.9, 1.0])
def test_no_filter_lifts_so_far_that_all_digits_are_lost(first):
    """Not where copies of the first value count for more than are wanted, nor where it is rough."""
    copies = np.array([first, first, first, first, 0.3, 0.1, -0.4])
    for counts in ([40.0, 40, 40, 40, 10, 10, 10], [1.0] * 7):
        for residual in (0.0, 0.1):
            found = _Filter.above(copies, np.array(counts), 12, residual, 1.0)
            assert found.c <= 0.3
            largest = np.cosh(found.degree * np.arccosh(found.scaled(1.0)))
            assert largest <= 1e10
            likely = np.cosh(found.degree * np.arccosh(found.scaled(min(first + residual, 1.0))))
            assert likely <= (1e6 if residual else 1e2)


def test_a_filter_that_lifts_nothing_is_lowered_until_it_does():
    filter, seen = _Filter(1.0, 300), []
    for _ in range(20):
        filter = filter.lower()
        seen.append(filter.c)
    assert seen == sorted(seen, reverse=True)
    assert seen[0] < 1
    assert (filter.c, filter.degree) == (-0.5, 2)


@pytest.mark.parametrize("kind", ["new", "thin", "flat", "equal", "old", "nothing", "first"])
@pytest.mark.parametrize("crooked", [0.0, 1e-7])
def test_a_block_is_made_orthonormal_whatever_it_has_in_common_with_the_basis(kind, crooked, run):
    n, rng = 500, np.random.default_rng(1)
    S = symmetric_normalization(sparrot.knn(points("gaussian", n), 10))
    space = _KrylovSpace(_Rows(S, run), _random(n, 4, 0), 40)
    for _ in range(4):
        space.append()
    V, W = space._V[:, :16], rng.standard_normal((n, 4))
    W[:, 3] = {
        "new": W[:, 3],
        "thin": W[:, 0] + 1e-3 * W[:, 3],
        "flat": W[:, 0] + 1e-6 * W[:, 3],
        "equal": W[:, 0],
        "old": V[:, 2],
        "nothing": 0 * W[:, 0],
        "first": W[:, 3],
    }[kind]
    if kind == "first":  # what the second lacks, the third has
        W[:, 1] = W[:, 0]
    W += V @ rng.standard_normal((16, 4))
    V[:, 0] += crooked * V[:, 1]  # which it is told
    space._E[0, 1] = space._E[1, 0] = crooked
    space._W[:] = W
    H = space._orthonormal()
    X, R = space._X, space._R
    assert V @ H + X @ R == pytest.approx(W, abs=1e-12 + 10 * crooked)
    assert np.abs(X.T @ X - np.eye(4)).max() <= 1e-13
    assert np.abs(V.T @ X).max() <= 1e-12


@pytest.mark.parametrize("columns", [[0, 0, 1, 2], [0, 1, 1, 1], [0, 0, 0, 0]])
def test_a_block_of_low_rank_keeps_its_span(columns):
    a = np.random.default_rng(0).standard_normal((300, 3))
    W = a[:, columns] @ np.diag([1.0, 3.0, 0.5, 2.0])
    X = np.linalg.qr(_full(W, 0))[0]
    assert np.linalg.matrix_rank(X) == 4
    assert np.abs(W - X @ (X.T @ W)).max() <= 1e-12


@pytest.mark.parametrize("n_known", [985, 990, 996])
def test_nearly_all_eigenvectors_may_be_known(n_known, run):
    n = 1000
    every = np.append(np.ones(n_known), np.linspace(0.9, -1, n - n_known))
    S, known = sp.csr_array(np.diag(every)), np.eye(n, n_known)
    pairs = leading_eigenpairs(S, 3, run, known=known)
    assert pairs.values == pytest.approx(every[n_known : n_known + 3], abs=1e-12)


@pytest.mark.parametrize(("tol", "k"), [(1e-4, 11), (1e-8, 13), (1e-11, 24)])
def test_many_equal_rings_have_an_eigenvalue_one_each(tol, k, run):
    """Of which nothing is known: the first filter would begin at one."""
    S = sp.csr_array(sp.block_diag([ring_graph(20) / 2] * 30))
    pairs = leading_eigenpairs(S, k, run, solver="lanczos", tol=tol)
    assert pairs.values == pytest.approx(np.ones(k), abs=1e-6)
    assert pairs.residuals.max() <= tol


@pytest.mark.parametrize("form", FORMS)
def test_small_residuals_are_reached_although_rounding_grows_from_block_to_block(form, run):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        S = symmetric_normalization(sparrot.knn(rng.standard_normal((150, 3)), 6))
        every, V = np.linalg.eigh(S.toarray())
        found = leading_eigenpairs(
            FORMS[form](S), 2, run, solver="lanczos", tol=1e-11, known=V[:, [-1]]
        )
        assert found.residuals.max() <= 1e-11
        assert found.values == pytest.approx(every[[-2, -3]], abs=1e-12)


def test_a_filter_that_lifts_too_few_eigenvalues_is_lowered_at_the_first_look(monkeypatch, run):
    S = symmetric_normalization(sparrot.knn(points("gaussian", 2100), 10))
    every = np.linalg.eigvalsh(S.toarray())[::-1]
    too_high = (every[0] + every[1]) / 2
    applied, apply = [], _Filter.apply

    def watched(self, S, X, W):
        applied.append(self.c)
        return apply(self, S, X, W)

    monkeypatch.setattr(_Filter, "apply", watched)
    monkeypatch.setattr(_Filter, "above", lambda *arguments: _Filter(too_high, 8))
    pairs = leading_eigenpairs(S, 5, run, solver="lanczos")
    assert pairs.values == pytest.approx(every[:5], abs=1e-12)
    assert applied.count(too_high) == 6  # blocks of four, two more than for what a restart keeps


def torus(side):
    """A grid in three dimensions whose opposite sides are joined, and its eigenvalues."""
    one, ring = sp.eye_array(side), ring_graph(side)
    factors = (ring, one, one), (one, ring, one), (one, one, ring)
    S = sum(sp.kron(sp.kron(a, b), c) for a, b, c in factors) / 6
    x = np.cos(2 * np.pi * np.arange(side) / side)
    return sp.csr_array(S), np.sort((x[:, None, None] + x[:, None] + x).ravel() / 3)[::-1]


@pytest.mark.parametrize("k", [3, 9, 22])
def test_more_copies_of_an_eigenvalue_than_a_block_has_columns_are_found(k, run):
    S, every = torus(11)
    assert np.ptp(every[1:7]) < 1e-12  # six copies
    pairs = leading_eigenpairs(S, k, run, solver="lanczos")
    assert pairs.values == pytest.approx(every[:k], abs=1e-12)
    assert pairs.residuals.max() <= 1e-8
    assert pairs.vectors.T @ pairs.vectors == pytest.approx(np.eye(k), abs=1e-10)


@pytest.mark.parametrize("copies", [8, 24])
def test_all_copies_of_equal_blocks_are_found(copies, run):
    S, every = torus(5)
    pairs = leading_eigenpairs(sp.csr_array(sp.block_diag([S] * copies)), copies + 8, run)
    assert pairs.solver == "lanczos"
    assert pairs.values == pytest.approx(np.repeat(every, copies)[: copies + 8], abs=1e-12)
    assert pairs.residuals.max() <= 1e-8


@pytest.mark.parametrize("value", [0.5, 2.0])
def test_where_lapack_is_still_quick_it_comes_next_and_is_right(value, monkeypatch, run):
    S, every = torus(10)
    poor = np.full(3, value), np.eye(1000)[:, :3]
    monkeypatch.setitem(_SOLVERS, "lanczos", lambda *arguments: poor)
    pairs = leading_eigenpairs(S, 3, run)
    assert pairs.solver == "dense"
    assert pairs.values == pytest.approx(every[:3], abs=1e-12)


def test_the_order_of_the_rows_has_those_of_all_components():
    S = sp.block_diag([ring_graph(5), ring_graph(4)], format="csr")
    order = _breadth_first(sp.csr_array(S))
    assert order[:5].tolist() == [0, 1, 4, 2, 3]
    assert np.array_equal(np.sort(order), np.arange(9))


@pytest.mark.parametrize(("c", "degree", "blocks"), [(1.0, 1, 10), (0.5, 4, 8), (0.8, 12, 5)])
def test_residuals_are_estimated_without_another_product(c, degree, blocks, run):
    """By what is left of p(S) where the Krylov space ends."""
    S = symmetric_normalization(sparrot.knn(points("gaussian", 2100)[:, :3], 30))
    rows = _Rows(S, run)
    space = _KrylovSpace(rows, _random(2100, 4, 0), 60)
    space.begin(_random(2100, 4, 1), _Filter(c, degree))
    for _ in range(blocks):
        space.append()
    values, Q, estimates = space.ritz()
    V = space.combined(Q[:, :4])
    residuals = np.linalg.norm(S[rows.order][:, rows.order] @ V - V * values[:4], axis=0)
    expected = [1.0] * 4 if degree == 1 else [0.75] * 4
    assert residuals / estimates[:4] == pytest.approx(expected, rel=1e-6 if degree == 1 else 0.4)


def test_rows_of_four_columns_do_not_cross_lines_of_the_cache():
    for rows in (1, 999, 1000):
        X = _aligned(rows, 4)
        assert X.shape == (rows, 4)
        assert X.flags.c_contiguous
        assert X.ctypes.data % 64 == 0


def test_ritz_pairs_are_not_looked_at_long_before_they_can_have_converged():
    filter = _Filter(0.5, 4)
    rate = 4 * np.arccosh(filter.scaled(0.9))
    assert filter.blocks_to_go(0.9, np.exp(3.5 * rate)) == 4
    assert filter.blocks_to_go(0.9, np.exp(0.5 * rate)) == 1
    assert filter.blocks_to_go(0.4, 1e6) == filter.blocks_to_go(0.9, np.inf) == 1


def test_a_krylov_space_that_is_exhausted_goes_on_at_random(run):
    n = 1200  # three eigenvalues: 1, -1 and 0
    one = np.ones((n // 2, n // 2)) * 2 / n
    pairs = leading_eigenpairs(np.block([[0 * one, one], [one, 0 * one]]), 3, run, solver="lanczos")
    assert pairs.values == pytest.approx([1, 0, 0], abs=1e-12)
    assert pairs.vectors.T @ pairs.vectors == pytest.approx(np.eye(3), abs=1e-10)


@pytest.mark.parametrize("n", [40, 41, 43, 60])
def test_a_krylov_space_is_never_all_there_is(n, run):
    A = np.random.default_rng(n).standard_normal((n, n))
    every, V = np.linalg.eigh(A + A.T)
    every /= every[-1] - every[0]
    S = (V * every) @ V.T
    for k in (1, 2):
        pairs = leading_eigenpairs(S, k, run, solver="lanczos")
        assert pairs.values == pytest.approx(every[::-1][:k], abs=1e-12)


def test_pieces_of_rows_are_summed_alike_by_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("sparrot._eigensolver._LEAST", 5000)
    S = symmetric_normalization(sparrot.knn(points("gaussian", 19_000)[:, :3], 8))
    found = []
    for n_jobs in (1, 2, 3):
        with Run(n_jobs) as run:
            found.append(leading_eigenpairs(S, 4, run, solver="lanczos").vectors)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("n", [7, 900])  # fewer rows than parts, and more
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_threads_that_share_the_steps_of_a_filter_find_the_same_bits(n, degree, monkeypatch):
    monkeypatch.setattr("sparrot._eigensolver._WORK", 1)
    monkeypatch.setattr("sparrot.engine._threads._cores", lambda: 20)
    S = symmetric_normalization(ring_graph(n) + ring_graph(n) @ ring_graph(n))
    X = np.random.default_rng(0).standard_normal((n, 8))
    steps = np.random.default_rng(1).standard_normal((degree, 3))
    expected = X, np.zeros_like(X)
    for a, b, c in steps:
        expected = a * (S @ expected[0]) + b * expected[0] + c * expected[1], expected[0]
    found = []
    for n_jobs in (1, 2, 3, 20):
        with Run(n_jobs) as run:
            found += [_Rows(S, run).steps(X.copy(), np.zeros_like(X), steps) for _ in range(50)]
    assert found[0] == pytest.approx(expected[0], abs=1e-12 * np.abs(expected[0]).max())
    assert all(np.array_equal(one, found[0]) for one in found)


def test_a_thread_that_waits_too_long_comes_back_with_its_part_and_goes_on():
    S = symmetric_normalization(ring_graph(12))
    X, Y = np.ones((12, 4)), np.zeros((12, 4))
    steps, ends = np.tile([1.0, 0.0, 0.0], (2, 1)), np.array([0, 6, 12])
    counts = np.array([1, 0, 0])  # somebody has taken the first half of the first step
    arguments = S.indptr, S.indices.astype(np.int32), S.data, X, Y, steps, ends, counts
    part = three_term_rows(*arguments, -1)
    assert part == 2  # of the second step, which cannot begin
    assert Y[:, 0] == pytest.approx([0.0] * 6 + [1.0] * 6)
    assert three_term_rows(*arguments, part) == 2
    Y[:6], counts[1] = 1.0, 2  # now that it is done
    assert three_term_rows(*arguments, part) == -1
    assert np.array_equal(counts[1:], [2, 2])
    assert pytest.approx(np.ones((12, 4))) == X


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_an_interrupt_or_error_leaves_no_thread_that_waits_for_ever(where, monkeypatch):
    """One that had taken a part of the work is gone."""
    monkeypatch.setattr("sparrot._eigensolver._WORK", 1)
    monkeypatch.setattr("sparrot.engine._threads._cores", lambda: 2)
    taken, ended, seen = Event(), Event(), []

    def interrupted(*arguments):
        counts = arguments[-2]
        seen.append(counts)
        if (current_thread() is main_thread()) == (where == "here"):
            counts[0] += 1
            taken.set()
            raise KeyboardInterrupt
        assert taken.wait(10)
        part = three_term_rows(*arguments)
        if part < 0:
            ended.set()
        return part

    monkeypatch.setattr("sparrot._kernels.three_term_rows", interrupted)
    S = symmetric_normalization(ring_graph(900))
    with Run(2) as run:
        rows = _Rows(S, run)
        with pytest.raises(KeyboardInterrupt):
            rows.steps(np.ones((900, 4)), np.zeros((900, 4)), np.ones((3, 3)))
        nobody_waits = ended.wait(10)
        for counts in seen:  # so that this test ends even if it fails
            counts[:] = 1000
    assert nobody_waits


def test_a_basis_that_is_lost_at_a_restart_is_begun_anew(monkeypatch, run):
    restart, lost = _KrylovSpace.restart, []

    def restart_and_lose(self, Q):
        monkeypatch.setattr("sparrot._eigensolver._BROKEN", 1e-9 if lost else -1.0)
        restart(self, Q)
        lost.append(self.size == 0)

    monkeypatch.setattr(_KrylovSpace, "restart", restart_and_lose)
    monkeypatch.setattr(_Filter, "blocks_to_go", lambda *arguments: 1)
    n = 2000
    pairs = leading_eigenpairs(sp.csr_array(ring_graph(n) / 2), 6, run, solver="lanczos")
    assert lost[0]
    assert pairs.residuals.max() <= 1e-8
    expected = np.cos(2 * np.pi * np.array([0, 1, 1, 2, 2, 3]) / n)
    assert pairs.values == pytest.approx(expected, abs=1e-9)


def test_a_basis_stays_orthonormal_through_many_restarts(run):
    """Products of its columns would grow with each of them."""
    X = points("gaussian", 400)[:, :3]
    S = symmetric_normalization(np.exp(-20 * np.square(X[:, None] - X).sum(axis=2)))
    space = _KrylovSpace(_Rows(S, run), _random(400, 4, 0), 40)
    for _ in range(200):
        while not space.is_full:
            space.append()
        values, Q, _ = space.ritz()
        space.restart(Q[:, :20])
    V = space.combined(np.eye(20))
    assert V.T @ V == pytest.approx(np.eye(20), abs=1e-10)
    assert np.linalg.eigvalsh(V.T @ (S @ V))[::-1] == pytest.approx(values[:20], abs=1e-10)
