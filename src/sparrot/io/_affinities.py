"""Save and load an affinity: `.npz` with a schema number and without pickles, or inside `.h5ad`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparrot._extras import load_extra
from sparrot._files import whole_file
from sparrot._validation import as_points
from sparrot.affinity import Affinity, resume
from sparrot.affinity._record import from_record, to_record
from sparrot.affinity._registry import kinds
from sparrot.errors import InvalidInputError
from sparrot.io._archive import open_npz
from sparrot.io._points import read_points
from sparrot.sc._anndata import Keys, get, put
from sparrot.sc._distances import NEIGHBORS, named_distance, nearest_distances, strongest

_CSR = ("matrix_data", "matrix_indices", "matrix_indptr")


def save(
    affinity: Affinity,
    path: str | os.PathLike[str],
    *,
    key: str = "sparrot",
    use_rep: str | None = None,
) -> None:
    """Write an affinity to a file, whole or not at all.

    Parameters
    ----------
    affinity : what `sparrot.qot` and its kin return.
    path : ends in `.npz` (plain arrays with a schema number, no pickle; an existing file is
        replaced), or in `.h5ad`. An `.h5ad` file that exists keeps all it has, and the affinity
        is added: its cells must be the points, in the same order. Needs the extra `scanpy`.
    key : for `.h5ad`: where in `uns`. The file gets `uns[key]`, `obsp["{key}_connectivities"]`,
        `obsp["{key}_distances"]` and `obs["{key}_potential"]`, so that scanpy finds the graph:
        `sc.tl.leiden(adata, neighbors_key=key)`, and `umap` where the file has cells to speak of.
    use_rep : for an `.h5ad` file that exists: what in it the affinity was made from, `"X"` or a key
        of `obsm`. Then the distances are those of the nearest cells. If not given, they are
        dissimilarities `1 - W_ij / max(W)` of the strongest neighbors in the graph, of which
        scanpy reads no more than the pattern (PAGA).

    Examples
    --------
    >>> import numpy as np, sparrot, tempfile
    >>> path = tempfile.mkdtemp() + "/a.npz"
    >>> a = sparrot.qot(np.random.default_rng(0).standard_normal((50, 3)))
    >>> sparrot.save(a, path)
    >>> sparrot.load(path)
    <qot affinity: 50 points, ...>
    """
    if not isinstance(affinity, Affinity):
        raise InvalidInputError(
            f"save takes a sparrot.Affinity, got {type(affinity).__name__}; of an estimator pass "
            "its result_"
        )
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to save into; make it first")
    if use_rep is not None and not (target.suffix == ".h5ad" and target.is_file()):
        raise InvalidInputError(
            f"use_rep={use_rep!r} names cells in an .h5ad file that exists, and {target} is none"
        )
    if _format(target) == ".npz":
        with whole_file(target) as temporary:
            np.savez(temporary, **_arrays(affinity))
    else:
        _save_h5ad(affinity, target, Keys(key), use_rep)


def load(path: str | os.PathLike[str], *, key: str | None = None) -> Affinity:
    """Read an affinity that `save` or `sparrot.sc.neighbors` wrote.

    Parameters
    ----------
    path : a `.npz` file of `save`, or an `.h5ad` file with an affinity in it.
    key : for `.h5ad`: which entry of `uns`; may be left out if there is only one affinity.

    Raises
    ------
    InvalidInputError
        If the file is broken, is no affinity, has another schema, or lacks fields.

    Examples
    --------
    >>> import numpy as np, sparrot, tempfile
    >>> path = tempfile.mkdtemp() + "/a.npz"
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> sparrot.save(sparrot.qot(X), path)
    >>> sparrot.load(path).check(X).marginal_error <= 1e-8
    True
    """
    source = Path(path)
    if _format(source) == ".h5ad":
        return get(_shell(source), key, str(source))
    if key is not None:
        raise InvalidInputError(f"key is for .h5ad files, and {source} holds one affinity only")
    with open_npz(source) as file:
        arrays = {name: file[name] for name in file.files}
    record = {name: array[()] for name, array in arrays.items()}
    potential = arrays.get("potential")
    return from_record(record, _matrix(arrays, str(source)), potential, str(source))


def _format(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".h5ad"):
        raise InvalidInputError(f"an affinity is kept in .npz or .h5ad files, got {str(path)!r}")
    return suffix


def _arrays(affinity: Affinity) -> dict[str, Any]:
    W = affinity.matrix
    parts = (W.data, W.indices, W.indptr) if issparse(W) else (W,)
    names = _CSR if issparse(W) else ("matrix_dense",)
    arrays = to_record(affinity) | dict(zip(names, parts, strict=True))
    if affinity.potential is not None:
        arrays["potential"] = affinity.potential
    return arrays


def _matrix(arrays: dict[str, Any], source: str) -> Any:
    if "schema" not in arrays or "matrix_dense" in arrays:
        return arrays.get("matrix_dense", np.empty((0, 0)))
    missing = [name for name in (*_CSR, "n") if name not in arrays]
    if missing:
        raise InvalidInputError(f"{source} lacks {', '.join(missing)}; save the affinity anew")
    n = int(arrays["n"])
    try:
        W = csr_array(tuple(arrays[name] for name in _CSR), shape=(n, n))
        W.check_format(full_check=True)
    except ValueError as error:
        raise InvalidInputError(
            f"the matrix of {source} is damaged ({error}); save the affinity anew"
        ) from error
    return W


def _save_h5ad(affinity: Affinity, target: Path, keys: Keys, use_rep: str | None) -> None:
    """Put the affinity into a shell, and the changed parts of the shell into a copy of the file."""
    io, h5py = load_extra("anndata.io", "scanpy"), load_extra("h5py", "scanpy")
    shell = _shell(target) if target.exists() else _new_shell(affinity)
    n = affinity.matrix.shape[0]
    if shell.n_obs != n:
        raise InvalidInputError(
            f"{target} has {shell.n_obs} cells and the affinity {n} points; they must be the same"
        )
    distances = _distances(affinity, target, use_rep)
    params = {"n_neighbors": int(distances.indptr[1]) + 1, "method": affinity.kind}
    params |= {"metric": named_distance(affinity.metric), "use_rep": use_rep or "X"}
    put(shell, affinity, keys, params, distances)
    with whole_file(target) as temporary:
        if not target.exists():
            shell.write_h5ad(temporary)
            return
        shutil.copyfile(target, temporary)
        with h5py.File(temporary, "r+") as file:
            io.write_elem(file, "obs", shell.obs)
            io.write_elem(file, "obsp", dict(shell.obsp))
            io.write_elem(file, f"uns/{keys.uns}", shell.uns[keys.uns])


def _distances(affinity: Affinity, target: Path, use_rep: str | None) -> Any:
    """Of the nearest cells, if it is said which; else of the strongest neighbors."""
    if use_rep is None or affinity.metric in ("precomputed", "kernel"):
        return strongest(affinity.matrix, NEIGHBORS - 1)
    points = read_points(target, array="X" if use_rep == "X" else f"obsm/{use_rep}")
    if affinity.potential is not None and affinity.kind in kinds(transport=True):
        resume(affinity, points)  # raises if these are other points
    points = as_points(points)
    return nearest_distances(points, min(NEIGHBORS, len(points)) - 1, affinity.metric)


def _shell(source: Path) -> Any:
    """An AnnData with the `obs`, `obsp` and `uns` of a file and none of its data."""
    anndata, h5py = load_extra("anndata", "scanpy"), load_extra("h5py", "scanpy")
    io = load_extra("anndata.io", "scanpy")
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    try:
        with h5py.File(source, "r") as file:
            parts = {name: io.read_elem(file[name]) for name in ("obs", "obsp", "uns")}
    except (OSError, KeyError) as error:
        raise InvalidInputError(f"{source} is not a whole .h5ad file ({error})") from error
    return anndata.AnnData(**parts)


def _new_shell(affinity: Affinity) -> Any:
    anndata, pandas = load_extra("anndata", "scanpy"), load_extra("pandas", "scanpy")
    names = np.arange(affinity.matrix.shape[0]).astype(str)
    return anndata.AnnData(obs=pandas.DataFrame(index=names))
