"""What the paper says about the spiral, held against the numbers.

*Good* is an angle below the best of all methods that are not bistochastic, each at its best
parameter: what a user gains by changing the method. Every claim on angles is measured twice, to the
paper's ten vectors, which give the verdict, and to whole pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparrot.paper import _angles as judge
from sparrot.paper._frame import Claim, Numbers, unless

_MUCH = 1.5  # times as large: "significantly", "much"


class Measured(NamedTuple):
    """What one judge finds: in words, whether it meets the criterion, and why it does not."""

    ours: str
    holds: bool
    why: str


def by_both(sentence: str, paper: str, criterion: str, measure: Callable[[str], Measured]) -> Claim:
    """A claim by the paper's judge, with what the other one finds."""
    ten, whole = (measure(key) for key in judge.JUDGES)
    also = "it holds" if whole.holds else f"it does not hold either ({whole.why})"
    reason = unless(ten.holds, f"{ten.why}; to whole pairs {also}")
    if ten.holds and not whole.holds:
        reason = f"not to whole pairs: {whole.why}"
    ours = f"{ten.ours}; to whole pairs: {whole.ours}"
    return Claim(sentence, paper, ours, criterion, ten.holds, reason)


def claims(numbers: Numbers) -> list[Claim]:
    """All claims, in the order of the text."""
    return [
        *about_angles(numbers["angles"]),
        by_both(
            "using the QOT-derived heat kernel yields a much lower error compared to the other "
            "methods",
            "much lower",
            f"mean divergence along the path of EOT and k-NN at least {_MUCH} times that of QOT, "
            "each at its best parameter",
            partial(_interpolation, numbers),
        ),
        by_both(
            "k-NN performance progressively degrades as the number of principal components is "
            "increased",
            "degrades",
            "angle larger at the last d than at the first, and never falling by more than 0.02",
            partial(_degrades, numbers["pca"]),
        ),
        by_both(
            "for a single fixed value of eps the QOT projection achieves excellent performance "
            "across the full range of dimensionality reduction",
            "excellent",
            "angle below that of k-NN at every d, and never above 0.25",
            partial(_excellent, numbers["pca"]),
        ),
    ]


def about_angles(rows: list[dict[str, Any]]) -> list[Claim]:
    """The claims of the panels with angles and embeddings."""
    curves = {key: Curves(rows, key) for key in judge.JUDGES}
    return [
        by_both(sentence, paper, criterion, partial(_measured, measure, curves))
        for sentence, paper, criterion, measure in _SENTENCES
    ]


def _measured(
    measure: Callable[[Curves], Measured], curves: dict[str, Curves], key: str
) -> Measured:
    return measure(curves[key])


class Curves:
    """Mean angles over eps, and the best of each method, by one judge."""

    def __init__(self, rows: list[dict[str, Any]], key: str) -> None:
        """Read the records of all methods."""
        self.of = judge.curves_of(rows, key)
        seed = rows[0]["seed"]
        chosen = [r for r in rows if r["method"] == "QOT" and r["seed"] == seed]
        self.eps = np.array([row["parameter"] for row in chosen])
        self.best = {method: judge.best(self.of, method) for method in self.of}
        self.others = min(self.best[method] for method in judge.OTHERS)

    def mean(self, method: str) -> Any:
        """The mean over seeds, for each eps."""
        return self.of[method].mean(axis=0)

    def good(self, method: str) -> float:
        """Decades over which a method is good."""
        return judge.good_decades(self.of, method, list(self.eps), self.others)


def _kernels(c: Curves) -> Measured:
    a, b, qot = c.best["Gaussian"], c.best["Epanechnikov"], c.best["QOT"]
    why = f"the better kernel has {min(a, b) / qot:.1f} times the angle of QOT"
    return Measured(f"best angle {a:.2f} and {b:.2f}, QOT {qot:.2f}", min(a, b) > 2 * qot, why)


def _graphs(c: Curves) -> Measured:
    worst = max(c.best["k-NN"], c.best["MAGIC"])
    kernels = min(c.best["Gaussian"], c.best["Epanechnikov"])
    said = f"best angle k-NN {c.best['k-NN']:.2f}, MAGIC {c.best['MAGIC']:.2f}"
    return Measured(said, worst < kernels, f"{worst:.2f}, the better kernel {kernels:.2f}")


