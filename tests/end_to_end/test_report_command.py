import json
import sys

import numpy as np
import pytest

import sparrot
from sparrot.cli import main, parse
from sparrot.cli._input import read_points
from sparrot.cli._session import Session
from sparrot.cli.report import read_annotations

X = np.random.default_rng(0).standard_normal((60, 6))


def test_points_become_a_page(tmp_path, capsys):
    np.save(tmp_path / "points.npy", X)
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "points.npy"), "--eps", "2", "-o", str(page)]) == 0
    said = capsys.readouterr().out
    for part in ("60 in 6 dimensions", "eps = 2 x mean cost", "components  1", "violation 0"):
        assert part in said
    assert f"written     {page}\n" in said
    assert "peak memory" in said
    text = page.read_text(encoding="utf-8")
    assert "<title>points.npy</title>" in text
    assert "X = sparrot.read_points(" in text


def test_warnings_are_said_once(tmp_path, capsys):
    np.save(tmp_path / "two.npy", np.vstack([X, X + 1e3]))
    page = str(tmp_path / "page.html")
    assert main(["report", str(tmp_path / "two.npy"), "--eps", "0.01", "-o", page]) == 0
    said = capsys.readouterr()
    assert said.err.count("sparrot: warning: the graph has") == said.err.count("\n") == 1
    assert "--perplexity" in said.err
    assert "the graph has" not in said.out


def test_json_and_quiet_are_as_in_other_commands(tmp_path, capsys):
    np.save(tmp_path / "points.npy", X)
    asked = ["report", str(tmp_path / "points.npy"), "-o", str(tmp_path / "PAGE.HTML")]
    assert main([*asked, "--tol", "1e-6", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["n"], facts["components"], facts["relative_eps"]) == (60, 1, 1)
    assert facts["written"] == [str(tmp_path / "PAGE.HTML")]
    assert facts["certificate"]["marginal_error"] <= 1e-6
    assert main([*asked, "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_cells_come_with_their_names_columns_and_layouts(tmp_path):
    anndata = pytest.importorskip("anndata", reason="pip install 'sparrot[scanpy]'")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"type": ["a<b", "c"] * 30}, index=[f"cell{i}" for i in range(60)])
    data = anndata.AnnData(X=np.ones((60, 51)), obs=obs, obsm={"X_pca": X, "X_umap": X[:, :2]})
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


def test_lines_that_make_the_page_again_have_no_layouts_where_there_are_none(tmp_path):
    anndata = pytest.importorskip("anndata", reason="pip install 'sparrot[scanpy]'")
    anndata.AnnData(X).write_h5ad(tmp_path / "cells.h5ad")
    assert not any(
        "layouts" in line for line in read_annotations(tmp_path / "cells.h5ad", {"array": "X"}).load
    )
    anndata.AnnData(X, obsm={"X_umap": X[:, :2]}).write_h5ad(tmp_path / "flat.h5ad")
    given = {"header": True, "names": None, "label": "kind"}
    assert read_annotations(tmp_path / "a.csv", given, labels=["a"] * 60).load[1] == (
        f"columns = {{'kind': sparrot.read_labels({str(tmp_path / 'a.csv')!r}, header=True, "
        "label='kind')}"
    )
    line = "layouts = {key: data.obsm[key] for key in ['X_umap']}"
    assert line in read_annotations(tmp_path / "flat.h5ad", {"array": "X"}).load


def test_lines_that_make_the_page_again_prepare_the_points_as_the_command_does(tmp_path):
    np.save(tmp_path / "x.npy", (X * [1, 10, 100, 1, 1, 1]).astype(np.float32))
    options = parse(["report", str(tmp_path / "x.npy"), "--standardize", "--pca", "2"])
    with Session(options) as session:
        points = read_points(options, session)
    found = {"sparrot": sparrot}
    lines = read_annotations(tmp_path / "x.npy", {"array": None}, standardize=True, pca=2).load
    exec("\n".join(lines), found)
    assert np.array_equal(found["X"], points)
    assert points.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["points.npy", "--eps", "-1"], "eps must be positive"),
        (["points.npy", "--array", "X"], "--array is for .npz and .h5ad files"),
        (["points.txt"], "FILE points.txt does not exist"),
        (["missing.npy"], "FILE missing.npy does not exist"),
        (["broken.npy"], "not a whole .npy file"),
        (["points.npy", "--tol", "0"], "--tol must be positive"),
        (["points.npy", "-o", "."], "--output must end in .html"),
        (["points.npy", "-o", "folder.html"], "is a folder"),
    ],
)
def test_errors_are_one_line_and_leave_no_page(tmp_path, monkeypatch, capsys, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", X)
    (tmp_path / "folder.html").mkdir()
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
