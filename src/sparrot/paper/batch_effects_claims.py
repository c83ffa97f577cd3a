"""What the paper says of batch effects, held against our numbers."""

from __future__ import annotations

from typing import Any

from sparrot.paper._frame import Claim, Numbers, unless

_APPARENT = 0.8
_CLEARLY = 0.1  # of mixing
_BOTH = ("QOT", "EOT")
_NOTE = "blood cells of five types in the place of the paper's trajectory"


def claims(numbers: Numbers) -> list[Claim]:
    """Components, potentials, affinities, layouts."""
    plain, clipped = numbers["batch_told"]
    apparent = _by_components(plain) >= _APPARENT
    laid = {row["method"]: row for row in numbers["layouts"]}
    return [
        _about_components(numbers, plain, clipped),
        _about_potentials(numbers, plain, clipped),
        _about_types(numbers),
        _about_reads(numbers, apparent),
        _about_overlap(laid, apparent),
        _about_default(laid, apparent),
        _about_artifacts(laid),
    ]


def _about_components(numbers: Numbers, plain: dict[str, Any], clipped: dict[str, Any]) -> Claim:
    found, inner = _by_components(plain), _by_components(plain, " within")
    holds = found >= _APPARENT
    return Claim(
        "the simulated data in PCA coordinates, from which presence of a batch effect is apparent",
        "apparent",
        f"batch told by the better of two components, area under the ROC curve: {found:.2f}, "
        f"within types {inner:.2f}; {_clipped(numbers)} {_by_components(clipped):.2f} and "
        f"{_by_components(clipped, ' within'):.2f}",
        f"at least {_APPARENT}",
        holds,
        unless(
            holds,
            f"within types it is {inner:.2f}, so that types "
            f"{'hide it' if inner >= _APPARENT else 'are not what hides it'}; {_tails(numbers)}. "
            f"{_NOTE}",
        ),
    )


def _about_potentials(numbers: Numbers, plain: dict[str, Any], clipped: dict[str, Any]) -> Claim:
    least, after = (min(told["QOT"], told["EOT"]) for told in (plain, clipped))
    holds = least >= 0.9
    return Claim(
        "the batches correspond to different noise levels and we find that this is empirically "
        "reflected in the values of the dual potential for both bistochastic projections",
        "reflected",
        "batch told by potential, area under the ROC curve: "
        + ", ".join(f"{m} {plain[m]:.2f} (within types {plain[f'{m} within']:.2f})" for m in _BOTH)
        + f"; {_clipped(numbers)} "
        + ", ".join(
            f"{m} {clipped[m]:.2f} (within types {clipped[f'{m} within']:.2f})" for m in _BOTH
        ),
        "at least 0.9 for both",
        holds,
        unless(
            holds,
            f"{_tails(numbers)}; {_clipped(numbers)} the potentials go from {least:.2f} to "
            f"{after:.2f}. {_NOTE}",
        ),
    )


def _about_types(numbers: Numbers) -> Claim:
    of, clipped = (
        {row["method"]: row for row in numbers[key]} for key in ("affinities", "clipped")
    )
    lost = [m for m in _BOTH if of[m]["nmi"] < 0.5]
    return Claim(
        "both QOT and EOT are able to uncover structure corresponding to celltypes",
        "uncovered",
        f"NMI of spectral clusters with type: {_all(of, 'nmi')}; {_clipped(numbers)} "
        f"{_all(clipped, 'nmi')}",
        "NMI of QOT and of EOT at least 0.5",
        not lost,
        unless(
            not lost,
            ", ".join(f"{m} {of[m]['nmi']:.2f}" for m in lost)
            + f"; {_clipped(numbers)} "
            + ", ".join(f"{m} {clipped[m]['nmi']:.2f}" for m in lost)
            + f": {_tails(numbers)}",
        ),
    )


