"""Answers of random problems are optimal by brute force; `make fuzz` tries thousands."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import sparrot
from hostile import geometries


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_what_is_answered_is_right(start):
    ends = Counter(geometries.run(seed) for seed in range(start, start + 30))
    assert ends["right"] > 20
    assert ends["gave up"] <= 1


def test_what_is_answered_for_more_points_is_right():
    ends = Counter(geometries.run(seed, geometries.MANY // 2) for seed in range(6))
    assert ends["right"] > 2


@pytest.mark.parametrize("seed", [180049, 180191, 180280])
def test_entropic_plans_that_no_scaling_of_large_entries_leads_to_are_found(seed):
    assert geometries.run(seed) == "right"


@pytest.mark.parametrize("solver", ["newton", "active-set"])
def test_a_kernel_beyond_float64_is_scaled_as_its_error_says(solver):
    X = np.random.default_rng(5).standard_normal((41, 3))
    K = -1e11 * geometries.costs(X, "cityblock")[0]
    with pytest.raises(sparrot.NotConvergedError, match=r"rounding.*multiply K") as raised:
        sparrot.project(K, solver=solver)
    (factor,) = re.findall(r"multiply K by (\S+),", str(raised.value))
    a = sparrot.project(float(factor) * K, solver=solver)
    assert a.certificate.marginal_error <= 1e-8


@pytest.mark.parametrize("change", ["a plan", "a potential", "an eps", "a floor"])
def test_the_judge_sees_what_is_wrong(change):
    X = np.random.default_rng(0).standard_normal((40, 3))
    C, _ = geometries.costs(X, "sqeuclidean")
    a = sparrot.qot(X, 0.1, min_neighbors=4) if change == "a floor" else sparrot.qot(X, 0.5)
    geometries.judge(a, C, hollow=True)
    changed = {
        "a plan": {"matrix": sparrot.qot(X, 0.500001).matrix},
        "a potential": {"potential": a.potential + 1e-7},
        "an eps": {"eps": a.eps * (1 + 1e-7)},
        "a floor": {"min_neighbors": np.full(40, 4.001)},
    }[change]
    with pytest.raises(AssertionError):
        geometries.judge(replace(a, **changed), C, hollow=True)
