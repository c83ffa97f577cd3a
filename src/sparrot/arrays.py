"""What is passed for a matrix of numbers and is none: errors that name it, and never print it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

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
