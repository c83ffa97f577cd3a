"""Signals end the command line: at once, at any time, and with nothing half written."""

import json
import signal
import time

import numpy as np
import pytest

from hostile.processes import CODES, start

HANGING = """
import sys, time
import sparrot.cli.affinity, sparrot._files as files, sparrot.io._matrix_market as market

def hang(*_):
    print("begun", flush=True)
    while True:
        time.sleep(0.01)

def write(path, *_):
    path.write_text("half")
    hang()

market.write_matrix = write
{more}
from sparrot.__main__ import command
sys.exit(command())
"""


@pytest.fixture
def points(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.random.default_rng(0).standard_normal((40, 3)))
    return path


def hanging(points, *arguments, more="", **options):
    """A command that has written half of its file."""
    target = points.parent / "results" / "a.mtx"
    target.parent.mkdir(exist_ok=True)
    running = start(
        "affinity", points, "-o", target, *arguments, code=HANGING.format(more=more), **options
    )
    assert running.stdout.readline() == "begun\n"
    return running, target.parent


@pytest.mark.parametrize("moment", [0.05, 0.2, 0.4, 0.6, 0.8, 1.1, 1.4])
def test_a_signal_in_the_first_second_is_not_lost(moment, tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.random.default_rng(0).standard_normal((20_000, 50)).astype(np.float32))
    number = (signal.SIGINT, signal.SIGTERM)[int(10 * moment) % 2]
    with start("affinity", path, "-o", tmp_path / "results" / "a.npz") as running:
        time.sleep(moment)
        running.send_signal(number)
        _, said = running.communicate(timeout=30)
    assert not (tmp_path / "results").exists()
    # Python takes a while to begin, and has its own way to end until then.
    assert running.returncode in (CODES[number], -number, 1)
    if running.returncode == CODES[number]:
        assert said.count("\n") <= 1


@pytest.mark.parametrize("number", CODES)
def test_what_is_half_written_is_removed(number, points):
    running, folder = hanging(points)
    assert len(list(folder.iterdir())) == 1
    running.send_signal(number)
    _, said = running.communicate(timeout=30)
    word = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    assert said == f"sparrot: {word}; no half-written file is left\n"
    assert running.returncode == CODES[number]
    assert list(folder.iterdir()) == []


def test_json_says_what_happened_and_vv_where(points):
    running, _ = hanging(points, "--json", "-vv")
    running.send_signal(signal.SIGTERM)
    out, said = running.communicate(timeout=30)
    assert json.loads(out)["exit_code"] == 143
    assert "in hang" in said


def test_a_second_signal_does_not_wait_for_the_first(points):
    running, _ = hanging(points, more="files.remove_open_files = hang")
    running.send_signal(signal.SIGTERM)
    assert running.stdout.readline() == "begun\n"
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=30)
    assert running.returncode == -signal.SIGTERM


def test_where_interruptions_are_ignored_they_stay_so(points):
    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for `sparrot ... &`

    running, _ = hanging(points, preexec_fn=ignore)
    running.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert running.poll() is None
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=30)
    assert running.returncode == 143
