"""UMAP layout of an affinity, by umap-learn.

UMAP samples the edges of a graph, one of weight w first in epoch `max(W) / w`, counted from 0, and
then again after as many epochs: edges below `max(W) / (n_epochs - 1)` are never sampled. Weights of
an affinity span more orders of magnitude than those of UMAP's own graph, so what is left out is
counted.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, triu

from sparrot._types import FloatArray
from sparrot._validation import as_affinity, as_array, as_count, as_positive, as_seed
from sparrot.errors import InvalidInputError, load_extra
from sparrot.layout._tsne import spectral_start

_SMALL = 10_000  # points: up to here umap runs 500 epochs by default, above 200
_STRONGEST = 1e3  # learning rate or repulsion, far beyond all that are of use
_BOX = 10.0  # half the side of umap's cube of random starts
_MUCH = 0.01  # of the weight of all edges: more than this must not be left out without a warning
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class UMAPLayout:
    """A layout, and how much of the graph went into it.

    Attributes
    ----------
    embedding : (n, n_components) coordinates.
    n_epochs : number of epochs.
    n_edges : number of edges `i < j` of the graph.
    n_dropped : how many of them umap left out, with weights below `max(W) / (n_epochs - 1)`.
    dropped_weight : their share of the weight of all edges.
    """

    embedding: FloatArray
    n_epochs: int
    n_edges: int
    n_dropped: int
    dropped_weight: float


def umap_layout(
    W: Any,
    n_components: int = 2,
    *,
    min_dist: float = 0.1,
    spread: float = 1.0,
    n_epochs: int | None = None,
    init: Any = "spectral",
    random_state: int = 0,
    negative_sample_rate: int = 5,
    learning_rate: float = 1.0,
    repulsion_strength: float = 1.0,
    a: float | None = None,
    b: float | None = None,
) -> UMAPLayout:
    """Lay out an affinity as UMAP does its own graph.

    Parameters
    ----------
    W : symmetric affinity: a `sparrot.Affinity` or a matrix.
    n_components : dimension of the layout.
    min_dist, spread, negative_sample_rate, learning_rate, repulsion_strength : as in `umap.UMAP`.
    n_epochs : None for as many as UMAP itself would run: 500, or 200 for more than 10,000 points.
        UMAP leaves out edges of weight below `max(W) / (n_epochs - 1)`; how many these are is in
        the result, and logged, as a warning if they have more than 1 % of the weight.
    init : where to start: `"spectral"`, the leading eigenvectors of W, `"random"`, or an array of
        shape (n, n_components).
    random_state : seed; the result is the same every time.
    a, b : of `1 / (1 + a d^(2b))`, the weight of two points at distance d in the layout. By default
        they follow from `min_dist` and `spread`.

    Returns
    -------
    UMAPLayout
        With `embedding`, `n_epochs`, `n_edges`, `n_dropped` and `dropped_weight`.

    Examples
    --------
    The first call takes a while, as umap-learn compiles its loops:

    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> layout = sparrot.umap_layout(sparrot.qot(X))  # doctest: +SKIP
    >>> layout.embedding.shape, layout.n_dropped  # doctest: +SKIP
    ((100, 2), 0)
    """
    W = csr_array(as_affinity(W))
    n_components = as_count(n_components, "n_components", 10**3)
    rate = _as_strength(learning_rate, "learning_rate")
    repulsion = _as_strength(repulsion_strength, "repulsion_strength")
    negative_sample_rate = as_count(negative_sample_rate, "negative_sample_rate", 10**6)
    umap = _load_umap()
    a, b = curve(min_dist, spread, a, b)
    usual = 500 if W.shape[0] <= _SMALL else 200
    epochs = usual if n_epochs is None else as_count(n_epochs, "n_epochs", 10**9)
    edges = _count_edges(W, epochs)
    seed = as_seed(random_state)
    rng = np.random.default_rng(seed)
    embedding, _ = umap.simplicial_set_embedding(
        data=None,
        graph=csr_matrix(W, copy=True),
        n_components=n_components,
        initial_alpha=rate,
        a=a,
        b=b,
        gamma=repulsion,
        negative_sample_rate=negative_sample_rate,
        n_epochs=epochs,
        init=_start(W, init, n_components, rng),
        random_state=np.random.RandomState(seed),
        metric="euclidean",
        metric_kwds={},
        densmap=False,
        densmap_kwds={},
        output_dens=False,
    )
    return UMAPLayout(np.asarray(embedding, dtype=np.float64), epochs, *edges)


def curve(
    min_dist: float, spread: float, a: float | None = None, b: float | None = None
) -> tuple[float, float]:
    """The a and b of `1 / (1 + a d^(2b))`, as they are given, or by `min_dist` and `spread`.

    Examples
    --------
    >>> curve(0.1, 1.0, 1.5, 0.9)
    (1.5, 0.9)
    """
    if a is not None and b is not None:
        hint = "leave out {a} and {b} for those of {min_dist} and {spread}"
        return as_positive(a, "a", hint), as_positive(b, "b", hint)
    if a is not None or b is not None:
        given, missing = ("a", "b") if b is None else ("b", "a")
        raise InvalidInputError(
            f"is given, and {missing} is not: together they are the curve of the layout",
            parameter=given,
            value=a if b is None else b,
            remedy=["give both", f"leave out {{{given}}}, and set {{min_dist}} and {{spread}}"],
        )
    min_dist = as_positive(min_dist, "min_dist", "0.1 is umap's own")
    spread = as_positive(spread, "spread", "1.0 is umap's own")
    find = _load_umap().find_ab_params
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = find(spread, min_dist)
    except (Warning, ArithmeticError, RuntimeError, ValueError) as error:
        raise InvalidInputError(
            f"and spread, {min_dist:.3g} and {spread:.3g}, give no curve ({error})",
            parameter="min_dist",
            value=(min_dist, spread),
            remedy="take {min_dist=0.1} and {spread=1.0}, umap's own",
        ) from error
    return float(found[0]), float(found[1])


def _as_strength(value: Any, name: str) -> float:
    """How far points move in one step, or away from others."""
    strength = as_positive(value, name, "1.0 is umap's own")
    if strength > _STRONGEST:
        raise InvalidInputError(
            f"must be at most {_STRONGEST:g}, got {strength:g}", parameter=name, value=value
        )
    return strength


def _load_umap() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Tensorflow not installed", ImportWarning)
        return load_extra("umap.umap_", "umap")


def _count_edges(W: csr_array, n_epochs: int) -> tuple[int, int, float]:
    """How many edges there are, how many UMAP drops, and their share of the weight; logged."""
    weights = triu(W, k=1).data
    weights = weights[weights > 0]
    first = n_epochs / (n_epochs * (weights / weights.max(initial=0.0)))  # as umap rounds it
    dropped = first > n_epochs - 1
    share = float(weights[dropped].sum() / weights.sum()) if len(weights) else 0.0
    n_dropped = int(dropped.sum())
    LOG.log(
        logging.WARNING if share > _MUCH else logging.INFO,
        "umap uses %d of the %d edges in %d epochs; %d edges with %.2g of the weight are dropped",
        len(weights) - n_dropped,
        len(weights),
        n_epochs,
        n_dropped,
        share,
    )
    return len(weights), n_dropped, share


def _start(W: csr_array, init: Any, n_components: int, rng: np.random.Generator) -> FloatArray:
    shape = W.shape[0], n_components
    if isinstance(init, str):
        if init == "random":
            return rng.uniform(-_BOX, _BOX, shape)
        if init == "spectral":
            return spectral_start(W, n_components, rng)
        raise InvalidInputError(
            f"must be 'spectral', 'random' or an array, got {init!r}", parameter="init", value=init
        )
    start = np.array(as_array(init, "init"), dtype=np.float64)
    if start.shape != shape:
        raise InvalidInputError(f"must have shape {shape}, got {start.shape}", parameter="init")
    return start
