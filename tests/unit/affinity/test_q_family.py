"""Logarithm, exponential and divergences of the q-family, and projections under these."""

import numpy as np
import pytest

import sparrot
from problems import half_squared, points
from sparrot import bregman_divergence, exp_q, fenchel_young_loss, log_q

QS = (0.0, 0.3, 0.5, 0.9, 1.0)


def bistochastic(n, seed=0, hollow=True):
    """A random symmetric bistochastic matrix, by Sinkhorn's iteration."""
    A = np.random.default_rng(seed).random((n, n)) + 0.1
    A = A + A.T
    if hollow:
        np.fill_diagonal(A, 0)
    s = np.ones(n)
    for _ in range(2000):
        s = np.sqrt(s / (A @ s))
    return s[:, None] * A * s


def phi(x, q):
    """The generator, written out anew."""
    x = np.asarray(x, dtype=float)
    log = np.log(x) if q == 1 else (x ** (1 - q) - 1) / (1 - q)
    return (x * log - x) / (2 - q)


@pytest.mark.parametrize("q", QS)
def test_exponential_and_logarithm_are_inverse(q):
    x = np.geomspace(1e-3, 1e3, 50)
    assert exp_q(log_q(x, q), q) == pytest.approx(x, rel=1e-10)
    y = np.linspace(-1 / (1 - q) if q < 1 else -5, 5, 50)
    assert log_q(exp_q(y, q), q) == pytest.approx(y, abs=1e-10)
    if q < 1:
        assert not exp_q(-1 / (1 - q) - np.arange(3.0), q).any()


def test_the_family_leads_from_a_line_to_the_exponential():
    x = np.linspace(-3, 3, 61)
    assert exp_q(x, 0) == pytest.approx(np.maximum(1 + x, 0))
    assert exp_q(x, 1) == pytest.approx(np.exp(x))
    y = np.geomspace(0.01, 10, 30)
    # The next term of the series is half of (1 - q) x^2, relative to the exponential.
    for q in (0.99, 0.9999):
        assert np.abs(exp_q(x, q) / np.exp(x) - 1).max() <= (1 - q) * 9
        assert np.abs(log_q(y, q) - np.log(y)).max() <= (1 - q) * np.log(0.01) ** 2


@pytest.mark.parametrize("q", QS)
def test_the_divergence_is_that_of_bregman_for_its_generator(q):
    rng = np.random.default_rng(0)
    A, B = rng.random((6, 6)), rng.random((6, 6))
    expected = (phi(A, q) - phi(B, q) - log_q(B, q) * (A - B)).sum()
    assert bregman_divergence(A, B, q) == pytest.approx(expected, rel=1e-10)
    assert bregman_divergence(A, A, q) <= 1e-12
    t = 1e-6  # the derivative of the generator is the logarithm
    assert (phi(A + t, q) - phi(A - t, q)) / (2 * t) == pytest.approx(log_q(A, q), abs=1e-7)


def test_the_divergence_ends_at_frobenius_and_at_kullback_and_leibler():
    rng = np.random.default_rng(1)
    A, B = rng.random((5, 5)), rng.random((5, 5))
    assert bregman_divergence(A, B, 0) == pytest.approx(np.linalg.norm(A - B) ** 2 / 2)
    kl = (A * np.log(A / B) - A + B).sum()
    assert bregman_divergence(A, B, 1) == pytest.approx(kl)
    assert bregman_divergence(A, B, 1 - 1e-6) == pytest.approx(kl, rel=1e-4)
    assert bregman_divergence([0.0, 1.0], [1.0, 0.0], 1) == np.inf
    assert bregman_divergence([1.0], [0.0], 0.5) < np.inf


@pytest.mark.parametrize("q", QS)
def test_the_loss_is_the_dual_divergence(q):
    rng = np.random.default_rng(2)
    Y, A = rng.standard_normal((6, 6)), rng.random((6, 6))
    Z = log_q(A, q)

    def conjugate(y):
        return exp_q(y, q) ** (2 - q) / (2 - q)

    dual = (conjugate(Y) - conjugate(Z) - exp_q(Z, q) * (Y - Z)).sum()
    assert fenchel_young_loss(Y, A, q) == pytest.approx(dual, rel=1e-9)
    # Conjugate: the largest of a y - phi(a), on a grid of a.
    a = np.linspace(1e-9, 60, 200_001)
    for y in (-3.0, -0.5, 0.7, 2.0):
        largest = max((a * y - phi(a, q)).max(), 0.0)
        assert conjugate(y) == pytest.approx(largest, abs=1e-4)


