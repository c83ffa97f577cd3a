"""MNIST's 1, 2, 7 and 9: clusters, diffusion components, and the slant of the ones.

The paper's text has 4 times 250 images and N = 750; we take 250 of each. The diffusion components
of the ones alone are laid out by MDS, and the first coordinate of the layout is held against the
slant of each image, measured from its moments. Samples differ: every number is found for each of
several, and the first is drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparrot.affinity import Affinity, perplexity
from sparrot.datasets import Digits, load_mnist
from sparrot.layout import mds_layout
from sparrot.paper import _clusters as judge
from sparrot.paper._angles import eps_grid
from sparrot.paper._bands import bands
from sparrot.paper._frame import Experiment, Numbers
from sparrot.paper._marks import explained, marks, own_kind
from sparrot.paper._work import Work
from sparrot.paper.digits_claims import claims
from sparrot.spectral import DiffusionMap

__all__ = ["EXPERIMENT", "Parameters", "claims", "run"]

SHOWN = ("QOT", "EOT")
_SMALL = 14  # side of the images that are drawn


@dataclass(frozen=True, slots=True)
class Parameters:
    """Which digits, how many of each, ranges, seeds, and diffusion components."""

    digits: tuple[int, ...] = (1, 2, 7, 9)
    n: int = 250
    eps: tuple[float, ...] = eps_grid(17)
    k: tuple[int, ...] = (5, 10, 15, 25, 50, 75, 100, 125)
    n_seeds: int = 5
    n_components: int = 8
    n_values: int = 15
    n_drawn: int = 16

    def of(self, method: str) -> tuple[float, ...]:
        """The range of a method's parameter."""
        return self.k if method == "k-NN" else self.eps


def run(parameters: Parameters, work: Work) -> Numbers:
    """Curves and QOT's default first, then EOT of the same mean perplexity."""
    _data(parameters, 0)  # before any work: is it there?
    seeds = range(parameters.n_seeds)
    units: dict[str, Callable[[], Any]] = {
        f"curve-{m}-{s}": partial(_curve, parameters, m, s) for s in seeds for m in judge.METHODS
    }
    parts = {"all": _all_digits, "ones": _ones}
    names = [(part, s) for part in parts for s in seeds]
    units |= {f"{part}-QOT-{s}": partial(parts[part], parameters, "QOT", s) for part, s in names}
    found = work.each(units)
    found |= work.each(
        {
            f"{part}-EOT-{s}": partial(parts[part], parameters, "EOT", s, target)
            for part, s in names
            for target in [found[f"{part}-QOT-{s}"]["marks"]["perplexity"]]
        }
    )
    data = _data(parameters, 0)
    rows = [row for m in judge.METHODS for s in seeds for row in found[f"curve-{m}-{s}"]]
    return {
        "scores": rows,
        "score_bands": bands(rows, ("method", "parameter"), "nmi", "angle"),
        **{
            part: [
                {"method": m, "seed": s} | found[f"{part}-{m}-{s}"]["marks"]
                for m in SHOWN
                for s in seeds
            ]
            for part in parts
        },
        "shown": judge.shown({m: found[f"all-{m}-0"]["drawn"] for m in SHOWN})
        | {"labels": data.labels.tolist()},
        "principal": judge.rounded(judge.principal(data.X, 2), 4),
        "slants": {m: found[f"ones-{m}-0"]["drawn"] for m in SHOWN},
        "images": _small_images(parameters),
    }


def _data(parameters: Parameters, seed: int) -> Digits:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, about each try to download
        return load_mnist(parameters.digits, parameters.n, random_state=seed)


def _ones_of(parameters: Parameters, seed: int) -> Digits:
    data = _data(parameters, seed)
    return Digits(data.X[data.labels == 1], data.labels[data.labels == 1])


def _curve(parameters: Parameters, method: str, seed: int) -> judge.Rows:
    data = _data(parameters, seed)
    rows = judge.scores(method, data.X, parameters.of(method), data.labels)
    return [{"seed": seed} | row for row in rows]


def _all_digits(
    parameters: Parameters, method: str, seed: int, target: float | None = None
) -> dict[str, Any]:
    """What the eigenvectors of one sample say; of the first, what is drawn too."""
    data = _data(parameters, seed)
    found = judge.matched(method, data.X, target)
    functions = judge.spectrum(found.matrix, parameters.n_components).functions[:, 1:]
    sizes = perplexity(found)
    layout = _layout(parameters, found)
    said = marks(functions, data.labels) | {
        "own_kind": own_kind(np.asarray(layout["layout"]), data.labels, (7, 9)),
        "eps": found.relative_eps,
        "perplexity": float(sizes.mean()),
        "spread": judge.spread(sizes),
    }
    if seed > 0:
        return {"marks": said}
    drawn = judge.picture(found.matrix, data.labels, parameters.n_values)
    drawn["vectors"] = judge.rounded(functions, 4)
    return {
        "marks": said,
        "drawn": drawn | {"eps": found.relative_eps} | layout,
    }


def _layout(parameters: Parameters, found: Affinity) -> dict[str, Any]:
    model = DiffusionMap(parameters.n_components, affinity="precomputed")
    return {"layout": judge.rounded(mds_layout(model.fit_transform(found.matrix)), 4)}


def _ones(
    parameters: Parameters, method: str, seed: int, target: float | None = None
) -> dict[str, Any]:
    """The ones alone: layout of their diffusion components, and its correlation with the slant."""
    data = _ones_of(parameters, seed)
    found = judge.matched(method, data.X, target)
    drawn = _layout(parameters, found)
    Y = np.asarray(drawn["layout"])
    said = {
        "slant": abs(float(np.corrcoef(Y[:, 0], data.slant)[0, 1])),
        "slant_both": float(np.sqrt(explained(Y, data.slant))),
        "perplexity": float(perplexity(found).mean()),
    }
    drawn |= {"slant": judge.rounded(data.slant, 4)}
    return {"marks": said} | ({"drawn": drawn} if seed == 0 else {})


def _small_images(parameters: Parameters) -> Any:
    """Some of the ones, of half the size, over the range of slants."""
    data = _ones_of(parameters, 0)
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
