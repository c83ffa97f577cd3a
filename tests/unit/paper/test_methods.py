"""MAGIC in the experiments is MAGIC with its own defaults."""

import numpy as np
import pytest

from sparrot.datasets import make_spiral
from sparrot.metrics import mean_principal_angle
from sparrot.paper._methods import MAGIC_COMPONENTS, affinity, leading


def right_eigenvectors(M, count):
    values, vectors = np.linalg.eig(M)
    return np.real(vectors[:, np.argsort(-values.real)[:count]])


@pytest.mark.filterwarnings("ignore")
def test_the_judged_vectors_are_the_right_ones_of_graphtools_operator():
    graphtools = pytest.importorskip(
        "graphtools", reason="graphtools is not installed", exc_type=ImportError
    )
    k, spiral = 10, make_spiral(300, 150)
    graph = graphtools.Graph(  # as MAGIC calls it
        spiral.X,
        n_pca=MAGIC_COMPONENTS,
        knn=k,
        knn_max=3 * k,
        decay=1,
        thresh=1e-4,
        random_state=0,
        verbose=0,
    )
    published = right_eigenvectors(np.linalg.matrix_power(graph.diff_op.toarray(), 5), 10)
    own = affinity("MAGIC", graph.data_nu, k)  # its components, found by a randomized algorithm
    assert mean_principal_angle(leading(own, method="MAGIC"), published) < 1e-4
    assert mean_principal_angle(leading(own), published) > 0.1  # those of the symmetric operator
    ours = leading(affinity("MAGIC", spiral.X, k), method="MAGIC")
    assert mean_principal_angle(ours, published) < 0.02


def test_magic_sees_the_leading_components_only():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, MAGIC_COMPONENTS + 1)) @ np.diag(
        [*np.full(MAGIC_COMPONENTS, 10.0), 1.0]
    )
    Q = np.linalg.svd(X - X.mean(axis=0))[2][:MAGIC_COMPONENTS]
    reduced = (X - X.mean(axis=0)) @ Q.T @ Q
    difference = affinity("MAGIC", X, 5) - affinity("MAGIC", reduced, 5)
    assert abs(difference).max() < 1e-9
    assert abs(affinity("k-NN", X, 5) - affinity("k-NN", reduced, 5)).max() > 0
