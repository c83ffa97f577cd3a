import ast
import sys
from pathlib import Path

import anndata
import numpy as np
import pandas
import pytest
from scipy.sparse import csr_matrix

import sparrot
from sparrot.errors import InvalidInputError
from sparrot.io._h5ad import (
    default_array,
    list_affinities,
    list_arrays,
    read_annotations,
    read_obs,
    write_new_anndata,
    write_parts,
)

SOURCE = Path(sparrot.__file__).parent
CALLS = {"read_h5ad", "write_h5ad", "read_elem", "write_elem", "File"}
X = np.random.default_rng(0).standard_normal((20, 3))


def opens_h5ad(tree):
    """Calls of what opens such files; text in which they are only named does not count."""
    for node in ast.walk(tree):
        called = isinstance(node, ast.Attribute) and node.attr in CALLS
        loaded = isinstance(node, ast.Constant) and node.value in ("h5py", "anndata.io")
        yield called or loaded


@pytest.fixture
def cells(tmp_path):
    path = tmp_path / "cells.h5ad"
    adata = anndata.AnnData(X, obsm={"X_pca": X, "X_umap": X[:, :2]}, uns={"color": "red"})
    adata.obs["kind"] = "b"
    adata.write_h5ad(path)
    return path


def test_one_module_alone_opens_h5ad_files():
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(opens_h5ad(ast.parse(path.read_text())))
    }
    assert found == {"io/_h5ad.py"}


def test_what_a_file_holds_is_listed(cells):
    assert list_arrays(cells) == ["X", "obsm/X_pca", "obsm/X_umap"]
    assert list_affinities(cells) == []
    sparrot.save(sparrot.qot(X), cells, key="mine")
    assert list_affinities(cells) == ["mine"]


def test_annotations_are_the_table_of_cells_and_the_flat_layouts(cells):
    obs, layouts = read_annotations(cells)
    assert obs["kind"].tolist() == ["b"] * 20
    assert list(layouts) == ["X_umap"]
    assert np.array_equal(layouts["X_umap"], X[:, :2])


def test_parts_are_written_and_the_rest_stays(cells):
    obs = read_obs(cells)
    obs["size"] = np.arange(20.0)
    write_parts(cells, {"obs": obs, "obsm/X_map": X})
    again = anndata.read_h5ad(cells)
    assert again.obs["size"].tolist() == list(range(20))
    assert again.obs["kind"].tolist() == ["b"] * 20
    assert set(again.obsm) == {"X_pca", "X_umap", "X_map"}
    assert np.array_equal(again.X, X)


def test_a_new_file_has_names_and_nothing_else(tmp_path):
    write_new_anndata(tmp_path / "a.h5ad", ["x", "y"])
    assert anndata.read_h5ad(tmp_path / "a.h5ad").obs_names.tolist() == ["x", "y"]
    assert list_arrays(tmp_path / "a.h5ad") == []


@pytest.mark.parametrize("read", [read_obs, read_annotations, list_arrays, list_affinities])
def test_without_anndata_the_extra_is_named(tmp_path, monkeypatch, read):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(sparrot.MissingExtraError, match=r"sparrot\[scanpy\]"):
        read(tmp_path / "a.h5ad")


@pytest.mark.parametrize("read", [read_obs, read_annotations, list_arrays, list_affinities])
def test_what_is_no_such_file_is_named(tmp_path, read):
    with pytest.raises(FileNotFoundError, match=r"a\.h5ad does not exist"):
        read(tmp_path / "a.h5ad")
    (tmp_path / "a.h5ad").write_bytes(b"hello")
    with pytest.raises(InvalidInputError, match=r"a\.h5ad is not a whole \.h5ad file"):
        read(tmp_path / "a.h5ad")


@pytest.mark.parametrize(("columns", "place"), [(50, "X"), (51, "obsm/X_pca")])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_points_are_where_scanpy_would_look_for_them(tmp_path, columns, place, form):
    X, path = np.random.default_rng(0).standard_normal((60, 51)), tmp_path / "a.h5ad"
    for obsm in ({"X_pca": X[:, :3]}, {}):
        anndata.AnnData(form(X[:, :columns]), obsm=obsm).write_h5ad(path)
        assert default_array(path) == (place if obsm else "X")
        taken = sparrot.read_points(path)
        assert taken.shape[1] == (3 if obsm and place != "X" else columns)


def test_labels_are_columns_of_obs(tmp_path):
    path = tmp_path / "a.h5ad"
    obs = pandas.DataFrame({"kind": list("abab"), "leiden": pandas.Categorical(["0", "10"] * 2)})
    anndata.AnnData(np.eye(4), obs=obs.set_index(obs.index.astype(str))).write_h5ad(path)
    assert list(sparrot.read_labels(path, "kind")) == list("abab")
    assert sparrot.read_labels(path, "leiden").cat.categories.tolist() == ["0", "10"]
    assert sparrot.read_points(path, label="kind").shape == (4, 4)
    with pytest.raises(
        InvalidInputError, match=r"label must be a column of obs .* 'kind', 'leiden', got 'k'"
    ):
        sparrot.read_points(path, label="k")
