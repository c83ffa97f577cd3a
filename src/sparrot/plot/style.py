"""The look that all figures and the report share; safe for colour-blind readers.

Categories have the colours of Okabe and Ito, then darker and lighter ones of the same hues; numbers
have cividis, and signed numbers purple to orange.
"""

from __future__ import annotations

from typing import Any

from sparrot.extras import load_extra

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
CIVIDIS = (  # at nine even places, for pages that have no matplotlib
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
RASTERISED_FROM = 5_000  # marks; above that a vector file would be slow to open
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "legend.frameon": False,
}
_SHADES = ((0.0, 0.0), (0.0, 0.45), (1.0, 0.5))  # grey to mix in, and how much of it


def colours(n: int) -> tuple[str, ...]:
    """Colours for n categories; the first eight are the palette, after 24 they come again.

    Examples
    --------
    >>> colours(3)
    ('#0072b2', '#e69f00', '#009e73')
    >>> colours(9)[-1]   # a darker blue
    '#003f62'
    """
    shades = [_mixed(hue, grey, part) for grey, part in _SHADES for hue in PALETTE]
    return tuple(shades[k % len(shades)] for k in range(n))


def new_axes(ax: Any = None, n: int = 1, size: tuple[float, float] = (4.8, 3.8)) -> Any:
    """The Axes that were given, or new ones: one, or an array of n in a row."""
    if ax is not None:
        return ax
    plt = load_extra("matplotlib.pyplot", "plot")
    with plt.rc_context(_STYLE):
        _, axes = plt.subplots(1, n, figsize=(n * size[0], size[1]), layout="constrained")
    return axes


def room_for(names: Any) -> float:
    """Inches that a column of names takes."""
    return min(3.0, 0.4 + 0.085 * max((len(str(name)) for name in names), default=0))


def mark_size(n: int) -> float:
    """The area of one mark among n, in square points."""
    return float(min(20.0, max(0.5, 12_000 / n)))


def _mixed(colour: str, grey: float, part: float) -> str:
    channels = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round((1 - part) * c + part * 255 * grey):02x}" for c in channels)
