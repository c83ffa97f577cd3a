import json
import subprocess
import sys
from functools import partial

import pytest

import sparrot
from sparrot.cli import main
from sparrot.paper.demo import run_demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "sparrot", "demo", "--output", str(folder / "new")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return folder / "new", done.stdout


def test_the_demo_shows_that_qot_recovers_the_curve_best(demo):
    _, output = demo
    angles = {
        line.split()[0]: float(line[34:45])
        for line in output.splitlines()
        if line.startswith(("QOT  ", "k-NN  ", "Gaussian  "))
    }
    assert list(angles) == ["QOT", "k-NN", "Gaussian"]
    assert angles["QOT"] < 0.2 < angles["k-NN"] < angles["Gaussian"]
    assert "violation 0" in output
    for part in ("1,000", "eps = 1 x mean cost", "a row", "components  1", "peak memory"):
        assert part in output


def test_the_demo_writes_one_whole_figure(demo):
    folder, _ = demo
    assert [path.name for path in folder.iterdir()] == ["demo.png"]
    assert (folder / "demo.png").stat().st_size > 50_000


def test_the_demo_speaks_to_programs_too(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sparrot.paper.demo.run_demo", partial(run_demo, 200, 20))
    assert main(["demo", "--output", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["n"] == 200
    assert [graph["name"] for graph in facts["graphs"]] == ["QOT", "k-NN", "Gaussian"]
    assert main(["demo", "--output", str(tmp_path), "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_errors_are_one_line_and_an_exit_code(tmp_path, capsys):
    (tmp_path / "file").write_text("not a folder")
    assert main(["demo", "--output", str(tmp_path / "file")]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("sparrot: ")
    assert complaint.count("\n") == 1


def test_a_missing_extra_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--output", str(tmp_path)]) == 2
    assert "pip install 'sparrot[plot]'" in capsys.readouterr().err


def test_an_interrupt_has_its_own_code(monkeypatch, capsys, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparrot.paper.demo.run_demo", interrupt)
    assert main(["demo", "--output", str(tmp_path)]) == 130
    assert list(tmp_path.iterdir()) == []


def test_version(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out.startswith(f"sparrot {sparrot.__version__}")
