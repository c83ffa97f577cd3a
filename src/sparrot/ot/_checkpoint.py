"""What a long run has found so far, in a file from which another can go on."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparrot._files import digest, whole_file
from sparrot._types import FloatArray
from sparrot.errors import AffinityWarning, InvalidInputError, warn
from sparrot.ot._problem import SparseProblem
from sparrot.ot._screening import Pairs

_SCHEMA = 1
_NEEDED = {"u", "r", "i", "j", "cost"}


@dataclass(frozen=True, slots=True)
class State:
    """What the active set has found: potentials, ceilings, and the pairs below them; with a floor
    also its multipliers, and the eps at which they were found.
    """

    u: FloatArray
    r: FloatArray
    pairs: Pairs
    e: FloatArray | None = None
    eps: float = 0.0


class Checkpoint:
    """Potentials, ceilings and pairs of one set of points, saved after every round.

    The pairs below given ceilings depend on the points alone, so a file serves a later run with any
    eps; that it belongs to the same points is checked.
    """

    def __init__(self, path: Path, problem: SparseProblem) -> None:
        self._path = path
        kind = "hollow" if problem.hollow else "fat"
        self._fingerprint = f"{problem.cost.fingerprint()} {kind}"
        self._n = problem.n
        self._failed = False

    def save(self, state: State) -> None:
        """Write the state; a file that was there stays whole until it is replaced.

        Where that fails, a warning says so once, and work can go on.
        """
        arrays: dict[str, Any] = {
            "schema": _SCHEMA,
            "fingerprint": self._fingerprint,
            "u": state.u,
            "r": state.r,
            "i": state.pairs.i,
            "j": state.pairs.j,
            "cost": state.pairs.cost,
        }
        if state.e is not None:
            arrays |= {"e": state.e, "eps": np.float64(state.eps)}
        try:
            with whole_file(self._path) as temporary, temporary.open("wb") as stream:
                np.savez(stream, digest=digest(arrays), **arrays)
        except OSError as error:
            if not self._failed:
                warn(
                    AffinityWarning(
                        f"{self._path} cannot be written ({error.strerror or error}): what is "
                        "found is not saved, and the run goes on",
                        parameter="checkpoint",
                        value=self._path,
                        remedy=["make room for it", "name another file"],
                    )
                )
            self._failed = True

    def load(self) -> State | None:
        """The state in the file; None if there is no file."""
        if not self._path.exists():
            return None
        try:
            if not zipfile.is_zipfile(self._path):
                raise zipfile.BadZipFile("no archive")
            with self._path.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
                arrays = {name: held[name] for name in held.files}
            schema, found = int(arrays["schema"]), str(arrays.pop("digest"))
            fingerprint = str(arrays["fingerprint"])
        except Exception as error:  # a broken archive can be broken in any way
            raise self._refusal("is not a checkpoint of this version") from error
        if schema != _SCHEMA:
            raise self._refusal("is not a checkpoint of this version")
        if found != digest(arrays):
            raise self._refusal("was damaged or changed after it was written")
        if fingerprint != self._fingerprint:
            raise self._refusal("belongs to other points, or to another value of hollow")
        if not self._fits(arrays):
            raise self._refusal("holds what no run can have found")
        pairs = Pairs(arrays["i"], arrays["j"], arrays["cost"])
        e, eps = arrays.get("e"), float(arrays.get("eps", 0.0))
        return State(arrays["u"], arrays["r"], pairs, e, eps)

    def _fits(self, arrays: dict[str, Any]) -> bool:
        """Whether shapes, types and ranges are those of a state."""
        if not _NEEDED <= set(arrays):
            return False
        u, r, i, j, cost = (arrays[name] for name in ("u", "r", "i", "j", "cost"))
        vectors = u.shape == r.shape == (self._n,) and i.shape == j.shape == cost.shape == (len(i),)
        floats = all(array.dtype == np.float64 for array in (u, r, cost))
        if not (vectors and floats and i.dtype == j.dtype == np.int32):
            return False
        numbers = np.isfinite(u).all() and np.isfinite(cost).all() and not np.isnan(r).any()
        places = not len(i) or (i.min() >= 0 and j.max() < self._n and bool((i <= j).all()))
        return bool(numbers and places) and self._fits_floor(arrays.get("e"), arrays.get("eps"))

    def _fits_floor(self, e: Any, eps: Any) -> bool:
        """Whether there are no multipliers, or some that a run can have found at an eps."""
        if e is None or eps is None:
            return e is None and eps is None
        floats = e.dtype == eps.dtype == np.float64
        if not (floats and e.shape == (self._n,) and eps.shape == ()):
            return False
        return bool(((e >= 0) & (e < np.inf)).all() and 0 < eps < np.inf)

    def _refusal(self, problem: str) -> InvalidInputError:
        return InvalidInputError(
            f"{self._path} {problem}",
            parameter="checkpoint",
            value=self._path,
            remedy=["name another file", "delete it"],
        )
