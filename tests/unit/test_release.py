"""What a release says in several places is the same everywhere."""

import re
import tomllib
from pathlib import Path

import pytest

import sparrot
from oldest import oldest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = ROOT / "recipe" / "recipe.yaml"
in_checkout = pytest.mark.skipif(not RECIPE.exists(), reason="an sdist has no recipe, no workflows")


def test_the_version_is_that_of_the_citation_and_of_the_last_changes():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == sparrot.__version__
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == sparrot.__version__


@in_checkout
def test_the_conda_recipe_has_the_version_and_the_dependencies_of_the_project():
    recipe = RECIPE.read_text(encoding="utf-8")
    assert re.search(r"^  version: (\S+)$", recipe, re.MULTILINE)[1] == sparrot.__version__
    needs = set(re.findall(r"^    - ([\w-]+ >=[\d.]+)$", recipe, re.MULTILINE))
    wanted = {need.replace(">=", " >=") for need in PROJECT["dependencies"]}
    assert needs == wanted | {"python " + PROJECT["requires-python"]}


@in_checkout
def test_the_workflow_tests_every_python_that_is_promised():
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8")
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(f'"{v}"' for v in promised)
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_oldest_versions_cover_every_dependency_and_every_extra_of_users():
    bounds = oldest()
    assert {re.split("[>=]", need)[0] for need in PROJECT["dependencies"]} <= bounds.keys()
    assert {
        "scanpy",
        "openTSNE",
        "umap-learn",
        "pyarrow",
        "matplotlib",
        "pynndescent",
    } <= bounds.keys()
    assert bounds["numpy"] == "1.26"


def test_cells_have_a_pynndescent_that_ingest_of_scanpy_works_with():
    assert "pynndescent>=0.5.11,<0.6" in PROJECT["optional-dependencies"]["scanpy"]
