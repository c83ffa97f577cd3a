"""Installs what `make dist` built, each into an empty environment, and uses it there."""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = {".py", ".pyi", ".typed", ".html", ".css", ".js"}  # what the package is made of


def look_inside(wheel: Path, sdist: Path) -> None:
    """The wheel has the package and nothing else; the sdist is without the paper's pictures."""
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name for name in names if ".dist-info/" not in name}
    source = ROOT / "src"
    tracked = subprocess.run(
        ["git", "ls-files", "sparrot"], cwd=source, capture_output=True, text=True, check=True
    ).stdout.split()
    assert inside == set(tracked), inside.symmetric_difference(tracked)
    assert {Path(name).suffix for name in inside} <= KINDS
    assert "sparrot/py.typed" in inside
    with tarfile.open(sdist) as archive:
        files = archive.getnames()
    assert any(name.endswith("/tests/conftest.py") for name in files)
    assert not any("/figures/paper/" in name for name in files)
    for file, count in ((wheel, len(names)), (sdist, len(files))):
        print(f"{file.name}: {count} files, {file.stat().st_size / 1e6:.1f} MB", flush=True)


def five_lines() -> str:
    """The first lines of Python in the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found
    return found[1]


def use(file: Path) -> None:
    """Install it alone and run the five lines; then, with figures, the demo."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        binaries = Path(folder) / ("Scripts" if os.name == "nt" else "bin")

        def run(*command: str) -> str:
            done = subprocess.run(
                [str(binaries / command[0]), *command[1:]],
                cwd=folder, stdout=subprocess.PIPE, text=True, check=True,
            )  # fmt: skip
            return done.stdout

        install = ("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        print(f"\n{file.name}, into an empty environment", flush=True)
        run(*install, str(file))
        print(run("python", "-c", five_lines()), end="", flush=True)
        assert run("sparrot", "--version").split()[-1] in file.name
        run(*install, f"{file}[plot]")
        print(run("sparrot", "demo", "--output", "out"), end="", flush=True)
        assert (Path(folder) / "out" / "demo.png").stat().st_size > 50_000
        run("python", "-m", "pip", "check")


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    look_inside(wheel, sdist)
    for file in (wheel, sdist):
        use(file)
