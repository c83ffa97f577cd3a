"""Affinities in zarr folders: whole or not at all, mapped rather than read, readable by others."""

import errno
import json
from mmap import mmap

import numpy as np
import pytest

import sparrot
from problems import points
from sparrot.affinity import _folder
from sparrot.errors import InvalidInputError, MissingDataError

X = points("gaussian", 80)


def base_of(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


@pytest.mark.parametrize(
    "arguments",
    [{"eps": 0.5}, {"eps": 0.1, "min_neighbors": 3}, {"weights": np.linspace(1, 2, 80)}],
)
def test_a_result_in_a_folder_is_the_same_and_is_mapped_from_it(tmp_path, arguments):
    expected = sparrot.qot(X, **arguments)
    kept = sparrot.qot(X, **arguments, out=tmp_path / "a.zarr")
    loaded = sparrot.load(tmp_path / "a.zarr")
    assert loaded.certificate.claimed
    for a in (kept, loaded):
        assert (a.matrix != expected.matrix).nnz == 0
        assert isinstance(base_of(a.matrix.data), mmap)
        assert isinstance(base_of(a.matrix.indices), mmap)
        assert a.certificate == expected.certificate
        for name in ("potential", "row_eps", "min_neighbors", "weights"):
            assert np.array_equal(getattr(a, name), getattr(expected, name))
        assert a.history == expected.history
        assert a.check(X) == expected.check(X)


def test_a_graph_of_nearest_neighbors_goes_to_a_folder_too(tmp_path):
    kept = sparrot.knn(X, 5, out=str(tmp_path / "a.zarr"))
    assert (kept.matrix != sparrot.knn(X, 5).matrix).nnz == 0
    assert sparrot.load(tmp_path / "a.zarr").certificate is None
    assert np.allclose(sparrot.eigenpairs(kept.matrix, 3).values[0], 1)


def test_anndata_and_zarr_read_the_matrix(tmp_path):
    anndata, zarr = pytest.importorskip("anndata"), pytest.importorskip("zarr")
    a = sparrot.qot(X, out=tmp_path / "a.zarr")
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="r")
    assert np.array_equal(group["potential"][:], a.potential)
    assert abs(anndata.io.read_elem(group["matrix"]) - a.matrix).max() == 0
    assert abs(anndata.io.sparse_dataset(group["matrix"])[7:9] - a.matrix[7:9]).max() == 0


def test_a_folder_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    write, left = _folder._write_array, 2

    def breaks(folder, array):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")
        write(folder, array)

    monkeypatch.setattr(_folder, "_write_array", breaks)
    with pytest.raises(OSError, match="No space"):
        sparrot.qot(X, out=tmp_path / "a.zarr")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named_before_any_work(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(InvalidInputError, match=r"out .*a\.zarr is there already"):
        sparrot.qot(X, out=tmp_path / "a.zarr", progress=lambda report: 1 / 0)
    with pytest.raises(InvalidInputError, match=r"out must end in \.zarr"):
        sparrot.knn(X, out=tmp_path / "a.npz")
    with pytest.raises(MissingDataError, match="which does not exist"):
        sparrot.save(sparrot.qot(X), tmp_path / "absent" / "a.zarr")
    with pytest.raises(InvalidInputError, match="has a dense matrix"):
        sparrot.save(sparrot.eot(X), tmp_path / "b.zarr")


def test_a_folder_that_was_changed_or_cut_is_refused(tmp_path):
    folder = tmp_path / "a.zarr"
    with pytest.raises(InvalidInputError, match="is not a whole"):
        sparrot.load(folder)
    sparrot.qot(X, out=folder)
    words = (folder / ".zattrs").read_text()
    (folder / ".zattrs").write_text(json.dumps(json.loads(words) | {"eps": 2.0}))
    with pytest.raises(InvalidInputError, match="damaged or changed"):
        sparrot.load(folder)
    (folder / ".zattrs").write_text(words)
    data = folder / "matrix" / "data" / "0"
    whole = bytearray(data.read_bytes())
    whole[8] ^= 1
    data.write_bytes(whole)
    with pytest.raises(InvalidInputError, match="damaged or changed"):
        sparrot.load(folder)
    data.write_bytes(whole[:-8])
    with pytest.raises(InvalidInputError, match="data has not"):
        sparrot.load(folder)


def test_a_full_disk_leaves_nothing_and_names_the_folder(tmp_path, monkeypatch):
    def full(folder, array):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sparrot.affinity._folder._write_array", full)
    target = tmp_path / "a.zarr"
    with pytest.raises(OSError, match="No space left") as raised:
        sparrot.qot(points("gaussian", 60), out=target)
    assert raised.value.filename == str(target)
    assert list(tmp_path.iterdir()) == []
