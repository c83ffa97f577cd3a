"""Distance from an origin cell along lineages of real cells, by QOT, EOT and k-NN.

The paper has the developing hippocampus, and the probability of each cell to be an end state as
the truth. We run it where its file is, and beside it two sets with other truths: the root of
Arabidopsis, whose consensus pseudotime is held against the distance in each cell type; and blood
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
from sparrot.paper import _clusters as judge
from sparrot.paper._bands import bands
from sparrot.paper._expression import expression
from sparrot.paper._frame import Experiment, Numbers
from sparrot.paper._work import Work
from sparrot.paper.single_cell_claims import claims
from sparrot.spectral import coarse_grained, laplacian

__all__ = ["EXPERIMENT", "Parameters", "claims", "run"]

_PIXELS = 150
_N_VALUES = 20
_N_BINS = 80
_N_BRANCHES = 2  # that are drawn
_LEAST = 20  # cells of a lineage
_BRANCHES = {
    "Granule": ("Nbl1", "Nbl2", "ImmGranule1", "ImmGranule2", "Granule"),
    "CA": ("Nbl1", "Nbl2", "CA", "CA1-Sub", "CA2-3-4"),
}


def _dentate_with_truth() -> Cells:
    """The dentate gyrus, if the probabilities are there that its distances are held against."""
    cells = load_dentate_gyrus()
    absent = [f"dentate/{key}_probs.csv" for key in ("start", "end") if key not in cells.columns]
    if absent:
        raise MissingDataError(
            f"the dentate gyrus is here, but not {' and '.join(absent)}, the probabilities of RNA "
            f"velocity that the experiment needs; put them into the folder that {VARIABLE} names"
        )
    return cells


_LOADERS: dict[str, Callable[[], Cells]] = {
    "dentate": _dentate_with_truth,
    "arabidopsis": load_arabidopsis_root,
    "pbmc": load_pbmc_facs,
}
_STEM = ("Stem Cell Niche", "Putative Quiescent Center")
_PROGENITOR = "CD34+"
_TRUTHS = {
    "dentate": "end-state probability",
    "arabidopsis": "consensus pseudotime",
    "pbmc": "purified type (1), progenitor (0)",
}


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
    found = work.each(
        {
            f"{name}-QOT-{s}": partial(_run_one, parameters, name, "QOT", s, None)
            for name in seeds
            for s in seeds[name]
        }
    )
    found |= work.each(
        {
            f"{name}-{m}-{s}": partial(_run_one, parameters, name, m, s, target)
            for name in seeds
            for s in seeds[name]
            for target in [found[f"{name}-QOT-{s}"]["mean_perplexity"]]
            for m in ("EOT", "k-NN")
        }
    )
    drawn = work.each({f"{name}-cells": partial(_drawn, parameters, name) for name in seeds})
    correlations = [
        {"set": name, "method": m, "seed": s, "lineage": lineage, "correlation": value}
        for name in seeds
        for m in judge.METHODS
        for s in seeds[name]
        for lineage, value in found[f"{name}-{m}-{s}"]["correlations"].items()
    ]
    return {
        "missing": [{"set": name, "reason": reason} for name, reason in missing.items()],
        "sets": {
            name: drawn[f"{name}-cells"]
            | judge.shown({m: found[f"{name}-{m}-0"] for m in judge.METHODS})
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
            more = _LOADERS[name]().X.shape[0] > parameters.cells(name)
            seeds[name] = range(parameters.n_seeds if more else 1)
        except MissingDataError as error:
            missing[name] = str(error)
    if not seeds:
        raise MissingDataError("; ".join(missing.values()))
    return seeds, missing


def _points(parameters: Parameters, name: str, seed: int) -> tuple[FloatArray, Cells]:
    cells = _LOADERS[name]().sample(parameters.cells(name), seed)
    return expression(cells, parameters.n_genes)


def _run_one(
    parameters: Parameters, name: str, method: str, seed: int, target: float | None
) -> dict[str, Any]:
    """Squared distances to the origin in the spectral embedding, and what they agree with."""
    X, cells = _points(parameters, name, seed)
    W = judge.matched(method, X, target).matrix
    pairs = judge.spectrum(W, max(_N_VALUES, parameters.n_components + 1))
    Y = pairs.functions[:, 1 : parameters.n_components + 1]
    distance = np.square(Y - Y[origin(name, X, cells)]).sum(axis=1)
    sizes = perplexity(W)
    said = {
        "mean_perplexity": float(sizes.mean()),
        "correlations": {
            lineage: float(np.corrcoef(distance[rows], truth[rows])[0, 1])
            for lineage, (rows, truth) in lineages(name, cells).items()
        },
    }
    if seed > 0:
        return said
    place = np.argsort(np.argsort(cells.types, kind="stable"))
    return said | {
        "distance": judge.rounded(distance, 4),
        "perplexity": judge.rounded(sizes, 3),
        "values": judge.rounded(1 - pairs.values, 6),
        "spectrum": _histogram(W) if method in ("QOT", "EOT") else None,
        "image": judge.rounded(len(X) * coarse_grained(W, place, _PIXELS), 3),
    }


def _histogram(W: Any) -> dict[str, Any]:
    """How many eigenvalues of the Laplacian there are in each of equal parts of [0, 2]."""
    L = laplacian(W, "symmetric")
    values = np.linalg.eigvalsh(L.toarray() if issparse(L) else np.asarray(L))
    counts, edges = np.histogram(values.clip(0, 2), _N_BINS, (0, 2))
    return {"counts": counts.tolist(), "edges": judge.rounded(edges, 6)}


def origin(name: str, X: FloatArray, cells: Cells) -> int:
    """The cell that all distances are from."""
    if name == "dentate":
        return int(np.nanargmax(cells.columns["start"]))
    if name == "arabidopsis":
        stem = np.flatnonzero(np.isin(cells.types, _STEM))
        return int(stem[np.argmin(cells.columns["pseudotime"][stem])])
    progenitors = np.flatnonzero(cells.types == _PROGENITOR)
    middle = X[progenitors].mean(axis=0)
    return int(progenitors[np.square(X[progenitors] - middle).sum(axis=1).argmin()])


def lineages(name: str, cells: Cells) -> dict[str, tuple[Any, FloatArray]]:
    """The rows of each lineage, and what should grow along it."""
    if name == "dentate":
        known = np.isfinite(cells.columns["end"])
        rows = {branch: np.isin(cells.types, types) & known for branch, types in _BRANCHES.items()}
        truths = dict.fromkeys(rows, cells.columns["end"])
    elif name == "arabidopsis":
        rows = {str(t): cells.types == t for t in np.unique(cells.types) if t not in _STEM}
        truths = dict.fromkeys(rows, cells.columns["pseudotime"])
    else:
        ends = [str(t) for t in np.unique(cells.types) if t != _PROGENITOR]
        rows = {t: np.isin(cells.types, (t, _PROGENITOR)) for t in ends}
        truths = {t: (cells.types == t).astype(np.float64) for t in ends}
    return {key: (rows[key], truths[key]) for key in rows if rows[key].sum() >= _LEAST}


def _drawn(parameters: Parameters, name: str) -> dict[str, Any]:
    """Where the cells of the first sample are drawn, and in which colors."""
    X, cells = _points(parameters, name, 0)
    layout = judge.principal(X, 2) if cells.layout is None else cells.layout
    found = lineages(name, cells)
    longest = sorted(found, key=lambda lineage: -int(found[lineage][0].sum()))[:_N_BRANCHES]
    return {
        "layout": judge.rounded(layout, 3),
        "axes": "PC" if cells.layout is None else "layout",
        "types": [str(t) for t in cells.types],
        "truth": judge.rounded(np.nan_to_num(_truth(name, cells)), 4),
        "truth_name": _TRUTHS[name],
        "branches": {b: np.flatnonzero(found[b][0]).tolist() for b in sorted(longest)},
        "origin": origin(name, X, cells),
    }


def _truth(name: str, cells: Cells) -> FloatArray:
    if name == "pbmc":
        return (cells.types != _PROGENITOR).astype(np.float64)
    return np.asarray(cells.columns["end" if name == "dentate" else "pseudotime"])


EXPERIMENT = Experiment(
    "single-cell",
    "Single cells: distance from the origin along lineages",
    Parameters(),
    Parameters(sets=("arabidopsis", "pbmc"), n_others=400, n_genes=500, n_seeds=2),
    run,
    claims,
)
