"""Kills, threads and the fuzzer itself; `make fuzz` tries many more."""

import os
import subprocess
import sys

import pytest

from hostile import fuzz, processes


@pytest.mark.parametrize("seconds", [0.9, 1.6])
def test_a_run_that_was_killed_goes_on_to_the_same_plan(seconds, tmp_path):
    assert processes.killed(tmp_path, seconds) in ("killed", "done before")


@pytest.mark.parametrize("seed", range(4))
def test_calls_from_many_threads_have_the_bits_of_a_serial_call(seed):
    assert processes.same_bits(seed) == "same bits"


@pytest.mark.parametrize("suffix", [".npz", ".mtx", ".h5ad"])
def test_with_room_for_it_a_result_is_written(suffix, tmp_path):
    assert processes.full_disk(tmp_path, suffix, 10**7) == "written"


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("raise AssertionError", "wrong"),
        ("raise KeyError", "other errors"),
        ("return 'refused'", "refused"),
        ("return 'right'", "answered"),
        ("import os; os.abort()", "crashes"),
        ("import time; time.sleep(60)", "hangs"),
    ],
)
def test_the_fuzzer_says_how_a_case_ended(program, end, tmp_path, monkeypatch):
    script = tmp_path / "fuzz.py"
    source = f"from hostile import fuzz\ndef case(seed):\n    {program}\n"
    script.write_text(f"{source}fuzz.AREAS = {{'a': (case, 1)}}\nfuzz.work()\n")
    monkeypatch.setattr(fuzz, "__file__", str(script))
    monkeypatch.setattr(fuzz, "LIMIT", 20.0 if end != "hangs" else 3.0)
    worker = fuzz.Worker()
    try:
        assert worker.run("a", 3)[0] == end
    finally:
        worker.stop()


def test_one_case_is_run_again_by_its_name():
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": ""}
    done = subprocess.run(
        [sys.executable, fuzz.__file__, "formats:0"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("formats:0 re")
