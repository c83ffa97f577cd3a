"""Cells with a known answer: gene expression, with types, lineages or pseudotimes.

The developing mouse hippocampus (dentate gyrus, La Manno et al. 2018; 18,213 cells) is published as
a loom file, which is HDF5: `matrix` (genes x cells), `row_attrs/Gene`, `col_attrs/CellID`,
`ClusterName`, `TSNE1` and `TSNE2`. An h5ad file of the same data has `obs` columns of these names
(`clusters` for `ClusterName`), or `obsm["X_tsne"]`. The probabilities of being an origin or an end,
from RNA velocity, are two CSV files: cell, probability.
"""

from __future__ import annotations

import csv
import os
import shutil
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from scipy.sparse import csr_array, vstack

from sparrot._files import whole_file
from sparrot._types import FloatArray, IntArray
from sparrot._validation import as_count, as_generator, as_indices
from sparrot.errors import InvalidInputError, MissingDataError
from sparrot.io import open_hdf5, open_npz, read_anndata, read_csr

VARIABLE = "SPARROT_DATA"  # names the folder in which real data is; none comes with the package


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Gene expression of single cells.

    Attributes
    ----------
    X : (n, p) counts, or log-normalized expression if `counts` is False.
    genes : (p,) names.
    types : (n,) type of each cell.
    counts : whether X holds counts.
    columns : what else is known of each cell, by name; NaN where it is not known.
    layout : (n, 2) published coordinates for drawing; None if there are none.
    """

    X: csr_array
    genes: Any
    types: Any
    counts: bool = True
    columns: dict[str, Any] = field(default_factory=dict)
    layout: FloatArray | None = None

    def take(self, rows: IntArray) -> Cells:
        """Some of the cells."""
        rows = as_indices(rows, self.X.shape[0], "rows")
        return Cells(
            csr_array(self.X[rows]),
            self.genes,
            self.types[rows],
            self.counts,
            {name: values[rows] for name, values in self.columns.items()},
            None if self.layout is None else self.layout[rows],
        )

    def sample(self, n: int, random_state: int | np.random.Generator | None = 0) -> Cells:
        """A random choice of n cells, in their order; all of them if there are no more than n."""
        if as_count(n, "n") >= self.X.shape[0]:
            return self
        rng = as_generator(random_state)
        return self.take(np.sort(rng.choice(self.X.shape[0], n, replace=False)))


def load_arabidopsis_root() -> Cells:
    """The root of Arabidopsis: 10,000 cells, 2,000 genes, log-normalized, with pseudotimes.

    From `arabidopsis_root_10k.npz` in the folder that `SPARROT_DATA` names.

    Examples
    --------
    >>> cells = load_arabidopsis_root()  # doctest: +SKIP
    >>> cells.X.shape, sorted(cells.columns)  # doctest: +SKIP
    ((10000, 2000), ['pseudotime', 'stage'])
    """
    with open_npz(need_data("arabidopsis_root_10k.npz", "the Arabidopsis root")) as file:
        times = file["consensus_time"].astype(np.float64)
        return Cells(
            read_csr(file).astype(np.float32),
            file["genes"],
            file["celltype"],
            counts=False,
            columns={"pseudotime": times, "stage": file["stage"]},
            layout=file["umap"].astype(np.float64),
        )


def load_pbmc_facs() -> Cells:
    """Blood cells sorted by FACS, so that types are known: counts of 3,774 cells, 16,791 genes.

    From `pbmc_facs.npz` in the folder that `SPARROT_DATA` names; `types` are the five groups, and
    the column "subtype" has all ten.

    Examples
    --------
    >>> cells = load_pbmc_facs()  # doctest: +SKIP
    >>> sorted(set(cells.types))  # doctest: +SKIP
    ['B cell', 'CD14+', 'CD34+', 'NK cell', 'T cell']
    """
    with open_npz(need_data("pbmc_facs.npz", "the set of FACS-purified blood cells")) as file:
        X = read_csr(file).astype(np.float32)
        columns = {"subtype": file["obs_celltype"]}
        return Cells(X, file["genes"], file["obs_subpop"], columns=columns)


_MARROW_TYPES = {
    0: "HSC",
    1: "HMPC",
    4: "myeloid precursor",
    3: "MPO+",
    6: "monocyte",
    7: "dendritic",
    2: "erythroid",
    8: "late erythroid",
}


def load_marrow_cd34() -> Cells:
    """CD34+ bone marrow: counts of 4,142 cells, a continuum with three branches (Setty et al.).

    From `marrow_cd34.npz` in the folder that `SPARROT_DATA` names. The column "pseudotime" is an
    estimate by Monocle 2; "named" is "start" for the start cell, the name of its branch ("Ery",
    "Mono", "DC") for the cell at the end of each, and "" for all others.

    Examples
    --------
    >>> cells = load_marrow_cd34()  # doctest: +SKIP
    >>> cells.X.shape, sorted(cells.columns)  # doctest: +SKIP
    ((4142, 16106), ['named', 'pseudotime'])
    """
    with open_npz(need_data("marrow_cd34.npz", "the set of bone marrow cells")) as file:
        barcodes = file["barcodes"]
        names = {str(file["start_cell"]): "start"}
        names |= dict(
            zip(file["terminal_cells"].tolist(), file["terminal_names"].tolist(), strict=True)
        )
        return Cells(
            read_csr(file).astype(np.float32),
            file["genes"],
            np.array([_MARROW_TYPES.get(k, "other") for k in file["phenograph"].tolist()]),
            columns={
                "pseudotime": file["monocle2_pseudotime"].astype(np.float64),
                "named": np.array([names.get(code, "") for code in barcodes.tolist()]),
            },
            layout=file["layout_tsne"].astype(np.float64),
        )


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
    url : where to download it from. The authors' own address is plain http; give one of https if
        you have it.
    sha256 : the checksum that the file must have. The authors publish none that we know of; without
        one a download is trusted if it has the length that the server announced and is HDF5. Its
        checksum is stored beside it, and compared every time that it is read.

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
            f"the dentate gyrus is not here (looked for {place or ' and '.join(_FILES[:2])})",
            remedy=[
                f"set {VARIABLE} to a folder that has it",
                "give its {path}",
                "fetch it with {sparrot.datasets.load_dentate_gyrus(fetch=True)}",
            ],
        )
    _check(place, sha256)
    read = _read_loom if place.suffix == ".loom" else _read_h5ad
    names, genes, types, X, layout = read(place)
    known = {key: find_data(file) for key, file in _PROBABILITIES.items()}
    columns = {key: _probabilities(file, names) for key, file in known.items() if file}
    return Cells(X, genes, types, columns=columns, layout=layout)


def _fetch(url: str, sha256: str | None) -> Path:
    """Download into the data folder; a download that is cut short or wrong leaves nothing."""
    folder = data_folder()
    if folder is None:
        raise MissingDataError(
            f"{VARIABLE} names no folder", remedy=f"set {VARIABLE} to the folder for the download"
        )
    place = folder / _FILES[0]
    try:
        with urlopen(url, timeout=60) as source, whole_file(place) as temporary:
            with temporary.open("wb") as target:
                shutil.copyfileobj(source, target)
            _require_whole(temporary, url, source.headers.get("Content-Length"), sha256)
    except OSError as error:
        raise MissingDataError(
            f"{url} could not be fetched: {error}", remedy="try again"
        ) from error
    with whole_file(_beside(place)) as temporary:
        temporary.write_text(_checksum(place))
    return place


def _require_whole(file: Path, url: str, length: str | None, sha256: str | None) -> None:
    """Raise unless a download has the announced length and the given checksum, and is HDF5."""
    got = file.stat().st_size
    if length is not None and got != int(length):
        raise ConnectionError(f"only {got} of {length} bytes came")
    if sha256 is not None and _checksum(file) != sha256:
        raise InvalidInputError(
            f"the download from {url} does not have the checksum {sha256[:12]}...",
            remedy=["try again", "give another {url} or {sha256}"],
        )
    try:
        with open_hdf5(file, "a loom file"):
            pass
    except InvalidInputError as error:
        raise InvalidInputError(
            f"the download from {url} is no whole loom file ({error.__cause__})", remedy="try again"
        ) from error


def _check(place: Path, sha256: str | None) -> None:
    note = _beside(place)
    wanted = sha256 or (note.read_text().strip() if note.exists() else None)
    if wanted is not None and _checksum(place) != wanted:
        raise InvalidInputError(
            f"{place} does not have the checksum {wanted[:12]}...",
            remedy="remove it and fetch it again",
        )


def _beside(place: Path) -> Path:
    return place.with_name(f"{place.name}.sha256")


def _checksum(place: Path) -> str:
    with place.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read_loom(place: Path) -> tuple[Any, Any, Any, csr_array, FloatArray]:
    with open_hdf5(place, "the loom file of the dentate gyrus") as file:
        X, column = file["matrix"], file["col_attrs"]
        blocks = [
            csr_array(X[:, first : first + _BLOCK].T.astype(np.float32))
            for first in range(0, X.shape[1], _BLOCK)
        ]
        names, types = (column[key].asstr()[:] for key in ("CellID", "ClusterName"))
        layout = np.stack([column[key][:] for key in ("TSNE1", "TSNE2")], axis=1)
        genes = file["row_attrs"]["Gene"].asstr()[:]
    return names, genes, types, csr_array(vstack(blocks)), layout.astype(np.float64)


def _read_h5ad(place: Path) -> tuple[Any, Any, Any, csr_array, FloatArray]:
    adata = read_anndata(place)
    obs = adata.obs
    types = next((name for name in ("ClusterName", "clusters") if name in obs), None)
    if types is None or not ("X_tsne" in adata.obsm or {"TSNE1", "TSNE2"} <= set(obs)):
        raise InvalidInputError(
            f"{place} is not the dentate gyrus: it needs obs['ClusterName'] or obs['clusters'], "
            "and obsm['X_tsne'] or obs['TSNE1'] and obs['TSNE2']",
            remedy="give another {path}",
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


def data_folder() -> Path | None:
    """The folder that `SPARROT_DATA` names; None if it is not set.

    Raises
    ------
    MissingDataError : the variable names a folder that does not exist.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise MissingDataError(
            f"{VARIABLE} is {named!r}, which is not a folder", remedy="set it to the data folder"
        )
    return folder


def find_data(*names: str) -> Path | None:
    """The first of these files that the data folder has; None if it has none of them.

    Examples
    --------
    >>> find_data("no-such-file.npz") is None
    True
    """
    folder = data_folder()
    if folder is None:
        return None
    return next((folder / name for name in names if (folder / name).exists()), None)


def need_data(name: str, what: str) -> Path:
    """A file of the data folder; a `MissingDataError` that names it if it is not there."""
    path = find_data(name)
    if path is None:
        folder = data_folder()
        lacking = f"{folder} has none" if folder else f"{VARIABLE} names no folder"
        raise MissingDataError(
            f"{what} needs the file {name}, but {lacking}",
            remedy=f"set {VARIABLE} to the folder that has it",
        )
    return path
