from argparse import Namespace
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

import sparrot
from sparrot._files import whole_file
from sparrot.cli import main
from sparrot.cli._output import (
    AFFINITIES,
    RECORDS,
    TABLES,
    check_targets,
    coordinates,
    draw_layout,
    require_other_file,
    require_same_cells,
    require_writable,
    write_result,
    write_results,
)
from sparrot.io._points import Table, read_names, write_table

Y = np.random.default_rng(0).standard_normal((40, 2))
TABLE = coordinates(Y, "map")
LABELS = Table({"cluster": np.arange(40) % 3}, "obs/sparrot_cluster")


def asked(folder, output=None, plot=None, source="points.npy"):
    named = {"output": output, "plot": plot}
    paths = {key: folder / name if name else None for key, name in named.items()}
    return Namespace(path=folder / source, **paths)


@pytest.mark.parametrize("suffix", [*TABLES, ".NPZ", ".Csv"])
def test_coordinates_are_read_back_to_the_last_bit(suffix, tmp_path):
    options = asked(tmp_path, f"new folder/coordinates{suffix}")
    write_results(options, TABLE, lambda: None)
    assert list(options.output.parent.iterdir()) == [options.output]
    small = options.output.rename(tmp_path / f"small{suffix.lower()}")
    array = "obsm/X_map" if suffix == ".h5ad" else None
    assert np.array_equal(sparrot.read_points(small, array=array), Y)


@pytest.mark.parametrize("suffix", [*AFFINITIES, ".NPZ"])
def test_affinities_are_read_back_to_the_last_bit(suffix, tmp_path):
    affinity = sparrot.qot(Y)
    options = asked(tmp_path, f"new folder/affinity{suffix}")
    write_results(options, affinity, lambda: None)
    assert list(options.output.parent.iterdir()) == [options.output]
    small = options.output.rename(tmp_path / f"small{suffix.lower()}")
    if suffix in (".csv", ".tsv", ".parquet"):
        i, j, weight = sparrot.read_points(small).T
        assert np.array_equal(affinity.matrix.toarray()[i.astype(int), j.astype(int)], weight)
        assert len(weight) == affinity.matrix.nnz
    else:
        read = sparrot.read_points(small) if suffix == ".mtx" else sparrot.load(small).matrix
        assert abs(read - affinity.matrix).max() == 0


def test_edges_in_text_have_whole_numbers_for_points(tmp_path):
    with whole_file(tmp_path / "edges.csv") as path:
        write_result(sparrot.qot(np.array([[0.0], [1.0]])), path)
    assert (tmp_path / "edges.csv").read_text() == "i,j,weight\n0,1,1.0\n1,0,1.0\n"


def test_a_new_h5ad_keeps_what_its_source_has(tmp_path):
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(Y, obs={"kind": ["a", "b"] * 20})
    data.obs_names = [f"cell{i}" for i in range(40)]
    source = tmp_path / "source.h5ad"
    data.write_h5ad(source)
    before = source.read_bytes()
    for result in (LABELS, TABLE, sparrot.qot(Y)):
        options = asked(tmp_path, "new.h5ad", source="source.h5ad")
        write_results(options, result, lambda: None)
        read = anndata.read_h5ad(options.output)
        assert list(read.obs_names) == list(data.obs_names)
        assert list(read.obs["kind"]) == ["a", "b"] * 20
        assert np.array_equal(read.X, Y)
    assert source.read_bytes() == before
    assert list(read.obs["sparrot_cluster"].cat.categories) == ["0", "1", "2"]
    assert np.array_equal(read.obsm["X_map"], Y)


def test_what_does_not_fit_into_a_file_of_cells_leaves_it_as_it_was(tmp_path):
    options = asked(tmp_path, "cells.h5ad")
    write_results(options, TABLE, lambda: None)
    before = options.output.read_bytes()
    for result in (coordinates(Y[:30], "other"), Table({"c": np.zeros(30)}, "obs/c")):
        with pytest.raises(sparrot.InvalidInputError, match="has 40 cells, and there are 30"):
            write_results(options, result, lambda: None)
    assert options.output.read_bytes() == before
    assert list(tmp_path.iterdir()) == [options.output]