def _about_reads(numbers: Numbers, apparent: bool) -> Claim:
    of, clipped = (
        {row["method"]: row for row in numbers[key]} for key in ("affinities", "clipped")
    )
    bistochastic = min(of[m]["mixing"] for m in _BOTH)
    others = max(of[m]["mixing"] for m in ("k-NN", "Gaussian"))
    return _of_an_effect(
        "k-NN and the Gaussian kernel exhibit structure that is largely corresponds to "
        "variation in read number in the simulated batches",
        "largely batches",
        f"mixing of batches (1 by chance): {_all(of, 'mixing')}; {_clipped(numbers)} "
        f"{_all(clipped, 'mixing')}",
        "batches less mixed in k-NN and Gaussian than in QOT and EOT",
        others < bistochastic,
        f"the more mixed of the two has {others:.2f}, the less mixed of QOT and EOT "
        f"{bistochastic:.2f}",
        apparent,
    )


def _about_overlap(laid: dict[str, Any], apparent: bool) -> Claim:
    qot, default = laid["QOT"]["mixing"], laid["default"]["mixing"]
    return _of_an_effect(
        "t-SNE with QOT affinities is robust to batch effects (evidenced by the overlap between "
        "the two batches)",
        "overlap",
        f"mixing in the layout: {_all(laid, 'mixing')}",
        "mixing at least 0.8 by QOT, and larger than by the default",
        qot >= 0.8 and qot > default,
        f"QOT {qot:.2f}, the default {default:.2f}",
        apparent,
    )


def _about_default(laid: dict[str, Any], apparent: bool) -> Claim:
    behind = laid["QOT"]["mixing"] - laid["default"]["mixing"]
    return _of_an_effect(
        "Variation due to the presence of batches is clearly present in the case of default t-SNE",
        "present",
        f"mixing in the layout: {_all(laid, 'mixing')}",
        f"the default mixes batches less than QOT, by {_CLEARLY}",
        behind >= _CLEARLY,
        f"the mixing of the default is {behind:.3f} below that of QOT",
        apparent,
    )


def _of_an_effect(
    sentence: str,
    paper: str,
    ours: str,
    criterion: str,
    holds: bool,
    reason: str,
    apparent: bool,
) -> Claim:
    """A claim about what a batch effect does: not tested, either way, where there is none."""
    if not apparent:
        nothing = "components do not tell the batches apart: there is no batch effect to speak of"
        return Claim(sentence, paper, ours, criterion, None, nothing)
    return Claim(sentence, paper, ours, criterion, holds, unless(holds, f"{reason}. {_NOTE}"))


def _about_artifacts(laid: dict[str, Any]) -> Claim:
    behind = {m: laid["QOT"]["purity"] - laid[m]["purity"] for m in ("EOT", "k-NN")}
    least = min(behind, key=lambda m: behind[m])
    clearly = behind[least] >= _CLEARLY
    return Claim(
        "using EOT and k-NN affinities produces embeddings with artifacts",
        "artifacts",
        f"share of neighbors in the layout that are of the same type: {_all(laid, 'purity')}",
        f"EOT and k-NN below QOT, by {_CLEARLY}",
        clearly,
        unless(clearly, f"{least} differs from QOT by {behind[least]:.2f}. {_NOTE}"),
    )


def _by_components(told: dict[str, Any], where: str = "") -> float:
    return float(max(told[f"PC 1{where}"], told[f"PC 2{where}"]))


def _tails(numbers: Numbers) -> str:
    tails = numbers["tails"]
    return (
        f"{tails['share']:.0%} of the sum of squares comes from entries beyond "
        f"{tails['threshold']:.0f} deviations (up to {tails['largest']:.0f}), of genes that few "
        "cells have"
    )


def _clipped(numbers: Numbers) -> str:
    return f"clipped at {numbers['clip']:g}"


def _all(rows: dict[str, Any], key: str) -> str:
    return ", ".join(f"{method} {row[key]:.2f}" for method, row in rows.items())
