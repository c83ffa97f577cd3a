import gzip
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

import sparrot
from problems import data_folder
from sparrot.errors import AffinityWarning, InvalidInputError

X = np.random.default_rng(0).standard_normal((6, 3))
SPARSE = sp.csr_array(np.where(X > 0, X, 0.0))


def frame():
    return pd.DataFrame(X, columns=["a", "b", "c"], index=[f"cell {k}" for k in range(6)])


def packed_mtx(path):
    scipy.io.mmwrite(path.with_suffix(""), SPARSE)
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


WRITERS = {
    "m.npy": lambda path: np.save(path, X),
    "only.npz": lambda path: np.savez(path, anything=X, labels=np.arange(6)),
    "x.npz": lambda path: np.savez(path, X=X, X_pca=X[:, :2]),
    "bare.csv": lambda path: frame().to_csv(path, header=False, index=False),
    "header.csv": lambda path: frame().to_csv(path, index=False),
    "names.csv": lambda path: frame().to_csv(path, header=False),
    "both.csv": lambda path: frame().to_csv(path),
    "named index.csv": lambda path: frame().to_csv(path, index_label="cell"),
    "numbered.csv": lambda path: frame().reset_index(drop=True).to_csv(path),
    "counted.csv": lambda path: pd.DataFrame(X).to_csv(path),
    "counted and named.csv": lambda path: pd.DataFrame(X).to_csv(path, index_label="cell"),
    "counted header.csv": lambda path: pd.DataFrame(X).to_csv(path, index=False),
    "packed.csv.gz": lambda path: frame().to_csv(path),
    "packed.tsv.gz": lambda path: pd.DataFrame(X).to_csv(path, sep="\t", index=False),
    "both.tsv": lambda path: frame().to_csv(path, sep="\t"),
    "marked.csv": lambda path: frame().to_csv(path, index=False, encoding="utf-8-sig"),
    "plain.parquet": lambda path: frame().to_parquet(path, index=False),
    "index.parquet": lambda path: frame().to_parquet(path),
    "m.h5ad": lambda path: anndata.AnnData(X).write_h5ad(path),
    "m.mtx": lambda path: scipy.io.mmwrite(path, X),
}
SPARSE_WRITERS = {
    "csr.npz": lambda path: sp.save_npz(path, sp.csr_matrix(SPARSE)),
    "csc.npz": lambda path: sp.save_npz(path, sp.csc_matrix(SPARSE)),
    "coo.npz": lambda path: sp.save_npz(path, sp.coo_matrix(SPARSE)),
    "coo array.npz": lambda path: sp.save_npz(path, sp.coo_array(SPARSE)),
    "bsr.npz": lambda path: sp.save_npz(path, sp.bsr_matrix(SPARSE, blocksize=(2, 3))),
    "dia.npz": lambda path: sp.save_npz(path, sp.dia_matrix(SPARSE)),
    "bare.npz": lambda path: np.savez(
        path, data=SPARSE.data, indices=SPARSE.indices, indptr=SPARSE.indptr, shape=SPARSE.shape
    ),
    "m.mtx": lambda path: scipy.io.mmwrite(path, SPARSE),
    "m.mtx.gz": lambda path: packed_mtx(path),
    "m.h5ad": lambda path: anndata.AnnData(sp.csr_matrix(SPARSE)).write_h5ad(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_points_come_back_from_every_format(tmp_path, name):
    WRITERS[name](tmp_path / name)
    read = sparrot.read_points(tmp_path / name)
    assert isinstance(read, np.ndarray)
    assert read == pytest.approx(X, rel=1e-15)


@pytest.mark.parametrize("name", SPARSE_WRITERS)
def test_sparse_points_stay_sparse(tmp_path, name):
    SPARSE_WRITERS[name](tmp_path / name)
    read = sparrot.read_points(tmp_path / name)
    assert isinstance(read, sp.csr_array)
    assert read.toarray() == pytest.approx(SPARSE.toarray(), rel=1e-15)


def test_tables_of_an_h5ad_file_are_read_and_folders_named(tmp_path):
    cells = anndata.AnnData(X, uns={"color": "red"})
    cells.obs["kind"] = "red"
    cells.obsm["table"] = frame().set_index(cells.obs_names)
    cells.write_h5ad(tmp_path / "a.h5ad")
    assert sparrot.read_points(tmp_path / "a.h5ad", array="obsm/table") == pytest.approx(X)
    for place in ("obsm", "uns"):
        with pytest.raises(InvalidInputError, match=r"which has X, obsm/table; '.*' is none"):
            sparrot.read_points(tmp_path / "a.h5ad", array=place)
    with pytest.raises(InvalidInputError, match="must hold a matrix of numbers"):
        sparrot.read_points(tmp_path / "a.h5ad", array="obs")


def test_a_packed_matrix_that_is_cut_short_is_named(tmp_path):
    path = tmp_path / "a.mtx.gz"
    packed_mtx(path)
    whole = path.read_bytes()
    for length in (0, 5, len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidInputError, match=r"not a whole \.mtx"):
            sparrot.read_points(path)


def test_broken_sparse_files_are_named(tmp_path):
    parts = {"data": np.ones(2), "indptr": np.array([0, 1, 2]), "shape": (2, 2)}
    for name, changes in {
        "outside.npz": {"indices": np.array([0, 7]), "format": "csr"},
        "negative.npz": {"indices": np.array([0, -1]), "format": "csc"},
        "missing.npz": {"format": "csr"},
        "unknown.npz": {"format": "abc"},
        "outside bare.npz": {"indices": np.array([0, 7])},
    }.items():
        np.savez(tmp_path / name, **(parts | changes))
        with pytest.raises(InvalidInputError, match="not a whole"):
            sparrot.read_points(tmp_path / name)


def test_tables_of_r_have_a_header_that_is_one_short(tmp_path):
    (tmp_path / "r.tsv").write_text('"a"\t"b"\n"x"\t1\t2\n"y"\t3\t4\n')
    assert sparrot.read_points(tmp_path / "r.tsv").tolist() == [[1, 2], [3, 4]]


def test_arrays_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", left=X, right=2 * X)
    assert sparrot.read_points(tmp_path / "a.npz", array="right") == pytest.approx(2 * X)
    with pytest.raises(InvalidInputError, match=r"array is needed .*left \(6, 3\), right \(6, 3\)"):
        sparrot.read_points(tmp_path / "a.npz")
    with pytest.raises(InvalidInputError, match=r"has left \(6, 3\), right \(6, 3\); got 'z'"):
        sparrot.read_points(tmp_path / "a.npz", array="z")
    cells = anndata.AnnData(X, obsm={"X_pca": 3 * X}, layers={"raw": sp.csr_matrix(SPARSE)})
    cells.write_h5ad(tmp_path / "a.h5ad")
    assert sparrot.read_points(tmp_path / "a.h5ad", array="obsm/X_pca") == pytest.approx(3 * X)
    assert sp.issparse(sparrot.read_points(tmp_path / "a.h5ad", array="layers/raw"))
    listed = r"which has X, obsm/X_pca, layers/raw; 'X_pca' is not there; name"
    with pytest.raises(InvalidInputError, match=listed):
        sparrot.read_points(tmp_path / "a.h5ad", array="X_pca")
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(InvalidInputError, match=r"array is for \.npz and \.h5ad files"):
        sparrot.read_points(tmp_path / "a.npy", array="X")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "a,b\n", "no rows of numbers"),
        (
            "a.csv",
            "a,b,c\n1,2,1\n3,,1\n,2,3\n",
            r"column 'b' on line 3, 2 such entries in all in 2 columns \('a', 'b'\)",
        ),
        ("a.csv", "a,b\n1,2\n3,\n", "no number in column 'b' on line 3, 1 such entry in all"),
        ("a.csv", "n,a,b\nx,1,2\ny,3,NA\n", "no number in column 'b' on line 3"),
        ("a.csv", "1,2\n3,4,5\n", "line 2 has 3 fields, and the one before it has 2; repair"),
        (
            "a.csv",
            "n,a,b\nx,1,2\ny,3\n",
            "line 3 has 2 fields, and those before it have 3; repair",
        ),
        ("a.csv", "a;b\n1,5;2,5\n", "separated by ';' and not ','.* decimal points"),
        ("a.csv", "1,2\n3,nan\n", "no number in column '1' on line 2"),
        ("a.csv", "cell\nx\n", "no columns but the row names"),
        ("a.csv", "a;b\n1;2\n", "separated by ';' and not ','"),
        ("a.csv", "1,5;2,5\n", "separated by ';'"),
        ("a.csv", "1 2\n3 4\n", "separated by ' '"),
        ("a.tsv", "a,b\n1,2\n", r"separated by ',' and not '\\t'"),
        ("a.csv.gz", "1,2\n", "not a whole .gz"),
        ("a.mtx", "hello", "not a whole .mtx"),
        ("a.mtx.gz", "hello", "not a whole .mtx"),
        ("a.npy", "hello", "not a whole .npy"),
        ("a.npz", "hello", "not a whole .npz"),
        ("a.h5ad", "hello", "not a whole .h5ad"),
        ("a.parquet", "hello", "not a whole .parquet"),
        ("a.xlsx", "hello", "path must end in .npy, .npz"),
    ],
)
def test_wrong_files_are_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        sparrot.read_points(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "shape", "said"),
    [
        ("0,1,2\n5,6,7\n", (1, 3), "from 0 to 2, and was taken for a header"),
        ("0\n1\n", (2, 1), "taken for a point"),
        (
            "id,a\n0,5\n1,7\n2,6\n3,9\n4,8\n",
            (5, 2),
            "'id', counts the rows, and was taken for a feature",
        ),
    ],
)
def test_what_is_doubtful_is_said(tmp_path, text, shape, said):
    (tmp_path / "a.csv").write_text(text)
    with pytest.warns(AffinityWarning, match=said):
        assert sparrot.read_points(tmp_path / "a.csv").shape == shape


