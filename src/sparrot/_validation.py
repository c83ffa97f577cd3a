"""What is passed for a matrix of numbers and is none: errors that name it, and never print it.

Checks at the boundary: what users pass in, turned into what the rooms expect.
"""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from sparrot._types import FloatArray, PointArray
from sparrot.engine import require_memory
from sparrot.errors import InvalidInputError


def refuse_other_things(X: Any, name: str) -> None:
    """Raise for what is no matrix but may be passed for one: a path, an affinity, masks, words."""
    if X is None:
        raise InvalidInputError(f"{name} is None; pass a matrix of numbers, one row a point")
    if isinstance(X, (str, os.PathLike)):
        raise InvalidInputError(
            f"{name} is the text {str(X)[:80]!r}; to read points from a file use "
            "sparrot.read_points"
        )
    if hasattr(X, "certificate") and hasattr(X, "matrix"):
        raise InvalidInputError(
            f"{name} is an affinity, and a matrix of numbers is needed here; its own is `.matrix`"
        )
    if isinstance(X, np.matrix):
        raise InvalidInputError(
            f"{name} is an np.matrix of shape {X.shape}, which is not supported; pass "
            f"np.asarray({name})"
        )
    masked = int(np.ma.getmaskarray(X).sum()) if isinstance(X, np.ma.MaskedArray) else 0
    if masked:
        raise InvalidInputError(
            f"{name} of shape {X.shape} has {masked} masked entries; drop or impute them"
        )
    words = _columns_of_words(X)
    if words:
        raise InvalidInputError(
            f"all columns of {name} must be numbers, and these are not: {', '.join(words[:5])}"
            f"{', ...' if len(words) > 5 else ''}; drop what is no feature"
        )


def why_no_matrix(X: Any, name: str, error: Exception) -> str:
    """What is wrong with an array that was refused, by its shape and type."""
    dtype = getattr(X, "dtype", None)
    try:
        shape = np.shape(X)
    except ValueError:  # a ragged list; numpy's own words are good
        return f"{name} is no matrix: {error}"
    if len(shape) > 2:
        return (
            f"{name} must be a matrix, one row a point, got {len(shape)} dimensions: {shape}; "
            f"{name}.reshape(len({name}), -1) has one row for each of {shape[0]}"
        )
    if len(shape) < 2:
        return (
            f"{name} must be a matrix, one row a point, got shape {shape}. Reshape your data: "
            f"{name}.reshape(-1, 1) if it is one feature, {name}.reshape(1, -1) if it is one point"
        )
    if np.iscomplexobj(X):
        return (
            f"Complex data not supported: {name} has shape {shape} and dtype {dtype}; pass its real"
            " part, or real and imaginary parts as columns"
        )
    return f"{name} of shape {shape} is no matrix of numbers: {error}"


def _columns_of_words(X: Any) -> list[str]:
    """The columns of a data frame that are no numbers."""
    if not hasattr(X, "iloc") or not hasattr(X, "columns"):
        return []
    kinds = [getattr(dtype, "kind", "O") for dtype in X.dtypes]
    return [
        repr(name)
        for k, (name, kind) in enumerate(zip(X.columns, kinds, strict=True))
        if kind in "MmSU" or (kind == "O" and not _numbers(X.iloc[:, k]))
    ]


def _numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


_ASYMMETRY = 2.0**12  # roundings of the largest entry; below that it is rounding
_LEAST_TOLERANCE = 1e-14  # a few dozen roundings of one


def as_points(X: Any, metric: str = "sqeuclidean") -> PointArray:
    """Points as a finite C-contiguous array of float32 or float64, or a symmetric cost matrix.

    Sparse input is made dense: costs need the distance between every two rows.
    """
    if metric == "precomputed" and issparse(X):
        raise InvalidInputError(
            "a sparse cost matrix is ambiguous: a missing entry would be a cost of zero, the "
            "nearest of all; pass a dense matrix of all costs, or the points themselves"
        )
    X = as_array(X)
    if metric in ("precomputed", "kernel"):
        X = _as_symmetric(X, metric)
    if len(X) < 2:
        raise InvalidInputError(
            f"X must have at least 2 rows, got shape {X.shape}: an affinity is between points; "
            "rows are samples, columns are features"
        )
    return X


def as_array(X: Any, name: str = "X") -> PointArray:
    """A finite C-contiguous matrix of float32 or float64; sparse input is made dense."""
    refuse_other_things(X, name)
    if issparse(X):
        require_memory(
            8.0 * X.shape[0] * X.shape[1],
            what=f"sparse {name} of shape {X.shape}, made dense,",
            remedy="reduce it first, for example by sklearn.decomposition.TruncatedSVD",
        )
        X = X.toarray()
    try:
        array: PointArray = check_array(
            X,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name=name,
        )
    except ValueError as error:
        raise InvalidInputError(why_no_matrix(X, name, error)) from error
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not np.isfinite(total):  # cheap, and right unless finite numbers overflow
        _raise_where_not_finite(array, name)
    return array


