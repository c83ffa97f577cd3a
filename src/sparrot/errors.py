"""What can go wrong, in one place; every message says what to do next."""

from __future__ import annotations

from typing import Any


class SparrotError(Exception):
    """Base of all errors that sparrot raises on purpose."""


class InvalidInputError(SparrotError, ValueError):
    """An argument is not what the problem needs; the message names the value and the remedy."""


class NotEnoughMemoryError(SparrotError, MemoryError):
    """The chosen path would not fit in memory; raised before memory runs out."""


class AffinityWarning(UserWarning):
    """The affinity is right, but may not be what was meant; the message says what to try."""


class MissingExtraError(SparrotError, ImportError):
    """An optional package is needed; the message names the extra that brings it."""


class MissingDataError(SparrotError, FileNotFoundError):
    """A data set is not here and cannot be fetched; the message says where it was looked for."""


class NotConvergedError(SparrotError, RuntimeError):
    """The solver stopped before the marginal error reached `tol`.

    The iterate of least marginal error is not lost: `result` holds it, with an honest certificate.
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[NotConvergedError], tuple[str, Any]]:
        """Pickle with the result, so that the error survives a process boundary."""
        return type(self), (str(self), self.result)