def _magic(c: Curves) -> Measured:
    magic, plain = c.best["MAGIC"], c.best["k-NN"]
    at_k = c.of["MAGIC"].mean(axis=0)[0], c.of["k-NN"].mean(axis=0)[0]
    return Measured(
        f"best angle MAGIC {magic:.3f}, k-NN {plain:.3f}",
        magic <= 0.95 * plain,
        f"MAGIC is {1 - magic / plain:.1%} lower at its best; at the smallest k the angles are "
        f"{at_k[0]:.2f} and {at_k[1]:.2f}",
    )


def _outperform(c: Curves) -> Measured:
    worse = max(c.best["QOT"], c.best["EOT"])
    return Measured(
        f"best angle QOT {c.best['QOT']:.2f}, EOT {c.best['EOT']:.2f}, best that is not "
        f"bistochastic {c.others:.2f}; fat QOT {c.best['QOT, fat']:.2f}, Gaussian L2 "
        f"{c.best['Gaussian L2']:.2f}",
        c.others >= _MUCH * worse,
        f"the best other has {c.others / worse:.2f} times the angle of the worse of the two",
    )


def _closer(c: Curves) -> Measured:
    decades = float(np.ptp(np.log10(c.eps)))
    share = float((c.mean("QOT") < c.mean("EOT")).mean()) * decades
    said = f"closer than EOT over {share:.1f} of {decades:.0f} decades of eps"
    return Measured(said, share >= 2, f"only over {share:.1f} decades")


def _wide(c: Curves) -> Measured:
    wide = c.good("QOT")
    said = f"{wide:.1f} decades below {c.others:.2f}"
    return Measured(said, wide >= 2, f"only over {wide:.1f} decades")


def _narrow(c: Curves) -> Measured:
    narrow, wide = c.good("EOT"), c.good("QOT")
    said = f"{narrow:.1f} decades, QOT {wide:.1f}"
    return Measured(said, narrow <= wide / 2, f"EOT is good over {narrow:.1f} decades")


def _linear(c: Curves) -> Measured:
    excess_at = c.mean("Gaussian L2") - c.mean("QOT")
    excess = float(excess_at[(c.eps <= 0.1) & (c.eps >= 0.04)].min(initial=np.inf))
    below = excess_at[c.eps < 0.04]
    said = f"angle larger by {excess:.2f} or more"
    if (below < 0).any():
        said += f"; below 0.04, where neither is good, smaller by up to {-below.min():.2f}"
    return Measured(said, excess > 0, f"the least difference is {excess:.2f}")


def _coincide(c: Curves) -> Measured:
    apart = np.abs(c.mean("Gaussian L2") - c.mean("QOT"))[c.eps >= 10]
    worst = float(apart.max(initial=0.0))
    said = f"angles differ by {worst:.3f} at most"
    return Measured(said, worst <= 0.02, f"they differ by {worst:.3f}")


def _fat(c: Curves) -> Measured:
    ratio = {m: c.best[f"{m}, fat"] / c.best[m] for m in ("QOT", "EOT")}
    at = {m: float(c.eps[int(c.mean(m).argmin())]) for m in ("QOT", "QOT, fat")}
    least = min(ratio, key=lambda m: ratio[m])
    return Measured(
        f"best angle fat / hollow: QOT {ratio['QOT']:.2f}, EOT {ratio['EOT']:.2f}; good over "
        f"{c.good('QOT, fat'):.1f} decades (QOT {c.good('QOT'):.1f})",
        min(ratio.values()) >= _MUCH,
        f"the best angle of fat {least} is {ratio[least]:.2f} times that of the hollow one: fat "
        f"QOT is at its best at eps = {at['QOT, fat']:.2g} (hollow {at['QOT']:.2g}), where the "
        f"diagonal is one entry of many, and is good over {c.good('QOT, fat'):.1f} decades in the "
        f"place of {c.good('QOT'):.1f}",
    )


