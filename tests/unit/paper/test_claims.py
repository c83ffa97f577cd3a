"""Verdicts on numbers that are known, and on those that the authors published."""

import json
from pathlib import Path

import numpy as np
import pytest

from sparrot.paper import (
    digits,
    mixture,
    robustness,
    single_cell,
    spiral,
    spiral_dimensions,
    torus,
)
from sparrot.paper._methods import METHODS, Finding, claim_by_both, judged

# Curves of the vector graphics that the authors published with their code, in the units of axes.
PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text())


def correlations(found, ends=None):
    """Numbers of the marrow from correlations, by method and lineage, in two samples."""
    return {
        "missing": [],
        "sets": {"marrow": {}},
        "correlations": [
            {"set": "marrow", "method": m, "seed": s, "lineage": name, "correlation": r[s]}
            for m, lineages in found.items()
            for name, r in lineages.items()
            for s in (0, 1)
        ],
        "sizes": [{"set": "marrow", "cells": 2500}],
        "ends": [
            {"set": "marrow", "method": m, "seed": s, "lineage": name, "rank": value}
            for name, rank in (ends or {}).items()
            for m, value in (("QOT", rank), ("EOT", 0.9), ("k-NN", 0.8))
            for s in (0, 1)
        ],
    }


def test_a_lineage_is_missed_only_by_a_margin_and_in_the_mean_over_samples():
    qot = {"a": (0.5, 0.7), "b": (0.5, 0.5)}
    clear = {"a": (0.5, 0.7), "b": (-0.5, 0.5)}  # level in one sample, far below in the other
    close = {"a": (0.5, 0.6), "b": (0.45, 0.45)}
    agreement, missed = single_cell.claims(correlations({"QOT": qot, "EOT": clear, "k-NN": clear}))
    assert agreement.holds
    assert agreement.ours.startswith("marrow, 2 samples of 2,500 cells, Spearman: ")
    assert missed.holds
    _, missed = single_cell.claims(correlations({"QOT": qot, "EOT": clear, "k-NN": close}))
    assert missed.holds is False
    assert "k-NN misses none" in missed.reason


def test_a_lineage_that_only_qot_misses_counts_against_it():
    qot, other = {"a": (0.9, 0.9), "b": (0.5, 0.5)}, {"a": (0.5, 0.5), "b": (0.7, 0.7)}
    _, missed = single_cell.claims(correlations({"QOT": qot, "EOT": other, "k-NN": other}))
    assert missed.holds is False
    assert "k-NN misses a (QOT, against it, b)" in missed.reason


def test_the_published_correlations_of_the_dentate_gyrus_meet_the_criteria():
    published = {
        m: {name: (r, r) for name, r in found.items()}
        for m, found in single_cell._PUBLISHED.items()
    }
    assert all(claim.holds for claim in single_cell.claims(correlations(published)))


@pytest.mark.parametrize(("rank", "distant"), [(0.99, True), (0.5, False)])
def test_an_end_cell_has_to_be_far_away_in_its_branch(rank, distant):
    found = {m: {"a": (0.9, 0.9)} for m in ("QOT", "EOT", "k-NN")}
    claim, agreement, _ = single_cell.claims(correlations(found, {"a": rank}))
    assert agreement.holds  # whatever its ends are
    assert claim.holds is distant
    assert ("a is not distant (0.50; EOT 0.90, k-NN 0.80)" in claim.reason) is not distant


def test_the_verdict_on_angles_is_by_whole_pairs_and_says_what_the_ten_find():
    found = {"angle": Finding("0.2", False, "too large"), "whole": Finding("0.1", True, "")}
    claim = claim_by_both("near", "near", "at most 0.15", lambda key: found[key])
    assert claim.holds
    assert claim.ours == "0.1; to the paper's ten vectors: 0.2"
    assert claim.reason == "not to the paper's ten vectors: too large"
    found = {"angle": found["whole"], "whole": found["angle"]}
    claim = claim_by_both("near", "near", "at most 0.15", lambda key: found[key])
    assert claim.holds is False
    assert claim.reason == "too large; to the paper's ten vectors it holds"


