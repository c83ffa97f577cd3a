"""A new affinity is a function, an estimator and a line in the table of kinds: then all know it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import sparrot
from sparrot.affinity._estimator import AffinityEstimator
from sparrot.affinity._kinds import KINDS, Kind, kinds
from sparrot.affinity._registry import build
from sparrot.cli import main

GROUPS = np.repeat([0, 1], 30)
X = np.random.default_rng(0).standard_normal((60, 4)) + 4.0 * GROUPS[:, None]


def toy(X, bandwidth=1.0, *, metric="sqeuclidean"):
    """Twice as wide as the Gaussian kernel."""
    gaussian = sparrot.gaussian(X, bandwidth, metric=metric)
    return replace(gaussian, kind="toy", matrix=np.sqrt(gaussian.matrix))


class Toy(AffinityEstimator):
    def __init__(self, bandwidth=0.1, *, metric="sqeuclidean"):
        self.bandwidth = bandwidth
        self.metric = metric

    def _build(self, X):
        return toy(X, self.bandwidth, metric=self.metric)


def toy_transport(X, eps=None, q=0.5, *, perplexity=None, metric="sqeuclidean", n_jobs=None):
    """A plan of transport with more smoothing, by default, than the one that it is."""
    eps = 2.0 if eps is None and perplexity is None else eps
    a = sparrot.tsallis(X, eps, q, perplexity=perplexity, metric=metric, n_jobs=n_jobs)
    return replace(a, kind="toy_transport")


class ToyTransport(sparrot.Tsallis):
    def _build(self, X):
        return replace(super()._build(X), kind="toy_transport")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    kind = Kind(__name__, "toy", "Toy", ("bandwidth",), lambda n: {"bandwidth": 0.1})
    monkeypatch.setitem(KINDS, "toy", kind)
    scales = ("eps", "perplexity")
    transport = Kind(__name__, "toy_transport", "ToyTransport", scales, transport=True)
    monkeypatch.setitem(KINDS, "toy_transport", transport)


def test_it_is_built_by_name_at_its_own_default_scale():
    assert "toy" in kinds(symmetric=True)
    built = build(X, "toy")
    assert np.array_equal(built.matrix, toy(X, 0.1).matrix)
    with pytest.raises(sparrot.InvalidInputError, match="eps is no parameter of toy"):
        build(X, "toy", eps=1.0)


def test_spectral_estimators_take_its_name():
    found = sparrot.SpectralClustering(2, affinity="toy", random_state=0).fit_predict(X)
    assert sparrot.metrics.nmi(GROUPS, found) == 1
    Y = sparrot.Eigenmaps(1, affinity="toy").fit_transform(X)[:, 0]
    assert abs(np.corrcoef(Y, GROUPS)[0, 1]) > 0.9


def test_it_is_tuned_to_the_perplexity_of_another():
    a = sparrot.qot(X)
    assert np.isclose(sparrot.match(X, "toy", a).perplexity, a.perplexity, rtol=0.01)


def test_it_is_laid_out_by_tsne():
    pytest.importorskip("openTSNE")
    a = build(X, "toy")
    assert np.allclose(sparrot.tsne_affinities(a).P.toarray(), a.matrix / a.matrix.sum())
    with pytest.raises(sparrot.InvalidInputError, match="kind must be one of qot, eot, tsallis"):
        sparrot.tsne(X, kind="toy")  # which has no rows for new points


def test_a_plan_of_transport_defends_itself_and_has_rows_for_new_points(tmp_path):
    made = build(X, "toy_transport")
    assert made.kind == "toy_transport"
    assert made.check(X).violation < 1e-12
    sparrot.save(made, tmp_path / "a.npz")
    a = sparrot.load(tmp_path / "a.npz")
    assert a.check(X).violation < 1e-12
    model = sparrot.resume(a, X)
    assert isinstance(model, ToyTransport)
    new = X[:5] + 0.1
    fitted = ToyTransport(2.0).fit(X)
    assert np.allclose(model.transform(new).toarray(), fitted.transform(new).toarray())
    with pytest.raises(sparrot.InvalidInputError, match="is not the data of this affinity"):
        sparrot.resume(a, X[::-1])
    with pytest.raises(sparrot.InvalidInputError, match="'toy' has no rows for new points"):
        sparrot.resume(build(X, "toy"), X)


def test_a_plan_of_transport_is_laid_out_by_tsne_with_new_points():
    pytest.importorskip("openTSNE")
    a = build(X, "toy_transport")
    rows = sparrot.tsne_affinities(a, X).to_new(X[:3] + 0.1)
    assert np.allclose(rows.toarray(), sparrot.resume(a, X).transform(X[:3] + 0.1).toarray())
    embedding = sparrot.tsne(X, kind="toy_transport", n_iter=5, early_exaggeration_iter=5)
    assert embedding.transform(X[:3] + 0.1).shape == (3, 2)


def test_the_command_line_makes_it_at_the_default_scale_of_its_function(tmp_path):
    np.save(tmp_path / "points.npy", X)
    target = tmp_path / "toy.npz"
    arguments = ["affinity", tmp_path / "points.npy", "--kind", "toy", "-o", target]
    assert main([str(argument) for argument in arguments]) == 0
    made = sparrot.load(target)
    assert made.kind == "toy"
    assert np.array_equal(made.matrix, toy(X, 1.0).matrix)


def test_a_layout_on_the_command_line_makes_it_at_the_default_scale_of_its_kind(tmp_path, capsys):
    pytest.importorskip("openTSNE")
    np.save(tmp_path / "points.npy", X)
    assert main(["tsne", str(tmp_path / "points.npy"), "--kind", "toy", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert np.isclose(facts["perplexity"], toy(X, 0.1).perplexity)
    assert not np.isclose(facts["perplexity"], toy(X, 1.0).perplexity)


def test_help_names_it(capsys):
    for command in ("affinity", "embed"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "toy" in capsys.readouterr().out


def test_it_goes_to_a_file_and_back(tmp_path):
    a = toy(X)
    sparrot.save(a, tmp_path / "toy.npz")
    b = sparrot.load(tmp_path / "toy.npz")
    assert b.kind == "toy"
    assert np.array_equal(a.matrix, b.matrix)
