import numpy as np
import pandas as pd
import pytest
from scipy.sparse import block_diag, csr_array

import sparrot


def shown(ax):
    return np.ma.filled(ax.images[0].get_array(), 0.0)


def test_rows_and_columns_are_in_the_order_of_the_labels():
    W = np.arange(16.0).reshape(4, 4)
    W = W + W.T
    ax = sparrot.plot.affinity(W, ["b", "a", "b", "a"])
    order = [1, 3, 0, 2]
    assert np.array_equal(shown(ax), W[np.ix_(order, order)])
    assert [text.get_text() for text in ax.texts] == ["a", "b"]


def test_blocks_keep_the_order_of_categories_and_what_is_missing_comes_last():
    labels = pd.Categorical(["b", None, "a", "b"], ["b", "a"])
    W = np.diag([1.0, 2.0, 3.0, 4.0])
    ax = sparrot.plot.affinity(W, labels)
    assert np.array_equal(shown(ax).diagonal(), [1, 4, 3, 2])
    assert [text.get_text() for text in ax.texts] == ["b", "a", "missing"]


def test_a_large_matrix_is_shown_by_the_means_of_its_blocks():
    block = csr_array(np.full((10, 10), 0.1))
    W = csr_array(block_diag([block] * 90))
    image = shown(sparrot.plot.affinity(W))
    assert image.shape == (300, 300)
    tiles = W.toarray().reshape(300, 3, 300, 3).mean(axis=(1, 3))
    assert np.allclose(image, tiles)
    assert np.isclose(image.mean(), W.mean())


def test_a_hundred_thousand_points_need_no_square_array():
    ring = csr_array((np.ones(100_000), (np.arange(100_000), np.roll(np.arange(100_000), 1))))
    image = shown(sparrot.plot.affinity(ring + ring.T))
    assert image.shape == (300, 300)
    assert np.count_nonzero(image) == 3 * 300


def test_names_of_thin_blocks_do_not_overlap():
    labels = np.repeat(["a", "b", "c", "d", "e"], [300, 2, 2, 2, 300])
    ax = sparrot.plot.affinity(csr_array(np.ones((606, 606))), labels)
    heights = np.array([text.xyann[1] for text in ax.texts])
    assert np.diff(heights).min() >= 0.045 * 606 - 1e-9
    assert 0 < heights.min() <= heights.max() < 606


def test_an_empty_matrix_is_drawn_and_wrong_labels_are_refused():
    assert not shown(sparrot.plot.affinity(csr_array((5, 5)))).any()
    with pytest.raises(sparrot.InvalidInputError, match=r"^labels must be 5 categories") as caught:
        sparrot.plot.affinity(csr_array((5, 5)), ["a"])
    assert caught.value.parameter == "labels"
