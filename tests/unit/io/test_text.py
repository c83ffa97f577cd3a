"""Text files: what a column is gets decided by all of it, and nothing is dropped without a word."""

import json
import shlex
import warnings
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

import sparrot
from sparrot.cli import main
from sparrot.errors import AffinityWarning, InvalidInputError
from sparrot.io._points import list_columns, read_matrix, read_names

NAN = float("nan")


@pytest.fixture
def read(tmp_path):
    """Read a text, and say what it was taken for: points, row names, warnings."""

    def read_text(text, **options):
        path = tmp_path / "a.csv"
        path.write_text(text)
        with pytest.MonkeyPatch.context() as patched:
            said = []
            patched.setattr("sparrot.io._text.warn", lambda warning: said.append(str(warning)))
            X = read_matrix(path, **options)
        said_of_columns = ("label", "without")
        options = {name: value for name, value in options.items() if name not in said_of_columns}
        return X.tolist(), read_names(path, **options), said

    return read_text


@pytest.mark.parametrize("missing", ["", "NA", "nan", "NaN", "null", "N/A", "None"])
@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("header", ["height,width\n", ""])
def test_a_missing_cell_anywhere_is_a_missing_number(read, header, column, row, missing):
    cells = [["1.5", "2"], ["3", "4"], ["5", "6"]]
    cells[row][column] = missing
    expected = [
        [float(cell or "nan") if cell != missing else NAN for cell in line] for line in cells
    ]
    text = header + "".join(",".join(line) + "\n" for line in cells)
    X, names, _ = read(text)
    assert np.array_equal(X, expected, equal_nan=True)
    assert names is None


def test_a_missing_cell_is_refused_where_points_are_wanted(tmp_path):
    (tmp_path / "a.csv").write_text("height,width\n,2\n3,4\n")
    with pytest.raises(InvalidInputError, match="no number in column 'height' on line 2"):
        sparrot.read_points(tmp_path / "a.csv")


@pytest.mark.parametrize("quoted", ['"1.5"', ' "1.5"', '" 1.5 "', " 1.5 ", "1.5e0", "+1.5"])
def test_a_number_may_be_quoted_and_have_spaces(read, quoted):
    if quoted.startswith(' "'):  # a quote after a space is a part of the field
        quoted = quoted.strip()
    for text in (f"h,w\n{quoted},2\n3,4\n", f"{quoted},2\n3,4\n", f"h,w\n3,4\n{quoted},2\n"):
        X, names, said = read(text)
        assert sorted(X) == [[1.5, 2], [3, 4]]
        assert names is None
        assert said == []


@pytest.mark.parametrize(
    ("text", "points", "names"),
    {
        "a word and years above numbers": ("gene,2019,2020\n1,2,3\n4,5,6\n", 3, None),
        "a number among words": ("a,1,b\n1,2,3\n4,5,6\n", 3, None),
        "words above numbers": ("a,b,c\n1,2,3\n4,5,6\n", 3, None),
        "an index of pandas": (",5,7\n0,2,3\n1,5,6\n", 2, ["0", "1"]),
        "an index with gaps has a name": ("cell,a,b\nx,2,3\ny,5,6\n", 2, ["x", "y"]),
        "a table of R with years": ("2019,2020\nx,2,3\ny,5,6\n", 2, ["x", "y"]),
        "names and words": ("a,b,c\nx,2,3\ny,5,6\n", 2, ["x", "y"]),
    }.values(),
)
def test_a_header_is_known_by_the_columns_below_it(read, text, points, names):
    X, found, said = read(text)
    assert np.shape(X) == (2, points)
    assert found == (None if names == ["0", "1"] else names)
    assert said == []


