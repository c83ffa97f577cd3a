"""Checks at the boundary: what users pass in, turned into what the rooms expect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from sparrot._types import FloatArray, IntArray, PointArray
from sparrot.engine import is_dask_array, require_memory
from sparrot.errors import (
    InvalidInputError,
    NotEnoughMemoryError,
    SparrotError,
    counted,
    literal,
)

_LONGEST = 200  # letters of the errors of others that are repeated
_ASYMMETRY = 2.0**12  # roundings of the largest entry; below that it is rounding
_LEAST_SUM = 2.0**-1000  # of a row, so that its reciprocal and products with that are finite
_NEIGHBORS = {"n_neighbors": 15, "min_neighbors": 5}  # good ones to start with
_LEAST_TOLERANCE = 1e-14  # a few dozen roundings of one


class _OtherKindError(InvalidInputError, TypeError):
    """An `InvalidInputError` for what is no number: of that scikit-learn wants a `TypeError`."""


def as_points(X: Any, metric: str = "sqeuclidean", name: str = "X") -> PointArray:
    """Points as a finite C-contiguous array of float32 or float64, or a symmetric cost matrix.

    Sparse input is made dense: costs need the distance between every two rows.
    """
    if metric == "precomputed" and issparse(X):
        raise InvalidInputError(
            "is a sparse cost matrix, which is ambiguous: a missing entry would be a cost of zero, "
            "the nearest of all",
            parameter=name,
            value=X,
            remedy="pass a dense matrix of all costs, or the points themselves",
        )
    X = as_array(X, name)
    if metric in ("precomputed", "kernel"):
        X = _as_symmetric(X, name)
    require_two_rows(X, name)
    return X


def require_two_rows(X: Any, name: str = "X") -> None:
    """Raise for a matrix, dense or sparse, of fewer points than an affinity is between."""
    if X.shape[0] < 2:
        raise InvalidInputError(
            f"must have at least 2 rows, got shape {X.shape}: an affinity is between points",
            parameter=name,
            value=X.shape,
            remedy="rows are samples, columns are features",
        )


def as_points_for(engine: Any, X: Any, metric: str) -> Any:
    """Points for the threads of this machine; or for a cluster, whose workers may read them or have
    them already.
    """
    if engine is not None and isinstance(X, str | os.PathLike):
        return as_path(X, "X")
    return X if engine is not None and is_dask_array(X) else as_points(X, metric)


def as_path(path: Any, name: str = "path") -> Path:
    """The path of a file."""
    try:
        named = Path(path)
    except TypeError:
        named = Path()
    if named == Path() or "\0" in str(named):
        raise InvalidInputError(
            f"must be the path of a file, got {path!r}",
            parameter=name,
            value=path,
            remedy="pass a string or a pathlib.Path",
        )
    return named


def not_whole(
    path: Path, what: str, why: object, remedy: str = "write it anew"
) -> InvalidInputError:
    """The error of a file that is broken, or not what its ending says."""
    return InvalidInputError(
        f"{path} is not {what} ({why})", parameter="path", value=path, remedy=remedy
    )


@contextmanager
def refuse_broken(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a reader of others raises into bad input: a file that is not `what`.

    Readers raise anything on a file that is broken; they may also try to make huge arrays.

    Examples
    --------
    >>> with refuse_broken(Path("a.npz"), "a whole .npz file"):
    ...     {}["x"]
    Traceback (most recent call last):
    sparrot.errors.InvalidInputError: path a.npz is not a whole .npz file ('x'); write it anew
    """
    try:
        yield
    except SparrotError:
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        why = why if len(why) <= _LONGEST else f"{why[:_LONGEST]}..."
        if isinstance(error, MemoryError):
            raise NotEnoughMemoryError(
                f"{path} does not fit in memory, or is not {what} ({why})",
                parameter="path",
                value=path,
                remedy="check that it is whole",
            ) from error
        raise not_whole(path, what, why) from error


def as_array(X: Any, name: str = "X") -> PointArray:
    """A finite C-contiguous matrix of float32 or float64; sparse input is made dense."""
    _refuse_other_things(X, name)
    if issparse(X) and X.ndim == 2:
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
    except (TypeError, ValueError, OverflowError) as error:
        raise _no_matrix(X, name, error) from error
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not np.isfinite(total):  # cheap, and right unless finite numbers overflow
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            i, j = bad[0]
            what = "NaN" if np.isnan(array[i, j]) else "inf"
            count = counted(len(bad), "non-finite entry", "non-finite entries")
            raise InvalidInputError(
                f"contains {what} at row {i}, column {j} ({count} in all)",
                parameter=name,
                value=array[i, j],
                remedy="drop or impute them",
            )
    return array


