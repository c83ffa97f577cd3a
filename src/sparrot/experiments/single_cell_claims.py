"""What the paper says of single cells, held against our numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.experiments import clusters as judge
from sparrot.experiments.frame import Claim, Numbers

_NOTES = {
    "arabidopsis": "another set than the paper's: cell types of a root, by pseudotime",
    "pbmc": "another set than the paper's: purified types are clusters apart, not a continuum, so "
    "that the distance to a progenitor says little",
}


def claims(numbers: Numbers) -> list[Claim]:
    """One block of claims a set, and one that is not tested where a set is missing."""
    found = [claim for name in numbers["sets"] for claim in _about(name, numbers["correlations"])]
    return found + [
        Claim(
            "the QOT kernel produces an embedding in which the ends of branches of developmental "
            "lineages are distant from the origin cell",
            "agreement",
            f"not run: no data ({row['set']})",
            "as for the other sets",
            None,
            row["reason"],
        )
        for row in numbers["missing"]
    ]


def _about(name: str, rows: list[dict[str, Any]]) -> list[Claim]:
    r = {
        m: {
            row["lineage"]: row["correlation"]
            for row in rows
            if row["set"] == name and row["method"] == m
        }
        for m in judge.METHODS
    }
    means = {m: float(np.mean(list(values.values()))) for m, values in r.items()}
    least = {m: min(values.values()) for m, values in r.items()}
    return [
        Claim(
            "the QOT kernel produces an embedding in which the ends of branches of developmental "
            "lineages are distant from the origin cell",
            "agreement",
            f"{name}: correlation {min(r['QOT'].values()):.2f} to {max(r['QOT'].values()):.2f} "
            f"over {len(r['QOT'])} lineages, mean {means['QOT']:.2f}",
            "correlation of squared distance with pseudotime or end probability above 0.2 in "
            "every lineage",
            least["QOT"] > 0.2,
            _NOTES.get(name, ""),
        ),
        Claim(
            "the EOT and k-NN kernel constructions miss certain lineages",
            "missed",
            f"{name}: least correlation "
            + ", ".join(f"{m} {value:.2f}" for m, value in least.items())
            + "; mean "
            + ", ".join(f"{m} {value:.2f}" for m, value in means.items()),
            "least and mean correlation over lineages lower for EOT and for k-NN than for QOT",
            all(least[m] < least["QOT"] and means[m] < means["QOT"] for m in ("EOT", "k-NN")),
            _NOTES.get(name, ""),
        ),
    ]
