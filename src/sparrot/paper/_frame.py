"""What an experiment is: parameters, a run, and sentences of the paper with a verdict each.

To add one: a module here with an `EXPERIMENT`, a module of the same name in `sparrot.plot.paper`
with a `draw(numbers)` that returns figures by name, and a line in `names.EXPERIMENTS`.

All experiments, in the order in which `sparrot reproduce all` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sparrot.paper._work import Work

Numbers = dict[str, Any]  # what JSON can hold; a list of flat records is a table


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper, held against our numbers.

    Attributes
    ----------
    sentence : the words of the paper.
    paper : what the paper has, or says that it has.
    ours : what we measure.
    criterion : when the claim counts as holding, fixed before the run.
    holds : the verdict; None if the run is too small to tell.
    reason : why it does not hold, which a claim that does not must say, or what should be known
        about it.
    """

    sentence: str
    paper: str
    ours: str
    criterion: str
    holds: bool | None
    reason: str = ""

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "holds", False: "does not hold", None: "not tested"}[self.holds]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure or table of the paper.

    Attributes
    ----------
    name, title : what to call it.
    full, quick : the paper's parameters, and few enough for a test; frozen dataclasses.
    run : parameters and a `Work` to numbers.
    claims : numbers to claims.
    """

    name: str
    title: str
    full: Any
    quick: Any
    run: Callable[[Any, Work], Numbers]
    claims: Callable[[Numbers], Sequence[Claim]]


def unless(holds: bool | None, reason: str) -> str:
    """The reason of a claim that does not hold.

    Examples
    --------
    >>> unless(True, "too few points"), unless(False, "too few points")
    ('', 'too few points')
    """
    return reason if holds is False else ""


def find_experiment(name: str) -> Experiment:
    """The experiment of that name.

    Examples
    --------
    >>> find_experiment("convergence").full.sizes
    (250, 1000)
    """
    experiment: Experiment = import_module(module_of(name)).EXPERIMENT
    return experiment


def module_of(name: str) -> str:
    """The module of an experiment.

    Examples
    --------
    >>> module_of("active-set")
    'sparrot.paper.active_set'
    """
    return f"sparrot.paper.{name.replace('-', '_')}"


EXPERIMENTS = (
    "convergence",
    "active-set",
    "robustness",
    "sphere",
    "torus",
    "spiral",
    "spiral-dimensions",
    "mixture",
    "digits",
    "single-cell",
    "batch-effects",
)
