import warnings

import numpy as np
import pytest

import sparrot
from problems import points
from sparrot.spectral import eigenpairs


@pytest.fixture(scope="module")
def spiral():
    X = points("spiral")
    return X, sparrot.summarize(X)


def test_each_step_is_the_affinity_at_its_eps(spiral):
    X, s = spiral
    for step in (s.steps[0], s.steps[s.chosen], s.steps[-1]):
        a = sparrot.qot(X, step.relative_eps, min_neighbors=5)
        # both plans have marginals within tol; W is 1-Lipschitz in u/eps, u known to about n tol
        assert np.allclose(step.perplexity, sparrot.perplexity(a), rtol=1e-4)
        assert np.array_equal(step.neighbor_counts, np.diff(a.matrix.indptr))
        assert np.allclose(
            step.eigenvalues, eigenpairs(a.matrix, 10, components="each").values, atol=1e-6
        )
        assert step.n_connected_components == a.n_connected_components


def test_the_chosen_eps_stands_in_the_middle(spiral):
    _, s = spiral
    eps = np.array([step.relative_eps for step in s.steps])
    assert eps[s.chosen] == 1.0
    assert np.allclose(np.diff(np.log(eps)), np.log(4) / 3)
    assert (s.shape, s.metric, s.tol, s.span) == ((400, 50), "sqeuclidean", 1e-8, 4.0)


def test_turning_keeps_the_space_of_the_eigenvectors_and_their_scale(spiral):
    X, s = spiral
    for step in s.steps:
        W = sparrot.qot(X, step.relative_eps, min_neighbors=5).matrix
        V = eigenpairs(W, 5, components="each").vectors[:, 1:]
        Y = step.embedding / np.sqrt(len(X))
        assert np.allclose(Y.T @ Y, np.eye(4), atol=1e-9)
        assert np.allclose(V @ (V.T @ Y), Y, atol=1e-5)


def test_no_other_turn_brings_consecutive_embeddings_nearer(spiral):
    _, s = spiral
    rng = np.random.default_rng(0)
    for here, there in zip(s.steps[:-1], s.steps[1:], strict=True):
        apart = np.linalg.norm(here.embedding - there.embedding)
        turns = [np.diag(signs) for signs in np.array([[1, 1, 1, -1], [1, -1, 1, 1]])]
        turns += [np.linalg.qr(np.eye(4) + 0.3 * rng.standard_normal((4, 4)))[0] for _ in range(30)]
        for turn in turns:
            assert apart <= np.linalg.norm(here.embedding @ turn - there.embedding) + 1e-9


def test_the_chosen_embedding_is_not_turned(spiral):
    X, s = spiral
    W = sparrot.qot(X, 1.0, min_neighbors=5).matrix
    V = eigenpairs(W, 5, components="each").vectors[:, 1:]
    assert np.allclose(s.steps[s.chosen].embedding, np.sqrt(len(X)) * V, atol=1e-5)


def test_a_graph_in_two_pieces_is_told_apart_by_its_first_coordinate():
    X = np.vstack([points("gaussian", 40), points("gaussian", 60) + 100.0])
    s = sparrot.summarize(X, eps=0.01, each_side=1)
    Y = s.steps[s.chosen].embedding
    assert s.steps[s.chosen].n_connected_components == 2
    # constant on each piece, orthogonal to the constant, of mean square one
    expected = np.r_[np.full(40, np.sqrt(60 / 40)), np.full(60, -np.sqrt(40 / 60))]
    assert np.allclose(np.abs(Y[:, 0]), np.abs(expected), atol=1e-6)
    assert np.allclose(Y.mean(axis=0), 0, atol=1e-6)


def test_a_perplexity_is_met_by_the_chosen_step():
    s = sparrot.summarize(points("gaussian"), perplexity=20, each_side=1)
    assert abs(s.steps[s.chosen].perplexity.mean() - 20) < 0.2


