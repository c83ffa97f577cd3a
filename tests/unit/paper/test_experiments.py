"""Every experiment at the smallest size that makes sense: numbers, claims and figures."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image

import sparrot.paper
from problems import data_folder
from sparrot.datasets import make_spiral
from sparrot.errors import InvalidInputError, MissingDataError
from sparrot.metrics import mean_principal_angle
from sparrot.paper import EXPERIMENTS, find_experiment
from sparrot.paper._methods import reference
from sparrot.paper._work import Work

matplotlib.use("Agg")
ROOM = Path(sparrot.paper.__file__).parent
MODULES = [name.replace("-", "_") for name in (*EXPERIMENTS, "demo")]
PAGE = Path(__file__).parents[3] / "docs" / "paper.md"
TINY = {
    "convergence": {"sizes": (20, 40)},
    "active-set": {"sizes": (100,)},
    "robustness": {"n": 60, "dimensions": (30, 300), "n_seeds": 2},
    "sphere": {"n": 300, "dimensions": (1, 2), "powers": (1.0, 4.0), "n_eps": 13},
    "torus": {"sizes": (100, 200), "n_samples": 3},
    "spiral": {
        "n": 80,
        "d": 30,
        "eps": (10.0, 1.0, 0.1),
        "k": (3, 5),
        "n_seeds": 1,
        "n_code_seeds": 1,
        "n_path_seeds": 2,
        "pca": (5, 20),
        "pca_k": 5,
        "perplexity": 20.0,
        "path": 3,
    },
    "spiral-dimensions": {"n": 80, "dimensions": (20, 40), "eps": (1.0, 0.1), "k": (3, 5)},
    "mixture": {"n": 25, "dimensions": (5, 10), "shown": 10, "eps": (10.0, 1.0), "pca": (2, 5)},
    "digits": {"n": 20, "eps": (10.0, 1.0), "k": (3, 5), "n_drawn": 5},
    "single-cell": {
        "sets": ("dentate", "marrow", "arabidopsis"),
        "n": (300, 300, 300),
        "n_seeds": 1,
    },
    "batch-effects": {"n": 150, "perplexity": 15.0, "n_iter": 20, "n_seeds": 1},
}
NEED_DATA = ("digits", "single-cell", "batch-effects")


@pytest.fixture
def _data(monkeypatch):
    if data_folder() is not None:
        monkeypatch.setenv("SPARROT_DATA", str(data_folder()))


@cache
def tiny(name):
    """Numbers and claims of the smallest version."""
    experiment = find_experiment(name)
    numbers = experiment.run(replace(experiment.quick, **TINY.get(name, {})), Work())
    return numbers, experiment.claims(numbers)


def make_paper():
    """The script that writes the page."""
    spec = spec_from_file_location("make_paper", PAGE.parent / "make_paper.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def skip_without_data(name):
    if name in NEED_DATA and data_folder() is None:
        pytest.skip("no data folder; set SPARROT_DATA")


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_gives_numbers_claims_and_figures(name):
    skip_without_data(name)
    numbers, claims = tiny(name)
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    assert claims
    for claim in claims:
        assert claim.holds in (True, False, None)
        assert claim.holds is None or type(claim.holds) is bool
        assert all((claim.sentence, claim.paper, claim.ours, claim.criterion, claim.verdict))
        assert claim.holds is not False or claim.reason, claim
    captions = [paragraph for paragraph in make_paper().TEMPLATE if paragraph.startswith("{figure")]
    for suffix, figure in find_experiment(name).draw(numbers).items():
        mark = f"{{figure {f'{name}-{suffix}'.rstrip('-')}}}\n*"
        assert any(caption.startswith(mark) for caption in captions), mark
        labeled = [ax for ax in figure.axes if ax.get_xlabel() or ax.get_ylabel()]
        assert labeled
        figure.canvas.draw()
        matplotlib.pyplot.close(figure)


def test_every_embedding_of_the_spiral_is_within_the_limits_of_its_panel():
    for method, points in tiny("spiral")[0]["embeddings"].items():
        assert np.square(points).mean(axis=0) == pytest.approx(1, abs=1e-3), method


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_parameters_are_frozen_and_quick_is_smaller(name):
    experiment = find_experiment(name)
    assert experiment.name == name
    assert experiment.full != experiment.quick
    field = next(iter(experiment.full.__dataclass_fields__))
    with pytest.raises(FrozenInstanceError):
        setattr(experiment.full, field, None)


def test_an_unknown_experiment_is_refused_with_the_names():
    with pytest.raises(InvalidInputError, match=r"name must be one of convergence, .*'spirall'"):
        find_experiment("spirall")


def test_every_module_of_an_experiment_is_in_the_list():
    public = {path.stem for path in ROOM.glob("[a-z]*.py")}
    assert public == set(MODULES)


def test_the_reference_of_the_spiral_does_not_cut_a_pair():
    truth = reference(make_spiral(90, 20))
    place = 2 * np.pi * np.arange(90) / 90
    waves = [np.ones(90), *(f(k * place) for k in range(1, 6) for f in (np.cos, np.sin))]
    assert mean_principal_angle(truth, np.transpose(waves)) < 1e-6


def test_matplotlib_is_loaded_only_when_a_figure_is_drawn():
    imports = "; ".join(f"import sparrot.paper.{name}" for name in MODULES)
    heavy = ("matplotlib", "scanpy", "openTSNE")
    code = f"import sys; {imports}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def functions(name):
    """The functions of a module by name, each with the names that it uses."""
    tree = ast.parse((ROOM / f"{name}.py").read_text())
    return {
        node.name: (node, {use.id for use in ast.walk(node) if isinstance(use, ast.Name)})
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("name", MODULES)
def test_functions_that_draw_are_called_so_and_use_no_others(name):
    """What is called otherwise counts as code that numbers depend on."""
    drawing = re.compile(r"_?draw(_|$)")
    found = functions(name)
    assert any(drawing.match(function) for function in found)
    for function, (_, uses) in found.items():
        for other in uses & found.keys():
            assert bool(drawing.match(function)) == bool(drawing.match(other)), (function, other)


@pytest.mark.parametrize("name", [*MODULES, "_figures"])
def test_figures_only_draw_what_experiments_have_computed(name):
    statistics = re.compile(r"\b(?:mean|std|median|average|sqrt)\(")
    for function, (node, _) in functions(name).items():
        if name == "_figures" or "draw" in function:
            allowed = (name, function) == ("robustness", "_draw_noise")  # a guide of slope -1/2
            assert allowed or not statistics.search(ast.unparse(node)), function


@pytest.mark.parametrize("name", NEED_DATA)
def test_without_data_an_experiment_says_what_is_missing(name, monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setenv("SPARROT_DATA", str(tmp_path))
    monkeypatch.setattr("sparrot.datasets._digits.fetch_openml", refuse)
    experiment = find_experiment(name)
    with pytest.raises(MissingDataError, match="SPARROT_DATA"):
        experiment.run(experiment.quick, Work())


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_has_the_sentences_of_the_claims(name):
    skip_without_data(name)
    page = PAGE.read_text()
    section = page.split(f"\n({name})=\n## ")[1].split("\n## ")[0]
    sentences = {claim.sentence for claim in tiny(name)[1]}
    rows = [line.split(" | ")[0][2:] for line in section.splitlines() if line.startswith("| ")]
    on_page = {row.replace("\\|", "|") for row in rows[2:]}
    assert sentences <= on_page
    assert name == "sphere" or on_page <= sentences  # the tiny sphere has fewer dimensions


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """The script that writes the page, into a folder that has one old figure."""
    script = make_paper()
    monkeypatch.setattr(script, "DOCS", tmp_path)
    monkeypatch.setattr(script, "FIGURES", tmp_path / "figures" / "paper")
    script.FIGURES.mkdir(parents=True)
    (script.FIGURES / "old.png").touch()
    return script


@pytest.mark.parametrize("arguments", [[], ["empty"], ["empty", "empty"]])
def test_no_figure_is_removed_unless_there_are_results(docs, tmp_path, arguments):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match=r"^usage: .* FOLDER"):
        docs.main([str(tmp_path / name) for name in arguments])
    assert (docs.FIGURES / "old.png").exists()
    assert not (tmp_path / "paper.md").exists()


def test_the_page_removes_the_figures_that_it_does_not_show(docs, tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "torus.png")
    (tmp_path / "torus.json").write_text(json.dumps({"title": "A torus", "claims": []}))
    docs.main([str(tmp_path)])
    assert [path.name for path in docs.FIGURES.iterdir()] == ["torus.png"]
    page = (tmp_path / "paper.md").read_text()
    assert "## A torus" in page
    assert "(figures/paper/torus.png)" in page


def test_the_page_has_the_text_and_the_set_ups_that_are_written_now():
    page, script = PAGE.read_text(), make_paper()
    for paragraph in script.TEMPLATE:
        text = paragraph.split("}\n")[-1]
        assert text.startswith("{") or "dentate" in paragraph or text in page, text
    for name in EXPERIMENTS:
        assert script.setup(name) in page, name
    assert page.count(script.HEADS["claims"]) == len(EXPERIMENTS)
