"""Distance from an origin cell along lineages of real cells, by QOT, EOT and k-NN.

The paper has the developing hippocampus, and the probability of each cell to be an end state as
the truth. We run it where its file is, and beside it two sets with other truths: the root of
Arabidopsis, where the distance in each cell type is compared with a consensus pseudotime; and blood
cells purified by FACS, where the origin is a CD34+ progenitor and each purified type is an end:
its probability is one for cells of that type and zero for progenitors.
The paper takes 5,000 cells of its set. Of the others we take 2,500, in two samples: EOT of a given
perplexity takes minutes for more. The first sample is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sparrot._types import FloatArray
from sparrot.affinity import perplexity
from sparrot.datasets import Cells, load_arabidopsis_root, load_dentate_gyrus, load_pbmc_facs
from sparrot.datasets._folder import VARIABLE
from sparrot.errors import MissingDataError
from sparrot.paper._clusters import image_by_label, spectrum, with_perplexity_moments
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless
from sparrot.paper._expression import expression
from sparrot.paper._figures import (
    STYLES,
    draw_images,
    draw_perplexities,
    draw_points,
    panel,
    paper_style,
)
from sparrot.paper._methods import MAIN_METHODS, PROJECTIONS, matched, principal
from sparrot.paper._records import Rows, bands, by_method, rounded
from sparrot.paper._work import Work
from sparrot.plot._style import SEQUENTIAL
from sparrot.spectral import laplacian

_N_VALUES = 20
_N_BINS = 80
_N_BRANCHES = 2  # that are drawn
_LEAST = 20  # cells of a lineage
_MARGIN = 0.1  # of correlation, below which two methods count as equal
_BRANCHES = {
    "Granule": ("Nbl1", "Nbl2", "ImmGranule1", "ImmGranule2", "Granule"),
    "CA": ("Nbl1", "Nbl2", "CA", "CA1-Sub", "CA2-3-4"),
}
_STEM = ("Stem Cell Niche", "Putative Quiescent Center")
_PROGENITOR = "CD34+"
_OTHER_SET = "another set than the paper's: "

Lineages = dict[str, tuple[Any, FloatArray]]  # the rows of each, and what should grow along it


@dataclass(frozen=True, slots=True)
class _CellSet:
    """One set of cells: where all distances are from, and what they are compared with.

    `truth` is for the picture of all cells; a lineage may have another.
    """

    load: Callable[[], Cells]
    origin: Callable[[FloatArray, Cells], int]
    lineages: Callable[[Cells], Lineages]
    truth: Callable[[Cells], FloatArray]
    truth_name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sets, cells of the paper's set and of others at most, genes, coordinates, and samples."""

    sets: tuple[str, ...] = ("dentate", "arabidopsis", "pbmc")
    n: int = 5000
    n_others: int = 2500
    n_genes: int = 2000
    n_components: int = 10
    n_seeds: int = 2

    def cells(self, name: str) -> int:
        """How many cells of a set are taken at most."""
        return self.n if name == "dentate" else self.n_others


def run(parameters: Parameters, work: Work) -> Numbers:
    """QOT first; then EOT of the same mean perplexity, and as many nearest neighbors."""
    seeds, missing = _samples(parameters)
    samples = [(name, s) for name in seeds for s in seeds[name]]
    found = work.each(
        {f"{name}-QOT-{s}": partial(_run_one, parameters, name, "QOT", s) for name, s in samples}
    )
    found |= work.each(
        {
            f"{name}-{m}-{s}": partial(_run_one, parameters, name, m, s, target)
            for name, s in samples
            for target in [found[f"{name}-QOT-{s}"]["mean_perplexity"]]
            for m in ("EOT", "k-NN")
        }
    )
    drawn = work.each({f"{name}-cells": partial(_first_cells, parameters, name) for name in seeds})
    correlations = [
        {"set": name, "method": m, "seed": s, "lineage": lineage, "correlation": value}
        for name in seeds
        for m in MAIN_METHODS
        for s in seeds[name]
        for lineage, value in found[f"{name}-{m}-{s}"]["correlations"].items()
    ]
    return {
        "missing": [{"set": name, "reason": reason} for name, reason in missing.items()],
        "sets": {
            name: drawn[f"{name}-cells"]
            | with_perplexity_moments({m: found[f"{name}-{m}-0"] for m in MAIN_METHODS})
            for name in seeds
        },
        "correlations": correlations,
        "correlation_bands": bands(correlations, ("set", "method", "lineage"), "correlation"),
        "correlation_means": bands(correlations, ("set", "method"), "correlation"),
    }


