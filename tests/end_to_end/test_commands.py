"""Every command on every kind of file, what it prints, and what it leaves behind."""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

import sparrot
from sparrot.cli import main
from sparrot.engine import ProgressBar
from sparrot.layout._tsne import tsne_layout
from sparrot.ot._checkpoint import Checkpoint

X = sparrot.datasets.make_mixture(30, 5, spread=(0.1, 0.2, 0.3)).X
SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet", ".h5ad", ".mtx")
CLUSTERS = dict.fromkeys(("affinity", "embed", "path", "report"), ()) | {
    "cluster": ("--clusters", 2)
}
FACTS = {"n", "relative_eps", "neighbors", "components", "certificate", "seconds", "peak_memory"}


def write_points(path: Path) -> Path:
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".npz":
        np.savez(path, X=X)
    elif path.suffix in (".csv", ".tsv"):
        np.savetxt(path, X, delimiter="," if path.suffix == ".csv" else "\t", fmt="%.17g")
    elif path.suffix == ".parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pandas.DataFrame(X, columns=list("abcde")).to_parquet(path)
    elif path.suffix == ".h5ad":
        pytest.importorskip("anndata").AnnData(X).write_h5ad(path)
    else:
        mmwrite(path, coo_array(X), precision=17)
    return path


@pytest.fixture
def points(tmp_path):
    return write_points(tmp_path / "points.npy")


def told(capsys, *arguments) -> dict:
    """The JSON of a command that goes well."""
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_gives_the_same_affinity(suffix, tmp_path, capsys):
    file = write_points(tmp_path / f"points{suffix}")
    output = tmp_path / "affinity.npz"
    facts = told(capsys, "affinity", file, "--perplexity", "10", "-o", output)
    expected = sparrot.qot(X, perplexity=10, min_neighbors=5)
    assert abs(sparrot.load(output).matrix - expected.matrix).max() < 1e-9
    assert facts.keys() >= FACTS
    assert facts["n"] == 90
    assert facts["certificate"]["marginal_error"] <= 1e-8
    assert facts["written"] == [str(output)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["affinity.npz", file.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("command", ["embed", "cluster", "path", "info"])
def test_every_command_takes_every_kind_of_file(command, suffix, tmp_path, capsys):
    file = write_points(tmp_path / f"points{suffix}")
    assert told(capsys, command, file)["n"] == 90


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_tsne_takes_and_writes_every_kind_of_file(suffix, tmp_path, capsys, monkeypatch):
    pytest.importorskip("openTSNE")
    short = partial(tsne_layout, n_iter=5, early_exaggeration_iter=5)
    monkeypatch.setattr("sparrot.layout._tsne.tsne_layout", short)
    file, output = write_points(tmp_path / f"points{suffix}"), tmp_path / f"layout{suffix}"
    facts = told(capsys, "tsne", file, "-o", output)
    assert facts["perplexity"] == pytest.approx(30, rel=0.01)
    array = "obsm/X_tsne" if suffix == ".h5ad" else None
    assert sparrot.read_points(output, array=array).shape == (90, 2)


@pytest.mark.parametrize("kind", ["qot", "eot", "tsallis"])
@pytest.mark.parametrize("n", [25, 8])
def test_tsne_of_few_points_takes_the_scale_of_the_function(kind, n, tmp_path, capsys, monkeypatch):
    pytest.importorskip("openTSNE")
    seen = []

    def short(W, **options):
        seen.append(W)
        return tsne_layout(W, n_iter=5, early_exaggeration_iter=5, **options)

    monkeypatch.setattr("sparrot.layout._tsne.tsne_layout", short)
    np.save(tmp_path / "few.npy", X[:n])
    assert told(capsys, "tsne", tmp_path / "few.npy", "--kind", kind)["n"] == n
    layout = sparrot.tsne(X[:n], kind=kind, n_iter=5, early_exaggeration_iter=5)
    W = csr_array(seen[0])
    assert abs(W / W.sum() - layout.affinities.P).max() < 1e-12


def test_threads_are_no_question_of_what_the_file_holds(tmp_path, capsys, monkeypatch):
    pytest.importorskip("openTSNE")
    seen = []

    def short(W, **options):
        seen.append(options["n_jobs"])
        return tsne_layout(W, n_iter=5, early_exaggeration_iter=5, **options)

    monkeypatch.setattr("sparrot.layout._tsne.tsne_layout", short)
    sparrot.save(sparrot.qot(X, perplexity=10), tmp_path / "a.npz")
    write_points(tmp_path / "points.npy")
    told(capsys, "tsne", tmp_path / "a.npz", "--jobs", "2")
    told(capsys, "tsne", tmp_path / "points.npy", "--kind", "gaussian", "--jobs", "2")
    told(capsys, "tsne", tmp_path / "a.npz")
    assert seen == [2, 2, 1]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("qot", ["--eps", "connected"]),
        ("eot", ["--eps", "0.1", "--drop", "0.001"]),
        ("tsallis", ["--eps", "0.5", "--q", "0.3"]),
        ("knn", ["--neighbors", "7", "--jobs", "1"]),
        ("gaussian", ["--eps", "0.2"]),
        ("gaussian_l2", ["--eps", "0.2", "--tol", "1e-7"]),
        ("epanechnikov", ["--eps", "0.2"]),
        ("magic", ["--neighbors", "4"]),
    ],
)
def test_every_kind_of_affinity_is_what_its_function_gives(kind, options, points, capsys, tmp_path):
    names = {"--neighbors": "n_neighbors", "--jobs": "n_jobs"}
    given = {
        names.get(flag, flag[2:]): value if value == "connected" else json.loads(value)
        for flag, value in zip(options[::2], options[1::2], strict=True)
    }
    if kind.startswith("gaussian"):
        given["bandwidth"] = given.pop("eps")
    expected = getattr(sparrot, kind)(X, **given)
    output = tmp_path / "affinity.npz"
    facts = told(capsys, "affinity", points, "--kind", kind, *options, "-o", output)
    assert facts["kind"] == expected.kind
    assert abs(sparrot.load(output).matrix - expected.matrix).max() == 0


