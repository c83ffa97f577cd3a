import warnings
from types import SimpleNamespace

import pytest

from sparrot import _kernels
from sparrot.cli import parse
from sparrot.cli._session import Session
from sparrot.errors import AffinityWarning


@pytest.mark.parametrize("kind", [FutureWarning, DeprecationWarning])
def test_what_other_packages_will_change_is_in_the_fullest_log_only(kind, capsys):
    for more, lines in (([], 0), (["-vv"], 1)):
        with Session(parse(["info", "x.npy", *more])) as session:
            warnings.simplefilter("always")
            warnings.warn("slashes will be disallowed", kind, stacklevel=1)
        said = capsys.readouterr().err
        assert said.count("slashes will be disallowed") == said.count("\n") == lines
        assert session.warnings == []


def test_other_warnings_are_printed_and_kept(capsys):
    with Session(parse(["info", "x.npy"])) as session:
        warnings.simplefilter("always")
        warnings.warn("names are not\n unique", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "sparrot: warning: names are not unique\n"
    assert session.warnings == ["names are not unique"]


def test_remedies_of_warnings_name_the_flags_of_the_command(capsys):
    warning = AffinityWarning(
        "the graph has 2 components", remedy=["take {eps='connected'}", "leave it"]
    )
    for command, remedy in (("path", "take --eps connected, or leave it"), ("info", "leave it")):
        with Session(parse([command, "x.npy"])):
            warnings.warn(warning, stacklevel=1)
        expected = f"sparrot: warning: the graph has 2 components; {remedy}\n"
        assert capsys.readouterr().err == expected


def test_quiet_keeps_warnings_and_prints_none(capsys):
    with Session(parse(["info", "x.npy", "-q"])) as session:
        session.warn("names are not unique")
        session.say("a result")
    assert session.warnings == ["names are not unique"]
    assert capsys.readouterr() == ("", "")


def test_the_first_kernel_that_is_compiled_is_told_once(capsys):
    own, other = (
        SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})
        for function in (_kernels.find_hits.py_func, test_other_warnings_are_printed_and_kept)
    )
    for more, lines in (([], 1), (["-q"], 0)):
        listener = _kernels._FirstUse()
        with Session(parse(["info", "x.npy", *more])):
            for event in (other, own, own):
                listener.on_start(event)
        assert (
            capsys.readouterr().err.count("sparrot: compiling for the first call of its kind")
            == lines
        )
