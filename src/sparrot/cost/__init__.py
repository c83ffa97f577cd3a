"""Points or matrices -> costs, in units of the mean cost."""

from sparrot.cost._base import SMALL, Cost, Exponents, as_slice, list_hits
from sparrot.cost._boxes import LEAF
from sparrot.cost._matrix import MatrixCost
from sparrot.cost._metrics import (
    costs_to,
    distances_between,
    make_cost,
    require_metric,
    require_tiles,
    with_new,
)
from sparrot.cost._points import PointCost

__all__ = [
    "LEAF",
    "SMALL",
    "Cost",
    "Exponents",
    "MatrixCost",
    "PointCost",
    "as_slice",
    "costs_to",
    "distances_between",
    "list_hits",
    "make_cost",
    "require_metric",
    "require_tiles",
    "with_new",
]
