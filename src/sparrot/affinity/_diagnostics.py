"""Points that spoil the scale of a data set: a few that are far from all, and duplicates.

Signs that the default is a poor choice for the data, with the remedy.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sparrot.affinity._result import Affinity
from sparrot.affinity._scale import Scale
from sparrot.cost import MatrixCost, PointCost
from sparrot.errors import AffinityWarning

_FEW = 0.01  # of the points
_MUCH = 0.5  # of the mean cost


def heavy_points(cost: PointCost | MatrixCost) -> str:
    """Which few points make up most of the mean cost, a sum of one share for each; "" if none.

    Examples
    --------
    >>> heavy_points(PointCost(np.r_[np.linspace(0, 1, 199), 1e3][:, None]))
    '1 of 200 points (row 199) makes up 99% of the mean cost'
    """
    shares = cost.shares()
    order = np.argsort(shares)[::-1]
    carried = shares[order].cumsum()
    n_few = 1 + int(np.searchsorted(carried, _MUCH))
    if cost.n < 1 / _FEW or n_few > max(1.0, _FEW * cost.n):
        return ""
    named = ", ".join(str(i) for i in order[:n_few][:5]) + (", ..." if n_few > 5 else "")
    row, make = ("row", "makes") if n_few == 1 else ("rows", "make")
    share = carried[n_few - 1]
    return f"{n_few} of {cost.n} points ({row} {named}) {make} up {share:.0%} of the mean cost"


def duplicates(cost: PointCost | MatrixCost) -> str:
    """How many points equal an earlier one; "" if none does, or if there are only costs.

    Examples
    --------
    >>> duplicates(PointCost(np.array([[0.0], [1.0], [0.0], [0.0]])))
    '2 of 4 points are duplicates of others'
    """
    if isinstance(cost, MatrixCost):
        return ""
    n_equal = cost.n - len(np.unique(cost.points, axis=0))
    are = "is a duplicate of another" if n_equal == 1 else "are duplicates of others"
    return f"{n_equal} of {cost.n} points {are}" if n_equal else ""


_MISSED = 0.1  # of the rows


def warn_if_poor(affinity: Affinity, cost: PointCost | MatrixCost, scale: Scale) -> None:
    """Warn if outliers make the eps that was given too large, or if the graph is in pieces."""
    for message in signs_of_poor_choice(affinity, cost, scale):
        warnings.warn(message, AffinityWarning, stacklevel=_outside())


def signs_of_poor_choice(
    affinity: Affinity, cost: PointCost | MatrixCost, scale: Scale
) -> tuple[str, ...]:
    """The sentences of these warnings; none if all is well."""
    heavy = heavy_points(cost)
    messages = [
        _outliers(heavy, affinity) if scale.eps is not None else "",
        _pieces(affinity, heavy, scale),
        _missed(affinity),
    ]
    return tuple(filter(None, messages))


def _missed(affinity: Affinity) -> str:
    """May an approximate search have missed much?"""
    certificate = affinity.certificate
    if certificate is None or certificate.missed_rows <= _MISSED:
        return ""
    return (
        f"the approximate search may have left out pairs of up to {certificate.missed_rows:.0%} of "
        f"the rows, the worst by {certificate.violation:.2g} (eps is {affinity.eps:.2g}); give it "
        "more neighbors, as in neighbors=sparrot.KNeighborsTransformer(n_neighbors=60), or "
        "search='exact'"
    )


def _outside() -> int:
    """The stack level of the caller's own line: the first that is not in this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sparrot."):
        level, frame = level + 1, frame.f_back
    return level


def _outliers(heavy: str, affinity: Affinity) -> str:
    """Do a few points carry most of the mean cost?"""
    if not heavy:
        return ""
    return (
        f"{heavy}, so that eps = {affinity.relative_eps:.3g} x mean cost gives "
        f"{affinity.n_neighbors:.0f} neighbors a row; drop these outliers, or ask for "
        "perplexity=30 instead of an eps"
    )


def _pieces(affinity: Affinity, heavy: str, scale: Scale) -> str:
    """Is the graph connected? Where outliers are to blame, a larger eps is no remedy."""
    count, labels = connected_components(csr_array(affinity.matrix), directed=False)
    if count == 1:
        return ""
    sizes = np.sort(np.bincount(labels))[::-1]
    pairs = int((sizes == 2).sum())
    apart = f"; {pairs} {'is an isolated pair' if pairs == 1 else 'are isolated pairs'}"
    remedy = (
        " If the data is one piece, take a larger eps, or eps='connected' for the smallest that "
        "connects it"
    )
    if heavy:
        remedy = "" if scale.eps is not None else f" {heavy}; drop these outliers"
    return (
        f"the graph has {count} components, the largest of {sizes[0]} points"
        f"{apart if pairs else ''}. Spectral methods will only find these.{remedy}"
    )