def test_an_affinity_serves_several_commands(points, tmp_path, capsys):
    affinity, cells = tmp_path / "a.npz", tmp_path / "a.h5ad"
    assert main(["affinity", str(points), "--perplexity", "10", "-o", str(affinity)]) == 0
    assert main(["affinity", str(points), "--perplexity", "10", "-o", str(cells)]) == 0
    capsys.readouterr()
    labels = tmp_path / "labels.npy"
    qot = sparrot.QOT(perplexity=10, min_neighbors=5)
    model = sparrot.SpectralClustering(3, affinity=qot).fit(X)
    for file in (affinity, cells):
        sizes = told(capsys, "cluster", file, "--clusters", 3, "-o", labels)["sizes"]
        assert np.array_equal(np.load(labels), model.labels_)
        assert sizes == np.bincount(model.labels_).tolist()
        assert told(capsys, "info", file)["perplexity"] == pytest.approx(10, rel=0.01)
        assert main(["embed", str(file), "--eps", "2"]) == 2
        complaint = f"--eps is for making an affinity, and {file} is one already"
        assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("command", ["affinity", "embed", "cluster", "tsne", "path", "report"])
def test_every_point_has_five_neighbors_unless_it_is_switched_off(
    command, points, tmp_path, capsys, monkeypatch
):
    if command == "tsne":
        pytest.importorskip("openTSNE")
        quick = partial(tsne_layout, n_iter=5, early_exaggeration_iter=5)
        monkeypatch.setattr("sparrot.layout._tsne.tsne_layout", quick)
    monkeypatch.chdir(tmp_path)
    scale = ["--perplexity", "12"]
    assert told(capsys, command, points, *scale)["min_neighbors"] == 5
    assert told(capsys, command, points, *scale, "--min-neighbors", 7)["min_neighbors"] == 7
    assert told(capsys, command, points, *scale, "--min-neighbors", 0)["min_neighbors"] is None
    assert main([command, str(points), *scale]) == 0
    effective = r"a row, effectively \d+\.\d"
    assert re.search(rf"{effective}, at least 5 of every point \(per", capsys.readouterr().out)
    assert main([command, str(points), *scale, "--min-neighbors", "0"]) == 0
    assert re.search(rf"{effective} \(per", capsys.readouterr().out)


@pytest.mark.parametrize("command", ["affinity", "path"])
def test_a_default_eps_by_the_median_cost_says_so(command, points, tmp_path, capsys):
    why, outlier = "(1 x the median cost: outliers inflate the mean)", tmp_path / "outlier.npy"
    np.save(outlier, np.vstack([X, X[:1] + 1000]))
    asked = [command, str(outlier)]
    for more, said in (([], True), (["--eps", "auto"], True), (["--perplexity", "9"], False)):
        assert main([*asked, *more]) == 0
        assert (why in capsys.readouterr().out) == said
    assert main([command, str(points)]) == 0
    assert "eps = 1 x mean cost\n" in capsys.readouterr().out


def write_far_clusters(path):
    np.save(path, np.vstack([X, X[:40] + 50, X[:2] + 400]))
    return path


