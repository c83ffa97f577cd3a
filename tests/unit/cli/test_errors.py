import re

import numpy as np
import pytest

from sparrot.affinity._registry import build, named_estimator
from sparrot.cli import main, parse
from sparrot.cli._session import in_flags, in_one_line, judge
from sparrot.errors import (
    InvalidInputError,
    MissingDataError,
    NotConvergedError,
    NotEnoughMemoryError,
)

X = np.random.default_rng(0).standard_normal((30, 3))
NEEDS = {"demo": [], "reproduce": ["sphere"], "completion": ["bash"]}


def spelled(command, error):
    """The line that a command prints for an error."""
    return in_one_line(error, in_flags(parse([command, *NEEDS.get(command, ["x.npy"])]).parser))


@pytest.mark.parametrize(
    ("parameter", "command", "flag"),
    [
        ("eps", "affinity", "--eps"),
        ("n_neighbors", "affinity", "--neighbors"),
        ("n_jobs", "affinity", "--jobs"),
        ("n_jobs", "reproduce", "--jobs"),
        ("max_iter", "path", "--max-iter"),
        ("each_side", "path", "--steps"),
        ("n_components", "embed", "--components"),
        ("n_components", "tsne", "--components"),
        ("t", "embed", "--time"),
        ("n_clusters", "cluster", "--clusters"),
        ("key", "cluster", "--affinity"),
        ("output", "report", "--output"),
        ("path", "info", "FILE"),
    ],
)
def test_the_subject_of_an_error_is_the_flag_of_the_command(parameter, command, flag):
    error = InvalidInputError("must be positive, got -1", parameter=parameter, value=-1)
    assert spelled(command, error) == f"{flag} must be positive, got -1"


def test_an_argument_without_a_flag_keeps_its_name():
    error = InvalidInputError("must be positive", parameter="hollow")
    assert spelled("affinity", error) == "hollow must be positive"


def test_remedies_name_flags_and_those_that_only_python_has_are_left_out():
    error = InvalidInputError(
        "the graph has 2 components",
        remedy=[
            "take {eps='connected'}",
            "raise {max_iter} or {tol}",
            "take {components='largest'}",
            "read it by {sparrot.load}",
            "pass {n_jobs=None}",
            "drop these points",
        ],
    )
    assert spelled("affinity", error) == (
        "the graph has 2 components; take --eps connected, or raise --max-iter or --tol, or drop "
        "these points"
    )
    assert spelled("info", error) == "the graph has 2 components; drop these points"


def test_words_of_the_user_are_never_taken_for_arguments():
    error = InvalidInputError("there is no file runs/eps=0.1/{tol}.npy; max_iter is none")
    assert spelled("affinity", error) == str(error)


def test_errors_of_the_registry_name_flags():
    with pytest.raises(InvalidInputError) as unknown:
        build(X, "gaussian", n_jobs=2)
    assert (unknown.value.parameter, unknown.value.value) == ("n_jobs", 2)
    assert spelled("affinity", unknown.value) == (
        "--jobs is no parameter of gaussian; it has --eps, --metric"
    )
    with pytest.raises(InvalidInputError) as wrong:
        named_estimator("qott")
    assert spelled("embed", wrong.value).startswith("affinity must be an estimator such as")
    assert "with affinity='precomputed'" not in spelled("embed", wrong.value)


@pytest.mark.parametrize(
    ("kind", "flag"),
    [("gaussian", "--eps"), ("epanechnikov", "--eps"), ("qot", "--neighbors"), ("knn", "--neighb")],
)
def test_an_error_about_a_scale_names_the_flag_that_was_typed(kind, flag, tmp_path, capsys):
    np.save(tmp_path / "x.npy", X)
    assert main(["affinity", str(tmp_path / "x.npy"), "--kind", kind, flag, "-1"]) == 2
    assert capsys.readouterr().err.startswith(f"sparrot: {flag}")


def test_an_option_that_a_kind_does_not_have_is_refused_with_those_it_has(tmp_path, capsys):
    np.save(tmp_path / "x.npy", X)
    asked = ["affinity", str(tmp_path / "x.npy"), "--kind"]
    for kind, flag, takes in (
        ("knn", "--eps", "it takes --neighbors, --metric, --dask"),
        ("gaussian", "--drop", "it takes --eps, --metric"),
        ("magic", "--metric", "it takes --neighbors"),
    ):
        value = "cosine" if flag == "--metric" else "0.5"
        assert main([*asked, kind, flag, value]) == 2
        line = f"sparrot: {flag} is no option of the kind {kind}; {takes}\n"
        assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ("command", "kind", "others"),
    [("affinity", "qott", "qot, eot, .*magic"), ("embed", "magic", "qot, eot, .*epanechnikov")],
)
def test_a_kind_that_is_not_known_is_refused_before_the_file_is_read(
    command, kind, others, tmp_path, capsys
):
    (tmp_path / "broken.npy").write_bytes(b"broken")
    assert main([command, str(tmp_path / "broken.npy"), "--kind", kind]) == 2
    assert re.search(f"--kind must be one of {others}, got '{kind}'", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInputError("no"), 2),
        (MissingDataError("no"), 2),
        (NotEnoughMemoryError("no"), 2),
        (MemoryError(), 2),
        (FileNotFoundError(2, "No such file", "x.npy"), 2),
        (NotConvergedError("no", result=None), 3),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("division by zero"), 1),
    ],
)
def test_every_error_has_its_exit_code(error, code):
    assert judge(error, lambda name, value: None)[0] == code


def test_where_the_best_iterate_is_concerns_python_only():
    error = NotConvergedError("not converged", result=None, remedy="raise {max_iter} or {tol}")
    assert ".result" in str(error)
    assert spelled("affinity", error) == "not converged; raise --max-iter or --tol"