def _refuse_other_things(X: Any, name: str) -> None:
    """Raise for what is no matrix but may be passed for one; never print it."""
    if X is None:
        raise InvalidInputError(
            "is None",
            parameter=name,
            value=X,
            remedy="pass a matrix of numbers, one row per point",
        )
    if isinstance(X, (str, os.PathLike)):
        raise InvalidInputError(
            f"is the text {str(X)[:80]!r}",
            parameter=name,
            value=X,
            remedy="to read points from a file use {sparrot.read_points}",
        )
    if hasattr(X, "certificate") and hasattr(X, "matrix"):
        raise InvalidInputError(
            "is an affinity, and a matrix of numbers is needed here",
            parameter=name,
            value=X,
            remedy="pass its matrix, `.matrix`",
        )
    if isinstance(X, np.matrix):
        raise InvalidInputError(
            f"is an np.matrix of shape {X.shape}, which is not supported",
            parameter=name,
            value=X,
            remedy=f"pass np.asarray({literal(name)})",
        )
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        raise InvalidInputError(
            f"of shape {X.shape} holds dates or times, not numbers",
            parameter=name,
            value=X,
            remedy="drop them, or pass what they mean as numbers",
        )
    masked = int(np.ma.getmaskarray(X).sum()) if isinstance(X, np.ma.MaskedArray) else 0
    if masked:
        raise InvalidInputError(
            f"of shape {X.shape} has {counted(masked, 'masked entry', 'masked entries')}",
            parameter=name,
            value=X,
            remedy="drop or impute them",
        )
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        _refuse_frames(X, name)


def _refuse_frames(X: Any, name: str) -> None:
    """Raise for data frames with columns that are no features, or that cannot be told apart."""
    words = [
        repr(column)
        for k, (column, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True))
        if getattr(dtype, "kind", "O") in "MmSU"
        or (getattr(dtype, "kind", "O") == "O" and not _numbers(X.iloc[:, k]))
    ]
    if words:
        raise InvalidInputError(
            f"must have columns of numbers, and these are not: {', '.join(words[:5])}"
            f"{', ...' if len(words) > 5 else ''}",
            parameter=name,
            value=X,
            remedy="drop what is no feature",
        )
    columns = list(X.columns)
    if len(set(columns)) < len(columns):
        twice = next(column for k, column in enumerate(columns) if column in columns[:k])
        raise InvalidInputError(
            f"has more than one column named {twice!r}",
            parameter=name,
            value=columns,
            remedy=f"name columns apart, or pass {literal(name)}.to_numpy()",
        )
    if any(hasattr(dtype, "fill_value") for dtype in X.dtypes):
        raise InvalidInputError(
            f"is a data frame of shape {X.shape} with sparse columns",
            parameter=name,
            value=X.shape,
            remedy=f"pass {literal(name)}.sparse.to_coo(), or {literal(name)}.sparse.to_dense()",
        )


def _numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _no_matrix(X: Any, name: str, error: Exception) -> InvalidInputError:
    """What is wrong with an array that was refused, by its shape and type."""
    X_ = literal(name)
    if not hasattr(X, "__array__") and not isinstance(X, Sequence) and not issparse(X):
        return InvalidInputError(
            f"must be a matrix, one row per point, got {_a_kind(X)}",
            parameter=name,
            value=X,
            remedy="pass an array, a data frame, a sparse matrix, or a list of rows",
        )
    try:
        shape = np.shape(X)
    except ValueError:  # a ragged list; numpy's own words are good
        return InvalidInputError(
            f"is no matrix: {error}",
            parameter=name,
            value=X,
            remedy="give all rows the same length",
        )
    why = " ".join(str(error).split())
    problem, remedy = f"of shape {shape} is no matrix of numbers: {why}", ""
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "names", None):
        problem = f"of shape {shape} has rows with named fields, and is no matrix"
        remedy = f"pass numpy.lib.recfunctions.structured_to_unstructured({X_})"
    elif len(shape) > 2:
        problem = f"must be a matrix, one row per point, got {len(shape)} dimensions: {shape}"
        remedy = f"{X_}.reshape(len({X_}), -1) has one row for each of {shape[0]}"
    elif len(shape) < 2:
        problem = f"must be a matrix, one row per point, got shape {shape}. Reshape your data"
        remedy = f"{X_}.reshape(-1, 1) if it is one feature, {X_}.reshape(1, -1) if it is one point"
    elif _is_complex(X):
        problem = f"has shape {shape} and dtype {np.asarray(X).dtype}. Complex data not supported"
        remedy = "pass its real part, or real and imaginary parts as columns"
    elif isinstance(error, OverflowError):
        problem, remedy = f"of shape {shape} has a number beyond float64: {why}", "rescale it"
    kind = _OtherKindError if isinstance(error, TypeError) else InvalidInputError
    return kind(problem, parameter=name, value=shape, remedy=remedy)


