"""Hostile arguments for every public function and method; `make fuzz` tries the whole table."""

import inspect

import matplotlib.pyplot as plt
import pytest

import sparrot
from hostile import inputs

CASES = list(inputs.all_cases())
PART = 7  # of the table in each run of the tests, so that every value meets many functions
EVERY = sorted([*inputs.public_functions(), *inputs.public_methods()])
NAMES = sorted(set(EVERY) - set(inputs.EXEMPT))


@pytest.mark.parametrize("name", EVERY)
def test_every_argument_of_every_public_function_and_method_has_its_kind(name):
    arguments = [parameter.name for parameter in inputs.parameters_of(name)]
    unknown = [] if name in inputs.EXEMPT else [p for p in arguments if p not in inputs.KINDS]
    assert not unknown, f"add {unknown} of {name} to tests/hostile/inputs.py"


def test_nothing_is_free_but_keywords_of_others_and_what_matplotlib_draws_with():
    for name in NAMES:
        for parameter in inputs.parameters_of(name):
            if inputs.KINDS[parameter.name] == "free":
                assert parameter.kind is parameter.VAR_KEYWORD or name.startswith("plot."), name


def test_the_table_has_the_rooms_that_users_have():
    rooms = {name for name in sparrot.__all__ if inspect.ismodule(getattr(sparrot, name))}
    assert rooms == {*inputs.ROOMS, "errors"}
    assert len(NAMES) > 70
    assert set(inputs.EXEMPT) < set(inputs.public_functions())


def test_a_new_function_without_a_row_is_found(monkeypatch):
    def transmogrify(tiger):
        """A function that nobody has told the table of."""

    transmogrify.__module__ = "sparrot.spectral._tiger"
    monkeypatch.setattr(sparrot.spectral, "transmogrify", transmogrify, raising=False)
    monkeypatch.setattr(sparrot.spectral, "__all__", [*sparrot.spectral.__all__, "transmogrify"])
    found = inputs.public_functions.__wrapped__()
    assert "spectral.transmogrify" in found
    assert "tiger" not in inputs.KINDS


def test_a_new_method_without_a_row_is_found(monkeypatch):
    def pounce(self, tiger):
        """A method that nobody has told the table of."""

    pounce.__module__ = "sparrot.affinity._transport"
    monkeypatch.setattr(sparrot.QOT, "pounce", pounce, raising=False)
    assert inputs.public_methods.__wrapped__()["QOT.pounce"] == ("QOT", "pounce")


def test_the_table_has_all_that_estimators_do_and_the_check_of_a_result():
    estimators = {name for name, f in inputs.public_functions().items() if inspect.isclass(f)}
    assert len(estimators) >= 12
    for name in estimators:
        use = "predict" if name == "SpectralClustering" else "transform"
        assert {f"{name}.fit", f"{name}.{use}", f"{name}.fit_{use}"} <= set(NAMES)
    assert "Affinity.check" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_that_are_good_are_answered(name):
    inputs.call(name, inputs.needed(name))
    plt.close("all")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_hostile_is_answered_or_refused(name):
    wrong = []
    for k, case in enumerate(CASES):
        if case[0] == name and k % PART == 0:
            try:
                assert inputs.run(*case) in ("answered", "refused")
            except Exception as error:
                wrong.append(f"{case[1]}={case[2]}: {type(error).__name__}: {error}"[:200])
            plt.close("all")
    assert not wrong, "\n".join(wrong)
