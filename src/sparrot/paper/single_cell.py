"""Distance from an origin cell along lineages of real cells, by QOT, EOT and k-NN.

The paper has the developing hippocampus, and the probability of each cell to be an end state as
the truth, by Pearson's correlation. We run it where its file is, and beside it two sets with a
pseudotime, which is no probability, so that the correlation is Spearman's: bone marrow (CD34+), a
continuum with a start cell, three branches and an end cell of each; and the root of Arabidopsis,
where every cell type is a lineage.
Genes are chosen and standardized with all cells of a set. The paper then takes 5,000 cells of its
set. Of the marrow we take all, 4,142, as one sample, and beside it five samples of 2,500, each way
with its own verdict; of Arabidopsis five samples of 2,500, which keeps the run short. The end of a
branch is the cell that the authors of the marrow name, and in the hippocampus the cell of largest
end probability. The first sample of a set is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import rankdata, spearmanr

from sparrot._types import FloatArray
from sparrot.affinity import perplexity
from sparrot.datasets import Cells, load_arabidopsis_root, load_dentate_gyrus
from sparrot.datasets._cells import VARIABLE, data_folder, load_marrow_cd34
from sparrot.errors import MissingDataError, load_extra
from sparrot.paper._experiment import Claim, Experiment, Numbers, unless, with_samples
from sparrot.paper._expression import expression
from sparrot.paper._figures import (
    STYLES,
    YELLOW,
    draw_images,
    draw_perplexities,
    draw_points,
    panel,
    paper_style,
)
from sparrot.paper._methods import (
    MAIN_METHODS,
    PROJECTIONS,
    image_by_label,
    matched,
    principal,
    spectrum,
    with_perplexity_moments,
)
from sparrot.paper._records import Rows, bands, by_method, rounded
from sparrot.paper._work import Work
from sparrot.plot._style import SEQUENTIAL, colors
from sparrot.spectral import laplacian

_N_VALUES = 20
_N_BINS = 80
_N_BRANCHES = 3  # that are drawn
_LEAST = 20  # cells of a lineage
_AGREES = 0.5  # correlation with the truth along a lineage
_DISTANT_END = 0.75  # share of its branch that an end cell is farther away than
_MARGIN = 0.1  # of correlation, by which a lineage is missed
_BRANCHES = {
    "CA": ("CA", "CA2-3-4"),
    "Granule": ("ImmGranule1", "ImmGranule2", "Granule"),
    "ImmAstro": ("ImmAstro",),
}
_STEM = ("Stem Cell Niche", "Putative Quiescent Center")
_MARROW = {
    "Ery": ("HSC", "HMPC", "erythroid", "late erythroid"),
    "Mono": ("HSC", "HMPC", "myeloid precursor", "MPO+", "monocyte"),
    "DC": ("HSC", "HMPC", "dendritic"),
}
_PUBLISHED = {
    "QOT": {"CA": 0.758, "Granule": 0.771, "ImmAstro": 0.610},
    "EOT": {"CA": 0.361, "Granule": 0.395, "ImmAstro": -0.118},
    "k-NN": {"CA": 0.653, "Granule": 0.592, "ImmAstro": 0.599},
}
_SAMPLES = "marrow-samples"  # of the cells of the marrow: its numbers only, no figure
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
    ends: Callable[[Cells], dict[str, int]]  # the end cell of a lineage, if one is known
    truth: Callable[[Cells], FloatArray]
    truth_name: str
    correlation: str  # "Pearson" or "Spearman"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sets, cells of each at most, coordinates, and samples of a set that has more."""

    sets: tuple[str, ...] = ("dentate", "marrow", _SAMPLES, "arabidopsis")
    n: tuple[int, ...] = (5000, 5000, 2500, 2500)
    n_components: int = 10
    n_seeds: int = 5

    def cells(self, name: str) -> int:
        """How many cells of a set are taken at most."""
        return dict(zip(self.sets, self.n, strict=True))[name]