@pytest.mark.filterwarnings("error::sparrot.errors.AffinityWarning")
def test_what_is_plain_is_not_remarked_on(tmp_path):
    frame().to_csv(tmp_path / "a.csv")
    assert sparrot.read_points(tmp_path / "a.csv").shape == (6, 3)


def test_wrong_contents_are_named(tmp_path):
    frame().assign(kind="red")[["kind"]].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError, match="columns of numbers, but has none"):
        sparrot.read_points(tmp_path / "a.parquet")
    np.save(tmp_path / "a.npy", X[0])
    with pytest.raises(InvalidInputError, match=r"has shape \(3,\)"):
        sparrot.read_points(tmp_path / "a.npy")
    np.save(tmp_path / "words.npy", np.array([["a"]]))
    with pytest.raises(InvalidInputError, match="of <U1"):
        sparrot.read_points(tmp_path / "words.npy")
    np.save(tmp_path / "objects.npy", np.array([[{}]]))
    with pytest.raises(InvalidInputError, match="allow_pickle=False"):
        sparrot.read_points(tmp_path / "objects.npy")
    sparrot.save(sparrot.qot(X), tmp_path / "graph.npz")
    with pytest.raises(InvalidInputError, match=r"sparrot\.load"):
        sparrot.read_points(tmp_path / "graph.npz")
    scipy.io.mmwrite(tmp_path / "inf.mtx", sp.csr_array([[np.inf, 0.0]]))
    with pytest.raises(InvalidInputError, match="has 1 non-finite entry"):
        sparrot.read_points(tmp_path / "inf.mtx")
    with pytest.raises(FileNotFoundError):
        sparrot.read_points(tmp_path / "none.csv")


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    (tmp_path / "a.parquet").write_text("")
    with pytest.raises(sparrot.MissingExtraError, match=r"sparrot\[parquet\]"):
        sparrot.read_points(tmp_path / "a.parquet")


