"""Scores: how well an affinity or an embedding shows a structure that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from scipy.special import entr
from sklearn import manifold
from sklearn.metrics import normalized_mutual_info_score

from sparrot._validation import as_affinity
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
    return float(np.mean(subspace_angles(np.asarray(A), np.asarray(B))))


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
    V = np.asarray(V, dtype=np.float64)
    names, members = np.unique(np.asarray(labels), return_inverse=True)
    if V.ndim != 2 or len(V) != len(members) or V.shape[1] < len(names):
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
    return float(normalized_mutual_info_score(labels, others))


def trustworthiness(X: Any, Y: Any, n_neighbors: int = 15) -> float:
    """To what extent neighbors in an embedding Y are neighbors in X, by scikit-learn: 1 at best.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> trustworthiness(X, X)
    1.0
    """
    return float(manifold.trustworthiness(X, Y, n_neighbors=n_neighbors))


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
    names, members = np.unique(np.asarray(batches), return_inverse=True)
    if len(members) != W.shape[0] or len(names) < 2:
        raise InvalidInputError(
            f"must name at least 2 batches, one for each of the {W.shape[0]} points, got "
            f"{len(names)} over {len(members)} points",
            parameter="batches",
        )
    mass = W @ np.eye(len(names))[members]
    degree = mass.sum(axis=1)
    local = entr(mass / degree[:, None]).sum(axis=1) @ degree / degree.sum()
    return float(local / entr(mass.sum(axis=0) / degree.sum()).sum())
