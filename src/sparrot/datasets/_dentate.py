"""The developing mouse hippocampus (La Manno et al. 2018), as the paper uses it: 18,213 cells.

The authors publish a loom file, which is HDF5: `matrix` (genes x cells), `row_attrs/Gene`,
`col_attrs/CellID`, `ClusterName`, `TSNE1` and `TSNE2`. An h5ad file of the same data has `obs`
columns of these names (`clusters` for `ClusterName`), or `obsm["X_tsne"]`. The probabilities of
being an origin or an end, from RNA velocity, are two CSV files: cell, probability.
"""

from __future__ import annotations

import csv
import os
import shutil
from hashlib import file_digest
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from scipy.sparse import csr_array, vstack

from sparrot._extras import load_extra
from sparrot._files import whole_file
from sparrot._types import FloatArray
from sparrot.datasets._cells import VARIABLE, Cells, data_folder, find_data
from sparrot.errors import InvalidInputError, MissingDataError

URL = "http://pklab.med.harvard.edu/velocyto/DentateGyrus/DentateGyrus.loom"
_FILES = ("dentate/DentateGyrus.loom", "dentate/DentateGyrus.h5ad", "DentateGyrus.loom")
_PROBABILITIES = {"start": "dentate/start_probs.csv", "end": "dentate/end_probs.csv"}
_BLOCK = 2048  # cells read at a time


def load_dentate_gyrus(
    path: str | os.PathLike[str] | None = None,
    *,
    fetch: bool = False,
    url: str = URL,
    sha256: str | None = None,
) -> Cells:
    """The dentate gyrus: counts, types, t-SNE coordinates, and probabilities of start and end.

    Parameters
    ----------
    path : a .loom or .h5ad file. If None, `dentate/DentateGyrus.loom` (or `.h5ad`) in the folder
        that `SPARROT_DATA` names.
    fetch : download the loom file into that folder if it is not there.
    url : where from.
    sha256 : what the file's checksum must be. The authors give none that we know of, so a download
        is taken on trust if you give none either (and their server's own address is plain http;
        give a `url` of https where you have one). It must have the length that was announced, and
        be HDF5. Its checksum is written beside it, and it is checked against that every time.

    Returns
    -------
    Cells
        With the columns "start" and "end" where `dentate/start_probs.csv` and `end_probs.csv` are
        in the data folder; NaN for cells that they leave out.

    Raises
    ------
    MissingDataError : there is no file, or it cannot be fetched.
    InvalidInputError : the file is not what it should be.

    Examples
    --------
    >>> cells = load_dentate_gyrus(fetch=True)  # doctest: +SKIP
    >>> cells.X.shape  # doctest: +SKIP
    (18213, 27998)
    """
    place = Path(path) if path is not None else find_data(*_FILES)
    if place is None and fetch:
        place = _fetch(url, sha256)
    if place is None or not place.exists():
        raise MissingDataError(
            f"the dentate gyrus is not here (looked for {place or ' and '.join(_FILES[:2])}); set "
            f"{VARIABLE} to a folder that has it, give a path, or fetch it with "
            "sparrot.datasets.load_dentate_gyrus(fetch=True)"
        )
    _check(place, sha256)
    names, genes, types, X, layout = (_read_loom if place.suffix == ".loom" else _read_h5ad)(place)
    known = {key: find_data(file) for key, file in _PROBABILITIES.items()}
    columns = {key: _probabilities(file, names) for key, file in known.items() if file}
    return Cells(X, genes, types, True, columns, layout)