def _a_kind(X: Any) -> str:
    """What something is, by its type."""
    kind = type(X).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _is_complex(X: Any) -> bool:
    """Whether some of the numbers are complex, also in a list or an array of objects."""
    entries = np.asarray(X.data if issparse(X) else X)
    return bool(
        np.iscomplexobj(entries)
        or (entries.dtype == object and any(isinstance(x, complex) for x in entries.ravel()))
    )


def as_floats(value: Any) -> FloatArray:
    """An array of float64, copied; what is not made of real numbers is one NaN.

    Complex numbers are not made real.
    """
    try:
        array = np.asarray(value)
        return np.full(1, np.nan) if _is_complex(array) else np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.full(1, np.nan)


def as_nonnegative(W: Any, name: str = "W") -> csr_array | FloatArray:
    """A matrix of finite nonnegative numbers: an `Affinity`, sparse or dense.

    Sparse stays sparse (as `csr_array` of float64), dense stays dense.
    """
    W = getattr(W, "matrix", W)
    if issparse(W) and W.ndim == 2:
        if _is_complex(W):
            raise _no_matrix(W, name, ValueError())
        W = csr_array(W, dtype=np.float64)
        if not W.data.all():  # a stored zero is no edge
            W = W.copy()
            W.eliminate_zeros()
        entries = W.data
    else:
        W = np.asarray(as_array(W, name), dtype=np.float64)
        entries = W
    if not np.isfinite(entries).all():
        raise InvalidInputError(
            "has entries that are not finite",
            parameter=name,
            value=W,
            remedy="drop the points that they belong to",
        )
    if entries.size and entries.min() < 0:
        raise InvalidInputError(
            f"must not be negative, but its smallest entry is {entries.min():.3g}",
            parameter=name,
            value=entries.min(),
            remedy=["pass W.clip(min=0)", "a kernel of the distances if these are distances"],
        )
    return W


def as_affinity(W: Any, *, symmetric: bool = True) -> csr_array | FloatArray:
    """A square symmetric matrix of finite nonnegative numbers: an `Affinity`, sparse or dense.

    Sparse stays sparse, dense stays dense. Where it is only walked on, it need not be symmetric.
    """
    W = as_nonnegative(W)
    if W.shape[0] != W.shape[1]:
        raise InvalidInputError(
            f"must be a square matrix, got shape {W.shape}",
            parameter="W",
            value=W.shape,
            remedy="from points, make one with {sparrot.qot}",
        )
    sums = np.asarray(W.sum(axis=1)).ravel()
    odd = np.flatnonzero((sums > 0) & ~((sums >= _LEAST_SUM) & (sums < np.inf)))
    if len(odd):
        raise InvalidInputError(
            f"must have row sums that can be scaled to one, but that of row {odd[0]} is "
            f"{sums[odd[0]]:.3g}",
            parameter="W",
            value=sums[odd[0]],
            remedy="divide W by its largest entry, or drop such points",
        )
    largest = _asymmetry(W) if symmetric and W.shape[0] else 0.0
    if largest and largest > _ASYMMETRY * np.finfo(np.float64).eps * W.max():
        raise InvalidInputError(
            f"must be symmetric, but W and its transpose differ by {largest:.3g}",
            parameter="W",
            value=W,
            remedy="pass (W + W.T) / 2 if that is what you mean",
        )
    return W


def _asymmetry(W: Any) -> float:
    """The largest difference between W and its transpose.

    If these have entries in the same places, as symmetric matrices have, it is one of numbers.
    """
    if not issparse(W):
        return float(abs(W - W.T).max())
    turned = W.T.tocsr()  # its indices are sorted
    ordered = W if W.has_sorted_indices else turned.T.tocsr()
    same = ordered.has_canonical_format and np.array_equal(ordered.indptr, turned.indptr)
    if same and np.array_equal(ordered.indices, turned.indices):
        return float(np.abs(ordered.data - turned.data).max(initial=0.0))
    return float(abs(W - turned).max())


