"""Files of every format, whole and mutated: they are read or refused, and nothing else happens."""

from __future__ import annotations

import gzip
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp

import sparrot
from sparrot.errors import SparrotError
from sparrot.io._matrix_market import write_matrix

X = np.random.default_rng(0).standard_normal((12, 4)).round(3)
FRAME = pd.DataFrame(X, columns=list("abcd"))
Writer = Callable[[Path], object]


def packed(write: Writer) -> Writer:
    def write_packed(path: Path) -> None:
        write(path)
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))

    return write_packed


def write_csv(path: Path) -> None:
    FRAME.to_csv(path, index=False, compression=None)


def write_tsv(path: Path) -> None:
    FRAME.to_csv(path, index=False, sep="\t", compression=None)


POINTS: dict[str, Writer] = {
    ".npy": lambda path: np.save(path, X),
    ".npz": lambda path: np.savez(path, X=X, y=np.arange(12)),
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".csv.gz": packed(write_csv),
    ".tsv.gz": packed(write_tsv),
    ".parquet": FRAME.to_parquet,
    ".h5ad": lambda path: anndata.AnnData(X, obsm={"X_pca": X[:, :2]}).write_h5ad(path),
    ".mtx": lambda path: write_matrix(path, sp.csr_array(X)),
    ".mtx.gz": packed(lambda path: write_matrix(path, X)),
}


def save(path: Path) -> None:
    sparrot.save(sparrot.qot(X, 1.0), path)


AFFINITIES: dict[str, Writer] = {".npz": save, ".h5ad": save}


def checkpoint(path: Path) -> None:
    sparrot.qot(X, 0.1, solver="active-set", checkpoint=path)


# Everything that sparrot reads: how it is written, and read.
FILES: dict[str, tuple[Writer, Callable[[Path], object]]] = (
    {f"points{suffix}": (write, sparrot.read_points) for suffix, write in POINTS.items()}
    | {f"affinity{suffix}": (write, sparrot.load) for suffix, write in AFFINITIES.items()}
    | {"checkpoint": (checkpoint, lambda path: _resumed(path))}
)
IN_C = ("points.h5ad", "affinity.h5ad", "points.parquet")  # a crash would end the process


def _resumed(path: Path) -> None:
    """Go on from a checkpoint: if it is taken, the plan is the right one."""
    W = sparrot.qot(X, 0.1, solver="active-set", checkpoint=path).matrix
    assert abs(W - _known()).max() < 1e-6, "another plan"


@cache
def _known() -> object:
    return sparrot.qot(X, 0.1).matrix


@cache
def whole(name: str) -> bytes:
    """The bytes of a good file."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / file_name(name)
        FILES[name][0](path)
        return path.read_bytes()


def file_name(name: str) -> str:
    return f"a{name[name.index('.') :]}" if "." in name else "a"


def mutated(data: bytes, seed: int) -> bytes:
    """A file with some bytes changed, or its end cut off, or a part of it gone or doubled."""
    rng = np.random.default_rng(seed)
    mutant = bytearray(data)
    start, stop = np.sort(rng.integers(len(mutant), size=2))
    if seed % 4 == 1:
        return bytes(mutant[:start])
    if seed % 4 == 2:
        return bytes(mutant[:start] + mutant[stop:])
    if seed % 4 == 3:
        return bytes(mutant[:stop] + mutant[start:])
    for place in rng.integers(len(mutant), size=rng.integers(1, 8)):
        mutant[place] = rng.integers(256)
    return bytes(mutant)


def run(name: str, seed: int) -> str:
    """Read one mutant: "read" or "refused"; anything else is another error."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the readers
        path = Path(folder) / file_name(name)
        path.write_bytes(mutated(whole(name), seed))
        try:
            FILES[name][1](path)
        except SparrotError as error:
            refused = error
        else:
            return "read"
    assert "\n" not in str(refused), f"an error of several lines: {refused}"
    return "refused"
