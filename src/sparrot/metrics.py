"""Scores: how well an affinity or an embedding shows a structure that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from scipy.special import entr
from sklearn import manifold
from sklearn.metrics import normalized_mutual_info_score

from sparrot._types import FloatArray, PointArray
from sparrot._validation import as_affinity, as_array, as_count, as_labels, as_points
from sparrot.cost import make_cost
from sparrot.errors import InvalidInputError


def mean_principal_angle(A: Any, B: Any) -> float:
    """Mean of the principal angles between the column spaces of A and B, in radians.

    0 if the spaces are the same, pi/2 if they are orthogonal.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.eye(4)[:, :2]
    >>> mean_principal_angle(A, A[:, ::-1]), round(mean_principal_angle(A, np.eye(4)[:, 2:]), 4)
    (0.0, 1.5708)
    """
    A, B = as_array(A, "A"), as_array(B, "B")
    if len(A) != len(B) or not (A.any() and B.any()):
        raise InvalidInputError(
            "and B must have as many rows, and columns that are not zero, got shapes "
            f"{A.shape} and {B.shape}",
            parameter="A",
            value=A.shape,
        )
    return float(np.mean(subspace_angles(_unit_columns(A), _unit_columns(B))))


def _unit_columns(A: PointArray) -> FloatArray:
    """The columns, each divided by its largest entry: they span the same."""
    largest = np.abs(A).max(axis=0)
    return A / np.where(largest > 0, largest, 1.0)


def template_angle(V: Any, labels: Any) -> float:
    """Mean principal angle between the span of V and the indicators of the clusters, in radians.

    The template is the eigenspace of an ideal affinity, in which each cluster is a component. The
    paper takes the 2k leading eigenvectors for k clusters, since some of the first k may show other
    structure.

    Parameters
    ----------
    V : (n, m) eigenvectors, m at least the number of clusters.
    labels : (n,) known cluster of each point.

    Examples
    --------
    >>> import numpy as np
    >>> V = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [1.0, -1.0]])
    >>> round(template_angle(V, ["a", "a", "b", "b"]), 6)
    0.0
    """
    V = as_array(V, "V")
    names, members = np.unique(as_labels(labels, None, "labels"), return_inverse=True)
    if len(V) != len(members) or V.shape[1] < len(names):
        raise InvalidInputError(
            f"must have a row for each of the {len(members)} labels and at least as many columns "
            f"as there are clusters ({len(names)}), got shape {V.shape}",
            parameter="V",
        )
    return mean_principal_angle(V, np.eye(len(names))[members])


def nmi(labels: Any, others: Any) -> float:
    """Normalized mutual information of two clusterings, by scikit-learn: 1 if they are the same.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    """
    labels = as_labels(labels, None, "labels")
    others = as_labels(others, len(labels), "others")
    codes = (np.unique(array, return_inverse=True)[1] for array in (labels, others))
    return float(normalized_mutual_info_score(*codes))


def trustworthiness(X: Any, Y: Any, n_neighbors: int = 15) -> float:
    """To what extent neighbors in an embedding Y are neighbors in X, by scikit-learn: 1 at best.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> trustworthiness(X, X)
    1.0
    """
    points, layout = as_points(X), as_points(Y, name="Y")
    if len(points) != len(layout):
        raise InvalidInputError(
            f"must have a row for each of the {len(points)} points, got shape {layout.shape}",
            parameter="Y",
            value=layout.shape,
        )
    most = max(1, (len(points) - 1) // 2)
    n_neighbors = as_count(n_neighbors, "n_neighbors", most)
    cost, place = make_cost(points, "sqeuclidean"), make_cost(layout, "sqeuclidean")
    scaled = (A / np.sqrt(c.unit) for A, c in ((points, cost), (layout, place)))
    return float(manifold.trustworthiness(*scaled, n_neighbors=n_neighbors))


def batch_mixing(W: Any, batches: Any) -> float:
    r"""How well batches are mixed in the neighborhoods of an affinity, from 0 to 1.

    With p_i the shares of the batches in the row of point i (of :math:`P = D^{-1} W`), q their mean
    over the points, weighted by degree, and H the entropy: :math:`\sum_i \pi_i H(p_i) / H(q)`. It
    is 1 if each neighborhood has the batches of the whole, and 0 if each has one only.

    Parameters
    ----------
    W : (n, n) affinity.
    batches : (n,) batch of each point.

    Examples
    --------
    >>> import numpy as np
    >>> batch_mixing(np.ones((4, 4)), [0, 0, 1, 1])
    1.0
    >>> batch_mixing(np.kron(np.eye(2), np.ones((2, 2))), [0, 0, 1, 1])
    0.0
    """
    W = as_affinity(W)
    names, members = np.unique(as_labels(batches, W.shape[0], "batches"), return_inverse=True)
    if len(names) < 2:
        raise InvalidInputError(
            f"must name at least 2 batches, one for each of the {W.shape[0]} points, got "
            f"{len(names)} over {len(members)} points",
            parameter="batches",
            remedy="pass the name of the batch of each point",
        )
    mass = W @ np.eye(len(names))[members]
    degree = mass.sum(axis=1)
    if not degree.sum() > 0:
        raise InvalidInputError(
            "has no edges, so nothing is mixed",
            parameter="W",
            value=W,
            remedy="pass an affinity with positive entries",
        )
    shares = mass / np.where(degree > 0, degree, 1.0)[:, None]
    local = entr(shares).sum(axis=1) @ degree / degree.sum()
    return float(local / entr(mass.sum(axis=0) / degree.sum()).sum())
