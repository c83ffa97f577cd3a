"""`sparrot info`: what is in a file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import sparrot
from sparrot.cli._options import (
    READING,
    add_command,
    add_stored,
    add_text,
    add_verbosity,
    either,
    points,
)
from sparrot.cli._session import Session
from sparrot.cli._summary import affinity_facts, affinity_lines, whereabouts
from sparrot.errors import counted
from sparrot.io import ending, formats_taking


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "info",
        "what is in a file of points or an affinity",
        "Shape, type and oddities of points; kind, scale and certificate of an affinity.",
        "points.csv",
        "affinity.npz --json",
    )
    parser.add_argument("path", type=Path, metavar="FILE", help=points())
    parser.add_argument(
        "--array", metavar="NAME", help=f"which array of a {either(formats_taking('array'))} file"
    )
    add_text(parser)
    add_stored(parser)
    add_verbosity(parser)


def run(options: Namespace, session: Session) -> None:
    """Print what a file holds: an affinity, or points."""
    from sparrot.cli._input import chosen_array
    from sparrot.io import holds_affinity, list_affinities, list_arrays, read_matrix

    path: Path = options.path
    session.stage(f"reading {path}")
    several = ending(path) == ".h5ad" and path.is_file()
    keys, arrays = (list_affinities(path), list_arrays(path)) if several else ([], [])
    if options.key is not None or (options.array is None and holds_affinity(path)):
        affinity = sparrot.load(path, key=options.key)
        facts, lines = affinity_facts(affinity), affinity_lines(affinity)
    else:
        options.array = chosen_array(options)
        given = {name: getattr(options, name) for name in READING}
        facts = points_facts(read_matrix(path, **given)) | {"array": options.array}
        lines = _points_lines(facts, options)
    for name, found in {"arrays": arrays, "affinities": keys}.items():
        if found:
            facts[name], lines[name] = found, ", ".join(found)
    size = path.stat().st_size
    shown = f"{size / 1e6:,.3g} MB" if size >= 1e6 else f"{size / 1e3:,.3g} kB"
    lines = {"file": f"{path}, {shown}"} | lines
    session.finish({"input": str(path), "bytes": size} | facts, lines)


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
