"""Images of handwritten digits: MNIST."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import fetch_openml

from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_generator
from sparrot.datasets._cells import VARIABLE, find_data
from sparrot.errors import InvalidInputError, MissingDataError
from sparrot.io import open_npz

_SIDE = 28


@dataclass(frozen=True, slots=True)
class Digits:
    """Images of digits.

    Attributes
    ----------
    X : (n, 784) pixels from 0 to 1, 28 rows of 28.
    labels : (n,) the digit that each shows.
    """

    X: FloatArray
    labels: IntArray

    @property
    def images(self) -> FloatArray:
        """(n, 28, 28) view."""
        return self.X.reshape(-1, _SIDE, _SIDE)

    @property
    def slant(self) -> FloatArray:
        """(n,) the angle of each digit to the vertical, in radians, positive to the right.

        By moments of the ink: the shear that makes the image upright is the covariance of column
        and height over the variance of the height.
        """
        ink = self.images / self.images.sum(axis=(1, 2), keepdims=True)
        column, height = np.arange(_SIDE), np.arange(_SIDE)[::-1]
        across, up = ink.sum(axis=1) @ column, ink.sum(axis=2) @ height
        x, y = column - across[:, None], height - up[:, None]
        covariance = np.einsum("nij,nj,ni->n", ink, x, y)
        variance = np.einsum("nij,ni->n", ink, y**2)
        return np.arctan2(covariance, variance)


def load_mnist(
    digits: Sequence[int] = tuple(range(10)),
    n_per_digit: int | None = None,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> Digits:
    """Images of MNIST, ordered by digit.

    From `mnist.npz` (arrays X and y) in the folder that `SPARROT_DATA` names, else from OpenML by
    scikit-learn, which keeps a copy.

    Parameters
    ----------
    digits : which.
    n_per_digit : how many of each, chosen at random; None for all.
    random_state : seed or generator of that choice.

    Raises
    ------
    MissingDataError : no file, and OpenML cannot be reached.

    Examples
    --------
    >>> ones = load_mnist([1], 250)  # doctest: +SKIP
    >>> ones.X.shape  # doctest: +SKIP
    (250, 784)
    """
    rng = as_generator(random_state)
    X, y = _all_images()
    chosen = [_choice(rng, np.flatnonzero(y == digit), digit, n_per_digit) for digit in digits]
    rows = np.concatenate(chosen)
    return Digits(X[rows] / 255.0, y[rows].astype(np.int64))


def _choice(rng: np.random.Generator, rows: IntArray, digit: int, n: int | None) -> IntArray:
    if n is None:
        return rows
    if not 1 <= n <= len(rows):
        raise InvalidInputError(
            f"must be from 1 to {len(rows)}, the number of images of digit {digit}, got {n}",
            parameter="n_per_digit",
            value=n,
        )
    return np.sort(rng.choice(rows, n, replace=False))


def _all_images() -> tuple[FloatArray, IntArray]:
    path = find_data("mnist.npz")
    if path is not None:
        with open_npz(path) as file:
            return file["X"], file["y"]
    try:
        X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    except OSError as error:
        raise MissingDataError(
            f"MNIST could not be fetched from OpenML ({error})",
            remedy=f"set {VARIABLE} to a folder that has mnist.npz, with arrays X (70000 x 784) "
            "and y",
        ) from error
    return X, y.astype(np.int64)
