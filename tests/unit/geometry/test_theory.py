import numpy as np
import pytest
from scipy.integrate import quad

import sparrot
from sparrot.datasets import make_sphere, make_torus
from sparrot.geometry import (
    barenblatt,
    barenblatt_time,
    laplace_beltrami,
    laplacian_estimate,
    potential_exponent,
    potential_level,
    scaling_exponent,
)
from sparrot.geometry._theory import sphere_area


def circle(n):
    t = 2 * np.pi * np.arange(n) / n
    return t, np.c_[np.cos(t), np.sin(t)]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_potentials_on_spheres_grow_with_the_exponent_of_the_theory(d):
    X = make_sphere(1000, d)
    fits = [sparrot.qot(X, perplexity=p) for p in (15, 20, 30, 40)]
    slope = scaling_exponent([a.eps for a in fits], [a.potential.mean() for a in fits])
    assert slope == pytest.approx(potential_exponent(d), rel=0.03)
    level = potential_level(fits[-1].eps, 1000, d, sphere_area(d + 1))
    assert 2 * fits[-1].potential.mean() == pytest.approx(level, rel=0.03)


def test_the_operator_on_the_circle_converges_at_the_rate_of_its_neighbors():
    neighbors, errors = [], []
    for n in (400, 800, 1600):
        t, X = circle(n)
        a = sparrot.qot(X, 0.4)
        estimate = laplacian_estimate(a, np.cos(t), potential_level(a.eps, n, 1, 2 * np.pi), 1)
        errors.append(np.abs(estimate + np.cos(t)).max())
        neighbors.append(a.mean_neighbors)
    assert errors[-1] < 0.05
    assert scaling_exponent(neighbors, errors) == pytest.approx(-1, abs=0.05)


def torus_average(K, n=1500):
    """(d+4)/K times the mean of g - g_0 under the parabola of level K, by midpoints of the area."""
    reach = 1.2 * np.sqrt(2 * K)
    grid = reach * ((np.arange(n) + 0.5) / n * 2 - 1)
    theta, phi = np.pi / 2 + 2 * grid[:, None], np.pi / 2 + 2 * grid
    ring = 1 + np.cos(theta) / 2
    x, y, z = ring * np.cos(phi), ring * np.sin(phi), np.sin(theta) / 2 + 0 * phi
    kernel = ring * np.maximum(K - (x**2 + (y - 1) ** 2 + (z - 0.5) ** 2) / 2, 0)
    g = (3 * x**2 + 5 * y**2 + 7 * z**2) / 2 - (5 + 7 / 4) / 2
    return 6 / K * (kernel * g).sum() / kernel.sum()


def test_the_operator_at_the_torus_point_tends_to_the_limit_of_the_theorem():
    torus = make_torus(10, first=(np.pi / 2, np.pi / 2))
    gradient, hessian = np.array([0, 5, 3.5]), np.diag([3.0, 5.0, 7.0])
    limit = laplace_beltrami(gradient, hessian, np.eye(3)[:, :2], torus.curvature[0])
    assert limit == pytest.approx(1.0)
    levels = np.array([0.08, 0.04, 0.02])
    errors = [abs(torus_average(K) - limit) for K in levels]
    assert errors[-1] < 0.05
    assert scaling_exponent(levels, errors) == pytest.approx(1, abs=0.1)  # the bias is O(K)


def test_qot_on_a_torus_estimates_the_limit_within_its_spread():
    estimates = []
    for seed in range(12):
        torus = make_torus(700, first=(np.pi / 2, np.pi / 2), random_state=seed)
        g = torus.X**2 @ np.array([3.0, 5.0, 7.0]) / 2
        a = sparrot.qot(torus.X, perplexity=100)
        level = potential_level(a.eps, 700, 2, torus.area)
        estimates.append(laplacian_estimate(a, g, level, 2)[0])
    bias = abs(torus_average(level) - 1)
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - 1) <= 3 * error + bias


def test_the_laplacian_of_coordinates_on_a_sphere_is_minus_twice_them():
    for x in make_sphere(5):
        tangent = np.linalg.svd(x[None])[2][1:].T
        value = laplace_beltrami(np.eye(3)[0], np.zeros((3, 3)), tangent, -2 * x)
        assert value == pytest.approx(-2 * x[0])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_barenblatt_keeps_its_mass_and_solves_the_porous_medium_equation(d):
    for t in (0.3, 2.0):
        edge = np.sqrt(4 * (d + 2) * t * barenblatt(0.0, t, d, mass=1.5))
        mass = quad(lambda r: r ** (d - 1) * barenblatt(r, t, d, mass=1.5), 0, edge)[0]  # noqa: B023
        assert sphere_area(d) * mass == pytest.approx(1.5, rel=1e-9)
    r, t, h = np.linspace(0.2, 0.6, 5), 1.0, 1e-3
    rate = (barenblatt(r, t + h, d) - barenblatt(r, t - h, d)) / (2 * h)
    left, here, right = (barenblatt(r + s, t, d) ** 2 for s in (-h, 0, h))
    laplacian = (left - 2 * here + right) / h**2 + (d - 1) / r * (right - left) / (2 * h)
    assert here.min() > 0
    assert rate == pytest.approx(laplacian, abs=1e-5)  # differences of second order in h


def test_a_row_of_qot_is_the_profile_of_barenblatt():
    n = 2000
    _, X = circle(n)
    a = sparrot.qot(X, 1.0)
    row = a.matrix[[0]].toarray()[0, 1:] * n / (2 * np.pi)
    r = np.linalg.norm(X[1:] - X[0], axis=1)
    profile = barenblatt(r, barenblatt_time(a.eps, n, 1, 2 * np.pi), 1)
    first = sparrot.first_order(X, 1.0, dimension=1, volume=2 * np.pi).matrix[[0]].toarray()[0, 1:]
    assert first * n / (2 * np.pi) == pytest.approx(profile, abs=1e-12)
    assert np.abs(row - profile).max() <= 0.05 * profile.max()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: potential_level(-1, 10, 1, 1.0), "eps must be positive"),
        (lambda: potential_level(1, 10, 0, 1.0), "dimension must be an integer"),
        (lambda: potential_level(1, 10, 1, 0.0), "volume must be positive"),
        (lambda: barenblatt(1.0, 0, 1), "t must be positive"),
        (lambda: scaling_exponent([1.0], [1.0]), "two or more"),
        (lambda: scaling_exponent([1.0, -1], [1.0, 1]), "positive"),
        (lambda: laplacian_estimate(np.eye(3), [1.0], 1.0, 1), r"finite numbers of shape \(3,\)"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(sparrot.InvalidInputError, match=message):
        call()
