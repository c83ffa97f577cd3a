"""An affinity by the name of its kind, with the defaults that the integrations share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import signature
from typing import Any

from sparrot.affinity import EOT, QOT, Affinity, Tsallis, eot, qot, tsallis
from sparrot.errors import InvalidInputError
from sparrot.validation import as_choice

PERPLEXITY = 30.0
_FEW = 10  # points: with fewer there may be no eps for a given perplexity
_log = logging.getLogger(__name__)
_DROP = 1e-3  # entropic rows lose at most this share of their mass, and become sparse
_FUNCTIONS: dict[str, Callable[..., Affinity]] = {"qot": qot, "eot": eot, "tsallis": tsallis}
KINDS = tuple(_FUNCTIONS)
_ESTIMATORS: dict[str, Callable[..., Any]] = {"qot": QOT, "eot": EOT, "tsallis": Tsallis}


def build(X: Any, kind: str, scale: dict[str, Any], **options: Any) -> Affinity:
    """The affinity of some points, sparse whatever the kind."""
    function = _FUNCTIONS[as_choice(kind, "kind", KINDS)]
    return function(X, **_bound(function, kind, scale | options))


def fit(X: Any, kind: str, scale: dict[str, Any], **options: Any) -> Any:
    """The same as a fitted estimator, which has rows for new points."""
    estimator = _ESTIMATORS[as_choice(kind, "kind", KINDS)]
    return estimator(**_bound(estimator, kind, scale | options)).fit(X)


def as_scale(perplexity: Any, eps: Any, n: int) -> dict[str, Any]:
    """What was asked for, eps or perplexity; a perplexity of 30 if nothing was.

    Of few points it is half the number of the others, and of very few eps is 1.

    Examples
    --------
    >>> as_scale(None, None, 100), as_scale(None, "connected", 100)
    ({'perplexity': 30.0}, {'eps': 'connected'})
    >>> as_scale(None, None, 41), as_scale(None, None, 5)
    ({'perplexity': 20.0}, {'eps': 1.0})
    """
    if perplexity is not None and eps is not None:
        raise InvalidInputError(f"give eps or perplexity, not both: {eps!r} and {perplexity!r}")
    if eps is not None:
        return {"eps": eps}
    if perplexity is not None:
        return {"perplexity": perplexity}
    scale = {"perplexity": min(PERPLEXITY, (n - 1) / 2)} if n >= _FEW else {"eps": 1.0}
    if scale != {"perplexity": PERPLEXITY}:
        said = ", ".join(f"{name} is {value:g}" for name, value in scale.items())
        _log.warning("there are only %d points: %s, not perplexity %g", n, said, PERPLEXITY)
    return scale


def _bound(function: Callable[..., Any], kind: str, options: dict[str, Any]) -> dict[str, Any]:
    if kind == "eot":
        options = {"drop": _DROP} | options
    known = [name for name in signature(function).parameters if name != "X"]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InvalidInputError(
            f"{kind} has no parameter {', '.join(unknown)}; it has {', '.join(known)}"
        )
    return options
