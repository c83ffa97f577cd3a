"""Matrix Market files: what SciPy writes is read, and what is broken is refused, whatever it is."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sparrot
from sparrot.errors import InvalidInputError, NotEnoughMemoryError
from sparrot.io._matrix_market import read_matrix, write_matrix

# SciPy 1.18 announces that mmread, with which we compare, will return sparse arrays.
pytestmark = pytest.mark.filterwarnings("ignore:The default value for `spmatrix`")
RNG = np.random.default_rng(0)
DENSE = RNG.standard_normal((7, 5))
SPARSE = sp.csr_array(sp.random(30, 20, density=0.2, random_state=0))
HEAD = b"%%MatrixMarket matrix coordinate real general\n% a remark\n2 3 2\n"
GOOD = HEAD + b"1 2 0.5\n2 3 1.25e-1\n"


@pytest.mark.parametrize(
    "matrix",
    [DENSE, SPARSE, DENSE[:1], sp.csr_array((3, 4)), np.arange(6).reshape(2, 3)],
)
def test_what_is_written_is_read_to_the_last_bit_by_us_and_by_scipy(matrix, tmp_path):
    write_matrix(tmp_path / "a.mtx", matrix)
    for read in (read_matrix(tmp_path / "a.mtx"), scipy.io.mmread(tmp_path / "a.mtx")):
        assert sp.issparse(read) == sp.issparse(matrix)
        assert read.shape == matrix.shape
        assert abs(read - matrix).max() == 0


def test_a_matrix_without_rows_is_read_as_one(tmp_path):  # it ends the process with SciPy
    write_matrix(tmp_path / "a.mtx", np.empty((0, 3)))
    assert read_matrix(tmp_path / "a.mtx").shape == (0, 3)


def test_rows_that_do_not_fit_in_memory_are_refused_before_they_are_made(tmp_path):
    (tmp_path / "a.mtx").write_bytes(GOOD.replace(b"2 3 2", b"999999999999999 3 2"))
    with pytest.raises(NotEnoughMemoryError):
        read_matrix(tmp_path / "a.mtx")


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("sparse", [True, False])
def test_every_kind_of_real_matrix_is_read_as_by_scipy(sparse, field, symmetry, tmp_path):
    M = np.rint(9 * RNG.standard_normal((12, 12)) * (RNG.random((12, 12)) < 0.3))
    M = M + M.T if symmetry == "symmetric" else M - M.T if symmetry == "skew-symmetric" else M
    M = M.astype(int) if field == "integer" else M / 7
    if field == "pattern" and (symmetry == "skew-symmetric" or not sparse):
        pytest.skip("there are no such matrices")
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, sp.coo_array(M) if sparse else M, field=field, symmetry=symmetry)
    read, known = read_matrix(path), scipy.io.mmread(path)
    assert sp.issparse(read) == sparse
    assert abs(read - known).max() == 0


def test_many_lines_are_read_across_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("sparrot.io._matrix_market._PIECE", 100)
    write_matrix(tmp_path / "a.mtx", SPARSE)
    assert abs(read_matrix(tmp_path / "a.mtx") - SPARSE).max() == 0
    packed = gzip.compress((tmp_path / "a.mtx").read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / "a.mtx.gz").write_bytes(packed)
    assert abs(read_matrix(tmp_path / "a.mtx.gz") - SPARSE).max() == 0


BROKEN = {
    "a NUL at the end": GOOD[:-1] + b"\0",
    "a NUL in a number": GOOD.replace(b"0.5", b"0\0.5"),
    "a NUL in the header": GOOD.replace(b"real", b"re\0l"),
    "a NUL in the size": GOOD.replace(b"2 3 2\n", b"2 3 2\0\n"),
    "one number more": GOOD.replace(b"1 2 0.5", b"1 2 0.5 7"),
    "one number less": GOOD.replace(b"1 2 0.5", b"1 2"),
    "an exponent without digits": GOOD.replace(b"1.25e-1", b"1e"),
    "an exponent with half a sign": GOOD.replace(b"1.25e-1", b"1e-"),
    "two points": GOOD.replace(b"1.25e-1", b"1.2.5"),
    "hexadecimal": GOOD.replace(b"0.5", b"0x5"),
    "an underscore": GOOD.replace(b"0.5", b"1_0"),
    "a word": GOOD.replace(b"0.5", b"half"),
    "a comma": GOOD.replace(b"0.5", b"0,5"),
    "a place with a point": GOOD.replace(b"1 2 0.5", b"1.0 2 0.5"),
    "a negative place": GOOD.replace(b"1 2 0.5", b"-1 2 0.5"),
    "a place before the first": GOOD.replace(b"1 2 0.5", b"0 2 0.5"),
    "a place after the last row": GOOD.replace(b"1 2 0.5", b"3 2 0.5"),
    "a place after the last column": GOOD.replace(b"1 2 0.5", b"1 4 0.5"),
    "a place beyond all integers": GOOD.replace(b"1 2 0.5", b"1 99999999999999999999999 0.5"),
    "too many entries": GOOD + b"1 1 1\n",
    "too few": HEAD + b"1 2 0.5\n",
    "a remark among the entries": HEAD + b"1 2 0.5\n% no\n2 3 1\n",
    "a complex matrix": GOOD.replace(b"real", b"complex"),
    "no size": HEAD[:-6],
    "an endless size": HEAD[:-6] + b"1" * 10_000 + b" 3 2\n1 2 3\n",
    "a line without end": HEAD + b"1" * 3_000_000,
    "letters that are no ASCII": GOOD.replace(b"0.5", "½".encode()),
    "both halves of a symmetric matrix": b"%%MatrixMarket matrix coordinate real symmetric\n"
    b"3 3 2\n2 1 0.5\n1 2 0.5\n",
    "a skew-symmetric diagonal": b"%%MatrixMarket matrix coordinate real skew-symmetric\n"
    b"3 3 1\n2 2 0.5\n",
    "nothing": b"",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_refused_in_one_sentence(content, tmp_path):
    for name, data in {"a.mtx": content, "a.mtx.gz": gzip.compress(content)}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InvalidInputError, match=r"is not a whole \.mtx file") as refused:
            sparrot.read_points(tmp_path / name)
        assert len(str(refused.value)) < 400


def test_no_mutation_of_a_file_is_a_crash_or_another_error(tmp_path):
    path = tmp_path / "a.mtx"
    write_matrix(path, SPARSE)
    whole = bytearray(path.read_bytes())
    refused = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        changed = whole.copy()
        for place in rng.integers(len(changed), size=rng.integers(1, 4)):
            changed[place] = rng.integers(256)
        path.write_bytes(changed[: rng.integers(len(changed))] if seed % 3 == 0 else changed)
        try:
            sparrot.read_points(path)
        except (InvalidInputError, NotEnoughMemoryError):
            refused += 1
    assert refused > 200  # a digit may stand for another
