"""From a file to points, and to an affinity: the one that it holds, or one made of its points.

Results go out by `sparrot.cli._output`, which commands that read no such file use alone.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import sparrot
from sparrot._validation import (
    as_choice,
    as_coordinates,
    as_count,
    as_neighbors,
    as_public_metric,
    require_two_rows,
)
from sparrot.affinity import (
    KINDS,
    as_bandwidth,
    as_drop,
    as_options,
    as_scale,
    as_sparse_q,
    build,
    is_no_floor,
    kinds,
    require_one_floor,
)
from sparrot.cli._options import OTHER_NAMES, READING
from sparrot.cli._output import require_same_cells
from sparrot.cli._session import Session
from sparrot.cost import require_metric
from sparrot.engine import Threads, connected, require_address
from sparrot.errors import AffinityWarning, InvalidInputError, counted, warn
from sparrot.io import (
    SCANPY_WIDE,
    default_array,
    ending,
    formats_taking,
    holds_affinity,
    list_affinities,
)
from sparrot.summary import Summary

_QOT = ("eps", "perplexity", "n_neighbors", "min_neighbors", "metric", "search", "tol", "max_iter")
_MAKING = (*_QOT, "q", "drop", "checkpoint", "dask")  # about making an affinity
PREPARING = ("standardize", "pca")  # what is done to points before the rest
_ABOUT_POINTS = ("array", "header", "names", "without", *PREPARING, "kind", *_MAKING)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An affinity and where it comes from.

    Attributes
    ----------
    path : the file.
    affinity : made from its points, or read from it.
    shape : of the points; None if the file was an affinity.
    labels : of the points, if a column of them was named.
    """

    path: Path
    affinity: sparrot.Affinity
    shape: tuple[int, int] | None
    labels: Any = None


def read_affinity(
    options: Namespace, session: Session, *, symmetric: bool = True, layout: bool = False
) -> Source:
    """The affinity in a file, or of the points in it.

    Parameters
    ----------
    options, session : of the command.
    symmetric : refuse kinds that are not.
    layout : where no scale was given, take the default of the registry, as layouts do, and not that
        of the function.
    """
    check_labels(options)
    if options.kind is not None:
        as_choice(options.kind, "kind", kinds(symmetric=symmetric))
    for name in ("n_components", "n_clusters"):
        if getattr(options, name, None) is not None:
            as_count(getattr(options, name), name)
    if holds_what_is_asked(options):
        session.stage(f"reading {options.path}")
        affinity, session.stored = sparrot.load(options.path, key=options.key), True
        n = affinity.matrix.shape[0]
        _require_enough_points(options, n)
        return Source(options.path, affinity, None, read_labels(options, n))
    points = read_points(options, session, layout)
    _require_enough_points(options, points.shape[0])
    labels = read_labels(options, points.shape[0])
    session.stage("affinity")
    affinity = make_affinity(points, options, session, layout)
    return Source(options.path, affinity, points.shape, labels)


def read_labels(options: Namespace, n: int) -> Any:
    """The labels of n points, if a column of them was named: in their file, or in another."""
    other: Path | None = getattr(options, "labels_in", None)
    if options.label is None:
        return None
    if other is None:
        text = {"header": options.header, "names": options.names}
        return sparrot.read_labels(options.path, options.label, **text)
    labels = sparrot.read_labels(other, options.label)
    if len(labels) != n:
        raise InvalidInputError(
            f"has {counted(len(labels), 'row')}, and there are {counted(n, 'point')}",
            parameter="labels_in",
            value=str(other),
            remedy="give the table of these points",
        )
    return labels


def check_labels(options: Namespace) -> None:
    """Raise before the work if the file that should have the labels cannot have them."""
    other: Path | None = getattr(options, "labels_in", None)
    has_columns = ending(options.path) in formats_taking("label")
    if other is None and options.label is not None and not has_columns and options.path.is_file():
        elsewhere = hasattr(options, "labels_in")
        raise InvalidInputError(
            f"is a column, and {options.path} has none",
            parameter="label",
            value=options.label,
            remedy="name the table that has it by {labels_in}" if elsewhere else "leave it out",
        )
    if other is None:
        return
    problem, remedy = "", "leave it out"
    if has_columns:
        problem = f"is for files without columns, and {options.path} has some"
    elif options.label is None:
        problem, remedy = "is the table of a column that was not named", "name it by {label}"
    elif not other.is_file():
        problem, remedy = f"is no file: {other}", "check the spelling"
    if problem:
        raise InvalidInputError(problem, parameter="labels_in", value=str(other), remedy=remedy)