def as_finite(values: Any, shape: tuple[int, ...] | None, name: str) -> FloatArray:
    """Finite numbers of a shape, or of any; copied."""
    numbers = as_floats(values)
    if not np.isfinite(numbers).all() or (shape is not None and numbers.shape != shape):
        wanted = "finite numbers" if shape is None else f"finite numbers of shape {shape}"
        found = f"of shape {numbers.shape}" if np.isfinite(numbers).all() else "with other entries"
        raise InvalidInputError(
            f"must be {wanted}, got {_a_kind(values)} {found}",
            parameter=name,
            value=values,
        )
    return numbers


def as_labels(labels: Any, n: int | None, name: str) -> Any:
    """A label for each of n points (or of any number of them), as an array of one dimension."""
    array = np.asarray(labels)
    try:
        names = np.unique(array)
    except TypeError:
        names = np.empty(0)
    if array.ndim != 1 or not len(names) or (n is not None and len(array) != n):
        points = "each point" if n is None else f"each of the {n} points"
        raise InvalidInputError(
            f"must be a label for {points}, got {_a_kind(labels)} of shape {array.shape}",
            parameter=name,
            value=labels,
        )
    return array


def as_functions(F: Any, n: int, name: str = "F") -> FloatArray:
    """Finite functions on n points: one as (n,), or m as (n, m), in float64."""
    functions = as_floats(F)
    if functions.ndim not in (1, 2) or len(functions) != n:
        raise InvalidInputError(
            f"must be a function on the {n} points, of shape ({n},) or ({n}, m), "
            f"got shape {functions.shape}",
            parameter=name,
            value=F,
        )
    if not np.isfinite(functions).all():
        raise InvalidInputError(
            "has entries that are not finite",
            parameter=name,
            value=F,
            remedy="drop or impute them",
        )
    return functions


def as_real(value: Any) -> float:
    """A number in float64: infinite if it is beyond, NaN if it is no real number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def as_positive(value: Any, name: str, hint: str) -> float:
    """A positive finite number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InvalidInputError(
            f"must be a number, got {value!r}", parameter=name, value=value, remedy=hint
        )
    number = as_real(value)
    if not 0 < number < np.inf:
        raise InvalidInputError(
            f"must be positive and finite, got {str(value)[:40]}",
            parameter=name,
            value=value,
            remedy=hint,
        )
    return number


def as_neighbors(value: Any, name: str, most: float = np.inf, least: int = 1) -> float:
    """An effective number of neighbors, from `least` to `most`.

    Examples
    --------
    >>> as_neighbors(7, "min_neighbors", 9)
    7.0
    >>> as_neighbors(60, "n_neighbors", 59)
    Traceback (most recent call last):
    sparrot.errors.InvalidInputError: n_neighbors must be a number from 1 to 59, which is as many \
neighbors as there can be, got 60; take n_neighbors=59 at most
    """
    number = as_real(value)
    if least <= number <= most:
        return number
    limits = f"of at least {least}"
    if most < np.inf:
        limits = f"from {least} to {most:g}, which is as many neighbors as there can be"
    hint = f"{_NEIGHBORS[name]} is a good start"
    if name == "n_neighbors" and np.ndim(value):
        hint = "for a number of each point take {min_neighbors} and a small {eps}"
    shown = " ".join(repr(value).split()) if np.isnan(number) else f"{number:.10g}"
    raise InvalidInputError(
        f"must be a number {limits}, got {shown[:40]}",
        parameter=name,
        value=value,
        remedy=f"take {{{name}={most:g}}} at most" if number > most else hint,
    )


