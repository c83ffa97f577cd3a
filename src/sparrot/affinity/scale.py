"""What the user says about the scale: an eps, a perplexity, or a connected graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sparrot.affinity.along import Along
from sparrot.affinity.result import Affinity
from sparrot.errors import InvalidInputError
from sparrot.validation import as_positive


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
            hint = "it is an effective number of neighbours, 30 is a good start"
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


def solve_at(along: Along, scale: Scale) -> Affinity:
    """The affinity at the scale that was asked for."""
    if scale.eps is not None:
        return along.at(scale.eps)
    if scale.perplexity is not None:
        return along.perplexity(scale.perplexity)
    return along.connected()
