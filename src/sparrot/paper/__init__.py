"""The experiments of the paper: each runs, checks the paper's claims by its numbers, and draws.

One module per experiment, `sparrot.paper.spiral` for instance, and what several of them share in
private modules. Nothing else in the package but the command line imports this room.
"""

from sparrot.paper._experiment import EXPERIMENTS, Claim, Experiment, Numbers, find_experiment

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "Numbers",
    "find_experiment",
]
