"""Exact neighbors by tiles, against a full sort of exact costs."""

import numpy as np
import pytest

from problems import CLOUDS, half_squared, points
from sparrot.affinity._neighbors import nearest
from sparrot.cost import MatrixCost, PointCost
from sparrot.engine import Run


def by_full_sort(X, k):
    C = half_squared(X)
    np.fill_diagonal(C, np.inf)
    order = np.argsort(C, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(C, order, axis=1)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("n", [300, 1700])
def test_neighbors_are_those_of_a_full_sort(name, n):
    X = points(name, n)
    cost = PointCost(X)
    with Run(2) as run:
        indices, costs = nearest(cost, 7, run)
    _, expected = by_full_sort(X, 7)
    assert indices.shape == costs.shape == (len(X), 7)
    assert (indices != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == 7 for row in indices)
    rounding = 1e-13 * (half_squared(X).max() + 1e-300)
    np.testing.assert_allclose(costs * cost.unit, expected, rtol=1e-9, atol=rounding)
    assert (np.diff(costs, axis=1) >= 0).all()


def test_threads_and_kind_of_cost_do_not_matter():
    X = points("digits", 1600)
    with Run(1) as one, Run(2) as two:
        expected = nearest(PointCost(X), 12, one)
        np.testing.assert_array_equal(nearest(PointCost(X), 12, two)[0], expected[0])
        matrix = nearest(MatrixCost(half_squared(X)), 12, two)
    np.testing.assert_allclose(matrix[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("n", [900, 1800])
def test_integer_points_come_in_the_order_of_a_full_sort(n):
    X = np.random.default_rng(0).integers(0, 5, (n, 3)).astype(float)
    C = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(C, np.inf)
    with Run(2) as run:
        indices, _ = nearest(PointCost(X), 6, run)
    np.testing.assert_array_equal(indices, np.argsort(C, axis=1, kind="stable")[:, :6])


def test_equal_distances_come_in_the_order_of_the_points():
    X = np.zeros((1800, 3))
    X[1000:] = 1.0
    with Run(2) as run:
        indices, costs = nearest(PointCost(X), 4, run)
    np.testing.assert_array_equal(indices[5], [0, 1, 2, 3])
    np.testing.assert_array_equal(indices[1001], [1000, 1002, 1003, 1004])
    assert (costs == 0).all()
