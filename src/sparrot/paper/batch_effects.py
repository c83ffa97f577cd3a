r"""Cells read at two depths: does an affinity show types or batches?

Blood cells purified by FACS, so that types are known (the paper has a trajectory of its own set):
counts of the variable genes are drawn anew, :math:`\tilde X_i \sim \mathrm{Multinomial}(p_i,
n_i)`, with :math:`n_i` = 100 reads for half of the cells and 250 for the rest. Every affinity has
the same mean perplexity (k-NN as many neighbors), but for the Gaussian kernel, which has the
bandwidth of EOT.
A gene that few cells have is, once standardized, many deviations large in them, and such entries
can outweigh all others in a squared distance. So potentials and affinities are found once more with
every entry clipped, which the paper does not do; and batches are told apart within types too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sparrot._extras import load_extra
from sparrot._types import FloatArray
from sparrot.affinity import Affinity, eot, gaussian, knn, perplexity, qot
from sparrot.datasets import load_pbmc_facs
from sparrot.layout import tsne_affinities
from sparrot.metrics import batch_mixing
from sparrot.paper import _clusters as judge
from sparrot.paper._angles import TOL
from sparrot.paper._expression import downsampled, expression, variable_genes
from sparrot.paper._frame import Experiment, Numbers
from sparrot.paper._work import Work
from sparrot.paper.batch_effects_claims import claims
from sparrot.spectral import coarse_grained

__all__ = ["EXPERIMENT", "Parameters", "claims", "run"]

METHODS = ("QOT", "EOT", "k-NN", "Gaussian")
LAID_OUT = ("default", "QOT", "EOT", "k-NN")
_PIXELS = 150
_DEFAULT_PERPLEXITY, _DEFAULT_PCS = 30.0, 50  # of the usual t-SNE
_HEAVY = 10.0  # deviations
_NEAR = 30  # neighbors by which a layout is judged


@dataclass(frozen=True, slots=True)
class Parameters:
    """Cells, genes, reads of each batch, neighbors, steps of t-SNE, and where to clip."""

    n: int = 2000
    n_genes: int = 2000
    reads: tuple[int, int] = (100, 250)
    perplexity: float = 50.0
    n_iter: int = 500
    clip: float = 3.0  # deviations, of the variant
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Simulated:
    """Points, types and batches, ordered by type and in it by batch."""

    X: FloatArray
    types: Any
    batches: Any


def simulated(parameters: Parameters, clip: float = np.inf) -> Simulated:
    """The cells, read again at two depths, and preprocessed as the others; clipped if asked for."""
    rng = np.random.default_rng(parameters.seed)
    cells = variable_genes(load_pbmc_facs().sample(parameters.n, rng), parameters.n_genes)
    cells = cells.take(np.flatnonzero(cells.X.sum(axis=1) > 0))
    n = cells.X.shape[0]
    batch = rng.permutation(n) % 2
    reads = np.asarray(parameters.reads)[batch]
    cells = replace(cells, X=downsampled(cells.X, reads, rng), columns={"reads": reads})
    X, cells = expression(cells, parameters.n_genes, min_genes=1)
    order = np.lexsort((cells.columns["reads"], cells.types))
    return Simulated(X[order].clip(-clip, clip), cells.types[order], cells.columns["reads"][order])


def run(parameters: Parameters, work: Work) -> Numbers:
    """QOT, EOT and k-NN; then the Gaussian kernel of EOT's bandwidth; then layouts."""
    load_extra("openTSNE", "tsne")  # now, not after the affinities
    clips = {"": np.inf, "clipped-": parameters.clip}
    found = work.each(
        {
            f"{prefix}{m}": partial(_affinity_numbers, parameters, m, None, clip)
            for prefix, clip in clips.items()
            for m in ("QOT", "EOT", "k-NN")
        }
    )
    found |= work.each(
        {
            f"{prefix}Gaussian": partial(_affinity_numbers, parameters, "Gaussian", eps, clip)
            for prefix, clip in clips.items()
            for eps in [found[f"{prefix}EOT"]["eps"]]
        }
    )
    layouts = work.each(
        {f"layout-{m}": partial(_layout, parameters, m, found.get(m)) for m in LAID_OUT}
    )
    data = simulated(parameters)
    return {
        "affinities": [_record(found, "", m) for m in METHODS],
        "clipped": [_record(found, "clipped-", m) for m in METHODS],
        "layouts": [
            {"method": m} | {k: layouts[f"layout-{m}"][k] for k in ("mixing", "purity")}
            for m in LAID_OUT
        ],
        "batch_told": [
            _told(data if prefix == "" else simulated(parameters, clip), found, prefix)
            for prefix, clip in clips.items()
        ],
        "tails": _tails(data.X),
        "clip": parameters.clip,
        "potentials": {m: found[m]["potential"] for m in ("QOT", "EOT")},
        "images": {m: found[m]["image"] for m in METHODS},
        "embeddings": {m: layouts[f"layout-{m}"]["points"] for m in LAID_OUT},
        "principal": judge.rounded(judge.principal(data.X, 2), 3),
        "types": [str(t) for t in data.types],
        "batches": [int(b) for b in data.batches],
    }


