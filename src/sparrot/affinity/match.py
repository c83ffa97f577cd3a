"""One affinity tuned to the effective number of neighbours of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparrot.affinity.along import PERPLEXITY_PRECISION, find_root
from sparrot.affinity.baselines import epanechnikov, gaussian
from sparrot.affinity.eot import eot, tsallis
from sparrot.affinity.perplexity import perplexity
from sparrot.affinity.qot import qot
from sparrot.affinity.result import Affinity
from sparrot.errors import InvalidInputError
from sparrot.validation import as_choice

_BY_PERPLEXITY: dict[str, Callable[..., Affinity]] = {"qot": qot, "eot": eot, "tsallis": tsallis}
_BY_BANDWIDTH: dict[str, Callable[..., Affinity]] = {
    "gaussian": gaussian,
    "epanechnikov": epanechnikov,
}


def match(X: Any, kind: str, to: Any, **arguments: Any) -> Affinity:
    """Build an affinity whose mean perplexity is that of another, as the paper tunes EOT to QOT.

    Parameters
    ----------
    X : points.
    kind : `"eot"`, `"qot"`, `"tsallis"`, `"gaussian"` or `"epanechnikov"`.
    to : the other affinity, or a matrix.
    arguments : passed on to the function of that name.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> a = sparrot.qot(X)
    >>> b = sparrot.match(X, "eot", a)
    >>> bool(np.isclose(sparrot.perplexity(a).mean(), sparrot.perplexity(b).mean(), rtol=0.01))
    True
    """
    kind = as_choice(kind, "kind", (*_BY_PERPLEXITY, *_BY_BANDWIDTH))
    target = _target(to)
    own = [name for name in ("perplexity", "eps", "bandwidth") if name in arguments]
    if own:
        raise InvalidInputError(
            f"match sets the scale itself, so that the mean perplexity is {target:.3g}, that of "
            f"`to`; leave out {', '.join(own)}"
        )
    if kind in _BY_PERPLEXITY:
        return _BY_PERPLEXITY[kind](X, perplexity=target, **arguments)
    build = _BY_BANDWIDTH[kind]

    def excess(log_h: float) -> float:
        matrix = build(X, float(np.exp(log_h)), **arguments).matrix
        return float(np.log(perplexity(matrix).mean() / target))

    what = f"a mean perplexity of {target:g}"
    log_h, _ = find_root(excess, np.log(0.1), 1.0, PERPLEXITY_PRECISION, what)
    return build(X, float(np.exp(log_h)), **arguments)


def _target(to: Any) -> float:
    if np.ndim(getattr(to, "matrix", to)) != 2:
        raise InvalidInputError(
            f"to must be the other affinity or its matrix, got {type(to).__name__}; for a number "
            "of your own pass perplexity= to the affinity itself"
        )
    return float(perplexity(to).mean())
