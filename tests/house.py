"""The rooms of the package in the order of the flow, and which imports which."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "sparrot"
# Data flows down this list; an import may only point up it.
FLOW = [
    ("_types", "errors", "_kernels", "_files"),
    ("engine",),
    ("_validation", "_eigensolver"),
    ("cost",),
    ("ot",),
    ("affinity",),
    ("spectral", "io"),
    ("geometry", "layout"),
    ("summary", "metrics"),
    ("sc", "datasets"),
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


ROOMS = sorted({room_of(path) for path in MODULES}, key=list(RANK).index)


def public_homes() -> dict[str, str]:
    """The room of each name that `import sparrot` offers, from the list in the stub."""
    tree = ast.parse((SOURCE / "__init__.pyi").read_text())
    return {
        alias.asname or alias.name: (node.module or alias.name).split(".")[0]
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


HOMES = public_homes()


def imported_rooms(path: Path) -> set[str]:
    """The other rooms that a module imports from, also by `import sparrot` and `sparrot.name`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "sparrot":
            names.update(f"sparrot.{HOMES.get(alias.name, alias.name)}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "sparrot":
            names.add(f"sparrot.{HOMES.get(node.attr, node.attr)}")
    found = {name.split(".")[1] for name in names if name.startswith("sparrot.")}
    return found - {room_of(path), "__version__"}


def private_modules(path: Path) -> set[str]:
    """The private modules of other rooms that a module imports from, such as `plot._style`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sparrot."):
            room, *module = node.module.split(".")[1:]
            modules = module or [alias.name for alias in node.names]
            found |= {
                f"{room}.{name}" for name in modules if (SOURCE / room / f"{name}.py").exists()
            }
    return {name for name in found if name.split(".")[0] != room_of(path) and "._" in name}


def imports() -> dict[str, set[str]]:
    """For each room the rooms that it imports from."""
    rooms: dict[str, set[str]] = {room: set() for room in ROOMS}
    for path in MODULES:
        rooms[room_of(path)] |= imported_rooms(path)
    return rooms
