"""Records of numbers, and what is often made of them: bands over seeds, curves, ranges.

A record is a flat dictionary, such as the score of one method for one parameter and one seed; a
list of records is a table, which `sparrot reproduce` also writes as CSV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparrot._types import FloatArray

Rows = list[dict[str, Any]]
Curves = dict[str, FloatArray]  # method -> (seeds, parameters)


def bands(rows: Rows, by: Sequence[str], *values: str) -> Rows:
    """Mean, least and most of each value, over all records that agree in `by`.

    Records come in the order of their first member; `of` names the value.

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


def curves_of(rows: Rows, key: str) -> Curves:
    """One value of all records as an array for each method, one row per seed.

    Examples
    --------
    >>> rows = [{"method": "QOT", "seed": seed, "nmi": nmi} for seed in (0, 1) for nmi in (0.5, 1)]
    >>> curves_of(rows, "nmi")["QOT"].tolist()
    [[0.5, 1.0], [0.5, 1.0]]
    """
    n_seeds = len({row["seed"] for row in rows})
    return {
        method: np.array([r[key] for r in rows if r["method"] == method]).reshape(n_seeds, -1)
        for method in dict.fromkeys(row["method"] for row in rows)
    }


def parameters_of(rows: Rows, method: str) -> list[float]:
    """The parameters of a method, in the order of its curves."""
    seed = rows[0]["seed"]
    return [r["parameter"] for r in rows if r["method"] == method and r["seed"] == seed]


def good_decades(
    curves: Curves, method: str, parameters: Sequence[float], threshold: float
) -> float:
    """The longest stretch of the parameter, in decades, where the mean is below a threshold.

    Examples
    --------
    >>> curves = {"QOT": np.array([[0.9, 0.1, 0.1, 0.9, 0.1]])}
    >>> good_decades(curves, "QOT", [100.0, 10.0, 1.0, 0.1, 0.01], 0.5)
    1.0
    """
    good = curves[method].mean(axis=0) < threshold
    logs = np.log10(parameters)
    longest, start = 0.0, None
    for k, below in enumerate(good):
        start = (k if start is None else start) if below else None
        if start is not None:
            longest = max(longest, abs(float(logs[k] - logs[start])))
    return longest


def listed(values: Sequence[Any], form: str = "") -> str:
    """Values with commas between them.

    Examples
    --------
    >>> listed([10, 50]), listed([0.25, 1.0], ".2f")
    ('10, 50', '0.25, 1.00')
    """
    return ", ".join(f"{value:{form}}" for value in values)


def by_method(values: Mapping[str, float], form: str = ".2f") -> str:
    """A value for each method, in words.

    Examples
    --------
    >>> by_method({"QOT": 0.5, "EOT": 0.25})
    'QOT 0.50, EOT 0.25'
    """
    return ", ".join(f"{method} {value:{form}}" for method, value in values.items())


def rounded(values: Any, digits: int) -> Any:
    """An array as lists, with as many digits as a picture needs."""
    return np.round(np.asarray(values, dtype=np.float64), digits).tolist()
