"""The paper's spiral: angles over the parameters, embeddings, interpolation, and PCA.

Interpolation: two bumps on the curve, and barycenters of them by the heat kernel of each affinity
at its best parameter, the time such that the mean perplexity is a quarter of the points. The ground
truth is the path on the ring; the error is the Sinkhorn divergence with the squared distances of
the clean points as costs. The paper does not say where its two measures are; ours are at 0.1 and
0.4 of the length. *Best* is by the paper's judge, and for the paths by whole pairs too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from sparrot._types import FloatArray
from sparrot.affinity import knn
from sparrot.datasets import Spiral, make_spiral
from sparrot.geometry import interpolate, sinkhorn_divergence
from sparrot.paper import _angles as judge
from sparrot.paper._bands import bands
from sparrot.paper._frame import Claim, Experiment, Numbers
from sparrot.paper._work import Work
from sparrot.paper.spiral_claims import claims
from sparrot.spectral import heat_kernel, heat_time, laplacian

__all__ = ["EXPERIMENT", "Claim", "Parameters", "claims", "run"]

_PATHS = (
    ("angle", "reference"),
    *((key, method) for key in judge.JUDGES for method in ("QOT", "EOT", "k-NN")),
)
_DIGITS = 5  # of what is only drawn


@dataclass(frozen=True, slots=True)
class Parameters:
    """Points, dimensions, noise, ranges, seeds, and what the panels (d) and (e) need."""

    n: int = 1000
    d: int = 250
    noise: tuple[float, float] = (0.05, 0.95)
    eps: tuple[float, ...] = judge.eps_grid(25)
    k: tuple[int, ...] = tuple(range(5, 126, 5))
    n_seeds: int = 10
    pca: tuple[int, ...] = (5, 10, 25, 50, 100, 250)
    pca_k: int = 50
    perplexity: float = 250.0
    path: int = 11
    ends: tuple[float, float] = (0.10, 0.40)
    width: float = 0.02
    divergence_eps: float = 0.02

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method in judge.BY_NEIGHBOURS else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Angles first; what needs the best parameter of each method after that."""
    keys = [(m, s) for s in range(parameters.n_seeds) for m in judge.METHODS]
    units = {f"angles-{judge.slug(m)}-{s}": partial(_angles, parameters, m, s) for m, s in keys}
    found = work.each(units)
    rows = judge.table(
        dict(zip(keys, found.values(), strict=True)), {m: parameters.of(m) for m in judge.METHODS}
    )
    curves = {key: judge.curves_of(rows, key) for key in judge.JUDGES}
    best = {
        key: {m: float(parameters.of(m)[int(c.mean(axis=0).argmin())]) for m, c in of.items()}
        for key, of in curves.items()
    }
    chosen = best["angle"]
    panels: dict[str, Callable[[], Any]] = {"data": partial(_data, parameters)}
    panels |= {
        f"embedding-{judge.slug(m)}": partial(_embedding, parameters, m, chosen) for m in chosen
    }
    panels |= {_path_name(key, m): partial(_path, parameters, m, best[key]) for key, m in _PATHS}
    panels |= {f"pca-{s}": partial(_pca, parameters, s, chosen) for s in range(parameters.n_seeds)}
    drawn = work.each(panels)
    paths = {pair: drawn[_path_name(*pair)] for pair in _PATHS}
    pca = [row for s in range(parameters.n_seeds) for row in drawn[f"pca-{s}"]["angles"]]
    errors = work.each(
        {
            _path_name(key, m).replace("path", "divergence"): partial(
                _divergence, parameters, paths["angle", "reference"], paths[key, m]
            )
            for key, m in _PATHS[1:]
        }
    )
    return {
        "eps": list(parameters.eps),
        "k": list(parameters.k),
        "angles": rows,
        "angle_bands": bands(rows, ("method", "parameter"), *judge.JUDGES),
        "best": [
            {"method": m, "parameter": chosen[m], "whole_parameter": best["whole"][m]}
            | {key: judge.best(of, m) for key, of in curves.items()}
            | {"whole_there": judge.at(curves["whole"], m, parameters.of(m).index(chosen[m]))}
            for m in chosen
        ],
        "data": drawn["data"],
        "embeddings": {m: drawn[f"embedding-{judge.slug(m)}"] for m in chosen},
        "paths": {key: {m: paths[key, m] for k, m in _PATHS if k == key} for key in judge.JUDGES},
        "divergence": [
            {"judge": key, "method": m, "s": s, "divergence": error}
            for (key, m), values in zip(_PATHS[1:], errors.values(), strict=True)
            for s, error in zip(_weights(parameters), values, strict=True)
        ],
        "pca": pca,
        "pca_bands": bands(pca, ("method", "d"), *judge.JUDGES),
        "pca_embeddings": drawn["pca-0"]["embeddings"],
    }


