"""The comparison on real data runs from end to end, on built-in data."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(folder):
    """The quick run, with its page; umap-learn would spend half a minute on compilation."""
    command = [sys.executable, ROOT / "benchmarks" / "real_data.py", "--quick"]
    done = subprocess.run(
        [*command, "--output", folder, "--page", folder / "page.md"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_quick_run_stores_every_number_and_is_resumable(tmp_path):
    pytest.importorskip("scanpy")
    pytest.importorskip("igraph")
    run(tmp_path)
    files = sorted((tmp_path / "real_data_150").iterdir())
    graphs = {file.stem.partition("-0-")[2] for file in files}
    assert {"plain", "floor_5", "rows_15", "eot", "knn", "scanpy", "gaussian"} <= graphs
    assert len(files) == 3 * len(graphs)  # of all sets
    stored = {file.name: json.loads(file.read_text()) for file in files}
    assert stored["digits-0-rows_15.json"]["fewest"] >= 15 - 1e-6
    numbers = stored["digits-0-plain.json"]
    assert numbers["spreading_5"] > 0.5
    assert numbers["leiden_best"] >= numbers["leiden"] == numbers["leiden_1"]
    curve = stored["spiral-0-rows_5.json"]
    assert curve["time"] > 0.9
    assert 0 < curve["gap"] < numbers["gap"] < 1
    assert curve["on"] > 50  # all of the curve, and no outlier
    page = (tmp_path / "page.md").read_text()
    assert "| mixture |" in page

    changed = stored[files[0].name] | {"pieces": 77}  # it must not be computed again
    files[0].write_text(json.dumps(changed))
    files[1].unlink()
    run(tmp_path)
    assert files[1].exists()
    page = (tmp_path / "page.md").read_text()
    assert page.count("| 77 |") == 1
    assert page.count("### Leiden at each resolution") == 1