def test_a_header_after_names_that_is_all_numbers_is_in_doubt(read):
    text = "cell,2019,2020\na,1,2\nb,3,4\n"
    X, names, said = read(text)
    assert X == [[2019, 2020], [1, 2], [3, 4]]
    assert names == ["cell", "a", "b"]
    assert len(said) == 1
    assert said[0].endswith("as in a header; give header=True if it is one")
    X, names, said = read(text, header=True)
    assert (X, names, said) == ([[1, 2], [3, 4]], ["a", "b"], [])


def test_a_first_column_of_numbers_and_words_is_named_and_may_be_claimed(read):
    text = "height,width\n1,2\nx7,4\n5,6\n"
    X, names, said = read(text)
    assert X == [[2], [4], [6]]
    assert names == ["1", "x7", "5"]
    assert len(said) == 1
    assert "the first column, 'height', has words in 1 of 3 rows ('x7' on line 3)" in said[0]
    assert said[0].endswith("give names=False if it is a feature")
    with pytest.raises(InvalidInputError, match=r"'x7' on line 3, column 'height', is no number"):
        read(text, names=False)


def test_what_is_said_about_the_file_is_believed(read):
    assert read("1,2\n3,4\n", header=True)[0] == [[3, 4]]
    assert read("0,1\n3,4\n", header=False) == ([[0, 1], [3, 4]], None, [])
    assert read("1,2\n3,4\n", names=True) == ([[2], [4]], ["1", "3"], [])
    assert read("id,a\n0,5\n1,7\n", names=True)[0] == [[5], [7]]
    assert read("id,a\n0,5\n1,7\n", names=False)[2] == []


@pytest.mark.parametrize("number", ["1_000", "0x10", "1e", "1,5", "½", "1 2", "--1"])
def test_what_is_no_number_is_none(read, number):
    with pytest.raises(InvalidInputError):
        read(f'a,b\n1,"{number}"\n3,4\n5,6\n')


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".mtx"])
def test_options_of_text_are_for_text(tmp_path, suffix):
    (tmp_path / f"a{suffix}").touch()
    with pytest.raises(InvalidInputError, match=r"header is for \.csv and \.tsv"):
        sparrot.read_points(tmp_path / f"a{suffix}", header=True)


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_what_pandas_writes_is_read(tmp_path, seed, header, index):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rng.integers(2, 30), rng.integers(2, 6)))
    names = [f"cell {k}" for k in range(len(X))]
    frame = pd.DataFrame(X, index=names).add_prefix("feature ")
    frame.to_csv(tmp_path / "a.csv", header=header, index=index)
    assert np.array_equal(sparrot.read_points(tmp_path / "a.csv"), X)
    assert read_names(tmp_path / "a.csv") == (names if index else None)


def table(kinds):
    return "h,w,kind\n" + "".join(f"{k}.5,{k * k}.25,{kind}\n" for k, kind in enumerate(kinds))


def test_columns_of_text_are_left_out_with_one_line_that_names_them(read):
    text = table("ab" * 6)
    X, names, said = read(text)
    assert np.shape(X) == (12, 2)
    assert names is None
    (line,) = said
    said = "left out the column 'kind', which is not of numbers; to color by it, give label='kind'"
    assert line.endswith(said)
    assert read(text, label="kind")[0] == X
    assert read(text, label="kind")[2] == []
    (line,) = read("k,x,a,b\n" + "".join(f"r{k},{k}.5,u,v\n" for k in range(12)))[2]
    assert line.endswith("'a', 'b', which are not of numbers; to color by one, give label='a'")
    with pytest.raises(InvalidInputError, match="must have columns of numbers after the first"):
        read("h,w\na,b\nc,d\n")
    with pytest.raises(InvalidInputError, match="'x' on line 4, column 'h', is"):
        read(table("ab" * 6).replace("2.5,", "x,"), names=False)