@pytest.mark.parametrize("command", ["affinity", "embed", "cluster", "path", "report"])
def test_pieces_are_one_warning_with_the_same_remedies(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    far = write_far_clusters(tmp_path / "far.npy")
    facts = told(capsys, command, far, "--eps", 3e-5, "--min-neighbors", 0, *CLUSTERS[command])
    (warning,) = facts["warnings"]
    assert " components" in warning
    assert (
        "give every point at least 5 effective neighbors, with QOT by --min-neighbors 5" in warning
    )
    assert "or take a larger --perplexity" in warning
    assert "connected" not in warning  # for these pieces may be clusters
    assert ("by itself by --pieces each" in warning) == (command == "embed")
    assert "components=" not in warning  # there is no such flag


def test_the_largest_piece_is_mapped_and_one_warning_says_so(tmp_path, capsys):
    source, target = tmp_path / "far.csv", tmp_path / "map.csv"
    kinds = ["near"] * 90 + ["far"] * 3
    rows = np.vstack([X, X[:3] + 1e3]).tolist()
    lines = [",".join(map(str, [*row, kind])) for row, kind in zip(rows, kinds, strict=True)]
    source.write_text("\n".join(["a,b,c,d,e,kind", *lines]))
    figure = tmp_path / "map.png"
    asked = ("embed", source, "--eps", 1e-4, "--min-neighbors", 2, "--label", "kind")
    facts = told(capsys, *asked, "-o", target, "--plot", figure)
    (warning,) = facts["warnings"]
    assert "3 of 93 points are outside the largest of 2 components" in warning
    Y = np.genfromtxt(target, delimiter=",", skip_header=1)
    alone = sparrot.Eigenmaps(affinity="precomputed").fit_transform(
        sparrot.load(
            told(capsys, "affinity", *asked[1:], "-o", tmp_path / "a.npz")["written"][0]
        ).matrix[:90, :90]
    )
    assert np.isnan(Y[90:]).all()
    assert np.allclose(np.abs(Y[:90]), np.abs(alone), atol=1e-6)
    assert figure.stat().st_size > 1000
    anew = "(options of an affinity are for making it anew, by `sparrot affinity`)"
    assert not warning.endswith(anew)
    (stored,) = told(capsys, "embed", tmp_path / "a.npz", "-o", tmp_path / "b.csv")["warnings"]
    assert stored.endswith(anew)
    assert not told(capsys, *asked, "--pieces", "each", "-o", target)["warnings"]
    assert np.isfinite(np.genfromtxt(target, delimiter=",", skip_header=1)).all()


def test_cells_of_many_genes_without_components_are_told(tmp_path, capsys):
    cells, target = tmp_path / "cells.h5ad", tmp_path / "a.npz"
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(np.random.default_rng(0).standard_normal((60, 51))).write_h5ad(cells)
    (warning,) = told(capsys, "affinity", cells, "-o", target)["warnings"]
    assert warning.startswith(f"{cells} has no obsm/X_pca: the points are all 51 columns of X")
    assert warning.endswith("give --pca 50, or --array X if the columns are meant")
    for meant in (("--array", "X"), ("--pca", 50)):
        assert not told(capsys, "affinity", cells, *meant, "-o", target)["warnings"]


def test_pieces_that_lie_upon_each_other_have_colors(tmp_path, capsys, monkeypatch):
    source, drawn = tmp_path / "pieces.npy", []
    np.save(source, np.concatenate([X[:30], X[:20] + 1e4]))
    keep = lambda ax, path: (drawn.append(ax), path.write_text(""))  # noqa: E731
    monkeypatch.setattr("sparrot.cli._output._save_figure", keep)
    own, first = "every piece has coordinates of its own", "largest of 2 pieces: 30 of 50 points"
    for pieces in ("each", "largest"):
        figure = tmp_path / "a.png"
        assert main(["embed", str(source), "--pieces", pieces, "--plot", str(figure)]) == 0
        assert (own in capsys.readouterr().out) == (pieces == "each")
    assert [ax.get_title() for ax in drawn] == [own, first]
    each, largest = (ax.get_legend() for ax in drawn)
    assert each.get_title().get_text() == "piece"
    assert [text.get_text() for text in each.get_texts()] == ["1", "2"]
    assert largest is None


@pytest.mark.parametrize("label", ["kind", "height"])
def test_a_label_has_one_color_whichever_pieces_are_mapped(label, tmp_path, capsys, monkeypatch):
    source, drawn = tmp_path / "pieces.csv", []
    rows = np.concatenate([X[:20] + 1e4, X[:30]]).tolist()
    kinds = ["a"] * 20 + ["b", "c"] * 15
    lines = [",".join(map(str, [*row, kinds[k], k / 2])) for k, row in enumerate(rows)]
    source.write_text("\n".join(["v,w,x,y,z,kind,height", *lines]))
    keep = lambda ax, path: (drawn.append(ax), path.write_text(""))  # noqa: E731
    monkeypatch.setattr("sparrot.cli._output._save_figure", keep)
    for pieces in ("each", "largest"):
        asked = ("embed", source, "--without", "kind", "--label", label, "--pieces", pieces)
        told(capsys, *asked, "--plot", tmp_path / "a.png")
        drawn[-1].figure.draw_without_rendering()
    each, largest = (ax.collections[0].get_facecolors() for ax in drawn)
    assert np.array_equal(each[20:], largest[-30:])
    if label == "kind":
        assert [text.get_text() for text in drawn[1].get_legend().get_texts()] == ["a", "b", "c"]


def test_clusters_say_how_many_were_chosen_and_that_the_graph_is_in_pieces(tmp_path, capsys):
    source = tmp_path / "pieces.npy"
    np.save(source, np.concatenate([X[:20] + 1e4, X[:30]]))
    assert main(["cluster", str(source)]) == 0
    out, err = capsys.readouterr()
    assert "clusters    2 (chosen by the largest of 9 eigengaps, " in out
    assert "; --clusters K for another), of " in out
    assert "components  2, of 30, 20 points; every cluster is within one of them" in out
    assert err == ""  # pieces are no fault for clusters
    assert main(["cluster", str(source), "--clusters", "2"]) == 0
    assert "clusters    2, of " in capsys.readouterr().out


def test_labels_color_figures_and_are_no_part_of_the_points(tmp_path, capsys, monkeypatch):
    source, drawn = tmp_path / "kinds.csv", []
    kinds = np.repeat(["a", "b", "c"], 30)
    lines = [",".join(map(str, [*row, kind])) for row, kind in zip(X.tolist(), kinds, strict=True)]
    source.write_text("\n".join(["v,w,x,y,z,kind", *lines]))
    keep = lambda axes, path: (drawn.append(np.ravel(axes)[0]), path.write_text(""))  # noqa: E731
    monkeypatch.setattr("sparrot.cli._output._save_figure", keep)
    figure = ("--eps", 20, "--plot", tmp_path / "a.png")
    facts = told(capsys, "embed", source, "--label", "kind", *figure)
    assert facts["warnings"] == []
    assert [text.get_text() for text in drawn[0].get_legend().get_texts()] == ["a", "b", "c"]
    assert drawn[0].get_xlabel() == "eigenmap coordinate 1"
    told(capsys, "embed", source, "--method", "diffusion", *figure)
    assert drawn[1].get_ylabel() == "diffusion component 2"
    assert drawn[1].get_legend() is None
    told(capsys, "affinity", source, "--label", "kind", *figure)
    assert [text.get_text() for text in drawn[2].texts] == ["a", "b", "c"]
    told(capsys, "affinity", source, *figure)
    assert drawn[3].texts[0].get_text() == "cluster 0"
    page = tmp_path / "page.html"
    told(capsys, "report", source, "--label", "kind", "-o", page)
    assert "sparrot.read_labels(" in page.read_text()
    told(capsys, "affinity", source, "--label", "v", *figure)
    assert not drawn[4].texts  # numbers have an order, and no blocks
    assert main(["affinity", str(source), "--label", "kind"]) == 0
    assert "90 in 5 dimensions, without the labels kind" in capsys.readouterr().out


def test_labels_of_cells_color_a_stored_affinity_too(tmp_path, capsys, monkeypatch):
    anndata = pytest.importorskip("anndata")
    cells, colors, figure = tmp_path / "cells.h5ad", [], tmp_path / "a.png"
    obs = {"day": np.arange(90), "kind": np.repeat(["a", "b", "c"], 30)}
    anndata.AnnData(X, obs=obs).write_h5ad(cells)
    told(capsys, "affinity", cells, "--eps", 20, "-o", cells)
    keep = lambda axes, path: (colors.append(axes.get_legend()), path.write_text(""))  # noqa: E731
    monkeypatch.setattr("sparrot.cli._output._save_figure", keep)
    told(capsys, "embed", cells, "--affinity", "sparrot", "--label", "kind", "--plot", figure)
    assert [text.get_text() for text in colors[0].get_texts()] == ["a", "b", "c"]
    assert main(["embed", str(cells), "--label", "kind"]) == 2  # which does not choose the points
    assert "holds points, and affinities" in capsys.readouterr().err
    page = tmp_path / "page.html"
    told(capsys, "report", cells, "--label", "kind", "-o", page)
    assert page.read_text().index('{"name":"kind"') < page.read_text().index('{"name":"day"')


def test_labels_in_another_file_color_an_affinity(tmp_path, capsys, monkeypatch):
    table, affinity, points = (tmp_path / name for name in ("kinds.csv", "a.npz", "points.npy"))
    table.write_text("\n".join(["kind", *np.repeat(["a", "b", "c"], 30)]))
    np.save(points, X)
    told(capsys, "affinity", points, "--eps", 20, "-o", affinity)
    colors, figure = [], ("--plot", tmp_path / "a.png")
    keep = lambda axes, path: (colors.append(axes.get_legend()), path.write_text(""))  # noqa: E731
    monkeypatch.setattr("sparrot.cli._output._save_figure", keep)
    asked = ("--label", "kind", "--labels-in", table)
    told(capsys, "embed", affinity, *asked, *figure)
    assert main(["embed", str(points), *map(str, asked), "--eps", "20", *map(str, figure)]) == 0
    assert "90 in 5 dimensions\n" in capsys.readouterr().out
    for legend in colors:
        assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
    short, before = tmp_path / "short.csv", table.read_text()
    short.write_text("kind\na\nb\n")
    for file, wrong, message in [
        (affinity, ["--label", "kind"], "name the table that has it by --labels-in"),
        (points, ["--label", "kind"], "name the table that has it by --labels-in"),
        (affinity, ["--labels-in", table], "name it by --label"),
        (affinity, ["--label", "kind", "--labels-in", short], "2 rows, and there are 90 points"),
        (
            affinity,
            ["--label", "kind", "--labels-in", tmp_path / "no.csv"],
            "--labels-in is no file",
        ),
        (table, asked, "--labels-in is for files without columns"),
        (affinity, [*asked, "-o", table], "is the input, and would be lost"),
    ]:
        assert main(["embed", str(file), *map(str, wrong)]) == 2
        assert message in capsys.readouterr().err
    assert table.read_text() == before


def test_an_affinity_in_pieces_that_has_a_floor_needs_a_larger_one(tmp_path, capsys):
    far, a = write_far_clusters(tmp_path / "far.npy"), tmp_path / "a.npz"
    assert told(capsys, "affinity", far, "--eps", 3e-5, "-o", a)["components"] == 4
    (warning,) = told(capsys, "embed", a)["warnings"]
    assert "raise the floor, --min-neighbors or --neighbors, or take" in warning
    assert not told(capsys, "cluster", a, "--clusters", 4)["warnings"]  # they are the clusters


@pytest.mark.parametrize("command", ["affinity", "embed", "cluster", "path", "report"])
def test_every_point_has_as_many_neighbors_as_were_asked_for(
    command, points, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    facts = told(capsys, command, points, "--neighbors", 7)
    assert facts["min_neighbors"] == 7
    expected = sparrot.qot(X, n_neighbors=7)
    assert facts["relative_eps"] == pytest.approx(expected.relative_eps)
    assert facts["perplexity"] == pytest.approx(expected.perplexity, rel=1e-6)
    assert 0 < facts["certificate"]["complementarity"] <= 1e-8
    assert main([command, str(points), "--neighbors", "7"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"marginal error \S+, floor violation \S+, complementarity \S+, viol", said)
    assert main([command, str(points), "--min-neighbors", "0"]) == 0
    assert "complementarity" not in capsys.readouterr().out


def test_without_a_floor_an_affinity_is_the_papers(points, tmp_path, capsys):
    output = tmp_path / "a.npz"
    told(capsys, "affinity", points, "--min-neighbors", 0, "-o", output)
    assert (sparrot.load(output).matrix != sparrot.qot(X).matrix).nnz == 0
    told(capsys, "affinity", points, "-o", output)
    assert sparrot.load(output).min_neighbors.min() == 5


@pytest.mark.parametrize("command", ["embed", "cluster"])
def test_an_affinity_of_other_points_does_not_touch_a_file_of_cells(command, tmp_path, capsys):
    cells, affinity = write_points(tmp_path / "cells.h5ad"), tmp_path / "a.npz"
    sparrot.save(sparrot.qot(X[:50]), affinity)
    before = cells.read_bytes()
    assert main([command, str(affinity), "-o", str(cells)]) == 2
    assert "has 90 cells, and there are 50 points" in capsys.readouterr().err
    assert cells.read_bytes() == before


def test_a_file_with_points_and_an_affinity_leaves_the_choice_to_the_user(tmp_path, capsys):
    cells = write_points(tmp_path / "cells.h5ad")
    for _ in range(2):  # making it anew needs no choice
        assert told(capsys, "affinity", cells, "--perplexity", "10", "-o", cells)["n"] == 90
    assert main(["cluster", str(cells)]) == 2
    assert (
        "holds points, and affinities under the keys: sparrot; name one of these by --affinity, or "
        "make one of the points by --array X"
    ) in capsys.readouterr().err
    ten = pytest.approx(10, rel=0.01)
    assert told(capsys, "cluster", cells, "--affinity", "sparrot")["perplexity"] == ten
    assert told(capsys, "info", cells, "--affinity", "sparrot")["perplexity"] == ten
    assert told(capsys, "cluster", cells, "--array", "X")["relative_eps"] == 1
    assert told(capsys, "cluster", cells, "--eps", "2")["relative_eps"] == 2
    facts = told(capsys, "info", cells)
    assert (facts["arrays"], facts["affinities"]) == (["X"], ["sparrot"])
    assert main(["info", str(cells)]) == 0
    assert "90 in 5 dimensions, from X" in capsys.readouterr().out
    assert main(["embed", str(cells), "--affinity", "sparrot", "--eps", "2"]) == 2
    assert "--eps is for making an affinity" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "use_rep", "known"),
    [
        ((), "X_pca", True),
        (("--kind", "gaussian"), "X_pca", True),
        (("--array", "X"), "X", True),
        (("--array", "layers/raw"), "X", False),
        (("--pca", 3), "X", False),
        (("--standardize",), "X", False),
    ],
)
def test_a_graph_says_which_array_of_its_file_it_is_of(options, use_rep, known, tmp_path, capsys):
    anndata = pytest.importorskip("anndata")
    cells, wide = tmp_path / "cells.h5ad", np.hstack([X, np.ones((90, 60))])
    anndata.AnnData(wide, obsm={"X_pca": X}, layers={"raw": wide}).write_h5ad(cells)
    told(capsys, "affinity", cells, *options, "-o", cells)
    adata = anndata.read_h5ad(cells)
    assert adata.uns["sparrot"]["params"]["use_rep"] == use_rep
    D = adata.obsp["sparrot_distances"]
    i = np.repeat(np.arange(90), np.diff(D.indptr))
    distances = np.linalg.norm(X[i] - X[D.indices], axis=1)
    assert np.allclose(D.data, distances, rtol=1e-6) == known


def test_an_affinity_stays_the_input_when_coordinates_are_added_to_its_file(tmp_path, capsys):
    cells = tmp_path / "a.h5ad"
    sparrot.save(sparrot.qot(X, perplexity=10), cells)
    for _ in range(2):
        facts = told(capsys, "embed", cells, "--pieces", "each", "-o", cells)
        assert facts["perplexity"] == pytest.approx(10, rel=0.01)
    assert told(capsys, "affinity", cells, "--array", "obsm/X_eigenmaps")["relative_eps"] == 1


def test_as_many_clusters_as_can_be_are_drawn_too(points, tmp_path):
    labels, figure = tmp_path / "labels.csv", tmp_path / "labels.png"
    asked = ["cluster", points, "--eps", "50", "--clusters", "89", "-o", labels, "--plot", figure]
    assert main([*map(str, asked), "-q"]) == 0
    assert len(labels.read_text().split()) == 91
    assert figure.exists()


PAGE = Path(__file__).parents[2] / "docs" / "guide" / "command_line.md"


@pytest.mark.parametrize("command", ["affinity", "embed", "cluster", "path"])
def test_results_go_where_the_page_says(command, points, tmp_path, capsys):
    rows = [line.split("|")[1:-1] for line in PAGE.read_text().splitlines() if line[:1] == "|"]
    (said,) = (row[1:] for row in rows if f"`{command}`" in row[0])
    for suffixes, entry in zip(rows[0][1:], said, strict=True):
        for suffix in re.findall(r"[.]\w+", suffixes):
            output = tmp_path / f"result{suffix}"
            code = main([command, str(points), "-o", str(output), "-q"])
            refused = entry.strip().startswith("no")
            assert (code, output.exists()) == ((2, False) if refused else (0, True))
    assert set(re.findall(r"[.]\w+", "".join(rows[0]))) == set(SUFFIXES)


def test_embeddings_are_those_of_the_estimators(points, tmp_path, capsys):
    maps = {
        "eigenmaps": sparrot.Eigenmaps(3, components="each"),
        "diffusion": sparrot.DiffusionMap(3, t=4, components="each"),
    }
    for method, model in maps.items():
        more = ["--time", "4"] if method == "diffusion" else []
        output = tmp_path / "y.csv"
        more += ["--components", 3, "--pieces", "each"]
        told(capsys, "embed", points, "--method", method, *more, "-o", output)
        assert np.array_equal(sparrot.read_points(output), model.fit_transform(X))
        assert output.read_text().startswith(f"{method}_1,{method}_2,{method}_3\n")


def test_principal_components_come_first_if_asked_for(points, capsys):
    facts = told(capsys, "affinity", points, "--pca", "2")
    assert facts["mean_cost"] < sparrot.qot(X).mean_cost
    assert main(["affinity", str(points), "--pca", "5"]) == 2
    assert "--pca must be an integer from 1 to 4" in capsys.readouterr().err


UNITS = np.column_stack([1000 * X[:, 0] + 5, X[:, 1], np.full(90, 0.1)]).astype(np.float32)


def test_columns_are_standardized_if_asked_for(tmp_path, capsys):
    np.save(tmp_path / "x.npy", UNITS)
    saved = tmp_path / "w.npz"
    facts = told(capsys, "affinity", tmp_path / "x.npy", "--standardize", "-o", saved)
    assert facts["standardized"]
    Z = UNITS.astype(np.float64)
    Z = (Z - Z.mean(axis=0)) / np.where(Z.std(axis=0) > 1e-6, Z.std(axis=0), 1)
    W = sparrot.load(saved).matrix
    assert abs(W - sparrot.qot(Z, eps="auto", min_neighbors="auto").matrix).max() < 1e-6
    assert not told(capsys, "affinity", tmp_path / "x.npy")["standardized"]
    for command in ("affinity", "embed", "cluster", "path", "tsne", "report"):
        asked = [command, str(tmp_path / "x.npy"), "--standardize", "--pca", "2"]
        more = ["-o", str(tmp_path / "page.html")] if command == "report" else []
        assert main([*asked, *more]) == 0
        line = "points      90 in 2 dimensions, standardized, principal components\n"
        assert line in capsys.readouterr().out


def test_an_affinity_of_standardized_points_is_checked_against_these(tmp_path, capsys):
    points, saved = tmp_path / "x.npy", tmp_path / "w.npz"
    np.save(points, UNITS)
    for made in (["--standardize"], ["--pca", "1"], ["--standardize", "--pca", "2"]):
        assert main(["affinity", str(points), *made, "-q", "-o", str(saved)]) == 0
        check = ["info", str(saved), "--check", str(points)]
        assert main([*check, *made]) == 0
        assert "the claim holds" in capsys.readouterr().out
    assert main(check) == 2
    assert "--names, --standardize and --pca as it was made" in capsys.readouterr().err
    assert main(["info", str(points), "--standardize"]) == 2
    assert "--standardize is for the points that an affinity was" in capsys.readouterr().err


def test_what_cannot_be_standardized_is_refused_with_what_helps(tmp_path, capsys):
    sparse, stored, costs = (tmp_path / name for name in ("a.mtx", "w.npz", "c.npy"))
    mmwrite(sparse, csr_array(X))
    assert main(["affinity", str(sparse), "--standardize"]) == 2
    line = capsys.readouterr().err
    assert "--standardize would make all of a sparse matrix of shape (90, 5) dense; write" in line
    sparrot.save(sparrot.qot(X), stored)
    assert main(["embed", str(stored), "--standardize"]) == 2
    assert "--standardize is for making an affinity" in capsys.readouterr().err
    np.save(costs, np.abs(X[:, :1] - X[:, 0]))
    assert main(["path", str(costs), "--metric", "precomputed", "--standardize"]) == 2
    assert "--standardize is for points, not for a precomputed cost" in capsys.readouterr().err


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("asked", ["--standardize", "--pca 1", "--standardize --pca 1"])
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_what_is_wrong_with_too_few_points_is_their_number(tmp_path, capsys, rows, asked, suffix):
    few, saved = tmp_path / f"few{suffix}", tmp_path / "w.npz"
    if suffix == ".npy":
        np.save(few, np.zeros((rows, 4)))
    else:
        pytest.importorskip("pyarrow")
        frame = pytest.importorskip("pandas").DataFrame(np.zeros((rows, 4)), columns=list("abcd"))
        frame.to_parquet(few)
    sparrot.save(sparrot.qot(X), saved)
    for command in (["affinity", few], ["report", few], ["info", saved, "--check", few]):
        more = ["-o", tmp_path / "page.html"] if command[0] == "report" else []
        assert main([*map(str, [*command, *more]), *asked.split()]) == 2
        line = capsys.readouterr().err
        assert f"must have at least 2 rows, got shape ({rows}, 4)" in line
        assert line.count("\n") == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", [1e200, 1e308])
def test_numbers_too_large_to_be_standardized_are_refused(tmp_path, capsys, factor):
    np.save(tmp_path / "x.npy", np.column_stack([X[:, 0], factor * np.tanh(X[:, 1])]))
    assert main(["affinity", str(tmp_path / "x.npy"), "--standardize"]) == 2
    line = capsys.readouterr().err
    assert "--standardize needs the variance of every column, and that of column 1" in line
    assert "rescale the points" in line
    assert line.count("\n") == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dtype", "factor"), [(np.float64, -1e200), (np.float32, 1e30)])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_numbers_too_large_for_principal_components_are_refused(
    tmp_path, capsys, dtype, factor, is_sparse
):
    large = (factor * np.abs(X)).astype(dtype)
    path = tmp_path / "x.npz"
    save_npz(path, csr_array(large)) if is_sparse else np.savez(path, X=large)
    assert main(["affinity", str(path), "--pca", "2"]) == 2
    line = capsys.readouterr().err
    assert line.startswith("sparrot: --pca needs squares, and those of numbers up to")
    assert line.endswith(f"overflow in {dtype.__name__}; rescale the points\n")


