"""What the paper prints, against the solvers of the package."""

import numpy as np
import pytest

import sparrot
from sparrot.paper import convergence


@pytest.fixture(scope="module")
def matrix():
    K = np.random.default_rng(3).standard_normal((60, 60))
    return (K + K.T) / 2


@pytest.mark.parametrize("name", [n for n in convergence._PRINTED if n.startswith("Algorithm")])
def test_the_printed_algorithms_end_at_the_projection(matrix, name):
    W, errors = convergence._PRINTED[name](matrix, 1e-9)
    ours = sparrot.project(matrix, hollow=False, tol=1e-10).matrix
    ours = ours.toarray() if hasattr(ours, "toarray") else np.asarray(ours)
    assert np.abs(W - ours).max() < 1e-7
    assert errors[-1] == pytest.approx(np.linalg.norm(W.sum(axis=1) - 1), abs=1e-12)
    assert errors[-1] <= 1e-9 < errors[-2]


def test_plain_alternation_ends_in_a_feasible_matrix_that_is_not_the_projection(matrix):
    W, errors = convergence.plain_alternation(matrix, 1e-9)
    assert errors[-1] <= 1e-9
    assert (W >= 0).all()
    assert np.abs(W - W.T).max() < 1e-12
    best = convergence.algorithm_1(matrix, 1e-9)[0]
    assert np.linalg.norm(W - matrix) > np.linalg.norm(best - matrix) + 1e-6


def test_a_newton_that_does_not_converge_is_said_not_to():
    solvers = (*convergence._PRINTED, *convergence._OURS)
    early = {250: None, 1000: 11}
    numbers = {
        "tol": 1e-8,
        "steps": [
            {"n": n, "seed": 0, "solver": s, "steps": 12, "early": early[n]}
            for n in early
            for s in solvers
        ],
    }
    claim = convergence.claims(numbers)[0]
    assert claim.holds is False
    assert claim.reason == "steps to an error of 1e-05: not reached and 11"


def test_one_problem_of_ten_steps_is_enough_for_newton_not_to_be_fast():
    solvers = (*convergence._PRINTED, *convergence._OURS)
    rows = [
        {"n": n, "seed": seed, "solver": s, "steps": 800 if "altern" in s else steps, "early": 8}
        for n in (250, 1000)
        for seed, steps in enumerate((8, 9, 10))
        for s in solvers
    ]
    claim = convergence.claims({"tol": 1e-8, "steps": rows})[0]
    assert claim.holds is False
    assert "8 to 10 and 8 to 10 (N = 250 and 1000, 3 problems each)" in claim.ours
    assert convergence.claims({"tol": 1e-8, "steps": [r for r in rows if r["seed"] < 2]})[0].holds


def test_each_cost_has_its_own_steps_of_both_algorithms():
    steps = {name: k for k, name in enumerate((*convergence._PRINTED, *convergence._OURS), start=5)}
    rows = [
        {"n": n, "seed": 0, "solver": name, "steps": k, "early": k}
        for n in (250, 1000)
        for name, k in steps.items()
    ]
    by_least, by_code = convergence.claims({"tol": 1e-8, "steps": rows})[:2]
    for claim, costs in ((by_least, ""), (by_code, ", costs 1 - K")):
        first, second = (steps[f"Algorithm {k}{costs}"] for k in (1, 2))
        assert f": Algorithm 1 {first} and {first} (N" in claim.ours
        assert f"Algorithm 2 in all {second} and {second};" in claim.ours


def test_one_projection_onto_row_sums_is_the_nearest_such_matrix():
    K = np.full((4, 4), 2.0) + np.diag([0.0, 0.1, 0.2, 0.3])  # stays positive
    W, errors = convergence.plain_alternation(K, 1e-12)
    assert len(errors) == 2
    shift = W - K  # orthogonal to symmetric matrices of row sum zero
    zero_rows = np.array([[1.0, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    assert np.sum(shift * zero_rows) == pytest.approx(0, abs=1e-12)
    assert W.sum(axis=1) == pytest.approx(1)
