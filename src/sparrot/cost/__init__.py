"""Points or matrices -> costs, in units of the mean cost."""

from sparrot.cost.base import Cost
from sparrot.cost.choose import costs_to, make_cost
from sparrot.cost.matrix import MatrixCost
from sparrot.cost.order import LEAF
from sparrot.cost.points import PointCost

__all__ = ["LEAF", "Cost", "MatrixCost", "PointCost", "costs_to", "make_cost"]
