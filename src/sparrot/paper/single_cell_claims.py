"""What the paper says of single cells, held against our numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.paper import _clusters as judge
from sparrot.paper._frame import Claim, Numbers, unless

_MARGIN = 0.1  # of correlation, below which two methods are not told apart
_NOTE = "another set than the paper's: "
_NOTES = {
    "dentate": "",
    "arabidopsis": _NOTE + "cell types of a root, each a lineage, by pseudotime",
    "pbmc": _NOTE + "purified types, which are clusters and no continuum",
}


def claims(numbers: Numbers) -> list[Claim]:
    """One block of claims a set, and one that is not tested where a set is missing."""
    found = [claim for name in numbers["sets"] for claim in _about(name, numbers["correlations"])]
    return found + [
        Claim(
            _DISTANT,
            "agreement",
            f"not run: no data ({row['set']})",
            "as for the other sets",
            None,
            row["reason"],
        )
        for row in numbers["missing"]
    ]


_DISTANT = (
    "the QOT kernel produces an embedding in which the ends of branches of developmental lineages "
    "are distant fro the origin cell"
)


def _about(name: str, rows: list[dict[str, Any]]) -> list[Claim]:
    chosen = [row for row in rows if row["set"] == name]
    n_samples = len({row["seed"] for row in chosen})
    r = {m: _by_lineage([row for row in chosen if row["method"] == m]) for m in judge.METHODS}
    means = {m: float(np.mean(list(values.values()))) for m, values in r.items()}
    least = {m: min(values.values()) for m, values in r.items()}
    below = sorted((value, lineage) for lineage, value in r["QOT"].items() if value <= 0.2)
    behind = {m: min(least["QOT"] - least[m], means["QOT"] - means[m]) for m in ("EOT", "k-NN")}
    missed = min(behind.values()) >= _MARGIN
    close = [m for m, value in behind.items() if value < _MARGIN]
    of = f"{name}, {n_samples} sample{'s' * (n_samples > 1)}"
    return [
        Claim(
            _DISTANT,
            "agreement",
            f"{of}: mean correlation {least['QOT']:.2f} to {max(r['QOT'].values()):.2f} over "
            f"{len(r['QOT'])} lineages, {means['QOT']:.2f} in all",
            "correlation of squared distance with pseudotime or end probability above 0.2 in "
            "every lineage, by means over samples",
            not below,
            _with_note(
                name,
                unless(
                    not below,
                    "not above 0.2 in "
                    + ", ".join(f"{lineage} ({value:.2f})" for value, lineage in below),
                ),
            ),
        ),
        Claim(
            "the EOT and k-NN kernel constructions miss certain lineages",
            "missed",
            f"{of}: least correlation "
            + ", ".join(f"{m} {value:.2f}" for m, value in least.items())
            + "; mean "
            + ", ".join(f"{m} {value:.2f}" for m, value in means.items()),
            f"least and mean correlation over lineages lower by {_MARGIN} for EOT and for k-NN "
            "than for QOT, by means over samples",
            missed,
            _with_note(
                name,
                unless(
                    missed,
                    "; ".join(
                        f"{m} is lower than QOT by {least['QOT'] - least[m]:.2f} at the least and "
                        f"by {means['QOT'] - means[m]:.2f} in the mean"
                        for m in close
                    ),
                ),
            ),
        ),
    ]


def _by_lineage(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The mean over samples for each lineage; a small sample can lack a rare one."""
    return {
        lineage: float(np.mean([r["correlation"] for r in rows if r["lineage"] == lineage]))
        for lineage in sorted({row["lineage"] for row in rows})
    }


def _with_note(name: str, reason: str) -> str:
    return "; ".join(part for part in (reason, _NOTES[name]) if part)
