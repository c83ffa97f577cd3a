"""The house rules: which way imports point, and what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sparrot

SOURCE = Path(sparrot.__file__).parent
# Data flows down this list; an import may only point up it.
FLOW = [
    ("_types", "errors", "_kernels", "_files"),
    ("_extras",),
    ("engine",),
    ("_validation", "_eigensolver"),
    ("cost",),
    ("ot",),
    ("affinity",),
    ("spectral",),
    ("geometry", "layout"),
    ("summary", "metrics"),
    ("sc",),
    ("io",),
    ("datasets",),
    ("plot",),
    ("report",),
    ("paper",),
    ("cli",),
    ("__main__",),
]
RANK = {room: rank for rank, rooms in enumerate(FLOW) for room in rooms}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    parts = [name.split(".") for name in names if name.startswith("sparrot.")]
    return {part[1] for part in parts}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_point_back_up_the_flow(path):
    room = room_of(path)
    for other in imported_rooms(path) - {room}:
        assert RANK[other] < RANK[room], f"{room} must not import {other}"


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
    with pytest.raises(AttributeError, match="no attribute 'qott'"):
        sparrot.qott  # noqa: B018
