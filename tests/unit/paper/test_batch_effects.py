"""Verdicts on a batch effect, by numbers that are known."""

import pytest

from sparrot.paper import batch_effects

AFFINITIES = {  # as seen on bone marrow: links of k-NN lead to hubs, those of QOT do not
    "QOT": {"time": 0.86, "batch": 0.99, "own_few": 0.61, "own_many": 0.61},
    "EOT": {"time": 0.80, "batch": 0.99, "own_few": 0.60, "own_many": 0.60},
    "k-NN": {"time": 0.64, "own_few": 0.90, "own_many": 0.05},
    "Gaussian": {"time": 0.30, "own_few": 0.90, "own_many": 0.20},
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
        "affinities": [{"method": m, "seed": 0} | row for m, row in affinities.items()],
        "layouts": [{"method": m, "seed": 0} | row for m, row in layouts.items()],
    }


def verdicts(found):
    return [claim.holds for claim in batch_effects.claims(found)]


def test_all_seven_claims_are_tested_where_batches_are_apparent():
    assert verdicts(numbers()) == [True] * 7


def test_what_an_effect_does_is_not_tested_where_there_is_none():
    assert verdicts(numbers(plane=0.6)) == [False, True, True, None, None, None, True]


@pytest.mark.parametrize(
    ("method", "key", "value", "claim"),
    [
        ("EOT", "batch", 0.85, 1),
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
    found = numbers()
    row = next(row for row in found["affinities"] if row["method"] == "QOT")
    found["affinities"].append(row | {"seed": 1, "time": worst})
    claim = batch_effects.claims(found)[2]
    assert claim.holds is holds
    assert claim.reason.startswith("at least QOT 0.63; the others reach 0.64") is not holds


def test_artifacts_are_judged_by_pseudotime_and_overlap_by_batches():
    clear = LAYOUTS | {"k-NN": {"mixing": 0.7, "time": 0.79}}
    assert verdicts(numbers(layouts=clear)) == [True] * 6 + [False]
    apart = LAYOUTS | {"QOT": {"mixing": 0.65, "time": 0.8}}
    assert verdicts(numbers(layouts=apart)) == [True] * 4 + [False, False, True]
