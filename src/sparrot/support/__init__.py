"""Costs -> candidate pairs: levels of points, and screening of all pairs against ceilings."""

from sparrot.support.levels import (
    Part,
    block_levels,
    first_levels,
    levels_against,
    simplex_levels,
)
from sparrot.support.link import QUADRATIC, Link, tsallis_link
from sparrot.support.nearest import nearest
from sparrot.support.pairs import PAIR_BYTES, Pairs, Support, compressed, number_of_pairs
from sparrot.support.pool import Pool, neighbour_graph
from sparrot.support.sample import Sample, sampled
from sparrot.support.screening import screen, seconds_of_a_pass

__all__ = [
    "PAIR_BYTES",
    "QUADRATIC",
    "Link",
    "Pairs",
    "Part",
    "Pool",
    "Sample",
    "Support",
    "block_levels",
    "compressed",
    "first_levels",
    "levels_against",
    "nearest",
    "neighbour_graph",
    "number_of_pairs",
    "sampled",
    "screen",
    "seconds_of_a_pass",
    "simplex_levels",
    "tsallis_link",
]
