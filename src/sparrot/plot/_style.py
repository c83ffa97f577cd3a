"""The style that all figures and the report share: colors, Axes and sizes.

Safe for color-blind readers: categories have the colors of Okabe and Ito, then darker and lighter
shades of the same hues; numbers have cividis, and signed numbers run from purple to orange.
"""

from __future__ import annotations

from typing import Any

from sparrot.errors import load_extra

PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
    "#4d4d4d",
    "#f0e442",
)
ACCENT = PALETTE[3]
MISSING = "#b9bfc5"
SEQUENTIAL = "cividis"
CIVIDIS = (  # nine evenly spaced stops, for the report, which has no matplotlib
    "#00224e",
    "#1a386f",
    "#434e6c",
    "#61656f",
    "#7d7c78",
    "#9b9476",
    "#bcae6c",
    "#dec958",
    "#fee838",
)
DIVERGING = "PuOr_r"
RASTERIZED_FROM = 5_000  # marks; with more a vector file would be slow to open
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "legend.frameon": False,
}
_SHADES = ((0.0, 0.0), (0.0, 0.45), (1.0, 0.5))  # gray level to mix in, and its share


def colors(n: int) -> tuple[str, ...]:
    """Colors for n categories: the palette first, then its shades; they repeat after 24.

    Examples
    --------
    >>> colors(3)
    ('#0072b2', '#e69f00', '#009e73')
    >>> colors(9)[-1]   # a darker blue
    '#003f62'
    """
    shades = [_mixed(hue, gray, share) for gray, share in _SHADES for hue in PALETTE]
    return tuple(shades[k % len(shades)] for k in range(n))


def new_axes(ax: Any = None, n: int = 1, size: tuple[float, float] = (4.8, 3.8)) -> Any:
    """The Axes that were given; or new ones, one or an array of n in a row."""
    if ax is not None:
        return ax
    plt = load_extra("matplotlib.pyplot", "plot")
    with plt.rc_context(_STYLE):
        _, axes = plt.subplots(1, n, figsize=(n * size[0], size[1]), layout="compressed")
    return axes


def width_of(names: Any) -> float:
    """The width of a column of names, in inches."""
    return min(3.0, 0.4 + 0.085 * max((len(str(name)) for name in names), default=0))


def mark_size(n: int) -> float:
    """The area of one mark among n, in square points."""
    return float(min(20.0, max(0.5, 12_000 / n)))


def _mixed(color: str, gray: float, share: float) -> str:
    channels = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round((1 - share) * c + share * 255 * gray):02x}" for c in channels)
