import json
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

import sparrot
from sparrot.errors import InvalidInputError
from sparrot.report._page import encode_array, encode_columns, encode_json

HOSTILE = [
    "</script><script>x</script>",
    "<!--<script>",
    "a & b \u2028 \ud800",
    "@script@",
    "\"'\\",
]
X = np.random.default_rng(0).standard_normal((80, 4))


@pytest.fixture(scope="module")
def summary():
    return sparrot.summarize(X, each_side=1)


class Reader(HTMLParser):
    """What a browser would make of the page: elements, and the text of scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(data)


def rendered(summary, **options):
    with TemporaryDirectory() as folder:
        sparrot.report.write_report(f"{folder}/report.html", summary, **options)
        return Path(folder, "report.html").read_text(encoding="utf-8")


def content(page):
    return json.loads(Reader(page).scripts[0])


def numbers(array):
    return np.frombuffer(b64decode(array["base64"]), dtype=f"<{array['type']}")


def test_the_page_needs_nothing_else(summary):
    tags = Reader(rendered(summary)).tags
    assert not [tag for tag, attrs in tags if {"src", "href", "srcset"} & attrs.keys()]
    policy = next(attrs["content"] for _, attrs in tags if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_the_page_says_what_the_summary_says(summary):
    data = content(rendered(summary, title="t", layouts={"plane": X[:, :2]}))
    assert data["chosen"] == 1
    assert data["title"] == "t"
    for said, step in zip(data["steps"], summary.steps, strict=True):
        assert said["eps"] == step.relative_eps
        assert np.allclose(numbers(said["embedding"]), step.embedding.ravel(), rtol=1e-6)
        assert np.array_equal(numbers(said["neighbors"]), step.neighbor_counts)
        assert "Optimal" in said["verdict"]
    assert np.allclose(numbers(data["layouts"][0]["xy"]), X[:, :2].ravel(), rtol=1e-6)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_the_data_comes_back_as_it_was_and_ends_nothing(summary, text):
    page = rendered(
        summary,
        names=[text] * 80,
        columns={text: [text, "b"] * 40},
        layouts={text: X[:, :2]},
        title=text,
        load=[f"X = {text!r}"],
    )
    plain = rendered(summary)
    assert [tag for tag, _ in Reader(page).tags] == [tag for tag, _ in Reader(plain).tags]
    assert Reader(page).scripts[1] == Reader(plain).scripts[1]
    data = content(page)
    kept = text.replace("\ud800", "?")  # half of a pair has no place in a file
    assert data["names"][0] == data["columns"][0]["name"] == data["layouts"][0]["name"] == kept
    assert kept in data["columns"][0]["categories"]


def test_the_lines_on_the_page_make_it_again(summary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", X)
    load = ['X = np.load("points.npy")', "names = list(range(80))"]
    first = rendered(summary, names=list(range(80)), load=load)
    for step, said in zip(summary.steps, content(first)["steps"], strict=True):
        names = {}
        exec(said["code"], names)
        assert names["a"].certificate.marginal_error <= 1e-8
        assert np.array_equal(names["embedding"], step.embedding)
    made = content((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert made["names"] == content(first)["names"]
    for said, step in zip(made["steps"], summary.steps, strict=True):
        assert said["eigenvalues"] == step.eigenvalues.tolist()


def test_what_differs_from_the_default_is_in_the_lines():
    s = sparrot.summarize(X, metric="cosine", tol=1e-6, each_side=1, span=2.0, search="auto")
    code = content(rendered(s))["steps"][0]["code"]
    assert (
        "sparrot.qot(X, eps=0.5, metric='cosine', tol=1e-06, search='auto', min_neighbors=5.0)"
        in code
    )
    assert "each_side=1, span=2.0" in code


@pytest.mark.parametrize(
    ("floor", "about", "line"),
    [
        ("auto", "at least 5 effective neighbors", "min_neighbors=5.0"),
        (None, "without a floor", "min_neighbors=None"),
    ],
)
def test_the_page_says_which_floor_there_is(floor, about, line):
    s = sparrot.summarize(X, each_side=1, min_neighbors=floor)
    page = content(rendered(s))
    assert about in page["about"]
    assert line in page["steps"][0]["code"]


def test_columns_are_numbers_or_categories():
    frame = pd.DataFrame(
        {
            "float": [0.5, np.nan, 1e300],
            "class": [10, 9, 10],
            "text": ["b", None, "a"],
            "flag": [True, False, True],
            "ordered": pd.Categorical(["late", "early", None], ["early", "mid", "late"]),
        }
    )
    encoded, notes = encode_columns(frame, 3)
    by_name = {column["name"]: column for column in encoded}
    assert notes == []
    assert numbers(by_name["float"]["values"])[0] == 0.5
    assert not np.isfinite(numbers(by_name["float"]["values"])[1:]).any()
    assert by_name["class"]["categories"] == ["9", "10"]
    assert by_name["text"]["categories"] == ["a", "b"]
    assert list(numbers(by_name["text"]["codes"])) == [1, 0xFFFF, 0]
    assert by_name["flag"]["categories"] == ["False", "True"]
    assert by_name["ordered"]["categories"] == ["early", "late"]
    assert list(numbers(by_name["ordered"]["codes"])) == [1, 0, 0xFFFF]


def test_missing_entries_of_nullable_columns_are_missing():
    frame = pd.DataFrame(
        {
            "flag": pd.array([True, None, False], dtype="boolean"),
            "text": pd.array(["b", None, "a"], dtype="string"),
            "class": pd.array([7, None, 5], dtype="Int64"),
            "number": pd.array([0.5, None, 2.0], dtype="Float64"),
        }
    )
    by_name = {column["name"]: column for column in encode_columns(frame, 3)[0]}
    for name, categories in {
        "flag": ["False", "True"],
        "text": ["a", "b"],
        "class": ["5", "7"],
    }.items():
        assert by_name[name]["categories"] == categories
        assert list(numbers(by_name[name]["codes"])) == [1, 0xFFFF, 0]
    assert np.array_equal(numbers(by_name["number"]["values"]), [0.5, np.nan, 2], equal_nan=True)
    many = pd.DataFrame({"id": pd.array([*range(31), None], dtype="Int64")})
    (column,), _ = encode_columns(many, 32)
    assert column["kind"] == "numbers"
    assert np.array_equal(numbers(column["values"]), [*range(31), np.nan], equal_nan=True)


@pytest.mark.parametrize(
    "entries", [list(range(40)), [1, 2, None] * 20, [0.5, 1.5, 0.25]], ids=["many", "NaN", "floats"]
)
def test_numbers_that_are_declared_categories_get_a_legend(entries):
    column = pd.Categorical(entries)
    (encoded,), notes = encode_columns({"c": pd.Series(column)}, len(entries))
    assert notes == []
    assert encoded["categories"] == [str(c) for c in column.categories]
    codes = numbers(encoded["codes"])
    assert np.array_equal(np.where(codes == 0xFFFF, -1, codes.astype(int)), column.codes)


def test_a_layout_with_a_hole_is_left_out_and_the_page_says_so(summary):
    broken = X[:, :2].copy()
    broken[3, 1] = np.nan
    page = rendered(summary, layouts={"X_umap": broken, "plane": X[:, :2]})
    data = content(page)
    assert [layout["name"] for layout in data["layouts"]] == ["plane"]
    (note,) = data["notes"]
    assert note.startswith("layout X_umap is left out: it contains NaN at row 3, column 1")


def test_a_layout_beyond_float32_is_left_out_by_name(summary):
    huge = X[:, :2] * 1e39
    page = rendered(summary, layouts={"X_far": huge, "plane": X[:, :2] * 1e37})
    data = content(page)
    assert [layout["name"] for layout in data["layouts"]] == ["plane"]
    (note,) = data["notes"]
    assert note.startswith("layout X_far is left out: it has numbers up to 3e+39, beyond the range")


def test_a_potential_beyond_float32_is_refused_by_name():
    far = sparrot.summarize(X * 1e25, each_side=1)
    with pytest.raises(InvalidInputError, match=r"the potential has numbers .* beyond the range"):
        rendered(far)


def test_many_integers_are_numbers_and_too_many_names_are_no_color():
    n = 1001
    encoded, notes = encode_columns({"id": np.arange(n), "name": [f"c{i}" for i in range(n)]}, n)
    assert [(column["name"], column["kind"]) for column in encoded] == [("id", "numbers")]
    assert notes == ["column name has over 1000 different entries: no color is offered"]


def test_arrays_keep_their_order_whatever_their_layout():
    A = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    assert list(numbers(encode_array(A, "f4"))) == [1, 2, 3, 4]


def test_numbers_that_json_cannot_say_are_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        encode_json(float("nan"))


def test_a_report_appears_whole_or_not_at_all(summary, tmp_path):
    with pytest.raises(sparrot.InvalidInputError, match="each of 80 points, got 3"):
        sparrot.report.write_report(tmp_path / "a.html", summary, names=["a", "b", "c"])
    assert list(tmp_path.iterdir()) == []
    sparrot.report.write_report(tmp_path / "new" / "a.html", summary)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.html"]


@pytest.mark.parametrize(
    ("parameter", "value", "complaint"),
    [
        (
            "columns",
            {"a": [1, 2]},
            r"an entry for each of 80 points, but column 'a' has shape \(2,",
        ),
        ("layouts", {"l": X}, r"must have shape \(80, 2\), but 'l' has shape \(80, 4\)"),
        ("names", ["a", "b"], "must be one for each of 80 points, got 2"),
    ],
)
def test_what_does_not_fit_the_points_is_refused(summary, parameter, value, complaint):
    with pytest.raises(sparrot.InvalidInputError, match=f"^{parameter} .*{complaint}") as caught:
        rendered(summary, **{parameter: value})
    assert (caught.value.parameter, caught.value.value) == (parameter, value)


def test_every_category_has_a_color_of_its_own(summary):
    columns = {"few": ["a", "b"] * 40, "many": [f"type {k}" for k in range(80)]}
    palette = content(rendered(summary, columns=columns))["palette"]
    assert len(palette) == len(set(palette)) == 80