def read_points(options: Namespace, session: Session, layout: bool = False) -> Any:
    """The points in a file, as they are to be used; `options.array` then says which."""
    check_preparation(options, options.metric)
    _check_making(options, layout)
    session.stage(f"reading {options.path}")
    named = options.array
    options.array = chosen_array(options)
    given = {name: getattr(options, name) for name in READING}
    if getattr(options, "labels_in", None) is not None:
        given["label"] = None
    points = sparrot.read_points(options.path, **given)
    is_reduced = options.pca is not None
    if (
        named is None
        and options.array == "X"
        and options.metric != "precomputed"
        and not is_reduced
    ):
        _tell_of_components(options.path, points.shape)
    return prepared(points, options, session)


def check_preparation(options: Namespace, metric: str | None) -> None:
    """Raise for costs in the place of points, and for a number of components that none has."""
    for name, value in _given(options, PREPARING).items():
        if metric == "precomputed":
            raise InvalidInputError(
                "is for points, not for a precomputed cost",
                parameter=name,
                value=value,
                remedy="leave it out",
            )
    if options.pca is not None:
        as_count(options.pca, "pca")


def prepared(points: Any, options: Namespace, session: Session) -> Any:
    """Points with columns of mean 0 and variance 1, and reduced, as far as that was asked for."""
    if _given(options, PREPARING):
        require_two_rows(points)
    if options.standardize is not None:
        session.stage("standardizing")
        points = standardized(points)
    if options.pca is not None:
        from sklearn.decomposition import PCA

        session.stage("principal components")
        n = as_count(options.pca, "pca", min(points.shape) - 1)
        _require_squares(points, n)
        points = PCA(n, random_state=0).fit_transform(points)
    return points


def _require_squares(points: Any, n_components: int) -> None:
    """Raise for points so large that sums of their squares overflow."""
    import numpy as np

    largest = max(float(points.max()), -float(points.min()))
    if largest >= np.sqrt(float(np.finfo(points.dtype).max) / np.prod(points.shape)):
        raise InvalidInputError(
            f"needs squares, and those of numbers up to {largest:.3g} overflow in {points.dtype}",
            parameter="pca",
            value=n_components,
            remedy="rescale the points",
        )