def run(parameters: Parameters, work: Work) -> Numbers:
    """QOT first; then EOT of the same mean perplexity, and as many nearest neighbors."""
    seeds, sizes, missing = _samples(parameters)
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
    shown = [name for name in seeds if name != _SAMPLES]
    drawn = work.each({f"{name}-cells": partial(_first_cells, parameters, name) for name in shown})

    def by_lineage(key: str, number: str) -> list[dict[str, Any]]:
        return [
            {"set": name, "method": m, "seed": s, "lineage": lineage, number: value}
            for name in seeds
            for m in MAIN_METHODS
            for s in seeds[name]
            for lineage, value in found[f"{name}-{m}-{s}"][key].items()
        ]

    correlations = by_lineage("correlations", "correlation")
    return {
        "sizes": [{"set": name, "cells": n} for name, n in sizes.items()],
        "missing": [{"set": name, "reason": reason} for name, reason in missing.items()],
        "sets": {
            name: drawn[f"{name}-cells"]
            | with_perplexity_moments({m: found[f"{name}-{m}-0"] for m in MAIN_METHODS})
            for name in shown
        },
        "correlations": correlations,
        "ends": by_lineage("ends", "rank"),
        "correlation_bands": bands(correlations, ("set", "method", "lineage"), "correlation"),
        "correlation_means": bands(correlations, ("set", "method"), "correlation"),
    }


def _samples(
    parameters: Parameters,
) -> tuple[dict[str, range], dict[str, int], dict[str, str]]:
    """The samples of each set that is here, how many cells each has, and why others are not."""
    seeds, sizes, missing = {}, {}, {}
    for name in parameters.sets:
        if name == _SAMPLES and "marrow" in missing:
            continue
        try:
            n, most = _SETS[name].load().X.shape[0], parameters.cells(name)
            seeds[name] = range(parameters.n_seeds if n > most else 1)
            sizes[name] = min(n, most)
        except MissingDataError as error:
            missing[name] = str(error)
    if not seeds:
        raise MissingDataError(
            "; ".join(missing.values()), remedy="put the files there, or name their folder"
        )
    return seeds, sizes, missing


@lru_cache(1)
def _expressed(load: Callable[[], Cells], folder: Path | None) -> tuple[FloatArray, Cells]:
    """Points and cells of a whole set, kept for the units that take samples of it."""
    return expression(load())


def _points(parameters: Parameters, name: str, seed: int) -> tuple[FloatArray, Cells]:
    """A sample, after genes are chosen and standardized; start and ends are in it."""
    X, cells = _expressed(_SETS[name].load, data_folder())
    if parameters.cells(name) >= len(X):
        return X, cells
    rows = np.random.default_rng(seed).choice(len(X), parameters.cells(name), replace=False)
    named = cells.columns.get("named", np.full(len(X), ""))
    rows = np.union1d(rows, np.flatnonzero(named != ""))
    return X[rows], cells.take(rows)


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
            lineage: _correlation(_SETS[name].correlation, distance[rows], truth[rows])
            for lineage, (rows, truth) in _lineages(name, cells).items()
        },
        "ends": _end_ranks(name, cells, distance),
    }
    if seed > 0 or name == _SAMPLES:
        return found
    return found | {
        "distance": rounded(distance, 4),
        "perplexity": rounded(sizes, 3),
        "values": rounded(1 - pairs.values, 6),
        "spectrum": _histogram(W) if method in PROJECTIONS else None,
        "image": image_by_label(W, cells.types),
    }


def _correlation(kind: str, a: FloatArray, b: FloatArray) -> float:
    if kind == "Spearman":
        return float(spearmanr(a, b).statistic)
    return float(np.corrcoef(a, b)[0, 1])


def _end_ranks(name: str, cells: Cells, distance: FloatArray) -> dict[str, float]:
    """The share of its branch that the end cell of each is at least as far away as."""
    lineages, found = _lineages(name, cells), {}
    for lineage, end in _SETS[name].ends(cells).items():
        if lineage in lineages:
            chosen = np.union1d(np.flatnonzero(lineages[lineage][0]), end)
            ranks = rankdata(distance[chosen]) / len(chosen)
            found[lineage] = float(ranks[chosen == end][0])
    return found


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
        "middles": {str(t): _middle(layout[cells.types == t]) for t in np.unique(cells.types)},
        "truth": rounded(np.nan_to_num(_SETS[name].truth(cells)), 4),
        "truth_name": _SETS[name].truth_name,
        "correlation": _SETS[name].correlation,
        "branches": {b: np.flatnonzero(found[b][0]).tolist() for b in found if b in longest},
        "origin": _SETS[name].origin(X, cells),
    }


def _middle(Y: FloatArray) -> Any:
    """The point nearest to the medians of all."""
    return rounded(Y[np.argmin(np.square(Y - np.median(Y, axis=0)).sum(axis=1))], 3)


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


