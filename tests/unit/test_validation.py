"""What users pass in, checked at the boundary."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, coo_matrix, csr_array

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
        (lambda W: W * np.arange(1, 6), "symmetric, but W and its transpose differ by 4"),
        (np.triu, "symmetric, but W and its transpose differ by 1"),
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


def test_entries_that_are_stored_in_parts_are_symmetric_where_their_sums_are():
    W = csr_array(
        (np.array([1.0, 2.0, 2.5, 0.5]), np.array([1, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2)
    )
    assert as_affinity(W).toarray().tolist() == [[0.0, 3.0], [3.0, 0.0]]


def test_a_stored_zero_is_no_edge_and_the_matrix_stays_as_it_was():
    i, j = [0, 1, 2, 3, 1, 2], [1, 0, 3, 2, 2, 1]  # two pairs, and a zero between them
    W = csr_array(([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], (i, j)), shape=(4, 4))
    assert as_affinity(W).nnz == 4
    assert sparrot.geometry.geodesic_distances(W, 0)[2] == np.inf
    assert sparrot.eigenpairs(W, 2, components="each").n_connected_components == 2
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


OTHER_THINGS = {
    "a generator": lambda: (row for row in RING),
    "an iterator": lambda: iter(RING),
    "a dictionary": lambda: {"a": [1, 2], "b": [3, 4]},
    "rows that are dictionaries": lambda: [{"a": 1}, {"a": 2}],
    "a set": lambda: {1, 2, 3},
    "a function": lambda: len,
    "a structured array": lambda: np.zeros(5, dtype=[("a", float), ("b", float)]),
    "a matrix of records": lambda: np.zeros((5, 2), dtype=[("a", float), ("b", float)]),
    "a sparse vector": lambda: coo_array(np.arange(5.0)),
    "a sparse data frame": lambda: pd.DataFrame.sparse.from_spmatrix(coo_matrix(RING)),
    "two columns of one name": lambda: pd.DataFrame(RING[:, :2], columns=["a", "a"]),
    "a number beyond float64": lambda: [[10**400, 1], [2, 3]],
    "complex numbers": lambda: RING + 0j,
    "complex numbers in a list": lambda: [[1j, 2], [3, 4]],
    "complex numbers as objects": lambda: (RING + 1j).astype(object),
    "complex numbers in a sparse matrix": lambda: csr_array(RING + 1j),
    "complex numbers in a data frame": lambda: pd.DataFrame(RING + 1j),
}
TAKE_MATRICES = {
    "qot": sparrot.qot,
    "QOT": lambda X: sparrot.QOT().fit(X),
    "project": sparrot.project,
    "perplexity": sparrot.perplexity,
    "eigenpairs": lambda W: sparrot.eigenpairs(W, 1),
}


@pytest.mark.parametrize("call", TAKE_MATRICES.values(), ids=TAKE_MATRICES)
@pytest.mark.parametrize("make", OTHER_THINGS.values(), ids=OTHER_THINGS)
def test_what_is_no_matrix_is_the_same_error_everywhere(make, call):
    with pytest.raises(InvalidInputError, match=r"^(X|K|W) ") as raised:
        call(make())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("eps", [10**400, -(10**400), 1 + 1j, "1", True])
def test_an_eps_that_is_no_number_of_float64_is_refused(eps):
    with pytest.raises(InvalidInputError, match=r"^eps must be positive|^eps must be a number"):
        sparrot.qot(RING, eps)


def test_complex_vectors_are_refused_and_not_cast():
    X = np.random.default_rng(0).standard_normal((8, 2))
    bad = np.ones(8) + 0j
    for call in (
        lambda: sparrot.qot(X, potential=bad),
        lambda: sparrot.qot(X, min_neighbors=2 * bad),
        lambda: sparrot.transport(bad, np.ones(8), X @ X.T, 1.0),
        lambda: sparrot.spectral.laplace(sparrot.qot(X), bad),
    ):
        with pytest.raises(InvalidInputError):
            call()


@pytest.mark.parametrize("value", ["30", True, [30]])
def test_a_perplexity_must_be_a_number(value):
    with pytest.raises(InvalidInputError, match="perplexity must be a number"):
        sparrot.qot(RING, perplexity=value)