def test_a_first_column_of_few_words_that_repeat_is_no_row_names(read, tmp_path):
    rows = [f"{'ab'[k % 2]},{k}.5,{k * k % 7}\n" for k in range(12)]
    text = f"kind,x,y\n{''.join(rows)}"
    X, names, said = read(text)
    assert (np.shape(X), names) == ((12, 2), None)
    assert said[0].endswith("'kind', which is not of numbers; to color by it, give label='kind'")
    assert read(text, label="kind") == (X, None, [])
    assert read(text, names=True) == (X, list("ab" * 6), [])
    assert sparrot.read_labels(tmp_path / "a.csv", "kind").tolist() == list("ab" * 6)
    assert "left out the column '0'" in read("".join(rows))[2][0]  # without a header


def test_a_word_among_numbers_does_not_matter_in_a_column_that_is_left_out(read):
    text = "x,age,y\n1,30,5\n2,?,6\n3,41,7\n"
    with pytest.raises(InvalidInputError, match=r"'\?' on line 3.* out by without='age'"):
        read(text)
    assert read(text, without=["age"])[0] == [[1, 5], [2, 6], [3, 7]]
    assert read(text, label="age")[0] == [[1, 5], [2, 6], [3, 7]]


def test_a_first_column_can_be_asked_for_by_its_name(read, tmp_path):
    text = "cell,x\n" + "".join(f"c{k},{k}.5\n" for k in range(12))
    cells = [f"c{k}" for k in range(12)]
    assert read(text)[1:] == (cells, [])
    assert read(text, label="cell")[::2] == (read(text)[0], [])
    assert sparrot.read_labels(tmp_path / "a.csv", "cell").tolist() == cells
    with pytest.raises(InvalidInputError, match="label must be a column"):
        sparrot.read_labels(tmp_path / "a.csv", "cell", names=True)


def test_a_last_column_of_few_integers_is_remarked_on(read):
    X, _, said = read(table([0, 1, 2] * 5))
    assert np.shape(X) == (15, 3)
    (line,) = said
    assert "the last column of numbers, 'kind', has integers that repeat" in line
    assert "; if it is a label, give label='kind', or if it is no feature, leave it out" in line
    assert np.shape(read(table([0, 1, 2] * 5), label="kind")[0]) == (15, 2)
    assert read(table([0, 1, 2] * 5), label="kind")[2] == []
    assert read(table(range(15)))[2] == []  # too many
    assert read(table([0.5, 1, 2] * 5))[2] == []  # no integers
    pixels = "".join(f"{k % 3},{k % 4},{k % 2}\n" for k in range(20))
    assert read(f"a,b,c\n{pixels}")[2] == []  # as all others have
    assert "'class'" in read(f"a,b,class\n{pixels}")[2][0]
    (line,) = read("x,a,year\n" + "".join(f"{k}.5,u,{k % 3}\n" for k in range(15)), label="a")[2]
    assert line.endswith("if it is no feature, leave it out by without='year'")


def rows(*columns):
    """Lines of numbers, of functions of the number of the line."""
    return "".join(",".join(str(f(k)) for f in columns) + "\n" for k in range(20))


AMONG = "column of numbers"


def half(k):
    return k * k + 0.5