def _dentate_ends(cells: Cells) -> dict[str, int]:
    """The cell of each branch that most probably is an end state."""
    found = _lineages("dentate", cells)
    return {b: int(np.argmax(np.where(rows, end, -1))) for b, (rows, end) in found.items()}


def _arabidopsis_origin(X: FloatArray, cells: Cells) -> int:
    stem = np.flatnonzero(np.isin(cells.types, _STEM))
    return int(stem[np.argmin(cells.columns["pseudotime"][stem])])


def _arabidopsis_lineages(cells: Cells) -> Lineages:
    types = [t for t in np.unique(cells.types) if t not in _STEM]
    return {str(t): (cells.types == t, cells.columns["pseudotime"]) for t in types}


def _marrow_origin(X: FloatArray, cells: Cells) -> int:
    return int(np.flatnonzero(cells.columns["named"] == "start")[0])


def _marrow_ends(cells: Cells) -> dict[str, int]:
    """The end cells that are named."""
    named = cells.columns["named"]
    return {b: int(np.argmax(named == b)) for b in _MARROW if b in named}


def _marrow_lineages(cells: Cells) -> Lineages:
    time = cells.columns["pseudotime"]
    return {branch: (np.isin(cells.types, types), time) for branch, types in _MARROW.items()}


_SETS = {
    "dentate": _CellSet(
        _load_dentate_with_truth,
        _dentate_origin,
        _dentate_lineages,
        _dentate_ends,
        lambda cells: np.asarray(cells.columns["end"]),
        "end-state probability",
        "Pearson",
    ),
    "marrow": _CellSet(
        load_marrow_cd34,
        _marrow_origin,
        _marrow_lineages,
        _marrow_ends,
        lambda cells: np.asarray(cells.columns["pseudotime"]),
        "pseudotime (Monocle 2)",
        "Spearman",
        _OTHER_SET + "bone marrow, whose pseudotime is itself an estimate",
    ),
    "arabidopsis": _CellSet(
        load_arabidopsis_root,
        _arabidopsis_origin,
        _arabidopsis_lineages,
        lambda cells: {},
        lambda cells: np.asarray(cells.columns["pseudotime"]),
        "consensus pseudotime",
        "Spearman",
        _OTHER_SET + "cell types of a root, each a lineage, by pseudotime",
    ),
}
_SETS[_SAMPLES] = _SETS["marrow"]
_DISTANT = (
    "the QOT kernel produces an embedding in which the ends of branches of developmental lineages "
    "are distant fro [sic] the origin cell"
)
_AGREEMENT = "This is in agreement with the end-state predictions"
_MISSED = "the EOT and k-NN kernel constructions miss certain lineages"


def claims(numbers: Numbers) -> list[Claim]:
    """Two or three claims a set; where one is missing, every sentence is not tested on it."""
    return [
        *(
            claim
            for name, n in ((row["set"], row["cells"]) for row in numbers["sizes"])
            for claim in with_samples(
                partial(_claims_on_set, name, n),
                {key: [row for row in numbers[key] if row["set"] == name] for key in _JUDGED},
            )
        ),
        *(
            Claim(
                sentence,
                paper,
                f"not run: no data ({row['set']})",
                "as for the other sets",
                None,
                row["reason"],
            )
            for row in numbers["missing"]
            for sentence, paper in (
                (_DISTANT, "distant"),
                (_AGREEMENT, _published("QOT")),
                (_MISSED, _published("EOT", "k-NN")),
            )
        ),
    ]


_JUDGED = ("correlations", "ends")


def _published(*methods: str) -> str:
    parts = [f"{m} {by_method(_PUBLISHED[m], '.3f')}" for m in methods]
    return f"Pearson: {'; '.join(parts)} (dentate gyrus)"


def _claims_on_set(name: str, n: int, numbers: Numbers) -> list[Claim]:
    """On n cells in each sample, or on all that there are, if there is one sample."""
    rows, ends = (numbers[key] for key in _JUDGED)
    n_samples = len({row["seed"] for row in rows})
    r = {m: _by_lineage(rows, m, "correlation") for m in MAIN_METHODS}
    ranks = {m: _by_lineage(ends, m, "rank") for m in MAIN_METHODS}
    samples = f"{n_samples} samples of {n:,}" if n_samples > 1 else f"all {n:,}"
    cells = f"{name.removesuffix('-samples')}, {samples} cells"
    of = f"{cells}, {_SETS[name].correlation}"
    distant = [_claim_on_ends(name, cells, ranks)] if ranks["QOT"] else []
    return [*distant, _claim_on_agreement(name, of, r), _claim_on_missed(name, of, r)]


