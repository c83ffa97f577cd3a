"""An affinity as a heat map."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from sparrot._types import FloatArray
from sparrot._validation import as_affinity
from sparrot.errors import InvalidInputError, load_extra
from sparrot.plot._categories import as_categories
from sparrot.plot._style import SEQUENTIAL, new_axes, width_of
from sparrot.spectral import coarse_grained

_PIXELS = 300  # a side: with more than a figure shows, thin rows would vanish
_LINE_HEIGHT = 0.045  # of text, relative to the heat map


def affinity(W: Any, labels: Any = None, *, ax: Any = None) -> Any:
    """Heat map of an affinity, rows and columns ordered by label.

    Where there are more points than pixels, a pixel shows the mean of its entries; no n x n array
    is made. Colors follow the square root of the entry, and zeros are white.

    Parameters
    ----------
    W : an `Affinity`, or a matrix, sparse or dense.
    labels : n categories, each a block between lines; blocks are in the order of their names (of
        the categories, if it is a categorical column of pandas), points without a label last.
        Points keep their order inside a block, and everywhere if there are no labels.
    ax : where to draw; new Axes if not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> ax = sparrot.plot.affinity(sparrot.qot(X), np.tile(["a", "b", "c"], 20))
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c']
    """
    W = coo_array(as_affinity(W))
    n = W.shape[0]
    names, blocks = _blocks(labels, n)
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(blocks, kind="stable")] = np.arange(n)
    ax = new_axes(ax, size=(5.0 + width_of(names), 4.4))
    image = coarse_grained(W, place, _PIXELS)
    drawn = ax.imshow(
        np.ma.masked_equal(image, 0),
        extent=(0, n, n, 0),
        norm=load_extra("matplotlib.colors", "plot").PowerNorm(0.5, vmin=0),
        cmap=f"{SEQUENTIAL}_r",
        interpolation="nearest",
    )
    ax.figure.colorbar(drawn, ax=ax, shrink=0.8, label="affinity")
    if labels is None:
        ax.set(xlabel="point", ylabel="point")
    else:
        _mark_blocks(ax, names, np.bincount(blocks))
    return ax


def _blocks(labels: Any, n: int) -> tuple[Any, Any]:
    if labels is None:
        return (), np.zeros(n, dtype=np.int64)
    if np.shape(labels) != (n,):
        raise InvalidInputError(
            f"must be {n} categories, one for each point, got shape {np.shape(labels)}",
            parameter="labels",
            value=labels,
        )
    names, codes = as_categories(labels)
    if (codes >= 0).all():
        return names, codes
    return [*names, "missing"], np.where(codes < 0, len(names), codes)


def _mark_blocks(ax: Any, names: Any, sizes: Any) -> None:
    ends = np.cumsum(sizes)
    for end in ends[:-1]:
        ax.axhline(end, color="0.6", linewidth=0.5)
        ax.axvline(end, color="0.6", linewidth=0.5)
    n = ends[-1]
    middles = ends - sizes / 2
    for name, middle, height in zip(names, middles, _apart(middles, n), strict=True):
        ax.annotate(
            name.replace("$", r"\$"),
            (0, middle),
            xytext=(-0.06 * n, height),
            ha="right",
            va="center",
            fontsize="small",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.5},
        )
    ax.set(xticks=[], yticks=[])


def _apart(middles: FloatArray, n: int) -> FloatArray:
    """Heights of names: close to their blocks, and a line of text apart if there is room."""
    line = min(_LINE_HEIGHT, 1 / len(middles)) * n
    heights = middles.copy()
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + line)
    heights[-1] = min(heights[-1], n - line / 2)
    for k in range(len(heights) - 1, 0, -1):
        heights[k - 1] = min(heights[k - 1], heights[k] - line)
    return heights
