"""Divergences and barycenters of POT."""

import numpy as np
import ot
import pytest

from sparrot.geometry import barycenter, sinkhorn_divergence

N = 60
X = np.random.default_rng(0).random((N, 2))
C = np.square(X[:, None] - X).sum(axis=2)


def their_transport(a, b, eps):
    """Entropic transport as it is in a Sinkhorn divergence: cost plus eps KL(P | a b')."""
    plan = ot.sinkhorn(a, b, C, eps, method="sinkhorn_log", stopThr=1e-12, numItermax=50_000)
    ratio = plan / np.outer(a, b)
    return (C * plan).sum() + eps * (plan * np.log(ratio, where=ratio > 0, out=0 * ratio)).sum()


@pytest.mark.parametrize("eps", [0.02, 0.2])
def test_pot_finds_the_same_divergence(eps):
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(N)), rng.dirichlet(np.ones(N))
    own = (their_transport(a, a, eps) + their_transport(b, b, eps)) / 2
    theirs = their_transport(a, b, eps) - own
    assert sinkhorn_divergence(a, b, C, eps) == pytest.approx(theirs, abs=1e-8)


def test_pot_finds_the_same_barycenter():
    measures, eps = np.random.default_rng(1).dirichlet(np.ones(N), size=3), 0.05
    theirs = ot.bregman.barycenter(measures.T, C, eps, stopThr=1e-14)
    ours = barycenter(np.exp(-C / eps), measures, [1, 1, 1], tol=1e-10)
    assert np.abs(ours - theirs).max() <= 1e-8


def test_a_weighted_barycenter_is_better_than_pots():
    # POT starts from the plain geometric mean whatever the weights, and the iteration keeps the
    # error of that start: its limit is not the minimizer. The objective, by POT, tells.
    measures, eps = np.random.default_rng(1).dirichlet(np.ones(N), size=3), 0.05
    weights = np.array([0.2, 0.3, 0.5])

    def objective(b):
        # The barycenter with the heat kernel minimizes transport with the entropy of P alone.
        entropy = (b * np.log(b)).sum()
        return weights @ [their_transport(a, b, eps) + eps * entropy for a in measures]

    ours = barycenter(np.exp(-C / eps), measures, weights, tol=1e-10)
    theirs = ot.bregman.barycenter(measures.T, C, eps, weights=weights, stopThr=1e-14)
    assert objective(ours) < objective(theirs) - 1e-6
    for other in measures:
        assert objective(ours) < objective(0.99 * ours + 0.01 * other)
