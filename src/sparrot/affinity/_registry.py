"""Affinities by the name of their kind: made, fitted, or tuned to another.

The table of kinds is in `sparrot.affinity._kinds`, for code that must not wait for NumPy.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from sklearn.base import clone

from sparrot._types import PointArray
from sparrot._validation import as_choice
from sparrot.affinity._estimator import AffinityEstimator, validated
from sparrot.affinity._kinds import AUTO, KINDS, kinds
from sparrot.affinity._result import Affinity, perplexity, require_affinity
from sparrot.affinity._transport import TransportEstimator
from sparrot.cost import costs_to
from sparrot.errors import InvalidInputError
from sparrot.ot import PERPLEXITY, PERPLEXITY_PRECISION, Secant

LOG = logging.getLogger(__name__)
_ROWS_CHECKED = 16  # by `resume`
_SAME = 1e-6  # of eps or of the largest cost: what points in float32 may err by


def build(X: Any, kind: str, **arguments: Any) -> Affinity:
    """The affinity of some points, at the scale that was asked for or the default of its kind.

    An argument that is None counts as not given, but for `min_neighbors`: that is no floor.

    Examples
    --------
    >>> a = build(np.random.default_rng(0).standard_normal((100, 3)), "qot")
    >>> round(a.perplexity), float(a.min_neighbors.min())
    (30, 5.0)
    """
    return KINDS[as_choice(kind, "kind", kinds())].function(
        X, **with_defaults(kind, np.shape(X)[0], arguments)
    )


def fit(X: Any, kind: str, **arguments: Any) -> Any:
    """The same as a fitted estimator, which has rows for new points if it is one of transport."""
    estimator = KINDS[as_choice(kind, "kind", kinds())].estimator
    return estimator(**with_defaults(kind, np.shape(X)[0], arguments)).fit(X)


def with_defaults(kind: str, n: int, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that were given, and for n points the defaults of the kind for the others.

    Examples
    --------
    >>> with_defaults("qot", 100, {})
    {'min_neighbors': 'auto', 'perplexity': 30.0}
    >>> with_defaults("qot", 41, {"min_neighbors": None}), with_defaults("eot", 5, {})
    ({'perplexity': 20.0}, {'drop': 0.001, 'eps': 1.0})
    """
    chosen = KINDS[kind]
    defaults = dict(chosen.options)
    arguments = dict(arguments)
    if is_auto(arguments.get("min_neighbors", AUTO)):
        arguments.pop("min_neighbors", None)
        defaults |= {} if chosen.floor is None else {"min_neighbors": chosen.floor}
    given = {name: value for name, value in arguments.items() if value is not None}
    unknown = [name for name in given if name not in chosen.parameters]
    if unknown:
        raise InvalidInputError(
            f"is no parameter of {kind}",
            parameter=unknown[0],
            value=given[unknown[0]],
            remedy=f"it has {', '.join(f'{{{name}}}' for name in chosen.parameters)}",
        )
    if not any(name in given for name in chosen.scales):
        scale = chosen.default_scale(n)
        if scale and scale != {"perplexity": PERPLEXITY}:
            taken = ", ".join(f"{name} {value:g}" for name, value in scale.items())
            LOG.warning(
                "%d points are too few for perplexity %g, the default: taking %s",
                n,
                PERPLEXITY,
                taken,
            )
        given = scale | given
    return defaults | given


def is_auto(floor: Any) -> bool:
    """Whether the floor is to be chosen by `Scale.floor`.

    Examples
    --------
    >>> is_auto("auto"), is_auto(5)
    (True, False)
    """
    return isinstance(floor, str) and floor == AUTO


def named_estimator(affinity: Any) -> Any:
    """An unfitted affinity estimator from its name, or a clone of one; None if precomputed.

    An estimator made by its name has the eps and floor of its kind; others are as they were given.

    Examples
    --------
    >>> named_estimator("knn"), named_estimator("qot")
    (KNN(), QOT(eps='auto', min_neighbors='auto'))
    """
    if isinstance(affinity, str) and affinity == "precomputed":
        return None
    if isinstance(affinity, str) and affinity in kinds(symmetric=True):
        return KINDS[affinity].estimator(**KINDS[affinity].unless(()))
    if hasattr(affinity, "fit_transform") and not isinstance(affinity, type):
        return clone(affinity)
    raise InvalidInputError(
        "must be an estimator such as sparrot.QOT(perplexity=30), 'precomputed', or one of "
        f"{', '.join(kinds(symmetric=True))}, got {affinity!r}",
        parameter="affinity",
        value=affinity,
        remedy="pass an affinity itself to fit, with {affinity='precomputed'}",
    )