def _fetch(url: str, sha256: str | None) -> Path:
    """Download into the data folder; what is cut short, or is something else, leaves nothing."""
    folder = data_folder()
    if folder is None:
        raise MissingDataError(f"set {VARIABLE} to the folder that the download is to be put in")
    place = folder / _FILES[0]
    try:
        with urlopen(url, timeout=60) as source, whole_file(place) as temporary:
            with temporary.open("wb") as target:
                shutil.copyfileobj(source, target)
            _require_whole(temporary, url, source.headers.get("Content-Length"), sha256)
    except OSError as error:
        raise MissingDataError(f"{url} could not be fetched: {error}") from error
    with whole_file(_beside(place)) as temporary:
        temporary.write_text(_checksum(place))
    return place


def _require_whole(file: Path, url: str, length: str | None, sha256: str | None) -> None:
    """Raise unless a download has its length, its checksum if there is one, and is HDF5."""
    got = file.stat().st_size
    if length is not None and got != int(length):
        raise ConnectionError(f"only {got} of {length} bytes came; try again")
    if sha256 is not None and _checksum(file) != sha256:
        raise InvalidInputError(f"what {url} gave does not have the checksum {sha256[:12]}...")
    try:
        load_extra("h5py", "scanpy").File(file).close()
    except OSError as error:
        raise InvalidInputError(f"what {url} gave is no whole loom file: {error}") from error


def _check(place: Path, sha256: str | None) -> None:
    note = _beside(place)
    wanted = sha256 or (note.read_text().strip() if note.exists() else None)
    if wanted is not None and _checksum(place) != wanted:
        raise InvalidInputError(
            f"{place} does not have the checksum {wanted[:12]}...; remove it and fetch it again"
        )


def _beside(place: Path) -> Path:
    return place.with_name(f"{place.name}.sha256")


def _checksum(place: Path) -> str:
    with place.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read_loom(place: Path) -> tuple[Any, Any, Any, csr_array, FloatArray]:
    h5py = load_extra("h5py", "scanpy")
    try:
        with h5py.File(place) as file:
            column = file["col_attrs"]
            X = file["matrix"]
            blocks = [
                csr_array(X[:, first : first + _BLOCK].T.astype(np.float32))
                for first in range(0, X.shape[1], _BLOCK)
            ]
            names, types = (column[key].asstr()[:] for key in ("CellID", "ClusterName"))
            layout = np.stack([column[key][:] for key in ("TSNE1", "TSNE2")], axis=1)
            genes = file["row_attrs"]["Gene"].asstr()[:]
    except (KeyError, OSError) as error:
        raise InvalidInputError(
            f"{place} is not the loom file of the dentate gyrus: {error}"
        ) from error
    return names, genes, types, csr_array(vstack(blocks)), layout.astype(np.float64)


def _read_h5ad(place: Path) -> tuple[Any, Any, Any, csr_array, FloatArray]:
    try:
        adata = load_extra("anndata", "scanpy").read_h5ad(place)
    except (KeyError, OSError) as error:
        raise InvalidInputError(f"{place} is not a whole .h5ad file: {error}") from error
    obs = adata.obs
    types = next((name for name in ("ClusterName", "clusters") if name in obs), None)
    if types is None or not ("X_tsne" in adata.obsm or {"TSNE1", "TSNE2"} <= set(obs)):
        raise InvalidInputError(
            f"{place} is not the dentate gyrus: it needs obs['ClusterName'] or obs['clusters'], "
            "and obsm['X_tsne'] or obs['TSNE1'] and obs['TSNE2']"
        )
    layout = adata.obsm["X_tsne"] if "X_tsne" in adata.obsm else obs[["TSNE1", "TSNE2"]].to_numpy()
    X = csr_array(adata.X).astype(np.float32)
    return (
        np.asarray(adata.obs_names, dtype=str),
        np.asarray(adata.var_names, dtype=str),
        np.asarray(obs[types], dtype=str),
        X,
        np.asarray(layout, dtype=np.float64),
    )


def _probabilities(path: Path, names: Any) -> FloatArray:
    with path.open(newline="") as file:
        known = {row[0]: float(row[1]) for row in list(csv.reader(file))[1:]}
    return np.array([known.get(name, np.nan) for name in names])
