import warnings
from argparse import Namespace

import pytest

from sparrot.cli.session import Session


@pytest.mark.parametrize("kind", [FutureWarning, DeprecationWarning])
def test_what_other_packages_will_change_is_in_the_fullest_log_only(kind, capsys):
    for verbose, lines in ((0, 0), (2, 1)):
        with Session(Namespace(command="info", verbose=verbose)) as session:
            warnings.simplefilter("always")
            warnings.warn("slashes will be disallowed", kind, stacklevel=1)
        said = capsys.readouterr().err
        assert said.count("slashes will be disallowed") == said.count("\n") == lines
        assert session.warnings == []


def test_other_warnings_are_said_and_kept(capsys):
    with Session(Namespace(command="info")) as session:
        warnings.simplefilter("always")
        warnings.warn("names are not unique", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "sparrot: warning: names are not unique\n"
    assert session.warnings == ["names are not unique"]