def as_floors(value: Any, n: int, most: int) -> FloatArray:
    """The least effective number of neighbors of each of n points, from one for all or from n.

    Among several numbers, 0 is no floor for that point, which is the same as 1.

    Examples
    --------
    >>> as_floors(3, 4, 3), as_floors([0, 2, 3, 2], 4, 3)
    (array([3., 3., 3., 3.]), array([1., 2., 3., 2.]))
    """
    name = "min_neighbors"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not hasattr(value, "__len__") or isinstance(value, (str, bytes)):
        return np.full(n, as_neighbors(value, name, most))
    floors, shape = as_floats(value), getattr(value, "shape", None) or (len(value),)
    if floors.shape != (n,) or np.asarray(value).dtype == bool:
        raise InvalidInputError(
            f"must be one number, or one for each of the {n} points, got {_a_kind(value)} of shape "
            f"{shape}",
            parameter=name,
            value=value,
            remedy=f"{_NEIGHBORS[name]} is a good start",
        )
    floors = np.where(floors == 0, 1.0, floors)
    wrong = np.flatnonzero(~((floors >= 1) & (floors <= most)))
    if len(wrong):
        raise InvalidInputError(
            f"must be from 1 to {most}, which is as many neighbors as there can be, for every "
            f"point, but {name}[{wrong[0]}] is {floors[wrong[0]]:g} ({len(wrong)} of {n} are out "
            "of range)",
            parameter=name,
            value=floors[wrong[0]],
            remedy="take 0 for a point without a floor",
        )
    return floors


def as_tolerance(value: Any, what: str = "error of a row sum") -> float:
    """An error to reach, above the rounding of float64."""
    hint = f"it is the largest {what}, 1e-8 is a good choice"
    tol = as_positive(value, "tol", hint)
    if tol < _LEAST_TOLERANCE:
        raise InvalidInputError(
            f"is below the rounding of float64, and cannot be reached, got {tol:g}",
            parameter="tol",
            value=tol,
            remedy=hint,
        )
    return tol


def as_max_iter(value: Any) -> int | None:
    """A positive integer, or None for the solver's own limit."""
    if value is None:
        return None
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(
            f"must be a positive integer, got {value!r}",
            parameter="max_iter",
            value=value,
            remedy="leave it out for the solver's own limit",
        )
    return int(value)


def as_max_memory(max_memory: Any) -> float | None:
    """Bytes, or None for what is available."""
    if max_memory is None:
        return None
    return as_positive(max_memory, "max_memory", "it is in bytes, such as 4e9")


def as_count(value: Any, name: str, most: int | None = None) -> int:
    """An integer from 1 to `most`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < 1 or (most is not None and int(value) > most):
        end = "on" if most is None else f"to {most}"
        raise InvalidInputError(
            f"must be an integer from 1 {end}, got {value!r}", parameter=name, value=value
        )
    return int(value)


def as_steps(t: Any) -> int:
    """A number of steps of a random walk."""
    if not isinstance(t, Integral) or not 0 <= as_real(t) < 2**62:
        raise InvalidInputError(
            f"must be a number of steps, 0, 1, 2, ..., got {t!r}",
            parameter="t",
            value=t,
            remedy="for all of them at once take {t='multiscale'}",
        )
    return int(t)


def as_coordinates(value: Any, n: int) -> int:
    """How many coordinates n points get by eigenvectors: at most n - 2.

    Examples
    --------
    >>> as_coordinates(2, 4)
    2
    >>> as_coordinates(2, 3)
    Traceback (most recent call last):
    sparrot.errors.InvalidInputError: 3 points are too few for 2 coordinates; give at least 4 \
