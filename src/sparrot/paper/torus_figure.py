"""Figure: the discrete operator at a point of the torus, for four laws of eps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._types import FloatArray
from sparrot.paper._look import BLACK, BLUE, SKY, panel, paper_style


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """One panel an exponent: every sample, mean and standard error, and the limit."""
    rows = numbers["operator"]
    alphas = sorted({row["alpha"] for row in rows}, reverse=True)
    sizes = sorted({row["n"] for row in rows})
    with paper_style() as plt:
        figure, panels = plt.subplots(2, 2, figsize=(9, 6.4), sharex=True, layout="constrained")
        for letter, alpha, axes in zip("abcd", alphas, panels.flat, strict=False):
            _panel(axes, numbers, alpha)
            panel(axes, letter, rf"$\varepsilon \propto N^{{{alpha:g}}}$")
            axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=35)
            axes.minorticks_off()
        for axes in panels[-1]:
            axes.set_xlabel("number of points N")
        for axes in panels[:, 0]:
            axes.set_ylabel(r"$6\,K^{-1} \sum_j W_{0j} (f_j - f_0)$")
        panels[0, 0].legend(loc="best")
    return {"": figure}


def _panel(axes: Any, numbers: dict[str, Any], alpha: float) -> None:
    samples, means = (
        [row for row in numbers[key] if row["alpha"] == alpha] for key in ("operator", "means")
    )
    sizes, values = np.array([(row["n"], row["value"]) for row in samples]).T
    low, high = _limits(values)
    for marker, chosen in (
        ("o", (values >= low) & (values <= high)),
        ("^", values > high),
        ("v", values < low),
    ):
        edge = 0.015 * (high - low)
        shown = values[chosen].clip(low + edge, high - edge)
        size = 9 if marker == "o" else 18
        axes.scatter(sizes[chosen], shown, color=SKY, s=size, alpha=0.6, marker=marker)
    axes.errorbar(
        [row["n"] for row in means],
        [row["mean"] for row in means],
        [2 * row["error"] for row in means],
        color=BLUE,
        marker="o",
        capsize=3,
        label="mean, ± 2 s.e.",
    )
    axes.axhline(numbers["limit"], color=BLACK, linestyle=":", label=r"limit $\Delta f(x_0)$")
    axes.set_ylim(low, high)
    most = max(row["count"] for row in means)
    for row in (row for row in means if row["count"] < most):
        axes.annotate(
            f"{row['count']}\nsamples",
            (row["n"], 0.02),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=7,
        )


def _limits(values: FloatArray) -> tuple[float, float]:
    """Of the axes: a few samples may be beyond, and are drawn as triangles at the edge."""
    low, high = np.percentile(values, [3, 97])
    margin = 0.1 * (high - low)
    return min(low - margin, -0.5), max(high + margin, 2.0)
