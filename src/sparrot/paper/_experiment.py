"""What an experiment is, and the list of all of them.

An experiment is one module of this room. It has parameters (the paper's, and a small version), a
`run` that turns them into numbers, `claims` that check sentences of the paper against the numbers,
and a `draw` that turns the numbers into figures; its `EXPERIMENT` binds these together. To add one,
write such a module and add its name to `EXPERIMENTS`.

Functions that only draw are called `draw` or `_draw_...`: they may change without the stored
results of a run being computed again (see `sparrot.paper._work`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparrot.errors import InvalidInputError

if TYPE_CHECKING:
    from sparrot.paper._work import Work

# In the order in which `sparrot reproduce all` runs them.
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

Numbers = dict[str, Any]  # what JSON can hold; a list of flat records is a table


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper, checked against our numbers.

    Attributes
    ----------
    sentence : the words of the paper.
    paper : what the paper reports.
    ours : what we measure.
    criterion : when the claim counts as holding, fixed before the run.
    holds : the verdict; None if the run cannot tell.
    reason : why the claim does not hold, required if it does not; else what should be known about
        it.
    """

    sentence: str
    paper: str
    ours: str
    criterion: str
    holds: bool | None
    reason: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return {True: "holds", False: "does not hold", None: "not tested"}[self.holds]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure or table of the paper.

    Attributes
    ----------
    name, title : for the command line, and for people.
    full, quick : the paper's parameters, and a small version; frozen dataclasses.
    run : parameters and a `Work` to numbers.
    claims : numbers to claims.
    draw : numbers to matplotlib figures, by a suffix for their files.
    """

    name: str
    title: str
    full: Any
    quick: Any
    run: Callable[[Any, Work], Numbers]
    claims: Callable[[Numbers], Sequence[Claim]]
    draw: Callable[[Numbers], dict[str, Any]]


def find_experiment(name: str) -> Experiment:
    """The experiment of a name; its module is imported only now.

    Examples
    --------
    >>> find_experiment("convergence").full.sizes
    (250, 1000)
    """
    if name not in EXPERIMENTS:
        raise InvalidInputError(
            f"must be one of {', '.join(EXPERIMENTS)}, got {name!r}", parameter="name", value=name
        )
    experiment: Experiment = import_module(f"sparrot.paper.{name.replace('-', '_')}").EXPERIMENT
    return experiment


def with_samples(judge: Callable[[Numbers], list[Claim]], numbers: Numbers) -> list[Claim]:
    """Claims by all samples, each with how many of these would fail it alone.

    Samples are the seeds of the records in `numbers`.

    Examples
    --------
    >>> def judge(numbers):
    ...     mean = sum(row["nmi"] for row in numbers["rows"]) / len(numbers["rows"])
    ...     return [Claim("good", "-", f"NMI {mean}", "at least 0.5", mean >= 0.5)]
    >>> with_samples(judge, {"rows": [{"seed": 0, "nmi": 1.0}, {"seed": 1, "nmi": 0.25}]})[0].ours
    'NMI 0.625; alone, 1 of 2 samples would fail'
    """
    tables = {
        key: rows
        for key, rows in numbers.items()
        if isinstance(rows, list) and rows and isinstance(rows[0], dict) and "seed" in rows[0]
    }
    seeds = sorted({row["seed"] for rows in tables.values() for row in rows})
    claims = judge(numbers)
    if len(seeds) < 2:
        return claims
    alone = [
        judge(numbers | {k: [r for r in rows if r["seed"] == s] for k, rows in tables.items()})
        for s in seeds
    ]
    return [
        claim
        if claim.holds is None
        else replace(
            claim,
            ours=f"{claim.ours}; alone, {sum(one[k].holds is False for one in alone)} of "
            f"{len(seeds)} samples would fail",
        )
        for k, claim in enumerate(claims)
    ]


def unless(holds: bool | None, reason: str) -> str:
    """The reason, if a claim does not hold.

    Examples
    --------
    >>> unless(True, "too few points"), unless(False, "too few points")
    ('', 'too few points')
    """
    return reason if holds is False else ""