def test_the_path_has_a_row_for_every_eps(points, tmp_path, capsys):
    output = tmp_path / "path.csv"
    facts = told(capsys, "path", points, "--steps", "2", "--span", "9", "-o", output)
    assert [round(step["relative_eps"], 3) for step in facts["steps"]] == [0.111, 0.333, 1, 3, 9]
    rows = sparrot.read_points(output)
    assert rows.shape == (5, len(facts["steps"][0]))
    assert rows[:, 0].tolist() == [step["relative_eps"] for step in facts["steps"]]


@pytest.mark.parametrize("command", ["path", "report"])
def test_what_is_asked_of_the_solver_reaches_the_path(
    command, points, tmp_path, capsys, monkeypatch
):
    seen, original = [], sparrot.summarize

    def summarize(*points, **options):
        seen.append(options)
        return original(*points, **options)

    monkeypatch.setattr(sparrot, "summarize", summarize)
    asked = [command, points, "-o", tmp_path / ("r.html" if command == "report" else "r.csv")]
    told(capsys, *asked, "--search", "auto", "--max-iter", "200")
    assert (seen[0]["search"], seen[0]["max_iter"]) == ("auto", 200)
    assert main([*map(str, asked), "--max-iter", "1"]) == 3
    assert "raise --max-iter or --tol" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["affinity", "embed", "cluster", "path"])
