"""The look of the paper's figures: one color and one marker a method, panels with letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sparrot._extras import load_extra
from sparrot.plot._style import PALETTE

# Told apart with every kind of color vision; markers tell what is left.
BLUE, ORANGE, GREEN, RED, SKY, PINK, GRAY = PALETTE[:7]
BLACK = "#000000"
METHODS: dict[str, dict[str, Any]] = {
    "QOT": {"color": BLUE, "marker": "o"},
    "EOT": {"color": RED, "marker": "s"},
    "QOT, fat": {"color": BLUE, "marker": "o", "linestyle": "--", "mfc": "white"},
    "EOT, fat": {"color": RED, "marker": "s", "linestyle": "--", "mfc": "white"},
    "Gaussian L2": {"color": GREEN, "marker": "^"},
    "k-NN": {"color": ORANGE, "marker": "D"},
    "MAGIC": {"color": PINK, "marker": "v"},
    "Gaussian": {"color": SKY, "marker": "P"},
    "Epanechnikov": {"color": GRAY, "marker": "X"},
    "reference": {"color": BLACK, "marker": "."},
}
# A closed curve has closed colors.
CYCLE = {"cmap": "twilight_shifted", "vmin": 0.0, "vmax": 2 * np.pi}
_STYLE = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.markersize": 5,
    "pdf.fonttype": 42,
}


@contextmanager
def paper_style() -> Iterator[Any]:
    """Matplotlib's pyplot, with our style inside the block."""
    plt = load_extra("matplotlib.pyplot", "plot")
    with plt.rc_context(_STYLE):
        yield plt


def panel(axes: Any, letter: str, title: str) -> None:
    """A bold letter and a title, above the axes on the left."""
    axes.set_title(rf"$\bf{{{letter}}}$  {title}")


def curve_with_band(
    axes: Any, rows: Sequence[dict[str, Any]], over: str, style: dict[str, Any], label: str
) -> None:
    """Means as a line and ranges as a band, from records of `experiments.bands`."""
    x, mean, low, high = ([row[key] for row in rows] for key in (over, "mean", "low", "high"))
    axes.plot(x, mean, label=label, **style)
    axes.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)


def best_line(
    axes: Any,
    value: float,
    color: str,
    label: str,
    note: str,
    lift: float = 2,
    at_the_end: bool = False,
) -> None:
    """A level line for a method that has no curve here, with its parameter on it."""
    axes.axhline(value, color=color, linestyle="-.", label=label)
    axes.annotate(
        note,
        (float(at_the_end), value),
        (-3 if at_the_end else 3, lift),
        ha="right" if at_the_end else "left",
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=8,
        color=color,
    )