_SENTENCES: tuple[tuple[str, str, str, Callable[[Curves], Measured]], ...] = (
    (
        "there are no parameter settings for which these methods [Epanechnikov and Gaussian "
        "kernels] perform well",
        "poor",
        "best angle more than twice that of QOT",
        _kernels,
    ),
    (
        "Methods based on k-NN graph constructions do better",
        "better than kernels",
        "best angles of k-NN and MAGIC below those of both kernels",
        _graphs,
    ),
    (
        "MAGIC outperforming simple k-NN by some margin",
        "MAGIC < k-NN",
        "best angle of MAGIC at least 5 % below that of k-NN",
        _magic,
    ),
    (
        "bistochastic projections with respect to the Frobenius norm (QOT) and the relative "
        "entropy (EOT) significantly outperform all other affinity matrix constructions",
        "QOT, EOT best",
        f"best other at least {_MUCH} times the angle of either",
        _outperform,
    ),
    (
        "for a wide range of parameter values, the embedding obtained [by QOT] is closer in "
        "terms of the eigenspaces",
        "wide range",
        "smaller mean angle than EOT at the same eps over at least 2 decades",
        _closer,
    ),
    (
        "QOT yields good eigenspace agreement for a large range of eps values, spanning over "
        "two orders of magnitude",
        "> 2 decades",
        "angle below the best of the methods that are not bistochastic over 2 decades",
        _wide,
    ),
    (
        "EOT is much more sensitive to its parameter, yielding good results only within a "
        "narrow range of eps values",
        "narrow",
        "good over at most half as many decades as QOT",
        _narrow,
    ),
    (
        "projecting the Gaussian kernel results in worse performance than the linear kernel "
        "for eps small",
        "worse",
        "larger mean angle than QOT at every 0.04 <= eps <= 0.1",
        _linear,
    ),
    (
        "for eps large they begin to coincide",
        "coincide",
        "mean angles within 0.02 at every eps >= 10",
        _coincide,
    ),
    (
        'comparing to the "fattened" case ..., we find that the performance for both QOT and EOT '
        "projections is significantly worsened",
        "worse",
        f"best angle of each fat variant at least {_MUCH} times that of the hollow one",
        _fat,
    ),
)


def _interpolation(numbers: Numbers, key: str) -> Measured:
    rows = [row for row in numbers["divergence"] if row["judge"] == key]
    errors = {
        method: float(np.mean([row["divergence"] for row in rows if row["method"] == method]))
        for method in dict.fromkeys(row["method"] for row in rows)
    }
    column = {"angle": "parameter", "whole": "whole_parameter"}[key]
    eps = {row["method"]: row[column] for row in numbers["best"]}["QOT"]
    others = min(error for method, error in errors.items() if method != "QOT")
    return Measured(
        ", ".join(f"{method} {error:.2g}" for method, error in errors.items()),
        others >= _MUCH * errors["QOT"],
        f"the next has {others / errors['QOT']:.2f} times the error of QOT, whose best eps by this "
        f"judge is {eps:.2g}",
    )


def _by_dimension(rows: list[dict[str, Any]], key: str, method: str) -> dict[int, float]:
    return {
        d: float(np.mean([r[key] for r in rows if r["d"] == d and r["method"] == method]))
        for d in sorted({row["d"] for row in rows})
    }


def _degrades(rows: list[dict[str, Any]], key: str) -> Measured:
    found = _by_dimension(rows, key, "k-NN")
    (d, first), *_, (e, last) = found.items()
    fall = float(np.diff(list(found.values())).min())
    return Measured(
        f"angle {first:.2f} and {last:.2f} at d = {d} and {e}",
        last > first and fall >= -0.02,
        f"it changes by {last - first:.2f} in all, and by {fall:.2f} from one d to the next",
    )


def _excellent(rows: list[dict[str, Any]], key: str) -> Measured:
    qot, k_nn = (_by_dimension(rows, key, m) for m in ("QOT", "k-NN"))
    above = [d for d in qot if qot[d] >= k_nn[d]]
    why = f"the largest angle is {max(qot.values()):.2f}" + (
        f", and k-NN is as good at d = {', '.join(map(str, above))}" if above else ""
    )
    return Measured(
        f"angle {min(qot.values()):.2f} to {max(qot.values()):.2f} (k-NN "
        f"{min(k_nn.values()):.2f} to {max(k_nn.values()):.2f})",
        max(qot.values()) <= 0.25 and not above,
        why,
    )
