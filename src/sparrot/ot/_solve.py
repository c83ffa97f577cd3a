"""The methods by name, and which one solves a problem."""

from __future__ import annotations

import logging
from typing import Any

from sparrot.cost import SMALL
from sparrot.engine import Run
from sparrot.errors import InvalidInputError, NotEnoughMemoryError
from sparrot.ot._active_set import ActiveSet, EqualPoints, many_equal
from sparrot.ot._approximate import ApproximateActiveSet
from sparrot.ot._dense import Alternating, DenseNewton
from sparrot.ot._problem import AnyProblem, Method, Options
from sparrot.ot._sinkhorn import Sinkhorn

SEARCHES = ("exact", "approximate", "auto")
_SMALL_WITH_A_FLOOR = 500  # points up to which the dense path is the faster one
_TOO_MANY_PRODUCTS = 2e14  # n^2 p up to which an exact search is the faster one
LOG = logging.getLogger(__name__)

METHODS: dict[str, type[Method[Any]]] = {
    "newton": DenseNewton,
    "active-set": ActiveSet,
    "approximate-active-set": ApproximateActiveSet,
    "alternating": Alternating,
    "sinkhorn": Sinkhorn,
}
# What may be asked for by name; `search` and the regularizer decide about the others.
SOLVERS = (
    "auto",
    *(name for name in METHODS if name not in ("approximate-active-set", "sinkhorn")),
)


def make_method(problem: AnyProblem, options: Options, run: Run) -> Method[Any]:
    """The method that was asked for, or the one that is fastest for the problem."""
    name = _fastest(problem, options) if options.method == "auto" else options.method
    _require_solves(name, problem)
    if name == "active-set" and _is_approximate(problem, options):
        name = "approximate-active-set"
    first = many_equal(problem, options) if name == "active-set" else None
    if first is not None:
        return EqualPoints(problem, options, run, first)
    return METHODS[name](problem, options, run)


def dense_instead(
    method: Method[Any], problem: AnyProblem, options: Options, run: Run
) -> Method[Any] | None:
    """Dense Newton in the place of an active set that gave up.

    It comes down from easy problems whatever the points are like, and looks at all pairs. None
    where the active set was asked for by name, or the n x n matrix does not fit.
    """
    if method.name != ActiveSet.name or options.method != "auto" or options.max_iter is not None:
        return None
    try:
        dense = METHODS[DenseNewton.name](problem, options, run)
    except NotEnoughMemoryError:
        return None
    LOG.info("the active set did not converge; on with dense Newton on %d points", problem.n)
    return dense


def _fastest(problem: AnyProblem, options: Options) -> str:
    """The dense or the sparse path where both can, else the first method that can."""
    able = [name for name in METHODS if not _lacks(name, problem)]
    if "newton" not in able:
        return able[0]
    asked = options.search == "approximate" or options.checkpoint is not None
    # About there both take the same time (benchmarks/crossing.py).
    few = problem.n <= (SMALL if problem.floor is None else _SMALL_WITH_A_FLOOR)
    return "newton" if (few or problem.has_full_row) and not asked else "active-set"


def _lacks(name: str, problem: AnyProblem) -> str:
    """What of a problem a method does not know; nothing if it solves it."""
    method = METHODS[name]
    if not isinstance(problem.regularizer, method.solves):
        return "this regularizer"
    if problem.floor is not None and not method.knows_floors:
        return "a floor on the neighbors of a row"
    if problem.has_full_row and not method.knows_full_rows:
        return "a floor of all other points"
    if problem.weights is not None and not method.knows_weights:
        return "weights"
    return ""


def _require_solves(name: str, problem: AnyProblem) -> None:
    """Raise unless the method is for such problems."""
    what = _lacks(name, problem)
    if what:
        able = [other for other in SOLVERS[1:] if not _lacks(other, problem)] or ["auto"]
        others = [f"{{solver={other!r}}}" for other in able]
        raise InvalidInputError(
            f"{name!r} does not solve problems with {what}",
            parameter="solver",
            value=name,
            remedy=f"take {' or '.join(others)}",
        )


def _is_approximate(problem: AnyProblem, options: Options) -> bool:
    """Whether to search in a graph of neighbors: if some are given, or it is the faster way."""
    if options.search == "exact":
        return False
    if problem.weights is not None:
        if options.search == "auto":
            return False
        raise InvalidInputError(
            "'approximate' is for points of equal weights",
            parameter="search",
            value=options.search,
            remedy="use {search='exact'}",
        )
    if not problem.cost.is_squared_euclidean:
        if options.search == "auto":
            return False
        raise InvalidInputError(
            "'approximate' is for squared Euclidean costs, those of the metrics sqeuclidean and "
            "cosine",
            parameter="search",
            value=options.search,
            remedy="use {search='exact'}",
        )
    if options.search == "approximate" and options.neighbors is not None:
        return True
    products = problem.cost.n_products()
    LOG.info(
        "search=%r is %s here: n^2 p = %.1e, and up to %.0e exact is the faster one",
        options.search,
        "approximate" if products > _TOO_MANY_PRODUCTS else "exact",
        products,
        _TOO_MANY_PRODUCTS,
    )
    return products > _TOO_MANY_PRODUCTS
