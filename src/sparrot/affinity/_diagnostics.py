"""Signs that the scale is a poor choice for the data, with the remedy."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sparrot.affinity._result import Affinity
from sparrot.cost import Cost
from sparrot.errors import AffinityWarning, counted, warn
from sparrot.ot import MIN_NEIGHBORS

_MISSED = 0.1  # of the rows


def warn_if_poor(affinity: Affinity, cost: Cost, given_eps: bool) -> None:
    """Warn if outliers make an eps that was given too large, or if the graph is in pieces."""
    for warning in signs_of_poor_choice(affinity, cost, given_eps):
        warn(warning)


def signs_of_poor_choice(
    affinity: Affinity, cost: Cost, given_eps: bool
) -> tuple[AffinityWarning, ...]:
    """The warnings themselves; none if all is well."""
    outliers = cost.outliers()
    found = [
        _inflated(outliers, affinity) if given_eps else None,
        _pieces(affinity, outliers, given_eps),
        _missed(affinity),
    ]
    return tuple(warning for warning in found if warning is not None)


def _inflated(outliers: str, affinity: Affinity) -> AffinityWarning | None:
    """Do a few points carry most of the mean cost?"""
    if not outliers:
        return None
    return AffinityWarning(
        f"{outliers}, so that eps = {affinity.relative_eps:.3g} x mean cost gives "
        f"{affinity.n_neighbors:.0f} neighbors a row",
        remedy=["drop these outliers", "ask for {perplexity=30} instead of an eps"],
    )


def _pieces(affinity: Affinity, outliers: str, given_eps: bool) -> AffinityWarning | None:
    """Is the graph connected? Where outliers are to blame, a larger eps is no remedy."""
    count, labels = connected_components(csr_array(affinity.matrix), directed=False)
    if count == 1:
        return None
    sizes = np.sort(np.bincount(labels))[::-1]
    pairs = int((sizes == 2).sum())
    apart = f"; {pairs} {'is an isolated pair' if pairs == 1 else 'are isolated pairs'}"
    remedy = [
        f"if the data is one piece, take a larger {'{eps}' if given_eps else '{perplexity}'}",
        "take {eps='connected'} for the smallest eps that connects it",
    ]
    if affinity.min_neighbors is None:
        remedy.append(
            f"give every point at least {MIN_NEIGHBORS:g} effective neighbors by "
            f"{{min_neighbors={MIN_NEIGHBORS:g}}}"
        )
    if outliers:
        remedy = [] if given_eps else [f"drop these outliers: {outliers}"]
    return AffinityWarning(
        f"the graph has {count} components, the largest of {counted(sizes[0], 'point')}"
        f"{apart if pairs else ''}. Spectral methods will only find these",
        remedy=remedy,
    )


def _missed(affinity: Affinity) -> AffinityWarning | None:
    """May an approximate search have missed much?"""
    certificate = affinity.certificate
    if certificate is None or certificate.missed_rows <= _MISSED:
        return None
    return AffinityWarning(
        f"the approximate search may have left out pairs of up to {certificate.missed_rows:.0%} of "
        f"the rows, the worst by {certificate.violation:.2g} (eps is {affinity.eps:.2g})",
        remedy=[
            "give it more neighbors, as in "
            "{neighbors=sparrot.KNeighborsTransformer(n_neighbors=60)}",
            "take {search='exact'}",
        ],
    )
