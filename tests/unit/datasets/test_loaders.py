"""Loaders of real data, on small files of the same layout."""

import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import URLError

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

from problems import data_folder
from sparrot import datasets
from sparrot.datasets import Digits, load_dentate_gyrus, load_mnist
from sparrot.errors import InvalidInputError, MissingDataError

N_CELLS, N_GENES = 12, 7


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARROT_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def counts():
    return np.random.default_rng(0).poisson(1.0, (N_CELLS, N_GENES)).astype(np.float32)


def cell_names():
    return [f"10X83_2:CELL{k}x" for k in range(N_CELLS)]


def types():
    return ["Granule" if k % 2 else "CA" for k in range(N_CELLS)]


def write_loom(path, counts):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        file["matrix"] = counts.T
        file["row_attrs/Gene"] = np.array([f"g{k}" for k in range(N_GENES)], dtype=text)
        file["col_attrs/CellID"] = np.array(cell_names(), dtype=text)
        file["col_attrs/ClusterName"] = np.array(types(), dtype=text)
        file["col_attrs/TSNE1"], file["col_attrs/TSNE2"] = np.arange(N_CELLS), np.ones(N_CELLS)


def test_the_dentate_gyrus_is_read_from_a_loom_file_with_probabilities(folder, counts):
    write_loom(folder / "dentate" / "DentateGyrus.loom", counts)
    name = cell_names()[3]
    (folder / "dentate" / "start_probs.csv").write_text(f",start_prob\n{name},0.25\n")
    cells = load_dentate_gyrus()
    assert np.array_equal(cells.X.toarray(), counts)
    assert list(cells.types) == types()
    assert list(cells.genes) == [f"g{k}" for k in range(N_GENES)]
    assert np.array_equal(cells.layout[:, 0], np.arange(N_CELLS))
    assert set(cells.columns) == {"start"}
    assert np.flatnonzero(np.isfinite(cells.columns["start"])).tolist() == [3]
    assert cells.columns["start"][3] == 0.25


@pytest.mark.parametrize("column", ["ClusterName", "clusters"])
def test_the_dentate_gyrus_is_read_from_an_h5ad_file(tmp_path, monkeypatch, counts, column):
    monkeypatch.delenv("SPARROT_DATA", raising=False)
    obs = pd.DataFrame({column: types()}, index=cell_names())
    adata = anndata.AnnData(csr_matrix(counts), obs=obs)
    adata.obsm["X_tsne"] = np.ones((N_CELLS, 2))
    adata.write_h5ad(tmp_path / "dentate.h5ad")
    cells = load_dentate_gyrus(tmp_path / "dentate.h5ad")
    assert np.array_equal(cells.X.toarray(), counts)
    assert list(cells.types) == types()
    assert cells.columns == {}


def test_a_file_that_is_something_else_is_refused(tmp_path, counts):
    (tmp_path / "a.loom").write_bytes(b"no HDF5")
    with pytest.raises(InvalidInputError, match=r"a\.loom is not the loom file"):
        load_dentate_gyrus(tmp_path / "a.loom")
    (tmp_path / "b.h5ad").write_bytes(b"no HDF5")
    with pytest.raises(InvalidInputError, match=r"b\.h5ad is not a whole \.h5ad file"):
        load_dentate_gyrus(tmp_path / "b.h5ad")
    anndata.AnnData(csr_matrix(counts)).write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(InvalidInputError, match="ClusterName"):
        load_dentate_gyrus(tmp_path / "a.h5ad")


def test_the_dentate_gyrus_is_fetched_once_and_checked_ever_after(folder, tmp_path, counts):
    source = tmp_path / "elsewhere" / "source.loom"
    write_loom(source, counts)
    cells = load_dentate_gyrus(fetch=True, url=source.as_uri())
    place = folder / "dentate" / "DentateGyrus.loom"
    assert cells.X.shape == (N_CELLS, N_GENES)
    checksum = (folder / "dentate" / "DentateGyrus.loom.sha256").read_text()
    assert checksum == sha256(place.read_bytes()).hexdigest()
    source.unlink()
    assert load_dentate_gyrus(fetch=True, url=source.as_uri()).X.shape == (N_CELLS, N_GENES)
    with pytest.raises(InvalidInputError, match="checksum"):
        load_dentate_gyrus(sha256="0" * 64)
    place.write_bytes(place.read_bytes() + b"x")
    with pytest.raises(InvalidInputError, match="fetch it again"):
        load_dentate_gyrus()


def test_a_download_that_fails_says_so_and_leaves_nothing(folder, tmp_path):
    with pytest.raises(MissingDataError, match="could not be fetched"):
        load_dentate_gyrus(fetch=True, url=(tmp_path / "none.loom").as_uri())
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_download_with_another_checksum_is_not_kept(folder, tmp_path_factory, counts):
    source = tmp_path_factory.mktemp("source") / "source.loom"
    write_loom(source, counts)
    with pytest.raises(InvalidInputError, match="does not have the checksum 000"):
        load_dentate_gyrus(fetch=True, url=source.as_uri(), sha256="0" * 64)
    assert files_in(folder) == []
    right = sha256(source.read_bytes()).hexdigest()
    load_dentate_gyrus(fetch=True, url=source.as_uri(), sha256=right)


