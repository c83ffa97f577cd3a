"""Where real data is: in the folder that `SPARROT_DATA` names; none comes with the package.

Cells with a known answer: gene expression, with types, lineages or pseudotimes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot.errors import MissingDataError

VARIABLE = "SPARROT_DATA"


def data_folder() -> Path | None:
    """The folder that `SPARROT_DATA` names, None if it names none.

    Raises
    ------
    MissingDataError : the variable names a folder that does not exist.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise MissingDataError(f"{VARIABLE} is {named!r}, which is not a folder")
    return folder


def find_data(*names: str) -> Path | None:
    """The first of these files that the data folder has.

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
    """A file of the data folder, or an error that says what is missing where."""
    path = find_data(name)
    if path is None:
        where = data_folder()
        said = f"{where} has none" if where else f"{VARIABLE} names no folder"
        raise MissingDataError(
            f"{what} needs the file {name}, but {said}; set {VARIABLE} to the folder that has it"
        )
    return path


_CSR = ("data", "indices", "indptr", "shape")


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
    layout : (n, 2) published coordinates to draw cells at, None if there are none.
    """

    X: csr_array
    genes: Any
    types: Any
    counts: bool = True
    columns: dict[str, Any] = field(default_factory=dict)
    layout: FloatArray | None = None

    def take(self, rows: IntArray) -> Cells:
        """Some of the cells."""
        return Cells(
            csr_array(self.X[rows]),
            self.genes,
            self.types[rows],
            self.counts,
            {name: values[rows] for name, values in self.columns.items()},
            None if self.layout is None else self.layout[rows],
        )

    def sample(self, n: int, random_state: int | np.random.Generator | None = 0) -> Cells:
        """n of the cells at random, in order; all if there are no more."""
        if n >= self.X.shape[0]:
            return self
        rng = np.random.default_rng(random_state)
        return self.take(np.sort(rng.choice(self.X.shape[0], n, replace=False)))


def load_arabidopsis_root() -> Cells:
    """The root of Arabidopsis: 10,000 cells, 2,000 genes, log-normalized; pseudotime and stage.

    From `arabidopsis_root_10k.npz` in the folder that `SPARROT_DATA` names.

    Examples
    --------
    >>> cells = load_arabidopsis_root()  # doctest: +SKIP
    >>> cells.X.shape, sorted(cells.columns)  # doctest: +SKIP
    ((10000, 2000), ['pseudotime', 'stage'])
    """
    stored = _read(need_data("arabidopsis_root_10k.npz", "the Arabidopsis root"))
    columns = {
        "pseudotime": stored["consensus_time"].astype(np.float64),
        "stage": stored["stage"],
    }
    layout = stored["umap"].astype(np.float64)
    return Cells(_matrix(stored), stored["genes"], stored["celltype"], False, columns, layout)


def load_pbmc_facs() -> Cells:
    """Blood cells purified by FACS, so that types are known: 3,774 cells, 16,791 genes, counts.

    From `pbmc_facs.npz` in the folder that `SPARROT_DATA` names; `types` are the five groups, and
    the column "subtype" has all ten.

    Examples
    --------
    >>> cells = load_pbmc_facs()  # doctest: +SKIP
    >>> sorted(set(cells.types))  # doctest: +SKIP
    ['B cell', 'CD14+', 'CD34+', 'NK cell', 'T cell']
    """
    stored = _read(need_data("pbmc_facs.npz", "the set of FACS-purified blood cells"))
    columns = {"subtype": stored["obs_celltype"]}
    return Cells(_matrix(stored), stored["genes"], stored["obs_subpop"], True, columns)


def _read(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def _matrix(stored: dict[str, Any]) -> csr_array:
    data, indices, indptr, shape = (stored[key] for key in _CSR)
    return csr_array((data.astype(np.float32), indices, indptr), shape=tuple(map(int, shape)))
