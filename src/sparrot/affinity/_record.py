"""An affinity as named numbers and words that every file format can hold, and back.

The record has everything but the matrix and the potential, which each format stores in its own
way. What is None is left out. `SCHEMA` counts the changes of meaning of these names.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparrot.affinity import Affinity
from sparrot.errors import AffinityWarning, InvalidInputError
from sparrot.ot import Certificate, marginal_error

SCHEMA = 1


_ROUNDING = 1e-12  # of a row sum, in whatever order it is taken


_CERTIFICATE = ("marginal_error", "violation", "pairs_checked", "exact")


_NEEDED = ("kind", "n", "mean_cost", "metric", "q", "history", "hollow", "solver", "n_solves")


def to_record(affinity: Affinity) -> dict[str, Any]:
    """What is known about an affinity, as numbers, words and one array.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> record = to_record(sparrot.qot(np.eye(3)))
    >>> record["schema"], record["kind"], record["n"], record["exact"]
    (1, 'qot', 3, True)
    """
    record = {name: getattr(affinity, name) for name in _NEEDED if name not in ("n", "history")}
    record |= {"schema": SCHEMA, "n": affinity.matrix.shape[0]}
    record["history"] = np.array(affinity.history, dtype=np.float64)
    if affinity.eps is not None:
        record["eps"] = affinity.eps
    if affinity.certificate is not None:
        names = (*_CERTIFICATE, "missed_rows")
        record |= {name: getattr(affinity.certificate, name) for name in names}
    return record


def from_record(record: Mapping[str, Any], matrix: Any, potential: Any, source: str) -> Affinity:
    """The affinity that a record, a matrix and a potential (or None) make.

    `source` is named in the errors: a schema that is not known, fields that are missing, or arrays
    that do not fit together.
    """
    _require_schema(record, source)
    missing = [name for name in _NEEDED if name not in record]
    if missing:
        raise InvalidInputError(f"{source} lacks {', '.join(missing)}; save the affinity anew")
    require_size(record, matrix, source)
    _require_potential(potential, int(record["n"]), source)
    known = all(name in record for name in _CERTIFICATE)
    certificate = _still_true(_certificate(record), matrix, source) if known else None
    return Affinity(
        kind=str(record["kind"]),
        matrix=csr_array(matrix, copy=True) if issparse(matrix) else np.array(matrix),
        mean_cost=float(record["mean_cost"]),
        metric=str(record["metric"]),
        potential=_read_only(potential),
        eps=float(record["eps"]) if "eps" in record else None,
        q=float(record["q"]),
        certificate=certificate,
        history=tuple(float(error) for error in np.atleast_1d(record["history"])),
        hollow=bool(record["hollow"]),
        solver=str(record["solver"]),
        n_solves=int(record["n_solves"]),
    )


def _require_schema(record: Mapping[str, Any], source: str) -> None:
    if "schema" not in record:
        raise InvalidInputError(
            f"{source} is no affinity that sparrot saved; points are read by sparrot.read_points"
        )
    schema = int(record["schema"])
    if schema != SCHEMA:
        raise InvalidInputError(
            f"{source} has schema {schema}, and this version of sparrot reads schema {SCHEMA}; "
            "load it with the version that wrote it, or upgrade sparrot"
        )


def require_size(record: Mapping[str, Any], matrix: Any, source: str) -> None:
    """The number of points that the matrix had when it was made."""
    n = int(record["n"])
    if matrix.shape != (n, n):
        raise InvalidInputError(
            f"{source} was an affinity of {n} points and its matrix now has shape {matrix.shape}; "
            "a part of an affinity is none (its rows do not sum to one): build it anew for these "
            "points"
        )


def require_whole(record: Mapping[str, Any], matrix: Any, source: str) -> None:
    """All points, and edges at each of them."""
    require_size(record, matrix, source)
    empty = np.count_nonzero(matrix.sum(axis=1) == 0)
    if empty:
        raise InvalidInputError(
            f"{source} was an affinity, and {empty} of its points have lost all edges, as after "
            "anndata.concat of parts of the cells; build it anew for these points"
        )


def _require_potential(potential: Any, n: int, source: str) -> None:
    if potential is not None and np.shape(potential) != (n,):
        raise InvalidInputError(
            f"{source} has {n} points and a potential of shape {np.shape(potential)}; "
            "save the affinity anew"
        )


def _certificate(record: Mapping[str, Any]) -> Certificate:
    return Certificate(
        marginal_error=float(record["marginal_error"]),
        violation=float(record["violation"]),
        pairs_checked=int(record["pairs_checked"]),
        exact=bool(record["exact"]),
        missed_rows=float(record.get("missed_rows", 0.0)),
    )


def _still_true(certificate: Certificate, matrix: Any, source: str) -> Certificate:
    """The certificate, if the matrix still has the row sums that it vouches for."""
    error, allowed = marginal_error(matrix), certificate.marginal_error + _ROUNDING
    if error <= allowed:
        return certificate
    warnings.warn(
        f"the matrix of {source} was changed after it was made: its rows now miss one by up to "
        f"{error:.1e} ({_what_changed(matrix, allowed)}); its certificate no longer holds, build "
        "it anew if that matters",
        AffinityWarning,
        stacklevel=5,
    )
    return Certificate(error, np.inf, 0, exact=False)


def _what_changed(matrix: Any, allowed: float) -> str:
    """Stored zeros, for no more than the least weight that is left each; or something else."""
    W = csr_array(matrix)
    off = np.abs(W.sum(axis=1) - 1)
    i = int(off.argmax())
    zeros = np.count_nonzero(W.data[W.indptr[i] : W.indptr[i + 1]] == 0)
    if off[i] <= allowed + zeros * W.data[W.data > 0].min(initial=1.0):
        return "sc.tl.umap sets small entries to zero in place with scipy 1.17"
    return "edges are missing, as after anndata.concat of parts of the cells, or have other weights"


def _read_only(potential: Any) -> Any:
    if potential is None:
        return None
    u = np.array(potential, dtype=np.float64)
    u.flags.writeable = False
    return u
