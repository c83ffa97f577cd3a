"""Figure: the discrete operator at a point of the torus, for four laws of eps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot.plot.paper.look import BLACK, BLUE, SKY, panel, paper_style


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
    values = [row["value"] for row in samples]
    axes.scatter([row["n"] for row in samples], values, color=SKY, s=9, alpha=0.6)
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
    low, high = np.percentile(values, [3, 97])  # a few samples may be beyond the axes
    margin = 0.1 * (high - low)
    axes.set_ylim(min(low - margin, -0.5), max(high + margin, 2.0))
    most = max(row["count"] for row in means)
    for row in (row for row in means if row["count"] < most):
        axes.annotate(
            f"{row['count']}\nsamples",
            (row["n"], row["mean"] + 2 * row["error"]),
            (0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=7,
        )
