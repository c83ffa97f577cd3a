"""What a long run has found so far, in a file from which another can go on."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparrot._files import whole_file
from sparrot._types import FloatArray
from sparrot.errors import InvalidInputError
from sparrot.ot._problem import SparseProblem
from sparrot.ot._screening import Pairs

_SCHEMA = 1
_BROKEN = (KeyError, ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class State:
    """What the active set has found: potentials, ceilings, and the pairs below them."""

    u: FloatArray
    r: FloatArray
    pairs: Pairs


class Checkpoint:
    """Potentials, ceilings and pairs of one set of points, saved after every round.

    The pairs below given ceilings depend on the points alone, so a file serves a later run with any
    eps; that it belongs to the same points is checked.
    """

    def __init__(self, path: Path, problem: SparseProblem) -> None:
        self._path = path
        kind = "hollow" if problem.hollow else "fat"
        self._fingerprint = f"{problem.cost.fingerprint()} {kind}"

    def save(self, state: State) -> None:
        """Write the state; a file that was there stays whole until it is replaced."""
        with whole_file(self._path) as temporary, temporary.open("wb") as stream:
            np.savez(
                stream,
                schema=_SCHEMA,
                fingerprint=self._fingerprint,
                u=state.u,
                r=state.r,
                i=state.pairs.i,
                j=state.pairs.j,
                cost=state.pairs.cost,
            )

    def load(self) -> State | None:
        """The state in the file; None if there is no file."""
        if not self._path.exists():
            return None
        try:
            if not zipfile.is_zipfile(self._path):
                raise zipfile.BadZipFile("no archive")
            with self._path.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
                if int(held["schema"]) != _SCHEMA:
                    raise KeyError("schema")
                fingerprint = str(held["fingerprint"])
                pairs = Pairs(held["i"], held["j"], held["cost"])
                state = State(held["u"], held["r"], pairs)
        except _BROKEN as error:
            raise InvalidInputError(
                f"{self._path} is not a checkpoint of this version",
                parameter="checkpoint",
                value=self._path,
                remedy=["name another file", "delete it"],
            ) from error
        if fingerprint != self._fingerprint:
            raise InvalidInputError(
                f"{self._path} belongs to other points, or to another value of hollow",
                parameter="checkpoint",
                value=self._path,
                remedy=["name another file", "delete it"],
            )
        return state