@pytest.mark.parametrize("q", [0.0, 0.5, 0.9, 1.0])
def test_inside_the_range_of_the_logarithm_the_loss_is_the_divergence_from_the_kernel(q):
    rng = np.random.default_rng(3)
    A, Y = rng.random((6, 6)), -0.9 * rng.random((6, 6))  # above -1 / (1 - q)
    assert fenchel_young_loss(Y, A, q) == pytest.approx(bregman_divergence(A, exp_q(Y, q), q))
    if q < 1:  # below it the kernel has forgotten the costs
        Y[0, 0] = -10
        more = fenchel_young_loss(Y, A, q) - bregman_divergence(A, exp_q(Y, q), q)
        assert more == pytest.approx(A[0, 0] * (10 - 1 / (1 - q)))


def affinity(X, eps, q):
    if q == 1:
        return sparrot.eot(X, eps, tol=1e-12)
    return sparrot.tsallis(X, eps, q, tol=1e-12)


@pytest.mark.parametrize("q", [0.0, 0.5, 0.9, 1.0])
def test_transport_is_the_bistochastic_matrix_of_the_smallest_loss(q):
    X = points("gaussian", 30)[:, :3]
    a = affinity(X, 0.4, q)
    C = half_squared(X)
    W = a.matrix.toarray() if hasattr(a.matrix, "toarray") else a.matrix
    off = ~np.eye(30, dtype=bool)

    def loss(A):
        return a.eps * fenchel_young_loss(-C[off] / a.eps, np.maximum(A[off], 0), q)

    least = loss(W)
    for seed in range(5):
        other = bistochastic(30, seed)
        for t in (1e-3, 0.1, 1.0):
            assert loss((1 - t) * W + t * other) > least
    # The objective of the problem and the loss differ by a constant.
    V = bistochastic(30, 9)
    objective = [(C * A).sum() + a.eps * phi(np.maximum(A[off], 1e-300), q).sum() for A in (V, W)]
    assert loss(V) - least == pytest.approx(objective[0] - objective[1], rel=1e-6)
    # No gap: the value of the dual, 2 sum(u) - eps sum phi*((u_i + u_j - C_ij) / eps).
    S = (a.potential[:, None] + a.potential - C)[off] / a.eps
    dual = 2 * a.potential.sum() - a.eps * (exp_q(S, q) ** (2 - q)).sum() / (2 - q)
    assert dual == pytest.approx(objective[1], rel=1e-8)


