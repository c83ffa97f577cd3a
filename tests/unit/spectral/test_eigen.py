import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import sparrot
from problems import path_graph, points, ring_graph
from sparrot._eigensolver import EigenPairs
from sparrot.errors import AffinityWarning, InvalidInputError, NotConvergedError
from sparrot.spectral import eigenpairs, symmetric_normalization
from sparrot.spectral._eigen import _merged

FORMS = {"sparse": sp.csr_array, "dense": lambda W: W.toarray()}


@pytest.mark.parametrize("n", [50, 2500])
def test_the_spectrum_of_a_circle_is_cosines_in_pairs(n):
    pairs = eigenpairs(ring_graph(n), 5)
    assert pairs.values == pytest.approx(
        np.cos(2 * np.pi * np.array([0, 1, 1, 2, 2]) / n), abs=1e-9
    )
    assert pairs.vectors.T @ pairs.vectors == pytest.approx(np.eye(5), abs=1e-9)
    assert np.array_equal(pairs.vectors, eigenpairs(ring_graph(n), 5).vectors)


@pytest.mark.parametrize("form", FORMS)
def test_the_spectrum_of_a_torus_grid_is_means_of_two_cosines(form):
    a, b = 30, 40
    grid = sp.kron(ring_graph(a), sp.eye_array(b)) + sp.kron(sp.eye_array(a), ring_graph(b))
    pairs = eigenpairs(FORMS[form](grid), 9)
    x, y = np.cos(2 * np.pi * np.arange(a) / a), np.cos(2 * np.pi * np.arange(b) / b)
    expected = np.sort((x[:, None] + y).ravel() / 2)[::-1][:9]
    assert pairs.solver == "lanczos"
    assert pairs.values == pytest.approx(expected, abs=1e-12)


def test_the_spectrum_of_a_path_is_simple():
    n = 40
    pairs = eigenpairs(path_graph(n), 6)
    assert pairs.values == pytest.approx(np.cos(np.pi * np.arange(6) / (n - 1)), abs=1e-12)
    waves = np.cos(np.pi * np.outer(np.arange(n), np.arange(6)) / (n - 1))
    functions = pairs.functions / pairs.functions[0] * waves[0]
    assert functions == pytest.approx(waves, abs=1e-9)


@pytest.mark.parametrize("n", [100, 3000])
def test_functions_are_those_of_the_walk_and_the_first_is_one(n):
    W = sparrot.knn(points("swiss-roll", n), 10)
    pairs = eigenpairs(W, 4)
    P = sparrot.spectral.random_walk(W)
    assert pairs.functions[:, 0] == pytest.approx(1, abs=1e-6)
    scale = np.sqrt(pairs.degrees.sum() / pairs.degrees.min())
    error = P @ pairs.functions - pairs.functions * pairs.values
    assert np.abs(error).max() <= scale * pairs.residuals.max() + 1e-12


@pytest.mark.parametrize("solver", ["lanczos", "arpack", "lobpcg"])
@pytest.mark.parametrize("form", FORMS)
def test_every_solver_finds_what_the_dense_one_finds(solver, form):
    W = FORMS[form](sparrot.qot(points("gaussian", 600), 0.5).matrix)
    reference, pairs = eigenpairs(W, 6, solver="dense"), eigenpairs(W, 6, solver=solver)
    assert pairs.solver == solver
    assert pairs.values == pytest.approx(reference.values, abs=1e-9)
    assert pairs.residuals.max() <= 1e-8
    # Davis and Kahan: the sine of the angle is at most residual over gap.
    gap = np.diff(eigenpairs(W, 7, solver="dense").values)[-1]
    angle = sparrot.metrics.mean_principal_angle(pairs.vectors, reference.vectors)
    assert angle <= 10 * 1e-8 / abs(gap)


def test_eigenvalues_lie_between_minus_one_and_one_and_negative_ones_do_not_lead():
    a = sparrot.qot(points("gaussian", 60), 0.01)
    every = np.linalg.eigvalsh(a.matrix.toarray())
    assert every.min() >= -1 - 1e-7
    assert every.max() <= 1 + 1e-7
    assert abs(every.min()) > np.sort(every)[-6]  # the largest in size is a negative one
    assert eigenpairs(a, 6).values == pytest.approx(every[::-1][:6], abs=1e-7)


def test_pairs_do_not_depend_on_threads():
    W = sparrot.knn(points("swiss-roll", 2500), 10).matrix
    one, two = eigenpairs(W, 4, n_jobs=1), eigenpairs(W, 4, n_jobs=2)
    assert np.array_equal(one.vectors, two.vectors)


def pieces():
    return sp.block_diag([ring_graph(10), ring_graph(30), path_graph(5)], format="csr")


def test_each_component_has_an_eigenvalue_one_and_vectors_of_its_own():
    pairs = eigenpairs(pieces(), 5, components="each")
    assert pairs.n_connected_components == 3
    assert np.bincount(pairs.labels).tolist() == [30, 10, 5]
    assert pairs.values == pytest.approx([1, 1, 1, *2 * [np.cos(2 * np.pi / 30)]])
    assert pairs.owners.tolist() == [0, 1, 2, 0, 0]
    assert not pairs.vectors[pairs.labels[:, None] != pairs.owners].any()
    S = symmetric_normalization(pieces())
    assert S @ pairs.vectors == pytest.approx(pairs.vectors * pairs.values, abs=1e-12)


