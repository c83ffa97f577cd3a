import numpy as np
import pytest

import sparrot
from sparrot.cli.output import (
    AFFINITIES,
    TABLES,
    Table,
    require_same_cells,
    require_writable,
    write_affinity,
    write_table,
)

Y = np.random.default_rng(0).standard_normal((40, 2))
TABLE = Table("obsm/X_map", ["map_1", "map_2"], Y)


@pytest.mark.parametrize("suffix", TABLES)
def test_coordinates_are_read_back_to_the_last_bit(suffix, tmp_path):
    target = tmp_path / f"new folder/coordinates{suffix}"
    write_table(TABLE, target, tmp_path / "points.npy")
    array = "obsm/X_map" if suffix == ".h5ad" else None
    assert np.array_equal(sparrot.read_points(target, array=array), Y)
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("suffix", AFFINITIES)
def test_affinities_are_read_back_to_the_last_bit(suffix, tmp_path):
    affinity = sparrot.qot(Y)
    target = tmp_path / f"affinity{suffix}"
    write_affinity(affinity, target, tmp_path / "points.npy")
    read = sparrot.read_points(target) if suffix == ".mtx" else sparrot.load(target).matrix
    assert abs(read - affinity.matrix).max() == 0


def test_a_new_h5ad_keeps_what_its_source_has(tmp_path):
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(Y, obs={"kind": ["a", "b"] * 20})
    data.obs_names = [f"cell{i}" for i in range(40)]
    source = tmp_path / "source.h5ad"
    data.write_h5ad(source)
    before = source.read_bytes()
    labels = Table("obs/sparrot_cluster", ["cluster"], np.arange(40) % 3)
    for name in ("labels.h5ad", "map.h5ad", "affinity.h5ad"):
        target = tmp_path / name
        if name == "affinity.h5ad":
            write_affinity(sparrot.qot(Y), target, source)
        else:
            write_table(labels if name == "labels.h5ad" else TABLE, target, source)
        read = anndata.read_h5ad(target)
        assert list(read.obs_names) == list(data.obs_names)
        assert list(read.obs["kind"]) == ["a", "b"] * 20
        assert np.array_equal(read.X, Y)
    assert source.read_bytes() == before
    read = anndata.read_h5ad(tmp_path / "labels.h5ad")
    assert list(read.obs["sparrot_cluster"].cat.categories) == ["0", "1", "2"]


def test_complaints_come_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for target, complaint in (
        ("x.txt", "written to .npy .npz"),
        ("folder.csv", "is a folder"),
        ("file/x.csv", "cannot write to"),
    ):
        with pytest.raises(sparrot.InvalidInputError, match=complaint):
            require_writable(tmp_path / target, TABLES)
    require_writable(tmp_path / "new" / "x.csv", TABLES)
    assert not (tmp_path / "new").exists()


def test_results_must_fit_a_file_of_cells(tmp_path):
    target = tmp_path / "cells.h5ad"
    require_same_cells(target, 30)
    write_table(TABLE, target, tmp_path / "points.npy")
    require_same_cells(target, 40)
    with pytest.raises(sparrot.InvalidInputError, match="has 40 cells, and there are 30 points"):
        require_same_cells(target, 30)