def _samples(parameters: Parameters) -> tuple[dict[str, range], dict[str, str]]:
    """The samples of each set that is here, and why the others are not."""
    seeds, missing = {}, {}
    for name in parameters.sets:
        try:
            more = _SETS[name].load().X.shape[0] > parameters.cells(name)
            seeds[name] = range(parameters.n_seeds if more else 1)
        except MissingDataError as error:
            missing[name] = str(error)
    if not seeds:
        raise MissingDataError(
            "; ".join(missing.values()), remedy="put the files there, or name their folder"
        )
    return seeds, missing


def _points(parameters: Parameters, name: str, seed: int) -> tuple[FloatArray, Cells]:
    cells = _SETS[name].load().sample(parameters.cells(name), seed)
    return expression(cells, parameters.n_genes)


def _run_one(
    parameters: Parameters, name: str, method: str, seed: int, target: float | None = None
) -> dict[str, Any]:
    """Correlations of the squared distance to the origin in the spectral embedding."""
    X, cells = _points(parameters, name, seed)
    W = matched(method, X, target).matrix
    pairs = spectrum(W, max(_N_VALUES, parameters.n_components + 1))
    Y = pairs.functions[:, 1 : parameters.n_components + 1]
    distance = np.square(Y - Y[_SETS[name].origin(X, cells)]).sum(axis=1)
    sizes = perplexity(W)
    found = {
        "mean_perplexity": float(sizes.mean()),
        "correlations": {
            lineage: float(np.corrcoef(distance[rows], truth[rows])[0, 1])
            for lineage, (rows, truth) in _lineages(name, cells).items()
        },
    }
    if seed > 0:
        return found
    return found | {
        "distance": rounded(distance, 4),
        "perplexity": rounded(sizes, 3),
        "values": rounded(1 - pairs.values, 6),
        "spectrum": _histogram(W) if method in PROJECTIONS else None,
        "image": image_by_label(W, cells.types),
    }


def _histogram(W: Any) -> dict[str, Any]:
    """How many eigenvalues of the Laplacian there are in each of equal parts of [0, 2]."""
    L = laplacian(W, "symmetric")
    values = np.linalg.eigvalsh(L.toarray() if issparse(L) else np.asarray(L))
    counts, edges = np.histogram(values.clip(0, 2), _N_BINS, (0, 2))
    return {"counts": counts.tolist(), "edges": rounded(edges, 6)}


def _first_cells(parameters: Parameters, name: str) -> dict[str, Any]:
    """Where the cells of the first sample are drawn, and in which colors."""
    X, cells = _points(parameters, name, 0)
    layout = principal(X, 2) if cells.layout is None else cells.layout
    found = _lineages(name, cells)
    longest = sorted(found, key=lambda lineage: -int(found[lineage][0].sum()))[:_N_BRANCHES]
    return {
        "layout": rounded(layout, 3),
        "axes": "PC" if cells.layout is None else "layout",
        "types": [str(t) for t in cells.types],
        "truth": rounded(np.nan_to_num(_SETS[name].truth(cells)), 4),
        "truth_name": _SETS[name].truth_name,
        "branches": {b: np.flatnonzero(found[b][0]).tolist() for b in sorted(longest)},
        "origin": _SETS[name].origin(X, cells),
    }


def _lineages(name: str, cells: Cells) -> Lineages:
    """The lineages of a set that have enough cells."""
    found = _SETS[name].lineages(cells)
    return {key: (rows, truth) for key, (rows, truth) in found.items() if rows.sum() >= _LEAST}