def test_plots_are_figures(command, points, tmp_path):
    for suffix, head in ((".png", b"\x89PNG"), (".pdf", b"%PDF")):
        figure = tmp_path / f"figure{suffix}"
        assert main([command, str(points), "--plot", str(figure), "-q"]) == 0
        assert figure.read_bytes().startswith(head)


def test_the_summary_says_all_and_quiet_says_nothing(points, capsys):
    assert main(["affinity", str(points)]) == 0
    said = capsys.readouterr().out
    for part in ("90 in 5 dimensions", "eps = 1 x mean cost", "a row", "components", "marginal "):
        assert part in said
    assert "all 4,005 pairs" in said
    assert "peak memory" in said
    assert main(["affinity", str(points), "--eps", "0.01", "-q"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--kind", "gaussian", "--eps", "0.5"], "gaussian, eps = 0.5 x mean cost"),
        (["--kind", "epanechnikov"], "epanechnikov, eps = 1 x mean cost"),
        (["--kind", "eot", "--drop", "0.01"], "; rows lack what --drop 0.01 left out"),
    ],
)
def test_the_summary_says_what_the_options_did(arguments, part, points, capsys):
    assert main(["affinity", str(points), *arguments]) == 0
    assert part in capsys.readouterr().out
    facts = told(capsys, "affinity", points, *arguments)
    assert facts["eps"] == pytest.approx(facts["relative_eps"] * facts["mean_cost"])


