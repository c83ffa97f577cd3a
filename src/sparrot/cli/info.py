"""`sparrot info`: what is in a file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import sparrot
from sparrot.cli._options import (
    READING,
    add_command,
    add_preparation,
    add_stored,
    add_text,
    add_verbosity,
    either,
    points,
)
from sparrot.cli._session import Session
from sparrot.cli._summary import (
    affinity_facts,
    affinity_lines,
    whereabouts,
)
from sparrot.errors import InvalidInputError, counted
from sparrot.io import ending, formats_holding, formats_taking

_ROUNDING = 1e-9  # of the largest cost or potential, in a violation that is computed anew
_SHOWN = 8  # names of columns


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "info",
        "what is in a file of points or an affinity",
        "Shape, type and oddities of points; kind, scale and certificate of an affinity.",
        "points.csv",
        "affinity.npz --json",
        "affinity.npz --check points.csv   # is it the optimum that it claims to be?",
    )
    parser.add_argument("path", type=Path, metavar="FILE", help=points())
    parser.add_argument(
        "--array", metavar="NAME", help=f"which array of a {either(formats_taking('array'))} file"
    )
    add_text(parser, labeled=False)
    add_stored(parser)
    parser.add_argument(
        "--check",
        type=Path,
        metavar="POINTS",
        help="the file of points that an affinity was made of: computes its certificate anew, by "
        "brute force over all pairs",
    )
    add_preparation(parser, "with --check: ")
    add_verbosity(parser)


def run(options: Namespace, session: Session) -> None:
    """Print what a file holds: an affinity, or points."""
    from sparrot.io import holds_affinity, list_affinities, list_arrays

    path: Path = options.path
    if options.check is None:
        _refuse_preparation(options)
    session.stage(f"reading {path}")
    several = ending(path) == ".h5ad" and path.is_file()
    keys, arrays = (list_affinities(path), list_arrays(path)) if several else ([], [])
    asked = options.key is not None or options.check is not None
    if asked or (options.array is None and holds_affinity(path)):
        facts, lines = _affinity(options, session)
    else:
        facts, lines = _points(options, session)
    for name, found in {"arrays": arrays, "affinities": keys}.items():
        if found:
            facts[name], lines[name] = found, ", ".join(found)
    size = path.stat().st_size
    shown = f"{size / 1e6:,.3g} MB" if size >= 1e6 else f"{size / 1e3:,.3g} kB"
    lines = {"file": f"{path}, {shown}"} | lines
    session.finish({"input": str(path), "bytes": size} | facts, lines)


def _refuse_preparation(options: Namespace) -> None:
    """Raise if points are to be changed, and none are to be compared with an affinity."""
    from sparrot.cli._input import PREPARING

    for name in PREPARING:
        value = getattr(options, name)
        if value is not None:
            raise InvalidInputError(
                "is for the points that an affinity was made of",
                parameter=name,
                value=value,
                remedy=["leave it out", "name these points by {check}"],
            )


def _affinity(options: Namespace, session: Session) -> tuple[dict[str, Any], dict[str, str]]:
    """What is known about an affinity, and whether that is true, if that was asked."""
    from sparrot.cli._input import check_preparation, prepared

    if options.check is not None and ending(options.path) not in formats_holding("affinity"):
        raise InvalidInputError(
            f"{options.path} is no stored affinity, and --check takes the points of one",
            parameter="path",
            value=options.path,
            remedy="name what `sparrot affinity -o` wrote, which ends in "
            f"{either(formats_holding('affinity'))}",
        )
    affinity = sparrot.load(options.path, key=options.key)
    facts, lines = affinity_facts(affinity), affinity_lines(affinity)
    claims = affinity.certificate is not None and affinity.certificate.claimed
    if options.check is not None:
        check_preparation(options, affinity.metric)
        given = {name: getattr(options, name) for name in READING}
        points = prepared(sparrot.read_points(options.check, **given), options, session)
        session.stage("checking all pairs")
        found = affinity.check(points)
        if claims:
            _require_claim(affinity, found, options)
        facts["check"] = asdict(found)
        verdict = "the claim holds" if claims else "there is no claim"
        lines["check"] = (
            f"{verdict}; computed from {options.check}: {found}, at a mean cost of "
            f"{affinity.mean_cost:.4g}"
        )
    elif claims:
        lines["certificate"] += " (--check POINTS does)"
    return facts, lines


def _require_claim(
    affinity: sparrot.Affinity, found: sparrot.Certificate, options: Namespace
) -> None:
    """Raise if errors are larger than the file claims, but for rounding and what was dropped."""
    claim, u, eps = affinity.certificate, affinity.potential, affinity.eps
    assert claim is not None
    assert u is not None
    assert eps is not None
    slack = _ROUNDING * max(affinity.mean_cost, abs(u).max())
    if affinity.drop is not None:
        slack += eps * affinity.drop / len(u)
    if (
        found.largest_error > claim.largest_error + _ROUNDING
        or found.violation > claim.violation + slack
    ):
        raise InvalidInputError(
            f"{options.check} gives larger errors than {options.path} claims: {found}, at a mean "
            f"cost of {affinity.mean_cost:.4g}",
            parameter="check",
            value=options.check,
            remedy=[
                "name the points that it was made of, in their order",
                "give {label}, {without}, {names}, {standardize} and {pca} as it was made",
            ],
        )


def _points(options: Namespace, session: Session) -> tuple[dict[str, Any], dict[str, str]]:
    """What is known about points, and about the columns of a table, be they points or not."""
    from sparrot.cli._input import chosen_array
    from sparrot.io import list_columns, read_matrix

    text = {name: getattr(options, name) for name in ("header", "names")}
    columns = list_columns(options.path, **text)
    options.array = chosen_array(options)
    try:
        points = read_matrix(options.path, **{name: getattr(options, name) for name in READING})
    except InvalidInputError as error:
        if columns is None or error.parameter != "path":
            raise
        facts: dict[str, Any] = {"n": None, "problem": session.worded(error)}
        lines = {"points": f"none: {facts['problem']}"}
    else:
        facts = points_facts(points) | {"array": options.array}
        lines = _points_lines(facts, options)
    if columns is None:
        return facts, lines
    return facts | {"columns": columns}, {"columns": _columns_line(columns)} | lines


def _columns_line(columns: dict[str, list[str]]) -> str:
    """How many columns of a table are of which kind, and the names of those without numbers.

    Examples
    --------
    >>> _columns_line({"numbers": ["x", "y"], "words": ["kind"], "empty": [], "names": ["cell"]})
    '2 of numbers, 1 of words (kind), row names (cell)'
    """
    parts = [f"{len(columns['numbers'])} of numbers"]
    for kind, what in {"words": "of words", "empty": "empty"}.items():
        if columns[kind]:
            parts.append(f"{len(columns[kind])} {what} ({_some(columns[kind])})")
    if columns["names"]:
        named = _some(columns["names"])
        parts.append(f"row names ({named})" if named else "row names")
    return ", ".join(parts)


def _some(names: list[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def points_facts(X: Any) -> dict[str, Any]:
    """What there is to know about points before an affinity is made of them.

    Examples
    --------
    >>> import numpy as np
    >>> facts = points_facts(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0]]))
    >>> facts["duplicates"], facts["constant_features"], facts["zeros"], facts["missing"]
    (1, 1, 0.5, 0)
    """
    import numpy as np
    from scipy.sparse import issparse

    n, p = X.shape
    sparse = bool(issparse(X))
    low, high = _extremes_of_sparse(X) if sparse else _extremes(X)
    nonzero = X.count_nonzero() if sparse else np.count_nonzero(X)
    values = X.data if sparse else X
    return {
        "n": n,
        "features": p,
        "dtype": str(X.dtype),
        "sparse": sparse,
        "zeros": float(1 - nonzero / max(1, n * p)),
        "least": float(low.min(initial=np.inf)),
        "most": float(high.max(initial=-np.inf)),
        "missing": int(np.isnan(values).sum()),
        "infinite": int(np.isinf(values).sum()),
        "constant_features": int((low == high).sum()),
        "duplicates": n - len(set(_sparse_rows(X) if sparse else _rows(X))),
    }


def _extremes(X: Any) -> tuple[Any, Any]:
    """The least and the greatest finite entry of each feature."""
    import numpy as np

    finite = np.isfinite(X)
    low = np.where(finite, X, np.inf).min(0, initial=np.inf)
    return low, np.where(finite, X, -np.inf).max(0, initial=-np.inf)


def _extremes_of_sparse(X: Any) -> tuple[Any, Any]:
    import numpy as np

    low, high = X.astype(np.float64), X.astype(np.float64)
    low.data[~np.isfinite(X.data)], high.data[~np.isfinite(X.data)] = np.inf, -np.inf
    return np.ravel(low.min(0).toarray()), np.ravel(high.max(0).toarray())


def _rows(X: Any) -> Iterator[Any]:
    """Something that two rows share exactly if they are equal."""
    return (row.tobytes() for row in X + 0.0)  # -0 is 0


def _sparse_rows(X: Any) -> Iterator[Any]:
    X = X.sorted_indices()
    X.eliminate_zeros()
    for start, stop in pairwise(X.indptr):
        yield X.indices[start:stop].tobytes(), X.data[start:stop].tobytes()


def _points_lines(facts: dict[str, Any], options: Namespace) -> dict[str, str]:
    kind = "sparse" if facts["sparse"] else "dense"
    odd = [
        counted(facts["duplicates"], "duplicate row"),
        counted(facts["constant_features"], "constant feature"),
    ]
    if facts["missing"]:
        odd.append(counted(facts["missing"], "missing value (NaN)", "missing values (NaN)"))
    if facts["infinite"]:
        odd.append(counted(facts["infinite"], "infinite value"))
    return {
        "points": f"{facts['n']:,}{whereabouts('', facts['features'], options)}",
        "values": f"{kind} {facts['dtype']}, {facts['least']:.4g} to {facts['most']:.4g}, "
        f"{facts['zeros']:.1%} zeros",
        "oddities": ", ".join(odd),
    }
