"""What single eigenvectors say of digits: which they tell apart, and within which they vary."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from sparrot._types import FloatArray, IntArray

_APART = (7, 9)  # the digits that are hard to tell apart


def marks(vectors: FloatArray, labels: IntArray) -> dict[str, float]:
    """The numbers by which the paper's words on eigenvectors are judged.

    Parameters
    ----------
    vectors : (n, 7) the eigenvectors v_2 ... v_8.
    labels : (n,) digits, among them 1, 2, 7 and 9.

    Returns
    -------
    ones_23, twos_23, ones_234, twos_234, ones_5 : share of the indicator of the 1s or the 2s that
        the eigenvectors of these numbers explain.
    within_ones_4 : share of the variance of v_4 that is among the 1s; a quarter by chance.
    apart_8, apart_best : area under the ROC curve of 7s against 9s, by v_8 and by the best.
    """
    told = told_apart(vectors, labels)
    return {
        "ones_23": explained(vectors[:, :2], labels == 1),
        "twos_23": explained(vectors[:, :2], labels == 2),
        "ones_234": explained(vectors[:, :3], labels == 1),
        "twos_234": explained(vectors[:, :3], labels == 2),
        "ones_5": explained(vectors[:, 3:4], labels == 1),
        "within_ones_4": within(vectors[:, 2], labels == 1),
        "apart_8": told[6],
        "apart_best": max(told),
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


def within(v: FloatArray, chosen: Any) -> float:
    """The share of the variance of v that is about the mean of the chosen rows, in them.

    Examples
    --------
    >>> within(np.array([0.0, 0.0, 1.0, -1.0]), np.array([False, False, True, True]))
    1.0
    """
    part = v[chosen]
    return float(np.square(part - part.mean()).sum() / np.square(v - v.mean()).sum())


def told_apart(vectors: FloatArray, labels: IntArray) -> list[float]:
    """How well each column tells the two hard digits apart: 0.5 is chance.

    Examples
    --------
    >>> told_apart(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([7, 9]))
    [1.0, 0.5]
    """
    hard = np.isin(labels, _APART)
    truth = labels[hard] == _APART[0]
    found = [float(roc_auc_score(truth, v)) for v in vectors[hard].T]
    return [max(auc, 1 - auc) for auc in found]


def own_kind(Y: FloatArray, labels: IntArray, kinds: tuple[int, ...], k: int = 15) -> float:
    """The share of points of some kinds most of whose k nearest among these are of their own kind.

    Examples
    --------
    >>> Y = np.arange(40.0)[:, None]
    >>> own_kind(Y, np.repeat([7, 9], 20), (7, 9), k=5) > 0.9
    True
    >>> own_kind(Y, np.tile([7, 9], 20), (7, 9), k=5) < 0.1
    True
    """
    chosen = np.isin(labels, kinds)
    Y, labels = Y[chosen], labels[chosen]
    k = min(k, len(Y) - 1)
    near = NearestNeighbors(n_neighbors=k).fit(Y).kneighbors(return_distance=False)
    own = (labels[near] == labels[:, None]).mean(axis=1)
    return float((own > 1 / 2).mean())