@pytest.mark.parametrize("command", ["affinity", "path"])
def test_costs_are_not_called_dimensions(command, tmp_path, capsys):
    np.save(tmp_path / "costs.npy", ((X[:, None] - X) ** 2).sum(2) / 2)
    assert main([command, str(tmp_path / "costs.npy"), "--metric", "precomputed"]) == 0
    said = capsys.readouterr().out
    assert "90 by their costs" in said
    assert "dimensions" not in said


def test_a_metric_that_is_not_known_gets_a_short_list(points, capsys):
    assert main(["affinity", str(points), "--metric", "foo"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("sparrot: --metric ")
    assert "foo" in said
    assert "'chebyshev', 'cityblock', 'correlation'" in said
    assert len(said) < 400


def test_warnings_and_the_log_are_a_line_each(points, capsys):
    assert main(["affinity", str(points), "--eps", "0.01", "-v", "--json"]) == 0
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert lines[0] == f"sparrot: read 90 points with 5 features from {points}"
    assert lines[1].startswith("sparrot: warning: the graph has ")
    assert lines[1].endswith(
        "raise the floor, --min-neighbors or --neighbors, or take a larger --perplexity"
    )
    assert len(lines) == 2
    assert json.loads(said.out)["warnings"] == [lines[1].removeprefix("sparrot: warning: ")]


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".npz"])
def test_info_counts_what_is_missing(suffix, tmp_path, capsys):
    odd = np.array([[0.0, 1, 2], [np.nan, 1, -np.inf], [5, 1, np.nan], [4, 1, 3]])
    file = tmp_path / f"odd{suffix}"
    if suffix == ".csv":
        np.savetxt(file, odd, delimiter=",")
    elif suffix == ".npy":
        np.save(file, odd.astype(np.float32))
    else:
        save_npz(file, csr_array(odd))
    facts = told(capsys, "info", file)
    assert (facts["missing"], facts["infinite"], facts["constant_features"]) == (2, 1, 1)
    assert (facts["least"], facts["most"]) == (0, 5)
    assert main(["info", str(file)]) == 0
    assert "2 missing values (NaN), 1 infinite value" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("columns", "line", "points"),
    [
        ({"cell": "abc", "kind": "uvu"}, "0 of numbers, 2 of words (cell, kind)", "none: "),
        ({"x": [1, 2, 4], "kind": "uvu"}, "1 of numbers, 1 of words (kind)", "3 in 1 dimension"),
        ({"x": [1, 2, 4], "y": [1, 2, 4.5]}, "2 of numbers", "3 in 2 dimensions"),
    ],
)
def test_info_says_what_the_columns_of_any_table_are(
    suffix, columns, line, points, tmp_path, capsys
):
    file, pandas = tmp_path / f"table{suffix}", pytest.importorskip("pandas")
    table = pandas.DataFrame({name: list(column) for name, column in columns.items()})
    if suffix == ".csv":
        table.to_csv(file, index=False)
        line = line.replace("2 of words (cell, kind)", "1 of words (kind), row names (cell)")
    else:
        pytest.importorskip("pyarrow")
        table.to_parquet(file)
    assert main(["info", str(file)]) == 0
    said = capsys.readouterr().out
    assert f"columns     {line}\n" in said
    assert f"points      {points}" in said
    assert told(capsys, "info", file)["columns"]["numbers"] == [
        name for name in columns if name in "xy"
    ]