def _record(found: dict[str, Any], prefix: str, method: str) -> dict[str, Any]:
    return {"method": method} | {
        k: found[prefix + method][k] for k in ("nmi", "mixing", "perplexity")
    }


def _told(data: Simulated, found: dict[str, Any], prefix: str) -> dict[str, Any]:
    """How well components and potentials tell the batches apart, of all cells and within types."""
    by: dict[str, Any] = {f"PC {k + 1}": v for k, v in enumerate(judge.principal(data.X, 2).T)}
    by |= {m: np.asarray(found[prefix + m]["potential"]) for m in ("QOT", "EOT")}
    said: dict[str, Any] = {"clipped": bool(prefix)}
    for name, values in by.items():
        said |= {name: told_apart(data, values), f"{name} within": told_within(data, values)}
    return said


def told_apart(data: Simulated, values: FloatArray) -> float:
    """How well values tell the two batches apart: the area under the ROC curve, 0.5 by chance."""
    auc = float(roc_auc_score(data.batches == data.batches.max(), values))
    return max(auc, 1 - auc)


def told_within(data: Simulated, values: FloatArray) -> float:
    """The same, of cells of one type; the mean over types, by their sizes."""
    high = data.batches == data.batches.max()
    names, sizes = np.unique(data.types, return_counts=True)
    areas = [roc_auc_score(high[data.types == t], values[data.types == t]) for t in names]
    auc = float(np.average(areas, weights=sizes))
    return max(auc, 1 - auc)


def _tails(X: FloatArray) -> dict[str, float]:
    """The largest entry, and how much of all squares comes from entries above the threshold."""
    squares = np.square(X)
    heavy = float(squares[squares > _HEAVY**2].sum() / squares.sum())
    return {"threshold": _HEAVY, "share": heavy, "largest": float(np.abs(X).max())}


def _build(parameters: Parameters, X: FloatArray, method: str, eps: float | None) -> Affinity:
    if method == "QOT":
        return qot(X, eps, perplexity=None if eps else parameters.perplexity, n_jobs=1)
    if method == "EOT":
        return eot(X, eps, perplexity=None if eps else parameters.perplexity, tol=TOL, n_jobs=1)
    if method == "k-NN":
        return knn(X, round(parameters.perplexity), n_jobs=1)
    assert eps is not None
    return gaussian(X, eps)


def _affinity_numbers(
    parameters: Parameters, method: str, eps: float | None, clip: float = np.inf
) -> Any:
    data = simulated(parameters, clip)
    found = _build(parameters, data.X, method, eps)
    W = found.matrix
    if method == "Gaussian":
        W = W - np.diag(W.diagonal())
    place = np.arange(len(data.X))
    drawn = {
        "eps": None if found.eps is None else found.relative_eps,
        "nmi": judge.score(W, np.unique(data.types, return_inverse=True)[1])[0],
        "mixing": batch_mixing(W, data.batches),
        "perplexity": float(perplexity(W).mean()),
        "image": judge.rounded(len(place) * coarse_grained(W, place, _PIXELS) / _mean_degree(W), 9),
    }
    if found.potential is None:
        return drawn
    return drawn | {"potential": judge.rounded(found.potential / found.mean_cost, 6)}


def _mean_degree(W: Any) -> float:
    return float(W.sum() / W.shape[0])


def _layout(parameters: Parameters, method: str, found: dict[str, Any] | None) -> Any:
    """t-SNE, and how its neighborhoods mix batches and types."""
    opentsne = load_extra("openTSNE", "tsne")
    data = simulated(parameters)
    start = opentsne.initialization.pca(data.X, random_state=parameters.seed)
    if method == "default":
        X = judge.principal(data.X, _DEFAULT_PCS)
        affinities = opentsne.affinity.PerplexityBasedNN(
            X, perplexity=min(_DEFAULT_PERPLEXITY, len(X) / 4), random_state=parameters.seed
        )
    else:
        assert found is not None
        affinities = tsne_affinities(_build(parameters, data.X, method, found["eps"]).matrix)
    model = opentsne.TSNE(
        initialization=start, n_iter=parameters.n_iter, random_state=parameters.seed
    )
    Y = np.asarray(model.fit(affinities=affinities))
    near = knn(Y, min(_NEAR, len(Y) - 1), n_jobs=1).matrix
    return {
        "points": judge.rounded(Y, 3),
        "mixing": batch_mixing(near, data.batches),
        "purity": _purity(near, data.types),
    }


def _purity(W: Any, types: Any) -> float:
    """The share of edges between cells of one type."""
    row, col = W.tocoo().coords
    return float(np.mean(types[row] == types[col]))


EXPERIMENT = Experiment(
    "batch-effects",
    "Simulated batch effects",
    Parameters(),
    Parameters(n=300, n_genes=500, perplexity=20.0, n_iter=250),
    run,
    claims,
)