def standardized(points: Any) -> Any:
    """Columns of mean 0 and variance 1 in float64; constant ones are 0.

    Examples
    --------
    >>> import numpy as np
    >>> standardized(np.array([[1, 7], [3, 7]], dtype=np.float32))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    import numpy as np
    from scipy.sparse import issparse

    if issparse(points):
        raise InvalidInputError(
            f"would make all of a sparse matrix of shape {points.shape} dense",
            parameter="standardize",
            value=True,
            remedy=["write the points as a dense array if it fits", "leave it out"],
        )
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = scaler.fit_transform(points.astype(np.float64))
    too_large = np.flatnonzero(~np.isfinite(scaler.scale_) | ~np.isfinite(scaled).all(axis=0))
    if len(too_large):
        raise InvalidInputError(
            f"needs the variance of every column, and that of column {too_large[0]} (counted from "
            "0) is more than a number can be",
            parameter="standardize",
            value=True,
            remedy=["rescale the points", "leave it out"],
        )
    return scaled


def _tell_of_components(path: Path, shape: tuple[int, int]) -> None:
    """Cells of many genes without principal components: scanpy would compute these."""
    if shape[1] > SCANPY_WIDE:
        n = min(SCANPY_WIDE, min(shape) - 1)
        warn(
            AffinityWarning(
                f"{path} has no obsm/X_pca: the points are all {shape[1]:,} columns of X, of which "
                f"scanpy takes {n} principal components",
                remedy=[f"give {{pca={n}}}", "{array='X'} if the columns are meant"],
            )
        )


def chosen_array(options: Namespace) -> str | None:
    """Which array of a file the points are: the one that was named, or the default."""
    named: str | None = options.array
    if named is None and ending(options.path) == ".h5ad" and options.path.is_file():
        return default_array(options.path)
    return named


def make_affinity(
    points: Any, options: Namespace, session: Session, layout: bool = False
) -> sparrot.Affinity:
    """The affinity of points, by the function of its kind."""
    name = options.kind or "qot"
    kind, given = KINDS[name], _arguments(options)
    if "progress" in kind.parameters:
        given["progress"] = session.bar
    with connected(given.pop("engine", None)) as client:
        if client is not None:
            given["engine"] = client
        if layout:
            return build(points, name, **given)
        return kind.function(points, **kind.unless(given) | given)


def _arguments(options: Namespace) -> dict[str, Any]:
    """The arguments of the function of a kind that were given, by their names there.

    Raises
    ------
    InvalidInputError
        If an option was given that this kind does not have.
    """
    name = getattr(options, "kind", None) or "qot"
    kind = KINDS[name]
    parameters = {
        option: parameter
        for option in _MAKING
        for parameter in (OTHER_NAMES.get(option), option)
        if parameter in kind.parameters
    }
    given: dict[str, Any] = {}
    for option, value in _given(options, _MAKING).items():
        if option not in parameters:
            takes = ", ".join(f"{{{known}}}" for known in parameters)
            raise InvalidInputError(
                f"is no option of the kind {name}",
                parameter=option,
                value=value,
                remedy=f"it takes {takes}",
            )
        given[parameters[option]] = value
    if "n_jobs" in kind.parameters:  # others have one thread, which is within any limit
        given["n_jobs"] = options.n_jobs
    return given


def _check_making(options: Namespace, layout: bool) -> None:
    """Raise before points are read for what is wrong whatever they are.

    The rest is found when the affinity is made, as is what depends on how many points there are.
    """
    kind, given = KINDS[getattr(options, "kind", None) or "qot"], _arguments(options)
    arguments = {name: each.default for name, each in signature(kind.function).parameters.items()}
    arguments |= (dict(kind.options) if layout else {}) | given
    if arguments.get("engine") is not None:
        require_address(arguments["engine"])
    if kind.transport:
        scale = as_scale(arguments["eps"], arguments["perplexity"], arguments.get("n_neighbors"))
        floor = arguments.get("min_neighbors")
        require_one_floor(floor, scale)
        if not is_no_floor(floor):
            as_neighbors(floor, "min_neighbors")
        known = signature(as_options).parameters
        solving = {name: arguments[name] for name in arguments if name in known}
        as_options(**{"solver": "auto"} | solving)
        if "drop" in arguments:
            as_drop(arguments["drop"], scale)
    elif "n_neighbors" in arguments:
        as_count(arguments["n_neighbors"], "n_neighbors")
    if "bandwidth" in given:
        as_bandwidth(given["bandwidth"])
    if "q" in given:
        as_sparse_q(given["q"])
    if "metric" in given:
        require_metric(as_public_metric(given["metric"]))
    if given.get("n_jobs") is not None:
        Threads(given["n_jobs"])


def summarize(points: Any, options: Namespace, session: Session, **more: Any) -> Summary:
    """QOT affinities of points, at the eps that was asked for and at others around it."""
    given = _given(options, (*_QOT, "n_jobs"))
    return sparrot.summarize(points, progress=session.bar, **given, **more)


def holds_what_is_asked(options: Namespace) -> bool:
    """Whether the affinity is read from the file, not made from points.

    A file of an affinity and no points leaves no choice; where both are there, `--affinity` or any
    option about points makes it.

    Raises
    ------
    InvalidInputError
        If the options contradict the file or each other, or leave open what is meant.
    """
    path: Path = options.path
    if options.key is not None:
        if ending(path) != ".h5ad":
            raise InvalidInputError(
                f"is for .h5ad files, and the file is {str(path)!r}",
                parameter="key",
                value=options.key,
                remedy="leave it out",
            )
        _refuse_points(options, "a stored one was asked for")
        return True
    may_hold_both = ending(path) == ".h5ad"
    if may_hold_both and (options.array is not None or not path.is_file()):
        return False
    if holds_affinity(path):
        _refuse_points(options, f"{path} is one already")
        return True
    keys = list_affinities(path) if may_hold_both else []
    if keys and options.command != "affinity" and not _given(options, _ABOUT_POINTS):
        raise InvalidInputError(
            f"{path} holds points, and affinities under the keys: {', '.join(keys)}",
            parameter="path",
            value=path,
            remedy=[
                "name one of these by {key}",
                f"make one of the points by {{array={default_array(path)!r}}}",
            ],
        )
    return False


def _given(options: Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """The options of these names that were given."""
    values = {name: getattr(options, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _refuse_points(options: Namespace, why: str) -> None:
    """Raise if an option about points was given where there is an affinity."""
    for name, value in _given(options, _ABOUT_POINTS).items():
        raise InvalidInputError(
            f"is for making an affinity, and {why}",
            parameter=name,
            value=value,
            remedy=["leave it out", "give the points"],
        )


def _require_enough_points(options: Namespace, n: int) -> None:
    """Raise before the work if n points are too few for it, or too many for their file."""
    require_same_cells(options.output, n)
    if getattr(options, "n_components", None) is not None:
        as_coordinates(options.n_components, n)
    if getattr(options, "n_clusters", None) is not None:
        as_count(options.n_clusters, "n_clusters", max(1, n - 1))
