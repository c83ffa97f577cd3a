"""From a file to points, and from points to the affinity that was asked for."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from sklearn.decomposition import PCA

import sparrot
from sparrot.cli.output import require_same_cells
from sparrot.cli.session import Session
from sparrot.errors import InvalidInputError
from sparrot.extras import load_extra
from sparrot.interop.archive import holds_affinity
from sparrot.validation import as_count

# What the parser calls an argument of the functions, and how it is given.
_FLAGS = {
    "eps": "--eps",
    "perplexity": "--perplexity",
    "metric": "--metric",
    "n_jobs": "--jobs",
    "k": "--neighbours",
    "q": "--q",
    "drop": "--drop",
    "search": "--search",
    "checkpoint": "--checkpoint",
    "tol": "--tol",
    "max_iter": "--max-iter",
}
_ABOUT_POINTS = {"kind": "--kind", "array": "--array", "pca": "--pca"} | _FLAGS


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An affinity and where it comes from.

    Attributes
    ----------
    path : the file.
    affinity : made from its points, or read from it.
    shape : of the points; None if the file was an affinity.
    """

    path: Path
    affinity: sparrot.Affinity
    shape: tuple[int, int] | None


def read_affinity(
    options: Namespace, session: Session, default: dict[str, Any] | None = None
) -> Source:
    """The affinity in a file, or of the points in it; `default` is the scale if none is given."""
    if is_affinity(options.path):
        given = [flag for name, flag in _ABOUT_POINTS.items() if getattr(options, name) is not None]
        if given:
            raise InvalidInputError(
                f"{options.path} is an affinity already, and {given[0]} is about making one; leave "
                "it out, or give the points"
            )
        session.stage(f"reading {options.path}")
        return Source(options.path, sparrot.load(options.path), None)
    points = read_points(options, session)
    require_same_cells(options.output, points.shape[0])
    session.stage("affinity")
    return Source(options.path, make_affinity(points, options, session, default), points.shape)


def is_affinity(path: Path) -> bool:
    """Whether a `.npz` or `.h5ad` file holds an affinity and no points."""
    if path.suffix == ".npz":
        return holds_affinity(path)
    if path.suffix != ".h5ad" or not path.is_file():
        return False
    load_extra("anndata", "scanpy")
    try:
        with load_extra("h5py", "scanpy").File(path, "r") as file:
            return "X" not in file and len(file.get("obsp", ())) > 0
    except OSError as error:
        raise InvalidInputError(f"{path} is not a whole .h5ad file ({error})") from error


def read_points(options: Namespace, session: Session, array: str | None = None) -> Any:
    """The points in a file, reduced if that was asked for; `array` if none was."""
    session.stage(f"reading {options.path}")
    points = sparrot.read_points(options.path, array=options.array or array)
    if options.pca is None:
        return points
    if options.metric == "precomputed":
        raise InvalidInputError("--pca is for points, not for a precomputed cost; leave it out")
    session.stage("principal components")
    n = as_count(options.pca, "--pca", min(points.shape) - 1)
    return PCA(n, random_state=0).fit_transform(points)


def make_affinity(
    points: Any, options: Namespace, session: Session, default: dict[str, Any] | None = None
) -> sparrot.Affinity:
    """The affinity of points, by the function of its kind.

    Raises
    ------
    InvalidInputError
        If an option was given that this kind does not have.
    """
    kind = options.kind or "qot"
    function: Callable[..., sparrot.Affinity] = getattr(sparrot, kind)
    given = {name: getattr(options, name) for name in _FLAGS if getattr(options, name) is not None}
    known = set(signature(function).parameters)
    if kind == "gaussian":
        known.add("eps")  # its bandwidth
    if "eps" not in given and "perplexity" not in given and "perplexity" in known:
        given |= default or {}
    unknown = [name for name in given if name not in known]
    if unknown:
        takes = ", ".join(flag for name, flag in _FLAGS.items() if name in known)
        raise InvalidInputError(f"--kind {kind} takes no {_FLAGS[unknown[0]]}; it takes {takes}")
    if kind == "gaussian" and "eps" in given:
        given["bandwidth"] = given.pop("eps")
    if "progress" in known:
        given["progress"] = session.bar
    return function(points, **given)