def test_more_components_than_pairs_need_no_solver():
    W = sp.block_diag([ring_graph(3)] * 500, format="csr")
    pairs = eigenpairs(W, 4, components="each")
    assert pairs.solver == "components"
    assert pairs.values.tolist() == [1, 1, 1, 1]
    assert symmetric_normalization(W) @ pairs.vectors == pytest.approx(pairs.vectors)


def test_a_graph_in_pieces_is_announced_refused_or_cut():
    with pytest.warns(AffinityWarning, match=r"3 components, the largest of 30 points"):
        eigenpairs(pieces(), 4)
    with pytest.raises(InvalidInputError, match="3 components"):
        eigenpairs(pieces(), 4, components="error")
    pairs = eigenpairs(pieces(), 3, components="largest")
    assert pairs.values == pytest.approx([1, *2 * [np.cos(2 * np.pi / 30)]])
    assert not pairs.vectors[pairs.labels > 0].any()
    with pytest.raises(
        InvalidInputError, match=r"k must be at most 30, the size of .* component, got 31"
    ):
        eigenpairs(pieces(), 31, components="largest")


@pytest.mark.parametrize("solver", ["lanczos", "arpack", "lobpcg"])
def test_any_solver_may_be_asked_for_nearly_all_pairs(solver):
    pairs = eigenpairs(pieces(), 44, components="each", solver=solver)
    every = np.linalg.eigvalsh(symmetric_normalization(pieces()).toarray())[::-1]
    assert pairs.values == pytest.approx(every[:44], abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_user_errors_are_named(form):
    W = FORMS[form](ring_graph(6))
    for k in (0, 6, 7, 2.5, None):
        with pytest.raises(InvalidInputError, match=rf"from 1 to 5, got {k}"):
            eigenpairs(W, k)
    with pytest.raises(InvalidInputError, match="negative"):
        eigenpairs(-W, 2)
    with pytest.raises(InvalidInputError, match="symmetric"):
        eigenpairs(W * np.arange(1, 7), 2)
    with pytest.raises(InvalidInputError, match="components must be one of"):
        eigenpairs(W, 2, components="all")
    with pytest.raises(InvalidInputError, match="solver must be one of"):
        eigenpairs(W, 2, solver="power")


def test_failure_is_loud_and_keeps_the_best_pairs():
    with pytest.raises(NotConvergedError, match="residuals up to") as raised:
        eigenpairs(ring_graph(3000), 3, solver="lobpcg", tol=1e-14)
    best = raised.value.result
    assert best.values[0] == pytest.approx(1)
    assert 1e-14 < best.residuals.max() < 1e-2


def test_repeated_eigenvalues_are_no_hindrance():
    Z = sparrot.datasets.make_mixture(30, 5, spread=(0.1, 0.2, 0.3)).X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparrot.AffinityWarning)
        Y = sparrot.Eigenmaps(affinity=sparrot.QOT(perplexity=10)).fit_transform(Z)
        W = sparrot.qot(Y)
    spectrum = sparrot.eigenpairs(W, 16, components="each")  # LAPACK's evr gives up on a part
    V = spectrum.vectors
    assert W.matrix @ V == pytest.approx(V * spectrum.values, abs=1e-8)


@pytest.mark.parametrize("size", [2, 12])
def test_all_pairs_of_a_bipartite_piece_have_the_eigenvalue_minus_one_and_its_vector(size):
    """From which the first, which is known, must be told apart."""
    star, edge = np.zeros((size, size)), np.ones((2, 2)) - np.eye(2)
    star[0, 1:] = star[1:, 0] = 1
    W = sp.block_diag([star, edge]).toarray()
    S = symmetric_normalization(W)
    found = eigenpairs(W, size + 1, components="each")
    assert np.linalg.norm(S @ found.vectors - found.vectors * found.values, axis=0).max() <= 1e-12
    assert found.vectors.T @ found.vectors == pytest.approx(np.eye(size + 1), abs=1e-12)
    assert found.values[-1] == pytest.approx(-1)


@pytest.mark.parametrize("components", ["warn", "each", "largest"])
def test_entries_in_no_order_stay_so_and_may_be_read_only(components):
    W = sp.csr_array(np.kron(np.eye(3), np.ones((20, 20)) - np.eye(20)))
    for row in range(60):
        entries = slice(W.indptr[row], W.indptr[row + 1])
        W.indices[entries] = W.indices[entries][::-1].copy()
    W = sp.csr_array((W.data, W.indices, W.indptr), shape=W.shape)  # which does not know its order
    for array in (W.data, W.indices, W.indptr):
        array.flags.writeable = False
    before = W.indices.copy()
    first, second = (eigenpairs(W, 4, components=components) for _ in range(2))
    assert np.array_equal(W.indices, before)
    assert np.array_equal(first.vectors, second.vectors)


def test_a_value_above_one_by_rounding_does_not_come_before_the_trivial_pair():
    pairs = EigenPairs(np.array([1.0, 1 + 1e-11]), np.eye(3, 2), np.zeros(2), "lanczos")
    found = _merged([(np.arange(3), pairs)], 2, np.zeros(3, int), np.ones(3))
    assert np.array_equal(found.vectors, np.eye(3, 2))
    assert found.nontrivial.tolist() == [False, True]
