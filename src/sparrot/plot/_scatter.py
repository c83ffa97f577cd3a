"""Points on a layout, colored by a label, a number, a potential or eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparrot._types import FloatArray
from sparrot._validation import as_array, as_count, as_floats
from sparrot.errors import InvalidInputError, load_extra
from sparrot.plot._categories import as_categories
from sparrot.plot._style import (
    DIVERGING,
    MISSING,
    PALETTE,
    RASTERIZED_FROM,
    SEQUENTIAL,
    colors,
    mark_size,
    new_axes,
    width_of,
)
from sparrot.spectral import Spectrum

_LEGEND_ROWS = 16


def embedding(
    Y: Any,
    labels: Any = None,
    *,
    values: Any = None,
    name: str = "",
    size: float | None = None,
    ax: Any = None,
    **style: Any,
) -> Any:
    """Scatter of an embedding, colored by categories or by numbers.

    Parameters
    ----------
    Y : (n, 2) coordinates, or a fitted estimator with its `embedding_`; columns after the second
        are not shown. Points whose coordinates are all NaN, as those outside the largest piece of a
        graph, are not drawn; their labels and values have colors all the same.
    labels : n categories, which get a legend in order of their names, or in the order of a
        categorical column of pandas; missing ones are gray.
    values : n numbers, which get a color bar; those that are not finite are gray. Give labels or
        values, not both.
    name : what the color means: title of the legend or the color bar.
    size : area of a mark, in square points; chosen by n if not given.
    ax : where to draw; new Axes if not given.
    style : passed on to `Axes.scatter`, for example `cmap`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> Y = np.random.default_rng(0).standard_normal((50, 2))
    >>> ax = sparrot.plot.embedding(Y, np.repeat(["a", "b"], 25))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    if labels is not None and values is not None:
        raise InvalidInputError(
            "must not be given together with labels",
            parameter="values",
            value=values,
            remedy=["pass categories as {labels}", "numbers as {values}, not both"],
        )
    Y = _layout(Y)
    marks = _marks(len(Y), size) | style
    if labels is not None:
        _require_each(labels, len(Y), "labels")
        ax = _with_legend(ax, Y, labels, name, marks)
    elif values is not None:
        ax = new_axes(ax)
        _with_bar(ax, Y, _numbers(values, len(Y), "values"), name, {"cmap": SEQUENTIAL} | marks)
    else:
        ax = new_axes(ax)
        ax.scatter(*Y.T, **({"color": PALETTE[0]} | marks))
    ax.set(aspect="equal", xlabel="coordinate 1", ylabel="coordinate 2")
    return ax


def potential(Y: Any, u: Any, *, size: float | None = None, ax: Any = None, **style: Any) -> Any:
    """The dual potential on a layout: high where points are far from all others.

    One point in a hundred may be beyond either end of the colors, so that outliers do not hide the
    rest; pass `vmin` and `vmax` for other ends.

    Parameters
    ----------
    Y : (n, 2) layout.
    u : n potentials, or an `Affinity` that has a potential.
    size, ax, style : as for `embedding`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> Y = np.random.default_rng(0).standard_normal((50, 2))
    >>> sparrot.plot.potential(Y, sparrot.qot(Y)).get_title()
    'potential'
    """
    if getattr(u, "matrix", None) is not None:
        if u.potential is None:
            raise InvalidInputError(
                f"is a {u.kind} affinity, which has no potential",
                parameter="u",
                value=u,
                remedy="take one of {sparrot.qot}, {sparrot.eot} or {sparrot.tsallis}",
            )
        u = u.potential
    Y = _layout(Y)
    u = _numbers(u, len(Y), "u")
    known = u[np.isfinite(u)]
    if len(known):
        low, high = np.quantile(known, [0.01, 0.99])
        style = {"vmin": low, "vmax": high} | style
    ax = embedding(Y, values=u, name="potential u", size=size, ax=ax, **style)
    ax.set_title("potential")
    return ax


