"""Candidate pairs -> potential and plan: one dual problem, one file a solver."""

from sparrot.solvers.options import SEARCHES, SOLVERS, Options
from sparrot.solvers.out_of_sample import new_rows, twins
from sparrot.solvers.rectangular import couple
from sparrot.solvers.sinkhorn import sinkhorn
from sparrot.solvers.solution import Certificate, Solution, marginal_error
from sparrot.solvers.solve import Solver

__all__ = [
    "SEARCHES",
    "SOLVERS",
    "Certificate",
    "Options",
    "Solution",
    "Solver",
    "couple",
    "marginal_error",
    "new_rows",
    "sinkhorn",
    "twins",
]
