"""Candidate pairs -> potential and plan: one dual problem, one file a solver."""

from sparrot.transport.out_of_sample import new_rows, twins
from sparrot.transport.solution import Certificate, Solution, marginal_error
from sparrot.transport.solve import SOLVERS, SolverOptions, solve

__all__ = [
    "SOLVERS",
    "Certificate",
    "Solution",
    "SolverOptions",
    "marginal_error",
    "new_rows",
    "solve",
    "twins",
]
