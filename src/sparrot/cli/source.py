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
from sparrot._validation import as_count
from sparrot.cli.complaints import FLAGS
from sparrot.cli.session import Session
from sparrot.cli.stored import MAKING, takes_stored
from sparrot.cli.targets import require_same_cells
from sparrot.errors import InvalidInputError
from sparrot.summary import Summary

_FEWER = {"components": 2, "clusters": 1}  # than points: by how many, at least


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
    if takes_stored(options):
        session.stage(f"reading {options.path}")
        affinity = sparrot.load(options.path, key=options.affinity)
        _require_fit(options, affinity.matrix.shape[0])
        return Source(options.path, affinity, None)
    points = read_points(options, session)
    _require_fit(options, points.shape[0])
    session.stage("affinity")
    return Source(options.path, make_affinity(points, options, session, default), points.shape)


def _require_fit(options: Namespace, n: int) -> None:
    """Complain before the work about what n points cannot give, or their file not take."""
    require_same_cells(options.output, n)
    for name, fewer in _FEWER.items():
        if getattr(options, name, None) is not None:
            as_count(getattr(options, name), f"--{name}", max(1, n - fewer))


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


def summarize(points: Any, options: Namespace, session: Session, **more: Any) -> Summary:
    """The affinity of points at the eps that was asked for, and at others around it."""
    names = ("eps", "perplexity", "metric", "search", "tol", "max_iter", "n_jobs")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return sparrot.summarize(points, progress=session.bar, **given, **more)


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
    names = (*MAKING, "n_jobs")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    known = set(signature(function).parameters)
    if "n_jobs" not in known:
        given.pop("n_jobs", None)  # a limit, which one thread obeys
    if kind == "gaussian":
        known.add("eps")  # its bandwidth
    if "eps" not in given and "perplexity" not in given and "perplexity" in known:
        given |= default or {}
    unknown = [name for name in given if name not in known]
    if unknown:
        takes = ", ".join(FLAGS[name] for name in names if name in known)
        raise InvalidInputError(f"--kind {kind} takes no {FLAGS[unknown[0]]}; it takes {takes}")
    if kind == "gaussian" and "eps" in given:
        given["bandwidth"] = given.pop("eps")
    if "progress" in known:
        given["progress"] = session.bar
    return function(points, **given)