@pytest.mark.parametrize(
    "name", ["label", "Labels", "CLASS", "cluster", "target", "cell_type", "y"]
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_column_with_the_name_of_labels_is_remarked_on_wherever_it_is(read, name, place):
    heading, columns = ["h", "w"], [half, half]
    heading.insert(place, name)
    columns.insert(place, lambda k: k % 9)
    X, _, (line,) = read(",".join(heading) + "\n" + rows(*columns))
    assert np.shape(X) == (20, 3)
    which = (f"first {AMONG}, {name!r},", f"column {name!r}", f"last {AMONG}, {name!r},")[place]
    assert f"the {which} has integers that repeat" in line
    assert f"give label={name!r}" in line
    assert f"leave it out by without={name!r}" in line
    assert read(",".join(heading) + "\n" + rows(*columns), without=[name])[2] == []


def test_what_only_has_the_name_or_only_the_integers_in_the_middle_is_a_feature(read):
    assert read("h,class,w\n" + rows(half, half, half))[2] == []  # no integers
    assert read("h,class,w\n" + rows(half, lambda k: k + 2, half))[2] == []  # all distinct
    assert read("h,class,w\n" + rows(half, lambda k: 0, half))[2] == []  # constant
    assert read("h,sex,w\n" + rows(half, lambda k: k % 2, half))[2] == []
    assert read(rows(half, lambda k: k % 2, half))[2] == []
    assert read("x,y,z\n" + rows(half, lambda k: k % 3, half))[2] == []  # coordinates


def test_a_first_column_of_few_integers_that_stands_out_is_remarked_on(read):
    (line,) = read("kind,h,w\n" + rows(lambda k: k % 3, half, half))[2]
    assert "the first column of numbers, 'kind', has integers that repeat" in line
    (line,) = read(rows(lambda k: k % 3, half, half))[2]
    assert "the first column of numbers, '0', has integers that repeat" in line
    assert "give label='0'" in line
    pixels = rows(lambda k: k % 3, lambda k: k % 7, half, half)  # of which not all are many
    assert read(pixels)[2] == []
    assert read("a,b,c,d\n" + pixels)[2] == []
    assert "'group', has integers" in read("group,b,c,d\n" + pixels)[2][0]
    assert read("a,b,c\n" + rows(lambda k: 0, half, half))[2] == []  # constant


@pytest.mark.parametrize("pair", ["x,y", "X,Y", "x_pos,y_pos", "x1,x2", "posx,posz", "x_1,x_2"])
def test_coordinates_on_a_grid_are_no_labels(read, pair):
    def grid(k):
        return f"{k % 3},{k // 3 % 3}"

    assert read(f"{pair},h,w\n" + rows(grid, half, half))[2] == []
    assert read(f"h,w,{pair}\n" + rows(half, half, grid))[2] == []


def test_a_coordinate_alone_may_be_a_label(read):
    assert "'x', has integers" in read("x,h,w\n" + rows(lambda k: k % 3, half, half))[2][0]
    assert "'y', has integers" in read("x1,x2,y\n" + rows(half, half, lambda k: k % 3))[2][0]


def write_frame(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)


def people(k):
    return f"{k % 2},{20 + k},{150.5 + k * k},{60.5 + 3 * k},{k // 3 % 2}\n"


def test_columns_that_stand_out_are_remarked_on_once(read):
    text = "sex,age,height,weight,smoker\n" + "".join(map(people, range(40)))
    (line,) = read(text)[2]
    assert "the last column of numbers, 'smoker', has integers" in line
    (line,) = read("s,h,w,class\n" + rows(lambda k: k % 2, half, half, lambda k: k % 9))[2]
    assert "the columns 'class', 's' have integers that repeat, as labels do, and were" in line
    assert "; if one is a label, give label='class', or if one is no feature, leave it" in line


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_symmetric_matrices_of_costs_have_no_labels_and_no_index(tmp_path, suffix, capsys):
    apart = np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0)))
    near = apart**1.5
    near[0, 1:] = near[1:, 0] = np.arange(1, 30) % 2 + 1
    path = tmp_path / f"a{suffix}"
    for name, C in {"id": apart, "class": near}.items():
        costs = pd.DataFrame(C, columns=[name, *(f"p{k}" for k in range(1, 30))])
        write_frame(costs, path)
        asked = ["affinity", str(path), "--metric", "precomputed", "--perplexity", "5", "--json"]
        assert main(asked) == 0
        assert json.loads(capsys.readouterr().out)["warnings"] == []
        write_frame(costs.iloc[:-2], path)  # as points, the same columns are remarked on
        with pytest.warns(AffinityWarning, match=f"the first column.*{name!r},"):
            sparrot.read_points(path)


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("header", ["", "id,h\n"])
def test_a_first_column_that_counts_the_rows_is_remarked_on(read, header, start):
    text = header + rows(lambda k: k + start, half)
    X, _, (line,) = read(text)
    assert np.shape(X) == (20, 2)
    name = "id" if header else "0"
    assert f"the first column, {name!r}, counts the rows, and was taken for a feature" in line
    assert line.endswith("give names=True if it is an index")
    assert np.shape(read(text, names=True)[0]) == (20, 1)
    for known in ({"names": True}, {"names": False}, {"without": [name]}):
        assert read(text, **known)[2] == []
    assert read(header + rows(lambda k: k + 2, half))[2] == []
    assert read(header + rows(half, lambda k: k + start))[2] == []  # not the first


