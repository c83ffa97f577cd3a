"""The methods by name, and which one solves a problem."""

from __future__ import annotations

import logging
from typing import Protocol

from sparrot._types import FloatArray
from sparrot.engine import Run
from sparrot.errors import InvalidInputError
from sparrot.ot._active_set import ActiveSet
from sparrot.ot._approximate import ApproximateActiveSet
from sparrot.ot._dense import Alternating, DenseNewton
from sparrot.ot._floor import has_full_row
from sparrot.ot._problem import Options, Problem, Solution
from sparrot.ot._sinkhorn import Sinkhorn

# About here the dense and the sparse path take the same time (benchmarks/crossing.py).
CROSSING = 1500
SEARCHES = ("exact", "approximate", "auto")
_TOO_MANY_PRODUCTS = 2e14  # n^2 p up to which an exact search is the faster one
_LOG = logging.getLogger("sparrot")


class Method(Protocol):
    """Solves one problem for any eps, each from what it knows of those before."""

    name: str

    def __init__(self, problem: Problem, options: Options, run: Run) -> None: ...

    def solve(self, problem: Problem, start: FloatArray | None, tol: float) -> Solution:
        """Solve the problem with its eps, from potentials if there are any."""


METHODS: dict[str, type[Method]] = {
    "newton": DenseNewton,
    "active-set": ActiveSet,
    "alternating": Alternating,
    "sinkhorn": Sinkhorn,
}


def make_method(problem: Problem, options: Options, run: Run) -> Method:
    """The method that was asked for, or the one that is fastest for the problem."""
    name = options.method
    if not problem.regularizer.sparse:
        name = "sinkhorn"
    elif name == "auto":
        asked = options.search == "approximate" or options.checkpoint is not None
        name = "newton" if problem.n <= CROSSING and not asked else "active-set"
    if problem.floor is not None and has_full_row(problem.floor, problem.n - problem.hollow):
        name = "newton"  # all pairs carry mass
    if name == "active-set" and _is_approximate(problem, options):
        return ApproximateActiveSet(problem, options, run)
    return METHODS[name](problem, options, run)


def solve(problem: Problem, run: Run, options: Options | None = None) -> Solution:
    """Solve one problem from nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from sparrot.cost import make_cost
    >>> from sparrot.ot import Quadratic
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> with Run() as run:
    ...     solution = solve(Problem(make_cost(X, "sqeuclidean"), Quadratic(1.0)), run)
    >>> solution.converged, solution.certificate.exact, solution.method
    (True, True, 'newton')
    """
    options = options or Options()
    return make_method(problem, options, run).solve(problem, None, options.tol)


def _is_approximate(problem: Problem, options: Options) -> bool:
    """Whether to search in a graph of neighbors: if some are given, or it is the faster way."""
    if options.search == "exact":
        return False
    if options.search == "approximate":
        if problem.cost.points is None:
            raise InvalidInputError(
                "'approximate' works for the metrics sqeuclidean and cosine; others have their "
                "n x n matrix already",
                parameter="search",
                value=options.search,
                remedy="use {search='exact'}",
            )
        if options.neighbors is not None:
            return True
    products = problem.cost.n_products()
    _LOG.info(
        "search=%r is %s here: n^2 p = %.1e, and up to %.0e exact is the faster one",
        options.search,
        "approximate" if products > _TOO_MANY_PRODUCTS else "exact",
        products,
        _TOO_MANY_PRODUCTS,
    )
    return products > _TOO_MANY_PRODUCTS
