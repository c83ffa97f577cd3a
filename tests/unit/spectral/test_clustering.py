import numpy as np
import pytest
import scipy.sparse as sp

import sparrot
from problems import ring_graph
from sparrot.datasets import make_mixture
from sparrot.errors import InvalidInputError
from sparrot.metrics import nmi, template_angle
from sparrot.spectral import eigenpairs, suggest_clusters


@pytest.fixture(scope="module")
def mixture():
    """The paper's mixture in 250 dimensions, with a QOT and a neighbor graph."""
    m = make_mixture(500, 250)
    return m, sparrot.qot(m.X).matrix, sparrot.knn(m.X, 15).matrix


@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
def test_the_mixture_of_the_paper_is_clustered_where_a_neighbor_graph_fails(mixture, assign):
    m, *graphs = mixture
    model = sparrot.SpectralClustering(3, affinity="precomputed", assign=assign)
    transport, neighbors = (nmi(m.labels, model.fit_predict(W)) for W in graphs)
    assert transport > 0.8
    assert neighbors < 0.3


def test_six_eigenvectors_hold_the_clusters_of_the_mixture(mixture):
    m, *graphs = mixture
    transport, neighbors = (template_angle(eigenpairs(W, 6).vectors, m.labels) for W in graphs)
    assert transport < 0.3
    assert neighbors > 0.8


@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_clear_clusters_are_counted_found_and_predicted(assign, k):
    m = make_mixture(60, 4, spread=(0.05,) * k)
    affinity = sparrot.QOT(perplexity=20)
    model = sparrot.SpectralClustering(affinity=affinity, assign=assign).fit(m.X)
    assert model.n_clusters_ == k
    assert nmi(m.labels, model.labels_) == pytest.approx(1)
    assert np.array_equal(model.predict(m.X), model.labels_)
    assert np.array_equal(model.predict(m.X + 0.01), model.labels_)


@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
def test_components_are_clusters(assign):
    W = sp.block_diag([ring_graph(10), ring_graph(30), ring_graph(7)], format="csr")
    model = sparrot.SpectralClustering(3, affinity="precomputed", assign=assign).fit(W)
    assert nmi(np.repeat([0, 1, 2], [10, 30, 7]), model.labels_) == pytest.approx(1)


def test_the_gap_that_counts_is_the_largest_after_the_first():
    assert suggest_clusters([1.0, 0.2, 0.19]) == 2
    assert suggest_clusters([1.0, 1.0, 1.0, 1.0, 0.5]) == 4
    for wrong in ([1.0, 0.5], [0.1, 0.5, 1.0]):
        with pytest.raises(InvalidInputError, match="at least 3 eigenvalues in descending order"):
            suggest_clusters(wrong)


@pytest.mark.parametrize("joined", [False, True])
def test_pieces_beyond_those_that_are_looked_at_are_clusters_too(joined):
    W = np.kron(np.eye(14), np.ones((30, 30)))
    W[-1, -31] = W[-31, -1] = 0.1 * joined  # the last two of 14 pieces are nearly separate then
    model = sparrot.SpectralClustering(affinity="precomputed").fit(W)
    assert model.component_labels_.max() + 1 == 14 - joined
    assert model.n_clusters_ == 14
    assert nmi(np.repeat(np.arange(14), 30), model.labels_) == pytest.approx(1)


def test_gaps_that_are_rounding_are_none():
    assert suggest_clusters([1.0, 1.0, 1.0 - 1e-12, 1.0 - 3e-12]) == 2


def test_user_errors_are_named():
    X = make_mixture(10, 3).X
    with pytest.raises(InvalidInputError, match="assign must be one of"):
        sparrot.SpectralClustering(2, assign="discretize").fit(X)
    with pytest.raises(InvalidInputError, match="n_clusters must be an integer from 1 to 29"):
        sparrot.SpectralClustering(30).fit(X)
    with pytest.raises(AttributeError, match=r"transform|predict"):
        sparrot.SpectralClustering(2, affinity="knn").fit(X).predict(X)
