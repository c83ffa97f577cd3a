"""The one class that has a class of openTSNE for a base; imported where openTSNE is at hand."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from openTSNE.affinity import Affinities
from scipy.optimize import brentq
from scipy.sparse import csr_matrix

from sparrot._types import PointArray
from sparrot._validation import as_affinity, as_array, as_positive
from sparrot.affinity import perplexity as perplexity_of
from sparrot.affinity._neighbors import nearest_of_new
from sparrot.errors import InvalidInputError
from sparrot.sc._distances import named_distance

_SAMPLE = 500  # new points from which the eps for a perplexity is found
_REACH = np.log(1e6)  # that eps is sought within this factor of the affinity's own
_CLOSE = 0.01  # in log eps


class SparrotAffinities(Affinities):  # type: ignore[misc]
    """A sparrot affinity for openTSNE; `sparrot.tsne_affinities` makes it.

    Parameters
    ----------
    W : symmetric affinity; copied, and scaled to sum to one as `P`.
    model, X : the fitted estimator and the points it comes from, for rows of new points; or None.
    """

    def __init__(self, W: Any, model: Any = None, X: PointArray | None = None) -> None:
        super().__init__()
        P = csr_matrix(as_affinity(W))
        self.P = csr_matrix(P / P.sum())
        self.model = model
        self.X = X

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return int(self.P.shape[0])

    def to_new(
        self, data: Any, perplexity: float | None = None, return_distances: bool = False
    ) -> Any:
        """Affinities of new points to the points of the embedding, in rows of sum one.

        Parameters
        ----------
        data : (m, p) new points.
        perplexity : their mean perplexity, reached, if it can be, by another eps with the same
            potentials; None keeps the eps of the affinity. (`embedding.transform` asks for 5.)
        return_distances : also return the nearest points of each new one, ascending, three times
            the perplexity many, and their distances.
        """
        if self.model is None or self.X is None:
            raise InvalidInputError(
                "these affinities have no rows for new points; make them from a fitted QOT, EOT or "
                "Tsallis, from an affinity of qot, eot or tsallis and its points, or use "
                "sparrot.tsne"
            )
        data = as_array(data, "the new points")
        model = self.model if perplexity is None else self._reaching(data, perplexity)
        P = csr_matrix(model.transform(data))
        if not return_distances:
            return P
        k = min(self.n_samples, int(np.ceil(3 * perplexity_of(P).mean())))
        distance = named_distance(self.model.metric)
        return P, *nearest_of_new(data, self.X, k, distance, self.model.n_jobs)

    def _reaching(self, data: PointArray, perplexity: float) -> Any:
        """The model at the eps where a sample of the new rows has the mean perplexity."""
        target = as_positive(perplexity, "perplexity", "it is an effective number of neighbors")
        sample = data[:: max(1, len(data) // _SAMPLE)]
        model = copy.copy(self.model)

        def excess(log_ratio: float) -> float:
            model.eps_ = self.model.eps_ * np.exp(log_ratio)
            return float(perplexity_of(model.transform(sample)).mean()) - target

        if excess(-_REACH) < 0 < excess(_REACH):
            excess(brentq(excess, -_REACH, _REACH, xtol=_CLOSE))
        return model
