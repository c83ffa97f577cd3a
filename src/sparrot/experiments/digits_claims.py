"""What the paper says of MNIST's digits, held against our numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparrot.experiments import clusters as judge
from sparrot.experiments.angles import good_decades
from sparrot.experiments.frame import Claim, Numbers

_GOOD = 0.9  # of the best NMI of the two


def claims(numbers: Numbers) -> list[Claim]:
    """Perplexities and eigenvectors, curves, layouts."""
    return [
        *_about_shown(numbers["shown"]),
        *_about_curves(numbers["scores"]),
        *_about_layouts(numbers),
    ]


def _about_shown(shown: dict[str, Any]) -> list[Claim]:
    spreads = {m: judge.spread(shown[m]["perplexity"]) for m in ("QOT", "EOT")}
    shares = {m: shown[m]["explained"] for m in ("QOT", "EOT")}
    return [
        Claim(
            "there is more variability in the perplexities for the EOT affinities",
            "more",
            f"deviation / mean: QOT {spreads['QOT']:.2f}, EOT {spreads['EOT']:.2f}",
            "deviation / mean of the perplexities larger for EOT",
            spreads["EOT"] > spreads["QOT"],
        ),
        Claim(
            "v_2, v_3 distinguish the 1s and 2s",
            "by QOT",
            f"share of their indicators that v_2, v_3 explain: {_pair(shares['QOT'])}",
            "at least 0.4 for both digits",
            min(shares["QOT"].values()) >= 0.4,
        ),
        Claim(
            "In contrast, we find that the leading EOT eigenvectors v_2-v_4 consist predominantly "
            "of noise",
            "noise",
            f"share of the same indicators that v_2, v_3 explain: {_pair(shares['EOT'])}",
            "at most 0.2 for both digits",
            max(shares["EOT"].values()) <= 0.2,
            "" if max(shares["EOT"].values()) <= 0.2 else "one of the two shows the 1s here",
        ),
    ]


def _about_curves(rows: judge.Rows) -> list[Claim]:
    information, angle = judge.curves_of(rows, "nmi"), judge.curves_of(rows, "angle")
    best = {m: float(information[m].mean(axis=0).max()) for m in judge.METHODS}
    least = {m: float(angle[m].mean(axis=0).min()) for m in judge.METHODS}
    eps = _parameters(rows, "QOT")
    threshold = _GOOD * max(best["QOT"], best["EOT"])
    losses = {m: -values for m, values in information.items()}
    widths = {m: good_decades(losses, m, eps, -threshold) for m in ("QOT", "EOT")}
    return [
        Claim(
            "both QOT and EOT perform similarly and outperform k-NN by a significant margin in "
            "terms of NMI",
            "similar; better",
            "best NMI " + ", ".join(f"{m} {value:.2f}" for m, value in best.items()),
            "best NMI of QOT and EOT within 0.1, both at least 0.1 above k-NN",
            abs(best["QOT"] - best["EOT"]) <= 0.1
            and min(best["QOT"], best["EOT"]) >= best["k-NN"] + 0.1,
        ),
        Claim(
            "EOT yields good performance only for a narrow range of eps, while QOT is stable "
            "across a much wider range of parameter values",
            "much wider",
            f"NMI above {threshold:.2f} over {widths['QOT']:.1f} (QOT) and {widths['EOT']:.1f} "
            "(EOT) decades",
            f"NMI above {_GOOD} of the best over at least twice as many decades",
            widths["QOT"] > 0 and widths["QOT"] >= 2 * widths["EOT"],
        ),
        Claim(
            "In terms of eigenspace angle ..., QOT outperforms both k-NN and EOT by a significant "
            "margin",
            "significant",
            "best angle " + ", ".join(f"{m} {value:.2f}" for m, value in least.items()),
            "best angle of EOT and of k-NN at least 1.2 times that of QOT",
            min(least["EOT"], least["k-NN"]) >= 1.2 * least["QOT"],
        ),
    ]


def _about_layouts(numbers: Numbers) -> list[Claim]:
    apart = {m: numbers["shown"][m]["apart"] for m in ("QOT", "EOT")}
    slant = {m: numbers["ones"][m]["correlation"] for m in ("QOT", "EOT")}
    both = {m: numbers["ones"][m]["correlation_of_both"] for m in ("QOT", "EOT")}
    return [
        Claim(
            "with the QOT affinities a clear separation between 7s and 9s is achieved",
            "clear",
            f"area under the ROC curve of the best of v_2 ... v_8: {apart['QOT']:.2f}",
            "at least 0.9",
            apart["QOT"] >= 0.9,
        ),
        Claim(
            "for the EOT affinities they are superimposed",
            "superimposed",
            f"the same area: {apart['EOT']:.2f}",
            "at most 0.75",
            apart["EOT"] <= 0.75,
        ),
        Claim(
            "the QOT affinities produce a clear 1-dimensional embedded structure along which the "
            "progressive change in angle is apparent",
            "apparent",
            f"correlation of the first coordinate with the slant: {slant['QOT']:.2f}; of both "
            f"{both['QOT']:.2f}",
            "first coordinate: at least 0.9",
            slant["QOT"] >= 0.9,
            "" if slant["QOT"] >= 0.9 else "the curve is there, but bent, and a few images are far",
        ),
        Claim(
            "In contrast, the EOT affinities produce a much noisier embedding",
            "noisier",
            f"correlation of the first coordinate: {slant['EOT']:.2f}; of both {both['EOT']:.2f}",
            "first coordinate: less than for QOT",
            slant["EOT"] < slant["QOT"],
            "a few images far away take up the first coordinate; the rest is a curve too",
        ),
    ]


def _pair(shares: dict[str, float]) -> str:
    return f"{shares['1']:.2f} and {shares['2']:.2f}"


def _parameters(rows: judge.Rows, method: str) -> Sequence[float]:
    seed = rows[0]["seed"]
    return [r["parameter"] for r in rows if r["method"] == method and r["seed"] == seed]
