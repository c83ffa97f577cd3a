import numpy as np
import pytest
from scipy.sparse import issparse

import sparrot
from problems import points
from sparrot.ot import twins


def test_twins_are_the_first_equal_rows():
    Y = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
    X = np.array([[1.0, 2.0], [-0.0, 5.0], [1.0, 2.0000001], [np.pi, 0]])
    assert twins(X, Y).tolist() == [0, 1, -1, -1]


@pytest.mark.parametrize("name", ["gaussian", "swiss-roll", "far-point"])
def test_a_training_point_gets_its_own_row_back(name):
    X = points(name, 200)
    model = sparrot.QOT().fit(X)
    subset = [5, 100, 199]
    rows = model.transform(X[subset])
    assert np.abs((rows - model.affinity_[subset]).toarray()).max() <= 1e-7


def test_training_data_as_a_whole_gives_the_affinity_even_with_duplicates():
    X = points("duplicates", 200)
    model = sparrot.QOT().fit(X)
    assert (model.transform(X) != model.affinity_).nnz == 0
    assert (sparrot.QOT().fit_transform(X) != model.affinity_).nnz == 0


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "manhattan"])
def test_new_rows_solve_the_one_variable_equation(metric, hollow):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((150, 6)), rng.standard_normal((40, 6))
    model = sparrot.QOT(metric=metric, hollow=hollow).fit(X)
    rows = model.transform(Y).toarray()
    assert rows.shape == (40, 150)
    assert rows.min() >= 0
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-12)
    # On the support of a row, eps p_j - u_j + c_j is one and the same number v.
    if metric == "sqeuclidean":
        C = ((Y[:, None] - X) ** 2).sum(axis=2) / 2
        for k in range(40):
            on = rows[k] > 0
            v = (model.eps_ * rows[k] - model.potential_ + C[k])[on]
            assert np.ptp(v) <= 1e-9
            assert (v[0] + model.potential_ - C[k])[~on].max() <= 1e-9


def test_precomputed_costs_of_new_points():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((80, 3)), rng.standard_normal((10, 3))
    C = ((X[:, None] - X) ** 2).sum(axis=2) / 2
    D = ((Y[:, None] - X) ** 2).sum(axis=2) / 2
    by_points = sparrot.QOT().fit(X).transform(Y)
    by_costs = sparrot.QOT(metric="precomputed").fit(C).transform(D)
    assert np.abs((by_points - by_costs).toarray()).max() <= 1e-7


FAR = {
    "qot": sparrot.QOT(),
    "eot": sparrot.EOT(),
    "tsallis": sparrot.Tsallis(),
    "a floor": sparrot.QOT(0.3, min_neighbors=4),
}


@pytest.mark.parametrize("model", FAR.values(), ids=FAR)
@pytest.mark.parametrize("size", [1e8, 1e17, 1e100, 1e155, 1e300])
def test_the_nearest_of_a_far_point_is_the_one_in_its_direction(model, size):
    X = points("gaussian", 60)[:, :3]
    directions = np.random.default_rng(1).standard_normal((4, 3))
    rows = model.fit(X).transform(size * directions)
    rows = rows.toarray() if issparse(rows) else rows
    assert np.array_equal(rows.argmax(axis=1), (directions @ X.T).argmax(axis=1))
    assert np.abs(rows.sum(axis=1) - 1).max() < 1e-9


@pytest.mark.parametrize("model", FAR.values(), ids=FAR)
def test_costs_of_new_points_that_overflow_are_an_error(model):
    X = 1e10 * points("gaussian", 60)[:, :3]
    with pytest.raises(sparrot.InvalidInputError, match=r"row \(1\) whose costs are infinite"):
        model.fit(X).transform(np.array([[0.0, 0.0, 0.0], [1e302, 1e302, -1e302]]))