def test_info_says_why_a_table_has_no_points(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,?\n4,5\n")
    facts = told(capsys, "info", tmp_path / "a.csv")
    assert facts["n"] is None
    assert "'?' on line 3, column 'b'" in facts["problem"]
    assert told(capsys, "info", tmp_path / "a.csv", "--without", "b")["features"] == 1


@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
@pytest.mark.parametrize("more", [[], ["--kind", "eot", "--drop", "1e-3"], ["--kind", "knn"]])
def test_info_checks_a_graph_against_its_points(suffix, more, points, tmp_path, capsys):
    graph, less = tmp_path / f"a{suffix}", tmp_path / "less.npy"
    np.save(less, np.load(points)[:, 1:])
    assert main(["affinity", str(points), "-q", "-o", str(graph), *more]) == 0
    assert main(["info", str(graph), "--check", str(points)]) == (2 if "knn" in more else 0)
    said = capsys.readouterr()
    if "knn" in more:
        assert "there is nothing to check" in said.err
        return
    assert f"check       the claim holds; computed from {points}: marginal error" in said.out
    facts = told(capsys, "info", graph, "--check", points)
    assert facts["check"]["violation"] <= 1e-9 + 1e-3 * facts["eps"] / 90
    assert main(["info", str(graph), "--check", str(less)]) == 2  # a column is missing
    said = capsys.readouterr().err
    assert f"--check {less} gives larger errors than {graph} claims: marginal error" in said
    assert "made of, in their order, or give --label, --without, --names, --standardize and" in said


def test_a_changed_graph_has_no_claim_that_could_hold(points, tmp_path, capsys):
    anndata, path = pytest.importorskip("anndata"), tmp_path / "a.h5ad"
    assert main(["affinity", str(points), "-q", "-o", str(path)]) == 0
    adata = anndata.read_h5ad(path)
    (key,) = (key for key in adata.obsp if "connectivities" in key)
    adata.obsp[key] = adata.obsp[key] * 0.5
    adata.write_h5ad(path)
    with pytest.warns(sparrot.AffinityWarning, match="its certificate no longer holds"):
        sparrot.load(path)
    assert main(["info", str(path), "--check", str(points)]) == 0
    said = capsys.readouterr().out
    assert f"check       there is no claim; computed from {points}: marginal error 5.0e-01" in said


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["affinity", "missing.npy"], 2, "FILE missing.npy does not exist; check the spelling"),
        (["affinity", "points.txt"], 2, "FILE points.txt does not exist"),
        (["affinity", "nan.csv"], 2, "drop or impute"),
        (["affinity", "points.npy", "--eps", "-1"], 2, "eps must be positive"),
        (["affinity", "points.npy", "--eps", "joined"], 2, "'connected'"),
        (["affinity", "points.npy", "--metric", "miles"], 2, "'cosine'"),
        (["affinity", "points.npy", "-o", "a.npy"], 2, "--output must end in .npz, .csv"),
        (["embed", "points.npy", "-o", "points.npy"], 2, "is the input, and would be lost"),
        (["affinity", "points.npy", "-o", "a.npz", "--checkpoint", "a.npz"], 2, "name two files"),
        (["embed", "points.npy", "--affinity", "sparrot"], 2, "--affinity is for .h5ad files"),
        (["affinity", "points.npy", "--plot", "a.npz"], 2, ".png, .pdf, .svg"),
        (["affinity", "points.npy", "--kind", "knn", "--eps", "1"], 2, "it takes --neighbors"),
        (["embed", "points.npy", "--time", "2"], 2, "--method diffusion"),
        (["embed", "points.npy", "--components", "1", "--plot", "a.png"], 2, "--components 2"),
        (["cluster", "points.npy", "--eps", "50", "--clusters", "90"], 2, "from 1 to 89"),
        (
            ["affinity", "points.npy", "--max-iter", "1", "-o", "a.npz"],
            3,
            "raise --max-iter or --tol, or",
        ),
        (["affinity", "points.npy", "--jobs", "0"], 2, "--jobs must be a nonzero integer"),
        (
            ["affinity", "points.npy", "--min-neighbors", "90"],
            2,
            "--min-neighbors must be a number from 1 to 89, which is as many neighbors as there "
            "can be, got 90; take --min-neighbors 89 at most\n",
        ),
        (
            ["path", "points.npy", "--min-neighbors", "nan"],
            2,
            "of at least 1, got nan; 5 is a good start\n",
        ),
        (
            ["embed", "points.npy", "--neighbors", "90"],
            2,
            "got 90; take --neighbors 89 at most\n",
        ),
        (["report", "points.npy", "--neighbors", "0"], 2, "--neighbors must be a number of at lea"),
        (
            ["affinity", "points.npy", "--kind", "eot", "--min-neighbors", "5"],
            2,
            "--min-neighbors is no option of the kind eot; it takes --eps, --perplexity, ",
        ),
        (
            ["cluster", "points.npy", "--perplexity", "5.2", "--min-neighbors", "5"],
            2,
            "take --neighbors 5 alone, or lower --min-neighbors, or take --perplexity ",
        ),
        (
            ["info", "points.npy", "--check", "points.npy"],
            2,
            "FILE points.npy is no stored affinity, and --check takes the points of one; name what "
            "`sparrot affinity -o` wrote, which ends in .npz or .h5ad\n",
        ),
        (["affinity", "points.npy", "--array", "X"], 2, "--array is for .npz and .h5ad files"),
        (["path", "points.npy", "--steps", "0"], 2, "--steps must be an integer"),
        (
            ["path", "points.npy", "--span", "1"],
            2,
            "--span must be more than 1 and at most 1e+06, got 1.0",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_and_a_code(
    arguments, code, complaint, points, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nan.csv").write_text("1,2\nnan,3\n")
    assert main([*arguments, "--json"]) == code
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("\n") == 1
    assert json.loads(said.out)["exit_code"] == code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nan.csv", "points.npy"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["embed", "--components", "0"], "--components must be an integer from 1 on, got 0"),
        (["embed", "--components", "89"], "--components must be an integer from 1 to 88, got 89"),
        (["cluster", "--clusters", "0"], "--clusters must be an integer from 1 on, got 0"),
        (["cluster", "--clusters", "90"], "--clusters must be an integer from 1 to 89, got 90"),
    ],
)
def test_what_the_points_cannot_give_is_known_before_the_work(
    arguments, complaint, points, monkeypatch, capsys
):
    monkeypatch.delattr("sparrot.cli._input.make_affinity")
    assert main([arguments[0], str(points), *arguments[1:]]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "n", "complaint"),
    [
        ("embed", 3, "3 points are too few for 2 coordinates; give at least 4 points, or take --c"),
        ("embed", 2, "2 points are too few for 2 coordinates; give at least 4 points\n"),
        (
            "embed --components 1",
            2,
            "2 points are too few for 1 coordinate; give at least 3 points",
        ),
        ("tsne", 2, "2 points are too few for 2 coordinates; give at least 4 points\n"),
        ("path", 2, "FILE must have at least 4 points, got 2; give more points\n"),
        ("report", 2, "FILE must have at least 4 points, got 2; give more points\n"),
    ],
)
def test_few_points_are_blamed_on_no_option(command, n, complaint, tmp_path, capsys):
    np.save(tmp_path / "few.npy", X[:n])
    name, *options = command.split()
    assert main([name, str(tmp_path / "few.npy"), *options]) == 2
    assert capsys.readouterr().err.startswith(f"sparrot: {complaint}")