def test_a_download_that_is_no_whole_hdf5_is_not_kept(folder, tmp_path_factory, counts):
    source = tmp_path_factory.mktemp("source") / "source.loom"
    write_loom(source, counts)
    whole = source.read_bytes()
    for content in (b"<html>moved</html>", whole[: len(whole) // 2]):
        source.write_bytes(content)
        with pytest.raises(InvalidInputError, match="no whole loom file"):
            load_dentate_gyrus(fetch=True, url=source.as_uri())
        assert files_in(folder) == []


class CutShort(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b"half")

    def log_message(self, *args):
        pass


def test_a_download_that_is_cut_short_is_not_kept(folder):
    with HTTPServer(("127.0.0.1", 0), CutShort) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        with pytest.raises(MissingDataError, match="could not be fetched: only 4 of 1000000 bytes"):
            load_dentate_gyrus(fetch=True, url=f"http://127.0.0.1:{server.server_port}/x.loom")
        server.shutdown()
        thread.join()
    assert files_in(folder) == []


def test_what_is_missing_is_named_with_the_remedy(monkeypatch, folder):
    with pytest.raises(MissingDataError, match=r"load_dentate_gyrus\(fetch=True\)"):
        load_dentate_gyrus()
    with pytest.raises(MissingDataError, match=r"pbmc_facs\.npz"):
        datasets.load_pbmc_facs()
    monkeypatch.delenv("SPARROT_DATA")
    with pytest.raises(MissingDataError, match="SPARROT_DATA names no folder"):
        datasets.load_arabidopsis_root()
    with pytest.raises(MissingDataError, match="set SPARROT_DATA"):
        load_dentate_gyrus(fetch=True)
    monkeypatch.setenv("SPARROT_DATA", str(folder / "nowhere"))
    with pytest.raises(MissingDataError, match="not a folder"):
        datasets.load_pbmc_facs()


def test_mnist_offline_says_what_to_do(monkeypatch):
    def refuse(*args, **kwargs):
        raise URLError("no network")

    monkeypatch.delenv("SPARROT_DATA", raising=False)
    monkeypatch.setattr("sparrot.datasets._digits.fetch_openml", refuse)
    with pytest.raises(MissingDataError, match=r"OpenML .*no network.*mnist\.npz"):
        load_mnist()


def test_mnist_from_openml_or_a_file_is_the_same(monkeypatch, folder):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (60, 784)), np.arange(60) % 10
    monkeypatch.setattr(
        "sparrot.datasets._digits.fetch_openml", lambda *a, **k: (X.astype(float), y.astype(str))
    )
    fetched = load_mnist([3, 7], 4)
    np.savez(folder / "mnist.npz", X=X.astype(np.uint8), y=y.astype(np.uint8))
    stored = load_mnist([3, 7], 4)
    assert np.array_equal(fetched.X, stored.X)
    assert stored.labels.tolist() == [3] * 4 + [7] * 4
    assert 0 <= stored.X.min() <= stored.X.max() <= 1
    assert not np.array_equal(load_mnist([3], 4, random_state=1).X, stored.X[:4])
    with pytest.raises(InvalidInputError, match="from 1 to 6"):
        load_mnist([3], 7)


@pytest.mark.parametrize("shear", [-0.5, 0.0, 0.3])
def test_the_slant_of_a_sheared_bar_is_its_angle(shear):
    image = np.zeros((28, 28))
    for row in range(4, 24):
        place = 13.5 + shear * (13.5 - row)  # to the right as it goes up
        left = int(np.floor(place))
        image[row, left], image[row, left + 1] = 1 - (place - left), place - left
    slant = Digits(image.reshape(1, -1), np.array([1])).slant
    assert slant == pytest.approx(np.arctan(shear), abs=1e-9)


def test_cells_are_taken_with_all_that_is_known_of_them():
    cells = datasets.Cells(
        csr_array(np.diag(np.arange(1.0, 7))),
        np.arange(6),
        np.array(list("abcdef")),
        columns={"time": np.arange(6.0)},
        layout=np.arange(12.0).reshape(6, 2),
    )
    some = cells.sample(3)
    rows = some.columns["time"].astype(int)
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert len(rows) == 3
    assert np.array_equal(some.X.toarray(), cells.X.toarray()[rows])
    assert np.array_equal(some.types, cells.types[rows])
    assert np.array_equal(some.layout, cells.layout[rows])
    assert cells.sample(6) is cells


@pytest.mark.parametrize(
    ("load", "shape"),
    [("load_arabidopsis_root", (10_000, 2_000)), ("load_pbmc_facs", (3_774, 16_791))],
)
def test_real_cells_have_the_shape_that_is_written_about_them(monkeypatch, load, shape):
    if data_folder() is None:
        pytest.skip("no data folder; set SPARROT_DATA")
    monkeypatch.setenv("SPARROT_DATA", str(data_folder()))
    cells = getattr(datasets, load)()
    assert cells.X.shape == shape
    assert len(cells.types) == shape[0]
