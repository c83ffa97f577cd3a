"""Data with a known answer: made, or read from the data folder."""

from sparrot.datasets.cells import Cells, load_arabidopsis_root, load_pbmc_facs
from sparrot.datasets.dentate import load_dentate_gyrus
from sparrot.datasets.mixture import Mixture, make_mixture
from sparrot.datasets.mnist import Digits, load_mnist
from sparrot.datasets.sphere import make_sphere
from sparrot.datasets.spiral import Spiral, make_spiral
from sparrot.datasets.torus import Torus, make_torus

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
