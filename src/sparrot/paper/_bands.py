"""Mean and range over seeds, for curves with a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Rows = list[dict[str, Any]]


def bands(rows: Rows, by: Sequence[str], *values: str) -> Rows:
    """Mean, least and most of each value, over all records that agree in `by`.

    Records come in the order of their first member; `of` says which value one is about.

    Examples
    --------
    >>> rows = [{"n": 1, "seed": 0, "angle": 1.0}, {"n": 1, "seed": 1, "angle": 3.0}]
    >>> bands(rows, ("n",), "angle")
    [{'n': 1, 'of': 'angle', 'mean': 2.0, 'low': 1.0, 'high': 3.0}]
    """
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        dict(zip(by, key, strict=True)) | {"of": value} | _band([row[value] for row in group])
        for value in values
        for key, group in groups.items()
    ]


def _band(found: Sequence[float]) -> dict[str, float]:
    return {"mean": float(np.mean(found)), "low": float(min(found)), "high": float(max(found))}
