"""What users pass in, checked at the boundary."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix, csr_array

import sparrot
from sparrot._validation import as_affinity
from sparrot.errors import InvalidInputError

RING = np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0)


def test_an_affinity_may_be_a_result_sparse_or_dense():
    result = sparrot.qot(np.random.default_rng(0).standard_normal((20, 3)))
    assert (as_affinity(result) != result.matrix).nnz == 0
    assert isinstance(as_affinity(coo_matrix(RING)), csr_array)
    np.testing.assert_array_equal(as_affinity(RING), RING)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda W: W[:4], "square"),
        (lambda W: -W, "negative"),
        (lambda W: W * np.arange(1, 6), "symmetric"),
        (lambda W: np.where(W > 0, np.nan, W), "finite"),
    ],
)
def test_what_is_no_affinity_is_refused_by_name(form, spoil, message):
    with pytest.raises(InvalidInputError, match=message):
        as_affinity(form(spoil(RING)))


def test_rounding_is_not_asymmetry():
    W = RING * 0.1
    W[0, 1] *= 1 + 1e-15
    assert as_affinity(W)[0, 1] > 0


def test_a_stored_zero_is_no_edge_and_the_matrix_stays_as_it_was():
    i, j = [0, 1, 2, 3, 1, 2], [1, 0, 3, 2, 2, 1]  # two pairs, and a zero between them
    W = csr_array(([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], (i, j)), shape=(4, 4))
    assert as_affinity(W).nnz == 4
    assert sparrot.geometry.geodesic_distances(W, 0)[2] == np.inf
    assert sparrot.eigenpairs(W, 2, components="each").n_components == 2
    assert W.nnz == 6


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "X is None"),
        ("cells.csv", "'cells.csv'; .*sparrot.read_points"),
        (np.arange(9.0), r"shape \(9,\).*Reshape your data"),
        (RING + 1j, r"X has shape \(5, 5\) and dtype complex128. Complex data not supported"),
        (RING.view(np.matrix), r"np.matrix of shape \(5, 5\)"),
        (np.ma.masked_equal(RING, 0), "15 masked entries"),
        (np.full((50, 2), "word"), r"X of shape \(50, 2\) is no matrix of numbers"),
        ([[1.0], [2.0, 3.0]], "X is no matrix"),
        (
            pd.DataFrame({"size": [1.0, 2.0], "name": ["a", "b"], "when": pd.to_datetime([0, 1])}),
            "these are not: 'name', 'when'; drop",
        ),
    ],
)
def test_what_is_no_matrix_is_named_and_never_printed(X, message):
    with pytest.raises(InvalidInputError, match=message) as raised:
        sparrot.qot(X)
    assert len(str(raised.value)) < 250


def test_numbers_in_odd_clothes_are_taken():
    whole = np.ma.masked_array(RING, mask=False)
    for X in (whole, RING.astype(object), pd.DataFrame(RING).astype(object), RING.tolist()):
        assert (sparrot.qot(X).matrix != sparrot.qot(RING).matrix).nnz == 0


@pytest.mark.parametrize("size", [1e200, 1e308])
def test_points_that_overflow_are_refused_without_other_warnings(size):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[3, 1] = size
    for metric in ("sqeuclidean", "euclidean"):
        with pytest.raises(InvalidInputError, match="squares overflow"):
            sparrot.qot(X, metric=metric)


@pytest.mark.parametrize("value", ["30", True, [30]])
def test_a_perplexity_must_be_a_number(value):
    with pytest.raises(InvalidInputError, match="perplexity must be a number"):
        sparrot.qot(RING, perplexity=value)
