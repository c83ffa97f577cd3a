"""Distance from an origin cell along lineages of real cells, by QOT, EOT and k-NN.

The paper has the developing hippocampus, and the probability of each cell to be an end state as
the truth. We run it where its file is, and beside it two sets with other truths: the root of
Arabidopsis, whose consensus pseudotime is held against the distance in each cell type; and blood
cells purified by FACS, where the origin is a CD34+ progenitor and each purified type is an end:
its probability is one for cells of that type and zero for progenitors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot.affinity import perplexity
from sparrot.datasets import (
    Cells,
    load_arabidopsis_root,
    load_dentate_gyrus,
    load_pbmc_facs,
)
from sparrot.datasets.folder import VARIABLE
from sparrot.errors import MissingDataError
from sparrot.experiments import clusters as judge
from sparrot.experiments.bands import bands
from sparrot.experiments.expression import expression
from sparrot.experiments.frame import Experiment, Numbers
from sparrot.experiments.single_cell_claims import claims
from sparrot.experiments.work import Work
from sparrot.operators import coarse_grained
from sparrot.types import FloatArray

__all__ = ["EXPERIMENT", "Parameters", "claims", "run"]

_PIXELS = 150
_N_VALUES = 20
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


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sets, cells of each at most, genes, and coordinates."""

    sets: tuple[str, ...] = ("dentate", "arabidopsis", "pbmc")
    n: int = 5000
    n_genes: int = 2000
    n_components: int = 10
    seed: int = 0


def run(parameters: Parameters, work: Work) -> Numbers:
    """QOT first; then EOT of the same mean perplexity, and as many nearest neighbours."""
    present, missing = _present(parameters.sets)
    found = work.each({f"{s}-QOT": partial(_run_one, parameters, s, "QOT", None) for s in present})
    target = {s: float(np.mean(found[f"{s}-QOT"]["perplexity"])) for s in present}
    found |= work.each(
        {
            f"{s}-{m}": partial(_run_one, parameters, s, m, target[s])
            for m in ("EOT", "k-NN")
            for s in present
        }
    )
    drawn = work.each({f"{s}-cells": partial(_drawn, parameters, s) for s in present})
    correlations = [
        {"set": s, "method": m, "lineage": name, "correlation": value}
        for s in present
        for m in judge.METHODS
        for name, value in found[f"{s}-{m}"]["correlations"].items()
    ]
    return {
        "missing": [{"set": name, "reason": reason} for name, reason in missing.items()],
        "sets": {
            s: drawn[f"{s}-cells"] | _shown({m: found[f"{s}-{m}"] for m in judge.METHODS})
            for s in present
        },
        "correlations": correlations,
        "correlation_bands": bands(correlations, ("set", "method"), "correlation"),
    }


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """What is drawn of each method, with distances besides their squares."""
    return {
        m: drawn | {"root": judge.rounded(np.sqrt(drawn["distance"]), 4)}
        for m, drawn in judge.shown(found).items()
    }


def _present(sets: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The sets that are here, and why the others are not."""
    present, missing = [], {}
    for name in sets:
        try:
            _LOADERS[name]()
            present.append(name)
        except MissingDataError as error:
            missing[name] = str(error)
    if not present:
        raise MissingDataError("; ".join(missing.values()))
    return present, missing


def _points(parameters: Parameters, name: str) -> tuple[FloatArray, Cells]:
    cells = _LOADERS[name]().sample(parameters.n, parameters.seed)
    return expression(cells, parameters.n_genes)


def _run_one(parameters: Parameters, name: str, method: str, target: float | None) -> Any:
    """Squared distances to the origin in the spectral embedding, and what they agree with."""
    X, cells = _points(parameters, name)
    W = judge.matched(method, X, target).matrix
    pairs = judge.spectrum(W, max(_N_VALUES, parameters.n_components + 1))
    Y = pairs.functions[:, 1 : parameters.n_components + 1]
    distance = np.square(Y - Y[origin(name, X, cells)]).sum(axis=1)
    place = np.argsort(np.argsort(cells.types, kind="stable"))
    return {
        "distance": judge.rounded(distance, 4),
        "perplexity": judge.rounded(perplexity(W), 3),
        "values": judge.rounded(1 - pairs.values, 6),
        "image": judge.rounded(len(X) * coarse_grained(W, place, _PIXELS), 3),
        "correlations": {
            lineage: float(np.corrcoef(distance[rows], truth[rows])[0, 1])
            for lineage, (rows, truth) in lineages(name, cells).items()
        },
    }


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


def _drawn(parameters: Parameters, name: str) -> Any:
    """Where cells are drawn, and in which colours."""
    X, cells = _points(parameters, name)
    layout = judge.principal(X, 2) if cells.layout is None else cells.layout
    truth = cells.columns.get("pseudotime", cells.columns.get("end"))
    if truth is None:
        truth = (cells.types != _PROGENITOR).astype(np.float64)
    return {
        "layout": judge.rounded(layout, 3),
        "axes": "PC" if cells.layout is None else "layout",
        "types": [str(t) for t in cells.types],
        "truth": judge.rounded(np.nan_to_num(truth), 4),
        "origin": origin(name, X, cells),
    }


EXPERIMENT = Experiment(
    "single-cell",
    "Single cells: distance from the origin along lineages",
    Parameters(),
    Parameters(sets=("arabidopsis", "pbmc"), n=400, n_genes=500),
    run,
    claims,
)
