"""The gallery and the code on the pages, run as they stand: their asserts are the check."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sparrot
from sparrot.cli import demo
from sparrot.paper.demo import run_demo

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
WRITTEN = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(page.relative_to(ROOT)) for page in WRITTEN)]
NEEDS = {
    "plot_6_scanpy.py": "scanpy",
    "plot_7_tsne.py": "openTSNE",
    "docs/guide/scanpy.md": "scanpy",
}
OWN_TEST = "docs/integrations.md"  # in test_integrations.py
UNCOMPILED = "plot_8_umap.py"  # umap-learn spends a minute on compilation
ROOMS = [name for name in sparrot.__all__ if isinstance(getattr(sparrot, name), ModuleType)]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def public_names():
    """Every public name but the modules themselves, by the shortest path that a user types."""
    own = {name for name in sparrot.__all__ if name not in ROOMS}
    for room in set(ROOMS) - {"errors"}:  # which users have at the top
        module = getattr(sparrot, room)
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
        ]
        own |= {
            f"{room}.{name}"
            for name in names
            if getattr(sparrot, name, None) is not getattr(module, name)
        }
    return own


def test_the_table_on_the_front_page_is_what_the_demo_prints():
    printed = demo.table(run_demo().outcomes).splitlines()
    shown = (ROOT / "README.md").read_text().splitlines()
    first = shown.index(printed[0])
    without_seconds = [
        [line.rpartition(" ")[0].rstrip() for line in lines]
        for lines in (printed, shown[first : first + len(printed)])
    ]
    assert without_seconds[0] == without_seconds[1]
    assert len(printed) == 4


@pytest.mark.filterwarnings("ignore")  # of packages that are not ours
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_gallery_runs_and_its_numbers_hold(example):
    text = example.read_text()
    assert re.search(r"^assert .*\d", text, re.MULTILINE), "an example asserts a number"
    if example.name == UNCOMPILED:
        pytest.importorskip("umap")
        run_uncompiled(example)
        return
    if example.name in NEEDS:
        pytest.importorskip(NEEDS[example.name])
    runpy.run_path(str(example))


def run_uncompiled(example):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(example)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", [p for p in PAGES if p != OWN_TEST and python_blocks(p)])
def test_the_code_on_the_pages_runs(page):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    names = {}
    for block in python_blocks(page):  # one page, one session
        exec(block, names)


def test_the_reference_lists_every_public_name_and_no_other():
    pages = (ROOT / "docs" / "api").glob("*.rst")
    text = "".join(page.read_text() for page in pages if page.name != "index.rst")
    listed = re.findall(r"^   ([A-Za-z0-9_.]+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(public_names())


def test_links_between_pages_lead_somewhere():
    pictures = ROOT / "docs" / "figures" / "paper"  # an sdist has none
    for page in PAGES:
        text = (ROOT / page).read_text()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            path = (ROOT / page).parent / target
            if "://" not in target and (pictures.exists() or path.parent != pictures):
                assert path.exists(), f"{page} links to {target}"


def test_names_in_backticks_are_those_of_the_reference():
    """A link to another name would silently be no link."""
    source = ROOT / "src" / "sparrot"
    modules = {path.relative_to(source).with_suffix("") for path in source.rglob("*.py")}
    places = {".".join(path.parts).removesuffix(".__init__") for path in modules}
    known = public_names() | set(ROOMS) | places
    texts = [*source.rglob("*.py"), *EXAMPLES, *(ROOT / page for page in PAGES)]
    for path in texts:
        for name in re.findall(r"`~?sparrot\.([\w.]*\w)", path.read_text(encoding="utf-8")):
            owner, _, member = name.rpartition(".")
            of_class = isinstance(getattr(sparrot, owner, None), type) if owner else False
            found = name in known or (of_class and hasattr(getattr(sparrot, owner), member))
            assert found, f"{path.name} names sparrot.{name}"
