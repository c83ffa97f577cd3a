import re

import numpy as np
import pytest

from sparrot import DiffusionMap
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


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ("affinity --eps -1", "--eps must be positive and finite, got -1"),
        ("affinity --eps big", "--eps must be positive, or 'connected'"),
        ("affinity --perplexity 0", "--perplexity must be positive"),
        ("affinity --neighbors 0", "--neighbors must be a number of at least 1"),
        ("affinity --neighbors 9 --min-neighbors 5", "--neighbors is itself a floor"),
        ("affinity --neighbors 9 --eps 1", "only one scale can be had"),
        ("affinity --min-neighbors nan", "--min-neighbors must be a number of at least 1"),
        ("affinity --min-neighbors 0.5", "--min-neighbors must be a number of at least 1"),
        ("affinity --tol 0", "--tol must be positive"),
        ("affinity --tol 1e-30", "--tol is below the rounding"),
        ("affinity --max-iter 0", "--max-iter must be a positive integer"),
        ("affinity --jobs 0", "--jobs must be a nonzero integer"),
        ("affinity --metric manhatan", "--metric 'manhatan' is not known; take one of"),
        ("affinity --metric cdist", "--metric 'cdist' is not known; take one of"),
        ("affinity --metric kernel", "--metric must be the name of a metric"),
        ("affinity --dask nowhere", "--dask must be the address of a scheduler"),
        ("affinity --dask local:2 --search approximate", "--dask is for an exact search"),
        ("affinity --search auto --checkpoint c", "--checkpoint is for an exact search"),
        ("affinity --kind eot --eps connected", "--eps 'connected' needs a sparse plan"),
        ("affinity --kind eot --drop 2", "--drop must be below 1"),
        ("affinity --kind eot --q 0.5", "--q is no option of the kind eot"),
        ("affinity --kind tsallis --q 1", "--q must be in [0, 1), got 1.0"),
        ("affinity --kind gaussian --eps 0", "--eps must be positive"),
        ("affinity --kind knn --neighbors 0", "--neighbors must be an integer from 1 on"),
        ("affinity --pca 0", "--pca must be an integer from 1 on, got 0"),
        ("affinity --pca 2 --metric precomputed", "--pca is for points"),
        ("embed --components 0", "--components must be an integer from 1 on"),
        ("embed --method diffusion --time -1", "--time must be a number of steps, 0, 1, 2, ..."),
        ("cluster --clusters 0", "--clusters must be an integer from 1 on"),
        ("tsne --perplexity -3", "--perplexity must be positive"),
        ("path --span 1", "--span must be more than 1"),
        ("path --steps 0", "--steps must be an integer from 1 to 100"),
        ("path --perplexity 0", "--perplexity must be positive"),
        ("report --min-neighbors -2", "--min-neighbors must be a number of at least 1"),
    ],
)
def test_a_wrong_option_is_found_before_the_file_is_read(asked, complaint, tmp_path, capsys):
    (tmp_path / "broken.csv").write_text("1,2\n3,4,5\n")
    command, *options = asked.split()
    output = ["-o", str(tmp_path / "page.html")] if command == "report" else []
    assert main([command, str(tmp_path / "broken.csv"), *options, *output]) == 2
    line = capsys.readouterr().err
    assert complaint in line
    assert line.count("\n") == 1


def test_times_that_the_command_does_not_take_are_not_advised(tmp_path, capsys):
    np.save(tmp_path / "x.npy", X)
    assert main(["embed", str(tmp_path / "x.npy"), "--method", "diffusion", "--time", "-1"]) == 2
    said = "sparrot: --time must be a number of steps, 0, 1, 2, ..., got -1\n"
    assert capsys.readouterr().err == said
    with pytest.raises(InvalidInputError, match=r"got -1; for all .* take t='multiscale'"):
        DiffusionMap(2, t=-1).fit(X)


def test_options_that_are_fine_are_not_refused_before_the_file_is_read(tmp_path, capsys):
    np.save(tmp_path / "x.npy", X)
    for asked in (
        "--eps auto",
        "--eps connected",
        "--min-neighbors 0",
        "--neighbors 5 --min-neighbors 0",
        "--search auto",
        "--metric l1",
        "--metric chebyshev --jobs -1",
        "--metric mahalanobis",
        "--metric canberra",
        "--kind magic",
        "--kind gaussian",
        "--kind gaussian_l2",
        "--kind epanechnikov --eps 2",
        "--kind knn --neighbors 3",
        "--kind eot --eps connected --drop 1e-3",
    ):
        assert main(["affinity", str(tmp_path / "x.npy"), *asked.split(), "-q"]) == 0
    for asked in ("", "--eps connected", "--eps 0.1"):  # layouts have a drop of their own
        given = ["tsne", str(tmp_path / "x.npy"), "--kind", "eot", *asked.split(), "-q"]
        assert main(given) == 0
    assert capsys.readouterr().err == ""