points, or take n_components=1
    """
    count = as_count(value, "n_components", None if n < 4 else n - 2)
    if count > n - 2:
        raise InvalidInputError(
            f"{counted(n, 'point is', 'points are')} too few for {counted(count, 'coordinate')}",
            value=n,
            remedy=[f"give at least {count + 2} points", "take {n_components=1}" * (n == 3)],
        )
    return count


def as_indices(indices: Any, n: int, name: str) -> IntArray:
    """Indices of points, counted from zero, as an array; one index is an array of one."""
    given = np.atleast_1d(np.asarray(indices))
    fits = given.ndim == 1 and given.size and given.dtype.kind in "iu"
    if not fits or given.min() < 0 or given.max() >= n:
        raise InvalidInputError(
            f"must be an index or a list of indices from 0 to {n - 1}, got {indices!r}",
            parameter=name,
            value=indices,
        )
    return given.astype(np.intp)


def as_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(
            f"must be True or False, got {value!r}", parameter=name, value=value
        )
    return bool(value)


def as_word(value: Any, name: str) -> str:
    """A string, such as the name of a column."""
    if not isinstance(value, str):
        raise InvalidInputError(
            f"must be a string, got {_a_kind(value)}", parameter=name, value=value
        )
    return value


def as_key(value: Any, name: str) -> str | None:
    """A string that names a part of something, or None for the usual one."""
    return None if value is None else as_word(value, name)


def as_seed(random_state: Any) -> int:
    """A seed that every library takes, and files can hold."""
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if not whole or not 0 <= int(random_state) < 2**32:
        raise InvalidInputError(
            f"must be an integer from 0 to 2**32 - 1, got {_shown(random_state)}",
            parameter="random_state",
            value=random_state,
        )
    return int(random_state)


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator of random numbers, from a seed or as it is."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"must be a seed or a generator of NumPy, got {_shown(random_state)}",
            parameter="random_state",
            value=random_state,
        ) from error


def _shown(value: Any) -> str:
    """A number as it is, and anything else by its type."""
    return str(value)[:40] if isinstance(value, Real) else _a_kind(value)


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        near = get_close_matches(str(value), choices, 1)
        raise InvalidInputError(
            f"must be one of {', '.join(choices)}, got {value!r}",
            parameter=name,
            value=value,
            remedy=f"did you mean {near[0]!r}?" if near else "",
        )
    return value


def as_potential(u: Any, n: int) -> FloatArray:
    """A finite vector of length n, copied."""
    potential = as_floats(u)
    if potential.shape != (n,) or not np.isfinite(potential).all():
        raise InvalidInputError(
            f"must be {n} finite numbers, one per point, got shape {potential.shape}",
            parameter="potential",
            value=potential.shape,
            remedy="pass the `potential` of an earlier result on the same points",
        )
    return potential


def as_weights(a: Any, n: int, name: str, each: str = "point") -> FloatArray:
    """Nonnegative weights of n points (or of n of what `each` names), not all zero, copied."""
    weights = as_floats(a)
    if weights.shape != (n,):
        raise InvalidInputError(
            f"must be {n} weights, one per {each}, got shape {weights.shape}",
            parameter=name,
            value=weights.shape,
        )
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        raise InvalidInputError(
            f"must be nonnegative finite weights, but {name}[{bad[0]}] is {weights[bad[0]]:g}",
            parameter=name,
            value=weights[bad[0]],
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not 0 < total < np.inf:
        raise InvalidInputError(
            f"must not all be zero, with a finite sum, got the sum {total:g}",
            parameter=name,
            remedy="" if total == 0 else "divide them by the largest",
        )
    return weights


def as_public_metric(metric: Any) -> str:
    """The name of a metric; `"kernel"` is for `project` alone."""
    if not isinstance(metric, str) or metric == "kernel":
        raise InvalidInputError(
            f"must be the name of a metric, got {metric!r}",
            parameter="metric",
            value=metric,
            remedy="for a kernel use {sparrot.project}",
        )
    if metric == "nan_euclidean":
        raise InvalidInputError(
            "is 'nan_euclidean', which is for points with missing entries, and here all are needed",
            parameter="metric",
            value=metric,
            remedy=[
                "impute missing entries, as by sklearn.impute, and leave out {metric}",
                "for nearest neighbors alone take {sparrot.KNeighborsTransformer}, which has it",
            ],
        )
    return metric


def require_transformer(neighbors: Any, name: str = "neighbors") -> None:
    """Raise for what is no neighbors transformer, or is a class of them."""
    if isinstance(neighbors, type) or not hasattr(neighbors, "fit_transform"):
        raise InvalidInputError(
            "must be a transformer such as sklearn.neighbors.KNeighborsTransformer, got "
            f"{neighbors!r}",
            parameter=name,
            value=neighbors,
        )


def _as_symmetric(M: PointArray, name: str) -> FloatArray:
    if M.shape[0] != M.shape[1]:
        raise InvalidInputError(
            f"must be a square matrix of costs or of a kernel, got shape {M.shape}",
            parameter=name,
            value=M.shape,
        )
    rounding = float(np.finfo(M.dtype).eps)
    C = M.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        asymmetry = np.abs(C - C.T)
    largest = float(asymmetry.max(initial=0.0))
    if largest > _ASYMMETRY * rounding * float(np.abs(C).max(initial=0.0)):
        i, j = np.unravel_index(asymmetry.argmax(), C.shape)
        raise InvalidInputError(
            f"must be symmetric, but entries ({i}, {j}) and ({j}, {i}) are {C[i, j]:.9g} and "
            f"{C[j, i]:.9g}",
            parameter=name,
            value=M,
            remedy=f"pass ({literal(name)} + {literal(name)}.T) / 2 if that is what you mean",
        )
    return C if largest == 0 else C / 2 + C.T / 2
