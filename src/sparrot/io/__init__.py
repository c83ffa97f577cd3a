"""Points and affinities in files."""

from sparrot.io._affinities import load, save
from sparrot.io._formats import read_points

__all__ = [
    "load",
    "read_points",
    "save",
]
