"""Costs -> potential and plan: regularized optimal transport."""

from sparrot.ot._ctransform import Part, block_levels, first_levels, levels_against, simplex_levels
from sparrot.ot._link import QUADRATIC, Link, tsallis_link
from sparrot.ot._measures import couple
from sparrot.ot._options import SEARCHES, SOLVERS, Options
from sparrot.ot._out_of_sample import new_rows, twins
from sparrot.ot._pairs import PAIR_BYTES, Pairs, Support, compressed, number_of_pairs
from sparrot.ot._pool import Pool, neighbor_graph
from sparrot.ot._sample import Sample, sampled
from sparrot.ot._screening import screen, seconds_of_a_pass
from sparrot.ot._sinkhorn import sinkhorn
from sparrot.ot._solution import Certificate, Solution, marginal_error
from sparrot.ot._solve import Solver

__all__ = [
    "PAIR_BYTES",
    "QUADRATIC",
    "SEARCHES",
    "SOLVERS",
    "Certificate",
    "Link",
    "Options",
    "Pairs",
    "Part",
    "Pool",
    "Sample",
    "Solution",
    "Solver",
    "Support",
    "block_levels",
    "compressed",
    "couple",
    "first_levels",
    "levels_against",
    "marginal_error",
    "neighbor_graph",
    "new_rows",
    "number_of_pairs",
    "sampled",
    "screen",
    "seconds_of_a_pass",
    "simplex_levels",
    "sinkhorn",
    "tsallis_link",
    "twins",
]
