import numpy as np
import pandas as pd
import pytest

from sparrot.plot._categories import as_categories, in_order


def test_labels_come_in_the_order_of_their_numbers():
    assert in_order([10, 9, 1]) == ["1", "9", "10"]
    assert in_order(["x²", "x2", "", "x10"]) == ["", "x2", "x10", "x²"]


@pytest.mark.parametrize("as_column", [pd.Series, lambda categorical: categorical])
def test_categorical_labels_keep_the_order_of_their_categories(as_column):
    labels = as_column(pd.Categorical(["late", "early", None], ["early", "mid", "late"]))
    names, codes = as_categories(labels)
    assert names == ["early", "late"]
    assert codes.tolist() == [1, 0, -1]


def test_numbers_as_categories_are_named_as_they_are_though_some_are_missing():
    names, codes = as_categories(pd.Categorical([3, None, 2], [2, 3]))
    assert (names, codes.tolist()) == (["2", "3"], [1, -1, 0])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_whatever_stands_for_nothing_is_missing(missing):
    names, codes = as_categories(["b", missing, "a"])
    assert (names, codes.tolist()) == (["a", "b"], [1, -1, 0])
