"""What the paper says of the mixture, held against our numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.experiments import clusters as judge
from sparrot.experiments.frame import Claim, Numbers

_GAP_OF = 3  # clusters
_AMONG = 10  # leading gaps


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
    return [
        Claim(
            "the EOT affinities show much more extreme variability than the QOT affinities",
            "much more",
            f"perplexity, deviation / mean: QOT {spreads['QOT']:.2f}, EOT {spreads['EOT']:.2f}",
            "deviation / mean of the perplexities of EOT at least 1.5 times that of QOT",
            spreads["EOT"] >= 1.5 * spreads["QOT"],
        ),
        Claim(
            "the first two non-trivial eigenvectors for the QOT affinities distinguish cleanly "
            "between clusters. On the other hand, for the EOT affinities effectively consist of "
            "only noise",
            "clean; noise",
            f"NMI of clusters by them: QOT {shown['QOT']['nmi']:.2f}, EOT {shown['EOT']['nmi']:.2f}"
            f" (d = {shown['d']})",
            "NMI at least 0.7 for QOT and at most 0.1 for EOT, at equal mean perplexity",
            shown["QOT"]["nmi"] >= 0.7 and shown["EOT"]["nmi"] <= 0.1,
        ),
    ]


def _about_spectra(rows: judge.Rows) -> Claim:
    dimensions = sorted({row["d"] for row in rows})
    shares = {(d, m): gap_share(rows, d, m) for d in dimensions for m in ("QOT", "EOT")}
    hold = all(shares[d, "QOT"] >= 0.25 > shares[d, "EOT"] for d in dimensions)
    said = "; ".join(
        f"{m} " + ", ".join(f"{shares[d, m]:.2f}" for d in dimensions) for m in ("QOT", "EOT")
    )
    return Claim(
        "only the QOT projection exhibits clear gaps between the leading Laplacian eigenvalues",
        "only QOT",
        f"gap after the third, over lambda_{_AMONG}: {said} at d = {_listed(dimensions)}",
        f"lambda_4 - lambda_3 at least a quarter of lambda_{_AMONG} for QOT at every d, and less "
        "for EOT",
        hold,
        ""
        if hold
        else "QOT's leading eigenvalues are far apart, EOT's all near zero, but as d grows "
        "QOT's gap moves from after the third to before it",
    )


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
    said = ", ".join(f"{best[d, 'k-NN'][0]:.2f}" for d in dimensions)
    return [
        Claim(
            "the performance of k-NN rapidly worsens as the dimensionality d increases",
            "rapidly",
            f"best NMI {said} at d = {_listed(dimensions)}",
            "best NMI falls by at least half from the first d to the last",
            lost >= best[dimensions[0], "k-NN"][0] / 2,
        ),
        Claim(
            "the performance of QOT remains stable and outperforms EOT by a widening margin as d "
            "increases",
            "stable, widening",
            f"best NMI of QOT {_numbers(kept)}; lead over EOT in NMI {_numbers(leads)}, in angle "
            f"{_numbers(turns)}",
            "QOT's best NMI never falls by more than 0.05, and its lead in NMI and in angle is "
            "positive and larger at the last d than at the first",
            bool(np.diff(kept).min() >= -0.05)
            and all(lead[-1] > lead[0] and min(lead) > 0 for lead in (leads, turns)),
        ),
    ]


def _about_pca(rows: judge.Rows) -> list[Claim]:
    means = {
        m: [
            float(np.mean([r["nmi"] for r in rows if r["pca"] == d and r["method"] == m]))
            for d in sorted({row["pca"] for row in rows})
        ]
        for m in judge.METHODS
    }
    ranges = {m: max(values) - min(values) for m, values in means.items()}
    few = "few components overlap the clusters: QOT loses there too, and is level from 25 on"
    return [
        Claim(
            "the performance of QOT remains virtually unchanged across the full range of d_PCA",
            "unchanged",
            f"NMI {min(means['QOT']):.2f} to {max(means['QOT']):.2f}",
            "NMI varies by at most 0.1",
            ranges["QOT"] <= 0.1,
            "" if ranges["QOT"] <= 0.1 else few,
        ),
        Claim(
            "EOT appears to be unstable",
            "unstable",
            f"NMI {min(means['EOT']):.2f} to {max(means['EOT']):.2f}",
            "NMI varies by at least twice as much as QOT's and by at least 0.15",
            ranges["EOT"] >= max(0.15, 2 * ranges["QOT"]),
            "" if ranges["EOT"] >= 2 * ranges["QOT"] else few,
        ),
        Claim(
            "k-NN rapidly deteriorates even for moderately large values of d_PCA",
            "deteriorates",
            f"NMI {_numbers(means['k-NN'])} at d_PCA = "
            f"{_listed(sorted({row['pca'] for row in rows}))}",
            "NMI at the last d_PCA at most half of that at the first",
            means["k-NN"][-1] <= means["k-NN"][0] / 2,
        ),
    ]


def _best(rows: judge.Rows, method: str) -> tuple[float, float]:
    """Largest mean NMI, and smallest mean angle."""
    information, angle = (judge.curves_of(rows, key)[method] for key in ("nmi", "angle"))
    return float(information.mean(axis=0).max()), float(angle.mean(axis=0).min())


def _numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values))
