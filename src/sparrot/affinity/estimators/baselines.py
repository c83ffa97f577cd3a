"""Kernels and graphs as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from sparrot.affinity.baselines import epanechnikov, gaussian, gaussian_l2, knn, magic
from sparrot.affinity.estimators.base import AffinityEstimator
from sparrot.affinity.result import Affinity
from sparrot.types import PointArray


class KNN(AffinityEstimator):
    """The symmetrised k-nearest-neighbour graph; see `sparrot.knn`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.KNN(k=1).fit_transform(np.arange(4.0)[:, None]).nnz
    6
    """

    def __init__(
        self,
        k: int = 15,
        *,
        metric: str = "sqeuclidean",
        neighbours: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.k = k
        self.metric = metric
        self.neighbours = neighbours
        self.n_jobs = n_jobs

    def _build(self, X: PointArray) -> Affinity:
        return knn(X, **self.get_params(deep=False))


class Gaussian(AffinityEstimator):
    """The Gaussian kernel; see `sparrot.gaussian`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.Gaussian(0.5).fit_transform(np.eye(3)).shape
    (3, 3)
    """

    def __init__(self, bandwidth: float = 1.0, *, metric: str = "sqeuclidean") -> None:
        self.bandwidth = bandwidth
        self.metric = metric

    def _build(self, X: PointArray) -> Affinity:
        return gaussian(X, **self.get_params())


class Epanechnikov(AffinityEstimator):
    """The Epanechnikov kernel; see `sparrot.epanechnikov`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.Epanechnikov(eps=0.1).fit_transform(np.eye(3)).nnz
    3
    """

    def __init__(
        self,
        bandwidth: float | None = None,
        *,
        eps: float | None = None,
        metric: str = "sqeuclidean",
    ) -> None:
        self.bandwidth = bandwidth
        self.eps = eps
        self.metric = metric

    def _build(self, X: PointArray) -> Affinity:
        return epanechnikov(X, **self.get_params())


class GaussianL2(AffinityEstimator):
    """The Frobenius projection of the Gaussian kernel; see `sparrot.gaussian_l2`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.GaussianL2().fit_transform(np.eye(3)).toarray()[0]
    array([0. , 0.5, 0.5])
    """

    def __init__(
        self,
        bandwidth: float = 1.0,
        *,
        metric: str = "sqeuclidean",
        hollow: bool = True,
        tol: float = 1e-8,
    ) -> None:
        self.bandwidth = bandwidth
        self.metric = metric
        self.hollow = hollow
        self.tol = tol

    def _build(self, X: PointArray) -> Affinity:
        return gaussian_l2(X, **self.get_params())


class MAGIC(AffinityEstimator):
    """MAGIC's diffusion operator; see `sparrot.magic`.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> sparrot.MAGIC(k=2, t=1).fit_transform(np.arange(8.0)[:, None]).shape
    (8, 8)
    """

    def __init__(
        self, k: int = 5, *, k_max: int | None = None, decay: float = 1.0, t: int = 3
    ) -> None:
        self.k = k
        self.k_max = k_max
        self.decay = decay
        self.t = t

    def _build(self, X: PointArray) -> Affinity:
        return magic(X, **self.get_params())
