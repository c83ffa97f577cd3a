"""Signs that the scale is a poor choice for the data, with the remedy.

The warning of a graph in pieces, and its remedies, are here for all rooms. Code that handles the
pieces of an affinity, as spectral estimators do, gives this warning itself, and builds the affinity
within `leave_pieces_to_caller`, so that it is given once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import ceil
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from sparrot._types import IntArray
from sparrot.affinity._result import Affinity
from sparrot.cost import Cost
from sparrot.errors import AffinityWarning, counted, warn
from sparrot.ot import MIN_NEIGHBORS, is_connected

KEEP_LARGEST = "keep the largest piece alone by {components='largest'}"
LARGER = "take a larger {perplexity}"
_SHAPELESS = "the pieces are nearly complete graphs, in which spectral methods find no shape"
EACH_PIECE = "take every piece by itself by {components='each'}"
_SMALL_SHARE = 0.01  # of the points
_SMALL_SHARE_OF_FEW = 0.05  # of the points, if there are few
_PAIR = 2.5  # participation number of two points among 19 or more: 2 / (1 - 2/n)^2 or a bit less
_COMPLETE = 0.9  # of the pairs of points in one component
_EQUAL = 1e-6  # relative difference of weights, well above the errors of solvers
_MISSED = 0.1  # of the rows, or of the mass of one
_MANY = 0.1  # of all points, that a point has for neighbors
_left_to_caller: ContextVar[bool] = ContextVar("pieces_left_to_caller", default=False)
_better_search: ContextVar[tuple[str, ...]] = ContextVar(
    "better_search",
    default=(
        "give it more neighbors, as in {neighbors=sparrot.KNeighborsTransformer(n_neighbors=60)}",
        "take {search='exact'}",
    ),
)
LOG = logging.getLogger(__name__)


@contextmanager
def leave_pieces_to_caller() -> Iterator[None]:
    """No warning of a graph in pieces by the affinities that are built here, in this thread."""
    token = _left_to_caller.set(True)
    try:
        yield
    finally:
        _left_to_caller.reset(token)


@contextmanager
def better_search(*remedies: str) -> Iterator[None]:
    """In this thread, these are the remedies for a search that misses pairs; or the usual ones."""
    token = _better_search.set(remedies or _better_search.get())
    try:
        yield
    finally:
        _better_search.reset(token)


def ways_to_connect(floors: Any = None, *, clusters: bool = False) -> list[str]:
    """What joins the pieces of a graph, best first, given the floors that it has.

    Pieces that may be `clusters` are hardly joined by the smallest eps that does: the leading
    eigenvectors are then constant on each.

    Examples
    --------
    >>> ways_to_connect()[0]
    'give every point at least 5 effective neighbors, with QOT by {min_neighbors=5}'
    >>> ways_to_connect(5.0)  # doctest: +NORMALIZE_WHITESPACE
    ['raise the floor, {min_neighbors} or {n_neighbors}',
     "take a larger {perplexity}, or {eps='connected'}"]
    """
    floor = "raise the floor, {min_neighbors} or {n_neighbors}"
    if floors is None:
        floor = (
            f"give every point at least {MIN_NEIGHBORS:g} effective neighbors, with QOT by "
            f"{{min_neighbors={MIN_NEIGHBORS:g}}}"
        )
    return [floor, LARGER if clusters else f"{LARGER}, or {{eps='connected'}}"]


def small_size(n: int, floors: Any = None) -> float:
    """How many of n points are few: fewer may be outliers rather than a cluster.

    These are 1 % of the points. But a piece of points that have k effective neighbors each has at
    least k + 1 points (two without a floor), so twice as many are few as well, up to 5 % of the
    points; and two points are always few.

    Examples
    --------
    >>> small_size(5000, 5.0), small_size(300, 5.0), small_size(200, 5.0), small_size(300)
    (50.0, 12.0, 10.0, 4.0)
    """
    smallest = 2.0 if floors is None else 1 + float(np.min(floors))
    return max(_SMALL_SHARE * n, min(2 * smallest, _SMALL_SHARE_OF_FEW * n), _PAIR)


def n_large_pieces(labels: IntArray, floors: Any = None) -> int:
    """How many components have more than few points, so that they may be clusters.

    Examples
    --------
    >>> n_large_pieces(np.repeat([0, 1], [60, 40])), n_large_pieces(np.repeat([0, 1], [98, 2]))
    (2, 1)
    """
    return int((np.bincount(labels) > small_size(len(labels), floors)).sum())


def complete_pieces(W: Any, labels: IntArray, floors: Any = None) -> tuple[str, list[str]] | None:
    """What is wrong with components that are nearly complete graphs, and remedies; None if not.

    Nine of ten pairs of points in one component are joined, and two components at least have more
    points than outliers, or a floor alone, would give them. Such a graph has no shape, and where
    points are equal, no eps gives it one: all weights in a component are then the same, as they
    also are where its points are far nearer to each other than to others.

    Examples
    --------
    >>> two, labels = np.kron(np.eye(2), np.ones((20, 20))), np.repeat([0, 1], 20)
    >>> complete_pieces(two / np.arange(1, 41), labels)[1]
    ['take a smaller {eps}, or a {perplexity} well below 20']
    >>> complete_pieces(two / 20, labels)[1][0]
    'if these points are equal, drop the duplicates'
    >>> complete_pieces(two, np.zeros(40, int)) is None
    True
    """
    sizes = np.bincount(labels)
    few = 2 * (1 + (MIN_NEIGHBORS if floors is None else float(np.min(floors))))
    if (sizes > few).sum() < 2:
        return None
    W = csr_array(W, copy=True)  # whose entries are put in order to be counted
    joined = W.count_nonzero() - np.count_nonzero(W.diagonal())
    if joined < _COMPLETE * (sizes * (sizes - 1)).sum():
        return None
    thin = f"take a smaller {{eps}}, or a {{perplexity}} well below {sizes.max()}"
    if not _are_equal_weights(W, labels):
        return _SHAPELESS, [thin]
    problem = f"{_SHAPELESS}: all weights in a piece are the same, as those of equal points are"
    return problem, ["if these points are equal, drop the duplicates", f"if not, {thin}"]


def _are_equal_weights(W: csr_array, labels: IntArray) -> bool:
    """Whether all weights in a component are the same, and not because they are 1 in any graph."""
    entries = W.tocoo()
    i, j = entries.coords
    weights, where = entries.data[i != j], labels[i[i != j]]
    largest = np.zeros(labels.max() + 1)
    np.maximum.at(largest, where, weights)
    return bool(largest.max() < 1 and (weights >= (1 - _EQUAL) * largest[where]).all())


def in_pieces(
    labels: IntArray,
    floors: Any = None,
    *,
    complete: tuple[str, list[str]] | None = None,
    outliers: str = "",
    by_components: bool = False,
) -> AffinityWarning | None:
    """The warning of a graph with these components; None if there is only one.

    Pieces of many points may be clusters, which nobody wants to connect: what to do then is the
    first of the remedies.

    Parameters
    ----------
    labels : the component of each point.
    floors : on the neighbors of every point, if there are any.
    complete : what `complete_pieces` says of components that are nearly complete graphs.
    outliers : points that are far from all others, in words.
    by_components : whether there is an argument `components`.
    """
    sizes = np.sort(np.bincount(labels))[::-1]
    if len(sizes) == 1:
        return None
    pairs = int((sizes == 2).sum())
    apart = f"; {pairs} {'is an isolated pair' if pairs == 1 else 'are isolated pairs'}"
    clusters = n_large_pieces(labels, floors) > 1
    floor, larger = ways_to_connect(floors, clusters=clusters)
    remedy = [f"if the data is one piece, {floor}", larger]
    remedy += [KEEP_LARGEST] if by_components else []
    remedy += [f"drop these outliers: {outliers}"] if outliers else []
    each = EACH_PIECE if by_components else "look at each by itself"
    if complete is not None:
        what, thinner = complete
        return AffinityWarning(
            f"the graph has {len(sizes)} components, the largest of {counted(sizes[0], 'point')}, "
            f"and {what}",
            remedy=[*thinner, f"if the pieces are clusters, {each}"],
        )
    if clusters:
        remedy.insert(0, f"if the pieces are clusters, {each}")
    elif by_components:
        remedy.append(each)
    return AffinityWarning(
        f"the graph has {len(sizes)} components, the largest of {counted(sizes[0], 'point')}"
        f"{apart if pairs else ''}. Spectral methods will only find these",
        remedy=remedy,
    )


def warn_if_poor(affinity: Affinity, cost: Cost, given_eps: bool, connected: bool) -> None:
    """Warn if outliers make an eps that was given too large, or if the graph is in pieces.

    An eps that was only to be `connected` may be far too large for the same reason.
    """
    for warning in signs_of_poor_choice(affinity, cost, given_eps):
        warn(warning)
    if connected and (dense := _dense(affinity, cost.outliers())) is not None:
        warn(dense)


def signs_of_poor_choice(
    affinity: Affinity, cost: Cost, given_eps: bool
) -> tuple[AffinityWarning, ...]:
    """The warnings themselves; none if all is well."""
    outliers = cost.outliers()
    found = [
        _inflated(outliers, affinity) if given_eps else None,
        None if _left_to_caller.get() else _pieces(affinity, "" if given_eps else outliers),
        _missed(affinity),
    ]
    return tuple(warning for warning in found if warning is not None)


def _inflated(outliers: str, affinity: Affinity) -> AffinityWarning | None:
    """Do a few points carry most of the mean cost?"""
    if not outliers:
        return None
    return AffinityWarning(
        f"{outliers}, so that eps = {affinity.relative_eps:.3g} x mean cost gives "
        f"{affinity.mean_neighbors:.0f} neighbors a row",
        remedy=[
            "drop these outliers",
            "ask for {perplexity=30} or {eps='auto'} instead",
            "take {affinity=sparrot.QOT(perplexity=30, min_neighbors=5)}",
        ][: 3 if _left_to_caller.get() else 2],
    )


def _dense(affinity: Affinity, outliers: str) -> AffinityWarning | None:
    """Does it take very many neighbors to connect the graph?"""
    if not outliers or affinity.mean_neighbors <= _MANY * affinity.matrix.shape[0]:
        return None
    return AffinityWarning(
        f"{outliers}, and to connect them takes eps = {affinity.relative_eps:.3g} x mean "
        f"cost, with {affinity.mean_neighbors:,.0f} neighbors a row",
        remedy=[
            "drop these outliers",
            f"ask for {{perplexity=30}} with {{min_neighbors={MIN_NEIGHBORS:g}}} instead",
        ],
    )


def _pieces(affinity: Affinity, outliers: str) -> AffinityWarning | None:
    """Is the graph connected? It is where one row has all others for neighbors."""
    W = affinity.matrix
    if not issparse(W) and np.count_nonzero(W[0, 1:]) == len(W) - 1:
        return None  # and no copy of a dense matrix
    W = csr_array(W)
    if is_connected(W):
        return None
    labels = connected_components(W, directed=False)[1]
    floors = affinity.min_neighbors
    return in_pieces(labels, floors, complete=complete_pieces(W, labels, floors), outliers=outliers)


def _missed(affinity: Affinity) -> AffinityWarning | None:
    """May an approximate search have missed much? If it missed little, that is logged.

    It is much if many rows lack pairs, or if a row that was checked lacks much of its mass.
    """
    certificate = affinity.certificate
    if certificate is None or certificate.missed_rows == 0:
        return None
    n, share, mass = affinity.matrix.shape[0], certificate.missed_rows, certificate.missed_mass
    percent = f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"
    worst = (
        "; of those that were checked against all points, the worst lacks pairs of "
        f"{mass:.2g} times its mass"
    )
    warning = AffinityWarning(
        f"the approximate search may have left out pairs of up to {percent} of the rows, "
        f"{ceil(round(n * share, 6)):,} of {n:,}{worst if 0 < mass < np.inf else ''}",
        remedy=_better_search.get(),
    )
    if certificate.missed_rows > _MISSED or certificate.missed_mass > _MISSED:
        return warning
    if certificate.violation > 0:
        LOG.info("%s", warning)
    return None
