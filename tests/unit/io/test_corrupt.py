"""Corrupt files are bad input: one sentence, whatever is broken in them, and exit code 2."""

import gzip
import os
import subprocess
import sys

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparrot
from sparrot.cli import main
from sparrot.errors import SparrotError
from sparrot.io._formats import FORMATS
from sparrot.io._matrix_market import write_matrix

X = np.random.default_rng(0).standard_normal((12, 4)).round(3)
FRAME = pd.DataFrame(X, columns=list("abcd"))


def packed(write):
    def write_packed(path):
        write(path)
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))

    return write_packed


def write_csv(path):
    FRAME.to_csv(path, index=False)


def write_tsv(path):
    FRAME.to_csv(path, index=False, sep="\t")


WRITERS = {
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


def mutated(whole, seed):
    """A file with some bytes changed, or its end cut off, or a part of it gone or doubled."""
    rng = np.random.default_rng(seed)
    data = bytearray(whole)
    start, stop = np.sort(rng.integers(len(data), size=2))
    if seed % 4 == 1:
        return data[:start]
    if seed % 4 == 2:
        return data[:start] + data[stop:]
    if seed % 4 == 3:
        return data[:stop] + data[start:]
    for place in rng.integers(len(data), size=rng.integers(1, 8)):
        data[place] = rng.integers(256)
    return data


def test_every_format_is_here():
    assert set(WRITERS) == set(FORMATS)


@pytest.mark.filterwarnings("ignore")  # of the readers
@pytest.mark.parametrize("suffix", sorted(set(WRITERS) - {".h5ad", ".parquet"}))
def test_a_corrupt_file_is_read_or_refused(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    WRITERS[suffix](path)
    whole, refused = path.read_bytes(), 0
    for seed in range(150):
        path.write_bytes(mutated(whole, seed))
        try:
            sparrot.read_points(path)
        except SparrotError:
            refused += 1
    assert refused > 30


READ = """
import sys, warnings
from pathlib import Path
import sparrot
from sparrot.errors import SparrotError
warnings.simplefilter("ignore")
refused = 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    readers = (sparrot.read_points, sparrot.load)
    for read in readers if path.suffix == ".h5ad" else readers[:1]:
        print(path, flush=True)
        try:
            read(path)
        except SparrotError:
            refused += 1
print(refused)
"""


@pytest.mark.parametrize("suffix", [".h5ad", ".parquet"])
def test_a_corrupt_file_that_a_library_reads_is_read_or_refused(suffix, tmp_path):
    """In a process of its own, for these libraries are in C."""
    path = tmp_path / f"a{suffix}"
    WRITERS[suffix](path)
    if suffix == ".h5ad":
        sparrot.save(sparrot.qot(X), path)
    folder = tmp_path / "mutated"
    folder.mkdir()
    for seed in range(100):
        (folder / f"{seed}{suffix}").write_bytes(mutated(path.read_bytes(), seed))
    environment = os.environ | {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", READ, folder], capture_output=True, text=True, env=environment
    )
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, last + done.stderr[-2000:]
    assert int(last) > 30


@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
def test_a_corrupt_affinity_is_loaded_or_refused(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    sparrot.save(sparrot.qot(X), path)
    whole, refused = path.read_bytes(), 0
    for seed in range(0, 200, 4) if suffix == ".h5ad" else range(150):
        path.write_bytes(mutated(whole, seed))
        try:
            sparrot.load(path)
        except SparrotError:
            refused += 1
    assert refused > 10


BROKEN = {
    "a.csv": b"a,b\n1," + b"2" * 200_000 + b"x\n",
    "nul.csv": b"a,b\n1,\x002\n",
    "cr.csv": b"a,b\r1,2\r3,x\r",
    "quote.csv": b'a,b\n1,"2\n3,4\n',
    "latin.csv": "größe,b\n1,2\n".encode("latin-1"),
    "a.npz": b"PK\x03\x04 and no more",
    "a.h5ad": b"\x89HDF\r\n\x1a\n and no more",
    "a.parquet": b"PAR1 and no more PAR1",
    "a.npy": b"\x93NUMPY\x01\x00\x08\x00{'descr'",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", ["info", "affinity"])
def test_the_command_line_says_so_in_one_line(name, command, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    assert main([command, str(path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(path) in said
    assert len(said) < 500