def test_a_first_column_of_a_parquet_file_that_counts_the_rows_is_remarked_on(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"id": range(1, 21), "h": np.arange(20) ** 2 + 0.5}).to_parquet(path)
    with pytest.warns(AffinityWarning, match="the first column, 'id', counts the rows") as caught:
        assert sparrot.read_points(path).shape == (20, 2)
    assert str(caught[0].message).endswith("leave it out by without='id' if it is an index")
    assert sparrot.read_points(path, without="id").shape == (20, 1)


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", "ID", "", "time"])
@pytest.mark.parametrize("n", [4, 5])
def test_what_counts_the_rows_of_a_parquet_file_is_an_index_by_its_name(tmp_path, name, n):
    path = tmp_path / "a.parquet"
    pd.DataFrame({name: range(n), "h": np.arange(n) ** 2 + 0.5}).to_parquet(path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert sparrot.read_points(path).shape == (n, 2)
    assert len(said) == (n == 5 and name != "time")


@pytest.mark.parametrize("header", ["", "id,h\n"])
@pytest.mark.parametrize("n", [2, 4, 5])
def test_fewer_than_five_rows_are_not_counted(read, header, n):
    text = header + "".join(f"{k},{half(k)}\n" for k in range(n))
    assert len(read(text)[2]) == (n == 5)


def titanic():
    rng = np.random.default_rng(0)
    age, weight, survived = (rng.integers(*ends, 200) for ends in ((1, 80), (50, 100), (0, 2)))
    return np.column_stack([age, rng.exponential(30, 200), weight, rng.random(200), survived])


@pytest.mark.parametrize(
    ("X", "is_remarked_on"),
    [
        (np.column_stack(load_wine(return_X_y=True)), True),
        (np.column_stack(load_iris(return_X_y=True)), True),
        (titanic(), True),
        (titanic()[:, [0, 2, 4]], True),  # integers alone
        (load_digits().data, False),  # pixels
        (np.random.default_rng(0).poisson([1, 50, 200, 0.5], (200, 4)), False),  # counts
        (np.eye(4)[np.random.default_rng(0).integers(4, size=200)], False),  # one column is hot
    ],
    ids=["wine", "iris", "titanic", "integers", "digits", "counts", "one-hot"],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_label_stands_out_by_its_few_values(X, is_remarked_on, suffix, tmp_path):
    path, table = tmp_path / f"a{suffix}", pd.DataFrame(X).add_prefix("c")
    write_frame(table, path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert sparrot.read_points(path).shape == X.shape
    assert [f"'c{X.shape[1] - 1}', has integers" in str(w.message) for w in said] == (
        [True] if is_remarked_on else []
    )


def test_labels_are_read_as_numbers_where_they_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(table("ab" * 6))
    assert sparrot.read_labels(path, "kind").tolist() == list("ab" * 6)
    assert sparrot.read_labels(path, "w")[:2].tolist() == [0.25, 1.25]
    path.write_text(table([0, 1, 2] * 4))
    assert sparrot.read_labels(path, "kind").tolist() == [0, 1, 2] * 4
    for kinds in (["01", "2"], ["True", "False"], ["1", ""], ["1", "nan"], ["9" * 20, "1"]):
        path.write_text(table(kinds * 6))
        assert sparrot.read_labels(path, "kind").tolist() == kinds * 6
    path.write_text(table(["0.10", "-2"] * 6))
    assert sparrot.read_labels(path, "kind").tolist() == [0.1, -2] * 6


def test_labels_of_a_parquet_file_are_as_they_are(tmp_path):
    pandas, path = pytest.importorskip("pandas"), tmp_path / "a.parquet"
    pytest.importorskip("pyarrow")
    labels = {
        "name": ["0", "10", "01"],
        "is": [True, False, True],
        "many": pandas.Categorical(["0", "10", "0"]),
        "day": pandas.to_datetime(["2020-01-02"] * 3),
    }
    pandas.DataFrame({"x": [1.0, 2, 3]} | labels | {"y": [4, 5, 6]}).to_parquet(path)
    for label, values in labels.items():
        read = sparrot.read_labels(path, label)
        assert isinstance(read, np.ndarray)
        assert read.tolist() == np.asarray(values).tolist()
    with pytest.warns(AffinityWarning, match="columns 'name', 'many', 'day', which are not of num"):
        X = sparrot.read_points(path, label="is")
    assert X.tolist() == [[1, 4], [2, 5], [3, 6]]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_truth_values_are_words_in_every_table(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    table = pd.DataFrame({"x": [1.5, 2, 3, 4], "is": [True, False] * 2, "y": [5, 6, 7.5, 8]})
    write_frame(table, path)
    with pytest.warns(AffinityWarning, match="left out the column 'is', which is not of numbers"):
        assert sparrot.read_points(path).tolist() == table[["x", "y"]].to_numpy().tolist()
    assert [str(label) for label in sparrot.read_labels(path, "is")] == ["True", "False"] * 2
    assert sparrot.read_points(path, label="is").shape == (4, 2)
    words = {"words": ["is"], "empty": [], "names": []}
    assert list_columns(path) == {"numbers": ["x", "y"]} | words


def test_categories_of_integers_in_a_parquet_file_are_words(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": [1.5, 2, 3], "k": pd.Categorical([2, 0, 2])}).to_parquet(path)
    with pytest.warns(AffinityWarning, match="left out the column 'k', which is not of numbers"):
        assert sparrot.read_points(path).tolist() == [[1.5], [2], [3]]
    assert sparrot.read_labels(path, "k").tolist() == [2, 0, 2]


def test_text_in_another_encoding_is_to_be_saved_as_utf_8(tmp_path):
    (tmp_path / "a.csv").write_bytes("name,x\nch\u00e2teau,1\n".encode("latin-1"))
    with pytest.raises(InvalidInputError, match="not text in UTF-8") as error:
        sparrot.read_points(tmp_path / "a.csv")
    assert error.value.remedy == "save it as UTF-8"


def test_a_label_must_be_a_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(table("ab" * 6))
    with pytest.raises(InvalidInputError, match=r"label must be a column of .* 'h', 'w', 'kind'"):
        sparrot.read_labels(path, "color")


def test_the_command_line_has_the_same_options(tmp_path, capsys):
    path = tmp_path / "a.csv"
    rows = "".join(f"c{k},{k},{k * k}\n" for k in range(12))
    path.write_text(f"cell,1,2\n{rows}")
    assert main(["info", str(path)]) == 0
    said = capsys.readouterr()
    assert "13 in 2 dimensions" in said.out
    assert "give --header yes if it is one" in said.err
    assert main(["info", str(path), "--header", "yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 12
    target = tmp_path / "map.csv"
    assert main(["embed", str(path), "--header", "yes", "-q", "-o", str(target)]) == 0
    assert read_names(target) == [f"c{k}" for k in range(12)]
    assert main(["embed", str(path), "--names", "no"]) == 0
    assert "left out the column '0', which is not of numbers" in capsys.readouterr().err


def test_warnings_point_at_the_line_of_the_user(tmp_path):
    (tmp_path / "a.csv").write_text("0,1,2\n5,6,7\n")
    with pytest.warns(AffinityWarning, match="taken for a header") as warned:
        sparrot.read_points(tmp_path / "a.csv")
    assert warned[0].filename == __file__


TABLE = "a,b,day,kind\n1,2,3,x\n4,5,6,y\n7,,9,z\n"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_that_are_left_out_are_no_part_of_the_points(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    if suffix == ".csv":
        path.write_text(TABLE)
    else:
        pd.read_csv(StringIO(TABLE)).to_parquet(path)
    X = sparrot.read_points(path, label="kind", without=["b", "day"])
    assert X.tolist() == [[1], [4], [7]]
    assert sparrot.read_points(path, label="kind", without="b").shape == (3, 2)
    with pytest.raises(InvalidInputError, match=r"must be a column of .*got 'c'"):
        sparrot.read_points(path, without="c")
    with pytest.raises(InvalidInputError, match="leaves no column of numbers"):
        sparrot.read_points(path, label="kind", without=["a", "b", "day"])
    where = "on line 4" if suffix == ".csv" else r"at row 2 \(counted from 0\)"
    with pytest.raises(InvalidInputError, match=f"no number in column 'b' {where}, 1 s") as error:
        sparrot.read_points(path, label="kind")
    assert "without='b'" in str(error.value)


@pytest.mark.parametrize("number", ["1,000", "5%", "$7", "<0.1", "0,5"])
def test_numbers_that_are_not_read_are_no_row_names_without_a_word(read, number):
    X, names, said = read(f'dose,height\n"{number}",1.5\n"2{number}",2.5\n')
    assert X == [[1.5], [2.5]]
    assert names == [number, f"2{number}"]
    assert [number in line and "dose" in line for line in said] == [True]


@pytest.mark.parametrize("text", ["1,5;2,5\n3,5;4,5\n", "x;1,5;2\ny;2,5;3\n", "1,5|2,5\n3,5|4,5\n"])
def test_a_decimal_comma_does_not_make_columns(read, text):
    with pytest.raises(InvalidInputError, match=r"seem to be separated by '[;|]'"):
        read(text)


def test_a_first_line_of_numbers_unlike_those_below_may_be_a_header(read):
    X, _, said = read("2019,2020,2022\n0.5,1.5,2\n3.5,4.5,1\n")
    assert X[0] == [2019.0, 2020.0, 2022.0]
    assert ["header=True" in line for line in said] == [True]
    assert read("1,2,3\n4,5,6\n7,8,8\n")[2] == []


def test_a_point_with_a_slip_in_it_is_no_header_without_a_word(read):
    X, _, said = read("1.2O,0.35,2.71\n1.5,0.25,3\n2.5,0.5,4\n")
    assert len(X) == 2
    assert ["'0.35'" in line and "header=False" in line for line in said] == [True]
    assert read("dose,1,2\n1.5,0.25,3\n2.5,0.5,4\n")[2] == []


@pytest.mark.parametrize("header", ["x,y,", "x,y", "x,y, ", ""])
def test_a_delimiter_at_the_end_of_lines_makes_no_column(read, header):
    X, names, said = read(f"{header}\n1,2,\n3,4,\n")
    assert (X, names) == ([[1, 2], [3, 4]], None)
    (line,) = said
    assert "left out the last column, empty and without a name; end no line with ','" in line


def test_several_delimiters_at_the_end_of_lines_make_no_columns(read):
    X, _, (line,) = read("x,y,,\n1,2,,\n3,4,,\n")
    assert X == [[1, 2], [3, 4]]
    assert "left out the last 2 columns, empty and without a name" in line


def test_an_empty_column_that_has_a_name_or_follows_row_names_is_no_mere_delimiter(read, tmp_path):
    assert np.shape(read("x,y,z\n1,2,\n3,4,\n")[0]) == (2, 3)
    assert np.shape(read("x,y\na,1,\nb,2,\n")[0]) == (2, 2)  # as R writes a table
    assert list_columns(tmp_path / "a.csv") == {
        "numbers": ["x"],
        "words": [],
        "empty": ["y"],
        "names": [""],
    }
    with pytest.raises(InvalidInputError, match=r"leave that column out by without='y'$"):
        sparrot.read_points(tmp_path / "a.csv")


@pytest.mark.parametrize("comment", ["# made by me", "# by me, and you", "#", "# a\n\n# b,c,d"])
def test_comments_on_top_are_not_read(read, comment):
    assert read(f"{comment}\nx,y\n1,2\n3,4\n") == ([[1, 2], [3, 4]], None, [])
    assert read(f"{comment}\nx,y\n1,2\n", label="x")[0] == [[2]]


def test_a_header_or_name_that_begins_with_a_hash_is_no_comment(read, tmp_path):
    assert read("#x,y\n1,2\n3,4\n")[0] == [[1, 2], [3, 4]]
    assert list_columns(tmp_path / "a.csv")["numbers"] == ["#x", "y"]
    assert read("#1,2\n#2,3\n#3,4\n")[:2] == ([[2], [3], [4]], ["#1", "#2", "#3"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('x,y\n1,"1,000"\n2,3\n', "write 1000, without a separator of thousands, or leave"),
        (
            "x,y\n1,2\n2,oops\n3,4",
            "'oops' on line 3, column 'y', is no number; impute what is missing, or",
        ),
        ("x,y\n", "has no rows of numbers below its first line; write one row per point"),
    ],
)
def test_what_is_wrong_with_a_table_comes_with_what_helps(read, text, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        read(text)


def test_a_word_is_found_in_the_column_of_the_file_also_beside_row_names(read):
    found = "'b' on line 1, column '1' .columns are counted from 0, row names included., is no num"
    with pytest.raises(InvalidInputError, match=f"{found}.*header=True if the first line is a hea"):
        read("a,b\n1,2\n3,4\n", header=False)


@pytest.mark.parametrize("above", ["", "# made by me\n\n# and you\n"])
@pytest.mark.parametrize("header", ["", "x,y\n"])
@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ("?", "'[?]' on line {line}, column"),
        ("", "no number in column '[y1]' on line {line}"),
        ("1,2", "line {line} has 3 fields, and those before it have 2"),
    ],
)
def test_errors_name_the_line_of_the_file_as_editors_count_it(
    tmp_path, above, header, bad, complaint
):
    lines = f'{above}{header}1,2\n3,4\n\n"5\n",6\n7,{bad}\n8,9\n'
    (tmp_path / "a.csv").write_text(lines)
    line = 1 + lines.split("\n").index(f"7,{bad}")
    with pytest.raises(InvalidInputError, match=complaint.format(line=line)):
        sparrot.read_points(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["cell type", "a:b", "c!r", "{x}", "it's"])
def test_a_column_of_any_name_can_be_suggested(name, tmp_path, capsys):
    path = tmp_path / "a.csv"
    rows = "".join(f"{k}.5,{k * k % 7}.5,{'uv'[k % 2]}\n" for k in range(20))
    path.write_text(f"x,y,{name}\n{rows}")
    with pytest.warns(AffinityWarning) as caught:
        sparrot.read_points(path)
    assert str(caught[0].message).endswith(f"to color by it, give label={name!r}")
    for command in ("affinity", "path", "cluster", "info"):  # of which one shows labels
        assert main([command, str(path)]) == 0
        (line,) = (line for line in capsys.readouterr().err.splitlines() if "left out" in line)
        if command == "affinity":
            assert shlex.split(line.partition("give ")[2]) == ["--label", name]
        else:
            assert line.endswith("which is not of numbers")