def eigenvectors(
    Y: Any, V: Any, *, first: int = 2, size: float | None = None, axes: Any = None, **style: Any
) -> Any:
    """Eigenvectors on a layout, one panel each, with colors that are symmetric about zero.

    Parameters
    ----------
    Y : (n, 2) layout.
    V : (n, k) eigenvectors in columns; or a `Spectrum` of `sparrot.eigenpairs`, whose vectors
        before number `first` are not drawn.
    first : the number of the first panel's eigenvector; 2 where the trivial one was left out.
    size, style : as for `embedding`.
    axes : k Axes to draw on; a new row if not given.

    Returns
    -------
    array of k Axes

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> Y = np.random.default_rng(0).standard_normal((50, 2))
    >>> [ax.get_title() for ax in sparrot.plot.eigenvectors(Y, Y)]
    ['eigenvector 2', 'eigenvector 3']
    """
    Y = _layout(Y)
    if isinstance(V, Spectrum):
        V = V.vectors[:, as_count(first, "first", len(V.values)) - 1 :]
    V = as_array(V, "V")
    first = as_count(first, "first", 10**9)
    k = V.shape[1]
    axes = np.ravel(new_axes(axes, k, (3.6, 3.2)))
    if len(V) != len(Y) or len(axes) != k:
        raise InvalidInputError(
            f"must have a row for each of {len(Y)} points and a column for each of {len(axes)} "
            f"Axes, got shape {V.shape}",
            parameter="V",
            value=V,
        )
    for j, ax in enumerate(axes):
        largest = float(np.abs(V[:, j]).max())
        color = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest}
        _with_bar(ax, Y, V[:, j], "", color | _marks(len(Y), size) | style)
        ax.set(aspect="equal", title=f"eigenvector {first + j}", xticks=[], yticks=[])
    return axes


def _with_legend(ax: Any, Y: FloatArray, labels: Any, name: str, marks: dict[str, Any]) -> Any:
    names, codes = as_categories(labels)
    shades = [*colors(len(names)), MISSING]  # the last belongs to the code -1
    if (codes < 0).any():
        names = [*names, "missing"]
    n_columns = -(-len(names) // _LEGEND_ROWS)
    ax = new_axes(ax, size=(4.2 + n_columns * width_of(names), 3.8))
    ax.scatter(
        *Y.T, c=[shades[k] for k in codes], **marks
    )  # in the order of the data: no category on top
    line = load_extra("matplotlib.lines", "plot").Line2D
    handles = [line([], [], marker="o", linestyle="", color=c) for c in shades[: len(names)]]
    ax.legend(
        handles,
        [name.replace("$", r"\$") for name in names],
        title=name or None,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        ncols=n_columns,
        frameon=False,
        handletextpad=0.2,
    )
    return ax


def _with_bar(ax: Any, Y: FloatArray, values: Any, name: str, marks: dict[str, Any]) -> None:
    cmap = load_extra("matplotlib", "plot").colormaps.get_cmap(marks["cmap"])
    marks = marks | {"cmap": cmap.with_extremes(bad=MISSING), "plotnonfinite": True}
    known = values[np.isfinite(values)]
    if len(known) and "norm" not in marks:
        marks = {"vmin": known.min(), "vmax": known.max()} | marks
    drawn = ax.scatter(*Y.T, c=values, **marks)
    beyond = (known < drawn.norm.vmin).any() + 2 * (known > drawn.norm.vmax).any()
    extend = ("neither", "min", "max", "both")[beyond]
    ax.figure.colorbar(drawn, ax=ax, label=name, shrink=0.8, extend=extend)


def _marks(n: int, size: float | None) -> dict[str, Any]:
    area = mark_size(n) if size is None else size
    return {"s": area, "linewidths": 0, "rasterized": n >= RASTERIZED_FROM}


def _layout(Y: Any) -> FloatArray:
    """Two coordinates for each point: of an array, or the `embedding_` of a fitted estimator.

    Rows of an array that are all NaN stay so.
    """
    if hasattr(Y, "matrix"):
        raise InvalidInputError(
            "is an affinity, and a layout is needed",
            parameter="Y",
            value=Y,
            remedy="make one by {sparrot.Eigenmaps(affinity='precomputed').fit_transform(W)}",
        )
    if hasattr(Y, "fit") and not hasattr(Y, "embedding_"):
        raise InvalidInputError(
            f"is a {type(Y).__name__} without an embedding_",
            parameter="Y",
            value=Y,
            remedy=["fit it first", "pass the coordinates that fit_transform returns"],
        )
    Y = getattr(Y, "embedding_", Y)
    placed = np.ones(np.shape(Y)[:1], dtype=bool)
    if isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind == "f":
        placed &= ~np.isnan(Y).all(axis=1)
    known = as_array(Y if placed.all() else Y[placed], "Y")
    if not len(known) or known.shape[1] < 2:
        raise InvalidInputError(
            f"must have rows and at least two columns, got shape {known.shape}",
            parameter="Y",
            value=Y,
        )
    layout = np.full((len(placed), 2), np.nan)
    layout[placed] = known[:, :2]
    return layout


def _require_each(entries: Any, n: int, name: str) -> None:
    shape = np.shape(entries)
    if shape != (n,):
        raise InvalidInputError(
            f"must be one for each of {n} points, got shape {shape}", parameter=name, value=entries
        )


def _numbers(values: Any, n: int, name: str) -> FloatArray:
    _require_each(values, n, name)
    numbers = as_floats(values)
    if numbers.shape != (n,):
        raise InvalidInputError(
            f"must be {n} numbers",
            parameter=name,
            value=values,
            remedy="pass categories as {labels}",
        )
    return numbers
