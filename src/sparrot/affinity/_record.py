"""An affinity as a record of numbers and words that every file format can hold, and back.

The record has everything but the matrix and the potential, which each format stores in its own
way. Fields that are None are left out. `SCHEMA` is raised whenever a field changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparrot._types import FloatArray
from sparrot.affinity import Affinity
from sparrot.errors import AffinityWarning, InvalidInputError, warn
from sparrot.ot import Certificate, marginal_error

SCHEMA = 1
LOST_MASS = 1e-3  # of a row sum, that sparse entropic rows may lack
_ROUNDING = 1e-12  # of a row sum, in whatever order it is taken
_CERTIFICATE = ("marginal_error", "violation", "pairs_checked", "exact")
_LATER = ("missed_rows", "missed_mass", "floor_violation", "complementarity")
_ANEW = "save the affinity anew"
_NEEDED = (
    "kind",
    "n",
    "mean_cost",
    "metric",
    "q",
    "shift",
    "history",
    "hollow",
    "solver",
    "n_solves",
)


def to_record(affinity: Affinity) -> dict[str, Any]:
    """Everything about an affinity but its matrix and potential: numbers, words and arrays.

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
    if affinity.row_eps is not None:
        record |= {"row_eps": affinity.row_eps, "min_neighbors": affinity.min_neighbors}
    if affinity.weights is not None:
        record["weights"] = affinity.weights
    if affinity.drop is not None:
        record["drop"] = affinity.drop
    if affinity.certificate is not None:
        names = (*_CERTIFICATE, *_LATER)
        record |= {name: getattr(affinity.certificate, name) for name in names}
    return record


def from_record(
    record: Mapping[str, Any],
    matrix: Any,
    potential: Any,
    source: str,
    changed: bool = False,
    copy: bool = True,
) -> Affinity:
    """The affinity of a record, a matrix and a potential (or None).

    Parameters
    ----------
    record, matrix, potential : as they were stored.
    source : where they come from, for errors.
    changed : whether the matrix or what belongs to its points is known to be another than when the
        record was made. Then its certificate is no claim of theirs.
    copy : whether the matrix is copied; if not, nobody else may change it.

    Raises
    ------
    InvalidInputError : the schema is unknown, fields are missing, or shapes do not fit together.
    """
    require_schema(record, source)
    missing = [name for name in _NEEDED if name not in record]
    if missing:
        raise InvalidInputError(f"{source} lacks {', '.join(missing)}", remedy=_ANEW)
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        _require_size(record, matrix, source)
        if copy:
            matrix = csr_array(matrix, copy=True) if issparse(matrix) else np.array(matrix)
        affinity = _affinity(record, matrix, potential, source, changed)
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"{source} has a field that cannot be read ({error})", remedy=_ANEW
        ) from error
    _require_sense(affinity, source)
    return affinity


def _affinity(
    record: Mapping[str, Any], matrix: Any, potential: Any, source: str, changed: bool
) -> Affinity:
    n, certificate = int(record["n"]), None
    weights = _vector(record.get("weights"), n, source, "weights")
    if weights is not None and not ((weights > 0) & (weights < np.inf)).all():
        raise InvalidInputError(f"{source} has weights that are not positive", remedy=_ANEW)
    if all(name in record for name in _CERTIFICATE):
        floors = "row_eps" in record
        certificate = _still_true(_certificate(record), matrix, weights, floors, source, changed)
    return Affinity(
        kind=str(record["kind"]),
        matrix=matrix,
        mean_cost=float(record["mean_cost"]),
        metric=str(record["metric"]),
        potential=_vector(potential, n, source, "potential"),
        row_eps=_vector(record.get("row_eps"), n, source, "row_eps"),
        min_neighbors=_vector(record.get("min_neighbors"), n, source, "min_neighbors"),
        eps=float(record["eps"]) if "eps" in record else None,
        q=float(record["q"]),
        shift=float(record["shift"]),
        weights=weights,
        certificate=certificate,
        history=tuple(float(error) for error in np.atleast_1d(record["history"])),
        hollow=bool(record["hollow"]),
        solver=str(record["solver"]),
        n_solves=int(record["n_solves"]),
        drop=float(record["drop"]) if "drop" in record else None,
    )


def _require_sense(affinity: Affinity, source: str) -> None:
    """Raise for numbers that no affinity has."""
    W, u, eps, e = affinity.matrix, affinity.potential, affinity.eps, affinity.row_eps
    values = W.data if issparse(W) else W
    k, certificate = affinity.min_neighbors, affinity.certificate
    errors = () if certificate is None else (certificate.marginal_error, certificate.violation)
    senseless = {
        "a matrix with entries that are no finite numbers": values.dtype.kind not in "buif"
        or not np.isfinite(values).all(),
        "a potential that is not finite": u is not None and not np.isfinite(u).all(),
        f"eps = {eps}, which must be positive": eps is not None and not 0 < eps < np.inf,
        "a potential and no eps, or eps and no potential": (u is None) != (eps is None),
        f"q = {affinity.q}, which must be from 0 to 1": not 0 <= affinity.q <= 1,
        f"a mean cost of {affinity.mean_cost}": not np.isfinite(affinity.mean_cost)
        or (eps is not None and affinity.metric != "kernel" and affinity.mean_cost <= 0),
        f"a shift of {affinity.shift}": not np.isfinite(affinity.shift),
        "row_eps without min_neighbors, or the other way": (e is None) != (k is None),
        "row_eps that are negative or not finite": e is not None
        and not ((e >= 0) & (e < np.inf)).all(),
        "min_neighbors that are not positive": k is not None and not ((k > 0) & (k < np.inf)).all(),
        f"drop = {affinity.drop}, which must be between 0 and 1": affinity.drop is not None
        and not 0 < affinity.drop < 1,
        "a certificate with a negative error": any(error < 0 for error in errors),
    }
    for what, found in senseless.items():
        if found:
            raise InvalidInputError(f"{source} has {what}", remedy=_ANEW)