def test_without_its_figure_a_result_does_not_appear(tmp_path):
    def fail():
        raise sparrot.InvalidInputError("cannot be drawn")

    with pytest.raises(sparrot.InvalidInputError, match="cannot be drawn"):
        write_results(asked(tmp_path, "labels.csv", "labels.png"), LABELS, fail)
    assert list(tmp_path.iterdir()) == []


CALLED = [f"cell {k}" for k in range(40)]


def write_named(path):
    frame = pd.DataFrame(Y, index=CALLED, columns=["a", "b"])
    if path.suffix == ".h5ad":
        anndata.AnnData(frame).write_h5ad(path)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",")


def names_in(path):
    if path.suffix == ".h5ad":
        return anndata.read_h5ad(path).obs_names.tolist()
    if path.suffix == ".parquet":
        return pd.read_parquet(path).index.tolist()
    sep = "\t" if path.suffix == ".tsv" else ","
    return pd.read_csv(path, sep=sep, index_col=0).index.tolist()


@pytest.mark.parametrize("target", [".csv", ".tsv", ".parquet", ".h5ad"])
@pytest.mark.parametrize("source", [".csv", ".tsv", ".parquet", ".h5ad"])
def test_points_keep_their_names(source, target, tmp_path):
    options = asked(tmp_path, f"result{target}", source=f"points{source}")
    write_named(options.path)
    for table in (TABLE, LABELS):
        write_results(options, table, lambda: None)
        assert names_in(options.output) == CALLED
    array = "obsm/X_map" if target == ".h5ad" else None
    write_results(options, TABLE, lambda: None)
    assert np.array_equal(sparrot.read_points(options.output, array=array), Y)


def test_an_affinity_in_a_new_file_of_cells_has_their_names(tmp_path):
    options = asked(tmp_path, "result.h5ad", source="points.csv")
    write_named(options.path)
    write_results(options, sparrot.qot(Y), lambda: None)
    assert names_in(options.output) == CALLED
    assert sparrot.load(options.output).kind == "qot"


@pytest.mark.parametrize("source", [".csv", ".h5ad"])
def test_names_go_along_from_points_over_an_affinity_to_results(source, tmp_path):
    options = asked(tmp_path, source=f"points{source}")
    write_named(options.path)
    affinity = tmp_path / "a.npz"
    assert main(["affinity", str(options.path), "-o", str(affinity), "-q"]) == 0
    assert sparrot.load(affinity).kind == "qot"
    for suffix in (".csv", ".parquet", ".h5ad", ".npz"):
        result = tmp_path / f"labels{suffix}"
        for command in ("cluster", "embed"):
            assert main([command, str(affinity), "-o", str(result), "-q"]) == 0
            assert (read_names if suffix == ".npz" else names_in)(result) == CALLED
            result.unlink()


def test_names_of_something_else_are_not_those_of_the_points(tmp_path):
    options = asked(tmp_path, "result.csv", source="points.npz")
    np.savez(options.path, X=Y, names=["height", "width"])
    write_results(options, TABLE, lambda: None)
    assert options.output.read_text().startswith("map_1,map_2\n")


def test_mere_counts_are_no_names_and_edges_have_none(tmp_path):
    options = asked(tmp_path, "result.csv", source="points.csv")
    pd.DataFrame(Y, columns=["a", "b"]).to_csv(options.path)
    write_results(options, TABLE, lambda: None)
    assert options.output.read_text().startswith("map_1,map_2\n")
    write_named(options.path)
    write_results(options, sparrot.qot(Y), lambda: None)
    assert options.output.read_text().startswith("i,j,weight\n")


def test_complaints_come_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for target, complaint in (
        ("x.txt", "output must end in .npy, .npz"),
        ("x.png", "must end in .*; name a figure by plot"),
        ("folder.csv", "is a folder"),
        ("file/x.csv", "is not a folder"),
    ):
        with pytest.raises(sparrot.InvalidInputError, match=complaint):
            require_writable(tmp_path / target, TABLES)
    require_writable(tmp_path / "new" / "x.csv", TABLES)
    require_writable(tmp_path / "X.CSV", TABLES)
    assert not (tmp_path / "new").exists()


def test_the_error_is_about_the_flag_of_the_target(tmp_path):
    for options, flag in (
        (asked(tmp_path, "x.txt"), "output"),
        (asked(tmp_path, plot="x.npy"), "plot"),
    ):
        with pytest.raises(sparrot.InvalidInputError, match="must end in") as error:
            check_targets(options, TABLES)
        assert error.value.parameter == flag