@pytest.mark.parametrize("command", ["affinity", "path"])
@pytest.mark.parametrize(
    ("metric", "cost"),
    [
        ("sqeuclidean", "qot, eps"),
        ("euclidean", "qot, cost euclidean (the distance, by default half its square), eps"),
        ("cosine", "qot, cost cosine, eps"),
    ],
)
def test_the_summary_names_a_cost_that_is_not_the_default(command, metric, cost, points, capsys):
    assert main([command, str(points), "--metric", metric]) == 0
    assert f"\naffinity    {cost} = 1 x mean cost\n" in capsys.readouterr().out


def test_a_file_that_is_no_checkpoint_is_refused_and_stays(tmp_path, capsys):
    file = tmp_path / "points.npy"
    np.save(file, np.random.default_rng(0).standard_normal((2000, 3)))
    before = file.read_bytes()
    assert main(["affinity", str(file), "--checkpoint", str(file)]) == 2
    assert "points.npy is not a checkpoint of this version" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_a_fault_of_our_own_is_one_line_and_a_traceback_only_if_asked_for(
    points, monkeypatch, capsys
):
    def fail(*_, **__):
        raise TypeError("a list is no number")

    monkeypatch.setattr("sparrot.cli._input.read_affinity", fail)
    assert main(["affinity", str(points)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("sparrot: TypeError: a list is no number; this is a fault of sparrot")
    assert said.count("\n") == 1
    assert main(["affinity", str(points), "-vv"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.fixture
def reports(monkeypatch):
    """The stages that were reported, as they come."""
    seen = []
    monkeypatch.setattr(ProgressBar, "__call__", lambda _, report: seen.append(report.stage))
    return seen


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path, reports, monkeypatch, capsys):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((2000, 10)))
    checkpoint, output = tmp_path / "held", tmp_path / "a.npz"
    asked = ("affinity", tmp_path / "points.npy", "-o", output)
    fresh = told(capsys, *asked)
    matrix = sparrot.load(output).matrix
    output.unlink()
    screened = reports.count("screening")
    save = Checkpoint.save

    def save_and_interrupt(self, state):
        save(self, state)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "save", save_and_interrupt)
        assert main([*map(str, asked), "--checkpoint", str(checkpoint)]) == 130
    assert capsys.readouterr().err.endswith(
        f"interrupted; no half-written file is left; {checkpoint} holds what was found, and the "
        "same command goes on from it\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held", "points.npy"]
    reports.clear()
    assert main([*map(str, asked), "--checkpoint", str(checkpoint), "-v"]) == 0
    assert f"sparrot: going on from {checkpoint}, with " in capsys.readouterr().err
    assert reports.count("screening") < screened  # it did not begin again
    gone_on = sparrot.load(output)
    assert gone_on.eps == pytest.approx(fresh["eps"])
    assert abs(gone_on.matrix - matrix).max() < 1e-6


@pytest.fixture(scope="module")
def long_work(tmp_path_factory):
    """Points that take many seconds: no module but the command's own is slow to load."""
    file = tmp_path_factory.mktemp("long") / "points.npy"
    np.save(file, np.random.default_rng(0).standard_normal((40_000, 100)).astype(np.float32))
    return file


def start(long_work, output, **streams):
    command = [sys.executable, "-m", "sparrot", "affinity", long_work, "-o", output, "-v"]
    return subprocess.Popen(command, text=True, **streams)


@pytest.mark.posix
def test_an_interrupted_run_leaves_nothing_and_draws_no_bar_into_a_pipe(long_work, tmp_path):
    with start(long_work, tmp_path / "a.npz", stderr=subprocess.PIPE) as running:
        assert running.stderr.readline().startswith("sparrot: read 40000 points")
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
    assert running.returncode == 130
    assert rest.endswith("sparrot: interrupted; no half-written file is left\n")
    assert all(line.startswith("sparrot: ") for line in rest.splitlines())  # and no bar
    assert list(tmp_path.iterdir()) == []


@pytest.mark.posix
def test_a_terminal_gets_a_bar(long_work, tmp_path):
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    running = start(long_work, tmp_path / "a.npz", stderr=theirs)
    os.close(theirs)
    said = ""
    while "tiles" not in said:
        said += os.read(ours, 1000).decode()
    running.send_signal(signal.SIGINT)
    try:
        while chunk := os.read(ours, 1000).decode():
            said += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    assert running.wait(timeout=60) == 130
    assert re.search(r"\rscreening pass \d+, \d+/\d+ tiles", said)
    assert said.endswith("\rsparrot: interrupted; no half-written file is left\r\n")
    os.close(ours)
