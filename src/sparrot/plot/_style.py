"""The look that all figures and the report share; safe for color-blind readers.

Categories have the colors of Okabe and Ito, then darker and lighter ones of the same hues; numbers
have cividis, and signed numbers purple to orange.

Labels as categories: the order of legends, and which entries are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from sparrot._extras import load_extra
from sparrot._types import IntArray

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
_SHADES = ((0.0, 0.0), (0.0, 0.45), (1.0, 0.5))  # gray to mix in, and how much of it


def colors(n: int) -> tuple[str, ...]:
    """Colors for n categories; the first eight are the palette, after 24 they come again.

    Examples
    --------
    >>> colors(3)
    ('#0072b2', '#e69f00', '#009e73')
    >>> colors(9)[-1]   # a darker blue
    '#003f62'
    """
    shades = [_mixed(hue, gray, part) for gray, part in _SHADES for hue in PALETTE]
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


def _mixed(color: str, gray: float, part: float) -> str:
    channels = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round((1 - part) * c + part * 255 * gray):02x}" for c in channels)


def as_categories(labels: Any) -> tuple[list[str], IntArray]:
    """The different labels as text, and the number of its label for each entry, -1 if missing.

    A categorical column of pandas keeps the order of its categories, without those that do not
    occur; other labels are in the order of `in_order`.

    Examples
    --------
    >>> names, codes = as_categories(["B 10", "B 9", None, "B 9"])
    >>> names, codes.tolist()
    (['B 9', 'B 10'], [1, 0, -1, 0])
    """
    known = known_categories(labels)
    if known is not None:
        return _that_occur([str(name) for name in known.categories], np.asarray(known.codes))
    entries = np.asarray(labels, dtype=object)
    missing = are_missing(entries)
    names = in_order(entries[~missing])
    place = {name: code for code, name in enumerate(names)}
    codes = np.full(len(entries), -1, dtype=np.int64)
    codes[~missing] = [place[str(entry)] for entry in entries[~missing]]
    return names, codes


def known_categories(labels: Any) -> Any:
    """What holds `categories` and `codes` of a categorical column, or None for other labels."""
    known = getattr(labels, "cat", labels)
    return known if hasattr(known, "categories") and hasattr(known, "codes") else None


def are_missing(entries: Any) -> Any:
    """Which entries are None, not a number, or the NA of pandas.

    Examples
    --------
    >>> are_missing(["a", None, float("nan")]).tolist()
    [False, True, True]
    """
    return np.array([entry is None or _is_no_value(entry) for entry in entries], dtype=bool)


def in_order(labels: Iterable[Any]) -> list[str]:
    """The different labels as text, numbers in them by size.

    Examples
    --------
    >>> in_order(["B 10", "A", "B 9", "A"])
    ['A', 'B 9', 'B 10']
    """

    def key(text: str) -> list[Any]:
        parts = re.split("([0-9]+)", text)  # text and digits in turn
        return [int(part) if k % 2 else part for k, part in enumerate(parts)]

    return sorted({str(label) for label in labels}, key=key)


def _is_no_value(entry: Any) -> bool:
    try:
        return bool(entry != entry)
    except TypeError:  # whether NA equals anything is NA again
        return True


def _that_occur(names: list[str], codes: IntArray) -> tuple[list[str], IntArray]:
    used = np.unique(codes[codes >= 0])
    place = np.full(len(names) + 1, -1, dtype=np.int64)  # the last is for the code -1
    place[used] = np.arange(len(used))
    return [names[k] for k in used], place[codes]