def require_schema(record: Mapping[str, Any], source: str) -> None:
    """Raise unless this version wrote such records."""
    if "schema" not in record:
        raise InvalidInputError(
            f"{source} is no affinity that sparrot saved",
            remedy="points are read by {sparrot.read_points}",
        )
    schema = record["schema"]
    if np.ndim(schema) or schema != SCHEMA:
        raise InvalidInputError(
            f"{source} has schema {str(schema)[:20]}, and this version of sparrot reads schema "
            f"{SCHEMA}",
            remedy=["load it with the version that wrote it", "upgrade sparrot"],
        )


def _require_size(record: Mapping[str, Any], matrix: Any, source: str) -> None:
    """Raise unless the matrix has as many points as when it was made."""
    n = int(record["n"])
    if matrix.shape != (n, n):
        raise InvalidInputError(
            f"{source} was an affinity of {n} points and its matrix now has shape {matrix.shape}: "
            "its certificate is that of all points",
            remedy="build it anew for these points",
        )


def require_rows(record: Mapping[str, Any], matrix: Any, source: str) -> None:
    """Raise unless each point has edges and, if points came or went, rows that sum to one.

    Rows that lost edges to points that are gone sum to less; a component that was cut out as a
    whole is an affinity.
    """
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    n, now = int(record["n"]), len(sums)
    if "weights" in record and now == n:
        sums = sums / record["weights"]
    short = np.count_nonzero(
        np.abs(sums - 1) > max(LOST_MASS, float(record.get("marginal_error", 0)))
    )
    if now != n and short:
        raise InvalidInputError(
            f"{source} was an affinity of {n} points, of which {now} are here, and the rows of "
            f"{short} of these no longer sum to one: they have lost edges to points that are gone",
            remedy=[
                "run {sparrot.sc.neighbors} on these points",
                "cut out whole connected components of the graph",
            ],
        )
    empty = np.count_nonzero(sums == 0)
    if empty:
        raise InvalidInputError(
            f"{source} was an affinity, and {empty} of its points have lost all edges, as after "
            "anndata.concat of parts of the cells",
            remedy="build it anew for these points",
        )


def of_part(record: Mapping[str, Any], matrix: Any, source: str) -> dict[str, Any]:
    """The record of a part of the points: whole components of the graph, or it is refused.

    Such a part is optimal too, but nobody has looked at its pairs alone: it has no certificate, and
    its mean cost is still that of all points.
    """
    require_rows(record, matrix, source)
    kept = {name: value for name, value in record.items() if name not in _CERTIFICATE}
    return kept | {"n": matrix.shape[0]}


def _vector(stored: Any, n: int, source: str, name: str) -> FloatArray | None:
    """One number per point, read-only as in every affinity; None if there is none."""
    if stored is None:
        return None
    if np.shape(stored) != (n,):
        raise InvalidInputError(
            f"{source} has {n} points and a {name} of shape {np.shape(stored)}", remedy=_ANEW
        )
    vector = np.array(stored, dtype=np.float64)
    vector.flags.writeable = False
    return vector


def _certificate(record: Mapping[str, Any]) -> Certificate:
    """The certificate of a record; what an early one does not say is zero, or not known."""
    missed = not record["exact"] and record["violation"] > 0 and record.get("missed_rows", 0) > 0
    early = {"missed_mass": np.inf if missed else 0.0}
    return Certificate(
        marginal_error=float(record["marginal_error"]),
        violation=float(record["violation"]),
        pairs_checked=int(record["pairs_checked"]),
        exact=bool(record["exact"]),
        claimed=True,
        **{name: float(record.get(name, early.get(name, 0.0))) for name in _LATER},
    )


def _still_true(
    certificate: Certificate,
    matrix: Any,
    weights: FloatArray | None,
    floors: bool,
    source: str,
    changed: bool,
) -> Certificate:
    """The certificate, unless it is that of another matrix; else a warning."""
    error, allowed = marginal_error(matrix, weights), certificate.marginal_error + _ROUNDING
    if error <= allowed and not changed:
        return certificate
    how = (
        "though its row sums are right"
        if error <= allowed
        else "its row sums now differ from "
        f"{'one' if weights is None else 'its weights, relative to these,'} by up to {error:.1e} "
        f"({_what_changed(matrix, allowed, weights)})"
    )
    warn(
        AffinityWarning(
            f"the matrix of {source}, or what belongs to its points, was changed after it was made"
            f": {how}, and its certificate no longer holds",
            remedy="build it anew if that matters",
        )
    )
    unknown = np.inf if floors else 0.0
    return Certificate(
        error, np.inf, 0, exact=False, floor_violation=unknown, complementarity=unknown
    )


def _what_changed(matrix: Any, allowed: float, weights: FloatArray | None) -> str:
    """The likely cause: small weights that are now stored zeros, or something else."""
    W = csr_array(matrix)
    off = np.abs(W.sum(axis=1) / (1.0 if weights is None else weights) - 1)
    i = int(off.argmax())
    zeros = np.count_nonzero(W.data[W.indptr[i] : W.indptr[i + 1]] == 0)
    if off[i] <= allowed + zeros * W.data[W.data > 0].min(initial=1.0):
        return "sc.tl.umap sets small entries to zero in place with scipy 1.17"
    return "edges are missing, as after anndata.concat of parts of the cells, or have other weights"