def _path_name(key: str, method: str) -> str:
    return f"path-{'whole-' * (key == 'whole')}{judge.slug(method)}"


def _spiral(parameters: Parameters, seed: int) -> Spiral:
    return make_spiral(parameters.n, parameters.d, noise=parameters.noise, random_state=seed)


def _angles(parameters: Parameters, method: str, seed: int) -> list[dict[str, float]]:
    spiral = _spiral(parameters, seed)
    return judge.angles(method, spiral.X, parameters.of(method), judge.reference(spiral))


def _data(parameters: Parameters) -> dict[str, Any]:
    spiral = _spiral(parameters, 0)
    return {
        "t": _rounded(spiral.t),
        "clean": _rounded(spiral.clean),
        "principal": _rounded(_principal(spiral.X, 3)),
    }


def _embedding(parameters: Parameters, method: str, best: dict[str, float]) -> Any:
    spiral = _spiral(parameters, 0)
    return _plane(judge.leading(judge.affinity(method, spiral.X, best[method])))


def _pca(parameters: Parameters, seed: int, best: dict[str, float]) -> dict[str, Any]:
    """Angles and embeddings after a reduction to the leading principal components."""
    spiral = _spiral(parameters, seed)
    truth = judge.reference(spiral)
    rows, embeddings = [], []
    for d in parameters.pca:
        X = _principal(spiral.X, d)
        for method, parameter in (("QOT", best["QOT"]), ("k-NN", float(parameters.pca_k))):
            V = judge.leading(judge.affinity(method, X, parameter))
            rows.append({"method": method, "d": d, "seed": seed} | judge.judged(V, truth))
            embeddings.append({"method": method, "d": d, "points": _plane(V)})
    return {"angles": rows, "embeddings": embeddings if seed == 0 else []}


def _path(parameters: Parameters, method: str, best: dict[str, float]) -> Any:
    """Measures between the two bumps, by the heat kernel of one affinity."""
    spiral = _spiral(parameters, 0)
    if method == "reference":
        W = knn(spiral.clean, 2).matrix
    else:
        W = judge.affinity(method, spiral.X, best[method])
    L = laplacian(W, "symmetric")
    H = heat_kernel(L, heat_time(L, parameters.perplexity))
    mu, nu = (_bump(parameters, end) for end in parameters.ends)
    return _rounded(interpolate(H, mu, nu, parameters.path), 8)


def _bump(parameters: Parameters, center: float) -> FloatArray:
    place = np.arange(parameters.n) / parameters.n
    distance = np.abs((place - center + 0.5) % 1 - 0.5)
    bump = np.exp(-((distance / parameters.width) ** 2) / 2)
    return bump / bump.sum()


def _divergence(parameters: Parameters, truth: Any, path: Any) -> list[float]:
    """How far a path is from the truth, at each of its points."""
    clean = _spiral(parameters, 0).clean
    C = cdist(clean, clean, "sqeuclidean") / 2
    eps = parameters.divergence_eps * float(C.mean())
    return [sinkhorn_divergence(a, b, C, eps) for a, b in zip(path, truth, strict=True)]


def _weights(parameters: Parameters) -> list[float]:
    return [float(s) for s in np.linspace(0, 1, parameters.path)]


def _principal(X: FloatArray, d: int) -> FloatArray:
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return (left * values)[:, :d]


def _plane(V: FloatArray) -> Any:
    """The first two eigenvectors that are not trivial, with mean square one."""
    return _rounded(V[:, 1:3] * np.sqrt(len(V)))


def _rounded(values: FloatArray, digits: int = _DIGITS) -> Any:
    return np.round(values, digits).tolist()


EXPERIMENT = Experiment(
    "spiral",
    "Spiral in high dimension with non-uniform noise",
    Parameters(),
    Parameters(
        n=300,
        eps=judge.eps_grid(9),
        k=(5, 10, 15, 20, 30, 40),
        n_seeds=2,
        pca=(5, 50, 250),
        pca_k=15,
        perplexity=75.0,
        path=5,
    ),
    run,
    claims,
)
