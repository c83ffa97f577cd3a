"""What can go wrong, in one place; every message says what to do next.

An error knows its parts: which `parameter` is at fault, the `value` that was received, and the
`remedy`. A front end with other names for the arguments, such as the command line, words the same
error in its own names by `worded`: no program has to parse a sentence.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

Spell = Callable[[str, str], str | None]
_BRACES = re.compile(r"\{\{|\}\}|\{((?:[^{}]|\{\{|\}\})*)\}")


def spell_python(name: str, value: str) -> str:
    """An argument as it is written in Python.

    Examples
    --------
    >>> spell_python("eps", ""), spell_python("eps", "'connected'")
    ('eps', "eps='connected'")
    """
    return f"{name}={value}" if value else name


def literal(text: object) -> str:
    """Text of others for a remedy, in which braces mean nothing.

    Examples
    --------
    >>> Worded("is no matrix", remedy=f"pass {literal('a{b}')}").remedy
    'pass a{b}'
    >>> Worded("has no labels", remedy=f"give {{label={literal(repr('a{b}: c!'))}}}").remedy
    "give label='a{b}: c!'"
    """
    return str(text).replace("{", "{{").replace("}", "}}")


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun, in the singular or the plural.

    Examples
    --------
    >>> counted(1, "step"), counted(2000, "step"), counted(0, "entry", "entries")
    ('1 step', '2,000 steps', '0 entries')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


class Worded(Exception):  # noqa: N818
    """A message in parts.

    Parameters
    ----------
    problem : what is wrong; where there is a `parameter`, that is the subject of the sentence.
    parameter : name of the argument at fault, if one is.
    value : what was received for it; of a warning about some points, these points.
    remedy : what to do, or several things of which any helps. Arguments (and functions) in it stand
        in braces, as in `"take {eps='connected'}"`, for others may spell them otherwise; text that
        is not ours goes through `literal`.

    Examples
    --------
    >>> error = Worded("must be positive, got -1", parameter="eps", value=-1,
    ...                remedy=["take 1", "give {perplexity=30}"])
    >>> str(error)
    'eps must be positive, got -1; take 1, or give perplexity=30'
    >>> error.worded(lambda name, value: f"--{name} {value}".strip())
    '--eps must be positive, got -1; take 1, or give --perplexity 30'
    """

    def __init__(
        self,
        problem: str,
        *,
        parameter: str = "",
        value: Any = None,
        remedy: str | Sequence[str] = (),
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.parameter = parameter
        self.value = value
        self.remedies = tuple(filter(None, [remedy] if isinstance(remedy, str) else remedy))

    @property
    def remedy(self) -> str:
        """What to do, in the words of Python."""
        return self._advice(spell_python)

    def worded(self, spell: Spell) -> str:
        """The message with arguments spelled in another way.

        `spell(name, value)` says how; None if there is no such argument: a remedy that needs it is
        then left out.
        """
        subject = self.parameter and (spell(self.parameter, "") or self.parameter)
        sentence = f"{subject} {self.problem}" if subject else self.problem
        advice = self._advice(spell)
        whole = f"{sentence}; {advice}" if advice else sentence
        return " ".join(line.strip() for line in whole.splitlines())  # a value may have several

    def _advice(self, spell: Spell) -> str:
        spelled = [_filled(remedy, spell) for remedy in self.remedies]
        return ", or ".join(remedy for remedy in spelled if remedy is not None)

    def __str__(self) -> str:
        """The message in the words of Python."""
        return self.worded(spell_python)


def _filled(remedy: str, spell: Spell) -> str | None:
    """The remedy with its arguments spelled; None if one of them cannot be."""
    filled, end = "", 0
    for found in _BRACES.finditer(remedy):
        filled, end = filled + remedy[end : found.start()], found.end()
        if found[1] is None:
            filled += found[0][0]
            continue
        name, _, value = found[1].replace("{{", "{").replace("}}", "}").partition("=")
        spelled = spell(name, value)
        if spelled is None:
            return None
        filled += spelled
    return filled + remedy[end:]


class SparrotError(Worded):
    """Base of all errors that sparrot raises on purpose."""


class InvalidInputError(SparrotError, ValueError):
    """An argument is not what the problem needs."""


class NotEnoughMemoryError(SparrotError, MemoryError):
    """The chosen path would not fit in memory; raised before memory runs out."""


class ClusterError(SparrotError, RuntimeError):
    """A cluster of other machines failed, or is gone."""


class MissingExtraError(SparrotError, ImportError):
    """An optional package is needed; the remedy names the extra that brings it."""


class MissingDataError(SparrotError, FileNotFoundError):
    """A data set is not here and cannot be fetched; the message says where it was looked for."""


class NotConvergedError(SparrotError, RuntimeError):
    """The solver stopped before the marginal error reached `tol`.

    The iterate of least marginal error is not lost: `result` holds it, with an honest certificate.
    """

    def __init__(self, problem: str, result: Any, **parts: Any) -> None:
        super().__init__(problem, **parts)
        self.result = result
        self.args = problem, result  # so that the error survives a process boundary

    def __str__(self) -> str:
        """The message in the words of Python, and where the iterate is."""
        return f"{super().__str__()}. The best iterate is in `.result` of this error"


def load_extra(module: str, extra: str) -> Any:
    """Import an optional module, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module.partition('.')[0]}, which is not installed",
            remedy=f"install the extra {extra!r}, as in: pip install 'sparrot[{extra}]'",
        ) from error


class AffinityWarning(Worded, UserWarning):
    """The affinity is right, but may not be what was meant; the remedy says what to try."""


def warn(warning: AffinityWarning) -> None:
    """Warn at the line of the user: the first that is neither here nor in scikit-learn."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.startswith(("sparrot.", "sklearn."))
