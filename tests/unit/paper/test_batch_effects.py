"""Verdicts on a batch effect, by numbers that are known."""

import pytest

from sparrot.paper import batch_effects

AFFINITIES = {  # much as on bone marrow: links of k-NN lead to hubs, those of QOT do not
    "QOT": {"time": 0.88, "batch": 0.91, "own_few": 0.65, "own_many": 0.65},
    "EOT": {"time": 0.81, "batch": 0.92, "own_few": 0.66, "own_many": 0.66},
    "k-NN": {"time": 0.64, "own_few": 0.96, "own_many": 0.06},
    "Gaussian": {"time": 0.29, "own_few": 0.99, "own_many": 0.02},
}
LAYOUTS = {
    "default": {"mixing": 0.6, "time": 0.6},
    "QOT": {"mixing": 0.9, "time": 0.8},
    "EOT": {"mixing": 0.7, "time": 0.5},
    "k-NN": {"mixing": 0.7, "time": 0.6},
}


def numbers(plane=0.9, affinities=AFFINITIES, layouts=LAYOUTS):
    return {
        "planes": [{"seed": 0, "batch": plane}],
        "affinities": [
            {"method": m, "seed": 0, "symmetric_few": 0.88, "symmetric_many": 0.07} | row
            for m, row in affinities.items()
        ],
        "layouts": [{"method": m, "seed": 0} | row for m, row in layouts.items()],
    }


def with_second_sample(found, table, method, changed):
    """The same numbers twice, but for some of one method in the second sample."""
    both = {key: [row | {"seed": seed} for seed in (0, 1) for row in found[key]] for key in found}
    next(r for r in both[table] if (r["method"], r["seed"]) == (method, 1)).update(changed)
    return both


def verdicts(found):
    return [claim.holds for claim in batch_effects.claims(found)]


def test_all_seven_claims_are_tested_where_batches_are_apparent():
    assert verdicts(numbers()) == [True] * 7


def test_what_an_effect_does_is_not_tested_where_there_is_none():
    assert verdicts(numbers(plane=0.6)) == [False, True, True, None, None, None, True]


@pytest.mark.parametrize(
    ("method", "key", "value", "claim"),
    [
        ("EOT", "batch", 0.82, 1),  # ours on bone marrow; published is about 0.9
        ("EOT", "time", 0.6, 2),
        ("EOT", "own_many", 0.1, 3),  # hubs of EOT, as of k-NN
        ("Gaussian", "own_few", 0.5, None),  # its cells of many reads still tell
    ],
)
def test_one_number_turns_one_verdict(method, key, value, claim):
    changed = AFFINITIES | {method: AFFINITIES[method] | {key: value}}
    found = verdicts(numbers(affinities=changed))
    assert [k for k, holds in enumerate(found) if not holds] == ([] if claim is None else [claim])


@pytest.mark.parametrize(("worst", "holds"), [(0.65, True), (0.63, False)])
def test_types_are_uncovered_if_every_sample_is_above_all_of_k_nn(worst, holds):
    found = with_second_sample(numbers(), "affinities", "QOT", {"time": worst})
    claim = batch_effects.claims(found)[2]
    assert claim.holds is holds
    assert claim.reason.startswith("at least QOT 0.63; the others reach 0.64") is not holds


def test_artifacts_are_judged_by_pseudotime_and_overlap_by_batches():
    clear = LAYOUTS | {"k-NN": {"mixing": 0.7, "time": 0.79}}
    assert verdicts(numbers(layouts=clear)) == [True] * 4 + [False, True, False]
    apart = LAYOUTS | {"QOT": {"mixing": 0.65, "time": 0.8}}
    assert verdicts(numbers(layouts=apart)) == [True] * 4 + [False, False, True]


def test_a_default_layout_that_shows_the_trajectory_as_well_is_said_beside_the_overlap():
    found = LAYOUTS | {"default": {"mixing": 0.6, "time": 0.82}}
    claim = batch_effects.claims(numbers(layouts=found))[4]
    assert claim.holds
    assert "the default explains 0.82 of pseudotime, QOT 0.80" in claim.reason


def test_shares_of_the_symmetric_graph_of_k_nn_stand_beside_those_of_its_links():
    claim = batch_effects.claims(numbers())[3]
    assert "k-NN 0.96 and 0.06" in claim.ours
    assert claim.ours.endswith("in the symmetric graph of k-NN 0.88 and 0.07")


def test_a_sample_below_the_limit_is_counted():
    found = with_second_sample(numbers(), "layouts", "QOT", {"mixing": 0.79})
    claim = batch_effects.claims(found)[4]
    assert claim.holds  # 0.845 in the mean
    assert claim.ours.endswith("; alone, 1 of 2 samples would fail")
