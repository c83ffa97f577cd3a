"""A disk that is full, by a limit on the size of files: an error, and the old file stays."""

import anndata
import numpy as np
import pytest

import sparrot
from hostile.processes import room_for
from sparrot.cli import main
from sparrot.cli._output import AFFINITIES, FIGURES, TABLES

RNG = np.random.default_rng(0)
COMMANDS = {
    f"{command} {suffix}": (command, suffix)
    for command, suffixes in {"affinity": AFFINITIES, "embed": TABLES}.items()
    for suffix in suffixes
}


@pytest.fixture
def points(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, RNG.standard_normal((300, 3)))
    return path


def refused(arguments, target, room, capsys):
    """Run a command without room for its file; nothing must change but a line on stderr."""
    folder, before = target.parent, target.read_bytes() if target.exists() else None
    with room_for(room):
        code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    assert code == 2, said.err
    assert said.err.count("\n") == 1
    assert str(target) in said.err
    assert "written" not in said.out
    assert (target.read_bytes() if target.exists() else None) == before
    assert not list(folder.glob(".*"))


# NumPy 1.26 leaves an archive that it could not write to the garbage collector, who tries again.
@pytest.mark.filterwarnings(r"ignore:Exception ignored in. <function ZipFile\.__del__")
@pytest.mark.parametrize(("command", "suffix"), COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("room", [100, 2000])
def test_a_result_that_does_not_fit_is_an_error_and_the_old_file_stays(
    command, suffix, room, points, tmp_path, capsys
):
    target = tmp_path / "results" / f"a{suffix}"
    target.parent.mkdir()
    asked = [command, points, "-o", target, "-q"]
    refused(asked, target, room, capsys)
    if suffix == ".h5ad":
        anndata.AnnData(np.load(points)).write_h5ad(target)
    else:
        target.write_text("old")
    refused(asked, target, room, capsys)


@pytest.mark.parametrize("suffix", FIGURES)
def test_a_figure_that_does_not_fit_takes_the_result_with_it(suffix, points, tmp_path, capsys):
    folder = tmp_path / "results"
    folder.mkdir()
    target = folder / f"a{suffix}"
    asked = ["cluster", points, "-q", "--clusters", 2, "-o", folder / "a.npy", "--plot", target]
    refused(asked, target, 3000, capsys)  # enough for 300 labels
    assert list(folder.iterdir()) == []


def test_a_report_that_does_not_fit_is_an_error(points, tmp_path, capsys):
    target = tmp_path / "results" / "report.html"
    target.parent.mkdir()
    target.write_text("old")
    refused(["report", points, "-o", target, "-q"], target, 5000, capsys)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # h5py's
@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
def test_save_without_room_is_an_error_and_the_old_file_stays(suffix, points, tmp_path):
    target = tmp_path / f"a{suffix}"
    X = np.load(points)
    sparrot.save(sparrot.qot(X[:50]), target)
    before = target.read_bytes()
    with room_for(1000), pytest.raises((OSError, sparrot.errors.SparrotError)):
        sparrot.save(sparrot.qot(X[:50], perplexity=20), target)
    assert target.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == sorted([points, target])