def match(X: Any, kind: str, to: Any, **arguments: Any) -> Affinity:
    """Build an affinity whose mean perplexity is that of another, as the paper tunes EOT to QOT.

    Parameters
    ----------
    X : points.
    kind : `"qot"`, `"eot"`, `"tsallis"`, `"gaussian"` or `"epanechnikov"`, whose points have more
        neighbors at a larger perplexity or bandwidth.
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
    tunable = tuple(
        name
        for name, each in KINDS.items()
        if each.is_monotone and {"perplexity", "bandwidth"} & {*each.scales}
    )
    chosen = KINDS[as_choice(kind, "kind", tunable)]
    target = _target(to)
    scales = dict.fromkeys((*chosen.scales, "perplexity", "eps", "bandwidth"))
    own = [name for name in scales if name in arguments]
    if own:
        raise InvalidInputError(
            f"is set by match itself, so that the mean perplexity is {target:.3g}, that of `to`",
            parameter=own[0],
            value=arguments[own[0]],
            remedy=f"leave out {', '.join(own)}",
        )
    if "perplexity" in chosen.scales:
        return chosen.function(X, perplexity=target, **arguments)

    what = f"a mean perplexity of {target:g}"
    root = Secant(np.log(0.1), 1.0, PERPLEXITY_PRECISION, what, parameter="to")
    while True:
        found = chosen.function(X, bandwidth=float(np.exp(root.x)), **arguments)
        root.tell(float(np.log(perplexity(found).mean() / target)))
        if root.found:
            return found


def _target(to: Any) -> float:
    if np.ndim(getattr(to, "matrix", to)) != 2:
        raise InvalidInputError(
            f"must be the other affinity or its matrix, got {type(to).__name__}",
            parameter="to",
            value=to,
            remedy="for a number of your own pass {perplexity} to the affinity itself",
        )
    return float(perplexity(to).mean())


def resume(affinity: Affinity, X: Any) -> TransportEstimator:
    """The fitted estimator of an affinity that is there already; nothing is solved.

    Parameters
    ----------
    affinity : a result of `sparrot.qot`, `eot` or `tsallis` (or of another kind of transport that
        is in the table), perhaps from a file.
    X : the points (or costs) it was made from.

    Returns
    -------
    QOT, EOT or Tsallis
        As `fit(X)` would leave it: with `transform` for new points.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> sparrot.resume(sparrot.qot(X), X).transform(X[:3] + 0.01).shape
    (3, 100)
    """
    require_affinity(affinity)
    estimator = KINDS[affinity.kind].estimator if affinity.kind in KINDS else AffinityEstimator
    if affinity.potential is None or not issubclass(estimator, TransportEstimator):
        raise InvalidInputError(
            f"of kind {affinity.kind!r} has no rows for new points",
            parameter="affinity",
            remedy=f"pass one of {', '.join(kinds(transport=True))}",
        )
    if affinity.weights is not None:
        raise InvalidInputError(
            "of points with weights has no rows for new points",
            parameter="affinity",
            remedy="make one without {weights}",
        )
    model = estimator(**estimator._parameters_of(affinity))
    points = validated(model, X, reset=True)
    n = affinity.matrix.shape[0]
    if len(points) != n:
        raise InvalidInputError(
            f"must be the {n} rows of the affinity, got {len(points)}",
            parameter="X",
            remedy="pass the points it was made from, in their order",
        )
    _require_same_data(affinity, points)
    return model._adopt(affinity, points)


def _require_same_data(affinity: Affinity, points: PointArray) -> None:
    """Recompute a few rows from the points and the potential; others would give other rows."""
    assert affinity.eps is not None
    costs = costs_to(points, affinity.metric)
    allowed = affinity.eps * (affinity.drop or 0.0) / len(points)  # what was left out of EOT
    if affinity.certificate is not None:
        allowed += affinity.certificate.violation
    for i in np.unique(np.linspace(0, len(points) - 1, _ROWS_CHECKED).astype(int)):
        with np.errstate(over="ignore", invalid="ignore"):  # others may be of any size
            C = costs(points[i : i + 1])
            rounding = _SAME * max(affinity.eps, float(np.abs(C).max()))
            off = affinity._discrepancy(C, int(i))
        if not off <= allowed + rounding < np.inf:
            raise InvalidInputError(
                f"is not the data of this affinity: its row {i} does not follow from X and the "
                f"potential (by {off / affinity.eps:.2g})",
                parameter="X",
                remedy="pass the points it was made from, in their order",
            )