def _load_dentate_with_truth() -> Cells:
    """The dentate gyrus, if the probabilities are there that its distances are compared with."""
    cells = load_dentate_gyrus()
    absent = [f"dentate/{key}_probs.csv" for key in ("start", "end") if key not in cells.columns]
    if absent:
        raise MissingDataError(
            f"the dentate gyrus is here, but not {' and '.join(absent)}, the probabilities of RNA "
            "velocity that the experiment needs",
            remedy=f"put them into the folder that {VARIABLE} names",
        )
    return cells


def _dentate_origin(X: FloatArray, cells: Cells) -> int:
    return int(np.nanargmax(cells.columns["start"]))


def _dentate_lineages(cells: Cells) -> Lineages:
    end = cells.columns["end"]
    known = np.isfinite(end)
    return {b: (np.isin(cells.types, types) & known, end) for b, types in _BRANCHES.items()}


def _arabidopsis_origin(X: FloatArray, cells: Cells) -> int:
    stem = np.flatnonzero(np.isin(cells.types, _STEM))
    return int(stem[np.argmin(cells.columns["pseudotime"][stem])])


def _arabidopsis_lineages(cells: Cells) -> Lineages:
    types = [t for t in np.unique(cells.types) if t not in _STEM]
    return {str(t): (cells.types == t, cells.columns["pseudotime"]) for t in types}


def _pbmc_origin(X: FloatArray, cells: Cells) -> int:
    progenitors = np.flatnonzero(cells.types == _PROGENITOR)
    middle = X[progenitors].mean(axis=0)
    return int(progenitors[np.square(X[progenitors] - middle).sum(axis=1).argmin()])


def _pbmc_lineages(cells: Cells) -> Lineages:
    ends = [str(t) for t in np.unique(cells.types) if t != _PROGENITOR]
    return {
        t: (np.isin(cells.types, (t, _PROGENITOR)), (cells.types == t).astype(np.float64))
        for t in ends
    }


_SETS = {
    "dentate": _CellSet(
        _load_dentate_with_truth,
        _dentate_origin,
        _dentate_lineages,
        lambda cells: np.asarray(cells.columns["end"]),
        "end-state probability",
    ),
    "arabidopsis": _CellSet(
        load_arabidopsis_root,
        _arabidopsis_origin,
        _arabidopsis_lineages,
        lambda cells: np.asarray(cells.columns["pseudotime"]),
        "consensus pseudotime",
        _OTHER_SET + "cell types of a root, each a lineage, by pseudotime",
    ),
    "pbmc": _CellSet(
        load_pbmc_facs,
        _pbmc_origin,
        _pbmc_lineages,
        lambda cells: (cells.types != _PROGENITOR).astype(np.float64),
        "purified type (1), progenitor (0)",
        _OTHER_SET + "purified types, which are clusters and no continuum",
    ),
}
_DISTANT = (
    "the QOT kernel produces an embedding in which the ends of branches of developmental lineages "
    "are distant fro the origin cell"
)


def claims(numbers: Numbers) -> list[Claim]:
    """Two claims a set, and one that is not tested where a set is missing."""
    rows = numbers["correlations"]
    return [
        *(
            claim
            for name in numbers["sets"]
            for claim in _claims_on_set(name, [row for row in rows if row["set"] == name])
        ),
        *(
            Claim(
                _DISTANT,
                "agreement",
                f"not run: no data ({row['set']})",
                "as for the other sets",
                None,
                row["reason"],
            )
            for row in numbers["missing"]
        ),
    ]


