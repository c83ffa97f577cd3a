"""A certificate is not blind: what is not a number, or no problem at all, never passes."""

from dataclasses import replace

import numpy as np
import pytest

import sparrot
from sparrot._eigensolver import _checked
from sparrot.affinity import from_record, to_record
from sparrot.cost import _metrics
from sparrot.ot import Certificate
from walk import walk

X = np.random.default_rng(0).standard_normal((40, 3))
INF = float("inf")


def uniform(**changes):
    """The uniform matrix, whose rows sum to one, with whatever potential and eps."""
    W = (1 - np.eye(40)) / 39
    return replace(sparrot.qot(X, eps=1.0), matrix=W, **changes)


@pytest.mark.parametrize("entries", [slice(None), slice(7, 8)], ids=["all", "one"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_potential_that_is_not_finite_is_infinitely_wrong(value, entries):
    u = sparrot.qot(X, eps=1.0).potential.copy()
    u[entries] = value
    assert uniform(potential=u).check(X).violation == INF
    assert replace(sparrot.qot(X, eps=1.0), potential=u).check(X).violation == INF


@pytest.mark.parametrize("eps", [0.0, -1.0, -1e-300, np.nan, np.inf])
def test_without_a_positive_eps_there_is_no_problem_that_a_matrix_could_solve(eps):
    assert uniform(eps=eps).check(X).violation == INF
    assert replace(sparrot.qot(X, eps=1.0), eps=eps).check(X).violation == INF


@pytest.mark.parametrize("q", [-np.inf, -1.0, 1.5, np.inf, np.nan])
def test_a_q_outside_of_the_family_is_infinitely_wrong(q):
    assert replace(sparrot.qot(X, eps=1.0), q=q).check(X).violation == INF


def test_points_that_a_metric_does_not_take_are_refused_by_name():
    a = sparrot.qot(X[:, :2], metric="haversine")
    with pytest.raises(sparrot.InvalidInputError, match="X has no distances of the metric 'haver"):
        a.check(X)


def test_a_matrix_with_a_nan_proves_nothing():
    a = sparrot.qot(X, eps=1.0)
    W = a.matrix.copy()
    W.data[3] = np.nan
    found = replace(a, matrix=W).check(X)
    assert found.marginal_error == INF
    assert found.violation == INF


@pytest.mark.parametrize("kind", ["eot", "tsallis"])
def test_other_kinds_are_not_blind_either(kind):
    a = getattr(sparrot, kind)(X, eps=1.0)
    u = a.potential.copy()
    u[0] = np.nan
    assert replace(a, potential=u).check(X).violation == INF
    assert replace(a, eps=-a.eps).check(X).violation == INF


def test_floors_and_multipliers_that_are_no_numbers_are_infinitely_wrong():
    a = sparrot.qot(X, eps=0.01, min_neighbors=5)
    assert a.check(X).largest_error <= 1e-8
    k, e = a.min_neighbors.copy(), a.row_eps.copy()
    k[0] = e[0] = np.nan
    assert replace(a, min_neighbors=k).check(X).floor_violation == INF
    assert replace(a, row_eps=e).check(X).complementarity == INF
    assert replace(a, row_eps=e).check(X).violation == INF


def test_a_negative_multiplier_is_none():
    a = sparrot.qot(X, eps=0.01, min_neighbors=5)
    e = a.row_eps.copy()
    e[0] = -1e-3 * a.eps
    assert replace(a, row_eps=e).check(X).complementarity == INF


def test_multipliers_without_floors_prove_nothing():
    a = sparrot.qot(X, eps=0.01, min_neighbors=5)
    assert replace(a, min_neighbors=None).check(X).largest_error == INF
    assert replace(a, row_eps=None).check(X).largest_error == INF


@pytest.mark.parametrize(
    "name",
    [
        "marginal_error",
        "violation",
        "missed_rows",
        "missed_mass",
        "floor_violation",
        "complementarity",
    ],
)
def test_a_certificate_holds_no_nan(name):
    errors = {"marginal_error": 0.0, "violation": 0.0, name: np.nan}
    certificate = Certificate(**errors, pairs_checked=1, exact=True)
    assert getattr(certificate, name) == INF
    assert replace(certificate, exact=False).exact is False


def test_an_eigenpair_with_a_nan_has_an_infinite_residual():
    vectors = np.array([[np.nan, 0.0], [0.0, 1.0]])
    pairs = _checked(np.eye(2), np.ones(2), vectors, "dense")
    assert pairs.residuals.tolist() == [INF, 0.0]


def test_the_certificate_of_a_coupling_is_that_of_its_matrix():
    a, b = np.full(5, 0.2), np.full(4, 0.25)
    P = sparrot.transport(a, b, np.abs(np.arange(5.0)[:, None] - np.arange(4)), eps=0.1)
    off = max(abs(P.matrix.sum(axis=1) - a).max(), abs(P.matrix.sum(axis=0) - b).max())
    assert P.certificate.marginal_error == pytest.approx(off / 0.25, abs=1e-16)


CHECKED = {
    "qot": lambda metric: sparrot.qot(X, metric=metric),
    "eot": lambda metric: sparrot.eot(X, metric=metric),
    "tsallis": lambda metric: sparrot.tsallis(X, metric=metric),
    "a floor": lambda metric: sparrot.qot(X, 0.1, min_neighbors=4, metric=metric),
}


@pytest.mark.parametrize("metric", [*_metrics._METRICS, "euclidean", "seuclidean"])
@pytest.mark.parametrize("build", CHECKED.values(), ids=CHECKED)
def test_a_check_runs_no_code_of_the_solvers_and_agrees(build, metric):
    a = build(metric)
    ran = walk(lambda: a.check(X)).functions
    assert ran.pop("ot/_problem.py") == ["number_of_pairs", "Certificate.__post_init__"]
    assert not [file for file in ran if file.startswith(("cost/", "ot/", "_kernels"))]
    assert a.check(X).violation < 1e-12
    assert a.check(X).marginal_error <= 1e-8
    assert a.check(X + 0.01 * X[::-1]).violation > 1e-4


@pytest.mark.parametrize("kind", ["qot", "floor", "tsallis 0.5", "tsallis 0.9", "tsallis 0.99"])
def test_a_check_finds_a_missing_entry_by_its_score(kind):
    if kind.startswith("tsallis"):
        a = sparrot.tsallis(X, 0.5, q=float(kind.split()[1]))
    else:
        a = sparrot.qot(X, 0.1, min_neighbors=6 if kind == "floor" else None)
    W = a.matrix.toarray()
    C = ((X[:, None] - X) ** 2).sum(axis=2) / 2
    scores = a.potential[:, None] + a.potential + 2 * a.shift - C
    i, j = np.unravel_index(np.where(W > 1e-300, scores, INF).argmin(), W.shape)
    if kind == "floor":
        i = int(a.row_eps.argmax())
        j = int(W[i].argmax())
        assert a.row_eps[i] > a.eps
    W[i, j] = W[j, i] = 0
    rounding = 1e-13 * (C.max() + a.shift)
    least = a.eps / (1 - a.q) * np.finfo(float).tiny ** (1 - a.q)  # whose entry is a normal number
    assert replace(a, matrix=W).check(X).violation == pytest.approx(
        scores[i, j] - least, abs=rounding
    )
    assert a.check(X).violation <= rounding


def test_a_certificate_is_printed_in_words():
    a = sparrot.qot(X, eps=1.0)
    n = len(X)
    assert str(a.certificate) == (
        f"marginal error {a.certificate.marginal_error:.1e}, violation 0.0e+00 over all "
        f"{n * (n - 1) // 2:,} pairs"
    )
    near = Certificate(1e-9, 0.5, 100, exact=False, missed_rows=0.3, complementarity=2e-9)
    assert str(near) == (
        "marginal error 1.0e-09, floor violation 0.0e+00, complementarity 2.0e-09, violation "
        "5.0e-01 over 100 pairs, pairs missed in at most 30.00% of the rows"
    )
    assert str(replace(near, claimed=True)).endswith("; a claim of the file, not computed here")


def test_a_floor_of_less_than_one_neighbor_is_none():
    a = sparrot.qot(X, eps=0.01, min_neighbors=5)
    for floor in (-INF, -1.0, 0.0):
        k = np.where(np.arange(len(X)) == 0, floor, a.min_neighbors)
        assert replace(a, min_neighbors=k).check(X).complementarity == INF


@pytest.mark.parametrize(
    ("violation", "mass"), [(0.0, 0.0), (0.5, INF)], ids=["none missed", "some missed"]
)
def test_the_mass_that_an_early_record_does_not_say_is_not_known(violation, mass):
    a = sparrot.qot(np.random.default_rng(0).standard_normal((60, 2)))
    approximate = replace(a.certificate, violation=violation, exact=False, missed_rows=0.02)
    record = to_record(replace(a, certificate=approximate))
    del record["missed_mass"]
    early = from_record(record, a.matrix, a.potential, "a file")
    assert early.certificate.missed_mass == mass
