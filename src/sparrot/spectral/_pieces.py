r"""Graphs in pieces: connected components, and pieces that hang together by next to nothing.

Each connected component has an eigenvalue 1 of its own. Points that the walk hardly ever leaves
have one next to it: if a step leaves m of n points with probability p, their eigenvalue is about
:math:`1 - p\, n / (n - m)`. Where m is small, the graph is one piece in name only, and the leading
eigenvectors tell a few outliers from everything else instead of clusters from each other.

A unit vector v lives on about :math:`1 / \sum_i v_i^4` points, its participation number: m if m
entries are of the same size and the others vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sparrot._types import BoolArray, FloatArray, IntArray
from sparrot.errors import AffinityWarning, InvalidInputError, warn

COMPONENTS = ("warn", "largest", "each", "error")
_NEAR = 1e-3  # distance of an eigenvalue from one
_FEW = 0.01  # of the points
_PAIR = 2.5  # participation number of two points among 19 or more: 2 / (1 - 2/n)^2 or a bit less
_NAMED = 10  # points in a message
_LARGER = "take a larger {eps} or {perplexity}"
_FLOOR = "give every point more neighbors, with QOT by {min_neighbors=5}"


def components_by_size(W: Any) -> IntArray:
    """The connected component of each point, numbered by size, the largest 0.

    Examples
    --------
    >>> import numpy as np
    >>> components_by_size(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    array([1, 0, 0])
    """
    labels = connected_components(csr_array(W), directed=False)[1]
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[labels]


def announce_pieces(labels: IntArray, components: str) -> None:
    """Warn of several components, or refuse them, if `components` is "warn" or "error"."""
    sizes = np.bincount(labels)
    if len(sizes) == 1 or components not in ("warn", "error"):
        return
    problem = (
        f"the graph has {len(sizes)} components, the largest of {sizes[0]} points, and as many "
        "eigenvalues 1: the leading eigenvectors only tell the components apart"
    )
    remedy = (_LARGER, _FLOOR, "pass {components='largest'} or {components='each'}")
    if components == "error":
        raise InvalidInputError(problem, remedy=remedy)
    warn(AffinityWarning(problem, remedy=remedy))


def announce_rest(labels: IntArray, fate: str) -> None:
    """Warn of points outside the largest component, which get NaN or the like."""
    rest = np.flatnonzero(labels)
    if not len(rest):
        return
    warn(
        AffinityWarning(
            f"{len(rest)} of {len(labels)} points are outside the largest of {labels.max() + 1} "
            f"components and get {fate}",
            value=rest,
            remedy=[f"to keep them, {_LARGER}", _FLOOR],
        )
    )


def participation(vectors: FloatArray) -> FloatArray:
    """On how many points each column lives, if its squares sum to one.

    Examples
    --------
    >>> participation(np.array([[0.5, 0.8], [0.5, 0.6], [0.5, 0.0], [0.5, 0.0]])).round(2)
    array([4.  , 1.85])
    """
    return 1 / np.square(np.square(vectors)).sum(axis=0)


def nearly_separate(
    values: FloatArray, vectors: FloatArray, counted: BoolArray, most: float = np.inf
) -> tuple[int, IntArray]:
    """How many pairs within 1e-3 of one live on fewer than 1 % of the points, or on two; and where.

    Only pairs that are `counted` matter, and the trivial one must not be among them. Vectors that
    live on `most` points or more are passed over. A point belongs to a vector if its entry is at
    least half as large as the largest.

    Examples
    --------
    >>> far = np.zeros((100, 1))
    >>> far[[7, 9]] = 2**-0.5
    >>> nearly_separate(np.array([0.9995]), far, np.array([True]))
    (1, array([7, 9]))
    >>> nearly_separate(np.array([0.99]), far, np.array([True]))
    (0, array([], dtype=int64))
    """
    few = min(max(_FEW * len(vectors), _PAIR), most)
    found = counted & (values >= 1 - _NEAR) & (participation(vectors) < few)
    size = np.abs(vectors[:, found])
    return int(found.sum()), np.flatnonzero((2 * size >= size.max(axis=0)).any(axis=1))


def announce_nearly_separate(
    count: int,
    points: IntArray,
    n: int,
    *,
    connected: bool = True,
    names: Sequence[Any] | None = None,
) -> None:
    """Warn of what `nearly_separate` found.

    Parameters
    ----------
    count, points : the pairs, and the points that they belong to.
    n : number of all points.
    connected : False if pairs of other components are among them, with the eigenvalue 1.
    names : of the points; their numbers if None.
    """
    if not count:
        return
    named = ", ".join(str(i if names is None else names[i]) for i in points[:_NAMED])
    leave = "leave them out by {components='largest'}"
    drop = "drop these points, and by {components='largest'} what falls off then"
    warn(
        AffinityWarning(
            f"{count} of the leading eigenvalues {'is' if count == 1 else 'are'} within {_NEAR:g} "
            f"of one and belong{'s' * (count == 1)} to {len(points)} of {n} points "
            f"({named}{', ...' if len(points) > _NAMED else ''}): the graph is "
            f"{'one piece in name only' if connected else 'in pieces'}, and spectral methods find "
            "these points instead of clusters",
            value=points,
            remedy=[_FLOOR, _LARGER, drop if connected else leave],
        )
    )