def _claim_on_ends(name: str, of: str, ranks: dict[str, dict[str, float]]) -> Claim:
    near = {lineage: value for lineage, value in ranks["QOT"].items() if value < _DISTANT_END}
    return Claim(
        _DISTANT,
        "distant",
        f"{of}, share of its branch that an end cell is farther than: {by_method(ranks['QOT'])}",
        f"the end cell of each branch is farther away than {_DISTANT_END:.0%} of it; this is our "
        "threshold, no number is published",
        not near,
        _with_note(name, _low_in_words("not distant", near, ranks)),
    )


def _claim_on_agreement(name: str, of: str, r: dict[str, dict[str, float]]) -> Claim:
    weak = {lineage: value for lineage, value in r["QOT"].items() if value < _AGREES}
    return Claim(
        _AGREEMENT,
        _published("QOT"),
        f"{of}: {by_method(r['QOT'])}",
        f"correlation of the squared distance with the truth at least {_AGREES} in every lineage",
        not weak,
        _with_note(name, _low_in_words(f"below {_AGREES}", weak, r)),
    )


def _low_in_words(fault: str, low: dict[str, float], found: dict[str, dict[str, float]]) -> str:
    """Which lineages have a fault, and what the other methods have there."""
    others = [m for m in found if m != "QOT"]
    return "; ".join(
        f"{lineage} is {fault} ({value:.2f}; "
        f"{by_method({m: found[m][lineage] for m in others if lineage in found[m]})})"
        for lineage, value in low.items()
    )


def _claim_on_missed(name: str, of: str, r: dict[str, dict[str, float]]) -> Claim:
    means = {m: float(np.mean(list(values.values()))) for m, values in r.items()}
    missed = {
        m: [lineage for lineage in r["QOT"] if r[m][lineage] <= r["QOT"][lineage] - _MARGIN]
        for m in ("EOT", "k-NN")
    }
    lost = {
        m: [lineage for lineage in r["QOT"] if r["QOT"][lineage] <= r[m][lineage] - _MARGIN]
        for m in missed
    }
    holds = all(len(missed[m]) > len(lost[m]) and means[m] < means["QOT"] for m in missed)
    words = "; ".join(
        f"{m} misses {', '.join(missed[m]) or 'none'}"
        + (f" (QOT, against it, {', '.join(lost[m])})" if lost[m] else "")
        for m in missed
    )
    return Claim(
        _MISSED,
        _published("EOT", "k-NN"),
        f"{of}: {words}; mean {by_method(means)}",
        f"lineages with a correlation lower by {_MARGIN} than QOT's are missed: EOT and k-NN each "
        "miss more than QOT misses against them, and have a lower mean",
        holds,
        _with_note(name, unless(holds, f"{words}; mean {by_method(means)}")),
    )


