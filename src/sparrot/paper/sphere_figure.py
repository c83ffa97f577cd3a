"""Figure: mean potential against eps on the d-sphere."""

from __future__ import annotations

from typing import Any

from sparrot.paper._look import BLACK, BLUE, SKY, panel, paper_style


def draw(numbers: dict[str, Any]) -> dict[str, Any]:
    """One panel a dimension: every solve, those that are fitted, and the theory."""
    found = numbers["mean_exponents"]
    with paper_style() as plt:
        figure, panels = plt.subplots(
            1, len(found), figsize=(4.3 * len(found), 3.8), layout="constrained"
        )
        for letter, of, axes in zip("abcdef", found, panels, strict=False):
            d = of["d"]
            rows = [row for row in numbers["potentials"] if row["d"] == d and row["u"] > 0]
            _marks(axes, rows)
            panel(axes, letter, f"d = {d}: exponent {of['mean']:.3f}, theory {of['theory']:.3f}")
            axes.set(xscale="log", yscale="log", xlabel=r"$\varepsilon$")
        panels[0].set_ylabel(r"mean potential $\overline{u}$")
        panels[0].legend(loc="upper left")
    return {"": figure}


def _marks(axes: Any, rows: list[dict[str, Any]]) -> None:
    for fitted, label, style in (
        (False, "solved", {"color": SKY, "s": 10}),
        (True, "fitted", {"color": BLUE, "s": 22}),
    ):
        chosen = [row for row in rows if row["fitted"] is fitted]
        axes.scatter(
            [row["eps"] for row in chosen], [row["u"] for row in chosen], label=label, **style
        )
    theory = sorted({(row["eps"], row["theory"]) for row in rows})
    axes.plot(*zip(*theory, strict=True), color=BLACK, linestyle=":", label="first order")