COORDINATES = (
    "%%MatrixMarket matrix coordinate real general\n% a remark\n2 3 2\n1 2 0.5\n2 3 1.25e-1"
)


@pytest.mark.parametrize("end", ["", "\n", " ", "\t", "\r", "\r\n", "\n\n"])
def test_the_last_line_of_a_matrix_market_file_may_end_as_it_likes(tmp_path, end):
    (tmp_path / "a.mtx").write_bytes((COORDINATES + end).encode())
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress((COORDINATES + end).encode()))
    for name in ("a.mtx", "a.mtx.gz"):
        read = sparrot.read_points(tmp_path / name)
        assert read.toarray().tolist() == [[0, 0.5, 0], [0, 0, 0.125]]


@pytest.mark.parametrize("last", ["", "2", "2 3", "2 3 ", "2 3 1.25e", "2 3 1.25e-"])
def test_a_matrix_market_file_that_was_cut_off_is_refused(tmp_path, last):
    (tmp_path / "a.mtx").write_text(COORDINATES.replace("2 3 1.25e-1", last))
    with pytest.raises(InvalidInputError, match="is not a whole"):
        sparrot.read_points(tmp_path / "a.mtx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%%MatrixMarket matrix array real general\n2 1\n1\n2e", "its entry 2 is '2e'"),
        ("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n", "has 2 of 3 entries"),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2", "its entry 2 is '2'"),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 4\n1 2 3\n", "has 1 of 4 entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 2\n", "sizes are missing"),
        ("%%MatrixMarket matrix coordinate", "is no Matrix Market header"),
        ("", "is no Matrix Market header"),
    ],
)
def test_a_matrix_market_file_that_is_not_whole_says_why(tmp_path, text, message):
    (tmp_path / "a.mtx").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        sparrot.read_points(tmp_path / "a.mtx")


