"""Independent implementations, through the convention: same plan, reg = n eps, times n."""

import numpy as np
import ot
import pytest

import sparrot
from problems import half_squared, points

CLOUDS = ("gaussian", "spiral", "swiss-roll", "digits")


@pytest.fixture
def regot():
    return pytest.importorskip("regot", reason="RegOT has no wheels for this Python")


@pytest.mark.parametrize("eps", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", CLOUDS)
def test_regot_finds_the_same_hollow_plan(regot, name, eps):
    C = half_squared(points(name, 200))
    n, mean = len(C), C.mean()
    ours = sparrot.qot(C, eps, metric="precomputed").matrix.toarray()
    walled = C / mean + 1e3 * (eps + 1) * np.eye(n)
    weights = np.full(n, 1 / n)
    theirs = regot.qrot_assn(walled, weights, weights, n * eps, tol=1e-10, max_iter=2000)
    assert np.abs(n * np.asarray(theirs.plan) - ours).max() <= 1e-5


# POT uses an option that SciPy deprecates, and from 1.18 on does not know.
@pytest.mark.filterwarnings("ignore:scipy.optimize", "ignore:Unknown solver options")
@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("name", CLOUDS)
def test_pot_finds_the_same_plan(name, hollow):
    C = half_squared(points(name, 100))
    n, eps = len(C), 1.0
    ours = sparrot.qot(C, eps, metric="precomputed", hollow=hollow).matrix.toarray()
    wall = 1e2 * np.eye(n) if hollow else 0
    weights = np.full(n, 1 / n)
    theirs = n * ot.smooth.smooth_ot_dual(
        weights, weights, C / C.mean() + wall, n * eps, stopThr=1e-14, numItermax=20_000
    )
    # A row of POT's plan may be off by its marginal error, a few 1e-6 when it has converged.
    assert np.abs(theirs.sum(axis=1) - 1).max() <= 1e-5
    assert np.abs(theirs - ours).max() <= 1e-5


@pytest.mark.parametrize("eps", [0.2, 1.0])
@pytest.mark.parametrize("hollow", [True, False])
def test_pot_finds_the_same_entropic_plan(eps, hollow):
    X = points("spiral", 120)
    C = half_squared(X)
    n, C = len(C), C / C.mean()
    ours = sparrot.eot(X, eps, hollow=hollow).matrix
    weights = np.full(n, 1 / n)
    walled = C + (1e3 * np.eye(n) if hollow else 0)
    theirs = n * ot.sinkhorn(
        weights, weights, walled, eps, method="sinkhorn_log", stopThr=1e-11, numItermax=20_000
    )
    assert np.abs(theirs - ours).max() <= 1e-8


@pytest.fixture
def measures():
    """Two measures and a cost."""
    rng = np.random.default_rng(0)
    a, b, C = rng.random(40), rng.random(60), rng.random((40, 60))
    return a / a.sum(), b / b.sum(), C


def test_regot_finds_the_same_general_plan(regot, measures):
    a, b, C = measures
    quadratic = sparrot.transport(a, b, C, 1.0).matrix.toarray()
    theirs = regot.qrot_assn(C, a, b, 1.0, tol=1e-12, max_iter=2000)
    assert np.abs(np.asarray(theirs.plan) - quadratic).max() <= 1e-8


def test_pot_finds_the_same_general_plan(measures):
    a, b, C = measures
    entropic = sparrot.transport(a, b, C, 0.05, regularizer="entropic").matrix
    theirs = ot.sinkhorn(a, b, C, 0.05, method="sinkhorn_log", stopThr=1e-11, numItermax=20_000)
    assert np.abs(theirs - entropic).max() <= 1e-8
