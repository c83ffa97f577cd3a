"""Curves and bars: spectrum, perplexity, convergence, and what changes with eps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparrot._types import FloatArray
from sparrot._validation import as_count, as_finite
from sparrot.affinity import perplexity as perplexity_of
from sparrot.errors import InvalidInputError, load_extra
from sparrot.plot._style import ACCENT, PALETTE, colors, new_axes
from sparrot.spectral import Spectrum

if TYPE_CHECKING:
    from sparrot.summary import Summary

_MOST_NEIGHBORS = 1e15
_MARKED = 50  # steps; longer curves have no marks


def spectrum(values: Any, *, gap: int | None = None, ax: Any = None) -> Any:
    """Leading eigenvalues, in descending order, with a spectral gap marked.

    Parameters
    ----------
    values : eigenvalues, at least two, or a `Spectrum` of `sparrot.eigenpairs`.
    gap : how many eigenvalues are above the gap; the widest gap if not given.
    ax : where to draw; new Axes if not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import sparrot
    >>> ax = sparrot.plot.spectrum([1.0, 0.97, 0.95, 0.4, 0.35])
    >>> ax.texts[0].get_text()
    'gap 0.55 after 3'
    """
    if isinstance(values, Spectrum):
        values = values.values
    values = np.sort(_vector(values, "values", 2))[::-1]
    drops = values[:-1] - values[1:]
    k = int(drops.argmax()) + 1 if gap is None else as_count(gap, "gap", len(drops))
    ax = new_axes(ax)
    index = np.arange(1, len(values) + 1)
    ax.axvspan(k, k + 1, color=ACCENT, alpha=0.12, linewidth=0)
    ax.plot(index, values, "o-", color=PALETTE[0], linewidth=0.8)
    ax.annotate(
        f"gap {drops[k - 1]:.2g} after {k}",
        (k + 0.5, (values[k - 1] + values[k]) / 2),
        xytext=(-8, -8) if 2 * k > len(values) else (8, 8),
        ha="right" if 2 * k > len(values) else "left",
        textcoords="offset points",
        color=ACCENT,
    )
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="number", ylabel="eigenvalue")
    return ax


def perplexity(values: Any, *, ax: Any = None, **style: Any) -> Any:
    """Histogram of the effective number of neighbors of each point, with the mean marked.

    Parameters
    ----------
    values : n perplexities, as `sparrot.perplexity` returns them, or an `Affinity`.
    ax : where to draw; new Axes if not given.
    style : passed on to `Axes.hist`, for example `bins`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> a = sparrot.qot(np.random.default_rng(0).standard_normal((200, 5)), perplexity=20)
    >>> sparrot.plot.perplexity(a).texts[0].get_text()
    'mean 20'
    """
    if hasattr(values, "matrix"):
        values = perplexity_of(values)
    values = _vector(values, "values", 1)
    if not ((values >= 0) & (values <= _MOST_NEIGHBORS)).all():
        raise InvalidInputError(
            f"must be perplexities, numbers of neighbors from 0 to {_MOST_NEIGHBORS:g}, got values "
            f"from {values.min():g} to {values.max():g}",
            parameter="values",
            value=values,
            remedy="pass {sparrot.perplexity(W)} or an affinity",
        )
    ax = new_axes(ax)
    ax.hist(values, **({"bins": 40, "color": PALETTE[0], "linewidth": 0} | style))
    mean = float(values.mean())
    ax.axvline(mean, color=ACCENT)
    ax.annotate(
        f"mean {mean:.3g}",
        (mean, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, -10),
        textcoords="offset points",
        color=ACCENT,
    )
    ax.set(xlabel="perplexity of a row", ylabel="points")
    return ax


def convergence(results: Any, *, ax: Any = None) -> Any:
    """Marginal error at each step of the solver, on a logarithmic scale.

    Parameters
    ----------
    results : an `Affinity`, a sequence of errors, or a mapping from names to either.
    ax : where to draw; new Axes if not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> dense, sparse = (sparrot.qot(X, solver=s) for s in ("newton", "active-set"))
    >>> ax = sparrot.plot.convergence({"Newton": dense, "active set": sparse})
    >>> ax.get_yscale(), len(ax.lines)
    ('log', 2)
    """
    named = results if isinstance(results, Mapping) else {"": results}
    if not named:
        raise InvalidInputError(
            f"must have at least one result, got {results!r}",
            parameter="results",
            value=results,
            remedy="pass an affinity, or names and affinities",
        )
    ax = new_axes(ax)
    for (name, result), color in zip(named.items(), colors(len(named)), strict=True):
        errors = _errors(result)
        marker = "." if len(errors) < _MARKED else ""
        label = str(name).replace("$", r"\$")
        ax.semilogy(errors, marker=marker, color=color, label=label)
    if isinstance(results, Mapping):
        ax.legend(frameon=False)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="step", ylabel="marginal error")
    return ax


def eps_path(summary: Summary, *, axes: Any = None) -> Any:
    """What changes with eps: neighbors of a point, eigenvalues, and components of the graph.

    Parameters
    ----------
    summary : as `sparrot.summarize` returns it.
    axes : three Axes to draw on; a new row if not given.

    Returns
    -------
    array of three Axes

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> axes = sparrot.plot.eps_path(sparrot.summarize(X))
    >>> [ax.get_ylabel() for ax in axes]
    ['neighbors of a point', 'eigenvalue', 'components']
    """
    axes = np.ravel(new_axes(axes, 3, (3.6, 3.2)))
    if len(axes) != 3:
        raise InvalidInputError(
            f"must be 3 Axes, got {len(axes)}",
            parameter="axes",
            value=axes,
            remedy="leave out {axes} for a new row",
        )
    from sparrot.summary import as_summary

    steps = as_summary(summary).steps
    eps = [step.relative_eps for step in steps]
    _neighbors(axes[0], eps, np.array([step.quantiles for step in steps]))
    axes[1].plot(eps, [step.eigenvalues for step in steps], color=PALETTE[0], linewidth=0.8)
    axes[1].set_ylabel("eigenvalue")
    pieces = [step.n_connected_components for step in steps]
    axes[2].plot(eps, pieces, "o-", color=PALETTE[0])
    axes[2].set_ylim(0, max(pieces) + 1)  # or a constant would have fractions beside it
    axes[2].locator_params(axis="y", integer=True)
    axes[2].set_ylabel("components")
    ticks = sorted({eps[0], eps[summary.chosen], eps[-1]})
    for ax in axes:
        ax.set(xscale="log", xlabel="eps / mean cost")
        ax.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.axvline(eps[summary.chosen], color=ACCENT, linewidth=0.8)
    return axes


def _neighbors(ax: Any, eps: list[float], quantiles: FloatArray) -> None:
    least, low, median, high, most = quantiles.T
    ax.fill_between(eps, least, most, color=PALETTE[0], alpha=0.12, linewidth=0, label="all")
    ax.fill_between(eps, low, high, color=PALETTE[0], alpha=0.3, linewidth=0, label="80 %")
    ax.plot(eps, median, color=PALETTE[0], label="median")
    ax.set_yscale("log")
    ticker = load_extra("matplotlib.ticker", "plot")
    ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")  # 20 rather than 2 x 10^1
    ax.yaxis.set_minor_formatter(ticker.NullFormatter())
    ax.set_ylabel("neighbors of a point")
    ax.legend(frameon=False)


def _errors(result: Any) -> list[float]:
    """The marginal error before each step, and after the last where it is known."""
    if not hasattr(result, "history"):
        return list(_vector(result, "results", 1))
    after = [] if result.certificate is None else [result.certificate.marginal_error]
    errors = [*result.history, *after]
    if not errors:
        raise InvalidInputError(
            f"must have a history, but nothing was solved for a {result.kind} affinity",
            parameter="results",
            value=result,
            remedy="draw an affinity of optimal transport, such as that of {sparrot.qot}",
        )
    return errors


def _vector(values: Any, name: str, least: int) -> FloatArray:
    vector = as_finite(values, None, name)
    if vector.ndim != 1 or len(vector) < least or not np.isfinite(vector).all():
        raise InvalidInputError(
            f"must be at least {least} finite number{'s' * (least > 1)} in a row, got shape "
            f"{vector.shape}",
            parameter=name,
            value=values,
        )
    return vector