def test_a_scatter_plot_needs_two_coordinates(tmp_path):
    options = asked(tmp_path, plot="x.png")
    check_targets(options, TABLES)
    options.n_components = 1
    with pytest.raises(sparrot.InvalidInputError, match="take n_components=2, or leave out plot"):
        check_targets(options, TABLES)


def test_the_checkpoint_is_not_replaced_by_the_result(tmp_path):
    options = asked(tmp_path, "a.npz")
    options.checkpoint = tmp_path / "." / "a.npz"
    with pytest.raises(sparrot.InvalidInputError, match="name two files"):
        check_targets(options, AFFINITIES)


def test_what_a_matrix_alone_cannot_hold_is_refused_with_the_reason():
    with pytest.raises(sparrot.InvalidInputError, match="all n x n entries"):
        require_writable(Path("a.npy"), AFFINITIES)
    with pytest.raises(sparrot.InvalidInputError, match="no names for the columns"):
        require_writable(Path("path.npy"), RECORDS)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.npz.gz", "a.mtx.gz"])
def test_nothing_is_written_compressed(name, tmp_path):
    a = sparrot.qot(np.eye(3))
    for kinds in (TABLES, AFFINITIES, RECORDS):
        with pytest.raises(sparrot.InvalidInputError, match="must end in"):
            require_writable(tmp_path / name, kinds)
    with pytest.raises(sparrot.InvalidInputError, match=r"must end in \.npz or \.h5ad"):
        sparrot.save(a, tmp_path / name)
    with pytest.raises(sparrot.InvalidInputError, match="cannot hold a table"):
        write_table(Table({"x": [1]}), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.posix
def test_the_input_is_not_replaced_by_the_result(tmp_path):
    source, link, cells = (tmp_path / name for name in ("a.npy", "b.npy", "c.h5ad"))
    for path in (source, cells):
        path.touch()
    link.symlink_to(source)
    for target in (source, link, tmp_path / "." / "a.npy"):
        with pytest.raises(sparrot.InvalidInputError, match="is the input, and would be lost"):
            require_other_file(target, source)
    require_other_file(cells, cells)  # to which the result is added
    require_other_file(tmp_path / "new.npy", source)


def test_results_must_fit_a_file_of_cells(tmp_path):
    pytest.importorskip("anndata")
    target = tmp_path / "cells.h5ad"
    require_same_cells(target, 30)
    write_result(coordinates(np.ones((40, 2)), "map"), target)
    require_same_cells(target, 40)
    with pytest.raises(sparrot.InvalidInputError, match="has 40 cells, and there are 30 points"):
        require_same_cells(target, 30)
    target.write_text("broken")
    with pytest.raises(sparrot.InvalidInputError, match="is not a whole"):
        require_same_cells(target, 30)


def test_a_few_outliers_do_not_shrink_the_picture_and_are_counted():
    Y = np.random.default_rng(0).standard_normal((1000, 2))
    assert draw_layout(Y, "map").get_title() == ""
    Y[:3] *= 1e3
    ax = draw_layout(Y, "map")
    low, high = ax.get_ylim()
    assert high - low < 10
    outside = ((Y[:, 0] < ax.get_xlim()[0]) | (Y[:, 0] > ax.get_xlim()[1])) | (
        (Y[:, 1] < low) | (Y[:, 1] > high)
    )
    assert 3 <= outside.sum() <= 20
    assert ax.get_title() == f"{outside.sum()} points of 1,000 beyond the frame"


def test_the_summary_says_that_nothing_was_kept_and_how_many_neighbors_count(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).standard_normal((60, 2)))
    assert main(["affinity", str(tmp_path / "a.npy"), "--neighbors", "8"]) == 0
    said = capsys.readouterr().out
    assert "effectively 8.0, at least 8 of every point" in said
    assert "nothing: -o FILE keeps the result" in said


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that takes no files")
@pytest.mark.parametrize("target", ["/proc/x.csv", "/proc/new/x.csv"])
def test_a_folder_that_takes_no_files_is_found_before_the_work(target):
    with pytest.raises(sparrot.InvalidInputError, match="cannot be made, as /proc is not writable"):
        require_writable(Path(target), TABLES)
