"""Save and load an affinity: a file or folder of its own, or a graph inside an `.h5ad` file."""

from __future__ import annotations

import os
from pathlib import Path

from scipy.sparse import coo_array

from sparrot._validation import as_path
from sparrot.affinity import (
    ENDING,
    Affinity,
    as_new_folder,
    open_folder,
    require_affinity,
    write_folder,
)
from sparrot.errors import InvalidInputError, MissingDataError
from sparrot.io._formats import FORMATS, ending, formats_holding
from sparrot.io._points import Table, write_table


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
    affinity : a result of `sparrot.qot` or another function that makes affinities.
    path : ends in `.npz` (plain arrays with a schema number, no pickle; an existing file is
        replaced), in `.zarr` (a new folder, for sparse matrices that are larger than the memory;
        its group `matrix` is one that AnnData reads), or in `.h5ad`. An existing `.h5ad` file keeps
        its contents, and the affinity is added: its cells must be the points, in the same order.
        Needs the extra `scanpy`.
    key : for `.h5ad`: where in `uns`. The file gets `uns[key]`, `obsp["{key}_connectivities"]`,
        `obsp["{key}_distances"]`, `obs["{key}_potential"]` and, with a floor or weights, columns
        `obs["{key}_row_eps"]` and the like, so that scanpy finds the graph:
        `sc.tl.leiden(adata, neighbors_key=key)`, and `sc.tl.umap` if the file has expression data.
    use_rep : for an existing `.h5ad` file: what in it the affinity was made from, `"X"` or a key of
        `obsm`. Then the distances are those of the nearest cells. If not given, they are
        dissimilarities `1 - W_ij / max(W)` of the strongest neighbors in the graph, of which
        scanpy reads only the pattern (PAGA), and `"X"` is written for `use_rep`, so that
        `sc.tl.umap` does not compute principal components of its own.

    Examples
    --------
    >>> import numpy as np, sparrot, tempfile
    >>> path = tempfile.mkdtemp() + "/a.npz"
    >>> a = sparrot.qot(np.random.default_rng(0).standard_normal((50, 3)))
    >>> sparrot.save(a, path)
    >>> sparrot.load(path)
    <qot affinity: 50 points, ...>
    """
    require_affinity(affinity)
    target = as_path(path)
    if target.suffix == ENDING:
        write_folder(affinity, as_new_folder(target, "path"))
        return
    if not target.parent.is_dir():
        raise MissingDataError(
            f"is in the folder {target.parent}, which does not exist",
            parameter="path",
            value=target,
            remedy="make it first",
        )
    _require_ending(target)
    in_anndata = ending(target) == ".h5ad"
    if use_rep is not None and not (in_anndata and target.is_file()):
        raise InvalidInputError(
            f"names points in an existing .h5ad file, and {target} is not one",
            parameter="use_rep",
            value=use_rep,
            remedy="leave it out",
        )
    given = {"key": key, "use_rep": use_rep} if in_anndata else {}
    FORMATS[ending(target)].load().write_affinity(affinity, target, **given)


def load(path: str | os.PathLike[str], *, key: str | None = None) -> Affinity:
    """Read an affinity that `save` or `sparrot.sc.neighbors` wrote.

    Its certificate is what the file claims (`certificate.claimed`), until `Affinity.check` computes
    it from the data.

    Parameters
    ----------
    path : an `.npz` file or a `.zarr` folder of `save`, or an `.h5ad` file with an affinity in it.
        The matrix of a folder is mapped from it: what is needed is read when it is.
    key : for `.h5ad`: which entry of `uns`; may be left out if there is only one affinity.

    Raises
    ------
    InvalidInputError
        If the file is broken, was changed, is no affinity, has another schema, lacks fields, or
        has numbers that no affinity has.

    Examples
    --------
    >>> import numpy as np, sparrot, tempfile
    >>> path = tempfile.mkdtemp() + "/a.npz"
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> sparrot.save(sparrot.qot(X), path)
    >>> sparrot.load(path).check(X).marginal_error <= 1e-8
    True
    """
    source = as_path(path)
    if source.suffix == ENDING:
        return open_folder(source)
    _require_ending(source)
    in_anndata = ending(source) == ".h5ad"
    if key is not None and not in_anndata:
        raise InvalidInputError(
            f"is for .h5ad files, and {source} holds only one affinity",
            parameter="key",
            value=key,
            remedy="leave it out",
        )
    given = {"key": key} if in_anndata else {}
    affinity: Affinity = FORMATS[ending(source)].load().read_affinity(source, **given)
    return affinity


def holds_affinity(path: Path) -> bool:
    """Whether an affinity is what a file holds: one, and no points.

    Examples
    --------
    >>> import numpy as np, sparrot, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> sparrot.save(sparrot.qot(np.eye(3)), path)
    >>> holds_affinity(path), holds_affinity(path.with_suffix(".csv"))
    (True, False)
    """
    if ending(path) not in formats_holding("affinity"):
        return False
    found: bool = FORMATS[ending(path)].load().holds_affinity(path)
    return found


def write_entries(affinity: Affinity, target: Path) -> None:
    """Write only the matrix: as such to `.mtx`; else a table of `i`, `j` (from 0) and `weight`.

    Examples
    --------
    >>> import numpy as np, sparrot, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> write_entries(sparrot.qot(np.array([[0.0], [1.0]])), path)
    >>> path.read_text()
    'i,j,weight\\n0,1,1.0\\n1,0,1.0\\n'
    """
    W = coo_array(affinity.matrix)
    chosen = FORMATS[ending(target)]
    if "matrix" in chosen.holds:
        chosen.load().write_matrix(target, W)
        return
    i, j = W.coords
    write_table(Table({"i": i, "j": j, "weight": W.data}), target)


def _require_ending(path: Path) -> None:
    if ending(path) not in formats_holding("affinity"):
        raise InvalidInputError(
            f"must end in {' or '.join((*formats_holding('affinity'), ENDING))} for an affinity, "
            f"got {str(path)!r}",
            parameter="path",
            value=path,
        )
