"""Cells with a known answer: gene expression, with types, lineages or pseudotimes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparrot._types import FloatArray, IntArray
from sparrot.datasets._folder import need_data
from sparrot.io._npz import open_npz, read_csr


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
        if n >= self.X.shape[0]:
            return self
        rng = np.random.default_rng(random_state)
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
