"""The house rules: which way imports point, how far a call goes, and what importing costs."""

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import sparrot
from house import MODULES, RANK, SOURCE, imported_rooms, room_of
from walk import qot_of_4000_points, walk

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_point_back_up_the_flow(path):
    room = room_of(path)
    for other in imported_rooms(path):
        assert RANK[other] < RANK[room], f"{room} must not import {other}"


def test_picture_and_tree_of_the_house_are_those_of_its_source():
    script = runpy.run_path(str(ROOT / "docs" / "make_flow.py"))
    remedy = "run python docs/make_flow.py"
    assert script["FIGURE"].read_text(encoding="utf-8") == script["drawn"](), remedy
    assert script["contributing"]() == CONTRIBUTING, remedy


@pytest.fixture(scope="module")
def qot_walk():
    return walk(qot_of_4000_points)


def test_a_call_of_qot_runs_through_at_most_twenty_files(qot_walk):
    assert len(qot_walk.functions) <= 20, sorted(qot_walk.functions)


def test_a_call_of_qot_is_at_most_twelve_frames_deep(qot_walk):
    assert len(qot_walk.deepest) <= 12, qot_walk.deepest


def test_the_walk_in_contributing_is_one_that_a_call_takes(qot_walk):
    steps = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \| `([\w.]+)` \|", CONTRIBUTING, re.MULTILINE)
    assert len(steps) >= 5
    assert qot_walk.passes(steps), f"no stack has all of {steps}: see python tests/walk.py"


def test_what_contributing_says_is_somewhere_is_there():
    named = re.findall(r"`(\w+)` in `([\w/]+\.py)`", CONTRIBUTING)
    assert len(named) >= 10
    for name, file in named:
        text = (SOURCE / file).read_text(encoding="utf-8")
        assert re.search(rf"^(def|class)? ?{name}\b", text, re.MULTILINE), f"{name} in {file}"


def test_importing_sparrot_loads_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "matplotlib", "scanpy", "dask", "openTSNE"]
    code = f"import sys, sparrot; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_room_for_scanpy_is_imported_without_scanpy():
    code = "import sys, sparrot.sc; print([m for m in ('scanpy', 'anndata') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_small_problems_need_no_compilation():
    code = (
        "import sys, numpy as np, sparrot\n"
        "X = np.random.default_rng(0).standard_normal((300, 5))\n"
        "sparrot.QOT().fit(X).transform(X[:5] + 1)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_public_name_exists_and_unknown_ones_do_not():
    for name in sparrot.__all__:
        assert getattr(sparrot, name) is not None
    assert dir(sparrot) == sorted(sparrot.__all__)
    with pytest.raises(AttributeError, match="No sparrot attribute qott"):
        sparrot.qott  # noqa: B018


ERRORS = {
    "AffinityWarning",
    "InvalidInputError",
    "MissingDataError",
    "MissingExtraError",
    "NotConvergedError",
    "NotEnoughMemoryError",
}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_error_names_its_parameter_or_a_remedy(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
            given = {keyword.arg for keyword in node.keywords}
            assert given & {"parameter", "remedy"}, f"line {node.lineno}: {ast.unparse(node)}"


def test_there_are_fewer_than_130_modules():
    assert len(list(SOURCE.rglob("*.py"))) < 130
