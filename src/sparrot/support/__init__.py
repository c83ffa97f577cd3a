"""Costs -> candidate pairs: levels of points, and screening of all pairs against ceilings."""

from sparrot.support.levels import levels_against, simplex_levels
from sparrot.support.pairs import Pairs, Support
from sparrot.support.screening import screen

__all__ = ["Pairs", "Support", "levels_against", "screen", "simplex_levels"]
