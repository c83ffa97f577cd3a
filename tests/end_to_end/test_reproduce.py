import csv
import json
import subprocess
import sys

import pytest

from problems import data_folder
from sparrot.cli import main
from sparrot.cli.reproduce import table
from sparrot.paper import EXPERIMENTS, Claim, code_digest

NEED_DATA = ("digits", "single-cell", "batch-effects")


def reproduce(folder):
    command = [sys.executable, "-m", "sparrot", "reproduce", "convergence", "--quick"]
    command += ["--output", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce") / "new"
    return folder, reproduce(folder)


def test_a_table_of_claims_is_printed(run):
    _, done = run
    assert "claim" in done.stdout.splitlines()[2]
    assert done.stdout.count(" | holds") + done.stdout.count(" | does not hold") == 4
    assert "claims      " in done.stdout
    assert "peak memory" in done.stdout.splitlines()[-1]
    assert done.stderr == ""  # no bar into a pipe


def test_a_small_version_says_that_its_verdicts_are_not_the_papers(run):
    _, done = run
    assert "small version" in done.stdout.splitlines()[0]


def test_figure_numbers_and_claims_are_written(run):
    folder, _ = run
    visible = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    stem = "convergence-quick"
    assert visible == [f"{stem}-steps.csv", f"{stem}.json", f"{stem}.pdf", f"{stem}.png"]
    said = json.loads((folder / f"{stem}.json").read_text())
    assert said["parameters"]["sizes"] == [100, 250]
    assert said["code"] == code_digest()  # what made it
    with (folder / f"{stem}-steps.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{k: str(v) for k, v in row.items()} for row in said["numbers"]["steps"]]
    assert len(said["claims"]) == 4
    assert (folder / f"{stem}.png").stat().st_size > 20_000


def test_a_second_run_does_no_work_and_says_the_same(run):
    folder, done = run
    units = {path: path.stat().st_mtime_ns for path in folder.glob(".units/*/*.json")}
    again = reproduce(folder)
    assert len(units) == 6
    assert {path: path.stat().st_mtime_ns for path in folder.glob(".units/*/*.json")} == units
    assert again.stderr == ""
    assert again.stdout.splitlines()[:10] == done.stdout.splitlines()[:10]


def test_json_has_the_claims_and_quiet_says_nothing(run, capsys):
    asked = ["reproduce", "convergence", "--quick", "--output", str(run[0])]
    assert main([*asked, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    claims = facts["experiments"]["convergence"]["claims"]
    assert facts["hold"] + facts["do_not_hold"] == len(claims) == 4
    assert facts["quick"] is True
    assert facts["seconds"] > 0
    assert main([*asked, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_units_are_told_to_those_who_ask(tmp_path, capsys):
    asked = ["reproduce", "convergence", "--quick", "--output", str(tmp_path), "--jobs", "1"]
    assert main([*asked, "-v"]) == 0
    assert "sparrot: convergence: 6 of 6 units (" in capsys.readouterr().err


def test_an_unknown_experiment_is_refused_with_the_names(capsys):
    with pytest.raises(SystemExit) as refused:
        main(["reproduce", "spirall"])
    assert refused.value.code == 2
    assert "spiral-dimensions" in capsys.readouterr().err


def test_a_claim_that_does_not_hold_says_why():
    claim = Claim("all swans are white " * 5, "white", "one is black", "no other", False, "seen")
    lines = list(table([claim]))
    assert any("does not hold" in line for line in lines)
    assert any("note: seen" in line for line in lines)
    assert max(map(len, lines)) <= 112


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All experiments in their small versions; those without data are left out."""
    folder = tmp_path_factory.mktemp("all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARROT_DATA", str(data_folder() or folder / "nowhere"))
        patch.setattr("sparrot.datasets._digits.fetch_openml", refuse)
        main(["reproduce", "all", "--quick", "--output", str(folder), "--jobs", "2"])
    return folder


def refuse(*args, **kwargs):
    raise OSError("no network in tests")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_everything_is_reproduced_by_one_command(everything, name):
    path = everything / f"{name}-quick.json"
    if not path.exists() and data_folder() is None and name in NEED_DATA:
        pytest.skip("no data folder; set SPARROT_DATA")
    said = json.loads(path.read_text())
    assert said["experiment"] == name
    assert all(claim["reason"] for claim in said["claims"] if claim["holds"] is False)
    figures = [f for f in everything.glob(f"{name}-quick*.png") if f.stat().st_size > 10_000]
    assert figures
    assert all(figure.with_suffix(".pdf").stat().st_size > 5000 for figure in figures)
