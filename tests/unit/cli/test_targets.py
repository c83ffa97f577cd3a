from pathlib import Path

import numpy as np
import pytest

import sparrot
from sparrot.cli.output import coordinates, write_result
from sparrot.cli.targets import (
    AFFINITIES,
    RECORDS,
    TABLES,
    require_other_file,
    require_same_cells,
    require_writable,
)


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
    require_writable(tmp_path / "X.CSV", TABLES)
    assert not (tmp_path / "new").exists()


def test_what_a_matrix_alone_cannot_hold_is_refused_with_the_reason():
    with pytest.raises(sparrot.InvalidInputError, match="all n x n entries"):
        require_writable(Path("a.npy"), AFFINITIES)
    with pytest.raises(sparrot.InvalidInputError, match="no names for the columns"):
        require_writable(Path("path.npy"), RECORDS)


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
    with pytest.raises(sparrot.InvalidInputError, match="is there and is not a whole"):
        require_same_cells(target, 30)
