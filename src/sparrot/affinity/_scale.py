"""What the user says about the scale: an eps, a perplexity, or a connected graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sparrot._validation import as_positive
from sparrot.affinity._along import Along
from sparrot.affinity._result import Affinity
from sparrot.errors import InvalidInputError

_FEW_POINTS = 30  # with fewer there may be no eps for a given perplexity
_ENTROPIC_EPS = 0.1


@dataclass(frozen=True, slots=True)
class Scale:
    """One of: a relative eps, a mean perplexity, or (neither) the smallest connected eps."""

    eps: float | None = None
    perplexity: float | None = None

    @classmethod
    def of(cls, eps: Any, perplexity: Any) -> Self:
        """Check what was given; nothing at all means eps = 1."""
        if perplexity is not None:
            if eps is not None:
                raise InvalidInputError(
                    f"give eps or perplexity, not both, got eps={eps!r}, perplexity={perplexity!r}"
                )
            hint = "it is an effective number of neighbors, 30 is a good start"
            return cls(perplexity=as_positive(perplexity, "perplexity", hint))
        if isinstance(eps, str):
            if eps != "connected":
                raise InvalidInputError(
                    f"eps must be positive, or 'connected' for the smallest that connects the "
                    f"graph, got {eps!r}"
                )
            return cls()
        hint = "it is relative to the mean cost, 1.0 is a good start"
        return cls(eps=1.0 if eps is None else as_positive(eps, "eps", hint))

    @classmethod
    def of_entropic(cls, eps: Any, perplexity: Any, n: int) -> Self:
        """The same for n points; nothing at all means a perplexity of 30, or n / 10 if less.

        Examples
        --------
        >>> [Scale.of_entropic(None, None, n).perplexity for n in (1000, 200)]
        [30.0, 20.0]
        """
        if eps is not None or perplexity is not None:
            return cls.of(eps, perplexity)
        if n < _FEW_POINTS:
            return cls(eps=_ENTROPIC_EPS)
        return cls(perplexity=min(30.0, n / 10))


def solve_at(along: Along, scale: Scale) -> Affinity:
    """The affinity at the scale that was asked for."""
    if scale.eps is not None:
        return along.at(scale.eps)
    if scale.perplexity is not None:
        return along.perplexity(scale.perplexity)
    return along.connected()