def kernel(n=25, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    return np.exp(-half_squared(X))


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("q", QS)
def test_a_projection_is_nearest_under_its_divergence(q, hollow):
    K = kernel()
    a = sparrot.project(K, q, hollow=hollow, tol=1e-11)
    W = a.matrix.toarray() if hasattr(a.matrix, "toarray") else a.matrix
    allowed = ~np.eye(25, dtype=bool) | (not hollow)
    assert np.abs(W.sum(axis=1) - 1).max() <= 1e-11
    score = log_q(K, q) + (q == 0) + a.potential[:, None] + a.potential
    expected = np.maximum(score, 0) if q == 0 else exp_q(score, q)
    assert np.abs(W - expected)[allowed].max() <= 1e-9
    assert a.check(K).violation <= 1e-9
    least = bregman_divergence(W[allowed], K[allowed], q)
    for seed in range(5):
        other = bistochastic(25, seed, hollow)
        for t in (1e-3, 0.1, 1.0):
            V = (1 - t) * W + t * other
            assert bregman_divergence(V[allowed], K[allowed], q) > least


@pytest.mark.parametrize("q", [0.5, 1.0])
def test_the_law_of_pythagoras_holds_for_the_projection(q):
    # For a projection onto an affine set D(V|K) = D(V|W) + D(W|K); sparse ones have "at least".
    K, V = kernel(12), bistochastic(12)
    a = sparrot.project(K, q, tol=1e-12)
    W = a.matrix if q == 1 else a.matrix.toarray()
    off = ~np.eye(12, dtype=bool)
    whole, left, right = (
        bregman_divergence(A[off], B[off], q) for A, B in ((V, K), (V, W), (W, K))
    )
    if q == 1:
        assert whole == pytest.approx(left + right, rel=1e-9)
    else:
        assert whole >= left + right - 1e-9


def test_cvxpy_finds_the_same_projection_under_kullback_and_leibler():
    cp = pytest.importorskip("cvxpy")
    K = kernel(9)
    A = cp.Variable((9, 9), nonneg=True)
    rules = [A == A.T, cp.sum(A, axis=1) == 1, cp.diag(A) == 0]
    cp.Problem(cp.Minimize(cp.sum(cp.kl_div(A, K))), rules).solve(solver="CLARABEL")
    # Its objective is right to 1e-8, and curved by one over an entry: entries are right to 1e-4.
    assert np.abs(sparrot.project(K, 1).matrix - A.value).max() <= 1e-4


def test_entropic_transport_is_the_projection_of_the_gaussian_kernel():
    X = points("spiral", 60)
    a = sparrot.eot(X, 0.2, tol=1e-10)
    K = np.exp(-half_squared(X) / a.eps)
    assert np.abs(sparrot.project(K, 1, tol=1e-10).matrix - a.matrix).max() <= 1e-8


@pytest.mark.parametrize("hollow", [True, False])
def test_qot_is_the_projection_of_the_linear_kernel(hollow):
    # C_ij = |x_i|^2/2 + |x_j|^2/2 - <x_i, x_j>: the first two only move the potential.
    X = points("gaussian", 80)
    for solver in ("newton", "active-set"):
        a = sparrot.qot(X, 0.5, hollow=hollow, solver=solver)
        b = sparrot.project(X @ X.T / a.eps, hollow=hollow, solver=solver)
        assert abs(a.matrix - b.matrix).max() <= 1e-7
        moved = a.eps * b.potential + np.square(X).sum(axis=1) / 2
        assert moved == pytest.approx(a.potential, abs=1e-6 * a.mean_cost)


def test_a_kernel_with_zeros_keeps_them():
    t = np.sort(2 * np.pi * np.random.default_rng(0).random(40))
    K = np.exp(-half_squared(np.c_[np.cos(t), np.sin(t)]))
    K[K < 0.8] = 0
    a = sparrot.project(K, 1)
    assert not a.matrix[K == 0].any()
    s = np.exp(a.potential)
    off = ~np.eye(40, dtype=bool)
    assert np.allclose(a.matrix[off], (s[:, None] * K * s)[off], atol=1e-12)
    assert a.check(K).violation <= 1e-12
    assert np.isfinite(a.mean_cost)


def star(n):
    K = np.zeros((n, n))
    K[0, 1:] = K[1:, 0] = 1.0
    return K


def pair_and_pair():
    K = np.kron(np.eye(2), 1 - np.eye(2))
    K[1, 2] = K[2, 1] = 1.0  # a path of four points: its middle link must vanish
    return K


@pytest.mark.parametrize(
    ("K", "q", "message"),
    [
        (star(4), 1, "no bistochastic matrix has them too"),
        (pair_and_pair(), 1, r"2 entries, such as \(1, 2\), that must vanish"),
        (-np.ones((3, 3)), 1, "must not be negative for q > 0, got entries down to -1"),
        (-np.ones((3, 3)), 0.5, "must not be negative"),
        (np.ones((3, 3)), 1.5, r"must be in \[0, 1\], got 1.5"),
        (np.ones((3, 3)), True, r"must be in \[0, 1\]"),
    ],
)
def test_a_kernel_without_a_projection_is_refused(K, q, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        sparrot.project(K, q)


def test_the_middle_link_that_must_vanish_may_be_taken_out():
    K = pair_and_pair()
    K[1, 2] = K[2, 1] = 0
    assert np.allclose(sparrot.project(K, 1).matrix, K)


def test_floors_are_for_the_frobenius_projection():
    with pytest.raises(sparrot.InvalidInputError, match="min_neighbors is for q = 0 alone"):
        sparrot.project(kernel(), 1, min_neighbors=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_q([-1.0], 0.5), "x must not be negative"),
        (lambda: exp_q([np.nan], 0.5), "finite"),
        (lambda: exp_q([1.0], 2), r"\[0, 1\]"),
        (lambda: bregman_divergence([1.0, 2.0], [1.0], 0.5), "A and B must have one shape"),
        (lambda: fenchel_young_loss([1.0], [-1.0], 0.5), "A must not be negative"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call()
