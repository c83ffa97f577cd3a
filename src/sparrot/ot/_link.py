r"""From scores to entries: the regularizer's side of the problem.

With scores :math:`s_{ij} = [u_i + u_j - C_{ij}]_+` a plan is :math:`g(s_{ij})` divided by the mass
that every row must carry, :math:`\sum_j g(s_{ij}) = m`. The quadratic regularizer has
:math:`g(s) = s` and mass :math:`\varepsilon`. The q-family has
:math:`g(s) = ((1-q) s / \varepsilon)^{1/(1-q)}` and mass one, its potential shifted by
:math:`\varepsilon / (2 (1 - q))` so that a score of zero is an entry of zero. A share of the points
has the same potentials with the same share of the mass, whatever g is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparrot._types import FloatArray


@dataclass(frozen=True, slots=True)
class Link:
    """The function `g(s) = (factor s)^power` on nonnegative scores, with power >= 1."""

    factor: float = 1.0
    power: float = 1.0

    @property
    def linear(self) -> bool:
        """Whether this is the identity, the link of the quadratic regularizer."""
        return self.power == 1.0 and self.factor == 1.0

    def entry(self, s: FloatArray) -> FloatArray:
        """The value g(s)."""
        return s if self.linear else (self.factor * s) ** self.power

    def slope(self, s: FloatArray) -> FloatArray:
        """The derivative g'(s)."""
        if self.linear:
            return np.ones_like(s)
        return self.power * self.factor * (self.factor * s) ** (self.power - 1)

    def integral(self, s: FloatArray) -> FloatArray:
        """The integral of g from 0 to s."""
        return (self.factor * s) ** (self.power + 1) / (self.factor * (self.power + 1))

    def score(self, entry: FloatArray) -> FloatArray:
        """The score whose entry it is."""
        return entry ** (1 / self.power) / self.factor


QUADRATIC = Link()


def tsallis_link(eps: float, q: float) -> Link:
    """The link of the q-family; at q = 0 the quadratic one with mass one instead of eps."""
    return Link((1 - q) / eps, 1 / (1 - q))
