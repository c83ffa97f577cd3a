"""What the paper says of the mixture, held against our numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper import _clusters as judge
from sparrot.paper._frame import Claim, Numbers, unless

_GAP_OF = 3  # clusters
_AMONG = 10  # leading gaps
_JUMP = 0.15  # of NMI from one number of components to the next, and back


def claims(numbers: Numbers) -> list[Claim]:
    """Perplexities and eigenvectors, spectra, curves, and principal components."""
    return [
        *_about_shown(numbers["shown"]),
        _about_spectra(numbers["spectra"]),
        *_about_curves(numbers["scores"]),
        *_about_pca(numbers["pca"]),
    ]


def _about_shown(shown: dict[str, Any]) -> list[Claim]:
    spreads = {m: judge.spread(shown[m]["perplexity"]) for m in ("QOT", "EOT")}
    more = spreads["EOT"] >= 1.5 * spreads["QOT"]
    found = {m: shown[m]["nmi"] for m in ("QOT", "EOT")}
    clean = found["QOT"] >= 0.7 and found["EOT"] <= 0.1
    return [
        Claim(
            "the EOT affinities show much more extreme variability than the QOT affinities",
            "much more",
            f"perplexity, deviation / mean: QOT {spreads['QOT']:.2f}, EOT {spreads['EOT']:.2f}",
            "deviation / mean of the perplexities of EOT at least 1.5 times that of QOT",
            more,
            unless(more, f"{spreads['EOT'] / spreads['QOT']:.2f} times as large"),
        ),
        Claim(
            "the first two non-trivial eigenvectors for the QOT affinities distinguish cleanly "
            "between clusters. On the other hand, for the EOT affinities effectively consist of "
            "only noise",
            "clean; noise",
            f"NMI of clusters by them: QOT {found['QOT']:.2f}, EOT {found['EOT']:.2f} "
            f"(d = {shown['d']})",
            "NMI at least 0.7 for QOT and at most 0.1 for EOT, at equal mean perplexity",
            clean,
            unless(clean, f"NMI {found['QOT']:.2f} by QOT and {found['EOT']:.2f} by EOT"),
        ),
    ]


def _about_spectra(rows: judge.Rows) -> Claim:
    dimensions = sorted({row["d"] for row in rows})
    shares = {(d, m): gap_share(rows, d, m) for d in dimensions for m in ("QOT", "EOT")}
    hold = all(shares[d, "QOT"] >= 0.25 > shares[d, "EOT"] for d in dimensions)
    said = "; ".join(
        f"{m} " + ", ".join(f"{shares[d, m]:.2f}" for d in dimensions) for m in ("QOT", "EOT")
    )
    largest = ", ".join(str(widest_gap(rows, d, "QOT")) for d in dimensions)
    return Claim(
        "only the QOT projection exhibits clear gaps between the leading Laplacian eigenvalues",
        "only QOT",
        f"gap after the third, over lambda_{_AMONG}: {said} at d = {_listed(dimensions)}",
        f"lambda_4 - lambda_3 at least a quarter of lambda_{_AMONG} for QOT at every d, and less "
        "for EOT",
        hold,
        unless(
            hold,
            f"the widest gap of QOT is after the eigenvalue of number {largest} at these d; three "
            "clusters ask for the third",
        ),
    )


def widest_gap(rows: judge.Rows, d: int, method: str) -> int:
    """After how many Laplacian eigenvalues the widest gap of the first ten is."""
    values = [row["value"] for row in rows if row["d"] == d and row["method"] == method]
    return int(np.argmax(np.diff(values[:_AMONG]))) + 1


def gap_share(rows: judge.Rows, d: int, method: str) -> float:
    """The gap after the third Laplacian eigenvalue, over the tenth."""
    values = [row["value"] for row in rows if row["d"] == d and row["method"] == method]
    last = values[min(_AMONG, len(values)) - 1]
    return float((values[_GAP_OF] - values[_GAP_OF - 1]) / last) if last > 0 else 0.0


def _about_curves(rows: judge.Rows) -> list[Claim]:
    dimensions = sorted({row["d"] for row in rows})
    best = {
        (d, m): _best([row for row in rows if row["d"] == d], m)
        for d in dimensions
        for m in judge.METHODS
    }
    lost = best[dimensions[0], "k-NN"][0] - best[dimensions[-1], "k-NN"][0]
    kept = [best[d, "QOT"][0] for d in dimensions]
    leads = [best[d, "QOT"][0] - best[d, "EOT"][0] for d in dimensions]
    turns = [best[d, "EOT"][1] - best[d, "QOT"][1] for d in dimensions]
    said = _numbers([best[d, "k-NN"][0] for d in dimensions])
    worsens = lost >= best[dimensions[0], "k-NN"][0] / 2
    stable = bool(np.diff(kept).min() >= -0.05)
    widening = all(lead[-1] > lead[0] and min(lead) > 0 for lead in (leads, turns))
    return [
        Claim(
            "the performance of k-NN rapidly worsens as the dimensionality d increases",
            "rapidly",
            f"best NMI {said} at d = {_listed(dimensions)}",
            "best NMI falls by at least half from the first d to the last",
            worsens,
            unless(worsens, f"it falls by {lost:.2f}"),
        ),
        Claim(
            "the performance of QOT remains stable and outperforms EOT by a widening margin as d "
            "increases",
            "stable, widening",
            f"best NMI of QOT {_numbers(kept)}; lead over EOT in NMI {_numbers(leads)}, in angle "
            f"{_numbers(turns)}",
            "QOT's best NMI never falls by more than 0.05, and its lead in NMI and in angle is "
            "positive and larger at the last d than at the first",
            stable and widening,
            unless(
                stable and widening,
                f"the lead changes from {leads[0]:.2f} to {leads[-1]:.2f} in NMI and from "
                f"{turns[0]:.2f} to {turns[-1]:.2f} in angle, and QOT's NMI by "
                f"{np.diff(kept).min():+.2f} at its worst step",
            ),
        ),
    ]


def _about_pca(rows: judge.Rows) -> list[Claim]:
    components = sorted({row["pca"] for row in rows})
    means = {
        m: [
            float(np.mean([r["nmi"] for r in rows if r["pca"] == d and r["method"] == m]))
            for d in components
        ]
        for m in judge.METHODS
    }
    qot = means["QOT"]
    level = next(k for k in range(len(qot)) if max(qot[k:]) - min(qot[k:]) <= 0.1)
    unchanged = level == 0
    rise, fall = jumps(means["EOT"])
    unstable = min(rise, fall) >= _JUMP
    deteriorates = means["k-NN"][-1] <= means["k-NN"][0] / 2
    at = f"at d_PCA = {_listed(components)}"
    return [
        Claim(
            "the performance of QOT remains virtually unchanged across the full range of d_PCA",
            "unchanged",
            f"NMI {_numbers(qot)} {at}",
            "NMI varies by at most 0.1",
            unchanged,
            unless(
                unchanged,
                f"it varies by {max(qot) - min(qot):.2f}; from d_PCA = {components[level]} on by "
                f"{max(qot[level:]) - min(qot[level:]):.2f}; at d_PCA = {components[0]} no method "
                f"is above {max(values[0] for values in means.values()):.2f}",
            ),
        ),
        Claim(
            "EOT appears to be unstable",
            "unstable",
            f"NMI {_numbers(means['EOT'])} {at}",
            f"EOT's NMI both falls and rises by at least {_JUMP} as d_PCA grows",
            unstable,
            unless(unstable, f"EOT's NMI rises by {rise:.2f} and falls by {fall:.2f} at most"),
        ),
        Claim(
            "k-NN rapidly deteriorates even for moderately large values of d_PCA",
            "deteriorates",
            f"NMI {_numbers(means['k-NN'])} {at}",
            "NMI falls by at least half from the first d_PCA to the last",
            deteriorates,
            unless(deteriorates, f"from {means['k-NN'][0]:.2f} to {means['k-NN'][-1]:.2f} only"),
        ),
    ]


def jumps(values: list[float]) -> tuple[float, float]:
    """The largest rise and the largest fall from an earlier value to a later one.

    Examples
    --------
    >>> jumps([0.5, 0.0, 0.75])
    (0.75, 0.5)
    """
    pairs = [(a, b) for k, a in enumerate(values) for b in values[k + 1 :]]
    rise, fall = (max((s * (b - a) for a, b in pairs), default=0.0) for s in (1, -1))
    return max(rise, 0.0), max(fall, 0.0)


def _best(rows: judge.Rows, method: str) -> tuple[float, float]:
    """Largest mean NMI, and smallest mean angle."""
    information, angle = (judge.curves_of(rows, key)[method] for key in ("nmi", "angle"))
    return float(information.mean(axis=0).max()), float(angle.mean(axis=0).min())


def _numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values))
