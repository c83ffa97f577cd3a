"""An affinity by the name of its kind, with the defaults that the integrations share."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from sparrot.affinity import EOT, QOT, Affinity, Tsallis, eot, qot, tsallis
from sparrot.errors import InvalidInputError
from sparrot.validation import as_choice

PERPLEXITY = 30.0
_DROP = 1e-3  # entropic rows lose at most this share of their mass, and become sparse
_FUNCTIONS: dict[str, Callable[..., Affinity]] = {"qot": qot, "eot": eot, "tsallis": tsallis}
_ESTIMATORS: dict[str, Callable[..., Any]] = {"qot": QOT, "eot": EOT, "tsallis": Tsallis}


def build(X: Any, kind: str, scale: dict[str, Any], **options: Any) -> Affinity:
    """The affinity of some points, sparse whatever the kind."""
    function = _FUNCTIONS[as_choice(kind, "kind", tuple(_FUNCTIONS))]
    return function(X, **_bound(function, kind, scale | options))


def fit(X: Any, kind: str, scale: dict[str, Any], **options: Any) -> Any:
    """The same as a fitted estimator, which has rows for new points."""
    estimator = _ESTIMATORS[as_choice(kind, "kind", tuple(_ESTIMATORS))]
    return estimator(**_bound(estimator, kind, scale | options)).fit(X)


def as_scale(perplexity: Any, eps: Any) -> dict[str, Any]:
    """What was asked for, eps or perplexity; a perplexity of 30 if nothing was.

    Examples
    --------
    >>> as_scale(None, None), as_scale(None, "connected")
    ({'perplexity': 30.0}, {'eps': 'connected'})
    """
    if perplexity is not None and eps is not None:
        raise InvalidInputError(f"give eps or perplexity, not both: {eps!r} and {perplexity!r}")
    if eps is not None:
        return {"eps": eps}
    return {"perplexity": PERPLEXITY if perplexity is None else perplexity}


def _bound(function: Callable[..., Any], kind: str, options: dict[str, Any]) -> dict[str, Any]:
    if kind == "eot":
        options = {"drop": _DROP} | options
    known = signature(function).parameters
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InvalidInputError(
            f"{kind} has no parameter {', '.join(unknown)}; it has {', '.join(known)}"
        )
    return options
