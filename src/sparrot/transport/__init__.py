"""Candidate pairs -> potential and plan: one dual problem, one file a solver."""

from sparrot.transport.out_of_sample import new_rows, twins
from sparrot.transport.sinkhorn import sinkhorn
from sparrot.transport.solution import Certificate, Solution, marginal_error
from sparrot.transport.solve import SOLVERS, Options, Solver

__all__ = [
    "SOLVERS",
    "Certificate",
    "Options",
    "Solution",
    "Solver",
    "marginal_error",
    "new_rows",
    "sinkhorn",
    "twins",
]
