"""`sparrot info`: what is in a file."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

import sparrot
from sparrot._types import FloatArray
from sparrot.cli.session import Session
from sparrot.cli.stored import contents
from sparrot.cli.summary import affinity_facts, affinity_lines
from sparrot.cli.targets import ending
from sparrot.io._npz import holds_affinity
from sparrot.io._points import read_matrix


def run(options: Namespace, session: Session) -> None:
    """Say what a file holds: an affinity, or points."""
    session.stage(f"reading {options.path}")
    path: Path = options.path
    keys, arrays = contents(path) if _is_cells(path) else ([], [])
    if options.affinity is not None or (options.array is None and _is_affinity(path, keys, arrays)):
        affinity = sparrot.load(path, key=options.affinity)
        facts, lines = affinity_facts(affinity), affinity_lines(affinity)
    else:
        facts = points_facts(read_matrix(path, options.array))
        lines = _points_lines(facts)
    for name, found in {"arrays": arrays, "affinities": keys}.items():
        if found:
            facts[name], lines[name] = found, ", ".join(found)
    size = path.stat().st_size
    lines = {"file": f"{path}, {size / 1e6:,.3g} MB"} | lines
    session.finish({"input": str(path), "bytes": size} | facts, lines)


def points_facts(X: Any) -> dict[str, Any]:
    """What there is to know about points before an affinity is made of them.

    Examples
    --------
    >>> facts = points_facts(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0]]))
    >>> facts["duplicates"], facts["constant_features"], facts["zeros"], facts["missing"]
    (1, 1, 0.5, 0)
    """
    n, p = X.shape
    low, high = _extremes(X)
    stored = X.count_nonzero() if issparse(X) else np.count_nonzero(X)
    values = X.data if issparse(X) else X
    return {
        "n": n,
        "features": p,
        "dtype": str(X.dtype),
        "sparse": bool(issparse(X)),
        "zeros": float(1 - stored / max(1, n * p)),
        "least": float(low.min(initial=np.inf)),
        "most": float(high.max(initial=-np.inf)),
        "missing": int(np.isnan(values).sum()),
        "infinite": int(np.isinf(values).sum()),
        "constant_features": int((low == high).sum()),
        "duplicates": _duplicates(X),
    }


def _extremes(X: Any) -> tuple[FloatArray, FloatArray]:
    """The least and the most of each feature, as far as they are finite."""
    if not issparse(X):
        finite = np.isfinite(X)
        low = np.where(finite, X, np.inf).min(0, initial=np.inf)
        return low, np.where(finite, X, -np.inf).max(0, initial=-np.inf)
    low, high = X.astype(np.float64), X.astype(np.float64)
    low.data[~np.isfinite(X.data)], high.data[~np.isfinite(X.data)] = np.inf, -np.inf
    return np.ravel(low.min(0).toarray()), np.ravel(high.max(0).toarray())


def _duplicates(X: Any) -> int:
    """Rows that are equal to an earlier one."""
    if not issparse(X):
        return len(X) - len({row.tobytes() for row in X + 0.0})  # -0 is 0
    X = X.sorted_indices()
    X.eliminate_zeros()
    rows = zip(np.split(X.indices, X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1]), strict=True)
    return X.shape[0] - len({(i.tobytes(), x.tobytes()) for i, x in rows})


def _points_lines(facts: dict[str, Any]) -> dict[str, str]:
    kind = "sparse" if facts["sparse"] else "dense"
    odd = {"missing": "missing values (NaN)", "infinite": "infinite values"}
    found = "".join(f", {facts[name]:,} {what}" for name, what in odd.items() if facts[name])
    return {
        "points": f"{facts['n']:,} in {facts['features']:,} dimensions",
        "values": f"{kind} {facts['dtype']}, {facts['least']:.4g} to {facts['most']:.4g}, "
        f"{facts['zeros']:.1%} zeros",
        "oddities": f"{facts['duplicates']:,} duplicate rows, {facts['constant_features']:,} "
        f"constant features{found}",
    }


def _is_cells(path: Path) -> bool:
    return ending(path) == ".h5ad" and path.is_file()


def _is_affinity(path: Path, keys: list[str], arrays: list[str]) -> bool:
    """Whether there is an affinity, and no points to tell of instead."""
    if ending(path) == ".npz":
        return holds_affinity(path)
    return bool(keys) and "X" not in arrays