def test_the_search_and_its_neighbors_are_those_of_the_path():
    X = points("spiral")
    nearest = sparrot.KNeighborsTransformer(n_neighbors=150)
    s = sparrot.summarize(X, 0.1, each_side=1, search="approximate", neighbors=nearest)
    assert s.search == "approximate"
    for step in s.steps:
        a = sparrot.qot(
            X, step.relative_eps, min_neighbors=5, search="approximate", neighbors=nearest
        )
        assert not step.certificate.exact
        assert np.allclose(step.perplexity, sparrot.perplexity(a), rtol=1e-4)  # as without a search


def test_as_many_steps_as_the_solver_may_take_are_passed_on():
    with pytest.raises(sparrot.NotConvergedError):
        sparrot.summarize(points("spiral"), max_iter=1)


def test_warnings_are_kept_with_their_step_and_not_raised():
    X = np.vstack([points("gaussian"), np.full((1, 30), 1e4)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = sparrot.summarize(X, 1.0, each_side=1)
    with pytest.warns(sparrot.AffinityWarning) as caught:
        sparrot.qot(X)
    kept = [str(warning) for warning in s.steps[s.chosen].warnings]
    assert kept == [str(w.message) for w in caught]
    assert "drop these outliers" in " ".join(kept)
    steps = sparrot.summarize(X, each_side=1).steps
    assert steps[1].relative_eps < 0.01  # by default outliers do not inflate it
    assert not steps[1].warnings


def test_four_points_are_enough_and_three_are_not():
    X = np.eye(4)
    assert sparrot.summarize(X).steps[0].embedding.shape == (4, 2)
    with pytest.raises(sparrot.InvalidInputError, match="at least 4 points, got 3"):
        sparrot.summarize(X[:3])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"span": 1.0}, "more than 1"),
        ({"each_side": 0}, "each_side"),
        ({"n_eigenvalues": 4}, "less than n_eigenvalues = 4, got 4"),
        ({"n_components": 1}, "at least 2"),
        ({"eps": 1.0, "perplexity": 5.0}, "not both"),
        ({"eps": 1.0, "n_neighbors": 5}, "eps or n_neighbors, not both"),
        ({"min_neighbors": 4, "n_neighbors": 5}, "n_neighbors or min_neighbors, not both"),
    ],
)
def test_wrong_arguments_are_refused(arguments, complaint):
    with pytest.raises(sparrot.InvalidInputError, match=complaint):
        sparrot.summarize(points("gaussian", 50), **arguments)


@pytest.mark.parametrize("name", ["gaussian", "cauchy", "digits"])
def test_every_point_has_as_many_neighbors_as_were_asked_for_at_every_eps(name):
    X = points(name, 200)
    s = sparrot.summarize(X, n_neighbors=15)
    expected = sparrot.qot(X, n_neighbors=15)
    assert set(s.min_neighbors) == {15.0}
    assert s.steps[s.chosen].relative_eps == pytest.approx(expected.relative_eps)
    assert np.allclose(s.steps[s.chosen].perplexity, sparrot.perplexity(expected), rtol=1e-4)
    for step in s.steps:
        assert max(step.certificate.floor_violation, step.certificate.complementarity) <= 1e-8
        assert np.median(step.perplexity) < 1.3 * 15


def test_every_eps_has_the_floor_that_was_asked_for():
    X = points("gaussian", 80)
    for asked, floor in (("auto", 5.0), (7, 7.0), (None, None), (0, None)):
        s = sparrot.summarize(X, 0.2, each_side=1, min_neighbors=asked)
        assert (None if s.min_neighbors is None else s.min_neighbors.min()) == floor
        for step in s.steps:
            a = sparrot.qot(X, step.relative_eps, min_neighbors=floor)
            assert np.allclose(step.perplexity, sparrot.perplexity(a), rtol=1e-4)
    s = sparrot.summarize(X, perplexity=8, each_side=1)
    assert set(s.min_neighbors) == {4.0}
