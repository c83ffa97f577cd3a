"""The style that all figures and the report share: colors, Axes and sizes.

Safe for color-blind readers: categories have the colors of Okabe and Ito, then darker and lighter
shades of the same hues, then whatever is least like the others to anyone; numbers have cividis, and
signed numbers run from purple to orange.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._types import FloatArray
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


_LEVELS = 18  # of each channel, among which further colors are sought
_LIGHTNESS = (0.25, 0.92)  # of these: neither black nor white
# Linear RGB as all eyes see it, without red cones, and without green ones (Vienot et al. 1999).
_EYES = np.array(
    [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
        [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    ]
)
_CONES = np.array(  # of linear RGB, and lightness and two hues of these: OKLab (Ottosson 2020)
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def colors(n: int) -> tuple[str, ...]:
    """Colors for n categories: the palette, its shades, and after 24 others.

    No two of 5,000 are the same.

    Examples
    --------
    >>> colors(3)
    ('#0072b2', '#e69f00', '#009e73')
    >>> colors(9)[-1]   # a darker blue
    '#003f62'
    >>> len(set(colors(100)))
    100
    """
    shades = tuple(_mixed(hue, gray, share) for gray, share in _SHADES for hue in PALETTE)
    return shades[:n] if n <= len(shades) else shades + _unlike(shades, n - len(shades))


def _unlike(known: tuple[str, ...], n: int) -> tuple[str, ...]:
    """Further colors: each is the one that is farthest from all before it (Glasbey et al. 2007).

    Colors are as far apart as they look in OKLab, or half as far as they look to the color-blind,
    for whom there are fewer. So the 40 first are no closer to each other than the first 24 are, in
    CIELAB, and 200 can be told apart side by side. White and the color of what is missing are to be
    told from them too.
    """
    levels = np.round(np.linspace(0, 255, _LEVELS))
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    lightness = _as_seen(grid)[0, :, 0]
    grid = grid[(lightness > _LIGHTNESS[0]) & (lightness < _LIGHTNESS[1])]
    looks = _as_seen(grid)
    others = _as_seen(np.array([_channels(color) for color in (*known, MISSING, "#ffffff")]))
    apart = np.min([_apart(looks, others[:, [k]]) for k in range(others.shape[1])], axis=0)
    found = []
    for _ in range(min(n, len(grid))):
        k = int(apart.argmax())
        found.append("#" + "".join(f"{int(c):02x}" for c in grid[k]))
        apart = np.minimum(apart, _apart(looks, looks[:, [k]]))
    return tuple(found[k % len(found)] for k in range(n))


def _as_seen(rgb: FloatArray) -> FloatArray:
    """The places of colors in OKLab, for each kind of eyes."""
    share = rgb / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ _EYES.transpose(0, 2, 1), 0, 1)
    places: FloatArray = np.cbrt(seen @ _CONES.T) @ _OKLAB.T
    return places


def _apart(looks: FloatArray, others: FloatArray) -> FloatArray:
    normal, *blind = np.linalg.norm(looks - others, axis=-1)
    return np.minimum(normal, 2 * np.minimum(*blind))


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
    mixed = (round((1 - share) * c + share * 255 * gray) for c in _channels(color))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def _channels(color: str) -> list[int]:
    return [int(color[k : k + 2], 16) for k in (1, 3, 5)]