def test_symmetric_matrix_market_files_have_half_of_their_entries(tmp_path):
    S = (X[:3] + X[:3].T) / 2
    for name, matrix in {"dense": S, "sparse": sp.coo_array(S)}.items():
        scipy.io.mmwrite(tmp_path / f"{name}.mtx", matrix, precision=17, symmetry="symmetric")
        read = sparrot.read_points(tmp_path / f"{name}.mtx")
        assert np.array_equal(read.toarray() if sp.issparse(read) else read, S)


@pytest.mark.parametrize("name", ["M.NPY", "A.NPZ", "BOTH.CSV", "P.Csv.GZ", "M.MTX", "M.H5AD"])
def test_endings_in_capitals_are_endings(tmp_path, name):
    small = tmp_path / name.lower()
    save = {".npz": WRITERS["x.npz"], ".gz": WRITERS["both.csv"]}
    others = {Path(known).suffix: writer for known, writer in reversed(WRITERS.items())}
    (others | save)[small.suffix](small)
    small.rename(tmp_path / name)
    array = "X" if small.suffix in (".npz", ".h5ad") else None
    assert sparrot.read_points(tmp_path / name, array=array) == pytest.approx(X, rel=1e-15)


def test_real_files_are_read_as_they_are():
    folder = data_folder()
    if folder is None or not (folder / "pbmc3k.npz").exists():
        pytest.skip("pbmc3k.npz is not in the data folder; set SPARROT_DATA")
    assert sparrot.read_points(folder / "pbmc3k.npz").shape == (2638, 13714)
    assert sparrot.read_points(folder / "pbmc68k_reduced.npz").shape == (700, 765)
