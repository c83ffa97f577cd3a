import pytest

from sparrot.cli.complaints import in_flags


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ("eps must be positive, got -1", "--eps must be positive, got -1"),
        ("k must be an integer from 1 to 9", "--neighbors must be an integer from 1 to 9"),
        (
            "holds 2 affinities (a, b); name one by key=",
            "holds 2 affinities (a, b); name one by --affinity",
        ),
        (
            "a.npz is an affinity; sparrot.load reads it",
            "a.npz is an affinity; `sparrot embed`, `cluster`, `tsne` and `info` take it",
        ),
        (
            "Take a larger eps or more neighbors, components='largest', or components='each'",
            "Take a larger eps or more neighbors",
        ),
        (
            "raise max_iter or tol. The best iterate is in `.result` of this error",
            "raise --max-iter or --tol",
        ),
        (
            "checkpoint is for search='exact' with solver='active-set' or 'auto', got "
            "search='approximate', solver='auto'",
            "--checkpoint is for --search exact, got --search approximate",
        ),
        (
            "metric='precomputed' needs a square matrix",
            "--metric precomputed needs a square matrix",
        ),
    ],
)
def test_remedies_name_flags_where_python_names_arguments(said, here):
    assert in_flags(said) == here


@pytest.mark.parametrize(
    "said",
    [
        "there is no file runs/eps=0.1/tol.npy",
        "take a larger eps (it is 1 x the mean cost)",
        "'max_iter' is no file",
    ],
)
def test_other_words_stay_as_they_are(said):
    assert in_flags(said) == said