def _claims_on_set(name: str, rows: Rows) -> list[Claim]:
    n_samples = len({row["seed"] for row in rows})
    r = {m: _by_lineage([row for row in rows if row["method"] == m]) for m in MAIN_METHODS}
    means = {m: float(np.mean(list(values.values()))) for m, values in r.items()}
    least = {m: min(values.values()) for m, values in r.items()}
    below = sorted((value, lineage) for lineage, value in r["QOT"].items() if value <= 0.2)
    behind = {m: min(least["QOT"] - least[m], means["QOT"] - means[m]) for m in ("EOT", "k-NN")}
    missed = min(behind.values()) >= _MARGIN
    close = [m for m, value in behind.items() if value < _MARGIN]
    of = f"{name}, {n_samples} sample{'s' * (n_samples > 1)}"
    return [
        Claim(
            _DISTANT,
            "agreement",
            f"{of}: mean correlation {least['QOT']:.2f} to {max(r['QOT'].values()):.2f} over "
            f"{len(r['QOT'])} lineages, {means['QOT']:.2f} in all",
            "correlation of squared distance with pseudotime or end probability above 0.2 in "
            "every lineage, by means over samples",
            not below,
            _with_note(
                name,
                unless(
                    not below,
                    "not above 0.2 in "
                    + ", ".join(f"{lineage} ({value:.2f})" for value, lineage in below),
                ),
            ),
        ),
        Claim(
            "the EOT and k-NN kernel constructions miss certain lineages",
            "missed",
            f"{of}: least correlation {by_method(least)}; mean {by_method(means)}",
            f"least and mean correlation over lineages lower by {_MARGIN} for EOT and for k-NN "
            "than for QOT, by means over samples",
            missed,
            _with_note(
                name,
                unless(
                    missed,
                    "; ".join(
                        f"{m} is lower than QOT by {least['QOT'] - least[m]:.2f} at the least and "
                        f"by {means['QOT'] - means[m]:.2f} in the mean"
                        for m in close
                    ),
                ),
            ),
        ),
    ]


def _by_lineage(rows: Rows) -> dict[str, float]:
    """The mean over samples for each lineage; a small sample can lack a rare one."""
    return {
        lineage: float(np.mean([r["correlation"] for r in rows if r["lineage"] == lineage]))
        for lineage in sorted({row["lineage"] for row in rows})
    }


def _with_note(name: str, reason: str) -> str:
    return "; ".join(part for part in (reason, _SETS[name].note) if part)


def draw(numbers: Numbers) -> dict[str, Any]:
    """One figure for each set that was there."""
    tables = ("correlations", "correlation_bands", "correlation_means")
    with paper_style() as plt:
        return {
            name: _draw_set(
                plt,
                found,
                *([row for row in numbers[key] if row["set"] == name] for key in tables),
            )
            for name, found in numbers["sets"].items()
        }


def _draw_set(plt: Any, found: dict[str, Any], rows: Rows, by_lineage: Rows, means: Rows) -> Any:
    branches = found["branches"]
    figure = plt.figure(figsize=(16, 11 + 2.6 * len(branches)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1)
    heights = (1, 1, *[0.8] * len(branches), 1)
    top, middle, *lower, bottom = figure.subfigures(len(heights), 1, height_ratios=heights)
    panels = top.subplots(1, 4, width_ratios=(1.5, 1, 1, 1.1))
    _draw_cells(panels[0], found)
    sizes = np.unique(found["types"], return_counts=True)[1]
    draw_images(top, panels[1:3], [found[method]["image"] for method in PROJECTIONS], sizes)
    for axes, letter, method in zip(panels[1:3], "bc", PROJECTIONS, strict=True):
        panel(axes, letter, f"{method}, by type")
    draw_perplexities(panels[3], found)
    panel(panels[3], "d", "effective neighbors")
    letters = iter("efghijklmnopqrstu")
    _draw_distances(middle, found, letters, "all cells", slice(None), {})
    for part, (lineage, chosen) in zip(lower, branches.items(), strict=True):
        shown = [row for row in rows if row["lineage"] == lineage and row["seed"] == 0]
        of = {row["method"]: row["correlation"] for row in shown}
        _draw_distances(part, found, letters, lineage, chosen, of)
    left, right = bottom.subplots(1, 2, width_ratios=(1, 2))
    _draw_spectrum(left, found, next(letters))
    _draw_correlations(right, rows, by_lineage, {row["method"]: row["mean"] for row in means})
    panel(right, next(letters), "squared distance against the truth, by lineage")
    return figure


def _draw_distances(
    figure: Any, found: dict[str, Any], letters: Any, name: str, chosen: Any, of: dict[str, float]
) -> None:
    """Squared distance to the origin by each method, and the truth, of some of the cells."""
    panels = figure.subplots(1, 4)
    for axes, method in zip(panels, MAIN_METHODS, strict=False):
        drawn = _draw_colored(axes, found, found[method]["distance"], chosen)
        figure.colorbar(drawn, ax=axes, label="squared distance to the origin", extend="max")
        panel(axes, next(letters), method + (f", r = {of[method]:.2f}" if of else ""))
    drawn = _draw_colored(panels[3], found, found["truth"], chosen)
    figure.colorbar(drawn, ax=panels[3], label=found["truth_name"])
    panel(panels[3], next(letters), "truth")
    panels[0].set_ylabel(name)


def _draw_cells(axes: Any, found: dict[str, Any]) -> None:
    draw_points(axes, found["layout"], found["types"], size=3, legend=False)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, markerscale=3, handletextpad=0.1
    )
    axes.set(xlabel=f"{found['axes']} 1", ylabel=f"{found['axes']} 2")
    panel(axes, "a", f"{len(found['types']):,} cells")