def angle_rows(curves):
    """Angles over eps = 100, 10, 1, 0.1, 0.01 by method, the same to both judges."""
    poor = dict.fromkeys(METHODS, [0.5] * 5)
    return [
        {"method": m, "parameter": eps, "seed": 0, "angle": angle, "whole": angle}
        for m, values in (poor | curves).items()
        for eps, angle in zip((100.0, 10.0, 1.0, 0.1, 0.01), values, strict=True)
    ]


@pytest.mark.parametrize(
    ("fat", "worse"),
    [
        ([0.9, 0.109, 0.3, 0.9, 0.9], True),  # good over a decade, at the published best angle
        ([0.9, 0.078, 0.3, 0.9, 0.9], True),  # as good at its best, in half the range
        ([0.2, 0.109, 0.3, 0.4, 0.9], False),  # good over as wide a range
        ([0.9, 0.077, 0.3, 0.9, 0.9], False),  # better at its best, if by little
    ],
)
def test_fat_is_judged_by_its_range_which_the_published_best_angle_does_not_fail(fat, worse):
    hollow = [0.9, 0.1, 0.078, 0.2, 0.9]
    curves = {"QOT": hollow, "EOT": hollow, "QOT, fat": fat, "EOT, fat": fat}
    claim = next(c for c in spiral.claims_on_angles(angle_rows(curves)) if "fatten" in c.sentence)
    assert claim.holds is worse


@pytest.mark.parametrize(
    ("sentence", "needed"), [("eps small", "0.04 <= eps <= 0.1"), ("eps large", "eps >= 10")]
)
def test_what_is_said_of_an_eps_that_was_not_run_is_not_tested(sentence, needed):
    rows = [row for row in angle_rows({}) if row["parameter"] == 1.0]
    claim = next(c for c in spiral.claims_on_angles(rows, "few: ") if sentence in c.sentence)
    assert claim.holds is None
    assert claim.ours == "few: not run"
    assert claim.reason == f"the run has no {needed}"


