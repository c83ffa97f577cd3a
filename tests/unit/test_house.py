"""The house rules: which way imports point, how far a call goes, and what importing costs."""

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import sparrot
from house import HOMES, MODULES, RANK, SOURCE, imported_rooms, private_modules, room_of
from walk import qot_of_4000_points, walk

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_point_back_up_the_flow(path):
    room = room_of(path)
    for other in imported_rooms(path):
        assert RANK[other] < RANK[room], f"{room} must not import {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_that_users_do_not_see_are_entered_by_their_names(path):
    for module in private_modules(path):
        room = module.split(".")[0]
        assert HOMES.get(room) == room, f"list what is taken of {module} in {room}/__init__"


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
    if sys.version_info >= (3, 12):  # whose profilers hear nothing of compiled loops
        steps = [step for step in steps if step[0] != "_kernels.py"]
    assert qot_walk.passes(steps), f"no stack has all of {steps}: see python tests/walk.py"


def names_of(tree):
    """What a module or class defines at its top; of classes also `Class.name`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in names_of(node))


def test_what_contributing_says_is_somewhere_is_there():
    named = re.findall(r"((?:`[\w.]+`(?:,| and| or)? )+)in `([\w/]+\.py)`", CONTRIBUTING)
    names = [(name, file) for several, file in named for name in re.findall("`(.*?)`", several)]
    assert len(names) >= 25
    assert ("Ceilings._solution", "ot/_active_set.py") in names
    for name, file in names:
        tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
        assert name in names_of(tree), f"{name} in {file}"


def test_the_command_starts_where_contributing_says(monkeypatch, tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["sparrot"].partition(":")
    file = module.removeprefix("sparrot.").replace(".", "/") + ".py"
    answer = next(line for line in CONTRIBUTING.splitlines() if "I type `sparrot embed`" in line)
    steps = re.findall(r"`(\w+)` in `([\w/]+\.py)`", answer)
    first, then, last = steps[:3]
    assert first == (function, file)
    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((20, 3)))
    line = ["embed", str(tmp_path / "points.npy"), "--jobs", "1"]
    code = (
        "from sparrot.cli import main; from walk import walk; "
        f"assert walk(lambda: main({line})).passes({[then[::-1], last[::-1]]})"
    )
    there = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "eigenvalues" in done.stdout
    monkeypatch.setattr("signal.signal", lambda *handler: None)
    monkeypatch.setattr(f"sparrot.cli.{then[0]}", lambda: 7)
    assert getattr(import_module(module), function)() == 7


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
    "ClusterError",
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
