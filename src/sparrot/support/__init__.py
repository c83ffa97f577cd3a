"""Costs -> candidate pairs: levels of points, and screening of all pairs against ceilings."""

from sparrot.support.levels import block_levels, levels_against, simplex_levels
from sparrot.support.link import QUADRATIC, Link, tsallis_link
from sparrot.support.nearest import nearest
from sparrot.support.pairs import Pairs, Support, compressed, number_of_pairs
from sparrot.support.screening import screen

__all__ = [
    "QUADRATIC",
    "Link",
    "Pairs",
    "Support",
    "block_levels",
    "compressed",
    "levels_against",
    "nearest",
    "number_of_pairs",
    "screen",
    "simplex_levels",
    "tsallis_link",
]
