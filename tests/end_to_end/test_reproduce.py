import csv
import json
import subprocess
import sys

import pytest

from sparrot.cli import main
from sparrot.cli.claims import table
from sparrot.experiments.frame import Claim


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
    assert done.stdout.count(" | holds") + done.stdout.count(" | does not hold") == 3
    assert "claims      " in done.stdout
    assert "peak memory" in done.stdout.splitlines()[-1]
    assert done.stderr == ""  # no bar into a pipe


def test_figure_numbers_and_claims_are_written(run):
    folder, _ = run
    visible = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    stem = "convergence-quick"
    assert visible == [f"{stem}-steps.csv", f"{stem}.json", f"{stem}.pdf", f"{stem}.png"]
    said = json.loads((folder / f"{stem}.json").read_text())
    assert said["parameters"]["sizes"] == [100, 250]
    with (folder / f"{stem}-steps.csv").open() as file:
        rows = [
            {"n": int(r["n"]), "solver": r["solver"], "steps": int(r["steps"])}
            for r in csv.DictReader(file)
        ]
    assert rows == said["numbers"]["steps"]
    assert len(said["claims"]) == 3
    assert (folder / f"{stem}.png").stat().st_size > 20_000


def test_a_second_run_does_no_work_and_says_the_same(run):
    folder, done = run
    units = {path: path.stat().st_mtime_ns for path in folder.glob(".units/*/*.json")}
    again = reproduce(folder)
    assert len(units) == 4
    assert {path: path.stat().st_mtime_ns for path in folder.glob(".units/*/*.json")} == units
    assert again.stderr == ""
    assert again.stdout.splitlines()[:10] == done.stdout.splitlines()[:10]


def test_json_has_the_claims_and_quiet_says_nothing(run, capsys):
    asked = ["reproduce", "convergence", "--quick", "--output", str(run[0])]
    assert main([*asked, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    claims = facts["experiments"]["convergence"]["claims"]
    assert facts["hold"] + facts["do_not_hold"] == len(claims) == 3
    assert facts["quick"] is True
    assert facts["seconds"] > 0
    assert main([*asked, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_units_are_told_to_those_who_ask(tmp_path, capsys):
    asked = ["reproduce", "convergence", "--quick", "--output", str(tmp_path), "--jobs", "1"]
    assert main([*asked, "-v"]) == 0
    assert "sparrot: convergence: 4 of 4 units (" in capsys.readouterr().err


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
