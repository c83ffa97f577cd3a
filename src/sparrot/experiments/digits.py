"""MNIST's 1, 2, 7 and 9: clusters, diffusion components, and the slant of the ones.

The paper's text has 4 times 250 images and N = 750; we take 250 of each. The diffusion components
of the ones alone are laid out by MDS, and the first coordinate of the layout is held against the
slant of each image, measured from its moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sparrot.affinity import perplexity
from sparrot.datasets import Digits, load_mnist
from sparrot.embedding import DiffusionMap, mds_layout
from sparrot.experiments import clusters as judge
from sparrot.experiments.angles import eps_grid
from sparrot.experiments.bands import bands
from sparrot.experiments.digits_claims import claims
from sparrot.experiments.frame import Experiment, Numbers
from sparrot.experiments.work import Work
from sparrot.types import FloatArray

__all__ = ["EXPERIMENT", "Parameters", "claims", "run"]

SHOWN = ("QOT", "EOT")
_APART = (7, 9)  # the digits that are hard to tell apart
_SMALL = 14  # side of the images that are drawn


@dataclass(frozen=True, slots=True)
class Parameters:
    """Which digits, how many of each, ranges, seeds, and diffusion components."""

    digits: tuple[int, ...] = (1, 2, 7, 9)
    n: int = 250
    eps: tuple[float, ...] = eps_grid(17)
    k: tuple[int, ...] = (5, 10, 15, 25, 50, 75, 100, 125)
    n_seeds: int = 3
    n_components: int = 8
    n_values: int = 15
    n_drawn: int = 40

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method == "k-NN" else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Curves and QOT's default first, then EOT of the same mean perplexity."""
    seeds = range(parameters.n_seeds)
    units: dict[str, Callable[[], Any]] = {
        f"curve-{m}-{s}": partial(_curve, parameters, m, s) for s in seeds for m in judge.METHODS
    }
    units |= {"QOT": partial(_picture, parameters, "QOT"), "ones-QOT": partial(_ones, parameters)}
    found = work.each(units)
    targets = {name: float(np.mean(found[name]["perplexity"])) for name in ("QOT", "ones-QOT")}
    found |= work.each(
        {
            "EOT": partial(_picture, parameters, "EOT", targets["QOT"]),
            "ones-EOT": partial(_ones, parameters, "EOT", targets["ones-QOT"]),
        }
    )
    data = _data(parameters, 0)
    rows = [row for m in judge.METHODS for s in seeds for row in found[f"curve-{m}-{s}"]]
    return {
        "scores": rows,
        "score_bands": bands(rows, ("method", "parameter"), "nmi", "angle"),
        "shown": judge.shown({m: found[m] for m in SHOWN}) | {"labels": data.labels.tolist()},
        "principal": judge.rounded(judge.principal(data.X, 2), 4),
        "ones": {m: found[f"ones-{m}"] for m in SHOWN},
        "images": _small_images(parameters),
    }


def _data(parameters: Parameters, seed: int) -> Digits:
    return load_mnist(parameters.digits, parameters.n, random_state=seed)


def _ones_of(parameters: Parameters) -> Digits:
    data = _data(parameters, 0)
    return Digits(data.X[data.labels == 1], data.labels[data.labels == 1])


def _curve(parameters: Parameters, method: str, seed: int) -> judge.Rows:
    data = _data(parameters, seed)
    rows = judge.scores(method, data.X, parameters.of(method), data.labels)
    return [{"seed": seed} | row for row in rows]


def _picture(parameters: Parameters, method: str, target: float | None = None) -> Any:
    data = _data(parameters, 0)
    found = judge.matched(method, data.X, target)
    drawn = judge.picture(found.matrix, data.labels, parameters.n_values)
    vectors = np.asarray(drawn["vectors"])[:, 1 : parameters.n_components]
    return drawn | {
        "eps": found.relative_eps,
        "vectors": vectors.tolist(),
        "explained": {str(d): explained(vectors[:, :2], data.labels == d) for d in (1, 2)},
        "apart": _best_auc(vectors, data),
        "layout": _layout(found.matrix, parameters.n_components),
    }


def explained(V: FloatArray, values: Any) -> float:
    """The share of the variance of values that a linear function of V explains.

    Examples
    --------
    >>> explained(np.array([[0.0], [0.0], [2.0], [2.0]]), [False, False, True, True])
    1.0
    """
    y = np.asarray(values, dtype=np.float64)
    A = np.column_stack([np.ones(len(y)), V])
    left = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return round(1 - float(left @ left) / float(np.square(y - y.mean()).sum()), 6)


def _best_auc(vectors: FloatArray, data: Digits) -> float:
    """How well the best single eigenvector tells the two hard digits apart; 0.5 is chance."""
    hard = np.isin(data.labels, _APART)
    truth = data.labels[hard] == _APART[0]
    found = [roc_auc_score(truth, v) for v in vectors[hard].T]
    return float(max(max(auc, 1 - auc) for auc in found))


def _layout(W: Any, n_components: int) -> Any:
    model = DiffusionMap(n_components, affinity="precomputed")
    return judge.rounded(mds_layout(model.fit_transform(W)), 4)


def _ones(parameters: Parameters, method: str = "QOT", target: float | None = None) -> Any:
    """The ones alone: layout of their diffusion components, and its correlation with the slant."""
    data = _ones_of(parameters)
    found = judge.matched(method, data.X, target)
    layout = _layout(found.matrix, parameters.n_components)
    first = [point[0] for point in layout]
    return {
        "layout": layout,
        "slant": judge.rounded(data.slant, 4),
        "correlation": abs(float(np.corrcoef(first, data.slant)[0, 1])),
        "correlation_of_both": float(np.sqrt(explained(np.asarray(layout), data.slant))),
        "perplexity": judge.rounded(perplexity(found), 3),
    }


def _small_images(parameters: Parameters) -> Any:
    """Some of the ones, of half the size, over the range of slants."""
    data = _ones_of(parameters)
    order = np.argsort(data.slant)
    rows = order[np.linspace(0, len(order) - 1, min(parameters.n_drawn, len(order))).astype(int)]
    small = data.images[rows].reshape(-1, _SMALL, 2, _SMALL, 2).mean(axis=(2, 4))
    return {"rows": rows.tolist(), "pixels": judge.rounded(small, 2)}


EXPERIMENT = Experiment(
    "digits",
    "MNIST handwritten digits",
    Parameters(),
    Parameters(n=60, eps=eps_grid(7), k=(5, 10, 20), n_seeds=1),
    run,
    claims,
)