def _by_lineage(rows: Rows, method: str, key: str) -> dict[str, float]:
    """The mean over samples for each lineage; a small sample can lack a rare one."""
    rows = [row for row in rows if row["method"] == method]
    return {
        lineage: float(np.mean([r[key] for r in rows if r["lineage"] == lineage]))
        for lineage in dict.fromkeys(row["lineage"] for row in rows)
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
    heights = (4.4, 2.4, *[2.1] * len(branches), 3)
    figure = plt.figure(figsize=(11, sum(heights)), layout="constrained")
    top, middle, *lower, bottom = figure.subfigures(len(heights), 1, height_ratios=heights)
    _draw_types_and_affinities(top, found)
    letters = iter("efghijklmnopqrstuvwxyz")
    _draw_distances(middle, found, letters, "all cells", slice(None), {})
    for part, (lineage, chosen) in zip(lower, branches.items(), strict=True):
        shown = [row for row in rows if row["lineage"] == lineage and row["seed"] == 0]
        of = {row["method"]: row["correlation"] for row in shown}
        _draw_distances(part, found, letters, lineage, chosen, of)
    left, right = bottom.subplots(1, 2, width_ratios=(1, 1.7))
    _draw_spectrum(left, found, next(letters))
    _draw_correlations(right, rows, by_lineage, {row["method"]: row["mean"] for row in means})
    how = f"{found['correlation']}'s correlation with the {found['truth_name']}"
    panel(right, next(letters), f"{how}, by lineage")
    return figure


def _draw_types_and_affinities(figure: Any, found: dict[str, Any]) -> None:
    panels = figure.subplot_mosaic("aabc;aadd", height_ratios=(1.2, 1))
    _draw_cells(panels["a"], found)
    sizes = np.unique(found["types"], return_counts=True)[1]
    images = [found[method]["image"] for method in PROJECTIONS]
    draw_images(figure, [panels["b"], panels["c"]], images, sizes)
    for letter, method in zip("bc", PROJECTIONS, strict=True):
        panel(panels[letter], letter, f"{method}, by type")
    draw_perplexities(panels["d"], found)
    panel(panels["d"], "d", "effective neighbors")


def _draw_distances(
    figure: Any, found: dict[str, Any], letters: Any, name: str, chosen: Any, of: dict[str, float]
) -> None:
    """Ranks of the distance to the origin by each method, and the truth, of some of the cells."""
    panels = figure.subplots(1, 4)
    symbol = {"Spearman": r"$\rho$", "Pearson": "r"}[found["correlation"]]
    for axes, method in zip(panels, MAIN_METHODS, strict=False):
        distance = np.asarray(found[method]["distance"])[chosen]
        nearer = np.argsort(np.argsort(distance)) / len(distance)
        drawn = _draw_colored(axes, found, nearer, chosen)
        panel(axes, next(letters), method + (f", {symbol} = {of[method]:.2f}" if of else ""))
    figure.colorbar(drawn, ax=panels[2], label="share nearer")
    drawn = _draw_colored(panels[3], found, np.asarray(found["truth"])[chosen], chosen)
    figure.colorbar(drawn, ax=panels[3])
    panel(panels[3], next(letters), found["truth_name"])
    panels[0].set_ylabel(name)


def _draw_cells(axes: Any, found: dict[str, Any]) -> None:
    """Cells by type, each type named at the cell in its middle."""
    middles = found["middles"]
    tints = [color for color in colors(len(middles) + 1) if color != YELLOW]  # pale on white
    shades = dict(zip(middles, tints, strict=False))
    draw_points(axes, found["layout"], found["types"], shades=shades, size=4, legend=False)
    effects = load_extra("matplotlib.patheffects", "plot")
    outline = [effects.withStroke(linewidth=3, foreground="white")]
    style = {"ha": "center", "va": "center", "weight": "bold", "size": 9}
    for name, place in middles.items():
        axes.text(*place, name, color=shades[name], path_effects=outline, **style)
    axes.set(xlabel=f"{found['axes']} 1", ylabel=f"{found['axes']} 2")
    panel(axes, "a", f"{len(found['types']):,} cells")


def _draw_colored(axes: Any, found: dict[str, Any], values: Any, chosen: Any) -> Any:
    """The chosen cells by their values, the others gray, and the origin."""
    layout = np.asarray(found["layout"])
    axes.scatter(*layout.T, c="0.9", s=2, linewidths=0, rasterized=True)
    drawn = axes.scatter(
        *layout[chosen].T,
        c=values,
        s=3,
        cmap=SEQUENTIAL,
        vmin=0,
        linewidths=0,
        rasterized=True,
    )
    axes.scatter(*layout[found["origin"]], s=60, color="red", edgecolors="white", zorder=3)
    axes.set(xticks=[], yticks=[])
    return drawn


def _draw_spectrum(axes: Any, found: dict[str, Any], letter: str) -> None:
    """All eigenvalues as a histogram, the leading ones in an inset."""
    inset = axes.inset_axes((0.14, 0.66, 0.26, 0.28))
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
    highest = max(max(found[method]["spectrum"]["counts"]) for method in PROJECTIONS)
    axes.set(xlabel="Laplacian eigenvalue", ylabel="eigenvalues", xlim=(0, 2))
    axes.set_ylim(0, 1.9 * highest)  # the inset is above
    inset.set_xticks([1, 5, 10, 15, 20][: 1 + len(values) // 5])
    inset.tick_params(labelsize=8)
    inset.set_title("leading", fontsize=8, loc="center")
    inset.set_xlabel("index", fontsize=8, labelpad=1)
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
    axes.set(ylabel="correlation", ylim=(min(0, axes.get_ylim()[0]), 1.25))
    axes.legend(ncols=3, loc="upper right")


EXPERIMENT = Experiment(
    "single-cell",
    "Single cells: distance from the origin along lineages",
    Parameters(),
    Parameters(sets=("marrow", "arabidopsis"), n=(250, 250), n_seeds=2),
    run,
    claims,
    draw,
)