def rows_of(curves, key):
    """Records of published curves over eps; a method by neighbors has only its best."""
    return [
        {"method": m, "parameter": eps, "seed": 0, key: value}
        for m, values in curves.items()
        for eps, value in zip(PUBLISHED["eps"], 25 // len(values) * values, strict=True)
    ]


def test_every_criterion_on_angles_is_met_by_the_published_ones():
    rows = rows_of(PUBLISHED["spiral"]["250"], "angle")
    claims = spiral.claims_on_angles([row | {"whole": row["angle"]} for row in rows], "published: ")
    assert len(claims) == 10
    for claim in claims:
        assert claim.holds, claim
        assert claim.ours.startswith("published: ")
        assert not claim.reason


def test_the_published_angles_improve_with_the_dimension():
    rows = [
        {"d": int(d), "method": m, "seed": 0, "angle": min(values), "whole": min(values)}
        for d, curves in PUBLISHED["spiral"].items()
        for m, values in curves.items()
    ]
    assert spiral_dimensions.claim_on_dimensions(rows).holds


def test_the_claim_on_dimensions_is_judged_for_the_noise_of_the_text_and_of_the_code():
    text, code = (
        [
            {"d": d, "method": m, "seed": 0, "angle": angle, "whole": angle}
            for m in ("QOT", "EOT")
            for d, angle in zip((50, 250), angles, strict=True)
        ]
        for angles in ((0.2, 0.1), (0.2, 0.3))
    )
    numbers = {"noises": [0.95, 1.25], "angles": text, "code_angles": code}
    by_text, by_code = spiral_dimensions.claims(numbers)
    assert by_text.holds
    assert by_text.ours.startswith("noise 0.05 + 0.95 (text): ")
    assert by_code.holds is False
    assert by_code.ours.startswith("noise 0.05 + 1.25 (code): ")


def published_scores(curves):
    """Records with both scores; NMI below the axis of the figure counts as its end."""
    missing = {m: [0.5] for m in curves["angle"] if m not in curves["nmi"]}
    angles = rows_of(curves["angle"], "angle")
    pairs = zip(angles, rows_of(curves["nmi"] | missing, "nmi"), strict=True)
    return [{**a, **b} for a, b in pairs]


def test_every_criterion_on_clusters_is_met_by_the_published_scores():
    scores = [
        {"d": int(d)} | row
        for d, curves in PUBLISHED["mixture"].items()
        for row in published_scores(curves)
    ]
    for row in scores:  # d_PCA = 250 is d = 250 without reduction
        if (row["d"], row["method"]) == (250, "k-NN"):
            row["nmi"] = PUBLISHED["components"]["k-NN"]["250"]
    for claim in mixture._claims_on_curves(scores):
        assert claim.holds, claim
    components = [
        {"method": m, "pca": int(d), "nmi": nmi}
        for m, by_d in PUBLISHED["components"].items()
        for d, nmi in by_d.items()
    ]
    for claim in mixture._claims_on_pca(components):
        assert claim.holds, claim
    for claim in digits._claims_on_curves(published_scores(PUBLISHED["digits"])):
        assert claim.holds, claim


def test_ten_vectors_that_keep_the_other_half_of_a_pair_are_off_by_a_tenth_of_a_right_angle():
    ring = np.eye(12)[:, :11]
    other_half = np.eye(12)[:, [*range(9), 10, 9]]
    found = judged(other_half, ring)
    assert found["angle"] == pytest.approx(np.pi / 20)
    assert found["whole"] == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(("markov", "kept"), [(0.2, True), (0.05, False)])
def test_noise_of_rank_one_has_to_survive_either_normalization(markov, kept):
    changes = {"QOT": 1e-12, "EOT": 1e-12, "Gaussian, symmetric": 6.0, "Gaussian, Markov": markov}
    numbers = {
        "rank-one": [{"affinity": a, "change": change} for a, change in changes.items()],
        "contraction": [{"change": 0.2, "bound": 1.0}],
        "noise": [],
    }
    claim = robustness.claims(numbers)[1]
    assert claim.holds is kept
    assert f"6.00 (Gaussian, symmetric) and {markov:.2f} (Gaussian, Markov)" in claim.ours


def test_the_slope_of_noise_is_fitted_in_high_dimension_only():
    rows = [
        {"affinity": "QOT", "p": p, "change": change}
        for p, change in ((10, 1.0), (100, 1.0), (1000, 1.0), (10_000, 10**-0.5))
    ]
    assert robustness.decay(rows, "QOT") == pytest.approx(-0.5)
    assert robustness.decay(rows[:3], "QOT") is None


def operator(means, limit=1.0):
    noise = np.array([-0.01, 0.0, 0.01])
    return {
        "limit": limit,
        "operator": [
            {"alpha": alpha, "n": n, "value": float(mean + e), "level": 0.2}
            for alpha, by_n in means.items()
            for n, mean in zip((100, 1000), by_n, strict=True)
            for e in noise * (4 if alpha < 1.5 else 1)
        ],
    }


def test_a_value_that_still_moves_has_not_stabilised():
    others = {1.75: (1.0, 1.0), 1.25: (1.0, 1.0)}
    assert torus.claims(operator({2.0: (-0.3, -0.25)} | others))[0].holds
    moving = torus.claims(operator({2.0: (-0.45, -0.25)} | others))[0]
    assert moving.holds is False
    assert "change 0.20" in moving.reason


def test_values_on_the_torus_are_compared_with_each_other_not_with_the_limit():
    others = {2.0: (0, 0), 1.25: (1.4, 1.3)}
    similar = torus.claims(operator(others | {1.75: (1.4, 1.4)}))[1]
    assert similar.holds  # though both are far from the limit
    apart = torus.claims(operator(others | {1.75: (1.4, 0.9)}))[1]
    assert apart.holds is False
    assert "alpha = 1.25 and 1.75 differ by 0.40" in apart.reason
    negative = torus.claims(operator({2.0: (0, 0), 1.25: (1, -0.2), 1.75: (1, -0.1)}))[1]
    assert negative.holds is False
    assert "not positive" in negative.reason


def test_only_a_fall_and_a_rise_make_a_method_unstable():
    assert mixture.jumps([0.1, 0.5, 0.9]) == pytest.approx((0.8, 0.0))
    assert mixture.jumps([0.5, 0.0, 0.65]) == pytest.approx((0.65, 0.5))


def components(eot):
    mark = {"d": 10, "seed": 0, "perplexity": 1.5, "spread": 0.5, "nmi": 0.5}
    score = {"parameter": 1.0, "seed": 0, "nmi": 0.5, "angle": 0.5}
    return {
        "shown": {"d": 10},
        "marks": [{"method": m} | mark for m in ("QOT", "EOT")],
        "spectra": [
            {"d": d, "method": m, "seed": 0, "index": k + 1, "value": k / 10}
            for d in (10, 50)
            for m in ("QOT", "EOT")
            for k in range(10)
        ],
        "scores": [{"d": d, "method": m} | score for d in (10, 50) for m in ("QOT", "EOT", "k-NN")],
        "pca": [
            {"pca": d, "method": m} | score | {"nmi": eot[j] if m == "EOT" else 0.1 + 0.4 * (j > 0)}
            for j, d in enumerate((2, 10, 50))
            for m in ("QOT", "EOT", "k-NN")
        ],
    }


@pytest.mark.parametrize(("eot", "unstable"), [([0.5, 0.0, 0.6], True), ([0.1, 0.3, 0.6], False)])
def test_instability_of_eot_is_judged_by_its_own_jumps(eot, unstable):
    claim = next(c for c in mixture.claims_at(components(eot)) if "unstable" in c.sentence)
    assert claim.holds is unstable
    assert bool(claim.reason) is not unstable


@pytest.mark.parametrize(
    ("qot", "eot", "clear"),
    [
        ((0.57, 0.40), 0.0005, True),  # as a share of the tenth, which is 1; EOT's as published
        ((0.57, 0.08), 0.0005, False),
        ((0.57, 0.40), 0.2, False),
    ],
)
def test_gaps_are_compared_as_they_are_not_as_shares(qot, eot, clear):
    rows = [
        {"d": d, "method": m, "seed": 0, "index": k + 1, "value": value}
        for d, gap in zip((10, 250), qot, strict=True)
        for m, values in {
            "QOT": [0.0, 0.1, 0.2, *np.linspace(0.2 + gap, 1.0, 7).tolist()],
            "EOT": [0.0, 0.0, 0.0, *[eot] * 7],  # a gap of the whole tenth eigenvalue
        }.items()
        for k, value in enumerate(values)
    ]
    numbers = components([0.5, 0.0, 0.6]) | {"spectra": rows}
    claim = next(c for c in mixture.claims_at(numbers, "here: ") if "clear gaps" in c.sentence)
    assert claim.holds is clear
    assert claim.ours.startswith("here: ")


@pytest.mark.parametrize(
    ("angles", "last", "worsens"),
    [
        ((0.31, 0.70, 0.91), 0.17, True),
        ((0.31, 0.70, 0.91), 0.50, False),
        ((0.31, 0.70, 0.40), 0.17, False),
        ((0.70, 0.75, 0.91), 0.17, False),
    ],
)
def test_k_nn_worsens_only_if_both_its_angle_and_its_nmi_do(angles, last, worsens):
    rows = [
        {"d": d, "method": m, "parameter": 5, "seed": 0, "nmi": nmi, "angle": angle}
        for d, angle, nmi in zip((10, 50, 250), angles, (0.82, 0.5, last), strict=True)
        for m in ("QOT", "EOT", "k-NN")
    ]
    claim = next(c for c in mixture._claims_on_curves(rows) if "k-NN rapidly worsens" in c.sentence)
    assert claim.holds is worsens


def test_the_range_of_nmi_over_components_that_the_authors_code_gives_counts_as_unchanged():
    numbers = components([0.5, 0.0, 0.6])
    for row, value in zip(
        (r for r in numbers["pca"] if r["method"] == "QOT"), (0.85, 0.98, 0.9), strict=True
    ):
        row["nmi"] = value
    assert next(c for c in mixture.claims_at(numbers) if "unchanged" in c.sentence).holds


def test_marks_of_eigenvectors():
    labels = np.repeat([1, 2, 7, 9], 25)
    rng = np.random.default_rng(0)
    vectors = 1e-3 * rng.standard_normal((100, 7))
    vectors[:, 0] += labels == 1
    vectors[:, 1] += labels == 2
    vectors[:25, 2] += np.linspace(-1, 1, 25)
    vectors[:, 6] += labels == 7
    found = digits.eigenvector_marks(vectors, labels)
    assert min(found[key] for key in ("ones_23", "twos_23", "ones_234", "within_ones_4")) > 0.99
    assert found["apart_8"] == found["apart_best"] == 1
    assert found["ones_5"] < 0.2


def digit_marks(qot, eot):
    keys = ("ones_23", "twos_23", "ones_234", "twos_234", "ones_5", "within_ones_4", "apart_8")
    keys += ("apart_best", "slant", "slant_both", "spread", "perplexity", *digits._LIVES_ON)
    rows = [
        dict.fromkeys(keys, 0.5) | {"method": m, "seed": 0, "own_kind": share}
        for m, share in (("QOT", qot), ("EOT", eot))
    ]
    score = {"parameter": 1.0, "seed": 0, "nmi": 0.5, "angle": 0.5}
    return {"all": rows, "scores": [{"method": m} | score for m in ("QOT", "EOT", "k-NN")]}


@pytest.mark.parametrize(
    ("qot", "eot", "expected"),
    [
        (0.94, 0.665, [True, True]),  # read off the published layouts
        (0.94, 0.85, [True, False]),  # no contrast
        (0.70, 0.50, [False, True]),
    ],
)
def test_sevens_and_nines_are_judged_by_the_contrast_that_was_published(qot, eot, expected):
    claims = digits.claims(digit_marks(qot, eot))
    words = ("clear separation between 7s and 9s", "superimposed")
    assert [c.holds for w in words for c in claims if w in c.sentence] == expected


def test_thresholds_of_digits_are_half_way_to_the_published_numbers():
    shares = {(0.803, 0.665): [True, True], (0.802, 0.665): [False, False]}
    words = ("clear separation between 7s and 9s", "superimposed")
    for pair, expected in shares.items():
        claims = digits.claims(digit_marks(*pair))
        assert [c.holds for w in words for c in claims if w in c.sentence] == expected


@pytest.mark.parametrize(("eot", "noisier"), [((0.5, 0.5), True), ((0.5, 0.95), False)])
def test_an_embedding_is_noisier_only_if_the_first_coordinate_and_both_say_so(eot, noisier):
    numbers = digit_marks(0.94, 0.665)
    for row in numbers["all"]:
        found = eot if row["method"] == "EOT" else (0.94, 0.95)
        row.update(zip(("slant", "slant_both"), found, strict=True))
    claim = next(c for c in digits.claims(numbers) if "noisier" in c.sentence)
    assert claim.holds is noisier
    assert "by the first coordinate alone EOT is better than QOT in 0 of 1 samples" in claim.ours


def test_vectors_on_few_images_are_counted_and_shares_are_medians():
    rows = []
    for seed, share in enumerate((0.002, 0.4, 0.5)):
        marks = digit_marks(0.94, 0.665)["all"]
        rows += [row | {"seed": seed, digits._LIVES_ON[0]: share} for row in marks]
    claim = next(
        c
        for c in digits._claims_by_means(digit_marks(0, 0) | {"all": rows})
        if "v_2-v_4" in c.sentence
    )
    assert "EOT 40%, 50%, 50%" in claim.ours
    assert "in 1 of 3 samples v_2 of EOT lives on fewer than 1% of the images" in claim.ours


def test_a_mean_near_its_threshold_is_said_to_be_within_its_spread():
    values = np.array([0.7, 0.8, 0.9])  # a standard error of 0.058
    assert digits.with_error(values, 0.7) == "0.800 ± 0.058 (within its spread)"
    assert digits.with_error(values, 0.68) == "0.800 ± 0.058"
    assert digits.with_error(values[:1], 0.7) == "0.700"


def test_digits_say_how_many_samples_would_fail_alone():
    numbers = digit_marks(0.94, 0.665)
    rows = [row | {"seed": 1, "own_kind": 0.75} for row in numbers["all"] if row["method"] == "QOT"]
    rows += [row | {"seed": 1} for row in numbers["all"] if row["method"] == "EOT"]
    numbers["all"] += rows
    numbers["scores"] += [row | {"seed": 1} for row in numbers["scores"]]
    claims = digits.claims(numbers)
    claim = next(c for c in claims if "clear separation" in c.sentence)
    assert claim.holds  # 0.845 in the mean
    assert claim.ours.endswith("; alone, 1 of 2 samples would fail")
    claim = next(c for c in claims if "superimposed" in c.sentence)
    assert claim.ours.endswith("; alone, 1 of 2 samples would fail")  # 0.085 below QOT
