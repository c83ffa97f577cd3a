"""MAGIC's operator is that of graphtools, where the package can be installed beside ours."""

import numpy as np
import pytest

import sparrot
from problems import points

graphtools = pytest.importorskip(
    "graphtools", reason="graphtools is not installed", exc_type=ImportError
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("k", "decay"), [(5, 1), (10, 2)])
def test_the_diffusion_operator_is_that_of_graphtools(k, decay):
    X = points("gaussian", 200)
    graph = graphtools.Graph(
        X, n_pca=None, knn=k, knn_max=3 * k, decay=decay, thresh=1e-4, verbose=0
    )
    ours = sparrot.magic(X, k, decay=decay, t=1).matrix.toarray()
    assert np.abs(graph.diff_op.toarray() - ours).max() <= 1e-4


@pytest.mark.filterwarnings("ignore")
def test_the_operator_is_that_of_the_defaults_of_graphtools():
    X = points("gaussian", 200)[:, :2]  # fewer than 3 k points are within reach of any other
    graph = graphtools.Graph(X, verbose=0)
    assert (graph.knn, graph.decay) == (5, 40)
    ours = sparrot.magic(X, 5, decay=40, t=1).matrix.toarray()
    assert np.abs(graph.diff_op.toarray() - ours).max() <= 1e-4
