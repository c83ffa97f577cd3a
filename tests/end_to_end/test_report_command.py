import sys

import numpy as np
import pytest

from sparrot.cli import main

X = np.random.default_rng(0).standard_normal((60, 6))


def test_points_become_a_page(tmp_path, capsys):
    np.save(tmp_path / "points.npy", X)
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "points.npy"), "--eps", "2", "-o", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("60 points, eps = 2 x mean cost")
    assert said.endswith(f"Report: {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "<title>points.npy</title>" in text
    assert "X = sparrot.read_points(" in text


def test_warnings_are_said_once(tmp_path, capsys):
    np.save(tmp_path / "two.npy", np.vstack([X, X + 1e3]))
    page = str(tmp_path / "page.html")
    assert main(["report", str(tmp_path / "two.npy"), "--eps", "0.01", "-o", page]) == 0
    said = capsys.readouterr()
    assert said.out.count("warning: the graph has") == 1
    assert said.err == ""


def test_cells_come_with_their_names_columns_and_layouts(tmp_path):
    anndata = pytest.importorskip("anndata", reason="pip install 'sparrot[scanpy]'")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"type": ["a<b", "c"] * 30}, index=[f"cell{i}" for i in range(60)])
    data = anndata.AnnData(X=np.ones((60, 3)), obs=obs, obsm={"X_pca": X, "X_umap": X[:, :2]})
    data.write_h5ad(tmp_path / "cells.h5ad")
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "cells.h5ad"), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    for part in (
        "60 points in 6 dimensions",
        '"cell59"',
        '"a\\u003cb"',
        '"X_umap"',
        "array='obsm/X_pca'",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["points.npy", "--eps", "-1"], "eps must be positive"),
        (["points.npy", "--array", "X"], "array= is for .npz and .h5ad files"),
        (["points.txt"], "points are read from .npy .npz"),
        (["missing.npy"], "no file"),
        (["broken.npy"], "not a whole .npy file"),
    ],
)
def test_errors_are_one_line_and_leave_no_page(tmp_path, monkeypatch, capsys, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", X)
    (tmp_path / "broken.npy").write_bytes(b"no array")
    assert main(["report", *arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_cells_without_anndata_name_the_extra(tmp_path, monkeypatch, capsys):
    (tmp_path / "cells.h5ad").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "anndata", None)
    assert main(["report", str(tmp_path / "cells.h5ad")]) == 2
    assert "pip install 'sparrot[scanpy]'" in capsys.readouterr().err
