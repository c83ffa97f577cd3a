"""The paper's mixture of three Gaussians: clusters by QOT, EOT and k-NN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot.datasets import Mixture, make_mixture
from sparrot.paper import _clusters as judge
from sparrot.paper._angles import eps_grid
from sparrot.paper._bands import bands
from sparrot.paper._frame import Experiment, Numbers
from sparrot.paper._work import Work
from sparrot.paper.mixture_claims import claims

__all__ = ["EXPERIMENT", "Parameters", "claims", "run"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points of each cluster, dimensions, ranges, seeds, and principal components."""

    n: int = 500
    dimensions: tuple[int, ...] = (10, 50, 250)
    shown: int = 50
    eps: tuple[float, ...] = eps_grid(25)
    k: tuple[int, ...] = (5, 10, 15, 25, 50, 75, 100, 125)
    n_seeds: int = 3
    pca: tuple[int, ...] = (2, 5, 10, 25, 50, 100, 250)
    n_values: int = 15

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method == "k-NN" else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Curves and QOT's default first; then what is matched to it, and PCA at the best."""
    seeds = range(parameters.n_seeds)
    keys = [(d, m, s) for s in seeds for d in parameters.dimensions for m in judge.METHODS]
    units: dict[str, Callable[[], Any]] = {
        f"curve-{d}-{m}-{s}": partial(_curve, parameters, d, m, s) for d, m, s in keys
    }
    units |= {f"QOT-{d}": partial(_picture, parameters, d, "QOT") for d in parameters.dimensions}
    found = work.each(units)
    rows = [row for name, part in found.items() if name.startswith("curve") for row in part]
    last = [row for row in rows if row["d"] == max(parameters.dimensions)]
    best = judge.best_parameters(last, {m: parameters.of(m) for m in judge.METHODS})
    target = {d: float(np.mean(found[f"QOT-{d}"]["perplexity"])) for d in parameters.dimensions}
    units = {
        f"EOT-{d}": partial(_picture, parameters, d, "EOT", target[d])
        for d in parameters.dimensions
    }
    units |= {f"pca-{s}": partial(_pca, parameters, s, best) for s in seeds}
    drawn = work.each(units) | found
    data = _data(parameters, parameters.shown, 0)
    shown = judge.shown({m: drawn[f"{m}-{parameters.shown}"] for m in ("QOT", "EOT")})
    pca = [row for s in seeds for row in drawn[f"pca-{s}"]]
    return {
        "scores": rows,
        "score_bands": bands(rows, ("d", "method", "parameter"), "nmi", "angle"),
        "pca": pca,
        "pca_bands": bands(pca, ("method", "parameter", "pca"), "nmi", "angle"),
        "best": [{"method": m, "parameter": value} for m, value in best.items()],
        "spectra": _spectra(drawn, parameters.dimensions),
        "shown": shown | {"d": parameters.shown, "labels": data.labels.tolist()},
        "principal": judge.rounded(judge.principal(data.X, 2), 4),
    }


def _data(parameters: Parameters, d: int, seed: int) -> Mixture:
    return make_mixture(parameters.n, d, random_state=seed)


def _curve(parameters: Parameters, d: int, method: str, seed: int) -> judge.Rows:
    data = _data(parameters, d, seed)
    rows = judge.scores(method, data.X, parameters.of(method), data.labels)
    return [{"d": d, "seed": seed} | row for row in rows]


def _picture(parameters: Parameters, d: int, method: str, target: float | None = None) -> Any:
    data = _data(parameters, d, 0)
    found = judge.matched(method, data.X, target)
    information, angle = judge.score(found.matrix, data.labels)
    drawn = judge.picture(found.matrix, data.labels, parameters.n_values)
    drawn["vectors"] = [row[1:6] for row in drawn["vectors"]]
    return drawn | {"eps": found.relative_eps, "nmi": information, "angle": angle}


def _pca(parameters: Parameters, seed: int, best: dict[str, float]) -> judge.Rows:
    data = _data(parameters, max(parameters.dimensions), seed)
    return [
        {"pca": d, "seed": seed} | row
        for d in parameters.pca
        for X in [judge.principal(data.X, d)]
        for method, parameter in best.items()
        for row in judge.scores(method, X, [parameter], data.labels)
    ]


def _spectra(drawn: dict[str, Any], dimensions: Sequence[int]) -> judge.Rows:
    return [
        {"d": d, "method": m, "index": index + 1, "value": value}
        for d in dimensions
        for m in ("QOT", "EOT")
        for index, value in enumerate(drawn[f"{m}-{d}"]["values"])
    ]


EXPERIMENT = Experiment(
    "mixture",
    "Mixture of three Gaussians",
    Parameters(),
    Parameters(
        n=100, eps=eps_grid(7), k=(5, 10, 20), n_seeds=1, pca=(5, 50, 250), dimensions=(10, 50, 250)
    ),
    run,
    claims,
)