def as_affinity(W: Any, *, symmetric: bool = True) -> csr_array | FloatArray:
    """A square symmetric matrix of finite nonnegative numbers: an `Affinity`, sparse or dense.

    Sparse stays sparse (as `csr_array` of float64), dense stays dense. Where it is only walked on,
    it need not be symmetric.
    """
    W = getattr(W, "matrix", W)
    if issparse(W):
        W = csr_array(W, dtype=np.float64)
        if not W.data.all():  # a stored zero is no edge
            W = W.copy()
            W.eliminate_zeros()
        entries = W.data
    else:
        W = np.asarray(as_array(W, "the affinity"), dtype=np.float64)
        entries = W
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise InvalidInputError(
            f"an affinity must be a square matrix, got shape {W.shape}; from points, make one with "
            "sparrot.qot"
        )
    if not np.isfinite(entries).all():
        raise InvalidInputError("the affinity has entries that are not finite")
    if entries.size and entries.min() < 0:
        raise InvalidInputError(
            f"an affinity must not be negative, but its smallest entry is {entries.min():.3g}; "
            "pass W.clip(min=0), or a kernel of the distances if these are distances"
        )
    largest = abs(W - W.T).max() if symmetric and W.shape[0] else 0.0
    if largest > _ASYMMETRY * np.finfo(np.float64).eps * entries.max(initial=0.0):
        raise InvalidInputError(
            f"an affinity must be symmetric, but W and its transpose differ by {largest:.3g}; "
            "pass (W + W.T) / 2 if that is what you mean"
        )
    return W


def as_functions(F: Any, n: int, name: str = "F") -> FloatArray:
    """Finite functions on n points: one as (n,), or m as (n, m), in float64."""
    try:
        functions = np.asarray(F, dtype=np.float64)
    except (TypeError, ValueError):
        functions = np.full(1, np.nan)
    if functions.ndim not in (1, 2) or len(functions) != n:
        raise InvalidInputError(
            f"{name} must be a function on the {n} points, of shape ({n},) or ({n}, m), "
            f"got shape {np.shape(F)}"
        )
    if not np.isfinite(functions).all():
        raise InvalidInputError(f"{name} has entries that are not finite; drop or impute them")
    return functions


def as_positive(value: Any, name: str, hint: str) -> float:
    """A positive finite number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InvalidInputError(f"{name} must be a number, got {value!r}; {hint}")
    if not 0 < float(value) < np.inf:
        raise InvalidInputError(f"{name} must be positive and finite, got {value!r}; {hint}")
    return float(value)


def as_tolerance(value: Any, what: str = "error of a row sum") -> float:
    """An error to reach, above the rounding of float64."""
    hint = f"it is the largest {what}, 1e-8 is a good choice"
    tol = as_positive(value, "tol", hint)
    if tol < _LEAST_TOLERANCE:
        raise InvalidInputError(
            f"tol={tol:g} is below the rounding of float64, and cannot be reached; {hint}"
        )
    return tol


def as_max_iter(value: Any) -> int | None:
    """A positive integer, or None for the solver's own limit."""
    if value is None:
        return None
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(
            f"max_iter must be a positive integer, got {value!r}; None is the solver's own limit"
        )
    return int(value)


def as_count(value: Any, name: str, most: int) -> int:
    """An integer from 1 to `most`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= int(value) <= most:
        raise InvalidInputError(f"{name} must be an integer from 1 to {most}, got {value!r}")
    return int(value)


def as_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return str(value)


def as_potential(u: Any, n: int) -> FloatArray:
    """A finite vector of length n, copied."""
    try:
        potential = np.array(u, dtype=np.float64)
    except (TypeError, ValueError):
        potential = np.full(1, np.nan)
    if potential.shape != (n,) or not np.isfinite(potential).all():
        raise InvalidInputError(
            f"potential must be {n} finite numbers, one a point, got shape {potential.shape}; "
            "pass the `potential` of an earlier result on the same points"
        )
    return potential


def _raise_where_not_finite(array: PointArray, name: str) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        i, j = bad[0]
        what = "NaN" if np.isnan(array[i, j]) else "inf"
        raise InvalidInputError(
            f"{name} contains {what} at row {i}, column {j} ({len(bad)} entries are not finite); "
            "drop or impute them"
        )


def _as_symmetric(M: PointArray, metric: str) -> FloatArray:
    if M.shape[0] != M.shape[1]:
        raise InvalidInputError(f"metric={metric!r} needs a square matrix, got shape {M.shape}")
    rounding = float(np.finfo(M.dtype).eps)
    C = M.astype(np.float64, copy=False)
    asymmetry = np.abs(C - C.T)
    largest = float(asymmetry.max(initial=0.0))
    if largest > _ASYMMETRY * rounding * float(np.abs(C).max(initial=0.0)):
        i, j = np.unravel_index(asymmetry.argmax(), C.shape)
        raise InvalidInputError(
            f"the matrix must be symmetric, but entries ({i}, {j}) and ({j}, {i}) are "
            f"{C[i, j]:.9g} and {C[j, i]:.9g}; pass (M + M.T) / 2 if that is what you mean"
        )
    return C if largest == 0 else (C + C.T) / 2


def as_public_metric(metric: Any) -> str:
    """The name of a metric; `"kernel"` is the affair of `project`."""
    if metric == "kernel" or not isinstance(metric, str):
        raise InvalidInputError(
            f"must be the name of a metric, got {metric!r}", parameter="metric", value=metric
        )
    return metric


def require_transformer(neighbors: Any) -> None:
    """Raise for what is no neighbors transformer."""
    if not hasattr(neighbors, "fit_transform"):
        raise InvalidInputError(
            "must be a transformer such as sklearn.neighbors.KNeighborsTransformer, got "
            f"{neighbors!r}",
            parameter="neighbors",
            value=neighbors,
        )
