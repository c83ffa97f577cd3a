"""Data with a known answer: made, or read from the data folder."""

from sparrot.datasets._cells import Cells, load_arabidopsis_root, load_dentate_gyrus, load_pbmc_facs
from sparrot.datasets._digits import Digits, load_mnist
from sparrot.datasets._synthetic import (
    Mixture,
    Spiral,
    Torus,
    make_mixture,
    make_sphere,
    make_spiral,
    make_torus,
)

__all__ = [
    "Cells",
    "Digits",
    "Mixture",
    "Spiral",
    "Torus",
    "load_arabidopsis_root",
    "load_dentate_gyrus",
    "load_mnist",
    "load_pbmc_facs",
    "make_mixture",
    "make_sphere",
    "make_spiral",
    "make_torus",
]