def _draw_colored(axes: Any, found: dict[str, Any], values: Any, chosen: Any) -> Any:
    layout, values = np.asarray(found["layout"]), np.asarray(values)
    high = max(float(np.percentile(values[chosen], 98)), float(values.max()) * 1e-6)
    axes.scatter(*layout.T, c="0.9", s=2, linewidths=0, rasterized=True)
    drawn = axes.scatter(
        *layout[chosen].T,
        c=values[chosen],
        s=3,
        cmap=SEQUENTIAL,
        vmin=0,
        vmax=high,
        linewidths=0,
        rasterized=True,
    )
    axes.scatter(*layout[found["origin"]], s=60, color="red", edgecolors="white", zorder=3)
    axes.set(xticks=[], yticks=[])
    return drawn


def _draw_spectrum(axes: Any, found: dict[str, Any], letter: str) -> None:
    """All eigenvalues as a histogram, the leading ones in an inset."""
    inset = axes.inset_axes((0.12, 0.5, 0.28, 0.4))
    for method in PROJECTIONS:
        histogram, values = found[method]["spectrum"], found[method]["values"]
        style = STYLES[method]
        axes.stairs(
            histogram["counts"],
            histogram["edges"],
            color=style["color"],
            fill=True,
            alpha=0.5,
            label=method,
        )
        index = np.arange(1, len(values) + 1)
        inset.plot(index, values, **style | {"linestyle": ":", "markersize": 3})
    axes.set(xlabel="Laplacian eigenvalue", ylabel="eigenvalues", xlim=(0, 2))
    inset.set_xticks([1, 5, 10, 15, 20][: 1 + len(values) // 5])
    inset.tick_params(labelsize=7)
    inset.set_title("leading", fontsize=8, loc="center")
    inset.set_xlabel("index", fontsize=7, labelpad=1)
    inset.set_ylim(0, None)
    axes.legend(loc="upper right")
    panel(axes, letter, "Laplacian spectrum")


def _draw_correlations(axes: Any, rows: Rows, by_lineage: Rows, means: dict[str, float]) -> None:
    """Means over samples as bars, and every sample as a mark."""
    names = list(dict.fromkeys(row["lineage"] for row in rows))
    several = len({row["seed"] for row in rows}) > 1
    for k, method in enumerate(MAIN_METHODS):
        shift = 0.27 * (k - 1)
        chosen = [row for row in by_lineage if row["method"] == method]
        axes.bar(
            [names.index(row["lineage"]) + shift for row in chosen],
            [row["mean"] for row in chosen],
            0.25,
            color=STYLES[method]["color"],
            label=f"{method} (mean {means[method]:.2f})",
        )
        if several:
            samples = [row for row in rows if row["method"] == method]
            axes.scatter(
                [names.index(row["lineage"]) + shift for row in samples],
                [row["correlation"] for row in samples],
                s=8,
                color="black",
                zorder=3,
            )
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right", fontsize=9)
    axes.set(ylabel="Pearson correlation", ylim=(min(0, axes.get_ylim()[0]), 1.25))
    axes.legend(ncols=3, loc="upper right")


EXPERIMENT = Experiment(
    "single-cell",
    "Single cells: distance from the origin along lineages",
    Parameters(),
    Parameters(sets=("arabidopsis", "pbmc"), n_others=400, n_genes=500, n_seeds=2),
    run,
    claims,
    draw,
)
