"""What the paper says of MNIST's digits, held against our numbers, by means over samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparrot.paper import _clusters as judge
from sparrot.paper._angles import good_decades
from sparrot.paper._frame import Claim, Numbers, unless

_GOOD = 0.9  # of the best NMI of the two
_TOLD = 0.4  # share of an indicator that is explained: "distinguish"
_NOISE = 0.2  # the same: "noise"
_NOISIER = 1.5  # times as much of the slant left over: "much noisier"


def claims(numbers: Numbers) -> list[Claim]:
    """Perplexities and eigenvectors, curves, layouts."""
    all_digits = {m: _Marks(numbers["all"], m) for m in ("QOT", "EOT")}
    ones = {m: _Marks(numbers["ones"], m) for m in ("QOT", "EOT")}
    return [
        _about_perplexities(all_digits["QOT"], all_digits["EOT"]),
        *_about_qot_vectors(all_digits["QOT"]),
        *_about_eot_vectors(all_digits["EOT"]),
        *_about_curves(numbers["scores"]),
        *_about_layouts(all_digits["QOT"], all_digits["EOT"]),
        *_about_slant(ones["QOT"], ones["EOT"]),
    ]


class _Marks:
    """The marks of one method over samples."""

    def __init__(self, rows: list[dict[str, Any]], method: str) -> None:
        self._rows = [row for row in rows if row["method"] == method]

    def mean(self, key: str) -> float:
        return float(np.mean([row[key] for row in self._rows]))

    def said(self, key: str) -> str:
        """Mean and range."""
        values = [row[key] for row in self._rows]
        return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _about_perplexities(qot: _Marks, eot: _Marks) -> Claim:
    holds = eot.mean("spread") > qot.mean("spread")
    return Claim(
        "there is more variability in the perplexities for the EOT affinities",
        "more",
        f"deviation / mean: QOT {qot.said('spread')}, EOT {eot.said('spread')}",
        "mean of deviation / mean of the perplexities larger for EOT",
        holds,
        unless(holds, f"QOT {qot.mean('spread'):.2f}, EOT {eot.mean('spread'):.2f}"),
    )


def _about_qot_vectors(qot: _Marks) -> list[Claim]:
    told = min(qot.mean("ones_23"), qot.mean("twos_23"))
    within = qot.mean("within_ones_4")
    return [
        Claim(
            "v_2, v_3 distinguish the 1s and 2s",
            "by QOT",
            f"share of their indicators that v_2, v_3 explain: 1s {qot.said('ones_23')}, 2s "
            f"{qot.said('twos_23')}",
            f"mean at least {_TOLD} for both digits",
            told >= _TOLD,
            unless(told >= _TOLD, f"the less known digit has {told:.2f}"),
        ),
        Claim(
            "v_4 identifies variability among the 1s",
            "by QOT",
            f"share of the variance of v_4 that is among the 1s: {qot.said('within_ones_4')}",
            "mean at least 0.5; a quarter is chance",
            within >= 0.5,
            unless(within >= 0.5, f"{1 - within:.0%} of its variance is elsewhere"),
        ),
    ]


def _about_eot_vectors(eot: _Marks) -> list[Claim]:
    most = max(("ones_234", "twos_234"), key=eot.mean)
    noise = eot.mean(most) <= _NOISE
    told = eot.mean("ones_5") >= _TOLD
    digit = {"ones_234": "1s", "twos_234": "2s"}[most]
    return [
        Claim(
            "In contrast, we find that the leading EOT eigenvectors v_2-v_4 consist predominantly "
            "of noise",
            "noise",
            f"share of the same indicators that v_2 ... v_4 explain: 1s {eot.said('ones_234')}, 2s "
            f"{eot.said('twos_234')}",
            f"mean at most {_NOISE} for both digits",
            noise,
            unless(noise, f"they explain {eot.mean(most):.2f} of the indicator of the {digit}"),
        ),
        Claim(
            "with v_5 distinguishing the 1s",
            "by EOT",
            f"share of the indicator of the 1s that v_5 explains: {eot.said('ones_5')}",
            f"mean at least {_TOLD}",
            told,
            unless(
                told,
                f"v_5 explains {eot.mean('ones_5'):.2f}, v_2 ... v_4 together "
                f"{eot.mean('ones_234'):.2f}",
            ),
        ),
    ]


def _about_curves(rows: judge.Rows) -> list[Claim]:
    information, angle = judge.curves_of(rows, "nmi"), judge.curves_of(rows, "angle")
    best = {m: float(information[m].mean(axis=0).max()) for m in judge.METHODS}
    least = {m: float(angle[m].mean(axis=0).min()) for m in judge.METHODS}
    threshold = _GOOD * max(best["QOT"], best["EOT"])
    losses = {m: -values for m, values in information.items()}
    eps = _parameters(rows, "QOT")
    wide, narrow = (good_decades(losses, m, eps, -threshold) for m in ("QOT", "EOT"))
    apart = abs(best["QOT"] - best["EOT"])
    lead = min(best["QOT"], best["EOT"]) - best["k-NN"]
    ratio = min(least["EOT"], least["k-NN"]) / least["QOT"]
    similar, wider = apart <= 0.1 <= lead, wide > 0 and wide >= 2 * narrow
    return [
        Claim(
            "both QOT and EOT perform similarly and outperform k-NN by a significant margin in "
            "terms of NMI",
            "similar; better",
            "best NMI " + ", ".join(f"{m} {value:.2f}" for m, value in best.items()),
            "best NMI of QOT and EOT within 0.1, both at least 0.1 above k-NN",
            similar,
            unless(similar, f"{apart:.2f} apart, and {lead:.2f} above k-NN"),
        ),
        Claim(
            "EOT yields good performance only for a narrow range of eps, while QOT is stable "
            "across a much wider range of parameter values",
            "much wider",
            f"NMI above {threshold:.2f} over {wide:.1f} (QOT) and {narrow:.1f} (EOT) decades",
            f"NMI above {_GOOD} of the best over at least twice as many decades",
            wider,
            unless(wider, f"{wide:.1f} decades against {narrow:.1f}"),
        ),
        Claim(
            "In terms of eigenspace angle ..., QOT outperforms both k-NN and EOT by a significant "
            "margin",
            "significant",
            "best angle " + ", ".join(f"{m} {value:.2f}" for m, value in least.items()),
            "best angle of EOT and of k-NN at least 1.2 times that of QOT",
            ratio >= 1.2,
            unless(ratio >= 1.2, f"the next has {ratio:.2f} times the angle of QOT"),
        ),
    ]


def _about_layouts(qot: _Marks, eot: _Marks) -> list[Claim]:
    found = {key: qot.mean(key) for key in ("own_kind", "apart_best", "apart_8")}
    mixed = eot.mean("own_kind") <= 0.6
    return [
        Claim(
            "with the QOT affinities a clear separation between 7s and 9s is achieved",
            "clear",
            "share of 7s and 9s most of whose 15 nearest among these in the layout are of their "
            f"kind: {qot.said('own_kind')}",
            "mean at least 0.9; a half is chance",
            found["own_kind"] >= 0.9,
            unless(
                found["own_kind"] >= 0.9,
                f"the mean is {found['own_kind']:.2f}; the best of v_2 ... v_8 in each sample has "
                f"an area under the ROC curve of {qot.said('apart_best')}, EOT's "
                f"{eot.said('apart_best')}",
            ),
        ),
        Claim(
            "for the EOT affinities they are superimposed",
            "superimposed",
            f"the same share: {eot.said('own_kind')}",
            "mean at most 0.6",
            mixed,
            unless(
                mixed,
                f"the mean is {eot.mean('own_kind'):.2f}, and that of QOT {found['own_kind']:.2f}",
            ),
        ),
        Claim(
            "for QOT, v_8 clearly separates 7s and 9s",
            "v_8",
            f"area under the ROC curve of v_8: {qot.said('apart_8')}",
            "mean at least 0.9",
            found["apart_8"] >= 0.9,
            unless(
                found["apart_8"] >= 0.9,
                f"v_8 has {found['apart_8']:.2f}, the best of v_2 ... v_8 in each sample "
                f"{found['apart_best']:.2f}",
            ),
        ),
    ]


def _about_slant(qot: _Marks, eot: _Marks) -> list[Claim]:
    first = qot.mean("slant")
    left = {m: 1 - marks.mean("slant_both") ** 2 for m, marks in (("QOT", qot), ("EOT", eot))}
    ratio = left["EOT"] / left["QOT"]
    return [
        Claim(
            "the QOT affinities produce a clear 1-dimensional embedded structure along which the "
            "progressive change in angle is apparent",
            "apparent",
            f"correlation of the first coordinate with the slant: {qot.said('slant')}; of both "
            f"{qot.said('slant_both')}",
            "first coordinate: mean at least 0.9",
            first >= 0.9,
            unless(
                first >= 0.9,
                f"the first coordinate leaves {1 - first**2:.0%} of the variance of the slant, "
                f"both coordinates {left['QOT']:.0%}",
            ),
        ),
        Claim(
            "In contrast, the EOT affinities produce a much noisier embedding",
            "much noisier",
            f"correlation of the first coordinate: {eot.said('slant')}; of both "
            f"{eot.said('slant_both')}",
            "share of the variance of the slant that both coordinates leave over at least "
            f"{_NOISIER} times that of QOT, by means",
            ratio >= _NOISIER,
            unless(
                ratio >= _NOISIER,
                f"{ratio:.2f} times: the first coordinate of EOT ({eot.mean('slant'):.2f}) says "
                f"less than QOT's ({first:.2f}), both together {eot.mean('slant_both'):.2f} "
                f"(QOT {qot.mean('slant_both'):.2f})",
            ),
        ),
    ]


def _parameters(rows: judge.Rows, method: str) -> Sequence[float]:
    seed = rows[0]["seed"]
    return [r["parameter"] for r in rows if r["method"] == method and r["seed"] == seed]
